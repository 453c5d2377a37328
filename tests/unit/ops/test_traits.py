"""What operators declare of themselves is what their kernels do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import ops, parse
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import FLOAT
from webnnm.expert.facts.profile import profile
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.ops.declare.activation import is_activation
from webnnm.ops.declare.operator import REQUIRED, AnyOperator

np = pytest.importorskip("numpy")

NOTATION = [operator for operator in ops.registry().values() if operator.layer is not None]
FUNCTIONS = [
    operator
    for operator in NOTATION
    if is_activation(operator)
    and "float32" in operator.operands[0].dtypes
    and operator.operands[0].dtypes <= {*FLOAT, "int32", "int64", "int8"}
    and not any(option.default is REQUIRED for option in operator.options.values())
]
GRID = np.concatenate([np.linspace(-60, 60, 4801), [-1e4, 1e4]]).astype("float32")
NORMALIZED = (2, 4, 3, 3)


def results(operator: AnyOperator, x: Any, **options: Any) -> Any:
    """Return what an operator computes of an array."""
    b = GraphBuilder()
    y = b.apply(operator, [b.input("x", "float32", x.shape)], options)
    with np.errstate(all="ignore"):
        return evaluate(b.build({"y": y}), {"x": x})["y"]


@pytest.mark.parametrize("operator", FUNCTIONS, ids=lambda operator: operator.name)
def test_a_function_has_the_bounds_and_the_form_that_it_declares(operator: AnyOperator) -> None:
    y = np.asarray(results(operator, GRID), dtype="float64")
    kept = ~np.isnan(y)
    x, y = GRID[kept], y[kept]
    low, high = operator.bounds
    assert low - 1e-3 <= y.min() and y.max() <= high + 1e-3
    if math.isfinite(low):
        assert y.min() < low + 0.02
    if math.isfinite(high):
        assert y.max() > high - 0.02
    at = dict(zip(x.tolist(), y.tolist(), strict=True))
    above, below = at.get(40.0, math.nan), at.get(-40.0, math.nan)
    rectifies = 20 <= above <= 80 and abs(below) < above / 2
    assert ("rectifying" in operator.traits) == rectifies
    flat = abs(at.get(1e4, math.nan) - above) < 0.05 and abs(at.get(-1e4, math.nan) - below) < 0.05
    saturates = flat and above - below >= 0.9 and bool(np.all(np.diff(y[:-2]) >= -1e-6))
    stepped = len({*np.round(y, 3).tolist()}) < 10
    assert ("saturating" in operator.traits) == (saturates and not stepped)
    if operator.silent_below is not None:
        assert np.all(np.abs(y[x < operator.silent_below]) <= 1e-6)
    assert not {"rectifying", "saturating"} & operator.traits or "activation" in operator.traits


@pytest.mark.parametrize("operator", NOTATION, ids=lambda operator: operator.name)
def test_what_removes_the_scale_is_a_normalisation(operator: AnyOperator) -> None:
    taken = [slot for slot in operator.operands if not slot.optional]
    if len(taken) != 1 or taken[0].variadic or "float32" not in taken[0].dtypes:
        return
    options = {"groups": 2} if "groups" in operator.options else {}
    needed = [name for name, option in operator.options.items() if option.default is REQUIRED]
    if {*needed} - {*options}:
        return
    x = np.random.default_rng(3).normal(size=NORMALIZED).astype("float32")
    try:
        y, scaled = results(operator, x, **options), results(operator, 100 * x, **options)
    except Exception:  # takes other shapes
        return
    if np.asarray(y).shape != NORMALIZED or np.asarray(y).dtype.kind != "f":
        return
    same = np.allclose(y, scaled, atol=1e-2) and len({*np.round(y, 3).ravel().tolist()}) > 20
    declared = "normalization" in operator.traits or operator.name == "squaremax"
    assert declared == same


@pytest.mark.parametrize("operator", NOTATION, ids=lambda operator: operator.name)
def test_products_and_cells_are_what_takes_weights(operator: AnyOperator) -> None:
    assert operator.layer is not None
    roles = {slot.parameter for slot in operator.layer.slots}
    assert ("product" in operator.traits) == ("weight" in roles)
    assert ("recurrent" in operator.traits) == ("recurrent" in roles)


def test_functions_are_looked_at() -> None:
    names = {operator.name for operator in FUNCTIONS}
    assert {"relu", "silu", "geluTanh", "hardSwish", "softplus", "erf", "exp", "linear"} <= names


@pytest.mark.parametrize(
    "operator",
    [operator for operator in NOTATION if "rectifying" in operator.traits],
    ids=lambda operator: operator.name,
)
@pytest.mark.parametrize("between", ["", "groupNormalization(groups=2), ", "cast(float16), "])
def test_weights_before_a_rectifier_start_as_he_proposed(
    operator: AnyOperator, between: str
) -> None:
    call = "prelu(slope=s)" if operator.name == "prelu" else f"{operator.name}()"
    text = f"m:input shape=[6]; m:output shape=[4]; m:layers matmul(w), {between}{call};"
    start = initialisers(elaborate(parse(text)))["w1"]
    assert (start.kind, start.b) == ("uniform", pytest.approx(1.0))  # √(6/6)


@pytest.mark.parametrize(
    "operator",
    [operator for operator in NOTATION if "normalization" in operator.traits],
    ids=lambda operator: operator.name,
)
def test_deep_networks_may_have_any_normalisation(operator: AnyOperator) -> None:
    shape = "{channels:4, height:4, width:4}" if operator.name.startswith("instance") else "[4]"
    more = "groups=2" if operator.name.startswith("group") else ""
    unit = f"{operator.name}({more}), tanh()"
    layers = ", ".join([f"identity(), {unit}"] * 12)
    ports = f"m:input shape={shape}; m:output shape={shape};"
    found = profile(elaborate(parse(f"{ports} m:layers {layers};")))
    assert found.norm_count == 12 and found.longest_saturating_chain == 1
