"""Tokens that users give: rows of any lengths, in lists or arrays, or an error that says how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers import test_pairs as pairs
from tests.unit.transformers.folders import write
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.transformers.texts import read_rows

SINGLE: tuple[tuple[Any, list[int]], ...] = (
    ([5, 8, 2], [5, 8, 2]),
    ((5, 8), [5, 8]),
    (range(3), [0, 1, 2]),
    (HostArray.of([5, 8], "int32"), [5, 8]),
    ([HostArray.of(5, "int32")], [5]),
    ([1.0, True], [1, 1]),
    ([], []),
)
SEVERAL: tuple[tuple[Any, list[list[int]]], ...] = (
    ([[5, 8, 2], [7]], [[5, 8, 2], [7]]),
    (((5,), range(2)), [[5], [0, 1]]),
    ([HostArray.of([5, 8], "int32"), HostArray.of([7], "int32")], [[5, 8], [7]]),
    (HostArray.of([[5, 8]], "int32"), [[5, 8]]),
    ([[5], []], [[5], []]),
)


@pytest.mark.parametrize(("given", "row"), SINGLE)
def test_a_row_may_be_a_list_or_an_array(given: Any, row: list[int]) -> None:
    assert read_rows(given) == ([row], True)
    assert all(type(token) is int for token in read_rows(given)[0][0])


@pytest.mark.parametrize(("given", "rows"), SEVERAL)
def test_rows_may_differ_in_length(given: Any, rows: list[list[int]]) -> None:
    assert read_rows(given) == (rows, False)


@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        "text",
        ["a"],
        [5, [6]],
        [[5], 6],
        [[[1]]],
        [1.5],
        [None],
        {1: 2},
        [2**40],
        {5},
    ],
)
def test_what_is_no_row_of_tokens_is_named(given: Any) -> None:
    with pytest.raises(DataError, match=r"NNM702: decoder_input_ids") as caught:
        read_rows(given, name="decoder_input_ids")
    assert caught.value.hint == (
        "give decoder_input_ids as a list of integers, or a list of such lists"
    )
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("tokens", "mask"),
    [([5, 8], [1]), ([5, 8], [[1, 1]]), ([[5, 8]], [1, 1]), ([[5], [7, 8]], [[1, 1], [1]])],
)
def test_masks_have_the_shape_of_their_tokens(tokens: Any, mask: Any) -> None:
    with pytest.raises(DataError, match=r"NNM702: input_ids and attention_mask differ in shape"):
        read_rows(tokens, mask)
    for wrong in (1, "11", ["1", "1"], [0.5, 1]):
        with pytest.raises(DataError, match=r"NNM702: attention_mask"):
            read_rows(tokens, wrong)


async def test_prompts_of_different_lengths_need_no_padding(tmp_path: Path) -> None:
    model = await webnnm.from_pretrained(write(tmp_path), backend="numpy", log=lambda _: None)
    alone = [await model.generate_ids(row, max_new_tokens=3) for row in ([5, 8, 2], [7])]
    assert await model.generate_ids([[5, 8, 2], [7]], max_new_tokens=3) == alone
    mask = [[1, 1, 1], [1]]
    assert (
        await model.generate_ids([[5, 8, 2], [7]], attention_mask=mask, max_new_tokens=3) == alone
    )
    filled = await model.generate_ids([[5, 8, 2], [7]], max_new_tokens=3, pad_token_id=0)
    assert filled == [alone[0], [0, 0, *alone[1]]]
    for padding in ("x", 1.5, [0]):
        with pytest.raises(DataError, match=r"NNM704: pad_token_id is") as caught:
            await model.generate_ids([[5], [7]], pad_token_id=padding)
        assert caught.value.hint == "give a token, an integer, or None for rows of any lengths"
    model.close()


@pytest.mark.desktop
async def test_sources_of_different_lengths_need_no_padding(tmp_path: Path) -> None:
    model = await pairs.load(tmp_path)
    rows = [[2, 3, 4, 1], [3, 1]]
    alone = [await model.generate_ids(row, max_new_tokens=3) for row in rows]
    assert await model.generate_ids(rows, max_new_tokens=3) == alone
    masks = [[1] * 4, [1] * 2]
    assert await model.generate_ids(rows, attention_mask=masks, max_new_tokens=3) == alone
    padded, full = [rows[0], [3, 1, 0, 0]], [[1] * 4, [1, 1, 0, 0]]
    assert await model.generate_ids(padded, attention_mask=full, max_new_tokens=3) == alone
    model.close()
