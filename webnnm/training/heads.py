"""The heads of outputs: what a loss has to know of the layers that end a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from webnnm.graph.node import Operand, OperatorNode

HeadKind = Literal["softmax", "logSoftmax", "sigmoid", "linear"]
"""The layers that losses are fused with (spec D.2); "linear" is everything else."""


@dataclass(frozen=True)
class Head:
    """What ends a model: softmax, logSoftmax, sigmoid or anything else ("linear").

    `logits` is what flows into the head, `output` what the model delivers, in float32.
    """

    kind: HeadKind
    output: Operand
    logits: Operand


def head_of(output: Operand) -> Head:
    """Recognise the head of an output, looking through casts.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> z = b.input("z", "float32", [2, 3])
    >>> head_of(b.softmax(z, axis=1)).kind
    'softmax'

    A softmax along another axis than the last is no head.
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
