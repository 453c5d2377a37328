"""Laws that every operator of the registry keeps; the cases come from its own samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ops.cases import CASES, TYPES, Built, Case, build, np
from tests.unit.ops.gradient import check_gradients, functional
from tests.work import seeds
from webnnm import gradients, ops
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float
from webnnm.core.naming import snake_case
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import OperatorNode
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Composite, Operator
from webnnm.ops.declare.tensors import OperatorError

SEEDS = seeds(range(5))
OPERATORS = list(ops.registry().values())
HAZARDS = {"overflow", "wide", "approximate"}
PRECISION = {"float32": 1e-5, "float16": 5e-3}
APPROXIMATION = 2e-6
"""How far decompositions may be that have the digits of float32 alone; their slopes, too."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        (case, dtype)
        for case in CASES
        for dtype in (TYPES if not case.sample.dtypes else ("float32",))
        if case.sample.dtypes or case.allows(dtype)
    ],
    ids=str,
)
def test_inferred_type_is_the_type_of_the_result(case: Case, dtype: Any) -> None:
    built = build(case, default=dtype)
    names = {f"y{i}": y for i, y in enumerate(built.results)}
    found = evaluate(built.builder.build(names), built.feeds)
    for name, y in names.items():
        assert (found[name].dtype.name, found[name].shape) == (y.dtype, y.shape)


@pytest.mark.alike  # a rule of algebra over kernels that the tests above compare
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", [c for c in CASES if build(c).differentiable], ids=str)
def test_gradient_is_the_measured_one(case: Case, seed: int) -> None:
    built = build(case, seed)
    loss = functional(built.builder, built.float_results, seed)
    check_gradients(loss, built.float_operands, built.feeds, seed)


@pytest.mark.parametrize("case", [c for c in CASES if not build(c).differentiable], ids=str)
def test_what_is_not_differentiable_still_computes(case: Case) -> None:
    built = build(case)
    (first, *_) = built.results
    assert evaluate(built.builder.build({"y": first}), built.feeds)["y"].shape == first.shape


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", [c for c in CASES if c.operator.decompose], ids=str)
def test_decomposition_gives_the_reference_result(case: Case, seed: int) -> None:
    built = build(case, seed)
    checked = complete_options(case, built.results[0].node)
    again = case.operator.decompose(built.builder, *pad(case, built), **checked)
    others = again if isinstance(again, tuple) else (again,)
    assert [o.type for o in others] == [y.type for y in built.results]
    outputs = {f"y{i}": y for i, y in enumerate(built.results)}
    outputs |= {f"z{i}": z for i, z in enumerate(others)}
    found = evaluate(built.builder.build(outputs), built.feeds, wide=True)
    limit = APPROXIMATION if "approximate" in case.operator.hazards else 1e-12
    for i in range(len(others)):
        np.testing.assert_allclose(found[f"z{i}"], found[f"y{i}"], rtol=limit, atol=limit)


@pytest.mark.alike
@pytest.mark.parametrize("case", [c for c in CASES if c.operator.decompose], ids=str)
def test_decomposition_does_not_contain_the_operator_itself(case: Case) -> None:
    built = build(case)
    checked = complete_options(case, built.results[0].node)
    again = case.operator.decompose(built.builder, *pad(case, built), **checked)
    others = again if isinstance(again, tuple) else (again,)
    graph = built.builder.build({f"z{i}": z for i, z in enumerate(others)})
    used = [node.operator for node in graph.nodes() if isinstance(node, OperatorNode)]
    assert case.operator not in used


def pad(case: Case, built: Built) -> list[Any]:
    """Return the operands as rules get them: None for what is not given."""
    slots = case.operator.operands
    missing = 0 if slots and slots[0].variadic else len(slots) - len(built.given)
    return [*built.given, *[None] * missing]


def complete_options(case: Case, node: Any) -> dict[str, Any]:
    """Return the options of a case as rules get them: complete and canonical."""
    if isinstance(case.operator, Operator):
        return dict(node.options)
    types = [x.type for x in build(case).operands]
    return {
        name: option.check(case.sample.options.get(name, option.default), *types)
        for name, option in case.operator.options.items()
    }


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        (case, dtype)
        for dtype in PRECISION
        for case in CASES
        if (dtype == "float32" or case.allows(dtype)) and build(case).float_results
    ],
    ids=str,
)
def test_float_results_are_near_those_of_float64(case: Case, dtype: Any) -> None:
    built = build(case, default=dtype)
    narrow = {
        x.node.name: built.feeds[x.node.name].astype(x.dtype)  # type: ignore[attr-defined]
        for x in built.operands
    }
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.float_results)})
    found, wide = (evaluate(graph, narrow, wide=w) for w in (False, True))
    limit = PRECISION[dtype]
    for name, value in wide.items():
        np.testing.assert_allclose(found[name], value, rtol=limit, atol=limit)


@pytest.mark.alike
@every_operator
def test_unknown_option_is_refused(operator: AnyOperator) -> None:
    b, operands, options = given(operator)
    with pytest.raises(OperatorError) as caught:
        b.apply(operator, operands, {**options, "no_such_option": 1})
    assert caught.value.code == "NNM301"
    assert f'"{operator.name}" has no option "no_such_option"' in caught.value.message


@pytest.mark.alike
@pytest.mark.parametrize(
    ("operator", "name"),
    [(o, n) for o in OPERATORS for n, option in o.options.items() if option.default is REQUIRED],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_missing_option_is_refused(operator: AnyOperator, name: str) -> None:
    b, operands, options = given(operator)
    rest = {key: value for key, value in options.items() if key != name}
    with pytest.raises(OperatorError) as caught:
        b.apply(operator, operands, rest)
    assert (caught.value.code, caught.value.message) == (
        "NNM304",
        f'"{operator.name}" needs {name}=',
    )


@pytest.mark.alike
@every_operator
def test_wrong_number_of_operands_is_refused(operator: AnyOperator) -> None:
    b, operands, options = given(operator)
    variadic = bool(operator.operands) and operator.operands[0].variadic
    extra = [b.input("extra", "float32", [])] * (1 + len(operator.operands))
    wrong = [] if variadic else [*operands, *extra]
    with pytest.raises(OperatorError) as caught:
        b.apply(operator, wrong, options)
    assert caught.value.code == "NNM302"


@pytest.mark.alike
@every_operator
def test_types_that_an_operand_does_not_take_are_refused(operator: AnyOperator) -> None:
    sample = operator.samples[0]
    for index, slot in enumerate(operator.operands[: len(sample.shapes)]):
        if sample.shapes[index] is None:
            continue
        refused = [dtype for dtype in TYPES if dtype not in slot.dtypes]
        for dtype in refused[:2]:
            b, operands, options = given(operator)
            operands[index] = b.input("wrong", dtype, sample.shapes[index])
            with pytest.raises(OperatorError) as caught:
                b.apply(operator, operands, options)
            assert caught.value.code == "NNM501"


def given(operator: AnyOperator) -> tuple[GraphBuilder, list[Any], dict[str, Any]]:
    """Return a builder, inputs and options of the operator's first sample."""
    built = build(next(case for case in CASES if case.operator is operator))
    return built.builder, built.given, dict(operator.samples[0].options)


@pytest.mark.parametrize(
    "name",
    ["softmax", "logSoftmax", "exp", "log", "pow", "reciprocal", "reduceSumSquare", "reduceL2"],
)
def test_operators_that_leave_the_range_of_float16(name: str) -> None:
    """Spec E203; layers read it from their operators."""
    operator = next(o for o in OPERATORS if o.name == name)
    assert "overflow" in operator.hazards


@pytest.mark.alike
@every_operator
def test_record_is_complete(operator: AnyOperator) -> None:
    assert operator.summary
    assert operator.summary == operator.summary.strip()
    assert operator.samples, "a sample is what all the tests of an operator are made from"
    assert operator.operands or isinstance(operator, Composite)
    assert operator.hazards <= HAZARDS
    names = [slot.name for slot in operator.operands]
    assert len(set(names)) == len(names)
    assert not set(names) & set(operator.options)
    for index, slot in enumerate(operator.operands):
        assert slot.dtypes
        assert slot.like is None or slot.like < index
        assert slot.optional or not slot.keyword
        assert not slot.variadic or len(names) == 1
    assert all(snake_case(name) == name for name in operator.options)


@pytest.mark.alike
@every_operator
def test_optional_operands_and_options_occur_in_samples(operator: AnyOperator) -> None:
    if not any(slot.variadic for slot in operator.operands):
        counts = {len(sample.shapes) for sample in operator.samples}
        required = sum(not slot.optional for slot in operator.operands)
        assert min(counts) >= required
        assert max(counts) == len(operator.operands)
    seen = {name for sample in operator.samples for name in sample.options}
    assert set(operator.options) <= seen, "every option is written in a sample"


def test_names_are_unique_in_both_spellings() -> None:
    words = [word for o in OPERATORS for word in (o.name, *o.aliases)]
    assert len(set(words)) == len(words)
    python = {snake_case(word) for word in words}
    assert set(ops.methods()) == python
    assert len(python) == len(words)
    own = {name for name in vars(GraphBuilder) if not name.startswith("_")}
    assert not own & python, "a method of the builder would hide the operator"


def test_operands_do_not_hide_operators() -> None:
    from webnnm.graph.node import Operand

    assert not set(dir(Operand)) & set(ops.methods())


@pytest.mark.alike
@every_operator
def test_method_of_the_builder_applies_the_operator(operator: AnyOperator) -> None:
    b, operands, options = given(operator)
    # Equal expressions are one node, so identity of results says that the same was applied.
    result = getattr(b, snake_case(operator.name))(*operands, **options)
    assert result == b.apply(operator, operands, options)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "case",
    [
        c
        for c in CASES
        if isinstance(c.operator, Composite) and c.operator.gradient and build(c).differentiable
    ],
    ids=str,
)
def test_given_gradient_is_the_derived_one(case: Case, seed: int) -> None:
    found = []
    for operator in (case.operator, replace(case.operator, gradient=None)):
        built = build(Case(operator, case.sample, case.number), seed)
        loss = functional(built.builder, built.float_results, seed)
        dxs = gradients(loss, built.float_operands)
        graph = built.builder.build({f"g{i}": g for i, g in enumerate(dxs)})
        found.append(evaluate(graph, built.feeds, wide=True))
    limit = APPROXIMATION if "approximate" in case.operator.hazards else 1e-9
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], rtol=limit, atol=limit)


@pytest.mark.alike
@pytest.mark.parametrize(
    "case", [c for c in CASES if isinstance(c.operator, Composite) and c.operator.infer], ids=str
)
def test_given_types_are_those_of_the_decomposition(case: Case) -> None:
    bare = Case(replace(case.operator, infer=None), case.sample, case.number)
    assert [y.type for y in build(bare).results] == [y.type for y in build(case).results]


@pytest.mark.alike
@every_case
def test_samples_are_small(case: Case) -> None:
    shapes = case.sample.shapes
    assert sum(int(np.prod(shape)) for shape in shapes if shape is not None) <= 1000
    for index, value in enumerate(case.sample.values):
        if value is not None:
            assert np.size(value) == np.prod(case.sample.shapes[index])
    if case.sample.dtypes:
        assert len(case.sample.dtypes) == len(case.sample.shapes)
        assert any(is_float(d) for d in case.sample.dtypes) or case.sample.values
