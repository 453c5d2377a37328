"""Parameters in few bits: packed on the device, one matrix at a time, and kept on the host."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webnnm.backends.base import MemoryUsage
from webnnm.backends.unpacking import holds_packed
from webnnm.core.arrays import HostArray, concatenate, has_numpy
from webnnm.core.dtypes import FLOAT_INFO
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.packing.packed_parameters import packings, read_in_float16
from webnnm.graph.packing.packing import BLOCK, LEAST, SCALE, WHOLE, Packing
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from webnnm.backends.base import Backend, Executable
    from webnnm.graph.elaboration.vertices import ParameterVertex
    from webnnm.runtime.state import ModelState

LARGEST = "most"
"""The name, in graphs, of the largest absolute value of a matrix."""
PIECE = 1 << 20
"""Elements that are packed in one run."""


class Packed:
    """A packed matrix on the host; calling it returns the float32 values.

    `arrays` are its parts by their names, `parts` those that are tensors on the device: none if
    the device holds the values themselves.
    """

    def __init__(self, name: str, packing: Packing, parts: Mapping[str, HostArray]) -> None:
        self.name, self.packing = name, packing
        self._parts = parts
        self.arrays = {f"{name}/{part}": array for part, array in parts.items()}
        self.parts = self.arrays if packing.on_device else {}

    def refuse(self) -> None:
        """Raise `DataError` NNM704, because the values cannot be set."""
        message = f'the parameter "{self.name}" is packed: its values cannot be set'
        raise DataError("NNM704", message, hint="await webnnm.quantize(model, None)")

    @property
    def shape(self) -> Shape:
        """The shape of the matrix."""
        return self._parts[WHOLE].shape

    def __call__(self) -> HostArray:
        """Return the values, unpacked anew each time."""
        if self.packing.dtype == "float16":
            return HostArray.of(self._parts[WHOLE], "float32")
        return self._with_numpy() if has_numpy() else self._in_python()

    def _with_numpy(self) -> HostArray:
        from webnnm.backends.reference import evaluate

        b = GraphBuilder()
        inputs = {part: b.input(part, *_type(array)) for part, array in self._parts.items()}
        graph = b.build({"": self.packing.unpack(b, inputs)})
        return HostArray.of(evaluate(graph, self._parts)[""], "float32")

    def _in_python(self) -> HostArray:
        integers = self._parts[WHOLE]
        axis, block = self.packing.axis, self.packing.block
        scales = self._parts[SCALE].values()
        minimums = self._parts[LEAST].values() if LEAST in self._parts else [0.0] * len(scales)
        inner = count(integers.shape[axis + 1 :])
        rows = count(integers.shape[: axis + 1])
        values = array("f")
        numbers = integers.values()
        for row in range(rows):
            start = row // block * inner
            row_numbers = numbers[row * inner : (row + 1) * inner]
            triples = zip(
                row_numbers,
                scales[start : start + inner],
                minimums[start : start + inner],
                strict=True,
            )
            values.extend([scale * number + low for number, scale, low in triples])
        return HostArray("float32", integers.shape, values)


def _type(array: HostArray) -> TensorType:
    return TensorType(array.dtype, array.shape)


def place_packing(packing: Packing, backend: Backend, half: bool) -> Packing:
    """Return a packing with `on_device`: whether tensors on the device hold the matrix packed.

    `half` is whether layers that compute in float16 read it: they take float16 as it is.
    """
    as_it_is = half and packing.dtype == "float16"
    return packing._replace(on_device=as_it_is or holds_packed(backend))


class Packer:
    """Packs matrices on a device, some rows at a time: only these take memory.

    `halves` are the names of the matrices that are read by layers which compute in float16.
    """

    def __init__(self, backend: Backend, halves: Collection[str] = ()) -> None:
        self._backend, self._halves = backend, halves
        self._graphs: dict[tuple[Shape, Packing], Executable] = {}

    async def pack(self, name: str, packing: Packing, value: HostArray) -> Packed | None:
        """Return a packed matrix; None if numbers are infinite or too large for float16."""
        packing = place_packing(packing, self._backend, name in self._halves)
        # Whole blocks, and whole bytes of 4-bit numbers.
        step = 2 * packing.block if packing.axis == 0 else 2
        rows = max(step, PIECE // count(value.shape[1:]) // step * step)
        pieces: list[dict[str, HostArray]] = []
        for start in range(0, len(value), rows):
            piece = value.part(start, min(start + rows, len(value)))
            pieces.append(await self._piece(packing, piece))
            if not pieces[-1].pop(LARGEST).values()[0] <= FLOAT_INFO["float16"].max:
                return None
        parts = {
            part: concatenate([piece_parts[part] for piece_parts in pieces]) for part in pieces[0]
        }
        return Packed(name, packing, parts)

    async def _piece(self, packing: Packing, value: HostArray) -> dict[str, HostArray]:
        key = value.shape, packing
        if key not in self._graphs:
            b = GraphBuilder()
            x: Any = b.input("x", "float32", value.shape)
            graph = b.build({**packing.pack(b, x), LARGEST: b.reduce_max(b.abs(x))})
            self._graphs[key] = await self._backend.compile(graph)
        return await self._graphs[key].run_host({"x": value})

    def close(self) -> None:
        """Free the graphs."""
        self._backend.release(*self._graphs.values())
        self._graphs.clear()


@dataclass(frozen=True, slots=True)
class Memory(MemoryUsage):
    """What a backend holds, and `stored`, the bytes in which the parameters are kept and saved.

    >>> print(Memory(0, 1, 400, {"parameters": 400}, 106))
    400 bytes: parameters 400, 0 in 0 graphs and other of 1 tensors; parameters stored in 106
    """

    stored: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{MemoryUsage.__str__(self)}; parameters stored in {self.stored:,}"


def memory(state: ModelState) -> Memory:
    """Return what the backend of a model holds, and the bytes that store its parameters."""
    usage, sizes = state.backend.memory(), 0
    for vertex in state.network.parameters:
        type = state.parameters.types[vertex.name]
        types = vertex.packing.types(type.shape).values() if vertex.packing else [type]
        sizes += sum(type_of_part.nbytes for type_of_part in types)
    return Memory(usage.graphs, usage.tensors, usage.bytes, usage.kinds, sizes)


async def begin_packed(
    state: ModelState,
    values: Mapping[str, Callable[[], HostArray]],
    weights: str,
    block: int = BLOCK,
) -> None:
    """Give parameters the values of a file, with matrices packed one after the other."""
    selected = packings(state.network, weights, block)
    packer = Packer(state.backend, read_in_float16(state.network))
    try:
        for vertex in state.network.parameters:
            packing, value = selected.get(vertex.name), values[vertex.name]
            packed = None if packing is None else await packer.pack(vertex.name, packing, value())
            await state.parameters.begin([(vertex.name, packed or value)])
            vertex.packing = packed.packing if packed else None
    finally:
        packer.close()


async def pack_parameters(state: ModelState, weights: str | None, block: int = BLOCK) -> list[str]:
    """Store the matrices of a model in another form; return the names of the packed ones."""
    chosen = packings(state.network, weights, block) if weights is not None else {}
    with state.occupancy.by("a quantisation", changes=True):
        packer = Packer(state.backend, read_in_float16(state.network))
        try:
            for vertex in state.network.parameters:
                before, after = vertex.packing, chosen.get(vertex.name)
                if (before and before[:3]) != (after and after[:3]):
                    await _store(state, vertex, chosen.get(vertex.name), packer)
        finally:
            packer.close()
    return [vertex.name for vertex in state.network.parameters if vertex.packing]


async def _store(
    state: ModelState, vertex: ParameterVertex, packing: Packing | None, packer: Packer
) -> None:
    """Store a parameter in a packing, or as float32 for None."""
    parameters, name = state.parameters, vertex.name
    before = getattr(parameters.get_stored(name), "parts", ()) or (name,)
    value = parameters.value(name)
    packed = None if packing is None else await packer.pack(name, packing, value)
    old = [parameters.tensors.pop(part) for part in before]
    try:
        await parameters.begin([(name, packed or value)])
    except BaseException:
        parameters.tensors |= zip(before, old, strict=True)
        raise
    vertex.packing = packed.packing if packed else None
    state.backend.release(*old)
