"""Pipelines that say where in a text something is: token classification, question answering."""

from __future__ import annotations

import math
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.words import QUIET, WORDS, folder, ids
from webnnm import DataError
from webnnm.transformers.offsets import OffsetFinder

pytestmark = pytest.mark.desktop
pytest.importorskip("tokenizers")

TOKENS, ANSWERS = "BertForTokenClassification", "BertForQuestionAnswering"
LABELS = ("O", "B-X", "I-X")


async def compute(files: Any, rows: list[int], types: list[int] | None = None) -> dict[str, Any]:
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        found = await model.predict(input_ids=[rows], token_type_ids=types and [types])
        return {name: values.tolist()[0] for name, values in found.items()}


def normalise(values: list[float]) -> list[float]:
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


async def test_tokens_have_classes_and_places() -> None:
    files = folder(TOKENS, *LABELS)
    pieces = ["what", "a", "good", "day", "##s", "."]
    logits = (await compute(files, ids("[CLS]", *pieces, "[SEP]")))["logits"]
    scores = [normalise(row) for row in logits[1:-1]]
    best = [max(range(3), key=row.__getitem__) for row in scores]
    places = [(0, 4), (6, 7), (8, 12), (13, 16), (16, 17), (17, 18)]
    async with await webnnm.pipeline("ner", files, **QUIET) as recognize:
        found = await recognize("What  a good days.", ignore_labels=())
        kept = await recognize("What  a good days.", ignore_labels=["O", "B-X"])
    assert [one["word"] for one in found] == pieces
    assert [(one["start"], one["end"]) for one in found] == places
    assert [one["index"] for one in found] == [1, 2, 3, 4, 5, 6]
    assert [one["entity"] for one in found] == [LABELS[k] for k in best]
    assert [one["score"] for one in found] == pytest.approx(
        [row[k] for row, k in zip(scores, best, strict=True)]
    )
    assert [one["index"] for one in kept] == [k + 1 for k, label in enumerate(best) if label == 2]


@pytest.mark.parametrize(
    ("strategy", "choose"),
    [
        ("first", lambda rows: rows[0]),
        ("max", lambda rows: max(rows, key=max)),
        ("average", lambda rows: [sum(column) / len(rows) for column in zip(*rows, strict=True)]),
    ],
)
async def test_parts_of_a_word_get_one_class(strategy: str, choose: Any) -> None:
    files = folder(TOKENS, "O", "X")
    logits = (await compute(files, ids("[CLS]", "bad", "##ly", "##s", "[SEP]")))["logits"]
    scores = choose([normalise(row) for row in logits[1:-1]])
    async with await webnnm.pipeline("token-classification", files, **QUIET) as recognize:
        (found,) = await recognize("badlys", aggregation_strategy=strategy, ignore_labels=[])
    assert found == {
        "entity_group": "OX"[scores.index(max(scores))],
        "score": pytest.approx(max(scores)),
        "word": "badlys",
        "start": 0,
        "end": 6,
    }


async def test_neighbours_of_a_class_are_a_group() -> None:
    files = folder(TOKENS, "X")  # one class, so all words are one group
    async with await webnnm.pipeline("ner", files, **QUIET) as recognize:
        (found,) = await recognize("so good. what", aggregation_strategy="simple")
        assert (found["word"], found["start"], found["end"]) == ("so good. what", 0, 13)
        with pytest.raises(DataError, match=r"NNM704: .*strategy"):
            await recognize("so", aggregation_strategy="last")
    begins = folder(TOKENS, "B-X")
    async with await webnnm.pipeline("ner", begins, **QUIET) as recognize:
        assert len(await recognize("so good", aggregation_strategy="simple")) == 2


def best_answer(found: dict[str, Any], first: int, last: int, longest: int) -> tuple[float, Any]:
    """Return the most likely answer among the tokens from `first` to before `last`."""
    sides = []
    for name in ("start_logits", "end_logits"):
        values = [x if k == 0 or first <= k < last else -1e9 for k, x in enumerate(found[name])]
        sides.append(normalise(values))
    pairs = [(a, b) for a in range(first, last) for b in range(a, min(last, a + longest))]
    best = max(pairs, key=lambda pair: sides[0][pair[0]] * sides[1][pair[1]])
    return sides[0][best[0]] * sides[1][best[1]], best


async def test_the_answer_is_a_part_of_the_text() -> None:
    files = folder(ANSWERS)
    question, text = ["what", "."], ["so", "good", "a", "day", "."]
    row = ids("[CLS]", *question, "[SEP]", *text, "[SEP]")
    outputs = await compute(files, row, [0] * 4 + [1] * 6)
    score, (first, last) = best_answer(outputs, 4, 9, 2)
    places = [(0, 2), (3, 7), (8, 9), (10, 13), (13, 14)]
    async with await webnnm.pipeline("question-answering", files, **QUIET) as answer:
        given = {"question": "what.", "context": "so good a day."}
        found = await answer(given, max_answer_len=2)
        several = await answer(**given, top_k=3)
        both = await answer(question=["what.", "so"], context="so good a day.")
        with pytest.raises(DataError, match="NNM702: there is no question"):
            await answer(context="so")
        with pytest.raises(DataError, match='NNM702: an input has no "question"'):
            await answer({"question": "what"})
        nothing = await answer(given, handle_impossible_answer=True, top_k=99)
    start, end = places[first - 4][0], places[last - 4][1]
    assert found == {
        "score": pytest.approx(score, abs=1e-6),
        "start": start,
        "end": end,
        "answer": "so good a day."[start:end],
    }
    assert len(several) == 3 and several[0]["score"] >= several[1]["score"]
    assert both[0] == several[0]
    assert "" in [one["answer"] for one in nothing]


async def test_long_texts_are_read_in_windows_that_overlap() -> None:
    files = folder(ANSWERS)
    words = [WORDS[5 + k % 6] for k in range(50)]
    text = " ".join(words)
    size, stride = 9, 4  # tokens of the text in a window, and how many are also in the next one
    best = 0.0
    for start in range(0, 50 - stride, size - stride):
        part = words[start : start + size]
        row = ids("[CLS]", "what", "[SEP]", *part, "[SEP]")
        outputs = await compute(files, row, [0] * 3 + [1] * (len(part) + 1))
        best = max(best, best_answer(outputs, 3, 3 + len(part), 5)[0])
    async with await webnnm.pipeline("question-answering", files, **QUIET) as answer:
        options: dict[str, Any] = {"max_seq_len": 13, "doc_stride": stride, "max_answer_len": 5}
        found = await answer(question="what", context=text, batch_size=4, **options)
        with pytest.raises(DataError, match="NNM704: the question has 3 tokens"):
            await answer(question="what", context=text, max_seq_len=7)
    assert found["score"] == pytest.approx(best, abs=1e-6)
    assert text[found["start"] : found["end"]] == found["answer"]


def test_pieces_are_found_in_texts() -> None:
    words = OffsetFinder(unknown="[UNK]")
    pieces = ["[UNK]", "na", "##ive", "cafe", "²"]
    assert words.find("\tXylo naïve  CAFÉ ²", pieces) == [
        *((1, 5), (6, 8), (8, 11), (13, 17)),
        (18, 19),
    ]
    letters = OffsetFinder(unknown="<unk>", whole_words=False)
    assert letters.find("a ξb", ["▁a", "▁", "<unk>", "b"]) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    spaced = OffsetFinder(byte_level=True)
    assert spaced.find("é d", ["ĠÃ", "©", "Ġd"]) == [(0, 1), (0, 1), (2, 3)]


def test_pieces_of_spaces_alone_are_empty() -> None:
    found = OffsetFinder(byte_level=True).find("a   b", ["a", "ĠĠ", "Ġb"])
    assert found == [(0, 1), (3, 3), (4, 5)]  # as in the package tokenizers
