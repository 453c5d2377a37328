"""Prompts of Segment Anything: points and boxes as rows of a model, and their masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.transformers.source import repeat_rows

POINTS, LABELS, BOXES, MASKS = "input_points", "input_labels", "input_boxes", "input_masks"
HAS_MASKS, OUTPUTS = "has_input_masks", "output_tokens"
PICTURES = ("pixel_values", "image_embeddings", MASKS)
PADDING, CORNERS = [[0.0, 0.0]], [2, 3]
"""What follows points if there is no box, with the label -1, and the labels of a box."""
MANY = "multimask_output"


class Prompts(NamedTuple):
    """Inputs of a model whose rows are prompts, and how its results are put back into pictures.

    Attributes: `inputs`; `lead`, the sizes before those of a prompt; `first` and `last`, the range
    of the requested masks.
    """

    inputs: dict[str, Any]
    lead: tuple[int, ...]
    first: int
    last: int | None

    def results(self, outputs: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Return the requested masks and their scores, for all prompts of each picture."""
        return {name: self._result(array) for name, array in outputs.items()}

    def _result(self, array: HostArray) -> HostArray:
        rows, masks, *sizes = array.shape
        step = len(array.data) // (rows * masks)
        data, selected = memoryview(array.data), range(masks)[self.first : self.last]
        starts = (step * (row * masks + mask) for row in range(rows) for mask in selected)
        parts = b"".join(data[start : start + step] for start in starts)
        return HostArray(array.dtype, [*self.lead, len(selected), *sizes], bytearray(parts))


def takes_prompts(vertices: Sequence[InputVertex]) -> bool:
    """Return whether a model with these inputs draws masks for prompts."""
    return {POINTS, HAS_MASKS} <= {vertex.block for vertex in vertices}


def prompts(given: Mapping[str, Any], vertices: Sequence[InputVertex]) -> Prompts:
    """Return the inputs of a model for prompts in the format of Hugging Face's `SamModel`.

    `input_points` are `[batch, prompts, points, 2]` with `input_labels [batch, prompts, points]`,
    or without the prompts axis for one prompt per picture; `input_boxes` are `[batch, prompts, 4]`.
    Raises `DataError` NNM710 if there is neither, NNM702 for shapes that do not fit.
    """
    inputs = {name: value for name, value in given.items() if value is not None}
    many = inputs.pop(MANY, True)
    boxes = _array(inputs.pop(BOXES, None), "float32", BOXES, (3,), (4,))
    points = _array(inputs.pop(POINTS, None), "float32", POINTS, (3, 4), (2,))
    labels = _array(inputs.pop(LABELS, None), "int32", LABELS, (2, 3), ())
    if (points is None) != (labels is None) or (points is None and boxes is None):
        missing = LABELS if points is not None else POINTS
        hint = f"give points with labels, 1 for the object and 0 for the background; or {BOXES}="
        raise DataError("NNM710", f"{missing} is needed", hint=hint)
    if points is not None and labels is not None and points.shape[:-1] != labels.shape:
        message = f"{POINTS} is {show(points.shape)}, {LABELS} {show(labels.shape)}"
        raise DataError("NNM702", message, hint="give one label for each point")
    leads = [points.shape[:-2]] if points is not None else []
    leads += [boxes.shape[:2]] if boxes is not None else []
    if len({*leads}) > 1:
        message = " and ".join(show(lead) for lead in leads)
        raise DataError(
            "NNM702", f"points and boxes of {message} prompts", hint="give the same number of each"
        )
    lead = leads[0]
    rows = count(lead)
    inputs |= _tokens(points, labels, boxes, rows)
    if len(lead) > 1:
        pictures = {n: HostArray.of(inputs[n], "float32") for n in PICTURES if n in inputs}
        inputs |= {n: repeat_rows(array, lead[1]) for n, array in pictures.items() if array.shape}
    sizes = {vertex.block: vertex for vertex in vertices}
    inputs[HAS_MASKS] = [float(MASKS in inputs)] * rows
    if MASKS not in inputs:
        shape = (rows, *sizes[MASKS].features[0].sizes())
        inputs[MASKS] = HostArray("float32", shape, bytes(4 * count(shape)))
    inputs[OUTPUTS] = [[*range(sizes[OUTPUTS].length or 0)]] * rows
    return Prompts(inputs, lead, int(bool(many)), None if many else 1)


def _array(
    value: Any, dtype: Any, name: str, ranks: tuple[int, ...], last: tuple[int, ...]
) -> HostArray | None:
    """Return an input in its type. Raises `DataError` NNM702 for other shapes."""
    if value is None:
        return None
    array = HostArray.of(value, dtype)
    if len(array.shape) not in ranks or array.shape[len(array.shape) - len(last) :] != last:
        expected = ", ".join(["batch", "prompts", "points", *map(str, last)][: max(ranks)])
        if name == BOXES:
            expected = "batch, prompts, 4"
        raise DataError("NNM702", f"{name} is [{expected}], but {show(array.shape)} was given")
    return array


def _tokens(
    points: HostArray | None, labels: HostArray | None, boxes: HostArray | None, rows: int
) -> dict[str, Any]:
    """Return points and labels of each prompt, then the corners of its box, or padding."""
    point_rows: list[Any] = [[]] * rows
    label_rows: list[Any] = [[]] * rows
    if points is not None and labels is not None:
        point_rows = _rows(points, rows, points.shape[-2:])
        label_rows = _rows(labels, rows, labels.shape[-1:])
    more: list[Any] = [PADDING] * rows if boxes is None else _rows(boxes, rows, (2, 2))
    padding_labels = [-1] if boxes is None else CORNERS
    return {
        POINTS: [row + corners for row, corners in zip(point_rows, more, strict=True)],
        LABELS: [labels_of_row + padding_labels for labels_of_row in label_rows],
    }


def _rows(array: HostArray, rows: int, sizes: Sequence[int]) -> list[Any]:
    return HostArray(array.dtype, [rows, *sizes], array.data).tolist()
