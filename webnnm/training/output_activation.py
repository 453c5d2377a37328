"""The output activations of models: what a loss has to know about their last layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from webnnm.core.shapes import Shape, count
from webnnm.graph.node import Operand, OperatorNode

OutputActivation = Literal["softmax", "logSoftmax", "sigmoid", "linear"]
"""The layers that losses are fused with (spec D.2); "linear" is everything else."""


@dataclass(frozen=True)
class ActivatedOutput:
    """The end of a model: softmax, logSoftmax, sigmoid or anything else ("linear").

    `logits` is the input of the activation, `output` that of the model, in float32; both have the
    same shape; `operator` is the name of the last operator, "" if an input is returned.
    `elsewhere` is whether there is a softmax or logSoftmax along a dimension other than
    the last of the output, which losses cannot take as the output activation.
    """

    kind: OutputActivation
    output: Operand
    logits: Operand
    elsewhere: bool = False
    operator: str = ""


def find_activation(output: Operand) -> ActivatedOutput:
    """Recognise the activation of an output, looking through casts and transpositions.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> z = b.input("z", "float32", [2, 3, 5])
    >>> p = b.transpose(b.softmax(z, axis=1), permutation=[0, 2, 1])
    >>> find_activation(p).kind, find_activation(p).logits
    ('softmax', float32[2, 5, 3])

    A softmax along an axis other than the one that becomes the last does not count.
    """
    b = output.builder
    float_output = output if output.dtype == "float32" else b.cast(output, type="float32")
    axis: int | None = output.rank - 1
    moves: list[OperatorNode] = []
    node = output.node
    while isinstance(node, OperatorNode) and node.operator.name in _TRANSPARENT:
        operand = node.operands[0]
        assert operand is not None
        axis = _axis_before(node, operand.shape, axis)
        moves.append(node)
        node = operand.node
    name = node.operator.name if isinstance(node, OperatorNode) else ""
    if isinstance(node, OperatorNode) and name in ("softmax", "logSoftmax", "sigmoid"):
        if name != "sigmoid" and node.options["axis"] != axis:
            return ActivatedOutput(
                "linear", float_output, float_output, elsewhere=True, operator=name
            )
        logits = node.operands[0]
        assert logits is not None
        if logits.dtype != "float32":
            logits = b.cast(logits, type="float32")
        for move in reversed(moves):
            if move.operator.name in _MOVES:
                logits = b.apply(move.operator, [logits], move.options)
        return ActivatedOutput(name, float_output, logits, operator=name)
    return ActivatedOutput("linear", float_output, float_output, operator=name)


_MOVES = ("transpose", "reshape")
_TRANSPARENT = ("cast", "identity", *_MOVES)


def _axis_before(node: OperatorNode, before: Shape, axis: int | None) -> int | None:
    """Return the dimension of the operand that corresponds to an axis of the result, or None."""
    if axis is None or axis < 0 or node.operator.name not in _MOVES:
        return axis
    if node.operator.name == "transpose":
        return node.options["permutation"][axis]
    after = node.types[0].shape
    same = (after[axis], count(after[:axis]))
    return next((k for k, size in enumerate(before) if (size, count(before[:k])) == same), None)
