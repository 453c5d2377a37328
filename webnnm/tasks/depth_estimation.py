"""How far away each pixel of a picture is."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.tasks.maps import resize_maps
from webnnm.tasks.picture_task import PictureTask, as_pictures

WHITE = 255


class DepthEstimation(PictureTask):
    """Returns the depth of each pixel of pictures.

    >>> async def find_nearest(estimate):
    ...     return max(max(row) for row in (await estimate("photo.jpg"))["depth"].tolist())
    """

    outputs = frozenset({"predicted_depth"})
    classes = "…ForDepthEstimation"

    async def __call__(self, inputs: Any, *, batch_size: int = 1) -> Any:
        """Return a dict with `predicted_depth` and `depth` for a picture, or a list of these.

        Both are arrays `[height, width]` of the size of the picture: what the model predicts,
        meters or relative numbers, and the same as bytes from 0 to 255.

        - `inputs`: see `ImageClassification`.
        - `batch_size`: how many pictures are computed at once.
        """
        pictures, single = as_pictures(inputs)
        results: list[dict[str, Any]] = []
        async for result in self.run(pictures, batch_size):
            predicted = result.outputs["predicted_depth"]
            map = HostArray("float32", (1, *predicted.shape), predicted.data)
            resized = await resize_maps(self.model.backend, map, result.size, "cubic")
            depth = HostArray("float32", result.size, resized.data)
            results.append({"predicted_depth": depth.public(), "depth": to_grey(depth).public()})
        return results[0] if single else results


def to_grey(numbers: HostArray) -> HostArray:
    """Return numbers as bytes, the smallest as 0, the largest as 255; equal ones are all 0.

    >>> to_grey(HostArray.of([[2.0, 3.0, 4.0]])).tolist()
    [[0, 127, 255]]
    """
    values: Any = numbers.values()
    lowest, highest = min(values), max(values)
    scale = WHITE / (highest - lowest) if highest > lowest else 0.0
    # The largest may be a little less than 255 by rounding.
    grey = bytes(int((value - lowest) * scale + 1e-9) for value in values)
    return HostArray("uint8", numbers.shape, grey)
