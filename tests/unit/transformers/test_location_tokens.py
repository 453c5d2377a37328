"""Places in the texts of Florence-2, as `transformers` reads them in `post_process_generation`."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError
from webnnm.transformers.location_tokens import read_answer
from webnnm.transformers.task_prompts import TASKS, write_task

CASES: list[tuple[str, str, tuple[int, int], Any]] = [
    ("<CAPTION>", "</s><s>A green car.</s>", (400, 200), "A green car."),
    (
        "<OD>",
        "</s><s>car<loc_52><loc_333><loc_932><loc_774>door<loc_690><loc_203><loc_747><loc_672><loc_7><loc_7><loc_9><loc_999></s>",
        (480, 640),
        {
            "bboxes": [[33, 160, 596, 371], [441, 97, 478, 322], [4, 3, 6, 479]],
            "labels": ["car", "door", "door"],
        },
    ),
    ("<OD>", "</s><s>car<loc_52><loc_333></s>", (480, 640), {"bboxes": [], "labels": []}),
    (
        "<REGION_PROPOSAL>",
        "<loc_1><loc_2><loc_3><loc_4><loc_5><loc_6><loc_7><loc_8>",
        (333, 997),
        {"bboxes": [[1, 0, 3, 1], [5, 2, 7, 2]], "labels": ["", ""]},
    ),
    (
        "<CAPTION_TO_PHRASE_GROUNDING>",
        "A café<loc_0><loc_0><loc_499><loc_999>it<loc_1><loc_1><loc_2><loc_2>"
        "a car<loc_5><loc_6><loc_7><loc_8>",
        (400, 200),
        {"bboxes": [[0, 0, 99, 399], [1, 2, 1, 3]], "labels": ["A caf", "a car"]},
    ),
    (
        "<OCR_WITH_REGION>",
        "So<loc_1><loc_2><loc_30><loc_2><loc_30><loc_40><loc_1><loc_40>"
        " good<loc_5><loc_5><loc_9><loc_5><loc_9><loc_9><loc_5><loc_9>",
        (1000, 500),
        {
            "quad_boxes": [[0, 2, 15, 2, 15, 40, 0, 40], [2, 5, 4, 5, 4, 9, 2, 9]],
            "labels": ["So", "good"],
        },
    ),
    (
        "<REFERRING_EXPRESSION_SEGMENTATION>",
        "<loc_10><loc_20><loc_30><loc_40><loc_50><loc_60><sep><loc_1><loc_2><loc_3><loc_4><loc_5>",
        (400, 200),
        {"polygons": [[[2, 8, 6, 16, 10, 24], [0, 1, 0, 1]]], "labels": [""]},
    ),
    (
        "<REGION_TO_SEGMENTATION>",
        "<poly><loc_10><loc_20><loc_30><loc_40></poly><poly><loc_1><loc_2><loc_3><loc_4></poly>",
        (400, 200),
        {"polygons": [[[2, 8, 6, 16]], [[0, 1, 0, 1]]], "labels": ["", ""]},
    ),
    (
        "<OPEN_VOCABULARY_DETECTION>",
        "a cat<loc_1><loc_2><loc_3><loc_4>",
        (400, 200),
        {
            "bboxes": [[0, 1, 0, 1]],
            "bboxes_labels": ["a cat"],
            "polygons": [],
            "polygons_labels": [],
        },
    ),
    (
        "<OPEN_VOCABULARY_DETECTION>",
        "a cat<poly><loc_10><loc_20><loc_30><loc_40><sep><loc_1><loc_2><loc_3><loc_4></poly>",
        (400, 200),
        {
            "bboxes": [],
            "bboxes_labels": [],
            "polygons": [[[2, 8, 6, 16], [0, 1, 0, 1]]],
            "polygons_labels": ["a cat"],
        },
    ),
]
"""The word for a task, a text, height and width of the picture, the answer of `transformers`."""


@pytest.mark.parametrize(("word", "text", "size", "answer"), CASES)
def test_places_become_pixels(word: str, text: str, size: tuple[int, int], answer: Any) -> None:
    assert read_answer(text, word, size, banned=["it"]) == answer


def test_pixels_are_those_of_float32() -> None:
    # In float64 the left edges are 45 and 212.
    for place, width, left in ((312, 144, 44), (187, 1136, 213)):
        answer = read_answer(f"a<loc_{place}><loc_0><loc_0><loc_0>", "<OD>", (10, width))
        assert answer["bboxes"][0][0] == left


def test_every_task_has_words() -> None:
    prompts = [write_task(word) for word in TASKS]
    assert len({*prompts}) == len(TASKS) and not any("<" in prompt for prompt in prompts)
    assert write_task("What is this?") == "What is this?"
    assert write_task("<OPEN_VOCABULARY_DETECTION> a cat") == "Locate a cat in the image."
    with pytest.raises(DataError, match='NNM704: there is more than <OCR> in the prompt: "a b"'):
        write_task("<OCR>a b")
