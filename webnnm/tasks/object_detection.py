"""Objects in a picture: their classes, and the boxes around them.

Sources: N. Carion et al., "End-to-end object detection with transformers", arXiv:2005.12872 (2020);
X. Zhu et al., "Deformable DETR", arXiv:2010.04159 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.scores import rank, read_labels, sigmoid, softmax
from webnnm.transformers.processors.picture_settings import Size

SIGMOID_COUNTS = {"ConditionalDetr": 100, "DeformableDetr": 100, "RTDetr": None}
"""Kinds of processors of models whose classes have a probability each → how many of these count.

None stands for as many as there are boxes. The others have a last class that means no object.
"""


class Detection(NamedTuple):
    """An object: its score, its class, and its box: middle, width and height as shares."""

    score: float
    label: int
    box: Sequence[float]


class ObjectDetection(PictureTask):
    """Returns the objects in pictures, with boxes.

    >>> async def count_cats(detect):
    ...     return sum(found["label"] == "cat" for found in await detect("photo.jpg"))
    """

    outputs = frozenset({"pred_boxes"})
    classes = "…ForObjectDetection"

    def fits(self) -> bool:
        """Return whether the classes are those of the model, not named by texts."""
        return "input_ids" not in self.model.inputs()

    async def __call__(
        self, inputs: Any, *, threshold: float = 0.5, batch_size: int = 1
    ) -> list[Any]:
        """Return dicts with `score`, `label` and `box` for a picture, a list of these for several.

        A box is a dict with `xmin`, `ymin`, `xmax` and `ymax`, in pixels of the picture.

        - `inputs`: see `ImageClassification`.
        - `threshold`: objects with a lower score are left out.
        - `batch_size`: how many pictures are computed at once.
        """
        pictures, single = as_pictures(inputs)
        results: list[list[dict[str, Any]]] = []
        async for result in self.run(pictures, batch_size):
            logits, boxes = (result.outputs[name].tolist() for name in ("logits", "pred_boxes"))
            labels = read_labels(self.model.config, len(logits[0]))
            detections = self._detect(logits, boxes)
            results.append(
                [
                    {"score": score, "label": labels[label], "box": in_pixels(box, result.size)}
                    for score, label, box in detections
                    if score > threshold
                ]
            )
        return results[0] if single else results

    def _detect(
        self, logits: Sequence[Sequence[float]], boxes: Sequence[Sequence[float]]
    ) -> Iterator[Detection]:
        kind = self.settings.kind
        if kind not in SIGMOID_COUNTS:
            return detect_exclusive(logits, boxes)
        return detect_independent(logits, boxes, SIGMOID_COUNTS[kind] or len(boxes))


def detect_exclusive(
    logits: Sequence[Sequence[float]], boxes: Sequence[Sequence[float]]
) -> Iterator[Detection]:
    """Yield the most likely class of each box; the last one means that there is no object.

    >>> [*detect_exclusive([[9.0, 0.0, 0.0]], [[0.5, 0.5, 1.0, 1.0]])][0].label
    0
    """
    for row, box in zip(logits, boxes, strict=True):
        scores = softmax(row)[:-1]
        (label,) = rank(scores, 1)
        yield Detection(scores[label], label, box)


def detect_independent(
    logits: Sequence[Sequence[float]], boxes: Sequence[Sequence[float]], count: int
) -> Iterator[Detection]:
    """Yield the most likely pairs of a box and a class, best first; a box can have several."""
    classes = len(logits[0])
    flat = [logit for row in logits for logit in row]
    best = rank(flat, count)
    for index, score in zip(best, sigmoid([flat[index] for index in best]), strict=True):
        box, label = divmod(index, classes)
        yield Detection(score, label, boxes[box])


def in_pixels(box: Sequence[float], size: Size) -> dict[str, int]:
    """Return the corners of a box in pixels, rounded towards 0.

    >>> in_pixels([0.5, 0.5, 1.0, 0.5], (100, 200))
    {'xmin': 0, 'ymin': 25, 'xmax': 200, 'ymax': 75}

    Raises `DataError` NNM707 for a box of numbers that are not finite.
    """
    if not all(map(math.isfinite, box)):
        hint = 'its weights are damaged, or too large for the data type: try dtype="float32"'
        raise DataError("NNM707", "the network gives a box whose numbers are not finite", hint=hint)
    x, y, across, down = box
    height, width = size
    return {
        "xmin": int((x - across / 2) * width),
        "ymin": int((y - down / 2) * height),
        "xmax": int((x + across / 2) * width),
        "ymax": int((y + down / 2) * height),
    }
