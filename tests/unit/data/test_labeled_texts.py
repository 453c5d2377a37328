"""Datasets of texts with a label each, and the models that they train."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from webnnm import (
    DataError,
    LabeledTextDataset,
    NNModel,
    read_csv,
    suggest_text_model,
    token_importance,
)
from webnnm.core.arrays import HostArray
from webnnm.data.texts.token_choice import choose_tokens, classify
from webnnm.data.texts.tokenizer import TextTokenizer

GOOD = ["what a lovely film 👍", "great, really great!", "fun and lovely", "I love it"]
BAD = ["what an awful film", "bad, really bad!", "boring and sad 👎", "I hate it"]
ALL: dict[str, Any] = {"split": (1, 0, 0)}


def test_texts_are_padded_tokens_with_their_lengths() -> None:
    rows = (["so good", "bad", "so so bad"], ["yes", "no", "no"])
    data = LabeledTextDataset(*rows, length=3, **ALL)
    inputs, outputs = data.arrays("training")
    assert inputs["model"].tolist() == [[2, 4, 0], [3, 0, 0], [2, 2, 3]]
    assert data.lengths("training") == {"model": [2, 1, 3]}
    assert outputs["model"].tolist() == [1, 0, 0] and data.labels() == ["no", "yes"]
    assert (data.inputs["model"].dtype, data.inputs["model"].sequence) == ("int32", "sequence")
    assert data.outputs["model"].classes == 2


def test_texts_of_one_length_are_integers_too() -> None:
    data = LabeledTextDataset(["a b", "b a"], ["x", "y"], length=2, **ALL)
    assert data.inputs["model"].dtype == "int32" and data.masks("training") == {}


def test_the_vocabulary_and_the_length_are_those_of_the_training_rows() -> None:
    texts = ["a b " * 20, "a b", "c " * 50]
    data = LabeledTextDataset(texts, [0.5, 1.5, 2.5], minimum_count=2, split=([0, 1], [], [2]))
    assert list(data.reader.tokenizer.vocabulary)[2:] == ["a", "b"]
    assert data.reader.length == 40
    assert data.arrays("testing")[0]["model"].tolist() == [[1] * 40]
    assert str(data.report) == (
        "3 texts, 0 of them dropped\n"
        "vocabulary: 4 tokens, 100.0% of those in other rows are unknown\n"
        "length: up to 40 tokens, where 1 of 3 are cut\n"
        "label: a number"
    )


def test_how_often_a_token_occurs_depends_on_its_kind() -> None:
    texts = ["a a", *(["b"] * 999), "c"]
    rows: dict[str, Any] = {"split": (range(1001), [], [])}
    words = LabeledTextDataset(texts, [0.5] * 1001, **rows)
    assert list(words.reader.tokenizer.vocabulary)[2:] == ["b", "a", "c"]
    ngrams = LabeledTextDataset(texts, [0.5] * 1001, tokens="ngrams", ngrams=(1, 1), **rows)
    assert list(ngrams.reader.tokenizer.vocabulary)[2:] == [" b ", "b", " a ", "a"]


def test_ngrams_that_no_training_row_has_are_left_out() -> None:
    data = LabeledTextDataset(
        ["Anna", "Otto"], ["x", "y"], tokens="ngrams", ngrams=(2, 2), minimum_count=1, **ALL
    )
    vocabulary = data.reader.tokenizer.vocabulary
    assert data.encode("ann xyz") == [[vocabulary[one] for one in (" a", "an", "nn", "[UNK]")]]
    assert data.reader.length == 128
    assert [name for name, _ in data.reader.read_units("Ann xyz")] == ["ann", "xyz"]


def test_names_are_read_by_ngrams_and_sentences_by_words() -> None:
    stems = ["ka", "ro", "mi", "lu", "te", "no", "sa", "vi"]
    pairs = [(one, other) for one in stems for other in stems]
    names = [f"{one}{other}{end}" for one, other in pairs for end in ("ova", "sson")]
    by_ends = LabeledTextDataset(names, ["cs", "sv"] * 64, tokens="auto")
    assert by_ends.token_choice and by_ends.token_choice.unit == "ngrams"
    assert by_ends.token_choice.ngrams > by_ends.token_choice.words
    assert by_ends.reader.encode("names", "lukasson") != [[1]]
    sentences = [f"{one} is {word} {other}" for one, other in pairs for word in ("up", "down")]
    by_words = LabeledTextDataset(sentences, ["high", "low"] * 64, tokens="auto")
    assert by_words.token_choice and by_words.token_choice.unit == "words"
    assert "is not clearly" not in str(by_words.token_choice)
    assert "held out 30 of 90 training texts:" in str(by_words.token_choice)
    few = LabeledTextDataset(["a", "b"], ["x", "y"], tokens="auto", **ALL)
    assert few.token_choice is None and len(few.reader.tokenizer.vocabulary) == 4
    numbers = LabeledTextDataset(names, [float(n) for n in range(128)], tokens="auto")
    assert numbers.token_choice is None and "is" not in numbers.reader.tokenizer.vocabulary


@pytest.mark.parametrize("is_sorted", [False, True])
def test_the_quick_look_sees_all_classes_in_whatever_order_the_rows_are(is_sorted: bool) -> None:
    texts = [f"{group}{n} end" for n in range(1500) for group in ("an", "bo", "ce")]
    if is_sorted:
        texts.sort()
    choice = choose_tokens(texts, [ord(text[0]) for text in texts])
    assert choice and (choice.rows, choice.held_out) == (3000, 999)
    # Of three classes, words that occur once tell one.
    assert choice.ngrams == 1 and choice.words == pytest.approx(1 / 3, abs=0.01)


def test_the_quick_look_is_complement_naive_bayes() -> None:
    rows, labels = [{1, 2}, {1, 3}, {4}, {2, 4}, {5}], [0, 0, 2, 2, 7]
    others: list[set[int]] = [{1}, {4, 2}, {5, 9}, {2}, {3, 5}, set()]

    def weigh(token: int, label: int) -> float:
        rest = [one for row, own in zip(rows, labels, strict=True) if own != label for one in row]
        return math.log((rest.count(token) + 0.1) / (len(rest) + 0.1 * 5))

    expected = [
        min([0, 2, 7], key=lambda c: sum(weigh(t, c) for t in sorted(row & {1, 2, 3, 4, 5})))
        for row in others
    ]
    assert classify(rows, labels, others) == expected


def test_a_quantile_of_the_lengths_is_the_default() -> None:
    texts = ["a b c d " * 10] * 19 + ["a b c d " * 20]
    labels = ["x", "y"] * 10
    assert LabeledTextDataset(texts, labels, **ALL).reader.length == 40
    assert LabeledTextDataset(texts, labels, length="max", **ALL).reader.length == 80
    assert LabeledTextDataset(["a b"] * 2, ["x", "y"], **ALL).reader.length == 32
    assert LabeledTextDataset(texts, labels, length=2, **ALL).reader.length == 2
    assert LabeledTextDataset(["a " * 999] * 2, ["x", "y"], **ALL).reader.length == 256


@pytest.mark.parametrize(
    "table",
    [
        read_csv("stars;review\n1;so bad\n5;so good\n"),
        {"stars": [1, 5], "review": ["so bad", "so good"]},
        [{"stars": 1, "review": "so bad"}, {"stars": 5, "review": "so good"}],
    ],
)
def test_a_table_has_the_texts_in_a_column(table: Any) -> None:
    data = LabeledTextDataset(table, text="review", label="stars", **ALL)
    assert data.labels() == ["1", "5"] and data.reader.column == "review"
    assert data.encode({"review": ["good", "bad"]}) == [[4], [3]]
    number = LabeledTextDataset(table, label="stars", task="regression", **ALL)
    assert number.arrays("training")[1]["model"].tolist() == [1.0, 5.0]


def test_rows_without_a_text_or_a_label_are_told_or_dropped() -> None:
    rows = {"text": ["a b", " ", None, "b", "a"], "label": ["x", "y", "y", "", "y"]}
    with pytest.raises(DataError, match="NNM713: row 1, column text is empty; 3 of 5 rows lack"):
        LabeledTextDataset(rows, **ALL)
    data = LabeledTextDataset(rows, missing="drop", **ALL)
    assert data.kept == [0, 4] and data.report.dropped == 3 and data.labels() == ["x", "y"]
    with pytest.raises(DataError, match="NNM705: no rows are left"):
        LabeledTextDataset(["", "a"], ["x", ""], missing="drop", **ALL)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("one text", ["x"]), {}, "NNM702: one text is no dataset"),
        ((["a", 5], ["x", "y"]), {}, "NNM702: row 1, column text is 5, not a text"),
        ((["a", "b"], ["x"]), {}, 'NNM702: column "label" has 1 rows, column "text" 2'),
        (([], []), {}, "NNM705: there are no texts"),
        (
            ({"a": ["x"], "b": ["y"], "c": ["z"]},),
            {},
            "NNM704: which of the columns has the texts? a, b, c",
        ),
        (({"a": ["x"], "b": ["y"]},), {"text": "b"}, 'NNM704: column "b" is used twice'),
        ((["a", "b"], ["x", "y"]), {"tokens": "no.json"}, 'NNM715: "no.json" cannot be read'),
        (({"a": ["x"], "b": ["y"]},), {"text": "d"}, 'NNM710: no column "d"'),
        ((["a", "b"], ["x", "y"]), {"tokens": "word"}, "NNM704: tokens is 'word'"),
        ((["a", "b"], ["x", "y"]), {"tokens": "{}"}, "NNM718: this is no tokenizer"),
        ((["a", "b"], ["x", "y"]), {"length": 0}, "NNM704: length is 0"),
        ((["a", "b"], ["x", "y"]), {"ngrams": 3}, "NNM704: ngrams is 3"),
        ((["a", "b"], ["x", "y"]), {"ngrams": (3, 2)}, "NNM704: ngrams is (3, 2)"),
        ((["a", "b"], ["x", "y"]), {"ngrams": (1, 99)}, "NNM704: ngrams is (1, 99)"),
        ((["a", "b"], ["x", "y"]), {"minimum_count": 0}, "NNM704: minimum_count is 0"),
        ((["a", "b"], ["x", "y"]), {"vocabulary": 2}, "NNM704: vocabulary is 2"),
        ((["a", "b"], ["x", "y"]), {"missing": "mean"}, "NNM704: missing='mean'"),
    ],
)
def test_what_does_not_fit_is_named(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        LabeledTextDataset(*arguments, **options)


async def test_a_model_of_texts_predicts_texts_also_from_its_snapshot() -> None:
    data = LabeledTextDataset((GOOD + BAD) * 2, (["good"] * 4 + ["bad"] * 4) * 2, **ALL)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await NNModel.create(
        source=suggest_text_model(data), dataset=data, **settings
    ) as model:
        await model.train(epochs=60)
        expected = await model.predict(["a lovely film", "SAD and boring", "film"])
        assert expected.classes[:2] == ["good", "bad"]
        assert (await model.predict("a lovely film")).classes == ["good"]
        assert (await model.predict({"text": "boring"})).classes == ["bad"]
        alone = await model.predict("film")
        assert alone.tolist()[0] == pytest.approx(expected.tolist()[2], abs=1e-6)
        assert (await model.predict([data.encode("film")[0]])).tolist() == alone.tolist()
        for empty in ("", " \n"):
            with pytest.raises(DataError, match='NNM711: input "model", row 0 is an empty text'):
                await model.predict(empty)
        with pytest.raises(DataError, match='NNM702: input "model", row 1 is 3, not a text'):
            await model.predict(["a", 3])
        file = await model.save()
    async with await NNModel.load(file, **settings) as model:
        answers = await model.predict(["a lovely film", "SAD and boring", "film"])
        assert answers.tolist() == expected.tolist() and [*answers.labels] == ["bad", "good"]
        form = model.state.data_facts().form("model")
        assert form is not None and form.reader == data.reader


async def test_numbers_are_predicted_in_their_own_units() -> None:
    data = LabeledTextDataset(GOOD + BAD, [90.0] * 4 + [10.0] * 4, standardize_targets=True, **ALL)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await NNModel.create(
        source=suggest_text_model(data), dataset=data, **settings
    ) as model:
        await model.train(epochs=100)
        good, bad = (await model.predict([GOOD[0], BAD[0]])).tolist()
    assert good[0] > 70 and bad[0] < 30


def test_the_tokenizer_of_another_model_is_taken() -> None:
    first = LabeledTextDataset(GOOD, [0.5, 1.5, 2.5, 3.5], **ALL)
    tokenizer = first.reader.tokenizer
    for tokens in (tokenizer, tokenizer.file):
        data = LabeledTextDataset(BAD, ["x", "y"] * 2, tokens=tokens, **ALL)
        assert isinstance(data.reader.tokenizer, TextTokenizer)
        assert data.encode("lovely") == first.encode("lovely")


def test_numbers_are_taken_as_tokens() -> None:
    reader = LabeledTextDataset(GOOD, [0.5, 1.5, 2.5, 3.5], **ALL).reader
    tokens = HostArray.of([[1, 2]], "int32")
    assert reader.encode("x", tokens) is tokens and reader.encode("x", [[1, 2]]) == [[1, 2]]


async def test_folders_are_the_labels(tmp_path: Path) -> None:
    for name, text in (("bad/1.txt", "so bad"), ("good/2.txt", "so good"), ("good/3.md", "no")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "good" / "d.txt").mkdir()
    data = await LabeledTextDataset.from_folder(tmp_path, split=(1, 0, 0))
    assert data.size() == 2 and data.labels() == ["bad", "good"]
    (tmp_path / "bad" / "0.txt").write_text(" \n")
    with pytest.raises(DataError, match=r'NNM713: "bad/0\.txt" is empty'):
        await LabeledTextDataset.from_folder(tmp_path)
    (tmp_path / "bad" / "0.txt").unlink()
    (tmp_path / "bad" / "4.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"NNM713: .*4\.txt is not utf-8"):
        await LabeledTextDataset.from_folder(tmp_path)
    assert (await LabeledTextDataset.from_folder(tmp_path, encoding="cp1252")).size() == 3
    with pytest.raises(DataError, match="NNM704: encoding is 'nope'"):
        await LabeledTextDataset.from_folder(tmp_path, encoding="nope")
    with pytest.raises(DataError, match=r"NNM706: .*1\.txt.* in no folder"):
        await LabeledTextDataset.from_folder(tmp_path / "bad")


async def test_archives_have_texts_of_subsets() -> None:
    names = ("train/pos/1", "train/pos/2", "train/neg/3", "test/pos/4", "test/neg/5")
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.txt", f"text {name}")
        archive.writestr("train/neg/0.txt", " ")
    data = await LabeledTextDataset.from_folder(content.getvalue(), missing="drop")
    assert [data.size(part) for part in ("training", "validation", "testing")] == [3, 0, 2]
    assert data.labels() == ["neg", "pos"]
    assert (data.report.rows, data.report.dropped) == (6, 1)
    inputs, outputs = data.arrays("testing")
    [first, second] = (values["model"].tolist() for values in (inputs, outputs))
    expected = data.encode(["text test/neg/5", "text test/pos/4"])
    assert [row[: len(expected[0])] for row in first] == expected
    assert second == [0, 1]


async def test_a_review_has_nothing_against_texts() -> None:
    texts = [f"{word} day {number}" for number in range(60) for word in ("good", "bad")]
    data = LabeledTextDataset(texts, ["yes", "no"] * 60)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await NNModel.create(
        source=suggest_text_model(data), dataset=data, **settings
    ) as model:
        await model.train(epochs=2)
        assert [one for one in model.review() if one.severity != "info"] == []


async def test_the_importance_of_tokens_is_what_goes_without_them() -> None:
    data = LabeledTextDataset((GOOD + BAD) * 2, (["good"] * 4 + ["bad"] * 4) * 2, **ALL)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    source = suggest_text_model(data)
    async with await NNModel.create(source=source, dataset=data, **settings) as model:
        await model.train(epochs=60)
        importance = await token_importance(model, "My LOVELY film")
        assert importance.tokens == ("[UNK]", "lovely", "film") and importance.label == "good"
        assert importance.ranked()[0][0] == "lovely"
        whole, without = (await model.predict(["my lovely film", "my film"])).tolist()
        assert importance.value == pytest.approx(whole[1], abs=1e-6)
        assert importance.importances[1] == pytest.approx(whole[1] - without[1], abs=1e-6)
        against = await token_importance(model, "my lovely film", label="bad")
        assert against.importances[1] == pytest.approx(-importance.importances[1], abs=1e-5)
        alone = await token_importance(model, "lovely")
        unknown = (await model.predict("?")).tolist()[0]
        assert alone.importances == (pytest.approx(alone.value - unknown[1], abs=1e-6),)
        with pytest.raises(DataError, match=r"NNM706: no class .god.\nhint: did you mean .*good"):
            await token_importance(model, "film", label="god")
        with pytest.raises(DataError, match="NNM711"):
            await token_importance(model, " ")


async def test_of_ngrams_the_importance_of_words_is_looked_at() -> None:
    options: dict[str, Any] = {"tokens": "ngrams", "minimum_count": 1, **ALL}
    data = LabeledTextDataset((GOOD + BAD) * 2, (["good"] * 4 + ["bad"] * 4) * 2, **options)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    source = suggest_text_model(data)
    async with await NNModel.create(source=source, dataset=data, **settings) as model:
        await model.train(epochs=60)
        importance = await token_importance(model, "My LOVELY film")
        assert importance.tokens == ("my", "lovely", "film")
        assert importance.ranked()[0][0] == "lovely"
        file = await model.save()
    async with await NNModel.load(file, **settings) as model:
        assert (await token_importance(model, "My LOVELY film")).importances == pytest.approx(
            importance.importances
        )


async def test_the_importance_of_tokens_needs_a_text() -> None:
    source = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"
    async with await NNModel.create(source=source, backend="numpy", log=lambda _: None) as model:
        with pytest.raises(DataError, match="NNM702: the model does not predict one output of one"):
            await token_importance(model, "a text")


async def test_the_importance_of_tokens_of_a_number_is_in_its_units() -> None:
    options: dict[str, Any] = {"tokens": "bytes", "standardize_targets": True}
    data = LabeledTextDataset(GOOD + BAD, [90.0] * 4 + [10.0] * 4, **options, **ALL)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    source = suggest_text_model(data)
    async with await NNModel.create(source=source, dataset=data, **settings) as model:
        await model.train(epochs=60)
        importance = await token_importance(model, "lovely 👍")
        assert "".join(importance.tokens).startswith(" lovely")
        assert importance.label == "model" and str(importance).startswith("model ")
        with pytest.raises(DataError, match='NNM706: label is "x", but "model" is a number'):
            await token_importance(model, "lovely", label="x")
