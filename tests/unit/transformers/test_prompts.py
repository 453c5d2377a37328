"""Points and boxes of Segment Anything: their shapes, and errors that name what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse
from webnnm.transformers.prompts import Prompts, prompts, takes_prompts

TEXT = """
image_embeddings:input shape=[1];
input_points:input shape=[2] sequence=points;
input_labels:input int32 shape=[] sequence=points;
input_masks:input shape=[2];
has_input_masks:input shape=[];
output_tokens:input int32 shape=[] sequence={outputs:3};
y:output shape=[1];
y:layers
  reduceSum(node=input_points, axes=[points]), reduceSum(axes=[features], name=a),
  cast(float32, node=input_labels), reduceSum(axes=[points], name=b),
  cast(float32, node=output_tokens), reduceSum(axes=[outputs], name=c),
  reduceSum(node=input_masks, axes=[features], name=d),
  add([a, b, c, d, has_input_masks]), reshape([1]), add(image_embeddings);
"""
VERTICES = elaborate(parse(TEXT)).inputs
POINTS, LABELS = [[[[1, 2], [3, 4]]] * 3] * 2, [[[1, 0]] * 3] * 2


def ask(**given: Any) -> Prompts:
    return prompts(given, VERTICES)


def test_prompts_of_a_picture_are_rows() -> None:
    assert takes_prompts(VERTICES) and not takes_prompts(VERTICES[:2])
    found = ask(input_points=POINTS, input_labels=LABELS, image_embeddings=[[5.0], [6.0]])
    assert found.lead == (2, 3)
    assert found.inputs["input_points"] == [[[1, 2], [3, 4], [0, 0]]] * 6
    assert found.inputs["input_labels"] == [[1, 0, -1]] * 6
    pictures = HostArray.of(found.inputs["image_embeddings"]).tolist()
    assert pictures == [[5.0]] * 3 + [[6.0]] * 3
    assert found.inputs["output_tokens"] == [[0, 1, 2]] * 6
    assert found.inputs["has_input_masks"] == [0.0] * 6
    assert HostArray.of(found.inputs["input_masks"]).shape == (6, 2)


def test_boxes_are_two_points_more() -> None:
    found = ask(input_boxes=[[[1, 2, 8, 9]]], input_masks=[[1, 2]])
    assert found.inputs["input_points"] == [[[1, 2], [8, 9]]]
    assert found.inputs["input_labels"] == [[2, 3]]
    assert found.inputs["has_input_masks"] == [1.0]
    both = ask(input_points=[[[[5, 5]]]], input_labels=[[[1]]], input_boxes=[[[1, 2, 8, 9]]])
    assert both.inputs["input_labels"] == [[1, 2, 3]]


def test_masks_are_put_back_into_their_pictures() -> None:
    masks = HostArray.of([*range(2 * 3 * 2)], "float32", (2, 3, 2))
    points = {"input_points": [[[[1, 2]]] * 2], "input_labels": [[[1]] * 2]}
    many = ask(**points).results({"masks": masks})["masks"]
    assert many.tolist() == [[[[2, 3], [4, 5]], [[8, 9], [10, 11]]]]
    one = ask(**points, multimask_output=False).results({"masks": masks})["masks"]
    assert one.tolist() == [[[[0, 1]], [[6, 7]]]]
    alone = ask(input_points=[[[1, 2]]] * 2, input_labels=[[1]] * 2)
    assert alone.results({"masks": masks})["masks"].shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({}, "NNM710", "input_points is needed"),
        ({"input_points": POINTS}, "NNM710", "input_labels is needed"),
        ({"input_labels": LABELS}, "NNM710", "input_points is needed"),
        ({"input_points": POINTS, "input_labels": [[[1]]]}, "NNM702", "one label for each point"),
        ({"input_points": [[1, 2]], "input_labels": [[1]]}, "NNM702", "[1, 2] was given"),
        ({"input_boxes": [[1, 2, 3, 4]]}, "NNM702", "input_boxes is [batch, prompts, 4]"),
        (
            {"input_points": POINTS, "input_labels": LABELS, "input_boxes": [[[1, 2, 3, 4]]]},
            "NNM702",
            "points and boxes of [2, 3] and [1, 1] prompts",
        ),
    ],
)
def test_what_is_missing_is_named(given: dict[str, Any], code: str, told: str) -> None:
    with pytest.raises(DataError) as caught:
        ask(**given)
    assert caught.value.code == code and told in str(caught.value)
