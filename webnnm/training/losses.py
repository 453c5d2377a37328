"""The losses: per-row losses of an output against its target (spec part D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode

PROBABILITY_FLOOR = 1e-7
"""Probabilities of heads without a fused form are clamped to [floor, 1 − floor] (spec D.2)."""


@dataclass(frozen=True)
class Head:
    """What ends a model: softmax, logSoftmax, sigmoid or anything else ("linear").

    `logits` is what flows into the head, `output` what the model delivers, in float32.
    """

    kind: Literal["softmax", "logSoftmax", "sigmoid", "linear"]
    output: Operand
    logits: Operand


def head_of(output: Operand) -> Head:
    """Recognise the head of an output, looking through casts.

    >>> b = GraphBuilder()
    >>> z = b.input("z", "float32", [2, 3])
    >>> head_of(b.softmax(z, axis=1)).kind
    'softmax'
    """
    b = output.builder
    wide = output if output.dtype == "float32" else b.cast(output, type="float32")
    node = output.node
    while isinstance(node, OperatorNode) and node.operator.name in ("cast", "identity"):
        operand = node.operands[0]
        assert operand is not None
        node = operand.node
    if isinstance(node, OperatorNode):
        logits = node.operands[0]
        name = node.operator.name
        last = node.options.get("axis", output.rank - 1) == output.rank - 1
        if name in ("softmax", "logSoftmax", "sigmoid") and logits is not None and last:
            if logits.dtype != "float32":
                logits = b.cast(logits, type="float32")
            return Head(name, wide, logits)
    return Head("linear", wide, wide)


Rows = Callable[[GraphBuilder, Head, Operand], Operand]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss: `rows(b, head, target)` gives one number per row of the batch.

    `labels` says what the targets are: "same" shape as the output, or a "distribution" over its
    last dimension.
    """

    name: str
    labels: Literal["same", "distribution"]
    rows: Rows


def _per_row(b: GraphBuilder, values: Operand) -> Operand:
    """Return the mean over everything but the batch."""
    if values.rank == 1:
        return values
    return b.reduce_mean(values, axes=range(1, values.rank))


def _squared_error(b: GraphBuilder, head: Head, target: Operand) -> Operand:
    error = target - head.output
    return _per_row(b, error * error)


def _cross_entropy(b: GraphBuilder, head: Head, target: Operand) -> Operand:
    """−Σ y ln p; through logSoftmax of the logits where the head is a softmax."""
    last = target.rank - 1
    if head.kind == "softmax":
        log_p = b.log_softmax(head.logits, axis=last)
    elif head.kind == "logSoftmax":
        log_p = head.output
    else:
        floor = b.constant(PROBABILITY_FLOOR, "float32")
        ceiling = b.constant(1 - PROBABILITY_FLOOR, "float32")
        log_p = b.log(b.min(b.max(head.output, floor), ceiling))
    return _per_row(b, -b.reduce_sum(target * log_p, axes=[last]))


MSE = Loss(name="MSE", labels="same", rows=_squared_error)
CCE = Loss(name="CCE", labels="distribution", rows=_cross_entropy)

LOSSES: Mapping[str, Loss] = {loss.name: loss for loss in (MSE, CCE)}


def default_loss(head: Head) -> Loss:
    """Return the loss that a head asks for when nothing else is known (spec D.4)."""
    return CCE if head.kind in ("softmax", "logSoftmax") else MSE
