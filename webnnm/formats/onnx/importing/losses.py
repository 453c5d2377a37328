"""Losses with class indices as targets."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import arange, as_type, full, reshape_to, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


def _nll_loss(c: Call, logs: Operand, target: Operand, weight: Operand | None) -> Operand:
    """Return −weight·log probability of the target at each position, reduced as requested."""
    b, classes = c.b, logs.shape[1]
    rows, rest = logs.shape[0], count(logs.shape[2:])
    flat = reshape_to(c, logs, (rows, classes, rest))
    labels = reshape_to(c, as_type(c, target, "int32"), (rows, 1, rest))
    column = reshape_to(c, arange(c, classes), (1, classes, 1))
    one_hot = as_type(c, b.equal(column, labels), logs.dtype)
    class_weights = (
        full(c, 1, logs.dtype, (1,)) if weight is None else reshape_to(c, weight, (1, classes, 1))
    )
    weights = b.reduce_sum(one_hot * class_weights, axes=[1])
    if c.has("ignore_index"):
        ignored = b.equal(labels, scalar_like(c, c.integer("ignore_index"), labels))
        weights = b.where(
            reshape_to(c, ignored, weights.shape), scalar_like(c, 0, weights), weights
        )
    log_probability = b.reduce_sum(
        b.where(b.equal(column, labels), flat, scalar_like(c, 0, flat)), axes=[1]
    )
    loss: Any = -log_probability * weights
    reduction = c.string("reduction", "mean")
    if reduction == "none":
        return reshape_to(c, loss, target.shape)
    total = b.reduce_sum(loss)
    return total / b.reduce_sum(weights) if reduction == "mean" else total


@imports("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(
    c: Call, logs: Operand, target: Operand, weight: Operand | None = None
) -> Operand:
    """−log probability of the target."""
    return _nll_loss(c, logs, target, weight)


@imports("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(
    c: Call, scores: Operand, target: Operand, weight: Operand | None = None
) -> tuple[Operand, Operand]:
    """−log softmax of the target, and the whole log softmax."""
    logs = c.b.log_softmax(scores, axis=1)
    return _nll_loss(c, logs, target, weight), logs
