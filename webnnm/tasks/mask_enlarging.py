"""Small maps of Segment Anything as masks of the size of a picture, those that are stable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.tasks.maps import SHOWN, chain_weights, transpose, weigh
from webnnm.transformers.processors.picture_settings import PictureSettings
from webnnm.transformers.processors.pictures import ProcessedPicture

BLOCK = 8
"""How many masks are computed at once."""


class Thresholds(NamedTuple):
    """Above `mask` a pixel is inside; the share `stable` stays if it moves by `offset`."""

    mask: float
    offset: float
    stable: float


class MaskEnlarger:
    """Enlarges maps for one picture, on a device.

    Maps cover the input of the model, of which the picture fills the upper left part.
    """

    def __init__(
        self,
        backend: Backend,
        picture: ProcessedPicture,
        settings: PictureSettings,
        thresholds: Thresholds,
    ) -> None:
        self._backend, self._size, self._thresholds = backend, picture.size, thresholds
        self._resized = picture.resized
        self._whole = settings.pad_size or picture.resized
        self._executable: Executable | None = None
        self._weights: dict[str, HostArray] = {}

    async def enlarge(
        self, maps: HostArray, indices: Sequence[int]
    ) -> AsyncIterator[tuple[int, HostArray]]:
        """Yield the index and the mask of those of the maps that are stable."""
        if self._executable is None:
            self._weights = self._weigh(maps.shape[1:])
            self._executable = await self._backend.compile(self._build(maps.shape[1:]))
        for block in split_batches(indices, BLOCK):
            part = maps.rows(fill_batch(block, BLOCK))
            results = await self._executable.run_host({"maps": part, **self._weights})
            inner, outer = (results[name].tolist() for name in ("inner", "outer"))
            for number, index in enumerate(block):
                share = inner[number] / outer[number] if outer[number] else 0.0
                if self._thresholds.stable <= 0 or share > self._thresholds.stable:
                    mask = results["masks"].part(number, number + 1)
                    yield index, HostArray("uint8", self._size, bytes(mask.data).translate(SHOWN))

    def _weigh(self, shape: Sequence[int]) -> dict[str, HostArray]:
        """Return matrices that enlarge maps to the input, cut it, and bring it to the picture."""
        rows, columns = (
            chain_weights(weigh(shape[axis], self._whole[axis]), weigh(resized, size))
            for axis, (resized, size) in enumerate(zip(self._resized, self._size, strict=True))
        )
        height, width = self._size
        return {
            "rows": HostArray("float32", (1, height, shape[0]), rows.data),
            "columns": HostArray("float32", (shape[1], width), transpose(columns)),
        }

    def _build(self, shape: Sequence[int]) -> Any:
        b = GraphBuilder()
        maps = b.input("maps", "float32", (BLOCK, *shape))
        types = {name: b.input(name, "float32", a.shape) for name, a in self._weights.items()}
        values = b.matmul(types["rows"], b.matmul(maps, types["columns"]))
        threshold, offset = self._thresholds.mask, self._thresholds.offset

        def count(limit: float) -> Operand:
            return b.reduce_sum(b.cast(b.greater(values, limit), "float32"), axes=[1, 2])

        return b.build(
            {
                "masks": b.greater(values, threshold),
                "inner": count(threshold + offset),
                "outer": count(threshold - offset),
            }
        )

    def close(self) -> None:
        """Free the memory on the device."""
        if self._executable is not None:
            self._backend.release(self._executable)
            self._executable = None
