"""Masks in pictures: of classes, of objects, or of what texts name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.tasks.candidate_labels import encode_labels, split_labels
from webnnm.tasks.maps import find_above, find_largest, split_masks
from webnnm.tasks.picture_task import PictureResult, PictureTask, as_pictures
from webnnm.tasks.scores import read_labels, sigmoid
from webnnm.tasks.segments import SegmentThresholds, find_segments, join_maps
from webnnm.tasks.text_rows import select_row
from webnnm.transformers.processors.pictures import ProcessedPicture

SEMANTIC = "semantic"


class Queries(NamedTuple):
    """The output with the classes of queries, and the tasks for which these have a mask each.

    The first task is the default.
    """

    classes: str
    subtasks: tuple[str, ...]


QUERIES = {
    "pred_masks": Queries("logits", ("panoptic", "instance")),
    "masks_queries_logits": Queries("class_queries_logits", ("panoptic",)),
}
"""Outputs with a mask for each of several queries."""


class ImageSegmentation(PictureTask):
    """Returns a mask for each object in a picture, or for each class.

    >>> async def find_sky(segment):
    ...     masks = await segment("photo.jpg")
    ...     return [found["mask"] for found in masks if found["label"] == "sky"]
    """

    outputs = frozenset({"logits", *QUERIES})
    classes = (
        "…ForSemanticSegmentation, DetrForSegmentation, MaskFormerForInstanceSegmentation, "
        "CLIPSegForImageSegmentation"
    )

    def fits(self) -> bool:
        """Return whether there is a map for each query, for each class, or for a text."""
        if self._masks is not None:
            return True
        if "logits" not in self.model.outputs():
            return False
        return len(self.model.describe_output("logits").sizes()) == (2 if self._reads_texts else 3)

    @property
    def _masks(self) -> str | None:
        """The output with a mask for each of several queries, None if there is none."""
        outputs = self.model.outputs()
        pairs = QUERIES.items()
        return next((name for name, own in pairs if {name, own.classes} <= {*outputs}), None)

    @property
    def _reads_texts(self) -> bool:
        """Whether texts name what is looked for."""
        return "input_ids" in self.model.inputs()

    async def __call__(
        self,
        inputs: Any,
        *,
        subtask: str | None = None,
        threshold: float = 0.9,
        mask_threshold: float = 0.5,
        overlap_mask_area_threshold: float = 0.5,
        candidate_labels: str | Sequence[str] | None = None,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return dicts with `score`, `label` and `mask` for a picture, a list for several.

        A mask is an array of bytes `[height, width]` of the size of the picture, 255 where a pixel
        belongs to the object or the class, else 0. Masks of classes have the score None.

        - `inputs`: see `ImageClassification`.
        - `subtask`: "panoptic" or "instance" for a mask of each object, "semantic" for one of each
          class; by default the first that the model has. DETR gives the same masks for the first
          two, as its pipeline in `transformers` does; MaskFormer has no "instance" here.
        - `threshold`: objects with a lower score are left out.
        - `mask_threshold`: pixels with a lower probability do not count as those of an object, and
          are not in the masks of labels.
        - `overlap_mask_area_threshold`: objects that keep a smaller share of their pixels, because
          others are more likely there, are left out.
        - `candidate_labels`: what is looked for, a list, or one text with commas, for CLIPSeg: each
          has a mask, and as score the highest probability of a pixel.
        - `batch_size`: how many pictures are computed at once, or labels of a picture.

        Raises `DataError` NNM704 for a `subtask` that the model does not have, for missing labels,
        and for labels if the classes are those of the model, NNM707 for numbers of the model that
        are not finite.
        """
        segments = () if self._masks is None else QUERIES[self._masks].subtasks
        subtasks = (*segments, SEMANTIC)
        if subtask not in (None, *subtasks):
            hint = " or ".join(f'"{name}"' for name in subtasks)
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
        thresholds = None
        if (subtask or subtasks[0]) in segments:
            shares = mask_threshold, overlap_mask_area_threshold
            thresholds = SegmentThresholds(threshold, *shares)
        results = [
            await self._list_masks(result, thresholds)
            async for result in self.run(pictures, batch_size)
        ]
        return results[0] if single else results

    async def _list_masks(
        self, result: PictureResult, thresholds: SegmentThresholds | None
    ) -> list[dict[str, Any]]:
        """Return the masks of objects by their thresholds, without these those of classes."""
        device, size, outputs = self.model.backend, result.size, result.outputs
        if self._masks is None:
            maps = outputs["logits"]
        else:
            logits, maps = outputs[QUERIES[self._masks].classes].tolist(), outputs[self._masks]
            if thresholds is not None:
                labels = read_labels(self.model.config, len(logits[0]))
                segments = await find_segments(device, logits, maps, size, thresholds)
                return [
                    {"score": score, "label": labels[label], "mask": mask.public()}
                    for score, label, mask in segments
                ]
            maps = await join_maps(device, logits, maps)
        classes = await find_largest(device, maps, size)
        labels = read_labels(self.model.config, maps.shape[0])
        return [
            {"score": None, "label": labels[number], "mask": mask.public()}
            for number, mask in split_masks(classes).items()
        ]

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
