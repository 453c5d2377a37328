"""Where operations on arrays are recorded: the pending graph of a device, or a trace."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.eager.device import Device, Program, Work
from webnnm.eager.errors import ArrayValueError, TracedValueError
from webnnm.eager.small import HostProgram, is_small, number_name
from webnnm.eager.storage import Storage
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.batching import NO_METHOD
from webnnm.graph.transforms.rewrite import Replacement, copy_graph_into, inline_composites, rewrite
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.checks import integer
from webnnm.ops.declare.operator import Operator, Option, Slot, lower_by_parts
from webnnm.ops.declare.tensors import TensorType

MAX_PENDING_OPERATIONS = 2000
"""How many operations may be pending; beyond that, all of them are computed."""
MAX_STARTS = 4
"""How many start indices slices of one kind may have before these become inputs of programs."""
MAX_KINDS = 1000
"""How many kinds of slices have their start indices remembered."""
MAX_HOST_PROGRAMS = 256
"""How many structures a device remembers as computed on the host or not, the latest ones."""
MAX_BUILDER_NODES = 50_000
"""Nodes after which the structures seen so far are forgotten."""


class Recorded(Protocol):
    """A scope's view of an array: its values, or the operand of its scope that computes them."""

    scope: Scope
    operand: Operand | None
    storage: Storage | None


def _itself(_: object, x: Any, *, number: int) -> Any:
    return x


def _itself_alone(_: object, g: Any, *__: Any, number: int) -> Any:
    return [g]


# A copy of an operand whose gradients are kept apart from those of the operand itself. Compiled
# graphs have none.
alias = Operator(
    name="alias",
    summary="the operand under another number",
    operands=(Slot(name="input"),),
    options={"number": Option(0, integer())},
    infer=same_as_first,
    gradient=_itself_alone,
    reference=_itself,
    stablehlo=lower_by_parts,
    decompose=_itself,
    layer=None,
    samples=(),
)


def plain_graph(graph: Graph) -> Graph:
    """Return the graph with the operands themselves in place of their aliases, functions inlined.

    Aliases, which only gradients need, would hide operators from the passes of the compiler.
    """

    def rule(_: GraphBuilder, node: Node) -> Replacement | None:
        return node.operands[0] if isinstance(node, OperatorNode) and is_alias(node) else None

    return rewrite(inline_composites(graph, lambda operator: operator.native == NO_METHOD), rule)


def is_alias(node: OperatorNode) -> bool:
    """Return whether a node is only an alias."""
    return node.operator is alias


class Scope(ABC):
    """A graph under construction, to which operations on arrays are added."""

    builder: GraphBuilder
    differentiating = 0
    """How many gradients of what is being recorded will be taken."""
    _aliases = 0

    @abstractmethod
    def leaf(self, array: Recorded) -> Operand:
        """Return the operand for an array with known values; a trace takes any other as well."""

    @abstractmethod
    def number(self, value: float, dtype: DataType) -> Operand:
        """Return a scalar operand for a Python number."""

    @abstractmethod
    def register(self, array: Recorded) -> None:
        """Register an array that has been recorded; only a weak reference is kept."""

    def cut(self) -> None:  # noqa: B027
        """Compute what is pending if there is much of it, before an operation is recorded.

        Operands are valid until the next operation begins: whoever records one gets the scope
        first, then the operands, and makes arrays of all its results.
        """

    def varies(self, kind: Hashable, start: int) -> bool:
        """Return whether slices of this kind keep changing their start, which becomes an input."""
        return False

    def operand_of(self, array: Recorded) -> Operand:
        """Return the operand that stands for an array."""
        if array.scope is self and array.storage is None:
            assert array.operand is not None
            return array.operand
        return self.leaf(array)

    def alias(self, operand: Operand) -> Operand:
        """Return another operand of the same value."""
        self._aliases += 1
        return self.builder.apply(alias, [operand], {"number": self._aliases})


class Trace(Scope):
    """The operations of a function that is traced: captured arrays become further inputs."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.captured: dict[int, tuple[Recorded, Operand]] = {}
        self.narrowed: list[tuple[Operand, Any, Any]] = []
        """Python integers, the data types that they have to fit, and at which ends of the range."""
        self.active = True

    def leaf(self, array: Recorded) -> Operand:
        """Return the input that stands for a captured array."""
        entry = self.captured.get(id(array))
        if entry is None:
            if isinstance(array.scope, Trace) and not array.scope.active:
                raise trace_ended_error()
            source = array.operand if array.storage is None else array.storage
            assert source is not None
            operand = self.builder.input(f"captured {len(self.captured)}", *source.type)
            entry = self.captured[id(array)] = array, operand
        return entry[1]

    def number(self, value: float, dtype: DataType) -> Operand:
        """Return a constant."""
        return self.builder.constant(value, dtype)

    def register(self, array: Recorded) -> None:
        """Do nothing: what a function does not return is not computed."""


def trace_ended_error() -> TracedValueError:
    """Return the error for an array whose function is no longer being traced."""
    return TracedValueError(
        "an array of a traced function is used outside of it",
        "return it from the function: an array that is kept elsewhere has no value after tracing",
    )


class PendingGraph(Scope):
    """The operations on a device's arrays that are not computed yet.

    All pending graphs of a device are written into one builder, over inputs that are named by their
    order and their type. A loop records the same operations over and over: they are found there,
    together with the program that computes them.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.builder = GraphBuilder()
        self._most = MAX_PENDING_OPERATIONS
        self._starts: dict[Hashable, set[int]] = {}
        self._begin()

    def _begin(self) -> None:
        if len(self.builder.nodes) > MAX_BUILDER_NODES:
            self.builder = GraphBuilder()
        self._leaves: dict[int, Operand] = {}
        self._storages: list[Storage] = []
        self._names: list[str] = []
        self._numbers: dict[DataType, list[float]] = {}
        self._arrays: list[weakref.ref[Recorded]] = []
        self._kinds: list[Hashable] = []
        self._aliases = 0

    def leaf(self, array: Recorded) -> Operand:
        """Return the input that stands for an array whose values are known or being computed."""
        storage = array.storage
        if storage is None or array.scope is not self:
            raise self._foreign(array)
        operand = self._leaves.get(id(storage))
        if operand is None:
            name = f"{len(self._storages)}:{storage.type}"
            operand = self._leaves[id(storage)] = self._input(name, storage.type)
            self._storages.append(storage)
            self._names.append(name)
        return operand

    def _foreign(self, array: Recorded) -> Exception:
        if isinstance(array.scope, PendingGraph):
            return ArrayValueError(
                f"arrays of {array.scope.device} and {self.device} cannot be combined",
                "move one of them with `to_device`",
            )
        return trace_ended_error()

    def number(self, value: float, dtype: DataType) -> Operand:
        """Return an input for a number: programs do not depend on its value."""
        values = self._numbers.setdefault(dtype, [])
        values.append(value)
        return self._input(number_name(dtype, len(values) - 1), TensorType(dtype, ()))

    def _input(self, name: str, type: TensorType) -> Operand:
        existing = self.builder.inputs.get(name)
        return existing or self.builder.input(name, *type)

    def register(self, array: Recorded) -> None:
        """Register an array that has been recorded; only a weak reference is kept."""
        self._arrays.append(weakref.ref(array))
        assert array.operand is not None
        node = array.operand.node
        operator = node.operator.name if isinstance(node, OperatorNode) else ""
        self._kinds.append((operator, array.operand.type))

    def cut(self) -> None:
        """Compute what is pending if there is much of it, before an operation is recorded.

        From then on, a loop is cut between the same two of its operations, so that all parts have
        the same structure.
        """
        if len(self._arrays) >= self._most and not self.differentiating and self.device.can_wait():
            length = period(self._kinds[len(self._kinds) // 2 :])
            self.compute()
            self._most = MAX_PENDING_OPERATIONS // length * length

    def drop_unneeded(self) -> None:
        """Drop what is pending if nobody refers to it: its inputs may then be freed."""
        if not self.differentiating and all(ref() is None for ref in self._arrays):
            self._begin()

    def varies(self, kind: Hashable, start: int) -> bool:
        """Return whether slices of this kind keep changing their start, which becomes an input.

        Gradients of slices with constant starts are cheaper, as are the few slices of a stencil.
        """
        if self.differentiating:
            return False
        if len(self._starts) > MAX_KINDS:
            self._starts.clear()
        seen = self._starts.setdefault(kind, set())
        if len(seen) <= MAX_STARTS:
            seen.add(start)
        return len(seen) > MAX_STARTS

    def storage(self, array: Recorded) -> Storage:
        """Return the storage in which the values of a pending array will be."""
        if self.differentiating:
            # It may be differentiated further, so it stays pending.
            work, storages = self._segment([array])
            self._submit(work)
            return storages[0]
        self.compute()
        assert array.storage is not None
        return array.storage

    def compute(self) -> None:
        """Submit everything that is pending and still referred to."""
        alive = [a for a in (ref() for ref in self._arrays) if a is not None and a.storage is None]
        work, storages = self._segment(alive)
        for array, storage in zip(alive, storages, strict=True):
            array.storage, array.operand = storage, None
        self._begin()
        # Other tasks may record more while this one waits for the device.
        self._submit(work)

    def _segment(self, arrays: Sequence[Recorded]) -> tuple[_Segment, list[Storage]]:
        """Return the computation of some arrays, and the storages of their values."""
        operands = [self.operand_of(array) for array in arrays]
        leaves = {self._leaves[id(storage)]: storage for storage in self._storages}
        new_storages = {o: Storage(o.type) for o in operands if o not in leaves}
        work = _Segment(self, self._names, self._storages, self._numbers, new_storages)
        return work, [leaves.get(operand) or new_storages[operand] for operand in operands]

    def _submit(self, work: _Segment) -> None:
        if work.outputs:
            self.device.submit(work)


class _Segment(Work):
    """The pending operations that some arrays need."""

    def __init__(
        self,
        pending: PendingGraph,
        names: Sequence[str],
        storages: Sequence[Storage],
        numbers: Mapping[DataType, Sequence[float]],
        outputs: Mapping[Operand, Storage],
    ) -> None:
        self._builder, self._operands = pending.builder, [*outputs]
        self._numbers: dict[DataType, list[float]] = {d: [*numbers[d]] for d in numbers}
        self._names, self._storages = [*names], [*storages]
        self._key = (
            pending.builder,
            len(names),
            *((o.number, o.index) for o in outputs),
            *self._counts().items(),
        )
        self._device = pending.device
        self.outputs = [*outputs.values()]

    @cached_property
    def inputs(self) -> Sequence[Storage]:  # pyrefly: ignore[bad-override]
        """Everything that is read: values of arrays, and Python numbers, a vector for each type."""
        vectors = [HostArray.of(values, dtype) for dtype, values in self._numbers.items()]
        return [*self._storages, *map(self._device.constant, vectors)]

    def try_on_host(self, device: Device) -> bool:
        """Compute it now if it is small and its values are on the host; return whether it did."""
        if any(storage.host is None for storage in self._storages):
            return False
        program = self._host_program(device)
        if program is None:
            return False
        try:
            program.run(self._storages, chain(*self._numbers.values()), self.outputs)
        except Exception as error:
            self.fail(error)
        return True

    def _host_program(self, device: Device) -> HostProgram | None:
        programs = device.host_programs
        if self._key in programs:
            program = programs.pop(self._key)
        else:
            small = is_small(self._operands, device.host_elements)
            program = HostProgram(self._graph(), self._names, self._counts()) if small else None
        programs[self._key] = program
        if len(programs) > MAX_HOST_PROGRAMS:
            del programs[next(iter(programs))]
        return program

    def _counts(self) -> dict[DataType, int]:
        return {dtype: len(values) for dtype, values in self._numbers.items()}

    def _graph(self) -> Graph:
        outputs = {f"y{index}": operand for index, operand in enumerate(self._operands)}
        return plain_graph(Graph(outputs, self._builder.inputs))

    def program(self, device: Device) -> Program | None:
        """Return the program that computes it if the same structure was computed before."""
        return device.programs.get(self._key)

    async def compile(self, device: Device) -> Program:
        """Compile the program that computes it."""
        graph = self._graph()
        executable = await device.compile(_with_vectors(graph, self._counts()))
        # Nodes that only other operations of the pending graph need are left out.
        names = [*self._names, *map(_vector, self._numbers)]
        taken = [name if name in executable.inputs else None for name in names]
        program = Program(executable, taken, [*graph.outputs])
        device.programs[self._key] = program
        return program


def _vector(dtype: DataType) -> str:
    return f"numbers:{dtype}"


def _with_vectors(graph: Graph, counts: Mapping[DataType, int]) -> Graph:
    """Return the graph with all numbers of a type in one input, since each input costs a write."""
    b = GraphBuilder()
    vectors = {dtype: b.input(_vector(dtype), dtype, [size]) for dtype, size in counts.items()}
    inputs: dict[str, Operand] = {}
    for node in graph.nodes():
        if not isinstance(node, InputNode):
            continue
        prefix = node.name.partition(":")[0]
        if prefix.startswith("number "):
            index = int(prefix.removeprefix("number "))
            number = b.slice(vectors[node.types[0].dtype], starts=[index], sizes=[1])
            inputs[node.name] = b.reshape(number, new_shape=())
        else:
            inputs[node.name] = b.input(node.name, *node.types[0])
    return b.build(copy_graph_into(b, graph, inputs))


def period(values: Sequence[Hashable]) -> int:
    """Return the period with which values repeat, up to their end.

    >>> period("ababa")
    2

    That is their number minus the length of their longest border (Knuth, Morris and Pratt 1977).
    """
    borders = [0]
    for value in values[1:]:
        length = borders[-1]
        while length and values[length] != value:
            length = borders[length - 1]
        borders.append(length + (values[length] == value))
    return len(values) - borders[-1]


TRACES: list[Trace] = []
"""The functions that are being traced, the innermost one last."""


def pending(device: Device) -> PendingGraph:
    """Return the pending graph of a device."""
    if device.pending is None:
        device.pending = PendingGraph(device)
    return device.pending


@contextmanager
def tracing(trace: Trace) -> Generator[Trace]:
    """Record what happens inside the `with` block in a trace."""
    TRACES.append(trace)
    try:
        yield trace
    finally:
        TRACES.pop()
        trace.active = False
