"""The class of each pixel of a picture, as one mask for each class."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.maps import find_largest
from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.scores import read_labels

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
    classes = "…ForSemanticSegmentation"

    def fits(self) -> bool:
        """Return whether there is a map for each class."""
        return len(self.model.describe_output("logits").sizes()) == 3

    async def __call__(
        self, inputs: Any, *, subtask: str | None = None, batch_size: int = 1
    ) -> list[Any]:
        """Return dicts with `label`, `mask` and `score` (None) for a picture, a list for several.

        A mask is an array of bytes `[height, width]` of the size of the picture, 255 where a pixel
        is of the class, else 0.

        - `inputs`: see `ImageClassification`.
        - `subtask`: "semantic".
        - `batch_size`: how many pictures are computed at once.

        Raises `DataError` NNM704 for another `subtask`.
        """
        if subtask not in (None, SEMANTIC):
            hint = f'"{SEMANTIC}"'
            raise DataError("NNM704", f'subtask is "{subtask}"', hint=hint)
        pictures, single = as_pictures(inputs)
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
