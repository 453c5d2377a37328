"""Models in JSON: what they take, and what they say of a row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webnnm import Dataset, ImageDataset, NNModel, TableDataset, TextDataset
from webnnm.model.serving import answer, signature

ALL: dict[str, Any] = {"split": (1, 0, 0)}


async def open_model(source: str, dataset: Any = None, *, again: bool = False) -> NNModel:
    settings: dict[str, Any] = {"backend": "numpy", "seed": 0, "log": lambda _: None}
    model = await NNModel.create(source=source, dataset=dataset, **settings)
    if not again:
        return model
    return await NNModel.load(await model.save(), backend="numpy", log=lambda _: None)


def table(**options: Any) -> TableDataset:
    rows = {
        "city": ["Ulm", "Bonn", "Ulm", "Bonn"],
        "area": [30.0, 60.0, 60.0, 120.0],
        "rooms": [1, "", 3, 4],
        "dear": ["no", "no", "yes", "yes"],
    }
    return TableDataset(rows, label="dear", standardize=["area"], **ALL, **options)


TABLE = "m:input shape=[4]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"


@pytest.mark.parametrize(("scale", "area"), [("standard", 67.5), ("minmax", 75)])
async def test_columns_have_their_words_and_usual_numbers(scale: str, area: float) -> None:
    model = await open_model(TABLE, table(missing="mean", scale=scale), again=True)
    assert json.loads(signature(model)) == {
        "m": {
            "kind": "columns",
            "columns": [
                {"name": "city", "categories": ["Bonn", "Ulm"]},
                {"name": "area", "usual": area},
                {"name": "rooms", "usual": 2.67, "optional": True},
            ],
        }
    }


async def test_columns_tell_which_may_be_empty_and_have_other_words() -> None:
    words = ["", "other", "other", "red", "red", "green"]
    rows = {
        "colour": words,
        "day": ["", *(f"2024-01-0{n}" for n in range(1, 6))],
        "kind": [*"ababab"],
    }
    data = TableDataset(rows, label="kind", missing="mean", max_categories=2, **ALL)
    width = data.inputs["model"].shape[0]
    source = TABLE.replace("[4]", f"[{width}]")
    described = json.loads(signature(await open_model(source, data, again=True)))["m"]["columns"]
    assert described[0] == {
        "name": "colour",
        "categories": ["other", "red"],
        "other": "other …",
        "optional": True,
    }
    assert described[1]["optional"] is True


async def test_columns_of_hashed_words_take_any_text() -> None:
    rows = {"plane": [*"abcdef"], "kind": [*"ababab"]}
    data = TableDataset(rows, label="kind", hash_buckets=4, **ALL)
    described = json.loads(signature(await open_model(TABLE, data, again=True)))["m"]["columns"]
    assert described == [{"name": "plane", "text": True}]


async def test_rows_of_a_table_get_a_class_with_all_probabilities() -> None:
    model = await open_model(TABLE, table(missing="mean"), again=True)
    row = {"city": "Ulm", "area": 40, "rooms": 2}
    said = json.loads(await answer(model, row))["m"]
    found = await model.predict(row)
    assert (said["label"], said["labels"]) == (found.classes[0], ["no", "yes"])
    assert said["probabilities"] == pytest.approx(found.tolist()[0])


async def test_one_score_for_yes_speaks_of_no_too() -> None:
    source = "m:input shape=[1]; m:output shape=[1]; m:layers add(-3), sigmoid();"
    model = await open_model(source, Dataset([[0.0], [9.0]], [0, 1], labels=["no", "yes"], **ALL))
    said = json.loads(await answer(model, [9]))["m"]
    assert said["label"] == "yes" and said["labels"] == ["no", "yes"]
    assert sum(said["probabilities"]) == pytest.approx(1) and said["probabilities"][1] > 0.9


async def test_several_answers_of_yes_are_listed() -> None:
    source = "m:input shape=[3]; m:output shape=[3]; m:layers add(-3), sigmoid();"
    data = Dataset(
        [[0.0, 9, 9], [9.0, 0, 9]], [[0, 1, 1], [1, 0, 1]], labels=["a", "b", "c"], **ALL
    )
    said = json.loads(await answer(await open_model(source, data), [9, 0, 9]))["m"]
    assert said["label"] == ["a", "c"] and len(said["probabilities"]) == 3


async def test_pictures_have_a_size() -> None:
    source = "m:input shape=[2, 3]; m:output shape=[2]; m:layers flatten(), matmul(w), softmax();"
    pictures = ImageDataset(bytes(6) + b"\xff" * 6, ["dark", "light"], shape=(2, 3), **ALL)
    model = await open_model(source, pictures, again=True)
    assert json.loads(signature(model)) == {"m": {"kind": "picture", "width": 3, "height": 2}}


async def test_texts_get_a_class_for_each_letter() -> None:
    source = """m:input int32 shape=[] sequence=letters; m:output shape=[3] sequence=letters;
        m:layers embedding(e, size=3, shape=[3]), softmax();"""
    model = await open_model(source, TextDataset("abcabcabcabc", 3, **ALL), again=True)
    assert json.loads(signature(model)) == {"m": {"kind": "text"}}
    said = json.loads(await answer(model, "abca"))["m"]
    assert len(said["values"]) == 4 and {*said["values"]} <= {*"abc"}


async def test_models_without_data_take_and_give_numbers() -> None:
    source = """a:input shape=[2]; b:input shape=[3] sequence=time; sum:output shape=[2];
        gap:output shape=[3] sequence=time; sum:layers add([a, a]); gap:layers sub([b, b]);"""
    model = await open_model(source)
    assert json.loads(signature(model)) == {
        "a": {"kind": "numbers", "shape": [2]},
        "b": {"kind": "numbers", "shape": [None, 3]},
    }
    said = json.loads(await answer(model, {"a": [[1, 2]], "b": [[[1, 2, 3], [4, 5, 6]]]}))
    assert said == {"sum": {"values": [2, 4]}, "gap": {"values": [[0, 0, 0], [0, 0, 0]]}}


async def test_measurements_come_in_the_units_of_the_data() -> None:
    source = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w, init=constant(0));"
    data = Dataset([[1.0], [2.0]], [[100.0], [300.0]], standardize_targets=True, **ALL)
    said = json.loads(await answer(await open_model(source, data, again=True), [1]))
    assert said["m"]["values"] == pytest.approx([200])
