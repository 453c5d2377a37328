"""The class of each pixel of a picture, as one mask for each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.tasks.candidate_labels import encode_labels, split_labels
from webnnm.tasks.maps import find_above, find_largest
from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.scores import read_labels, sigmoid
from webnnm.tasks.text_rows import select_row
from webnnm.transformers.processors.pictures import ProcessedPicture

SEMANTIC = "semantic"
MAX_BYTES = 256
WHITE = 255


class ImageSegmentation(PictureTask):
    """Returns a mask for each class that is in a picture.

    >>> async def find_sky(segment):
    ...     masks = await segment("photo.jpg")
    ...     return [found["mask"] for found in masks if found["label"] == "sky"]
    """

    outputs = frozenset({"logits"})
    classes = "…ForSemanticSegmentation, CLIPSegForImageSegmentation"

    def fits(self) -> bool:
        """Return whether there is a map for each class, or one for a text."""
        return len(self.model.describe_output("logits").sizes()) == (2 if self._reads_texts else 3)

    @property
    def _reads_texts(self) -> bool:
        """Whether texts name what is looked for."""
        return "input_ids" in self.model.inputs()

    async def __call__(
        self,
        inputs: Any,
        *,
        subtask: str | None = None,
        candidate_labels: str | Sequence[str] | None = None,
        mask_threshold: float = 0.5,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return dicts with `label`, `mask` and `score` (None) for a picture, a list for several.

        A mask is an array of bytes `[height, width]` of the size of the picture, 255 where a pixel
        is of the class, else 0.

        - `inputs`: see `ImageClassification`.
        - `subtask`: "semantic".
        - `candidate_labels`: what is looked for, a list, or one text with commas, for CLIPSeg: each
          has a mask, and as score the highest probability of a pixel.
        - `mask_threshold`: pixels with a lower probability are not in these masks.
        - `batch_size`: how many pictures are computed at once, or labels of a picture.

        Raises `DataError` NNM704 for another `subtask`, for missing labels, and for labels if the
        classes are those of the model.
        """
        if subtask not in (None, SEMANTIC):
            hint = f'"{SEMANTIC}"'
            raise DataError("NNM704", f'subtask is "{subtask}"', hint=hint)
        if self._reads_texts != (candidate_labels is not None):
            verb = "needs" if self._reads_texts else "takes no"
            hint = "candidate_labels are for models that read texts, such as CLIPSeg"
            raise DataError("NNM704", f"the model {verb} candidate_labels", hint=hint)
        pictures, single = as_pictures(inputs)
        if candidate_labels is not None:
            labels = split_labels(candidate_labels)
            if not 0 < mask_threshold < 1:
                hint = "give a number between 0 and 1"
                raise DataError("NNM704", f"mask_threshold is {mask_threshold}", hint=hint)
            limit = math.log(mask_threshold / (1 - mask_threshold))
            drawn = [
                await self._draw_labels(processed, inputs, labels, limit, batch_size)
                async for (processed,), inputs in self.prepare_batches(pictures, 1)
            ]
            return drawn[0] if single else drawn
        results: list[list[dict[str, Any]]] = []
        async for result in self.run(pictures, batch_size):
            maps = result.outputs["logits"]
            classes = await find_largest(self.model.backend, maps, result.size)
            labels = read_labels(self.model.config, maps.shape[0])
            masks = split_masks(classes)
            results.append(
                [
                    {"score": None, "label": labels[number], "mask": mask.public()}
                    for number, mask in masks.items()
                ]
            )
        return results[0] if single else results

    async def _draw_labels(
        self,
        picture: ProcessedPicture,
        inputs: Mapping[str, Any],
        labels: Sequence[str],
        limit: float,
        batch_size: int,
    ) -> list[dict[str, Any]]:
        """Return what each label names in a picture: the pixels whose logit is above a limit."""
        results: list[dict[str, Any]] = []
        for part in split_batches(labels, batch_size):
            texts = encode_labels(self.model, fill_batch(part, batch_size))
            pixels = inputs["pixel_values"].rows([0] * batch_size)
            outputs = await self.model.predict({"pixel_values": pixels, **texts})
            maps = HostArray.of(outputs["logits"], "float32").part(0, len(part))
            masks = await find_above(self.model.backend, maps, picture.size, limit)
            for number, label in enumerate(part):
                (score,) = sigmoid([max(select_row(maps, number).values())])
                mask = select_row(masks, number).public()
                results.append({"score": score, "label": label, "mask": mask})
        return results


def split_masks(classes: HostArray) -> dict[int, HostArray]:
    """Return a mask for each number in an array, smallest first.

    >>> {n: mask.tolist() for n, mask in split_masks(HostArray.of([[7, 2]], "int32")).items()}
    {2: [[0, 255]], 7: [[255, 0]]}
    """
    values: Any = classes.values()
    present = sorted({*values})
    masks: dict[int, HostArray] = {}
    for start in range(0, len(present), MAX_BYTES - 1):
        part = present[start : start + MAX_BYTES - 1]
        places = {number: index + 1 for index, number in enumerate(part)}
        if len(part) == len(present):
            indices = bytes(map(places.__getitem__, values))
        else:
            indices = bytes(places.get(number, 0) for number in values)
        for number, index in places.items():
            table = bytearray(MAX_BYTES)
            table[index] = WHITE
            masks[number] = HostArray("uint8", classes.shape, indices.translate(table))
    return masks
