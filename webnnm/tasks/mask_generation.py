"""Masks of everything in a picture, from a grid of points.

Source: A. Kirillov et al., "Segment anything", arXiv:2304.02643 (2023), appendix B.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.rectangles import Rectangle, suppress_overlaps
from webnnm.tasks.batching import fill_batch, split_batches
from webnnm.tasks.mask_enlarging import MaskEnlarger, Thresholds
from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.transformers.pretrained import Folder, config_of
from webnnm.transformers.pretrained_model import PretrainedModel, from_pretrained
from webnnm.transformers.processors.picture_settings import Size
from webnnm.transformers.processors.pictures import (
    ProcessedPicture,
    join_pictures,
    process_picture,
)

TYPE, ENCODER, DECODER = "sam", "SamVisionModel", "SamMaskDecoder"
WHITE = b"\xff"


class GeneratedMask(NamedTuple):
    """A mask, bytes of 0 or 255; the box around it; the score that the model predicts."""

    pixels: HostArray
    box: Rectangle
    score: float


class MaskGeneration(PictureTask):
    """Returns masks of all objects in pictures, with their scores.

    >>> async def cut_out(generate):
    ...     return (await generate("photo.jpg", points_per_crop=16))["masks"]
    """

    inputs = frozenset({"image_embeddings"})
    outputs = frozenset({"pred_masks"})
    classes = "SamModel, from a folder"
    encoder: PretrainedModel | None = None

    @classmethod
    async def open(cls, task: str, source: Folder, settings: Mapping[str, Any]) -> Self:
        """Return the pipeline for a folder, whose encoder and decoder are separate models.

        So a picture is encoded once for all points.
        """
        config = await config_of(source)
        if config.get("model_type") != TYPE:
            kind = config.get("model_type") or "a model without a type"
            hint = f"load weights of {cls.classes}"
            raise DataError("NNM717", f"{kind} cannot be used for {task}", hint=hint)
        parts: dict[str, Any] = {**settings, "architecture": ENCODER}
        encoder = await from_pretrained(source, **parts)
        try:
            opened = await super().open(task, source, {**settings, "architecture": DECODER})
        except BaseException:
            encoder.close()
            raise
        opened.encoder = encoder
        return opened

    def close(self) -> None:
        """Free the device memory of both models."""
        if self.encoder is not None:
            self.encoder.close()
        super().close()

    async def __call__(
        self,
        image: Any,
        *,
        points_per_crop: int = 32,
        points_per_batch: int = 64,
        pred_iou_thresh: float = 0.88,
        stability_score_thresh: float = 0.95,
        stability_score_offset: float = 1.0,
        mask_threshold: float = 0.0,
        crops_nms_thresh: float = 0.7,
        output_bboxes_mask: bool = False,
    ) -> Any:
        """Return a dict with `masks` and `scores`, best first, or a list of these.

        A mask is an array of bytes `[height, width]` of the size of the picture, 255 inside.

        - `image`: a picture or a list, see `ImageClassification`.
        - `points_per_crop`: how many points lie on each side of the grid.
        - `points_per_batch`: how many of them are computed at once.
        - `pred_iou_thresh`: masks with lower scores are left out; 0 leaves none out.
        - `stability_score_thresh`, `stability_score_offset`: so are those that change with the
          threshold, moved up and down by the offset: the share that stays.
        - `mask_threshold`: the number above which a pixel is inside.
        - `crops_nms_thresh`: so are those whose boxes share more than this with a better one.
        - `output_bboxes_mask`: whether `bounding_boxes` are returned: left, top, right, bottom.
        """
        pictures, single = as_pictures(image)
        thresholds = Thresholds(mask_threshold, stability_score_offset, stability_score_thresh)
        results: list[dict[str, Any]] = []
        for number, picture in enumerate(pictures):
            name = f"picture {number}" if len(pictures) > 1 else "the picture"
            processed = await process_picture(
                picture, name, self.settings, backend=self.model.backend
            )
            masks: list[GeneratedMask] = []
            enlarger = MaskEnlarger(self.model.backend, processed, self.settings, thresholds)
            try:
                points = list_points(points_per_crop, processed.resized)
                async for maps, scores in self._draw(processed, points, points_per_batch):
                    good = [
                        k
                        for k, score in enumerate(scores)
                        if pred_iou_thresh <= 0 or score > pred_iou_thresh
                    ]
                    async for k, mask in enlarger.enlarge(maps, good):
                        masks.append(GeneratedMask(mask, find_box(mask), scores[k]))
            finally:
                enlarger.close()
            masks.sort(key=lambda mask: -mask.score)
            kept = suppress_overlaps([mask.box for mask in masks], crops_nms_thresh)
            best = [masks[index] for index in kept]
            boxes = {"bounding_boxes": [[*mask.box] for mask in best]}
            results.append(
                {
                    "masks": [mask.pixels.public() for mask in best],
                    "scores": [mask.score for mask in best],
                    **(boxes if output_bboxes_mask else {}),
                }
            )
        return results[0] if single else results

    async def _draw(
        self, picture: ProcessedPicture, points: Sequence[list[float]], batch_size: int
    ) -> AsyncIterator[tuple[HostArray, list[float]]]:
        """Yield the maps of points, several for each, and the score of each map."""
        assert self.encoder is not None
        inputs = join_pictures([picture], self.settings)
        states = (await self.encoder.predict(inputs))["last_hidden_state"]
        for batch in split_batches(points, batch_size):
            filled = fill_batch(batch, batch_size)
            outputs = await self.model.predict(
                image_embeddings=states,
                input_points=[[[point] for point in filled]],
                input_labels=[[[1]] * batch_size],
            )
            maps = HostArray.of(outputs["pred_masks"], "float32")
            _, prompts, count, height, width = maps.shape
            scores: list[list[float]] = HostArray.of(outputs["iou_scores"], "float32").tolist()[0]
            flat = HostArray("float32", (prompts * count, height, width), maps.data)
            present = scores[: len(batch)]
            yield flat, [score for row in present for score in row]


def list_points(count: int, size: Size) -> list[list[float]]:
    """Return a grid of points, evenly spaced, in a picture of a size: x and y, row by row.

    >>> list_points(2, (4, 8))
    [[2.0, 1.0], [6.0, 1.0], [2.0, 3.0], [6.0, 3.0]]
    """
    height, width = size
    shares = [(index + 0.5) / count for index in range(count)]
    return [[x * width, y * height] for y in shares for x in shares]


def find_box(mask: HostArray) -> Rectangle:
    """Return the box around the white pixels of a mask, all zeros if there is none.

    >>> find_box(HostArray.of([[0, 0, 0], [0, 255, 255]], "uint8"))
    Rectangle(left=1, top=1, right=2, bottom=1)
    """
    height, width = mask.shape
    data = bytes(mask.data)
    lines = [data[row * width : (row + 1) * width] for row in range(height)]
    rows = [row for row, line in enumerate(lines) if WHITE in line]
    if not rows:
        return Rectangle(0, 0, 0, 0)
    left = min(lines[row].find(WHITE) for row in rows)
    right = max(lines[row].rfind(WHITE) for row in rows)
    return Rectangle(left, rows[0], right, rows[-1])
