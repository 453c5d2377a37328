"""The errors of models that cannot be imported."""

from __future__ import annotations

from collections.abc import Collection

from webnnm.core.errors import DataError
from webnnm.core.spelling import nearest
from webnnm.formats.onnx.messages import NodeProto
from webnnm.graph.node import Operand


class UnknownValue(DataError):
    """NNM816: values that determine a shape depend on inputs.

    `inputs` has the names of these inputs, `operand` is what holds the values.
    """

    def __init__(self, message: str, inputs: Collection[str], operand: Operand) -> None:
        names = ", ".join(f'"{name}"' for name in sorted(inputs)) or "the model"
        super().__init__(
            "NNM816",
            message,
            hint=f"give the values of {names} together with the shapes: known={{name: array}}"
            if inputs
            else "replace the operator: shapes must be known before the data",
        )
        self.inputs = frozenset(inputs)
        self.operand = operand


class EmptyOutput(DataError):
    """NNM814: an output has no elements, so that no graph can compute it."""

    def __init__(self, name: str, type: object) -> None:
        super().__init__(
            "NNM814",
            f'output "{name}" is {type}: an empty tensor, which WebNN does not have',
            hint="use other sizes, or another output",
        )


def describe_node(node: NodeProto) -> str:
    """Return the description of a node in messages."""
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    name = node.name or (node.output[0] if node.output else "")
    return f'{domain}{node.op_type} "{name}"'


def not_supported(node: NodeProto, opset: int, reason: str, hint: str = "") -> DataError:
    """Return NNM812, the error for an operator, or a use of it, that cannot be imported."""
    return DataError(
        "NNM812",
        f"{describe_node(node)} of opset {opset}: {reason}",
        hint=hint or "export the model without it, or replace it with other operators",
    )


def unknown_operator(node: NodeProto, opset: int, names: Collection[str]) -> DataError:
    """Return NNM812 for an operator that the table does not have."""
    near = nearest(node.op_type, names)
    hint = "" if near is None else f'export the model without it; the nearest one is "{near}"'
    return not_supported(node, opset, "this operator is not supported", hint)


def too_large(what: str, amount: int, limit: int) -> DataError:
    """Return NNM815, the error for a file that exceeds a limit."""
    return DataError(
        "NNM815",
        f"{what} takes {amount}, at most {limit} are allowed",
        hint="use a smaller size, or split the model",
    )
