"""Objects in a picture whose classes are only named when it is looked at.

Source: M. Minderer et al., "Simple open-vocabulary object detection with vision transformers",
arXiv:2205.06230 (2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.tasks.candidate_labels import encode_labels, split_labels
from webnnm.tasks.object_detection import in_pixels
from webnnm.tasks.picture_task import PictureResult, PictureTask, as_pictures
from webnnm.tasks.scores import sigmoid


class ZeroShotObjectDetection(PictureTask):
    """Returns the objects in pictures that texts name, with boxes.

    >>> async def find(detect):
    ...     return await detect("photo.jpg", candidate_labels=["a cat", "a remote control"])
    """

    inputs = frozenset({"pixel_values", "input_ids"})
    outputs = frozenset({"pred_boxes"})
    classes = "OwlViTForObjectDetection or Owlv2ForObjectDetection"
    uses_tokenizer = True

    async def __call__(
        self,
        image: Any,
        candidate_labels: str | Sequence[str] | Sequence[Sequence[str]],
        *,
        threshold: float = 0.1,
        top_k: int | None = None,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return dicts with `score`, `label` and `box`, best first, or a list of these for each.

        A box is a dict with `xmin`, `ymin`, `xmax` and `ymax`, in pixels of the picture.

        - `image`: a picture or a list, see `ImageClassification`.
        - `candidate_labels`: a list, or one text with commas; or a list of these lists, one for
          each picture.
        - `threshold`: objects with a lower score are left out.
        - `top_k`: the most objects of a picture, None for all.
        - `batch_size`: how many pictures are computed at once.

        Raises `DataError` NNM704 without labels, NNM702 for lists of labels that are fewer or more
        than the pictures.
        """
        pictures, single = as_pictures(image)
        labels_of_pictures = _read_labels(candidate_labels, len(pictures))
        labels = [*dict.fromkeys(label for own in labels_of_pictures for label in own)]
        inputs = encode_labels(self.model, labels)
        results: list[list[dict[str, Any]]] = []
        async for result in self.run(pictures, batch_size, **inputs):
            own = labels_of_pictures[len(results)]
            results.append(self._list_objects(result, labels, own, threshold)[: top_k or None])
        return results[0] if single else results

    def repeat(self, others: Mapping[str, Any], count: int) -> Mapping[str, Any]:
        """Return the inputs of labels for each picture: models divide texts among pictures."""
        return {name: [*rows] * count for name, rows in others.items()}

    def _list_objects(
        self,
        result: PictureResult,
        labels: Sequence[str],
        own: Sequence[str],
        threshold: float,
    ) -> list[dict[str, Any]]:
        """Return the objects above a threshold that a picture's own labels name, best first."""
        size = result.size
        if self.settings.squared:
            size = (max(size), max(size))
        logits, boxes = (result.outputs[name].tolist() for name in ("logits", "pred_boxes"))
        objects = [
            {"score": score, "label": label, "box": in_pixels(box, size)}
            for label, column in zip(labels, zip(*logits, strict=True), strict=True)
            if label in own
            for score, box in zip(sigmoid(column), boxes, strict=True)
            if score > threshold
        ]
        return sorted(objects, key=lambda found: -found["score"])


def _read_labels(labels: Any, count: int) -> list[list[str]]:
    """Return the labels of each of `count` pictures."""
    if isinstance(labels, str) or all(isinstance(label, str) for label in labels):
        return [split_labels(labels)] * count
    lists = [split_labels(cast("Sequence[str]", own)) for own in labels]
    if len(lists) != count:
        raise DataError("NNM702", f"{len(lists)} lists of labels for {count} pictures")
    return lists
