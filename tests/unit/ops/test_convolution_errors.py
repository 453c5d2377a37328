"""What convolutions and pools refuse, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails
from webnnm import GraphBuilder
from webnnm.ops.declare.tensors import OperatorError

X, K = (1, 4, 5, 6), (2, 4, 3, 3)


def catch_error(name: str, shapes: tuple[Any, ...], **options: Any) -> OperatorError:
    b = GraphBuilder()
    types = [shape if isinstance(shape[0], str) else ("float32", shape) for shape in shapes]
    with pytest.raises(OperatorError) as caught:
        operands = [b.input(f"x{i}", *type) for i, type in enumerate(types)]
        getattr(b, name)(*operands, **options)
    return caught.value


@pytest.mark.parametrize(
    ("name", "shapes", "options", "code", "words"),
    [
        # Types and ranks.
        ("conv2d", (("int32", X), ("int32", K)), {}, "NNM501", ("input", "int32")),
        ("conv2d", (X, ("float16", K)), {}, "NNM501", ("conv2d", "float32 and float16")),
        ("average_pool2d", (("int8", X),), {}, "NNM501", ("int8",)),
        ("conv2d", (X[1:], K), {}, "NNM405", ("input", "[4, 5, 6]")),
        ("conv2d", (X, K, (1, 2)), {}, "NNM405", ("bias",)),
        ("max_pool2d", (X[1:],), {}, "NNM405", ("[4, 5, 6]",)),
        ("conv1d", (X, (2, 4, 3)), {}, "NNM405", ("input",)),
        ("conv_transpose1d", (X, (4, 2, 3)), {}, "NNM405", ("input",)),
        ("conv_transpose1d", ((1, 4, 5), (3, 2, 3)), {}, "NNM404", ("4 channels", "takes 3")),
        # Operands.
        ("conv2d", (X,), {}, "NNM302", ("conv2d", "1 given")),
        ("max_pool2d", (X, X), {}, "NNM302", ("maxPool2d", "2 given")),
        # Channels and groups.
        ("conv2d", (X, (2, 3, 3, 3)), {}, "NNM404", ("4 channels", "takes 3")),
        (
            "conv2d",
            (X, (2, 4, 3, 3)),
            {"groups": 2},
            "NNM404",
            ("4 channels", "takes 8 in 2"),
        ),
        ("conv2d", (X, (3, 2, 3, 3)), {"groups": 2}, "NNM406", ("3 filters", "2 groups")),
        ("conv2d", (X, K), {"groups": 3}, "NNM406", ("4 channels", "3 groups")),
        ("conv2d", (X, K), {"input_layout": "nhwc"}, "NNM404", ("6 channels",)),
        (
            "conv2d",
            (X, K),
            {"filter_layout": "hwio"},
            "NNM404",
            ("4 channels", "the filter takes 3"),
        ),
        ("conv2d", (X, K, (4,)), {}, "NNM404", ("bias [4]", "2 filters")),
        ("conv_transpose2d", (X, K), {}, "NNM404", ("4 channels", "the filter takes 2")),
        ("conv_transpose2d", (X, (4, 3, 3, 3), (3,)), {"groups": 2}, "NNM404", ("6 filters",)),
        # Options.
        ("conv2d", (X, K), {"stride": 2}, "NNM301", ("conv2d", "stride")),
        ("conv2d", (X, K), {"strides": 2}, "NNM303", ("2 is not a list",)),
        ("conv2d", (X, K), {"strides": (1, 0)}, "NNM303", ("0 is not an integer",)),
        ("conv2d", (X, K), {"dilations": (1,)}, "NNM303", ("1 numbers", "2 expected")),
        ("conv2d", (X, K), {"padding": (1, 1)}, "NNM303", ("2 numbers", "4 expected")),
        ("conv2d", (X, K), {"padding": (0, 0, -1, 0)}, "NNM303", ("-1",)),
        ("conv2d", (X, K), {"padding": None}, "NNM303", ("None is not a list",)),
        ("conv2d", (X, K), {"groups": 0}, "NNM303", ("0",)),
        ("conv2d", (X, K), {"input_layout": "chwn"}, "NNM303", ("chwn", "nchw, nhwc")),
        ("conv2d", (X, K), {"auto_pad": "same"}, "NNM303", ("same-upper",)),
        ("conv2d", (X, K), {"activation": 3}, "NNM303", ("3 is not an activation",)),
        ("conv_transpose2d", (X, K), {"filter_layout": "oihw"}, "NNM303", ("oihw", "iohw")),
        ("max_pool2d", (X,), {"output_shape_rounding": "up"}, "NNM303", ("floor, ceil",)),
        (
            "max_pool2d",
            (X,),
            {"rounding_type": "ceil", "output_shape_rounding": "floor"},
            "NNM303",
            ("'ceil'", "'floor'"),
        ),
        # Sizes.
        ("conv2d", (X, (2, 4, 3, 7)), {}, "NNM408", ("a window of 7", "6 cells")),
        ("conv2d", (X, K), {"dilations": (3, 1)}, "NNM408", ("a window of 7", "5 cells")),
        ("conv_transpose2d", (X, (4, 1, 2, 2)), {"padding": (3, 3, 0, 0)}, "NNM408", ("0 cells",)),
        (
            "conv_transpose2d",
            (X, (4, 1, 2, 2)),
            {"strides": (2, 2), "output_padding": (2, 0)},
            "NNM303",
            ("output padding 2", "stride 2"),
        ),
        (
            "conv_transpose2d",
            (X, (4, 1, 2, 2)),
            {"strides": (2, 2), "output_sizes": (12, 12)},
            "NNM303",
            ("12 is not within 10 … 11",),
        ),
        ("max_pool2d", (X,), {"window_dimensions": (6, 1)}, "NNM408", ("a window of 6", "5 cells")),
        (
            "max_pool2d",
            (X,),
            {"window_dimensions": (2, 2), "strides": (2, 2), "output_sizes": (4, 3)},
            "NNM303",
            ("4 is neither 2 nor 3",),
        ),
        (
            "max_pool2d",
            (X,),
            {"window_dimensions": (1, 1), "padding": (1, 0, 0, 0)},
            "NNM408",
            ("window 0 of 6 lies entirely in the padding",),
        ),
        (
            "average_pool2d",
            (X,),
            {"window_dimensions": (1, 1), "strides": (3, 4), "output_shape_rounding": "ceil"},
            "NNM408",
            ("window 2 of 3 lies entirely in the padding",),
        ),
    ],
    ids=str,
)
def test_tensors(
    name: str, shapes: Any, options: dict[str, Any], code: str, words: tuple[str, ...]
) -> None:
    error = catch_error(name, shapes, **options)
    assert error.code == code
    for word in words:
        assert word in error.message


MODELS = [
    ("NNM405", "[8]", "¦conv2d(f, filters=4, kernel=3)", "3 feature dimensions, but [8] has 1"),
    ("NNM405", "[3, 3, 3, 3]", "¦maxPool2d()", "3 feature dimensions, but [3, 3, 3, 3] has 4"),
    ("NNM405", "[3, 8, 8]", "¦conv2d(k, filters=4)", "the filter [3, 3]"),
    ("NNM405", "[3, 8, 8]", "¦conv1d(f, filters=4, kernel=3)", "3 feature dimensions"),
    ("NNM411", "[8]", "¦conv1d(f, filters=4, kernel=3)", "no sequence"),
    ("NNM404", "[3, 8, 8]", "¦conv2d(big)", "3 channels, filter [2, 4, 3, 3] (oihw)"),
    ("NNM404", "[4, 8, 8]", "¦conv2d(big, filters=3)", "3 filters, filter [2, 4, 3, 3]"),
    ("NNM404", "[4, 8, 8]", "conv2d(big, ¦kernel=2)", "a kernel of 2 cells"),
    ("NNM404", "[4, 8, 8]", "¦conv2d(big, bias=c)", "bias [3], 2 filters"),
    ("NNM406", "[4, 8, 8]", "conv2d(f, filters=3, kernel=2, ¦groups=3)", "4 channels in 3 groups"),
    ("NNM406", "[4, 8, 8]", "conv2d(f, filters=3, kernel=2, ¦groups=2)", "3 filters in 2 groups"),
    ("NNM408", "[4, 2, 8]", "¦conv2d(big)", "a window of 3 over 2 cells"),
    ("NNM408", "[4, 2, 8]", "¦maxPool2d(window=3)", "a window of 3 over 2 cells"),
    ("NNM303", "[4, 8, 8]", "maxPool2d(¦window=[1, 2, 3])", "expected a number, [height, width]"),
    ("NNM303", "[4, 8, 8]", "maxPool2d(¦window={height:2})", "expected {height:"),
    ("NNM303", "[4, 8, 8]", "maxPool2d(¦strides=0)", "0 is less than 1"),
    ("NNM303", "[4, 8, 8]", "conv2d(big, ¦padding=[1, 2])", "expected four non-negative numbers"),
    ("NNM303", "[4, 8, 8]", "conv2d(big, ¦padding=full)", "expected"),
    ("NNM303", "[4, 8, 8]", "conv2d(big, ¦filterLayout=iohw)", "oihw or hwio"),
    ("NNM301", "[4, 8, 8]", "conv2d(big, ¦stride=2)", "no option"),
    ("NNM302", "[4, 8, 8]", "¦conv2d()", "conv2d"),
    ("NNM403", "[4, 8, 8]", "conv2d(¦f, filters=2), maxPool2d()", "cannot infer the shape"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "input", "layers", "words"), MODELS, ids=str)
def test_models(code: str, input: str, layers: str, words: str) -> None:
    constants = "k [3, 3] 1; big [2, 4, 3, 3] 1; c [3] 1"
    text = f"m:input shape={input}; m:output shape=[2, 1, 1]; {constants};\nm:layers {layers};"
    fails(code, text, says=words)


def test_a_declared_result_of_another_size_is_refused() -> None:
    layer = "conv2d(f, kernel=3, padding=same, shape=¦[4, 7, 8])"
    fails("NNM402", f"m:input shape=[3, 8, 8]; m:output shape=[4, 7, 8]; m:layers {layer};")


@pytest.mark.parametrize("declared", ["[5]", "[2, 5]", "[1, 2, 3, 4]"])
@pytest.mark.parametrize(
    "layer",
    [
        "conv2d(f, filters=4, kernel=3",
        "conv2d(f, kernel=3",
        "convTranspose2d(f, filters=4, kernel=3",
        "conv2d(f, kernel=3, inputLayout=nhwc",
        "maxPool2d(window=2",
        "averagePool2d(window=2",
        "l2Pool2d(window=2",
        "globalAveragePool(keepDimensions=true",
        "resample2d(sizes=[4, 4]",
    ],
)
def test_a_declared_result_of_another_rank_is_refused(layer: str, declared: str) -> None:
    text = f"m:input shape=[3, 8, 8]; m:output shape=[2];\nm:layers {layer}, shape=¦{declared}),"
    fails("NNM402", f"{text} flatten(), matmul(w);", says=f"declared {declared}, inferred [")
