"""What the normalisations and dropout refuse: an error that names operand, numbers and rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, network
from webnnm import GraphBuilder
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.ops.declare.tensors import OperatorError

IMAGE = (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("code", "words", "name", "shapes", "options"),
    [
        ("NNM404", "scale is [3], [4] are the sizes of the axes [1]", "layer_normalization",
         [(2, 4), (3,)], {"axes": [1]}),
        ("NNM404", "bias is [4, 2], [2, 4] are the sizes", "layer_normalization",
         [(2, 4), None, (4, 2)], {"axes": [0, 1]}),
        ("NNM308", "axis 2, rank 2", "layer_normalization", [(2, 4)], {"axes": [2]}),
        ("NNM309", "an axis occurs twice", "layer_normalization", [(2, 4)], {"axes": [1, -1]}),
        ("NNM303", "'small' is not a number", "layer_normalization", [(2, 4)],
         {"epsilon": "small"}),
        ("NNM302", '"layerNormalization" takes 1 to 3 operands, 4 given', "layer_normalization",
         [(2, 4), (4,), (4,), (4,)], {}),
        ("NNM302", '"batchNormalization" takes 3 to 5 operands, 2 given', "batch_normalization",
         [(2, 3), (3,)], {}),
        ("NNM404", "variance is [2], [3] are the sizes of the axes [1]", "batch_normalization",
         [(2, 3), (3,), (2,)], {}),
        ("NNM405", 'mean of "batchNormalization" is float32[1, 3], needs rank 1',
         "batch_normalization", [(2, 3), (1, 3), (3,)], {}),
        ("NNM308", "axis 1, rank 1", "batch_normalization", [(3,), (3,), (3,)], {}),
        ("NNM301", 'no option "momentum"', "batch_normalization", [(2, 3), (3,), (3,)],
         {"momentum": 0.9}),
        ("NNM303", "is not an activation", "batch_normalization", [(2, 3), (3,), (3,)],
         {"activation": 3}),
        ("NNM405", 'input of "instanceNormalization" is float32[2, 3], needs rank 4',
         "instance_normalization", [(2, 3)], {}),
        ("NNM404", "scale is [3], [5] are the sizes of the axes [3]", "instance_normalization",
         [IMAGE, (3,)], {"layout": "nhwc"}),
        ("NNM303", "'chwn' is not one of nchw, nhwc", "instance_normalization", [IMAGE],
         {"layout": "chwn"}),
        ("NNM406", "4 channels [2, 4], 3 groups", "group_normalization", [(2, 4)], {"groups": 3}),
        ("NNM404", "scale is [2], [4] are the sizes of the axes [1]", "group_normalization",
         [(2, 4), (2,)], {"groups": 2}),
        ("NNM404", "mean is [3], neither [2], the sizes of the axes [0], nor does it broadcast",
         "mean_variance_normalization", [(2, 4), (3,)], {}),
        ("NNM404", "scale is [2], [4] are the sizes", "rms_norm", [(2, 4), (2,)], {}),
        ("NNM303", "1.0 is not between 0 and 1", "dropout", [(2, 4)], {"p": 1}),
        ("NNM304", '"dropout" needs p=', "dropout", [(2, 4)], {}),
    ],
)  # fmt: skip
def test_tensor_operators(code: str, words: str, name: str, shapes: Any, options: Any) -> None:
    b = GraphBuilder()
    xs = [s if s is None else b.input(f"x{k}", "float32", s) for k, s in enumerate(shapes)]
    with pytest.raises(OperatorError) as caught:
        getattr(b, name)(*xs, **options)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value


@pytest.mark.parametrize("name", ["layer_normalization", "rms_norm", "dropout"])
def test_integers_are_refused(name: str) -> None:
    b = GraphBuilder()
    options = {"p": 0.5} if name == "dropout" else {}
    with pytest.raises(OperatorError) as caught:
        getattr(b, name)(b.input("x", "int32", (2, 3)), **options)
    assert caught.value.code == "NNM501"
    assert "is int32, not float16, float32" in caught.value.message


def text(layers: str, *more: str, input: str = "shape=[4]") -> str:
    return "\n".join([f"m:input {input};", "m:output shape=[4];", f"m:layers {layers};", *more])


@pytest.mark.parametrize(
    ("code", "marked", "says"),
    [
        ("NNM304", text("¦dropout()"), '"dropout" needs p='),
        ("NNM303", text("dropout(¦1.5)"), "1.5 must be between 0 and 1"),
        ("NNM303", text("dropout(¦p=0)"), "0 must be between 0 and 1"),
        ("NNM302", text("¦dropout(0.1, 0.2)"), '"dropout" takes 0 to 1 operands, 2 given'),
        ("NNM301", text("layerNorm(¦momentum=1)"), 'no option "momentum"'),
        ("NNM308", text("layerNorm(¦axes=[1])"), "axis 1, rank 1"),
        ("NNM310", text("layerNorm(¦axes=[batch])"), "per sample"),
        ("NNM307", text("rmsNorm(¦axes=[width])"), 'no dimension "width"'),
        ("NNM404", text("¦layerNorm(scale=k)", "k [3] 1;"), "[4] features, scale [3]"),
        ("NNM404", text("¦batchNorm(k, k)", "k [3] 1;"), "[4] features, mean [3]"),
        ("NNM302", text("¦batchNorm(k)", "k [4] 1;"), "mean and variance"),
        ("NNM303", text("batchNorm(¦momentum=2)"), "between 0 and 1"),
        ("NNM310", text("batchNorm(¦axis=sequence)", input="shape=[4] sequence=true"), "sequence"),
        ("NNM310", text("layerNorm(¦scale=g, axes=[sequence])",
                        input="shape=[4] sequence=true"), "scale is per feature"),
        ("NNM405", text("¦instanceNorm()"), "[4]"),
        ("NNM304", text("¦groupNorm()"), "needs groups="),
        ("NNM406", text("groupNorm(¦groups=3)"), "4 channels, 3 groups"),
        ("NNM404", text("¦groupNorm(groups=2, scale=k)", "k [3] 1;"), "[4] features, scale [3]"),
        ("NNM303", text("instanceNorm(¦layout=oihw)"), "expected nchw or nhwc"),
        (
            "NNM401",
            text("¦meanVarianceNormalization(mean=k, variance=k)", "k [3] 1;"),
            "mean [3] and [4]",
        ),
        ("NNM205", text("meanVarianceNormalization(¦mean=nothing)"), 'unknown name "nothing"'),
    ],
)  # fmt: skip
def test_layers(code: str, marked: str, says: str) -> None:
    fails(code, marked, says=says)


def test_a_scale_that_differs_from_sample_to_sample_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        lower_network(network(text("relu(name=r), layerNorm(scale=r)")))
    assert caught.value.code == "NNM405"
    assert "scale differs from sample to sample" in caught.value.message
    assert (caught.value.line, caught.value.column) == (3, 34)
