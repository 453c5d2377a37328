"""Traps of quantisation: 32-bit integers, and constants that are read in another order."""

from __future__ import annotations

import math

from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Untried, Values, litert
from webnnm.compiler.traps.trap import Trap, is_operator
from webnnm.core.dtypes import FORMATS
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node, reapply

REORDERING = frozenset(
    {"conv2d", "convTranspose2d", "gemm", "instanceNormalization", "reshape", "transpose"}
)
"""Operators for which the browser changes the shape or order of a constant."""

COMPARING = frozenset(
    {
        *("equal", "notEqual", "greater", "greaterOrEqual", "lesser", "lesserOrEqual"),
        *("max", "min"),
    }
)
"""Operators that the browser computes with the integers of two dequantised tensors."""

FUSED = frozenset(
    {
        "averagePool2d",
        "conv2d",
        "convTranspose2d",
        "instanceNormalization",
        "maxPool2d",
        "resample2d",
    }
)
"""Operators that the browser joins with a quantisation behind them."""

OUT_OF_RANGE = 512.0
"""How far from 0 no 8-bit integer is, whatever the zero point."""
PASSING_SCALE = frozenset({"concat", "expand", "identity", "reshape", "slice", "tile", "transpose"})
"""Operators that pass the scale of their first operand on; those that join tensors get copies."""


def _widen_integers(b: GraphBuilder, node: Node) -> Replacement | None:
    """(De)quantisation with 32-bit integers → its parts, in 64 bits."""
    from webnnm.ops.quantize import LONG

    if not isinstance(node, OperatorNode):
        return None
    zero_point = node.operands[-1]
    assert zero_point is not None
    return decompose_node(b, node) if zero_point.dtype in LONG else None


def _avoid_zero_scales(b: GraphBuilder, node: Node) -> Replacement | None:
    """(De)quantisation by a constant with scales that are not positive → its parts."""
    from webnnm.compiler.scales import avoid_zero_scales

    return avoid_zero_scales(b, node) if isinstance(node, OperatorNode) else None


def _copy_scale(b: GraphBuilder, node: Node) -> Replacement | None:
    """A dequantisation by constants → one with a copied scale, whose result is a plain tensor.

    The browser keeps constant scales with the tensors, and passes them on to reshapes of these.
    """
    if not isinstance(node, OperatorNode):
        return None
    x, scale, zero_point = node.operands
    assert x is not None
    assert scale is not None
    assert zero_point is not None
    is_constant, *are_constant = (isinstance(o.node, ConstantNode) for o in (x, scale, zero_point))
    is_safe = scale.dtype == "float32" and (is_constant or count(scale.shape) == 1)
    if is_safe or not all(are_constant):
        return None
    return reapply(b, node, x, b.concat([scale], axis=0), zero_point)


def _copy_packed_operands(b: GraphBuilder, node: Node) -> Replacement | None:
    """An operator that turns a dequantised constant → the same on a copy of it."""
    if not isinstance(node, OperatorNode) or not any(map(_is_packed, node.operands)):
        return None
    if is_operator(node, "conv2d") and node.options["groups"] == 1 and _has_scale_per_filter(node):
        return None  # read as it is, and unpacked once
    operands = [
        b.concat([o], axis=0) if o is not None and _is_packed(o) else o for o in node.operands
    ]
    return reapply(b, node, *operands)


def _compare_copies(b: GraphBuilder, node: Node) -> Replacement | None:
    """A comparison of dequantised tensors → one with copies of constants in blocks."""
    if not isinstance(node, OperatorNode):
        return None
    sources = [operand.node for operand in node.operands if operand is not None]
    all_dequantised = all(is_operator(source, "dequantizeLinear") for source in sources)
    return _copy_packed_operands(b, node) if all_dequantised else None


def _has_scale_per_filter(node: OperatorNode) -> bool:
    """Return whether the weights of a convolution have one scale per filter, or one in all."""
    weights = node.operands[1]
    if weights is None or not is_operator(weights.node, "dequantizeLinear"):
        return True
    scale = weights.node.operands[1]
    assert scale is not None
    return count(scale.shape) == scale.shape[node.options["filter_layout"].index("o")]


def _copy_before_move(b: GraphBuilder, node: Node) -> Replacement | None:
    """A reshape or transpose of what constants quantised in blocks → one of a copy.

    The browser keeps constant scales with the tensor.
    """
    if not isinstance(node, OperatorNode):
        return None
    (x,) = node.operands
    scale = _constant_scale(x)
    if scale is None or count(scale.shape) == 1:
        return None
    return reapply(b, node, b.concat([x], axis=0))


def _copy_before_quantise(b: GraphBuilder, node: Node) -> Replacement | None:
    """A quantisation of what was computed in floats, and only moved since → one of a copy.

    The browser looks for the scale of the first operand, to compute in integers.
    """
    if not isinstance(node, OperatorNode):
        return None
    x, *others = node.operands
    source = _source_of(x)
    if source is None or source.operator.name not in FUSED:
        return None
    source_of_input = _source_of(source.operands[0])
    if source_of_input is not None and source_of_input.operator.name == "dequantizeLinear":
        return None
    assert x is not None
    return reapply(b, node, b.concat([x], axis=0), *others)


def _source_of(operand: Operand | None) -> OperatorNode | None:
    """Return the operator that computed an operand, before its shape or order changed."""
    node = operand and operand.node
    while isinstance(node, OperatorNode) and node.operator.name in ("reshape", "transpose"):
        node = node.operands[0] and node.operands[0].node
    return node if isinstance(node, OperatorNode) else None


def _copy_scaled_operands(b: GraphBuilder, node: Node) -> Replacement | None:
    """An operator that joins tensors, some of which constants quantised → the same on copies."""
    if not isinstance(node, OperatorNode):
        return None
    operands = [_copy_without_scale(b, o) if _keeps_scale(o) else o for o in node.operands]
    return reapply(b, node, *operands) if operands != [*node.operands] else None


def _copy_without_scale(b: GraphBuilder, x: Operand | None) -> Operand:
    """Return a copy to which the browser passes no scale, as it does where nothing is computed."""
    assert x is not None
    return b.cast(b.cast(x, type="int32"), type=x.dtype)


def _keeps_scale(operand: Operand | None) -> bool:
    """Return whether an operand was quantised by constants, and only moved since."""
    while operand is not None and operand.dtype in FORMATS:
        if _constant_scale(operand) is not None:
            return True
        node = operand.node
        if not isinstance(node, OperatorNode) or node.operator.name not in PASSING_SCALE:
            return False
        operand = node.operands[0]
    return False


def _constant_scale(operand: Operand | None) -> Operand | None:
    """Return the scale by which an operand was quantised if that and the zero point are known."""
    if operand is None or not is_operator(operand.node, "quantizeLinear"):
        return None
    _, scale, zero_point = operand.node.operands
    are_constant = all(
        o is not None and isinstance(o.node, ConstantNode) for o in (scale, zero_point)
    )
    return scale if are_constant else None


def _clamp_to_range(b: GraphBuilder, node: Node) -> Replacement | None:
    """quantizeLinear(x) → that of x near the range of the integers, and of what is 0 for NaN."""
    from webnnm.ops.quantize import over_blocks

    if not isinstance(node, OperatorNode):
        return None
    x, scale, zero_point = node.operands
    assert x is not None
    assert scale is not None
    rows, scales = over_blocks(b, x, scale)
    bound = b.abs(scales * OUT_OF_RANGE)
    clamped = b.max(b.min(rows, bound), -bound)
    if zero_point is None or zero_point.dtype not in FORMATS:
        return reapply(b, node, b.reshape(clamped, new_shape=x.shape), scale, zero_point)
    _, zeros = over_blocks(b, x, b.cast(zero_point, type=x.dtype))
    clamped = b.where(b.equal(rows, rows), clamped, -(zeros * scales))
    return reapply(b, node, b.reshape(clamped, new_shape=x.shape), scale, zero_point)


def _clamp_blocks_to_range(b: GraphBuilder, node: Node) -> Replacement | None:
    """quantizeLinear(x) by constants in blocks → that of x near the range of the integers."""
    assert isinstance(node, OperatorNode)
    _, scale, _ = node.operands
    assert scale is not None
    has_blocks = isinstance(scale.node, ConstantNode) and count(scale.shape) > 1
    return _clamp_to_range(b, node) if has_blocks else None


def _is_packed(operand: Operand | None) -> bool:
    """Return whether an operand is a constant that constants dequantise in several blocks."""
    if operand is None or not is_operator(operand.node, "dequantizeLinear"):
        return False
    scale = operand.node.operands[1]
    assert scale is not None
    is_constant = all(o is None or isinstance(o.node, ConstantNode) for o in operand.node.operands)
    return is_constant and count(scale.shape) > 1


def _draw_output_with_reader(g: Sketch) -> list[SketchTensor]:
    """Return two numbers dequantised to float16, and again after a relu."""
    x = g.tensor([2, 4], "int8")
    y = g.dequantizeLinear(x, g.constant([2.0], "float16"), g.constant([1], "int8"))
    return [y, g.relu(y)]


TRAPS = (
    Trap(
        operators=frozenset({"quantizeLinear", "dequantizeLinear"}),
        reason="anything may happen with constant scales that are not positive, such as a refusal; "
        "computed with other operators",
        evidence=Untried("the specification leaves it to implementations"),
        rule=_avoid_zero_scales,
    ),
    Trap(
        operators=frozenset({"quantizeLinear", "dequantizeLinear"}),
        reason="32-bit integers would lose their last digits in float32; computed in int64",
        evidence=(
            Probe(
                lambda g: g.dequantizeLinear(
                    g.tensor([16777217, 16777219], "int32"),
                    g.tensor([0.5]),
                    g.tensor([16777216], "int32"),
                ),
                Values([0.5, 1.5]),
            ),
        ),
        rule=_widen_integers,
    ),
    Trap(
        operators=frozenset({"dequantizeLinear"}),
        reason="what is computed and dequantised in blocks could be neither reshaped nor clamped, "
        "and a float16 output could not be read either; the scale is copied first",
        evidence=(
            Probe(
                lambda g: g.reshape(
                    g.dequantizeLinear(
                        g.logicalNot(g.tensor([0, 1, 0, 1], "uint8")),
                        g.constant([1.0, 1.0]),
                        g.constant([1, 1], "uint8"),
                    ),
                    [2, 1, 2],
                ),
                Values([[[0.0, -1.0]], [[0.0, -1.0]]]),
                alone=True,
            ),
            Probe(_draw_output_with_reader, [Values([2.0, 6.0], "float16")] * 2, alone=True),
        ),
        rule=_copy_scale,
    ),
    Trap(
        operators=REORDERING,
        reason="a constant that is dequantised in blocks could be neither reshaped nor "
        "transposed; it is copied in between",
        evidence=(
            Probe(
                lambda g: g.reshape(
                    g.dequantizeLinear(
                        g.constant([[1, 2], [3, 4]], "int8"),
                        g.constant([[0.5], [2.0]]),
                        g.constant([[0], [1]], "int8"),
                    ),
                    [4],
                ),
                Values([0.5, 1.0, 4.0, 6.0]),
                alone=True,
            ),
        ),
        rule=_copy_packed_operands,
    ),
    Trap(
        operators=frozenset({"concat", "pad", "scatterElements", "scatterND"}),
        reason="what constants quantise could not be joined with other tensors, or would change "
        "there; a copy is joined",
        evidence=(
            Probe(
                lambda g: g.concat(
                    [
                        g.quantizeLinear(
                            g.tensor([-0.147, 0.703]),
                            g.constant([0.5442]),
                            g.constant([1], "uint8"),
                        ),
                        g.tensor([4, 0], "uint8"),
                    ],
                    0,
                ),
                Values([1, 2, 4, 0], "uint8"),
            ),
            Probe(
                lambda g: g.scatterND(
                    g.quantizeLinear(
                        g.tensor([1.0, 2.0, -1.0, 0.5]),
                        g.constant([0.5]),
                        g.constant([1], "int8"),
                    ),
                    g.constant([[0], [2]], "int32"),
                    g.tensor([5, 6], "int8"),
                ),
                Values([5, 5, 6, 2], "int8"),
                alone=True,
            ),
        ),
        rule=_copy_scaled_operands,
    ),
    Trap(
        operators=COMPARING,
        reason="a constant that is dequantised in blocks would end the browser's process where it "
        "is compared with another dequantised tensor; a copy is compared",
        evidence=Untried("where the fault shows, the device or the page is lost", litert),
        rule=_compare_copies,
    ),
    Trap(
        operators=frozenset({"quantizeLinear"}),
        reason="what convolutions and others compute in floats would end the page's process where "
        "it is quantised; a copy is quantised",
        evidence=Untried("where the fault shows, the page is lost", litert),
        rule=_copy_before_quantise,
    ),
    Trap(
        operators=frozenset({"reshape", "transpose"}),
        reason="what is quantised in blocks could be neither reshaped nor transposed; it is "
        "copied first",
        evidence=(
            Probe(
                lambda g: g.transpose(
                    g.quantizeLinear(
                        g.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
                        g.constant([[[1.0]], [[2.0]]]),
                        g.constant([[[1]], [[1]]], "uint8"),
                    ),
                    permutation=[2, 1, 0],
                ),
                Values([[[2, 3], [3, 3]]], "uint8"),
                alone=True,
            ),
            Probe(
                lambda g: g.reshape(
                    g.quantizeLinear(
                        g.tensor([[1.0, 2.0], [3.0, 4.0]]),
                        g.constant([[1.0, 2.0]]),
                        g.constant([[1, 1]], "uint8"),
                    ),
                    [4],
                ),
                Values([2, 2, 4, 3], "uint8"),
                alone=True,
            ),
        ),
        rule=_copy_before_move,
    ),
)

GUARDS = (
    Trap(
        operators=frozenset({"quantizeLinear"}),
        reason="NaN would become the largest integer, numbers far out of range the least; they "
        "become 0, as in a cast, and the nearest integer",
        evidence=(
            Probe(
                lambda g: g.quantizeLinear(
                    g.tensor([math.nan, 1.0, 3e38]), g.tensor([0.5]), g.tensor([3], "int8")
                ),
                Values([0, 5, 127], "int8"),
            ),
            # With constants, another kernel computes.
            Probe(
                lambda g: g.quantizeLinear(
                    g.tensor([math.nan, 1.0, -1.0]), g.constant([0.875]), g.constant([3], "int8")
                ),
                Values([0, 4, 2], "int8"),
            ),
        ),
        rule=_clamp_to_range,
    ),
    Trap(
        operators=frozenset({"quantizeLinear"}),
        reason="numbers far out of range would become the least or the largest integer by chance "
        "where constants quantise in blocks; they become the nearest integer",
        evidence=(
            Probe(
                lambda g: g.quantizeLinear(
                    g.tensor([[-3e38, 1.0], [3e9, 3e38]]),
                    g.constant([[0.5, 0.25]]),
                    g.constant([[3, 4]], "uint8"),
                ),
                Values([[0, 8], [255, 255]], "uint8"),
                alone=True,
            ),
        ),
        rule=_clamp_blocks_to_range,
    ),
)
