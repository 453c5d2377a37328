"""Texts that mean little: each is lowered, or refused by an error of ours."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import model, network
from webnnm.core.errors import WebNNMError
from webnnm.graph.elaboration.lowering import lower_network


@pytest.mark.parametrize(
    ("code", "input", "layers", "output"),
    [
        ("NNM402", "shape=[5]", "residual(skip=0, shape=[5, 1])", "shape=[7919]"),
        ("NNM402", "int64 shape=[]", "sub(w, shape=[1, 1, 1]), rmsNorm()", "shape=[1, 1, 1]"),
        (
            "",
            "float16 shape=[4, 5, 6]",
            "div(2), clamp(maxValue=9223372036854775807)",
            "shape=[4, 5, 6]",
        ),
        ("NNM402", "int4 shape=[]", "pow(w, shape=[1, 1]), concat(axis=1)", "shape=[1, 1]"),
        ("NNM402", "shape=[3]", "prelu(a, shape=[1,3])", "shape=[3]"),
        ("NNM402", "shape=[]", "add(w, shape=[1, 1]), softmax(axis=1)", "shape=[1, 1]"),
        ("NNM402", "shape=[]", "mul(w, shape=[1, 1]), cumulativeSum(axis=1)", "shape=[1, 1]"),
        ("NNM402", "shape=[1, 1]", "mul(w, shape=[1, 1, 1]), globalAveragePool()", "shape=[1]"),
        ("NNM402", "shape=[]", "max(w, shape=[1, 1]), tile([2, 2])", "shape=[2, 2]"),
        ("NNM402", "shape=[]", "max(w, shape=[1, 1]), squaremax()", "shape=[1, 1]"),
        (
            "NNM402",
            "shape=[]",
            "max(w, shape=[1, 1]), gather(shape=[1], data=[0], axis=1)",
            "shape=[1, 1]",
        ),
        ("NNM402", "shape=[3]", "where(1, 0, shape=[1, 3]), softmax(axis=0)", "shape=[1, 3]"),
        ("NNM402", "shape=[3]", "equal(1, shape=[1, 3]), concat(axis=0)", "shape=[1, 3]"),
        ("NNM405", "shape=[1]", "tanh(name=h), squeeze(), gather(indices=h)", "shape=[1]"),
        ("NNM405", "shape=[1]", "squeeze(), gather(shape=[2], data=[0, 0])", "shape=[2]"),
        ("NNM405", "shape=[3]", "gatherND(shape=[2], coords=[], data=[0, 1])", "shape=[2]"),
        ("NNM405", "shape=[3]", "gatherND(shape=[2], coords=[], data=[])", "shape=[2]"),
        ("NNM205", "shape=[3]", "scatterElements(w, shape={x}, data=[0, 1])", "shape=[3]"),
        ("NNM307", "shape=[3]", "scatterElements(c, shape={x}, data=[0, 1])", "shape=[3]"),
        ("NNM303", "shape=[3]", "scatterElements(c, shape=[50%], data=[0, 1])", "shape=[3]"),
        ("NNM303", "shape=[3]", "slice([], [])", "shape=[3]"),
        ("NNM303", "shape=[3]", "slice(starts=[])", "shape=[3]"),
        ("NNM303", "shape=[3]", "slice(starts=[], sizes=[])", "shape=[3]"),
        ("", "shape=[]", "slice([], [])", "shape=[]"),
        ("", "shape=[]", "pad([], [])", "shape=[]"),
        ("", "shape=[]", "tile([])", "shape=[]"),
        ("", "shape=[]", "reverse()", "shape=[]"),
        ("", "shape=[]", "transpose()", "shape=[]"),
        ("", "shape=[3]", "reverse([])", "shape=[3]"),
        ("NNM309", "shape=[3]", "transpose([])", "shape=[3]"),
        ("", "shape=[3]", "reduceSum([])", "shape=[3]"),
        ("", "shape=[3]", "unsqueeze(axes=[]), squeeze(axes=[])", "shape=[3]"),
        ("", "shape=[3]", "layerNorm(axes=[]), rmsNorm(axes=[])", "shape=[3]"),
        ("NNM308", "shape=[]", "layerNorm(), rmsNorm(), batchNorm()", "shape=[]"),
        ("NNM308", "shape=[]", "softmax()", "shape=[]"),
        ("NNM308", "shape=[]", "argMax()", "shape=[]"),
        ("NNM405", "shape=[]", "matmul(w)", "shape=[3]"),
        ("NNM502", "float16 shape=[3]", "prelu(9223372036854775807)", "shape=[3]"),
        ("NNM502", "float16 shape=[3]", "prelu(1e30), add(-1e39)", "shape=[3]"),
        ("NNM502", "shape=[3]", "add(1e39)", "shape=[3]"),
        ("", "shape=[3]", "clamp(minValue=-1e308, maxValue=1e308), matmul(w)", "shape=[3]"),
        (
            "",
            "int8 shape=[3]",
            "clamp(minValue=-9223372036854775809, maxValue=18446744073709551616), matmul(w)",
            "shape=[3]",
        ),
        ("NNM502", "int32 shape=[3]", "pad([1],[1], value=9223372036854775807)", "shape=[5]"),
        (
            "NNM502",
            "float16 shape=[3]",
            "pad([1],[1], value=9223372036854775807), matmul(w)",
            "shape=[3]",
        ),
        (
            "NNM502",
            "float16 shape=[3]",
            "fillSequence(shape=[3], start=9223372036854775807, dataType=float16), matmul(w)",
            "shape=[3]",
        ),
        (
            "NNM702",
            "float16 shape=[3]",
            "linear(alpha=9223372036854775807), matmul(w)",
            "shape=[3]",
        ),
        (
            "NNM702",
            "float16 shape=[3]",
            "elu(alpha=1e30), leakyRelu(alpha=9223372036854775807), matmul(w)",
            "shape=[3]",
        ),
        (
            "",
            "float16 shape=[3]",
            "matmul(w), layerNorm(epsilon=9223372036854775807), squaremax(epsilon=1e300)",
            "shape=[3]",
        ),
        ("", "float16 shape=[3]", "gemm(w, alpha=9223372036854775807, beta=1e300)", "shape=[3]"),
        ("NNM502", "uint4 shape=[3]", "quantizeLinear(1e39, 300), matmul(w)", "shape=[3]"),
        (
            "",
            "float16 shape=[3, 4]",
            "batchNorm(epsilon=1e30, momentum=1), rotaryEmbedding(base=1e308), reduceSum()",
            "shape=[]",
        ),
    ],
)
def test_odd_texts(code: str, input: str, layers: str, output: str) -> None:
    text = model(layers, "c [2] 1;", input=input, output=output)
    if not code:
        assert lower_network(network(text), batch=2).outputs
        return
    with pytest.raises(WebNNMError) as caught:
        lower_network(network(text), batch=2)
    assert caught.value.code == code
    assert caught.value.line
