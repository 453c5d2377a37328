"""The source of a generation, such as a text to translate: on the device, for all tokens.

An encoder runs once for each source. The keys and values that the decoder computes from it stay on
the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import MAX_DIMENSION, Shape, show
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.decoding import GraphSpec, Language, default_kind, source_type
from webnnm.transformers.graphs import Graphs, round_up
from webnnm.transformers.key_values import SOURCE


class Source:
    """What a decoder attends to besides its own tokens: `tensors` by the inputs of its graphs."""

    def __init__(self, language: Language, backend: Backend, graphs: Graphs) -> None:
        self.tensors: dict[str, DeviceTensor] = {}
        self._language, self._backend, self._graphs = language, backend, graphs
        self._encoded: tuple[Any, ...] = ()

    async def encode(self, base: GraphSpec, arrays: Mapping[str, HostArray], version: int) -> bool:
        """Let the encoder read arrays, unless it already has; return whether it did.

        The arrays are those of `pad_source`; `version` is that of the parameters.
        """
        sizes = base.batch, base.beams, base.source
        contents = sizes, version, [bytes(array.data) for array in arrays.values()]
        if not arrays or contents == self._encoded:
            return False
        if self._encoded[:1] != (sizes,):
            self.free()
        self._encoded = (sizes,)  # until the encoder is done, the contents are undefined
        spec = GraphSpec(
            batch=base.batch // base.beams,
            tokens=0,
            length=1,
            source=base.source,
            encodes=True,
            beams=base.beams,
        )
        executable, outputs = None, dict[str, TensorType]()
        if self._language.encodes:
            executable, outputs = await self._graphs.compile_with_types(spec)
        types = {SOURCE + n: TensorType(array.dtype, array.shape) for n, array in arrays.items()}
        fresh = {name: type for name, type in (types | outputs).items() if name not in self.tensors}
        tensors = await self._backend.tensors(fresh)
        self._backend.claim("generation", *tensors.values())
        self.tensors |= tensors
        for name, array in arrays.items():
            self._backend.write(self.tensors[SOURCE + name], array)
        if executable is not None:
            bound = {**self._graphs.parameters(), **{name: self.tensors[name] for name in types}}
            inputs = {name: bound[name] for name in executable.inputs}
            results = {name: self.tensors[name] for name in outputs}
            self._backend.dispatch(executable, inputs, results)
        self._encoded = contents
        return True

    def free(self) -> None:
        """Free the memory on the device."""
        self._backend.release(*self.tensors.values())
        self.tensors.clear()
        self._encoded = ()


def pad_source(
    language: Language, source: Mapping[str, Any] | None, rows: int
) -> dict[str, HostArray]:
    """Return the arrays of all inputs of a source, padded to the lengths that graphs take.

    Sequences with an `attention_mask` are padded to a power of two, with 0 in the mask. Raises
    `DataError` NNM710 for names that are not those of the inputs, NNM702 for another number of
    rows.
    """
    vertices = {vertex.block: vertex for vertex in language.source}
    if vertices.keys() != {*(source or {})}:
        missing = ", ".join(sorted(vertices.keys() ^ {*(source or {})}))
        hint = (
            f"the source has the inputs {', '.join(vertices)}"
            if vertices
            else "the network has no source"
        )
        raise DataError(
            "NNM710",
            f"the source does not have the inputs of the network: check {missing}",
            hint=hint,
        )
    arrays = {
        name: HostArray.of((source or {})[name], vertex.dtype) for name, vertex in vertices.items()
    }
    lengths = source_lengths(language, arrays)
    for name, vertex in vertices.items():
        type = source_type(vertex, rows, lengths)
        if arrays[name].shape != type.shape:
            message = f"{name} is {show(arrays[name].shape)}"
            raise DataError(
                "NNM702", message, hint=f"for {rows} texts it must be {show(type.shape)}"
            )
    for vertex in language.source:
        sequence = vertex.features[0].sequence
        if sequence is not None and default_kind(vertex) == "attention_mask":
            limit = language.max_lengths.get(sequence, MAX_DIMENSION)
            lengths[sequence] = max(lengths[sequence], min(round_up(lengths[sequence]), limit))
    return {
        name: _pad_sequence(arrays[name], source_type(vertex, rows, lengths).shape)
        for name, vertex in vertices.items()
    }


def repeat_rows(array: HostArray, times: int) -> HostArray:
    """Return an array with each of its rows several times.

    >>> repeat_rows(HostArray.of([[1, 2], [3, 4]], "int32"), 2).tolist()
    [[1, 2], [1, 2], [3, 4], [3, 4]]
    """
    rows = [bytes(array.part(row, row + 1).data) * times for row in range(len(array))]
    return HostArray(array.dtype, (len(array) * times, *array.shape[1:]), b"".join(rows))


def source_lengths(language: Language, arrays: Mapping[str, HostArray]) -> dict[str, int]:
    """Return the lengths of the sequences of a source."""
    lengths: dict[str, int] = {}
    for vertex in language.source:
        sequence = vertex.features[0].sequence
        shape = arrays[vertex.block].shape
        if sequence is not None and vertex.length is None and len(shape) > 1:
            lengths[sequence] = max(shape[1], lengths.get(sequence, 0))
    return lengths


def _pad_sequence(array: HostArray, shape: Shape) -> HostArray:
    """Return an array with its sequence padded with zeros at the end."""
    if array.shape == shape:
        return array
    width = len(array.data) // len(array)
    padding = bytes(width // array.shape[1] * (shape[1] - array.shape[1]))
    rows = [bytes(array.part(row, row + 1).data) + padding for row in range(len(array))]
    return HostArray(array.dtype, shape, b"".join(rows))
