"""The rewrites around Chromium's traps in arithmetic and logic keep what is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.compiler.legalising import chromium_limits, legalise
from tests.unit.compiler.rewriting import names, out_of_traps
from tests.unit.ops.cases import np
from webnnm.backends.reference import evaluate
from webnnm.compiler.extrema import keeps_nan
from webnnm.compiler.traps import GUARDS, division, logic, numbers, quantisation, ranks
from webnnm.compiler.traps.trap import is_operator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand
from webnnm.graph.transforms.rewrite import Replacement, rewrite
from webnnm.ops import registry

RANGE = np.asarray([-(2**31), -7, -3, -2, -1, 0, 1, 2, 3, 5, 253, 65537, 2**31 - 1], np.int32)


def power(exponent: Any, *, constant: bool) -> tuple[Graph, dict[str, Any]]:
    b = GraphBuilder()
    feeds: dict[str, Any] = {"x": RANGE.reshape(-1, 1)}
    z: Operand
    if constant:
        z = b.constant(exponent, "int32")
    else:
        z = b.input("z", "int32", np.shape(exponent))
        feeds["z"] = np.asarray(exponent, np.int32)
    return b.build({"y": b.pow(b.input("x", "int32", [len(RANGE), 1]), z)}), feeds


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("exponent", [[0, 1, 2, 5, 31], [33, 4, 2**31 - 1], [-1, -2, 3, -3], 5])
def test_integer_powers_wrap_around(exponent: Any, constant: bool) -> None:
    graph, feeds = power(exponent, constant=constant)
    fitted = guard(graph, "pow")
    assert "pow" not in names(fitted)
    listed = np.atleast_1d(exponent).tolist()
    expected = [
        [0 if n < 0 and abs(x) != 1 else pow(x, abs(n), 2**32) for n in listed]
        for x in RANGE.tolist()
    ]
    wrapped = np.asarray([[(v + 2**31) % 2**32 - 2**31 for v in row] for row in expected])
    assert fitted.outputs["y"].type == graph.outputs["y"].type
    np.testing.assert_array_equal(evaluate(fitted, feeds)["y"], wrapped)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_powers_of_unsigned_integers_wrap_around(dtype: Any) -> None:
    b = GraphBuilder()
    graph = b.build({"y": b.pow(b.input("x", dtype, [3]), b.input("z", dtype, [3]))})
    feeds = {"x": np.asarray([253, 2, 0], dtype), "z": np.asarray([5, 255, 0], dtype)}
    size = 2 ** (8 * feeds["x"].itemsize)
    found = evaluate(guard(graph, "pow"), feeds)["y"].tolist()
    assert found == [pow(253, 5, size), pow(2, 255, size), 1]


@pytest.mark.parametrize("constant", [True, False])
def test_powers_of_integers_of_four_bits_have_negative_exponents(constant: bool) -> None:
    b = GraphBuilder()
    bases, exponents = [2, -1, -1, 1, -3, -8, 7], [-1, -3, -8, -7, 3, 7, 0]
    z = b.constant(exponents, "int4") if constant else b.input("z", "int4", [7])
    graph = b.build({"y": b.pow(b.input("x", "int4", [7]), z)})
    fitted = guard(graph, "pow")
    assert "pow" not in names(fitted)
    feeds = {"x": np.asarray(bases, np.int8)}
    if not constant:
        feeds["z"] = np.asarray(exponents, np.int8)
    assert evaluate(fitted, feeds)["y"].tolist() == [0, -1, 1, 1, 5, 0, 1]


def guard(graph: Graph, name: str, place: int = 0) -> Graph:
    """Return a graph after a guard of one operator, the first of them."""
    trap = [trap for trap in GUARDS if name in trap.operators][place]

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        return trap.rule(b, node) if is_operator(node, name) else None

    return rewrite(graph, rule)


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-6), ("float16", 2e-3)])
def test_softplus_of_large_numbers_takes_no_exponential_of_them(dtype: Any, limit: float) -> None:
    b = GraphBuilder()
    values = np.asarray([-2000, -90, -5, 0, 9.99, 10.01, 19.9, 20.1, 88, 90, 2000], dtype)
    graph = b.build({"y": b.softplus(b.input("x", dtype, values.shape))})
    fitted = guard(graph, "softplus")
    assert names(fitted) == ["min", "softplus", "sub", "max", "add"]
    expected, found = (evaluate(g, {"x": values})["y"] for g in (graph, fitted))
    np.testing.assert_allclose(found, expected, rtol=limit)


def test_logical_results_are_reshaped_before_they_move() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 2])
    both = b.concat([b.is_na_n(x), b.equal(x, x), b.cast(x, type="uint8")], axis=0)
    chosen = b.where(b.is_na_n(x), 0.0, x)
    graph = b.build({"y": both, "z": chosen})
    fitted = out_of_traps(graph, logic.TRAPS)
    assert names(fitted).count("reshape") == 2
    feeds = {"x": [[1, float("nan")], [2, 3]]}
    for name, value in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(fitted, feeds)[name], value)
    assert out_of_traps(fitted, logic.TRAPS) is fitted


def dequantise(scale: Any, make: Any = None, dtype: Any = "float32") -> Graph:
    b = GraphBuilder()
    x = make(b) if make else b.input("x", "uint8", [4])
    zero = b.constant([1] * len(scale), "uint8")
    return b.build({"y": b.dequantize_linear(x, b.constant(scale, dtype), zero)})


@pytest.mark.parametrize(
    "graph",
    [
        dequantise([0.5, 2.0]),
        dequantise([0.5, 2.0], lambda b: b.is_na_n(b.input("x", "float32", [4]))),
        dequantise([0.5], dtype="float16"),
        dequantise([0.5, 2.0], lambda b: b.constant([7, 3, 2, 5], "uint8"), "float16"),
    ],
)
def test_scales_are_copied_so_that_results_are_plain_tensors(graph: Graph) -> None:
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted)[-2:] == ["concat", "dequantizeLinear"]
    feeds = {name: np.asarray([3, 1, 0, 9]) for name in graph.inputs}
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "graph",
    [
        dequantise([0.5]),
        dequantise([0.5, 2.0], lambda b: b.constant([7, 3, 2, 5], "uint8")),
    ],
)
def test_other_scales_stay(graph: Graph) -> None:
    assert out_of_traps(graph, quantisation.TRAPS) is graph


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_l1", "reduce_sum_square"])
def test_sums_that_divide_a_number_are_reshaped(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 2])
    total = getattr(b, name)(x, axes=[1])
    graph = b.build({"y": b.div(2.0, total), "z": b.reciprocal(total)})
    fitted = out_of_traps(graph, division.TRAPS)
    assert names(fitted).count("reshape") == 1
    users = [n for n in fitted.nodes() if is_operator(n, "div") or is_operator(n, "reciprocal")]
    assert all(n.operands[-1] is not None for n in users)
    assert all(is_operator(n.operands[-1].node, "reshape") for n in users if n.operands[-1])
    feeds = {"x": np.asarray([[0.5, 0.25], [1, 2], [3, 5]], np.float32)}
    for output, value in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(fitted, feeds)[output], value)


def test_other_quotients_stay() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 2])
    total = b.reduce_sum(x, axes=[1], keep_dimensions=True)
    graph = b.build({"y": b.div(x, total), "z": b.div(total, 2.0), "m": b.div(2.0, b.exp(x))})
    assert out_of_traps(graph, division.TRAPS) is graph


@pytest.mark.parametrize("halved", [False, True])
def test_the_error_function_is_that_of_gelu(halved: bool) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [12])
    graph = b.build({"y": b.erf(x * math.sqrt(0.5) if halved else x)})
    fitted = out_of_traps(graph, numbers.TRAPS)
    assert "erf" not in names(fitted)
    assert names(fitted)[0] == ("min" if halved else "mul")
    given = [0, 1e-30, 1e-4, 0.1, -0.5, 1, -2, 4, -40, 1e30, -np.inf, np.nan]
    feeds = {"x": np.asarray(given, np.float32)}
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7)


def test_the_error_function_stays_where_there_is_no_gelu() -> None:
    """There gelu is written with the error function."""
    b = GraphBuilder()
    graph = b.build({"y": b.gelu(b.input("x", "float32", [3]))})
    limits = {name: each for name, each in chromium_limits().items() if name != "gelu"}
    fitted, rewrites = legalise(graph, limits, numbers.TRAPS)
    assert "erf" in names(fitted)
    assert not any("computed with gelu" in text for text in rewrites)


def test_the_error_function_of_halves_stays() -> None:
    b = GraphBuilder()
    graph = b.build({"y": b.erf(b.input("x", "float16", [3]))})
    assert out_of_traps(graph, numbers.TRAPS) is graph


INFINITE = np.asarray([[np.inf, 2, np.nan, -1], [-np.inf, 0, 4, np.nan], [3, np.inf, 5, 6]])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_roots_and_norms_of_infinity_are_infinite(dtype: Any) -> None:
    b = GraphBuilder()
    x = b.input("x", dtype, [1, 1, 3, 4])
    pool = b.l2_pool2d(x, window_dimensions=(2, 2), strides=(1, 2))
    outputs = {"sqrt": b.sqrt(x), "reduceL2": b.reduce_l2(x, axes=[3]), "l2Pool2d": pool}
    for name, operand in outputs.items():
        graph = b.build({"y": operand})
        fitted = guard(graph, name)
        # Roots are left of what is bounded, which is left alone.
        for root in (node for node in fitted.nodes() if is_operator(node, "sqrt")):
            assert root.operands[0] is not None
            assert is_operator(root.operands[0].node, "min")
        assert guard(fitted, "sqrt") is fitted
        assert fitted.outputs["y"].type == graph.outputs["y"].type
        feeds = {"x": INFINITE.astype(dtype).reshape(1, 1, 3, 4)}
        with np.errstate(invalid="ignore"):
            expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
        np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "float16" else 1e-6)


def test_a_root_is_never_of_a_number_with_a_subnormal_reciprocal() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [8])
    given = np.float32([0, 2e-38, 1, 3, 2.25 * 2.0**126, 3.4e38, np.inf, -1])
    fitted = guard(b.build({"y": b.sqrt(x)}), "sqrt")
    roots = [node for node in fitted.nodes() if is_operator(node, "sqrt")]
    assert len(roots) == 2
    of = {f"of{index}": root.operands[0] for index, root in enumerate(roots)}
    seen = evaluate(b.build({name: o for name, o in of.items() if o is not None}), {"x": given})
    for values in seen.values():
        assert not np.any((values > 0) & (values < 2.0**-126) | (values > 2.0**126))
    with np.errstate(invalid="ignore"):
        found = evaluate(fitted, {"x": given})["y"]
        np.testing.assert_allclose(found, np.sqrt(given), rtol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "lost"),
    [(([3], [3]), 0), (([1], [1]), 1), (([1], [3]), 1), (([3], []), 0), (([3, 1], [3, 4]), 1)],
)
def test_of_two_unknowns_the_one_that_loses_its_nan_is_tested(shapes: Any, lost: int) -> None:
    b = GraphBuilder()
    given = [b.input(name, "float32", shape) for name, shape in zip("xz", shapes, strict=True)]
    fitted = guard(b.build({"y": b.max(*given)}), "max")
    assert names(fitted) == ["equal", "max", "where"]
    (test,) = (node for node in fitted.nodes() if is_operator(node, "equal"))
    assert [o.node.label for o in test.operands if o is not None] == ["xz"[lost]] * 2
    feeds = {"x": np.full(shapes[0], 2), "z": np.full(shapes[1], 1)}
    assert np.all(evaluate(fitted, feeds)["y"] == 2)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("values", [[1.0, math.nan], [math.nan], math.nan, [[math.nan], [1.0]]])
def test_nan_of_a_constant_is_kept(name: str, values: Any) -> None:
    """A device that loses NaN of one of the two operands gives the results of the reference."""
    b = GraphBuilder()
    constant = b.constant(values, "float32")
    x = b.input("x", "float32", [2, 2])
    graph = b.build({"y": getattr(b, name)(x, constant), "z": getattr(b, name)(constant, x)})

    def lossy(b: GraphBuilder, node: Node) -> Operand | None:
        if not is_operator(node, name):
            return None
        first, second = node.operands
        assert first is not None and second is not None
        if keeps_nan(first, node.types[0].shape):
            second = b.where(b.equal(second, second), second, first)
        else:
            first = b.where(b.equal(first, first), first, second)
        return b.apply(node.operator, [first, second], node.options)

    feeds = {"x": np.asarray([[0.5, math.nan], [2, 3]], "float32")}
    expected = evaluate(graph, feeds)
    for key, found in evaluate(rewrite(guard(graph, name), lossy), feeds).items():
        np.testing.assert_array_equal(found, expected[key])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_nan_is_quantised_to_0_and_large_numbers_to_the_largest(
    known: bool, parts: int, dtype: Any
) -> None:
    """On a device that takes NaN for infinity, and the least integer for large numbers."""
    b = GraphBuilder()
    feeds: dict[str, Any] = {"x": np.asarray([math.nan, 1.0, 3e38, math.nan], np.float32)}

    def parameter(name: str, values: Any, dtype: Any) -> Operand:
        if known:
            return b.constant(values[:parts], dtype)
        feeds[name] = np.asarray(values[:parts], dtype)
        return b.input(name, dtype, [parts])

    scale, zero = parameter("scale", [0.5, 0.25], "float32"), parameter("zero", [3, 9], dtype)
    graph = b.build({"y": b.quantize_linear(b.input("x", "float32", [4]), scale, zero)})

    def as_infinity(b: GraphBuilder, node: Node) -> Operand | None:
        if not is_operator(node, "quantizeLinear"):
            return None
        x, *others = node.operands
        assert x is not None
        found = b.where(b.greater(x, 1e9), -1e9, x)
        return b.quantize_linear(b.where(b.equal(x, x), found, math.inf), *others)

    expected = evaluate(graph, feeds)["y"]
    assert expected[[0, 3]].tolist() == [0, 0]
    most = np.iinfo(dtype).max
    assert expected[2] == most
    wrong = evaluate(rewrite(graph, as_infinity), feeds)["y"]
    assert wrong[[0, 2]].tolist() == [most, np.iinfo(dtype).min]
    found = evaluate(rewrite(guard(graph, "quantizeLinear"), as_infinity), feeds)["y"]
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["reduce_log_sum", "reduce_log_sum_exp"])
def test_logarithms_of_sums_are_guarded_as_any_others(name: str) -> None:
    b = GraphBuilder()
    graph = b.build({"y": getattr(b, name)(b.input("x", "float32", [2, 2]))})
    fitted, _ = legalise(graph, {each: {} for each in registry()})
    found = names(fitted)
    assert not {"reduceLogSum", "reduceLogSumExp"} & {*found}
    assert found.count("log") == 2, "one of large numbers, one of the others"
    assert "lesserOrEqual" in found


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-6), ("float16", 2e-3)])
def test_logarithms_are_right_up_to_infinity(dtype: Any, limit: float) -> None:
    """A device whose logarithm ends at 88, also of NaN, and is off near 1, gives the right ones."""
    b = GraphBuilder()
    most = float(np.finfo(dtype).max)
    near = [1 + 1e-5, 1 - 1e-5, 1.2, 0.8] if dtype == "float32" else []
    values = np.asarray([math.nan, math.inf, most, most / 2, 1, 2, 0.5, 0, *near], dtype)
    fitted = guard(b.build({"y": b.log(b.input("x", dtype, values.shape))}), "log")

    def list_limited(b: GraphBuilder, node: Node) -> Operand | None:
        if not is_operator(node, "log"):
            return None
        (x,) = node.operands
        assert x is not None
        bound = b.constant(2.0**127 if dtype == "float32" else most, dtype)
        known = b.where(b.equal(x, x), b.min(x, bound), bound)
        # Absolutely as exact as a number near 1.
        found = b.apply(node.operator, [known], node.options)
        return found + 1e-7 if dtype == "float32" else found

    found = evaluate(rewrite(fitted, list_limited), {"x": values})["y"]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found, np.log(values.astype("float64")), rtol=limit)


def test_nan_of_a_number_alone_stays_on_the_left() -> None:
    for shape, kept in (([], 0), ([1, 1], 0), ([2], 1)):
        b = GraphBuilder()
        x = b.input("x", "float32", shape)
        fitted = guard(b.build({"y": b.exp(x)}), "exp")
        (larger,) = (node for node in fitted.nodes() if is_operator(node, "max"))
        assert larger.operands[kept] == fitted.inputs["x"]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
def test_the_place_of_an_extremum_is_that_of_the_first_nan(name: str, dtype: Any) -> None:
    b = GraphBuilder()
    graph = b.build({"y": getattr(b, name)(b.input("x", dtype, [6, 3]), axis=1)})
    fitted = guard(graph, name.replace("_m", "M"))
    rows = [[1, np.nan, 3], [np.inf, 2, np.nan], [np.nan, -np.inf, np.nan]]
    feeds = {"x": np.asarray([*rows, [-np.inf, 5, np.inf], [2, 1, 1], [-1, 7, 7]], dtype)}
    for node in fitted.nodes():
        if is_operator(node, name.replace("_m", "M")):
            (seen,) = node.operands
            assert seen is not None
            given = evaluate(Graph({"y": seen}, fitted.inputs), feeds)["y"]
            assert not np.isnan(given).any()
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_places_of_integers_stay() -> None:
    b = GraphBuilder()
    graph = b.build({"y": b.arg_max(b.input("x", "int32", [3]), axis=0)})
    assert guard(graph, "argMax") is graph


PRODUCTS: list[dict[str, Any]] = [
    {},
    {"alpha": 0.5, "beta": 2.0},
    {"a_transpose": True, "b_transpose": True},
    {"b_transpose": True, "beta": 0.0},
]


@pytest.mark.parametrize("options", PRODUCTS)
@pytest.mark.parametrize("addend", [True, False])
def test_general_products_are_computed_by_matmul(addend: bool, options: dict[str, Any]) -> None:
    b = GraphBuilder()
    values = np.asarray([[np.nan, 1, 2], [3, np.inf, 5], [6, 7, 8]], np.float32)
    feeds = {"x": values, "w": values[::-1].copy(), **({"c": values[0] + 1} if addend else {})}
    x, w, *c = (b.input(name, "float32", given.shape) for name, given in feeds.items())
    graph = b.build({"y": b.gemm(x, w, c=c[0] if c else None, **options)})
    fitted = guard(graph, "gemm")
    assert "gemm" not in names(fitted)
    assert "matmul" in names(fitted)
    with np.errstate(invalid="ignore"):
        expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("computed", ["w", "c", None])
def test_products_with_constants_as_their_backend_packs_them_stay(computed: str | None) -> None:
    b = GraphBuilder()
    w = b.input("w", "float32", [4, 3]) if computed == "w" else b.constant([[1.0] * 3] * 4)
    c = b.input("c", "float32", [4]) if computed == "c" else b.constant([0.5] * 4)
    graph = b.build({"y": b.gemm(b.input("x", "float32", [2, 3]), w, c=c, b_transpose=True)})
    assert (guard(graph, "gemm") is graph) == (computed is None)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("diagonal", [-7, -1, 0, 2, 9])
def test_triangles_are_chosen(upper: bool, diagonal: int) -> None:
    b = GraphBuilder()
    triangle = b.triangular(b.input("x", "float32", [3, 4]), upper=upper, diagonal=diagonal)
    graph = b.build({"y": triangle})
    fitted = guard(graph, "triangular")
    assert names(fitted) == ["where"]
    expected, found = (evaluate(g, {"x": INFINITE})["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


def test_triangles_of_finite_numbers_stay() -> None:
    b = GraphBuilder()
    masked = b.expand(b.constant(-1e30), new_shape=[2, 2])
    whole = b.input("x", "int32", [2, 2])
    graph = b.build({"y": b.triangular(masked), "z": b.triangular(whole)})
    assert guard(graph, "triangular") is graph


def clamp(dtype: Any = "float32", **bounds: Any) -> Graph:
    b = GraphBuilder()
    return b.build({"y": b.clamp(b.relu(b.input("x", dtype, [4])), **bounds)})


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("low", [-1.5, 0.5, -3e38])
def test_a_clamp_without_an_upper_bound_is_a_max(low: float, dtype: Any) -> None:
    graph = clamp(dtype, min_value=low)
    fitted = out_of_traps(graph, numbers.TRAPS)
    assert names(fitted) == ["relu", "max"]
    feeds = {"x": np.asarray([-2, 0.25, 3, np.nan], dtype)}
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "graph",
    [
        clamp(min_value=0.0),
        clamp(min_value=-1.5, max_value=3e38),
        clamp(max_value=6.0),
        clamp("int32", min_value=-1),
    ],
)
def test_other_clamps_stay(graph: Graph) -> None:
    assert out_of_traps(graph, numbers.TRAPS) is graph


@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
def test_the_axis_of_an_extremum_is_kept_by_a_reshape(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3, 4])
    found = getattr(b, name)(x, axis=1, keep_dimensions=True)
    graph = b.build({"y": found + b.constant([[[1], [2], [3]]], "int32")})
    fitted = out_of_traps(graph, ranks.TRAPS)
    assert names(fitted)[:2] == [name.replace("_m", "M"), "reshape"]
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")}
    expected, given = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(given, expected)


def quantise(scale: Any, *, constant: bool = True) -> Graph:
    b = GraphBuilder()
    zero = b.constant(np.ones(np.shape(scale), np.uint8).tolist(), "uint8")
    known = b.constant(scale) if constant else b.input("s", "float32", np.shape(scale))
    y = b.quantize_linear(b.input("x", "float32", [2, 3]), known, zero)
    turned = b.reshape(b.transpose(y), new_shape=[6])
    return b.build({"y": y, "r": b.reshape(y, new_shape=[6]), "t": turned})


@pytest.mark.parametrize("scale", [[[0.5], [2.0]], [[0.5, 1.0, 2.0]]])
def test_what_is_quantised_in_blocks_is_copied_once_before_it_is_turned(scale: Any) -> None:
    graph = quantise(scale)
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("concat") == 1
    turned = [n for n in fitted.nodes() if is_operator(n, "transpose") or is_operator(n, "reshape")]
    sources = {o.node.operator.name for n in turned for o in n.operands}
    assert sources == {"concat", "transpose"}
    feeds = {"x": np.float32([[1, 2, 3], [40, 5, 6]])}
    expected, found = (evaluate(g, feeds) for g in (graph, fitted))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


JOINED: dict[str, Callable[[GraphBuilder, Operand, Operand], Operand]] = {
    "concat": lambda b, y, other: b.concat([other, y], axis=0),
    "pad": lambda b, y, _: b.pad(y, beginning_padding=[1], ending_padding=[1], mode="edge"),
    "scatterElements": lambda b, y, other: b.scatter_elements(
        other, b.constant([1, 0, 1], "int32"), y, axis=0
    ),
    "scatterND": lambda b, y, other: b.scatter_nd(
        y, b.constant([[1], [0], [2], [1]], "int32"), other
    ),
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize(("constant", "copies"), [(True, 1), (False, 0)])
def test_what_constants_quantise_is_copied_before_it_is_joined(
    name: str, moved: bool, constant: bool, copies: int
) -> None:
    b = GraphBuilder()
    scale = b.constant([0.5]) if constant else b.input("s", "float32", [1])
    y = b.quantize_linear(b.input("x", "float32", [3]), scale, b.constant([1], "int8"))
    y = b.reshape(b.transpose(b.reshape(y, new_shape=[1, 3])), new_shape=[3]) if moved else y
    graph = b.build({"y": JOINED[name](b, y, b.input("other", "int8", [4]))})
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("cast") == 2 * copies
    values = {"x": np.float32([1, -2, 3]), "other": np.int8([4, 5, 6, 7]), "s": np.float32([0.5])}
    expected, found = (evaluate(g, values)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("graph", [quantise([[0.5]]), quantise([[0.5], [2.0]], constant=False)])
def test_other_quantised_tensors_are_reshaped_as_they_are(graph: Graph) -> None:
    assert out_of_traps(graph, quantisation.TRAPS) is graph


def turned(scale: Any, *, constant: bool = True) -> tuple[Graph, dict[str, Any]]:
    b = GraphBuilder()
    values = np.arange(8, dtype=np.int8).reshape(4, 2)
    x = b.constant(values.tolist(), "int8") if constant else b.input("x", "int8", [4, 2])
    zero = b.constant(np.ones(np.shape(scale), np.int8).tolist(), "int8")
    y = b.dequantize_linear(x, b.constant(scale), zero)
    outputs = {"r": b.reshape(y, new_shape=[8]), "t": b.transpose(y), "n": b.neg(y)}
    outputs["g"] = b.gemm(b.input("a", "float32", [3, 4]), y)
    feeds = {"a": np.arange(12, dtype=np.float32).reshape(3, 4)}
    return b.build(outputs), feeds if constant else {**feeds, "x": values}


@pytest.mark.parametrize("scale", [[[0.5], [1], [2], [4]], [[0.5], [2]], [[0.5, 2]]])
def test_constants_dequantised_in_blocks_are_copied_before_they_are_turned(scale: Any) -> None:
    graph, feeds = turned(scale)
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("concat") == 1
    expected, found = (evaluate(g, feeds) for g in (graph, fitted))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize(("groups", "copies"), [(1, 0), (2, 1)])
def test_filters_of_groups_are_copied_and_others_unpacked_once(groups: int, copies: int) -> None:
    b = GraphBuilder()
    scale = b.constant([[[[0.5]]], [[[2.0]]]])
    filter = b.dequantize_linear(
        b.constant([[[[1]]], [[[3]]]], "int8"), scale, b.constant([[[[0]]], [[[1]]]], "int8")
    )
    x = b.input("x", "float32", [1, groups, 2, 2])
    graph = b.build({"y": b.conv2d(x, filter, groups=groups)})
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("concat") == copies
    feeds = {"x": np.arange(4 * groups, dtype=np.float32).reshape(1, groups, 2, 2)}
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


def test_other_dequantised_tensors_are_turned_as_they_are() -> None:
    graph, _ = turned([[0.5]])
    assert out_of_traps(graph, quantisation.TRAPS) is graph


@pytest.mark.parametrize(("axis", "copies"), [(0, 0), (1, 1)])
def test_filters_with_a_scale_per_channel_are_copied(axis: int, copies: int) -> None:
    """Those with a scale per filter are read as they are."""
    b = GraphBuilder()
    sizes = [1, 1, 1, 1]
    sizes[axis] = 2
    weights = b.dequantize_linear(
        b.constant(np.arange(36, dtype="int8").reshape(2, 2, 3, 3)),
        b.constant(np.asarray([0.5, 2.0], "float32").reshape(sizes)),
        b.constant(np.zeros(sizes, "int8")),
    )
    graph = b.build({"y": b.conv2d(b.input("x", "float32", [1, 2, 5, 5]), weights)})
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("concat") == copies
    feeds = {"x": np.arange(50, dtype="float32").reshape(1, 2, 5, 5)}
    expected, found = (evaluate(g, feeds)["y"] for g in (graph, fitted))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("of_integers", [False, True])
def test_what_is_computed_in_floats_is_quantised_from_a_copy(of_integers: bool) -> None:
    """A browser that computes quantised pictures in integers gets no copy in between."""
    b = GraphBuilder()
    scale, zero = b.constant(0.5, "float32"), b.constant(3, "uint8")
    x = b.input("x", "uint8" if of_integers else "float32", [1, 2, 4, 4])
    x = b.dequantize_linear(x, scale, zero) if of_integers else x
    y = b.transpose(b.average_pool2d(x, window_dimensions=[2, 2]), permutation=[0, 2, 3, 1])
    graph = b.build({"y": b.quantize_linear(y, scale, zero)})
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert ("concat" in names(fitted)) is not of_integers
    values = np.arange(32).reshape(1, 2, 4, 4)
    expected, found = (evaluate(g, {"x": values})["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scales", [[0.5], [0.5, 0.75, 1.0]])
def test_constants_dequantised_in_blocks_are_compared_as_copies(scales: list[float]) -> None:
    b = GraphBuilder()
    scale = b.constant(scales, "float32", [1, len(scales)])
    zero = b.constant([1] * len(scales), "int8", [1, len(scales)])
    known = b.dequantize_linear(b.constant([0, 1, 2, 3, 4, 5], "int8", [2, 3]), scale, zero)
    x = b.dequantize_linear(b.input("x", "int8", [2, 3]), scale, zero)
    graph = b.build({"y": b.greater(known, x), "z": b.max(known, known)})
    fitted = out_of_traps(graph, quantisation.TRAPS)
    assert names(fitted).count("concat") == (0 if len(scales) == 1 else 2)
    feeds = {"x": np.asarray([[5, 4, 3], [2, 1, 0]])}
    for name, value in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(fitted, feeds)[name], value)


@pytest.mark.parametrize("scales", [[0.5], [0.5, 0.25]])
def test_large_numbers_are_quantised_in_blocks_to_the_nearest_integer(scales: list[float]) -> None:
    """On a device whose integers wrap around where constants quantise in blocks."""
    b = GraphBuilder()
    scale, zero = b.constant(scales, "float32"), b.constant([3] * len(scales), "uint8")
    x = np.asarray([3e38, 3e9, -3e38, 1.0], np.float32)
    graph = b.build({"y": b.quantize_linear(b.input("x", "float32", [4]), scale, zero)})
    fitted = guard(graph, "quantizeLinear", 1)
    assert (fitted is graph) == (len(scales) == 1)

    def wrapping(b: GraphBuilder, node: Node) -> Operand | None:
        if not is_operator(node, "quantizeLinear") or len(scales) == 1:
            return None
        x, *others = node.operands
        assert x is not None
        return b.quantize_linear(b.where(b.greater(b.abs(x), 1e9), -x, x), *others)

    expected = evaluate(graph, {"x": x})["y"].tolist()
    assert expected[:3] == [255, 255, 0]
    assert evaluate(rewrite(fitted, wrapping), {"x": x})["y"].tolist() == expected
