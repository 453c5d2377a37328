"""Losses with class indices as targets."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, full, number, places, reshaped
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


def _weighted(c: Call, logs: Operand, target: Operand, weight: Operand | None) -> Operand:
    """Return −weight·log probability of the target at each position, reduced as requested."""
    b, classes = c.b, logs.shape[1]
    rows, rest = logs.shape[0], count(logs.shape[2:])
    flat = reshaped(c, logs, (rows, classes, rest))
    wanted = reshaped(c, as_type(c, target, "int32"), (rows, 1, rest))
    column = reshaped(c, places(c, classes), (1, classes, 1))
    chosen = as_type(c, b.equal(column, wanted), logs.dtype)
    each = full(c, 1, logs.dtype, (1,)) if weight is None else reshaped(c, weight, (1, classes, 1))
    weights = b.reduce_sum(chosen * each, axes=[1])
    if c.has("ignore_index"):
        ignored = b.equal(wanted, number(c, c.integer("ignore_index"), wanted))
        weights = b.where(reshaped(c, ignored, weights.shape), number(c, 0, weights), weights)
    picked = b.reduce_sum(b.where(b.equal(column, wanted), flat, number(c, 0, flat)), axes=[1])
    loss: Any = -picked * weights
    reduction = c.word("reduction", "mean")
    if reduction == "none":
        return reshaped(c, loss, target.shape)
    total = b.reduce_sum(loss)
    return total / b.reduce_sum(weights) if reduction == "mean" else total


@imports("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(
    c: Call, logs: Operand, target: Operand, weight: Operand | None = None
) -> Operand:
    """−log probability of the target."""
    return _weighted(c, logs, target, weight)


@imports("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(
    c: Call, scores: Operand, target: Operand, weight: Operand | None = None
) -> tuple[Operand, Operand]:
    """−log softmax of the target, and the whole log softmax."""
    logs = c.b.log_softmax(scores, axis=1)
    return _weighted(c, logs, target, weight), logs
