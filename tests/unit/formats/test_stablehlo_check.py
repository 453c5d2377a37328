"""The structural checker takes what is exported and refuses what was changed."""

from __future__ import annotations

import pytest

from webnnm import GraphBuilder, ModelError
from webnnm.formats.stablehlo.check import check_stablehlo
from webnnm.formats.stablehlo.lowering import graph_text


def module() -> str:
    """A module with operations of every kind."""
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3, 4, 4])
    w = b.input("w", "float32", [5, 3, 3, 3])
    i = b.input("i", "int32", [2])
    image = b.max_pool2d(b.conv2d(x, w, padding=[1, 1, 1, 1]), window_dimensions=[2, 2])
    rows = b.reshape(image, new_shape=[2, -1])
    product = b.matmul(rows, b.transpose(rows))
    picked = b.gather(product, i, axis=1)
    padded = b.pad(picked, beginning_padding=[1, 0], ending_padding=[0, 2])
    cut = b.reverse(b.slice(padded, starts=[0, 1], sizes=[2, 3], strides=[1, 2]), axes=[1])
    joined = b.concat([cut, b.cast(b.greater(cut, 0), type="float32")], 0)
    kept = b.where(b.is_infinite(joined), 0, b.clamp(joined, min_value=-1, max_value=1))
    sums = b.cumulative_sum(kept, axis=0)
    put = b.scatter_nd(sums, b.constant([[0]], "int32"), b.constant([[1, 2]], "float32"))
    return graph_text([b.build({"y": put, "k": b.arg_max(put, axis=1)})])


TEXT = module()


def test_what_is_exported_is_accepted() -> None:
    assert check_stablehlo(TEXT) > 40


CHANGES = [
    ("module @graph {", "modul @graph {", "a module expected"),
    ("public @main(", "public @other(", "the function @main expected"),
    ("%arg0: tensor<2x3x4x4xf32>", "%arg0: tensor<2x3x4x5xf32>", "%arg0 is tensor<2x3x4x5xf32>"),
    ('"stablehlo.convolution"(%arg0, %arg1)', '"stablehlo.convolution"(%arg0, %7)',
     "used before it is defined"),
    ('"stablehlo.convolution"(%arg0, %arg1)', '"stablehlo.convolution"(%arg0)', "1 values and 2"),
    ("-> tensor<2x5x4x4xf32>", "-> tensor<2x5x4x3xf32>", "not tensor<2x5x4x4xf32>"),
    ("feature_group_count = 1 :", "feature_group_count = 3 :", "the filter takes 3 in 3 groups"),
    ("window_dimensions = array<i64: 1, 1, 2, 2>", "window_dimensions = array<i64: 1, 1, 3, 2>",
     "its result is"),
    ("lhs_contracting_dimensions = [1]", "lhs_contracting_dimensions = [0]", "do not match"),
    ("permutation = array<i64: 1, 0>", "permutation = array<i64: 1, 1>", "are not dimensions"),
    ("permutation = array<i64: 1, 0>", "order = array<i64: 1, 0>", "permutation is missing"),
    ("offset_dims = [0]", "offset_dims = [0, 1]", "2 offsets for 1 dimensions"),
    ("edge_padding_high = array<i64: 0, 2>", "edge_padding_high = array<i64: 0, 3>", "its result"),
    ("limit_indices = array<i64: 2, 4>", "limit_indices = array<i64: 2, 9>", "is not within"),
    ("dimensions = array<i64: 1>}> : (tensor<2x2xf32>)", "dimensions = array<i64: 2>}> : "
     "(tensor<2x2xf32>)", "are not dimensions of a tensor"),
    ("dimension = 0 : i64", "dimension = 1 : i64", "stablehlo.concatenate"),
    ('"stablehlo.is_finite"', '"stablehlo.is_odd"', "there is no such operation"),
    ('"stablehlo.clamp"', '"stablehlo.select"', "stablehlo.select"),
    ("comparison_direction GT", "comparison_direction GT", ""),
    ("iota_dimension = 1 : i64", "iota_dimension = 2 : i64", "are not dimensions of a tensor"),
    ("inserted_window_dims = [0]", "inserted_window_dims = [1]", "stablehlo.scatter"),
    ("^bb0(%in0: tensor<f32>, %in1: tensor<f32>):", "^bb0(%in0: tensor<f32>):",
     "before it is defined"),
    ("  }\n}\n", "  }\n", "the text ends too early"),
    ("  }\n}\n", "  }\n}\nmodule @more {\n}\n", "text after the module"),
    ("xi32>\n  }", "xi64>\n  }", "not tensor<4xi64>"),
    ("-> (tensor<4x2xf32> {", "-> (tensor<4x3xf32> {", "other types than it declares"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_what_was_changed_is_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    changed = TEXT.replace(old, new, 1)
    if not message:
        assert check_stablehlo(changed)
        return
    with pytest.raises(ModelError) as caught:
        check_stablehlo(changed)
    assert caught.value.code == "NNM904"
    assert message in caught.value.message
    assert caught.value.message.startswith("line ")


def test_values_are_defined_once() -> None:
    lines = TEXT.splitlines()
    place = next(k for k, line in enumerate(lines) if " = " in line and "%0 " in line)
    with pytest.raises(ModelError, match="%0 is defined twice"):
        check_stablehlo("\n".join([*lines[: place + 1], lines[place], *lines[place + 1 :]]))


def test_every_line_is_needed() -> None:
    """A text with a line missing says so, whichever it is."""
    lines = TEXT.splitlines()
    for gone in range(len(lines)):
        with pytest.raises(ModelError):
            check_stablehlo("\n".join([*lines[:gone], *lines[gone + 1 :]]))
