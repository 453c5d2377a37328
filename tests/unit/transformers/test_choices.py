"""Texts of which one is to be chosen: their shapes."""

from __future__ import annotations

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.transformers.choices import split_choices


def test_each_text_is_a_row_and_its_score_an_item() -> None:
    choices = split_choices({"input_ids": [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 1], [2, 3]]]})
    assert choices.inputs["input_ids"].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 1], [2, 3]]
    scores = HostArray.of([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], "float32")
    assert choices.results({"logits": scores})["logits"].tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[1, 1], [1, 1]], r"attention_mask is \[batch, choices, tokens\], but \[2, 2\]"),
        ([[[1, 1]], [[1, 1]]], "attention_mask has 1 choices in 2 rows, others 2 in 2"),
    ],
)
def test_other_shapes_are_refused(mask: list[object], message: str) -> None:
    ids = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    with pytest.raises(DataError, match=message) as caught:
        split_choices({"input_ids": ids, "attention_mask": mask})
    assert caught.value.code == "NNM702"
