"""Tasks whose inputs are pictures: they are prepared and computed in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, WebNNMError
from webnnm.data.streams.stream_items import iterate
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
    keeps_pixels: ClassVar[bool] = False
    """Whether results have the pixels of the file."""

    @property
    def pixel_input(self) -> str:
        """The name of the input for pictures."""
        return "pixel_values"

    async def prepare(self) -> None:
        """Read how the model takes pictures."""
        settings = await read_picture_processor(self.model.read_file)
        is_told = "pixel_mask" in self.model.inputs()
        self.settings = replace(settings, masked=settings.masked and is_told)

    async def stream(self, frames: Any, **settings: Any) -> AsyncGenerator[Any]:
        """Yield the result of each picture of a video, a camera or a long list, in their order.

        >>> async def follow(detect, frames):
        ...     async for objects in detect.stream(frames, threshold=0.7):
        ...         print(len(objects))

        - `frames`: an iterable or an async iterable of pictures, see `ImageClassification`. It is
          asked for a picture once the last result was used, so it may yield the same canvas or
          video again, which then shows another picture, and free a picture that it yielded.
        - `settings`: those of a call, but for `batch_size`: pictures are computed one by one.

        If iteration ends early, an iterator is closed. Raises what a call raises, with the number
        of the picture, from 0, `DataError` NNM702 for frames that are not iterable, NNM704 for a
        `batch_size`.
        """
        if isinstance(frames, (str, bytes)) or not _is_iterable(frames):
            hint = "pass an iterable of pictures, such as a list or a generator"
            message = f"a {type(frames).__name__} is no stream of pictures"
            raise DataError("NNM702", message, hint=hint)
        if "batch_size" in settings:
            hint = "leave it out, or call the pipeline with lists of pictures"
            raise DataError("NNM704", "batch_size: streams compute one by one", hint=hint)
        run: Any = self
        number = 0
        async with aclosing(iterate(frames)) as source:
            async for frame in source:
                try:
                    result = await run(frame, **settings)
                except WebNNMError as error:
                    error.message = f"frame {number}: {error.message}"
                    raise
                yield result
                number += 1
                await asyncio.sleep(0)  # the page is drawn even if nothing else waits

    async def run(
        self, pictures: Sequence[Any], batch_size: int, **others: Any
    ) -> AsyncIterator[PictureResult]:
        """Yield the results of pictures, `batch_size` of them computed at once.

        `others` are further inputs of the model, the same for all pictures.
        """
        async for processed, inputs in self.prepare_batches(pictures, batch_size):
            count = len(inputs[self.pixel_input])
            outputs = await self.model.predict({**inputs, **self.repeat(others, count)})
            arrays = {name: HostArray.of(values, "float32") for name, values in outputs.items()}
            for k, picture in enumerate(processed):
                # Outputs for texts alone have a row for each text.
                rows = {name: values for name, values in arrays.items() if k < len(values)}
                own = {name: select_row(values, k) for name, values in rows.items()}
                yield PictureResult(own, picture)

    def repeat(self, others: Mapping[str, Any], count: int) -> Mapping[str, Any]:
        """Return the further inputs for a batch of `count` pictures, by default one for all."""
        del count
        return others

    async def prepare_batches(
        self, pictures: Sequence[Any], batch_size: int
    ) -> AsyncIterator[tuple[list[ProcessedPicture], dict[str, Any]]]:
        """Yield at most `batch_size` pictures and the inputs of the model for a full batch."""
        size, names = self.model.picture_size(), self.model.inputs()
        for batch in split_batches(enumerate(pictures), batch_size):
            processed: list[ProcessedPicture] = []
            for number, picture in batch:
                name = f"picture {number}" if len(pictures) > 1 else "the picture"
                processed.append(
                    await process_picture(
                        *(picture, name, self.settings, size),
                        backend=self.model.backend,
                        keep=self.keeps_pixels,
                    )
                )
            for part, count in self._split_sizes(processed, batch_size):
                inputs = join_pictures(fill_batch(part, count), self.settings, size)
                renamed = {self.pixel_input: inputs["pixel_values"], **inputs}
                yield part, {name: values for name, values in renamed.items() if name in names}

    def _split_sizes(
        self, batch: list[ProcessedPicture], batch_size: int
    ) -> list[tuple[list[ProcessedPicture], int]]:
        """Return the pictures that are computed together, and how many a graph takes.

        Pictures of different sizes are computed one by one, unless a model can be told what they
        are filled up with: then no result depends on other pictures.
        """
        sizes = {picture.pixels.shape for picture in batch}
        any_together = self.settings.masked or self.settings.patch > 0
        if len(sizes) == 1 or any_together or self.model.picture_size() is not None:
            return [(batch, batch_size)]
        return [([picture], 1) for picture in batch]


def _is_iterable(value: Any) -> bool:
    return hasattr(value, "__aiter__") or hasattr(value, "__iter__")


def as_pictures(inputs: Any) -> tuple[list[Any], bool]:
    """Return pictures as a list, and whether there was a single one.

    >>> as_pictures("photo.jpg"), as_pictures(["photo.jpg"])
    ((['photo.jpg'], True), (['photo.jpg'], False))
    """
    if isinstance(inputs, (list, tuple)):
        return [*inputs], False
    return [inputs], True
