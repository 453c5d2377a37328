"""Traps of arithmetic: numbers out of range, and NaN that gets lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.compiler.extrema import keeps_nan, larger
from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.core.dtypes import FLOAT_INFO, LARGEST_INVERTIBLE, DataType, is_float
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node
from webnnm.ops.cast import float_range
from webnnm.ops.declare.constants import constant_values

SOFTPLUS_LINEAR = {"float32": 20.0, "float16": 10.0}
"""From this number on, softplus(x) differs from x by less than the last digit."""
NAN, INF, E = math.nan, math.inf, math.e


def _operands(node: Node) -> tuple[Any, ...]:
    """Return the operands of an operator that has all of them."""
    return node.operands if isinstance(node, OperatorNode) else ()


def _apply(b: GraphBuilder, node: Node, *operands: Operand) -> Operand:
    assert isinstance(node, OperatorNode)
    return b.apply(node.operator, operands, node.options)


def _guard_exp(b: GraphBuilder, node: Node) -> Operand:
    """exp(x) → max(exp(x), x): eˣ is always larger, and a NaN on the right is kept."""
    (x,) = _operands(node)
    return larger(b, _apply(b, node, x), x)


def _guard_sign(b: GraphBuilder, node: Node) -> Operand | None:
    """sign(x) → max(sign(x), min(−1, x)): the sign is larger, and a NaN on the right is kept."""
    (x,) = _operands(node)
    return larger(b, _apply(b, node, x), b.min(-1.0, x)) if is_float(x.dtype) else None


def _guard_log(b: GraphBuilder, node: Node) -> Operand:
    """log(x) → a series around 1, log(x / 4) + log 4 above 2¹²⁶, x where it is not finite."""
    (x,) = _operands(node)
    largest = FLOAT_INFO[x.dtype].max
    result = _apply(b, node, x)
    if x.dtype == "float32":
        quarter = _apply(b, node, x * 0.25) + math.log(4)
        result = b.where(b.lesser(x, LARGEST_INVERTIBLE), result, quarter)
        distance = x - 1.0
        result = b.where(b.lesser(b.abs(distance), 0.25), _log_near_one(b, distance, x), result)
    return b.where(b.lesser_or_equal(x, largest), result, x)


def _log_near_one(b: GraphBuilder, distance: Operand, x: Operand) -> Operand:
    """Return log x = 2 artanh z for x near 1, by its series in z = (x − 1) / (x + 1)."""
    z = distance / (x + 1.0)
    square = z * z
    series = square * (1 / 9)
    for n in (7, 5, 3):
        series = square * (series + 1 / n)
    return z * 2.0 + z * 2.0 * series


def _draw_moved(g: Sketch) -> tuple[SketchTensor, SketchTensor]:
    """Return float16 numbers that were moved, as an output, and the same in reverse."""
    x = g.tensor([[2.0], [3.0]], "float16")
    moved = g.gather(x, g.constant([1, 0], "int32"), axis=0)
    return moved, g.reverse(moved, axes=[0])


def _copy_outputs(b: GraphBuilder, node: Node) -> Replacement:
    """Results that are outputs and read by operators → copies of them, for the outputs."""
    return tuple(b.identity(x) for x in b.results[node.number])


def _guard_max(b: GraphBuilder, node: Node) -> Operand | None:
    """max(x, c) → max(c, x), which keeps NaN of x; of two unknowns, one is tested for NaN.

    NaN of a constant is put back where it stands.
    """
    x, z = _operands(node)
    shape = node.types[0].shape
    if not is_float(x.dtype):
        return None
    for operand, other in ((x, z), (z, x)):
        if (nans := _nan_mask(operand)) is not None:
            finite = [0.0 if v != v else v for v in operand.node.array.values()]
            constant = b.constant(finite, operand.dtype, operand.shape)
            extremum = _apply(b, node, constant, other)
            mask = b.constant(nans, "uint8", operand.shape)
            return b.where(mask, math.nan, _guard_max(b, extremum.node) or extremum)
    if _is_harmless(x, shape):
        return None
    if _is_harmless(z, shape):
        return _apply(b, node, z, x)
    checked = z if keeps_nan(x, shape) else x
    return b.where(b.equal(checked, checked), _apply(b, node, x, z), checked)


def _nan_mask(x: Operand) -> list[int] | None:
    """Return where a constant is NaN, None if it is not a constant or nowhere NaN."""
    if not isinstance(x.node, ConstantNode):
        return None
    values: Sequence[float] = x.node.array.values()
    where = [int(value != value) for value in values]
    return where if any(where) else None


def _is_harmless(x: Operand, shape: Shape) -> bool:
    """Return whether x is a constant that, as first operand, keeps NaN of the other operand."""
    return isinstance(x.node, ConstantNode) and (count(x.shape) == 1 or not keeps_nan(x, shape))


def _guard_reduce_max(b: GraphBuilder, node: Node) -> Operand | None:
    """max x → max x + Σ 0·x with x kept finite: the sum is 0, or NaN if an element is NaN."""
    (x,) = _operands(node)
    if not isinstance(node, OperatorNode) or not is_float(x.dtype):
        return None
    largest = FLOAT_INFO[x.dtype].max
    # Comparing and choosing would cost six times as much.
    finite = b.max(-largest, b.min(largest, x))
    return _apply(b, node, x) + b.reduce_sum(finite * 0.0, **node.options)


def _guard_cast(b: GraphBuilder, node: Node) -> Operand | None:
    """cast(x) → cast(x clamped to the bounds of the integer type, or 0 for NaN)."""
    (x,) = _operands(node)
    type = node.types[0].dtype
    if is_float(type) or not is_float(x.dtype):
        return None
    low, high = float_range(type, *FLOAT_INFO[x.dtype])
    bounded = b.max(b.min(x, high), low)
    return _apply(b, node, b.where(b.equal(x, x), bounded, 0.0))


def _decompose_power(b: GraphBuilder, node: Node) -> Operand | None:
    """Integer xⁿ → products of squares: floats would lose digits and not wrap around."""
    from webnnm.graph.transforms.integers import decompose_integer_operator

    return decompose_integer_operator(b, node) if isinstance(node, OperatorNode) else None


def _decompose_clamp(b: GraphBuilder, node: Node) -> Replacement | None:
    """A clamp without an upper bound → max(x, bound), unless it is from 0: then it is a relu."""
    (x,) = _operands(node)
    if not isinstance(node, OperatorNode) or not is_float(x.dtype):
        return None
    low, high = node.options["min_value"], node.options["max_value"]
    return decompose_node(b, node) if high == math.inf and low != 0 else None


def _guard_softplus(b: GraphBuilder, node: Node) -> Operand:
    """softplus(x) → softplus of x clamped to a bound, plus the part of x above it."""
    (x,) = _operands(node)
    bound = SOFTPLUS_LINEAR[x.dtype]
    return _apply(b, node, b.min(x, bound)) + b.max(x - bound, 0.0)


def _guard_root(b: GraphBuilder, node: Node) -> Operand | None:
    """√x, also √Σ x² → the same, split by magnitude, unless x is bounded by a min."""
    (x,) = _operands(node)
    if not isinstance(node, OperatorNode) or _is_bounded(x):
        return None
    from webnnm.compiler.infinite import take_root

    return take_root(b, node)


def _is_bounded(x: Operand) -> bool:
    """Return whether x is a minimum with a bound that keeps the reciprocal from being subnormal."""
    inner = x.node
    if not isinstance(inner, OperatorNode) or inner.operator.name != "min":
        return False
    values = constant_values(inner.operands[0])
    return values is not None and max(values, default=0) <= LARGEST_INVERTIBLE


def _compute_erf(b: GraphBuilder, node: Node) -> Operand | None:
    """erf(x) → 2·Φ(√2·x) − 1 with Φ(h) = gelu(h) / h."""
    from webnnm.compiler.infinite import compute_erf

    return compute_erf(b, *_operands(node))


def _mask_triangle(b: GraphBuilder, node: Node) -> Operand | None:
    """The triangle of x → where(triangle of ones, x, 0), where x is not known to be finite."""
    if not isinstance(node, OperatorNode) or not is_float(node.types[0].dtype):
        return None
    from webnnm.compiler.infinite import mask_triangle

    return mask_triangle(b, node)


def _guard_arg_max(b: GraphBuilder, node: Node) -> Operand | None:
    """The index of an extremum of x → that of x with NaN as ±∞, and ±∞ as the largest number."""
    if not isinstance(node, OperatorNode) or not is_float(_operands(node)[0].dtype):
        return None
    from webnnm.compiler.infinite import find_extremum

    return find_extremum(b, node)


def _guard_gemm(b: GraphBuilder, node: Node) -> Operand | None:
    """α·A·B + β·C → the same with matmul."""
    if not isinstance(node, OperatorNode):
        return None
    from webnnm.compiler.infinite import multiply

    return multiply(b, node)


def _split_log_sum(b: GraphBuilder, node: Node) -> Operand | None:
    """log Σ x → the same in two steps, whose logarithm is guarded as any other."""
    (x,) = _operands(node)
    return b.log(b.reduce_sum(x, **node.options)) if isinstance(node, OperatorNode) else None


def _decompose(b: GraphBuilder, node: Node) -> Any:
    return decompose_node(b, node) if isinstance(node, OperatorNode) else None


def _probe_clamp(dtype: DataType) -> Probe:
    """Return numbers clamped from below, after a relu."""
    return Probe(
        lambda g: g.clamp(g.relu(g.tensor([-2.0, 0.5, 3.0], dtype)), minValue=1.0),
        Values([1.0, 1.0, 3.0], dtype),
    )


def _probe_cast(type: DataType, low: int, high: int) -> Probe:
    """Return numbers cast to an integer type of these bounds."""
    return Probe(
        lambda g: g.cast(g.tensor([NAN, -1e10, 300.7, -300.7, 1.5]), type),
        Values([0, low, min(300, high), max(-300, low), 1], type),
    )


TRAPS = (
    Trap(
        operators=frozenset({"output"}),
        reason="float16 numbers that were moved could not be both an output and read by another "
        "operator, which would read zeros; the output is copied",
        evidence=(
            Probe(
                _draw_moved,
                (Values([[3.0], [2.0]], "float16"), Values([[2.0], [3.0]], "float16")),
                alone=True,
            ),
        ),
        rule=_copy_outputs,
        dtypes=frozenset({"float16"}),
    ),
    Trap(
        operators=frozenset({"erf"}),
        reason="off by 3e-7, and ten times as slow as gelu; computed with gelu",
        evidence=(Probe(lambda g: g.erf(g.tensor([5e-4])), Values([5.6418954e-4])),),
        rule=_compute_erf,
        needs=frozenset({"gelu"}),
    ),
    Trap(
        operators=frozenset({"reduceLogSumExp"}),
        reason="the exponentials overflow beyond 88; the largest operand is subtracted first",
        evidence=(
            Probe(
                lambda g: g.reduceLogSumExp(g.tensor([100.0, 101.0])),
                Values(101.313262),
            ),
        ),
        rule=_decompose,
    ),
    Trap(
        operators=frozenset({"reduceLogSum"}),
        reason="the logarithm of infinity would be 88, that of sums near 1 would lose most digits; "
        "the logarithm of the sum is taken",
        evidence=(
            Probe(
                lambda g: g.reduceLogSum(g.tensor([[INF, 1.0], [0.50001, 0.5]]), axes=[1]),
                Values([INF, 1.001353e-5]),
            ),
        ),
        rule=_split_log_sum,
    ),
    Trap(
        operators=frozenset({"clamp"}),
        reason="without an upper bound, after a relu or another clamp, nothing would be written "
        "into the output; computed with max",
        evidence=(_probe_clamp("float32"), _probe_clamp("float16")),
        rule=_decompose_clamp,
    ),
)

GUARDS = (
    Trap(
        operators=frozenset({"softplus"}),
        reason="the exponential overflows beyond 88; the part above 20 is added to the rest",
        evidence=(
            Probe(
                lambda g: g.softplus(g.tensor([100.0, 0.0])),
                Values([100.0, 0.69314718]),
            ),
            Probe(
                lambda g: g.softplus(g.tensor([20.0, 0.0], "float16")),
                Values([20.0, 0.69314718], "float16"),
            ),
        ),
        rule=_guard_softplus,
    ),
    Trap(
        operators=frozenset({"exp"}),
        reason="the exponential of NaN would be 0; it is NaN now",
        evidence=(
            Probe(
                lambda g: g.exp(g.tensor([NAN, 0.0, 1.0, -1.0, NAN, 0.0, 1.0, -1.0, NAN])),
                Values([NAN, 1.0, E, 1 / E, NAN, 1.0, E, 1 / E, NAN]),
            ),
            Probe(
                lambda g: g.exp(g.tensor([NAN, 0.0], "float16")),
                Values([NAN, 1.0], "float16"),
            ),
        ),
        rule=_guard_exp,
    ),
    Trap(
        operators=frozenset({"log"}),
        reason="the logarithm of infinity, NaN and numbers above 2¹²⁷ would be 88, that of numbers "
        "near 1 would lose most digits; it is right now",
        evidence=(
            Probe(
                lambda g: g.log(g.tensor([INF, NAN, 3.4e38, 1.00001, 0.99999, 1.0])),
                Values([INF, NAN, 88.722008, 1.001353e-5, -1.001363e-5, 0.0]),
            ),
            Probe(
                lambda g: g.log(g.tensor([INF, NAN, 1.0], "float16")),
                Values([INF, NAN, 0.0], "float16"),
            ),
        ),
        rule=_guard_log,
    ),
    Trap(
        operators=frozenset({"sign"}),
        reason="the sign of NaN would be 0; it is NaN now",
        evidence=(
            Probe(
                lambda g: g.sign(g.tensor([NAN, -0.5, 2.0, 0.0, NAN])),
                Values([NAN, -1.0, 1.0, 0.0, NAN]),
            ),
            Probe(
                lambda g: g.sign(g.tensor([NAN, -0.5], "float16")),
                Values([NAN, -1.0], "float16"),
            ),
        ),
        rule=_guard_sign,
    ),
    Trap(
        operators=frozenset({"max", "min"}),
        reason="a NaN in the first operand would be lost; it is kept now",
        evidence=(
            Probe(
                lambda g: [
                    g.max(g.tensor([NAN, 1.0, 2.0]), g.tensor([1.0, NAN, 3.0])),
                    g.min(g.tensor([NAN, 1.0, 2.0]), g.tensor([1.0, NAN, 3.0])),
                ],
                [Values([NAN, NAN, 3.0]), Values([NAN, NAN, 2.0])],
            ),
            Probe(
                lambda g: [
                    g.max(g.tensor([NAN, 1.0], "float16"), g.tensor([1.0, NAN], "float16")),
                    g.min(g.tensor([NAN, 1.0], "float16"), g.tensor([1.0, NAN], "float16")),
                ],
                [Values([NAN, NAN], "float16")] * 2,
            ),
        ),
        rule=_guard_max,
    ),
    Trap(
        operators=frozenset({"reduceMax", "reduceMin"}),
        reason="NaN would be ignored unless it is last; it is kept now",
        evidence=(
            Probe(
                lambda g: [
                    g.reduceMax(g.tensor([[NAN, 1.0], [2.0, 3.0], [4.0, NAN]]), axes=[1]),
                    g.reduceMin(g.tensor([[NAN, 1.0], [2.0, 3.0], [4.0, NAN]]), axes=[0]),
                ],
                [Values([NAN, 3.0, NAN]), Values([NAN, NAN])],
            ),
            Probe(
                lambda g: g.reduceMax(g.tensor([[NAN, 1.0], [2.0, 3.0]], "float16"), axes=[1]),
                Values([NAN, 3.0], "float16"),
            ),
        ),
        rule=_guard_reduce_max,
    ),
    Trap(
        operators=frozenset({"argMax", "argMin"}),
        reason="another number would be found in place of NaN; the first NaN is the extremum",
        evidence=(
            Probe(
                lambda g: [
                    g.argMax(g.tensor([[1.0, NAN, 3.0], [INF, 2.0, NAN]]), 1),
                    g.argMin(g.tensor([[1.0, NAN, 3.0], [-INF, 2.0, NAN]]), 1),
                ],
                [Values([1, 2], "int32")] * 2,
            ),
        ),
        rule=_guard_arg_max,
    ),
    Trap(
        operators=frozenset({"gemm"}),
        reason="NaN and infinity would become the largest number; computed with matmul",
        evidence=(
            Probe(
                lambda g: g.gemm(g.tensor([[NAN], [INF], [2.0]]), g.tensor([[3.0]])),
                Values([[NAN], [INF], [6.0]]),
            ),
        ),
        rule=_guard_gemm,
    ),
    Trap(
        operators=frozenset({"cast"}),
        reason="numbers out of range and NaN would become any integer; they become the nearest "
        "one in range, and 0",
        evidence=(
            _probe_cast("int32", -(2**31), 2**31 - 1),
            _probe_cast("int8", -128, 127),
            _probe_cast("uint8", 0, 255),
        ),
        rule=_guard_cast,
    ),
    Trap(
        operators=frozenset({"pow"}),
        reason="integers that overflow would not wrap around, and one negative exponent would "
        "leave the old values in the output without an error; squares are multiplied",
        evidence=(
            Probe(
                lambda g: g.pow(g.tensor([65537, 3], "int32"), g.tensor([2, 21], "int32")),
                Values([131073, 1870418611], "int32"),
            ),
            Probe(
                lambda g: g.pow(
                    g.tensor([2, -1, 1, 5], "int32"), g.tensor([-1, -3, -3, 3], "int32")
                ),
                Values([0, -1, 1, 125], "int32"),
                alone=True,
            ),
        ),
        rule=_decompose_power,
    ),
    Trap(
        operators=frozenset({"l2Pool2d", "reduceL2", "sqrt"}),
        reason="the root of infinity would be NaN, that of numbers above 2¹²⁶ 1.5 times as large",
        evidence=(
            Probe(lambda g: g.sqrt(g.tensor([2.25 * 2.0**126, 4.0])), Values([1.5 * 2.0**63, 2.0])),
            Probe(lambda g: g.sqrt(g.tensor([INF, 4.0, 0.0])), Values([INF, 2.0, 0.0])),
            Probe(lambda g: g.sqrt(g.tensor([INF, 4.0], "float16")), Values([INF, 2.0], "float16")),
        ),
        rule=_guard_root,
    ),
    Trap(
        operators=frozenset({"triangular"}),
        reason="infinity and NaN outside the triangle would become NaN; they become 0",
        evidence=(
            Probe(
                lambda g: g.triangular(g.tensor([[1.0, 2.0], [INF, NAN]])),
                Values([[1.0, 2.0], [0.0, NAN]]),
            ),
        ),
        rule=_mask_triangle,
    ),
)
