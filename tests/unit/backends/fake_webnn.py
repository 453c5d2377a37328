"""WebNN in place of the browser's: it refuses what the specification lets it, NumPy computes.

A test can give it faults, refusals of its own and limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.unit.backends.plans import OPERATORS, graph_of
from tests.unit.backends.strict_webnn import MLContext, MLGraph, MLTensor, assemble
from tests.unit.backends.webnn_shapes import Type, Unsupported
from tests.unit.backends.webnn_tables import support_limits
from webnnm.backends.reference import evaluate
from webnnm.compiler.plan import Plan
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.core.waiting import Answer
from webnnm.graph.node import Graph
from webnnm.graph.transforms.rewrite import Rule, rewrite

np = pytest.importorskip("numpy")

Names = Mapping[str, int]
LIMITS: dict[str, Any] = {name: {} for name in OPERATORS}
"""Those of an implementation that has operators of which WebNN knows nothing, too."""


@dataclass(frozen=True, eq=False)
class BuiltGraph:
    """What the specification knows of a graph, and what computes it."""

    ml: MLGraph
    graph: Graph


class Memory:
    """Memory of a runner in JavaScript."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def to_py(self) -> memoryview:
        return memoryview(bytes(self.data))

    def assign(self, data: Any) -> None:
        memoryview(self.data)[:] = memoryview(data).cast("B")

    def assign_to(self, data: Any) -> None:
        memoryview(data).cast("B")[:] = self.data


@dataclass(frozen=True, eq=False)
class FakeRunner:
    """A graph bound for many runs."""

    graph: int
    inputs: Names
    outputs: Names
    written: Sequence[int]
    read: Sequence[int]
    buffers: list[Memory]


class FakeWebNN:
    """A bridge to an implementation that computes as it should, but for these faults.

    `fault` is a rule that rewrites graphs before they run; `refuse` looks at a plan and raises.
    `built` are the plans of all graphs, `contexts` the handles of contexts that are open.
    """

    def __init__(
        self,
        *,
        fault: Rule | None = None,
        refuse: Callable[[Plan], None] | None = None,
        limits: Mapping[str, Any] | None = None,
        accelerated: bool | None = None,
        devices: Sequence[str] = ("cpu",),
    ) -> None:
        self._fault = fault
        self._refuse = refuse
        self._limits = support_limits() if limits is None else limits
        self._accelerated = accelerated
        self._devices = devices
        self._things: dict[int, Any] = {}
        self._handles = 0
        self.built: list[Plan] = []
        self.contexts: list[int] = []

    def _enter(self, thing: Any) -> int:
        self._handles += 1
        self._things[self._handles] = thing
        return self._handles

    async def browser(self) -> str:
        return ""

    async def open(self, today: Mapping[str, Any], older: Mapping[str, Any]) -> int:
        self.contexts.append(self._enter(MLContext(self._limits)))
        return self.contexts[-1]

    def limits(self, context: int) -> Mapping[str, Any]:
        return self._limits

    def accelerated(self, context: int) -> bool | None:
        return self._accelerated

    def devices(self, graph: int) -> list[str]:
        return [*self._devices]

    async def build(self, context: int, plan: Plan) -> int:
        self.built.append(plan)
        if self._refuse:
            self._refuse(plan)
        ml = assemble(self._things[context], plan)
        sources = {c["tensor"] for c in plan.content["constants"] if "tensor" in c}
        held = {handle: self._read(handle) for handle in sources}
        graph = graph_of(plan, held)
        return self._enter(BuiltGraph(ml, rewrite(graph, self._fault) if self._fault else graph))

    async def tensor(
        self,
        context: int,
        dtype: Any,
        shape: Sequence[int],
        data: Any = None,
        access: str = "both",
    ) -> int:
        owner: MLContext = self._things[context]
        type = Type(dtype, tuple(shape))
        readable, writable = access != "write", access != "read"
        handle = self._enter(owner.create_tensor(type, readable=readable, writable=writable))
        if data is not None:
            self.write(handle, data)
        return handle

    def write(self, tensor: int, data: Any) -> None:
        ml: MLTensor = self._things[tensor]
        ml.context.write_tensor(ml, bytes(data))

    def _read(self, tensor: int) -> bytes:
        ml: MLTensor = self._things[tensor]
        return ml.context.read_tensor(ml)

    async def read(self, tensors: Sequence[int]) -> memoryview:
        return memoryview(b"".join(map(self._read, tensors)))

    def dispatch(self, graph: int, inputs: Names, outputs: Names) -> None:
        built: BuiltGraph = self._things[graph]
        bound = [
            {name: self._things[n] for name, n in names.items()} for names in (inputs, outputs)
        ]
        built.ml.context.dispatch(built.ml, *bound)
        results = evaluate(built.graph, {name: _numpy(ml) for name, ml in bound[0].items()})
        for name, ml in bound[1].items():
            result = HostArray.of(results[name])
            if (result.dtype, result.shape) != ml.type:
                raise BackendError("NNM709", f"the tensors do not fit the graph: {result}")
            ml.data = bytes(result.data)

    def runner(
        self, graph: int, inputs: Names, outputs: Names, written: Sequence[int], read: Sequence[int]
    ) -> tuple[int, list[Memory]]:
        sizes = [len(self._read(tensor)) for tensor in written]
        sizes.append(sum(len(self._read(tensor)) for tensor in read))
        runner = FakeRunner(graph, inputs, outputs, written, read, [*map(Memory, sizes)])
        return self._enter(runner), runner.buffers

    def run(self, handle: int, prepare: Callable[[], Callable[[], Any]]) -> Answer:
        runner: FakeRunner = self._things[handle]
        *given, result = runner.buffers
        for tensor, memory in zip(runner.written, given, strict=True):
            self.write(tensor, memory.data)
        self.dispatch(runner.graph, runner.inputs, runner.outputs)
        result.assign(b"".join(map(self._read, runner.read)))
        answer = Answer(prepare())
        asyncio.get_running_loop().call_soon(answer.settle)
        return answer

    async def steps(
        self,
        graph: int,
        buffers: Sequence[tuple[Names, Names]],
        first: int,
        count: int,
        reads: Sequence[tuple[int, int]],
    ) -> memoryview:
        for step in range(first, first + count):
            inputs, outputs = buffers[step % 2]
            self.dispatch(graph, inputs, outputs)
            # The smallest output is what the bridge waits for.
            min((self._read(tensor) for tensor in outputs.values()), key=len)
        return await self.read([pair[(first + count - 1) % 2] for pair in reads])

    @staticmethod
    def values(plan: Plan, data: bytes) -> dict[str, Any]:
        """Return the inputs of a plan, whose bytes lie one after the other."""
        values: dict[str, Any] = {}
        for name, type in plan.inputs.items():
            size = byte_length(type.dtype, count(type.shape))
            values[name], data = _numpy(HostArray(*type, data[:size])), data[size:]
        return values

    async def once(self, context: int, plan: Plan, data: bytes) -> memoryview:
        try:
            graph = await self.build(context, plan)
        except Unsupported as refusal:  # questions about faults do not look at the limits
            raise BackendError("NNM505", str(refusal)) from refusal
        names: list[dict[str, int]] = []
        for types, access in ((plan.inputs, "write"), (plan.outputs, "read")):
            names.append(
                {n: await self.tensor(context, *type, None, access) for n, type in types.items()}
            )
        for tensor in names[0].values():
            size = len(self._things[tensor].data)
            self.write(tensor, data[:size])
            data = data[size:]
        self.dispatch(graph, *names)
        results = await self.read([*names[1].values()])
        self.release([graph, *names[0].values(), *names[1].values()])
        return results

    def release(self, handles: Sequence[int]) -> None:
        for handle in handles:
            thing = self._things.pop(handle, None)
            if isinstance(thing, (BuiltGraph, MLTensor)):
                (thing.ml if isinstance(thing, BuiltGraph) else thing).destroyed = True

    def memory(self, context: int) -> dict[str, int]:
        owner = self._things.get(context)
        graphs = [g for g in self._things.values() if isinstance(g, BuiltGraph)]
        tensors = [t for t in self._things.values() if isinstance(t, MLTensor)]
        held = [t for t in tensors if t.context is owner]
        built = sum(g.ml.context is owner for g in graphs)
        return {"graphs": built, "tensors": len(held), "bytes": sum(len(t.data) for t in held)}

    def close(self, context: int) -> None:
        if context in self.contexts:
            self.contexts.remove(context)
            owner: MLContext = self._things.pop(context)
            owner.lost = True


def _numpy(array: HostArray | MLTensor) -> Any:
    dtype, shape = array.type if isinstance(array, MLTensor) else (array.dtype, array.shape)
    return np.frombuffer(array.data, dtype).reshape(shape)
