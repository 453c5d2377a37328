"""Tasks whose inputs are pictures: they are prepared and computed in batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.text_rows import select_row
from webnnm.transformers.processors.files import read_picture_processor
from webnnm.transformers.processors.picture_settings import PictureSettings, Size
from webnnm.transformers.processors.pictures import (
    ProcessedPicture,
    join_pictures,
    process_picture,
)


class PictureResult(NamedTuple):
    """What a model computed for a picture.

    Attributes: `outputs` by name, without the dimension of the batch; `picture`, which has the size
    of the file.
    """

    outputs: Mapping[str, HostArray]
    picture: ProcessedPicture

    @property
    def size(self) -> Size:
        """The height and width of the file."""
        return self.picture.size


class PictureTask(Pipeline):
    """A pipeline for pictures: files, their bytes, addresses, arrays, image objects, canvases."""

    inputs = frozenset({"pixel_values"})
    settings: PictureSettings

    async def prepare(self) -> None:
        """Read how the model takes pictures."""
        settings = await read_picture_processor(self.model.read_file)
        is_told = "pixel_mask" in self.model.inputs()
        self.settings = replace(settings, masked=settings.masked and is_told)

    async def run(
        self, pictures: Sequence[Any], batch_size: int, **others: Any
    ) -> AsyncIterator[PictureResult]:
        """Yield the results of pictures, `batch_size` of them computed at once.

        `others` are further inputs of the model, the same for all pictures.
        """
        size = self.model.picture_size()
        for batch in split_batches(enumerate(pictures), batch_size):
            processed: list[ProcessedPicture] = []
            for number, picture in batch:
                name = f"picture {number}" if len(pictures) > 1 else "the picture"
                processed.append(await process_picture(picture, name, self.settings, size))
            for result in await self._compute(processed, batch_size, others):
                yield result

    async def _compute(
        self, pictures: list[ProcessedPicture], batch_size: int, others: Mapping[str, Any]
    ) -> list[PictureResult]:
        """Return the results of at most `batch_size` pictures."""
        filled, size = fill_batch(pictures, batch_size), self.model.picture_size()
        inputs = join_pictures(filled, self.settings, size)
        names = self.model.inputs()
        own = {name: values for name, values in inputs.items() if name in names}
        outputs = await self.model.predict({**own, **others})
        arrays = {name: HostArray.of(values, "float32") for name, values in outputs.items()}
        return [
            PictureResult({name: select_row(values, k) for name, values in arrays.items()}, picture)
            for k, picture in enumerate(pictures)
        ]


def as_pictures(inputs: Any) -> tuple[list[Any], bool]:
    """Return pictures as a list, and whether there was a single one.

    >>> as_pictures("photo.jpg"), as_pictures(["photo.jpg"])
    ((['photo.jpg'], True), (['photo.jpg'], False))
    """
    if isinstance(inputs, (list, tuple)):
        return [*inputs], False
    return [inputs], True
