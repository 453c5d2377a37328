"""Runs ONNX models whose shapes depend on values that they compute, part by part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from webnnm.core.arrays import HostArray
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import count
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.importing.folding import MAX_SHAPE_SIZE
from webnnm.formats.onnx.importing.importer import (
    Imported,
    Segment,
    import_segment,
    input_types,
)
from webnnm.formats.onnx.importing.sizes import Shapes
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.ops.declare.tensors import TensorType

MAX_SEGMENTS = 64
"""How many imported parts are kept; their graphs are kept by the model."""

Run = Callable[[object, Imported, Mapping[str, HostArray]], Awaitable[Mapping[str, HostArray]]]
"""Runs the graph of a segment, which is kept under a key unless it is None."""


class OnnxSegments:
    """A model in segments: each has the sizes that follow from the values of those before.

    A segment ends before a node that needs values, as the coordinates of NonZero, or the boxes of
    NonMaxSuppression. They are read from the device, and the node is imported with them. Graphs are
    kept for as long as the sizes are the same.
    """

    def __init__(self, model: ModelProto, external: tensors.External, run: Run) -> None:
        self._model, self._external, self._run = model, external, run
        self._kept = LruCache[object, Segment](MAX_SEGMENTS)

    async def results(
        self, shapes: Shapes, arrays: Mapping[str, HostArray]
    ) -> dict[str, HostArray]:
        """Return the outputs of the model for the data of its inputs."""
        values = dict(arrays)
        types = input_types(self._model, shapes)
        first, needs = 0, frozenset[str]()
        while True:
            constants = {name: values[name] for name in needs}
            key, segment = self._segment(first, types, constants)
            values |= segment.constants
            if segment.imported is not None:
                values |= await self._run(key, segment.imported, values)
            if segment.done:
                outputs = (self._model.graph or GraphProto()).output
                return {info.name: values[info.name] for info in outputs}
            # A node that could not be imported although values are known needs others besides.
            needs = segment.needs if segment.stop > first else needs | segment.needs
            first = segment.stop
            types = {**types, **segment.types}
            types = {name: type for name, type in types.items() if name in segment.live}

    def _segment(
        self, first: int, types: Mapping[str, TensorType], constants: Mapping[str, HostArray]
    ) -> tuple[object, Segment]:
        """Return a segment, and the key of its graph, None if it depends on data."""
        if any(count(array.shape) > MAX_SHAPE_SIZE for array in constants.values()):
            return None, self._import(first, types, constants)
        values = tuple(sorted((name, bytes(array.data)) for name, array in constants.items()))
        key = ("segment", first, tuple(sorted(types.items())), values)
        segment = self._kept.get(key)
        if segment is None:
            segment = self._kept[key] = self._import(first, types, constants)
        return key, segment

    def _import(
        self, first: int, types: Mapping[str, TensorType], constants: Mapping[str, HostArray]
    ) -> Segment:
        return import_segment(self._model, first, types, constants, external=self._external)
