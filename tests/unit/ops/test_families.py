"""Random shapes, options and broadcasts of every family on the reference backend."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.ops.cases import build, np
from tests.unit.ops.families import Drawn, families
from tests.unit.ops.gradient import check_gradients, functional
from tests.work import examples
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float

EXAMPLES = examples(50)
GRADIENTS = examples(15)
ELEMENTS = 6
"""So many elements of a gradient are measured; the samples of the operators measure more."""
PRECISION = {"float32": 2e-5, "float16": 5e-3}

every_family = pytest.mark.parametrize("name", families())


@every_family
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_result_has_the_inferred_type_and_is_near_that_of_float64(
    name: str, data: st.DataObject
) -> None:
    drawn: Drawn = data.draw(families()[name]())
    built = build(drawn.case)
    feeds = {x.node.name: built.feeds[x.node.name].astype(_numpy(x.dtype)) for x in built.operands}  # type: ignore[attr-defined]
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
    found, wide = (evaluate(graph, feeds, wide=w) for w in (False, True))
    types = {x.dtype for x in built.operands}
    limit = PRECISION["float16" if "float16" in types else "float32"]
    for key, operand in graph.outputs.items():
        assert found[key].shape == operand.shape
        assert found[key].dtype.name == _numpy(operand.dtype)
        if is_float(operand.dtype):
            np.testing.assert_allclose(found[key], wide[key], rtol=limit, atol=limit)


@pytest.mark.alike  # a rule of algebra over kernels that the test above compares
@every_family
@settings(max_examples=GRADIENTS)
@given(data=st.data())
def test_gradient_is_the_measured_one(name: str, data: st.DataObject) -> None:
    smooth = families()[name]().filter(lambda drawn: build(drawn.case).differentiable)
    built = build(data.draw(smooth).case)
    loss = functional(built.builder, built.float_results, 0)
    check_gradients(loss, built.float_operands, built.feeds, most=ELEMENTS)


def _numpy(dtype: str) -> str:
    """Return NumPy's type for one of ours; it has none of four bits."""
    return "int8" if dtype.endswith("int4") else dtype
