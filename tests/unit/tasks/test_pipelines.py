"""Pipelines: texts in, plain results out, as `transformers` gives them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.words import CLASSES, QUIET, WORDS, folder, ids
from webnnm import DataError

pytestmark = pytest.mark.desktop
pytest.importorskip("tokenizers")


async def compute(files: Any, output: str, rows: list[int], types: list[int] | None = None) -> Any:
    """Return an output for a row of tokens, without padding."""
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        found = await model.predict(input_ids=[rows], token_type_ids=types and [types])
        return found[output].tolist()[0]


def normalise(values: list[float]) -> list[float]:
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


async def test_text_classification_gives_labels_with_probabilities() -> None:
    files = folder(CLASSES, "no", "yes", "maybe")
    scores = normalise(await compute(files, "logits", ids("[CLS]", "so", "good", "[SEP]")))
    async with await webnnm.pipeline("sentiment-analysis", files, **QUIET) as classify:
        (found,) = await classify("So good")
        best = max(range(3), key=lambda k: scores[k])
        assert found == {
            "label": ["no", "yes", "maybe"][best],
            "score": pytest.approx(scores[best]),
        }
        every = await classify("so good", top_k=None)
        assert [entry["score"] for entry in every] == pytest.approx(sorted(scores, reverse=True))
        texts = ["so good", "bad day", "what a day"]
        alone = [(await classify(text))[0] for text in texts]
        for size in (1, 2, 3):
            together = await classify(texts, batch_size=size)
            assert [one["label"] for one in together] == [one["label"] for one in alone]
            assert [one["score"] for one in together] == pytest.approx(
                [one["score"] for one in alone], abs=1e-6
            )
        assert (await classify("so good", top_k=2, function_to_apply="none"))[0]["score"] != 1


async def test_pairs_of_texts_have_types() -> None:
    files = folder(CLASSES, "no", "yes")
    row = ids("[CLS]", "so", "good", "[SEP]", "bad", "[SEP]")
    scores = normalise(await compute(files, "logits", row, [0, 0, 0, 0, 1, 1]))
    async with await webnnm.pipeline("text-classification", files, **QUIET) as classify:
        found = await classify({"text": "so good", "text_pair": "bad"}, top_k=1)
    assert found[0]["score"] == pytest.approx(max(scores))


@pytest.mark.parametrize(
    ("problem", "count", "expected"),
    [
        ("multi_label_classification", 2, lambda x: 1 / (1 + math.exp(-x))),
        ("regression", 1, lambda x: x),
        (None, 1, lambda x: 1 / (1 + math.exp(-x))),
    ],
)
async def test_the_config_says_what_scores_are(problem: Any, count: int, expected: Any) -> None:
    files = folder(CLASSES, *"ab"[:count], problem_type=problem)
    logits = await compute(files, "logits", ids("[CLS]", "day", "[SEP]"))
    async with await webnnm.pipeline("text-classification", files, **QUIET) as classify:
        found = await classify("day", top_k=None)
    scores = sorted(one["score"] for one in found)
    assert scores == pytest.approx(sorted(expected(x) for x in logits))


async def test_zero_shot_classification_ranks_labels_by_entailment() -> None:
    files = folder(CLASSES, "contradiction", "neutral", "ENTAILMENT")
    pairs = [[*ids("[CLS]", "bad", "[SEP]"), *ids(*text, "[SEP]")] for text in (["a"], ["good"])]
    types = [0, 0, 0, 1, 1]
    logits = [await compute(files, "logits", row, types) for row in pairs]
    async with await webnnm.pipeline("zero-shot-classification", files, **QUIET) as classify:
        found = await classify("bad", ["a", "good"], hypothesis_template="{}")
        several = await classify("bad", "a, good", hypothesis_template="{}", multi_label=True)
        with pytest.raises(DataError, match="no place for the label"):
            await classify("bad", ["a"], hypothesis_template="so")
    scores = dict(zip(("a", "good"), normalise([row[2] for row in logits]), strict=True))
    assert found["sequence"] == "bad"
    assert found["labels"] == sorted(scores, key=lambda label: -scores[label])
    assert found["scores"] == pytest.approx(sorted(scores.values(), reverse=True))
    alone = sorted((normalise([row[0], row[2]])[1] for row in logits), reverse=True)
    assert several["scores"] == pytest.approx(alone)


async def test_feature_extraction_gives_states_without_padding() -> None:
    files = folder("BertModel")
    states = await compute(files, "last_hidden_state", ids("[CLS]", "so", "good", "[SEP]"))
    async with await webnnm.pipeline("feature-extraction", files, **QUIET) as extract:
        found = await extract("so good")
        assert found.shape == (1, 4, 16)
        assert found.tolist()[0][3] == pytest.approx(states[3], abs=1e-5)
        assert [one.shape for one in await extract(["so", "so bad"])] == [(1, 3, 16), (1, 4, 16)]
        mean = await extract(["so good", "day"], pooling="mean", normalize=True)
    means = [sum(column) / 4 for column in zip(*states, strict=True)]
    length = sum(x * x for x in means) ** 0.5
    assert mean.tolist()[0] == pytest.approx([x / length for x in means], abs=1e-5)


async def test_fill_mask_gives_tokens_for_each_mask() -> None:
    files = folder("BertForMaskedLM")
    row = ids("[CLS]", "so", "[MASK]", "[SEP]")
    scores = normalise((await compute(files, "logits", row))[2])
    async with await webnnm.pipeline("fill-mask", files, **QUIET) as fill:
        found = await fill("so [MASK]", top_k=2)
        best = max(range(len(WORDS)), key=lambda k: scores[k])
        assert found[0]["token"] == best and found[0]["score"] == pytest.approx(scores[best])
        (only,) = await fill("so [MASK]", targets="good")
        assert (only["token_str"], only["sequence"]) == ("good", "so good")
        assert [len(one) for one in await fill("[MASK] [MASK]", top_k=3)] == [3, 3]
        with pytest.raises(DataError, match=r"NNM704: .* has no mask"):
            await fill("so good")


async def test_texts_that_are_too_long_are_refused_or_cut() -> None:
    files = folder(CLASSES, "no", "yes")
    text = "good " * 60
    async with await webnnm.pipeline("text-classification", files, **QUIET) as classify:
        with pytest.raises(DataError, match="NNM711: a text has 62 tokens"):
            await classify(text)
        cut = await classify(text, truncation=True)
        assert cut[0]["score"] == pytest.approx((await classify("good " * 38))[0]["score"])


@pytest.mark.parametrize(
    ("task", "files", "code"),
    [
        ("text-classificaton", {}, 'NNM704: .*"text-classificaton"'),
        ("fill-mask", folder("BertModel"), "NNM717: BertModel cannot be used for fill-mask"),
        ("text-generation", folder("BertForMaskedLM"), "NNM717"),
        ("zero-shot-classification", folder(CLASSES, "no", "yes"), "NNM717: .*entailment"),
        ("text-classification", folder("BertForMaskedLM"), "NNM717"),
        ("summarization", folder("BertModel"), "NNM717"),
        ("automatic-speech-recognition", folder("BertForMaskedLM"), "NNM717"),
    ],
)
async def test_what_does_not_fit_is_refused(task: str, files: Any, code: str) -> None:
    with pytest.raises(DataError, match=f"(?s){code}"):
        await webnnm.pipeline(task, files, **QUIET)


async def test_a_model_that_is_open_stays_open() -> None:
    async with await webnnm.from_pretrained(folder("BertModel"), **QUIET) as model:
        (await webnnm.pipeline("feature-extraction", model)).close()
        assert not model.state.closed
        with pytest.raises(DataError, match="NNM704: weights: the model is already open"):
            await webnnm.pipeline("feature-extraction", model, weights="int8")


BROKEN = {"missing": None, "empty": b"", "no model": b"{}"}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize(
    ("task", "architecture"),
    [
        ("text-classification", CLASSES),
        ("token-classification", "BertForTokenClassification"),
        ("question-answering", "BertForQuestionAnswering"),
        ("fill-mask", "BertForMaskedLM"),
        ("feature-extraction", "BertModel"),
        ("zero-shot-classification", CLASSES),
    ],
)
async def test_tasks_of_texts_need_a_tokenizer(task: str, architecture: str, content: Any) -> None:
    files: dict[str, Any] = {**folder(architecture, "entailment")}
    del files["tokenizer.json"]
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        assert model.inputs()  # such a model has other uses
        with pytest.raises(DataError, match="NNM718"):
            await webnnm.pipeline(task, model)
    if content is not None:
        files["tokenizer.json"] = content
    files["model.safetensors"] = b"not weights"  # not read before the tokenizer
    with pytest.raises(DataError, match=r"NNM718: .*tokenizer\.json"):
        await webnnm.pipeline(task, files, **QUIET)


async def test_texts_are_cut_to_what_the_tokenizer_says() -> None:
    def limit(value: Any) -> dict[str, bytes]:
        config = json.dumps({"model_max_length": value}).encode()
        return folder(CLASSES, "contradiction", "entailment") | {"tokenizer_config.json": config}

    text = "so good " * 10  # the model has positions for 40 tokens
    kept = ids("[CLS]", "so", "good", "so", "good", "[SEP]")
    scores = normalise(await compute(limit(6), "logits", kept))
    async with await webnnm.pipeline("text-classification", limit(6), **QUIET) as classify:
        found = await classify(text, truncation=True, top_k=1)
        every = await classify(text, top_k=1)
    assert found[0]["score"] == pytest.approx(max(scores))
    async with await webnnm.pipeline("text-classification", limit(1e30), **QUIET) as classify:
        assert (await classify(text, truncation=True, top_k=1)) == every != found
    with pytest.raises(DataError, match=r"NNM818: .*model_max_length"):
        await webnnm.pipeline("text-classification", limit("6"), **QUIET)
