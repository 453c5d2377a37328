"""Numbers of the segments of tokens, for layers that mix tokens of a segment."""

from __future__ import annotations

from typing import Any

from webnnm.ops.declare.layer import BuildView, ShapeView
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.tensors import Builder


def infer_segments(layer: ShapeView) -> None:
    """Raise NNM405 or NNM411 unless there is one number per token of the input."""
    segments = layer.tensors.get("segments")
    if segments is not None and segments.rank is not None:
        if segments.rank + (segments.sequence is not None) != 1:
            message = f"segments {segments} are not one number per token"
            layer.fail("NNM405", message, at="segments")
        if segments.sequence != layer.input.sequence:
            message = f'segments along "{segments.sequence}", not "{layer.input.sequence}"'
            layer.fail("NNM411", message, at="segments")


def segment_numbers(b: Builder, layer: BuildView, x: LayoutTensor) -> Any:
    """Return them in a shape that broadcasts to `[batch, …, tokens]`, None if there are none."""
    segments = layer.tensors.get("segments")
    if segments is None:
        return None
    numbers = segments.canonical().tensor
    *batch, tokens = numbers.shape
    between = (1,) * (x.tensor.rank - 3) if batch else ()
    return b.reshape(numbers, new_shape=(*batch, *between, tokens))
