"""Every operator of the registry has a mapping to StableHLO, right for all its samples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from webnnm import GraphBuilder, ModelError, ops
from webnnm.core.errors import Span
from webnnm.formats.stablehlo.check import check_stablehlo
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.graph.node import Graph
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.operator import AnyOperator, Looped, Operator, Sample, lower_by_parts

OPERATORS = list(ops.registry().values())
SAMPLES = [(o, k, sample) for o in OPERATORS for k, sample in enumerate(o.samples)]


def graph(operator: AnyOperator, sample: Sample) -> Graph:
    """Return the graph of a sample: the operator, applied to inputs."""
    b = GraphBuilder()
    given = [
        None
        if shape is None
        else b.input(f"x{k}", (sample.dtypes or ("float32",) * len(sample.shapes))[k], shape)
        for k, shape in enumerate(sample.shapes)
    ]
    found = b.apply(operator, given, sample.options)
    results = found if isinstance(found, tuple) else (found,)
    return b.build({f"y{k}": y for k, y in enumerate(results)})


@pytest.mark.alike
@pytest.mark.parametrize(
    ("operator", "sample"),
    [pytest.param(o, sample, id=f"{o.name}-{k}") for o, k, sample in SAMPLES],
)
def test_samples_become_modules(operator: AnyOperator, sample: Sample) -> None:
    found = graph(operator, sample)
    for chlo, loops in ((True, False), (False, True)):
        text = graph_text([found], chlo=chlo, loops=loops)
        assert check_stablehlo(text) >= 0
        assert chlo or "chlo." not in text
        looped = loops and isinstance(operator.stablehlo, Looped)
        assert ("stablehlo.while" in text) == looped
        for name, y in found.outputs.items():
            assert f'{{webnnm.name = "{name}"}}' in text
            assert y.dtype[:1] != "b"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_what_is_decomposed_has_a_decomposition(operator: AnyOperator) -> None:
    assert operator.stablehlo is not None
    assert operator.stablehlo is not lower_by_parts or operator.decompose is not None


def test_a_forgotten_mapping_is_an_error_where_the_operator_is_declared() -> None:
    tanh = ops.registry()["tanh"]
    fields = {name: getattr(tanh, name) for name in Operator.__dataclass_fields__}
    del fields["stablehlo"]
    with pytest.raises(TypeError, match="stablehlo"):
        Operator(**fields)


def own(**changes: object) -> Graph:
    """Return a graph with an operator that is declared here."""
    tanh = ops.registry()["tanh"]
    assert isinstance(tanh, Operator)
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    with b.place("mine1", Span(2, 6)):
        return b.build({"y": b.apply(replace(tanh, name="mine", **changes), [x], {})})


def test_no_mapping_is_nnm901_at_its_place() -> None:
    with pytest.raises(ModelError) as caught:
        graph_text([own(stablehlo=None)], source="m:mine();")
    error = caught.value
    assert (error.code, error.line, error.column) == ("NNM901", 1, 3)
    assert error.message == '"mine1": "mine" has no mapping to StableHLO'


def test_a_mapping_of_another_type_than_inferred_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        graph_text([own(stablehlo=lambda h, x: h.reshape(x, (2, 1)))])
    assert caught.value.code == "NNM901"
    assert "returns tensor<2x1xf32>, but its type is tensor<2xf32>" in caught.value.message


def test_a_mapping_of_ones_own() -> None:
    text = graph_text([own(stablehlo=lambda h, x: h.tanh(h.multiply(x, 2)))])
    assert check_stablehlo(text) == 3


def test_a_composite_may_have_a_mapping() -> None:
    @declare_composite("twice", stablehlo=lambda h, x: h.add(x, x))
    def twice(b: Any, x: Any) -> Any:
        return x * 2

    b = GraphBuilder()
    text = graph_text([b.build({"y": b.apply(twice, [b.input("x", "float32", [2])], {})})])
    assert "stablehlo.add" in text
    assert "multiply" not in text


def test_uint4_has_no_arithmetic() -> None:
    b = GraphBuilder()
    x = b.input("x", "uint4", [2])
    assert "tensor<2xui4>" in graph_text([b.build({"y": b.reverse(x)})])
    scale, zero = b.constant([0.5]), b.constant([1], "uint4")
    with pytest.raises(ModelError, match="no arithmetic of uint4") as caught:
        graph_text([b.build({"y": b.dequantize_linear(x, scale, zero)})])
    assert caught.value.code == "NNM901"


def test_comparisons_are_truths_inside_and_bytes_where_they_are_seen() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    above = b.greater(x, 0)
    inner = graph_text([b.build({"y": b.where(b.logical_not(above), x, 0)})])
    assert "ui8" not in inner
    assert "tensor<2xui8>" in graph_text([b.build({"y": above})])


def test_inputs_become_constants_where_there_are_values() -> None:
    from webnnm.core.arrays import HostArray

    b = GraphBuilder()
    y = b.input("x", "float32", [2]) * b.input("w", "float32", [2])
    text = graph_text([b.build({"y": y})], constants={"w": HostArray.of([1.0, 2.0])})
    assert '"w"' not in text
    assert "dense<[1.000000e+00, 2.000000e+00]>" in text


def test_a_bound_that_is_not_a_number_is_none() -> None:
    b = GraphBuilder()
    x = b.input("x", "int8", [2])
    text = graph_text([b.build({"y": b.clamp(x, min_value=math.nan, max_value=5.5)})])
    assert "dense<-128> : tensor<i8>" in text
    assert "dense<5> : tensor<i8>" in text
