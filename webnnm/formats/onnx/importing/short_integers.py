"""Integers of 16 bits, which int32 holds: which operators take them, and which return them."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.errors import DataError
from webnnm.formats.onnx.importing.refusals import describe_node
from webnnm.formats.onnx.messages import NodeProto
from webnnm.formats.onnx.tensors import NAMES, SHORT

MOVING = frozenset(
    {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Split"}
    | {"Slice", "Expand", "Tile", "Gather", "GatherElements", "GatherND", "DepthToSpace"}
    | {"SpaceToDepth", "Pad", "Trilu", "ReverseSequence", "Compress", "CenterCropPad"}
)
"""Operators that return elements of their first operand as they are."""
TAKING = frozenset({"QuantizeLinear", "DequantizeLinear", "Cast", "CastLike", "Shape", "Size"})
"""Other operators that take such integers, each in its own way."""
COMPARING = frozenset(
    {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "ReduceMax"}
    | {"ReduceMin", "ArgMax", "ArgMin", "Where", "Clip", "TopK"}
)
"""Operators whose results are among their operands, or no numbers of 16 bits."""
RETURNING = MOVING | {"Max", "Min", "ReduceMax", "ReduceMin", "Clip", "TopK"}


def refuse_short(node: NodeProto, codes: Mapping[str, int]) -> None:
    """Raise `DataError` NNM814 for arithmetic in 16 bits, which would wrap around elsewhere."""
    for name in node.input:
        code = codes.get(name)
        if code in SHORT and node.op_type not in MOVING | TAKING | COMPARING:
            raise DataError(
                "NNM814",
                f'{describe_node(node)} computes with "{name}" of type {NAMES[code]}, which WebNN '
                "does not have",
                hint="cast it to int32 before",
            )


def short_result(node: NodeProto, codes: Mapping[str, int]) -> int | None:
    """Return the ONNX number of the type of a node's results if it has 16 bits, else None."""
    code: int | None = None
    if node.op_type in ("Constant", "ConstantOfShape"):
        code = next((a.t.data_type for a in node.attribute if a.t is not None), None)
    elif node.op_type in ("Cast", "QuantizeLinear", "EyeLike"):
        names = ("to", "output_dtype", "dtype")
        code = next((a.i for a in node.attribute if a.name in names and a.i), None)
        if node.op_type == "QuantizeLinear" and len(node.input) > 2 and node.input[2]:
            code = codes.get(node.input[2])
    elif node.op_type in ("CastLike", "Where") and len(node.input) > 1:
        code = codes.get(node.input[1])
    elif node.op_type in RETURNING and node.input:
        code = codes.get(node.input[0])
    return code if code in SHORT else None
