"""WebNN in place of the browser's, with the faults that a test gives it: plans run on NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.unit.backends.plans import OPERATORS, graph_of
from webnnm.backends.reference import evaluate
from webnnm.compiler.plan import Plan
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.graph.transforms.rewrite import Rule, rewrite

np = pytest.importorskip("numpy")

LIMITS: dict[str, Any] = {name: {} for name in OPERATORS}
"""Those of an implementation that has all of WebNN."""


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
        limits: Mapping[str, Any] = LIMITS,
    ) -> None:
        self._fault = fault
        self._refuse = refuse
        self._limits = limits
        self._things: dict[int, Any] = {}
        self.built: list[Plan] = []
        self.contexts: list[int] = []

    def _enter(self, thing: Any) -> int:
        self._things[len(self._things)] = thing
        return len(self._things) - 1

    async def browser(self) -> str:
        return ""

    async def open(self, today: Mapping[str, Any], older: Mapping[str, Any]) -> int:
        self.contexts.append(self._enter(today))
        return self.contexts[-1]

    def limits(self, context: int) -> Mapping[str, Any]:
        return self._limits

    def accelerated(self, context: int) -> bool | None:
        return None

    def devices(self, graph: int) -> list[str]:
        return ["cpu"]

    async def build(self, context: int, plan: Plan) -> int:
        self.built.append(plan)
        if self._refuse:
            self._refuse(plan)
        graph = graph_of(plan, self._things)
        return self._enter(rewrite(graph, self._fault) if self._fault else graph)

    async def tensor(self, context: int, dtype: Any, shape: Sequence[int], data: Any = None) -> int:
        return self._enter(data and HostArray(dtype, shape, data))

    def dispatch(self, graph: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        values = {name: _numpy(self._things[handle]) for name, handle in inputs.items()}
        found = evaluate(self._things[graph], values)
        for name, handle in outputs.items():
            self._things[handle] = HostArray.of(found[name])

    async def read(self, tensors: Sequence[int]) -> memoryview:
        return memoryview(b"".join(self._things[handle].data for handle in tensors))

    @staticmethod
    def values(plan: Plan, data: bytes) -> dict[str, Any]:
        """Return the inputs of a plan, whose bytes lie one after the other."""
        values: dict[str, Any] = {}
        for name, type in plan.inputs.items():
            size = byte_length(type.dtype, count(type.shape))
            values[name], data = _numpy(HostArray(*type, data[:size])), data[size:]
        return values

    async def once(self, context: int, plan: Plan, data: bytes) -> memoryview:
        graph = self._things[await self.build(context, plan)]
        values = self.values(plan, data)
        found = evaluate(graph, values)
        arrays = [HostArray.of(found[name]) for name in plan.outputs]
        for array, type in zip(arrays, plan.outputs.values(), strict=True):
            if (array.dtype, array.shape) != type:
                raise BackendError("NNM709", f"the tensors do not fit the graph: {array}")
        return memoryview(b"".join(array.data for array in arrays))

    def release(self, handles: Sequence[int]) -> None:
        for handle in handles:
            self._things[handle] = None

    def close(self, context: int) -> None:
        self.contexts.remove(context)


def _numpy(array: HostArray) -> Any:
    return np.frombuffer(array.data, array.dtype).reshape(array.shape)
