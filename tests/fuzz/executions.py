"""What a graph may compute: intervals around the results of many legitimate executions.

Rounding is free within limits: backends add in another order, keep halves in wider registers, set
subnormal numbers to zero. So a graph is run with NumPy several times, in float32 and in float64,
and with every rounding disturbed at random (Monte Carlo arithmetic). An element is held to the
interval of its results; where a rounding decides, as in a sign near 0, the results differ by much,
and nothing is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.fuzz.float_types import LEAST, MOST, UNIT
from tests.fuzz.graph_promises import without_decompositions
from webnnm.backends.kernels import array_of, computable, compute_outputs, wrap_to_four_bits
from webnnm.backends.reference import Namespace, evaluate
from webnnm.core.dtypes import DataType, is_float
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply, rewrite
from webnnm.ops.remainder import ROUNDS
from webnnm.ops.resample2d import between

NEAR_ONE = frozenset({"elu", "erf", "softplus", "tanh"})
"""Operators whose small results may be differences of numbers near 1."""
INNER = frozenset(
    {
        *("averagePool2d", "reduceMean", "reduceLogSum", "softmax", "logSoftmax"),
        *("exp", "log", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "softplus"),
        *("l2Pool2d", "reduceL2"),
    }
)
"""Operators that round even where the result need not be: in their inner steps, or as they are
approximated, so that tanh of 20 may be the number next to 1."""
SQUARES = frozenset({"l2Pool2d", "reduceL2", "reduceSumSquare"})
"""Operators of squares, which are subnormal where their operands are far from that."""
SQUARING = SQUARES | {"acosh", "asinh", "hypot", "pow"}
"""Operators that may square their operands on the way to results of less than that size."""
NORMALISATIONS = frozenset(
    {
        *("batchNormalization", "groupNormalization", "instanceNormalization"),
        *("layerNormalization", "meanVarianceNormalization", "reduceVariance", "rmsNorm"),
    }
)
SUMS = frozenset({"conv2d", "convTranspose2d", "cumulativeSum", "gemm", "matmul", "reduceSum"})
"""Operators whose results are exact only if every sum on the way to them is, in whatever order."""
MEANS = frozenset({"averagePool2d", "reduceLogSum", "reduceMean"})
"""Operators of sums that are made smaller, which may be infinite before that."""
PRODUCTS = frozenset({"cumulativeProduct", "reduceProduct"})
"""Operators of several factors, which may be multiplied in another order."""
WINDOWS = frozenset({"averagePool2d", "conv2d", "convTranspose2d", "maxPool2d"})
"""Operators in which Chromium's LiteRT takes NaN and infinity for the largest number of the type,
or for none at all, or lets NaN into places beside; guards around them would double their cost."""
NEAR_LEAST = frozenset({"sigmoid"})
"""Operators of quotients of exponentials, where one may be subnormal and the result not yet."""
MEETING = frozenset(
    {
        *("add", "sub", "floorDivide", "remainder", "equal", "notEqual"),
        *("greater", "greaterOrEqual", "lesser", "lesserOrEqual"),
    }
)
"""Operators whose results depend on the last digits of numbers that are nearly equal."""
SIGNS = frozenset({"copysign", "signbit"})
"""Operators that see the sign of NaN."""
MOVING = frozenset({"cast", "identity", "reshape", "transpose"})
"""Operators past which backends move the scale of a product."""
ROUNDINGS = 4
"""How many units an operator of a backend may be off."""
SPREAD = 4
"""How many times the width of the interval is left free on either side."""
RUNS = 6
MANY_RUNS = 60
"""Disturbed executions at first, and before an answer is called wrong."""

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Interval:
    """What the elements of an output may be; `clear` is False where anything may be."""

    dtype: DataType
    low: Any
    high: Any
    clear: Any
    margin: Any

    def wrong(self, found: Any) -> Any:
        """Return for every element whether it lies outside."""
        exact = found == self.low
        if not is_float(self.dtype):
            return self.clear & ~exact
        with np.errstate(all="ignore"):
            wide = found.astype("float64")
            inside = (wide >= self.low - self.margin) & (wide <= self.high + self.margin)
        same = exact | (np.isnan(wide) & np.isnan(self.low))
        return self.clear & ~(inside | same)


def intervals(graph: Graph, feeds: Arrays, runs: int = RUNS) -> dict[str, Interval]:
    """Return what the outputs of a graph may be."""
    far = computable(_far_apart(graph))
    graph = computable(graph)
    with np.errstate(all="ignore"):
        found = [compute_outputs(graph, feeds, Namespace(wide=wide)) for wide in (False, True)]
        found.append(_Lossy().outputs(graph, feeds))
        found += [_Overflowing(sum).outputs(far, feeds) for sum in (np.nan, np.inf, -np.inf)]
        found += [_Widened().outputs(graph, feeds), _Unadded().outputs(graph, feeds)]
        found += [_Disturbed(seed).outputs(graph, feeds) for seed in range(runs)]
    return {
        name: _interval(o.dtype, [one[name] for one in found]) for name, o in graph.outputs.items()
    }


def difference(graph: Graph, feeds: Arrays, found: Arrays) -> str:
    """Say which outputs of a backend cannot be, "" if all can.

    Raises `AssertionError` for decompositions that break their promises.
    """
    graph, feeds = without_decompositions(graph, feeds, found)
    if _near(found, evaluate(graph, feeds)):
        return ""
    wrong = _wrong(found, intervals(graph, feeds))
    # Before anything is called wrong, all is done to find an execution that gives it.
    return wrong and _wrong(found, intervals(graph, feeds, MANY_RUNS))


def _near(found: Arrays, expected: Arrays) -> bool:
    """Return whether all results are what the reference gives, floats up to the last digits."""
    with np.errstate(all="ignore"):
        return all(
            found[name].shape == value.shape
            and np.allclose(
                found[name],
                value,
                rtol=2.0**-21 if value.dtype.kind == "f" else 0,
                atol=0,
                equal_nan=True,
            )
            for name, value in expected.items()
        )


def _wrong(found: Arrays, expected: Mapping[str, Interval]) -> str:
    for name, interval in expected.items():
        value = np.asarray(found[name])
        if value.shape != interval.low.shape:
            return f"{name} has the shape {value.shape}, not {interval.low.shape}"
        wrong = interval.wrong(value)
        if wrong.any():
            places = np.argwhere(wrong)
            place = tuple(places[0].tolist())
            low, high = interval.low[place], interval.high[place]
            return (
                f"{name}{list(place)} is {value[place]!r}, not {low!r} … {high!r}; "
                f"{len(places)} of {value.size} elements are wrong"
            )
    return ""


def _interval(dtype: DataType, results: list[Any]) -> Interval:
    if not is_float(dtype):
        clear = np.all([one == results[0] for one in results[1:]], axis=0)
        return Interval(dtype, results[0], results[0], clear, 0)
    with np.errstate(all="ignore"):
        several = np.stack([np.asarray(one, "float64") for one in results])
        finite = np.isfinite(several)
        alike = (several == several[0]) | (np.isnan(several) & np.isnan(several[0]))
        low, high = several.min(axis=0), several.max(axis=0)
        largest = np.maximum(np.abs(low), np.abs(high))
        clear = alike.all(axis=0) | (finite.all(axis=0) & (largest < MOST[dtype]))
        margin = SPREAD * (high - low) + ROUNDINGS * 2 * UNIT[dtype] * largest + LEAST[dtype]
    return Interval(dtype, low, high, clear, margin)


def _far_apart(graph: Graph) -> Graph:
    """Return the graph with NaN for numbers that inner steps of a node may lose.

    These are differences in a linear resampling, also with a next cell that has no share in the
    result, and in a normalisation squares of differences, and quotients, which may be taken before
    or behind the product with the scale.
    """

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        if not isinstance(node, OperatorNode) or not is_float(node.types[0].dtype):
            return None
        most = MOST[node.types[0].dtype]
        linear = node.operator.name == "resample2d" and node.options["mode"] == "linear"
        if linear:
            most /= 2
        elif node.operator.name in NORMALISATIONS:
            most **= 0.5
        else:
            return None

        def near(x: Operand | None) -> Operand | None:
            if x is None:
                return None
            far = b.greater(b.abs(x), b.constant(most, x.dtype))
            return b.where(far, b.constant(np.nan, x.dtype), x)

        operands = [near(x) for x in node.operands]
        found = reapply(b, node, *operands)
        if linear:
            (x,) = operands
            assert isinstance(found, Operand)
            assert x is not None
            found += _next_cells(b, x * 0.0, node.types[0].shape, node.options["axes"])
        return found

    return rewrite(graph, rule)


def _next_cells(b: GraphBuilder, x: Operand, shape: Shape, axes: Sequence[int]) -> Operand:
    """Return the sum of each cell that a linear resampling starts from and of those behind it."""
    for axis in axes:
        size = x.shape[axis]
        first, _, _ = between(size, shape[axis])
        behind = [min(cell + 1, size - 1) for cell in first]
        parts = [b.gather(x, b.constant(cells, "int32"), axis=axis) for cells in (first, behind)]
        x = parts[0] + parts[1]
    return x


class _Execution:
    """An execution in float64, for others to disturb."""

    def __init__(self) -> None:
        self._np = Namespace(wide=True)

    def outputs(self, graph: Graph, feeds: Arrays) -> dict[str, Any]:
        """Return the outputs of a computable graph."""
        values: dict[tuple[int, int], Any] = {}
        for node in graph.nodes():
            type = node.types[0]
            if isinstance(node, InputNode):
                given = np.asarray(feeds[node.name])
                values[node.number, 0] = given.astype(self._dtype(type.dtype)).reshape(type.shape)
            elif isinstance(node, ConstantNode):
                values[node.number, 0] = array_of(self._np, node.array)
            elif isinstance(node, OperatorNode):
                operands = [o and values[o.number, o.index] for o in node.operands]
                for index, value in enumerate(self._results(node, operands)):
                    values[node.number, index] = value
        return {name: values[o.number, o.index] for name, o in graph.outputs.items()}

    def _dtype(self, dtype: DataType) -> Any:
        return getattr(self._np, dtype)

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        kernel: Callable[..., Any] | None = node.operator.reference
        assert kernel is not None
        copies = [None if value is None else value.copy() for value in operands]
        made = kernel(self._np, *copies, **node.options)
        results = made if len(node.types) > 1 else (made,)
        return [
            wrap_to_four_bits(np, np.asarray(one), type.dtype)
            for one, type in zip(results, node.types, strict=True)
        ]

    def _sizes(self, node: OperatorNode, operands: list[Any]) -> Any:
        """Return the sums of the sizes of all terms instead of the sums."""
        options = {k: abs(v) if isinstance(v, float) else v for k, v in node.options.items()}
        sizes = [None if value is None else np.abs(value) for value in operands]
        (found,) = _Execution._results(self, replace(node, options=options), sizes)
        return found

    def _each(
        self, change: Callable[[Any, DataType], Any], node: OperatorNode, operands: list[Any]
    ) -> list[Any]:
        """Return operands with those of a float type changed."""
        return [
            change(value, o.dtype) if o is not None and is_float(o.dtype) else value
            for o, value in zip(node.operands, operands, strict=True)
        ]


class _Disturbed(_Execution):
    """An execution whose every rounding is a random one of its type."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        found = super()._results(node, operands)
        exact = all(_is_exact(one, t.dtype) for one, t in zip(found, node.types, strict=True))
        exact = exact and node.operator.name not in INNER and not _is_wider(node)
        if node.operator.name == "triangular" and is_float(node.types[0].dtype):
            # Zeros outside may be products with 0, of the sign of the other factor.
            return [np.where(found[0] == 0, np.copysign(0, operands[0]), found[0])]
        if exact and (node.operator.name not in SUMS or self._adds_exactly(node, operands)):
            return found
        found = super()._results(node, self._each(self._move, node, operands))
        found = [
            self._move(one, type.dtype) if is_float(type.dtype) else one
            for one, type in zip(found, node.types, strict=True)
        ]
        if node.operator.name in NEAR_ONE:
            size = abs(node.options.get("alpha", 1)) * UNIT[node.types[0].dtype]
            found = [y + self._rng.uniform(-size, size, y.shape) * ROUNDINGS for y in found]
        if node.operator.name == "logSoftmax":
            # The largest element is subtracted from itself, which may have been rounded in between.
            sizes = np.abs(operands[0])
            finite = sizes <= MOST[node.types[0].dtype]
            axis = node.options["axis"]
            size = sizes.max(axis=axis, keepdims=True, initial=0, where=finite)
            size = size * UNIT[node.types[0].dtype]
            found = [y + self._rng.uniform(-size, size, y.shape) * ROUNDINGS for y in found]
        if node.operator.name == "sigmoid":
            # ONNX Runtime approximates it in float32, also that of halves, up to 2.3 units of 1.
            size = ROUNDINGS * UNIT["float32"]
            found = [y + self._rng.uniform(-size, size, y.shape) for y in found]
        if node.operator.name in NEAR_LEAST:
            size = LEAST[node.types[0].dtype]
            found = [np.maximum(y + self._rng.uniform(-size, size, y.shape), 0) for y in found]
        return found

    def _adds_exactly(self, node: OperatorNode, operands: list[Any]) -> bool:
        """Return whether the sum of the sizes of all terms has no more digits than its type.

        All terms are multiples of the product of what their factors are multiples of.
        """
        dtype = node.types[0].dtype
        if not is_float(dtype):
            return True
        factors = [v for v in node.options.values() if isinstance(v, float)]
        numbers = [v for v in (*operands, *factors) if v is not None]
        unit = np.prod([_last_digit(value) for value in numbers])
        return bool(self._sizes(node, operands).max(initial=0) * UNIT[dtype] <= unit)

    def _move(self, value: Any, dtype: DataType) -> Any:
        """Return a value rounded at random to its type."""
        noise = self._rng.uniform(-ROUNDINGS, ROUNDINGS, value.shape) * UNIT[dtype]
        return (value * (1 + noise)).astype(dtype).astype("float64")


class _Widened(_Execution):
    """An execution that keeps halves in registers of float32 from one operator to the next."""

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        return [
            one.astype("float32").astype("float64") if type.dtype == "float16" else one
            for one, type in zip(super()._results(node, operands), node.types, strict=True)
        ]


class _Lossy(_Execution):
    """An execution that loses subnormal numbers, squares among them, and the sign of zero.

    Quotients are products with a reciprocal, which is subnormal of the largest numbers. Windows
    lose what is not finite.
    """

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        squares = node.operator.name in SQUARES
        flushed = self._flush_squares if squares else self._flush
        found = super()._results(node, self._each(flushed, node, operands))
        if node.operator.name == "div" and is_float(node.types[0].dtype):
            lost = np.abs(operands[1]) > 1 / LEAST[node.types[0].dtype]
            found = [np.where(lost, 0.0, found[0])]
        if node.operator.name == "sigmoid":
            # Less than what ONNX Runtime's approximation is off may be 0.
            found = [np.where(found[0] < ROUNDINGS * UNIT["float32"], 0.0, found[0])]
        if node.operator.name == "atan2":
            # XLA divides one by the other after it has asked whether they are 0.
            least = LEAST[node.types[0].dtype]
            both = [(x != 0) & (np.abs(x) < least) for x in operands]
            found = [np.where(both[0] & both[1], np.nan, found[0])]
        if node.operator.name in WINDOWS and is_float(node.types[0].dtype):
            found = [np.where(np.isfinite(found[0]), found[0], MOST[node.types[0].dtype])]
        return [
            self._flush(one, type.dtype) if is_float(type.dtype) else one
            for one, type in zip(found, node.types, strict=True)
        ]

    def _flush(self, value: Any, dtype: DataType) -> Any:
        return np.where(np.abs(value) < LEAST[dtype], 0.0, value)

    def _flush_squares(self, value: Any, dtype: DataType) -> Any:
        return np.where(value * value < LEAST[dtype], 0.0, value)


class _Unadded(_Execution):
    """An execution that leaves out additions of 0, as XLA and LiteRT do: −0 stays what it is.

    NaN has the other sign: operations are free to give it either.
    """

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        if node.operator.name in SIGNS:
            operands = self._each(lambda x, _: np.where(np.isnan(x), -x, x), node, operands)
        found = super()._results(node, operands)
        if node.operator.name == "gemm" and is_float(node.types[0].dtype):
            (product,) = super()._results(node, [*operands[:2], None])
            return [np.where(found[0] == 0, product, found[0])]
        if node.operator.name == "add" and is_float(node.types[0].dtype):
            x, y = np.broadcast_arrays(*operands)
            return [np.where(y == 0, x, np.where(x == 0, y, found[0]))]
        if node.operator.name == "logSoftmax":
            # From every element the largest and the logarithm of a sum are subtracted.
            return [np.where((found[0] == 0) & (operands[0] == 0), operands[0], found[0])]
        return found


class _Overflowing(_Execution):
    """An execution that loses what inner steps of an operator, such as squares, may lose.

    `sum` is what a sum is that may overflow: a product that is added before it is rounded does not
    overflow itself, so that the term that did decides.
    """

    def __init__(self, sum: float) -> None:
        super().__init__()
        self._sum = sum

    def _results(self, node: OperatorNode, operands: list[Any]) -> list[Any]:
        found = super()._results(node, operands)
        name, dtype = node.operator.name, node.types[0].dtype
        if name in SQUARING:
            found = super()._results(node, self._each(self._lost, node, operands))
        if name in ("l2Pool2d", "reduceL2"):
            found = [self._lost(found[0], dtype)]  # the root of a sum that was infinite
        if name in ("cos", "sin", "tan"):
            # Rounding of such a number covers the whole circle, so that it may have no sine.
            whole = np.abs(operands[0]) * UNIT["float32"] > np.pi
            return [np.where(whole, np.nan, found[0])]
        if name == "remainder" and is_float(dtype):
            # Written out in operators, it is NaN for quotients of more bits than it subtracts.
            unknown = np.abs(operands[0] / operands[1]) >= 2.0 ** (24 * ROUNDS)
            return [np.where(unknown, np.nan, found[0])]
        if name == "exp" and dtype == "float32":
            # 2ⁿ · eʳ, with the n that leaves the least r, overflows from n = 127.5 on.
            return [np.where(found[0] > MOST[dtype] / 2**0.5, np.inf, found[0])]
        if name in WINDOWS and not np.isfinite(operands[0]).all():
            return [np.full_like(found[0], np.nan)]
        if name in PRODUCTS and is_float(dtype):
            # In another order the product of some factors may be infinite.
            (largest,) = super()._results(node, [np.maximum(np.abs(operands[0]), 1)])
            return [np.where(largest > MOST[dtype], np.nan, found[0])]
        if name in MEANS:
            terms = operands[0].size / max(found[0].size, 1)
            if name == "averagePool2d":
                terms = np.prod(node.options["window_dimensions"] or operands[0].shape)
            sums = self._sizes(node, operands)
            sums = np.exp(sums) if name == "reduceLogSum" else sums * terms
            return [np.where(sums > MOST[dtype], np.nan, found[0])]
        if name in SUMS and is_float(dtype):
            # In another order, or before a scale, the sum of some terms may be infinite.
            sizes = self._sizes(*_unscale(node, operands))
            return [np.where(sizes > MOST[dtype], self._sum, found[0])]
        return found

    def _lost(self, value: Any, dtype: DataType) -> Any:
        lost = np.abs(value) > MOST[dtype] ** 0.5
        kept = np.isinf(value) & np.isinf(self._sum)
        return np.where(lost & ~kept, np.nan, value)


def _unscale(node: OperatorNode, operands: list[Any]) -> tuple[OperatorNode, list[Any]]:
    """Return a product and its operands without the scales below 1 that may be applied behind it.

    ONNX Runtime (MatMulScaleFusion) and XLA move factors of operands there. A scale above 1 may be
    applied to an operand first, which then overflows.
    """
    if node.operator.name not in ("gemm", "matmul"):
        return node, operands
    if node.operator.name == "gemm":
        alpha = max(abs(node.options["alpha"]), 1.0)
        node = replace(node, options={**node.options, "alpha": alpha})
        most = MOST[node.types[0].dtype] / alpha
        first = [np.where(np.abs(x) > most, np.inf, x) for x in operands[:2]]
        operands = [*first, *operands[2:]]
    factors = [_scale(o) for o in node.operands[:2]]
    scaled = [x / factor for x, factor in zip(operands, factors, strict=False)]
    return node, [*scaled, *operands[2:]]


def _scale(operand: Operand | None) -> float:
    """Return the product of the constants below 1 by which an operand was multiplied."""
    node = operand and operand.node
    if not isinstance(node, OperatorNode):
        return 1.0
    x, *others = node.operands
    name = node.operator.name
    if name in MOVING:
        return _scale(x)
    if name not in ("mul", "div"):
        return 1.0
    (y,) = others
    if name == "mul" and _constant(x) is not None:
        x, y = y, x
    factor = _constant(y)
    if not factor:
        return 1.0
    return _scale(x) * min(factor if name == "mul" else 1 / factor, 1.0)


def _constant(operand: Operand | None) -> float | None:
    """Return the size of a constant of one number, None for anything else."""
    if operand is None or not isinstance(operand.node, ConstantNode) or count(operand.shape) != 1:
        return None
    (value,) = operand.node.array.values()
    return abs(float(value))


def _is_wider(node: OperatorNode) -> bool:
    """Return whether halves meet that a backend may keep in wider registers for one reader."""
    return node.operator.name in MEETING and any(
        o is not None and o.dtype == "float16" and isinstance(o.node, OperatorNode)
        for o in node.operands
    )


def _last_digit(value: Any) -> Any:
    """Return the largest power of two, 1 at most, that all finite numbers are multiples of."""
    finite = np.where(np.isfinite(value), value, 0)
    mantissa, exponent = np.frexp(finite[finite != 0])
    digits = np.ldexp(mantissa, 53).astype("int64")
    return np.ldexp(digits & -digits, exponent - 53).min(initial=1.0)


def _is_exact(value: Any, dtype: DataType) -> bool:
    """Return whether all numbers are numbers of their type: nothing had to be rounded."""
    if not is_float(dtype):
        return True
    narrow = value.astype(dtype).astype("float64")
    return bool(np.all((narrow == value) | np.isnan(value)))
