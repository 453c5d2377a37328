"""What is suggested for a table: its target, its inputs, the options of the dataset, the model."""

from __future__ import annotations

import json
import random
import textwrap
from typing import Any

import pytest

import webnnm
from webnnm import (
    CSVDataset,
    DataError,
    LabeledTextDataset,
    NNModel,
    SeriesDataset,
    TableDataset,
    describe_table,
    suggest,
)
from webnnm.data.tables.column_choice import choose_columns, choose_target
from webnnm.data.tables.columns import as_table

ROWS = 120


def flats(**columns: Any) -> dict[str, Any]:
    """Return flats with an identifier, a remark, gaps, a constant, and a price."""
    draw = random.Random(3)
    area = [draw.randrange(20, 150) for _ in range(ROWS)]
    return {
        "flat_id": [draw.randrange(10**6) for _ in range(ROWS)],
        "remark": [f"flat {draw.random()}" for _ in range(ROWS)],
        "area": ["" if number % 9 == 4 else size for number, size in enumerate(area)],
        "city": [draw.choice(["Ulm", "Bonn", "Kiel"]) for _ in range(ROWS)],
        "country": ["DE"] * ROWS,
        "price": [12 * size + draw.randrange(200) for size in area],
        **columns,
    }


# Columns.


def test_columns_that_say_nothing_are_left_out_with_the_reason() -> None:
    table = as_table(flats(flat_id=[*range(ROWS)], street=["", *["x"] * (ROWS - 1)]))
    uses = {use.name: use for use in choose_columns(table, describe_table(table), "price")}
    assert {name for name, use in uses.items() if use.use == "input"} == {
        *("flat_id", "area", "city", "street")
    }
    assert uses["remark"].reason == f"{ROWS} different words in {ROWS} rows"
    assert uses["country"].reason == '"DE" in all rows'
    assert uses["price"].use == "target"


@pytest.mark.parametrize(
    ("table", "target"),
    [
        ({"a": [1, 2], "b": [3, 4]}, "b"),
        ({"a": ["x", "y"] * 2, "b": [1, 2, 3, 4]}, "a"),
        ({"a": ["x", "y"] * 2, "b": ["u", "v"] * 2}, "b"),
        ({"a": [1, 2], "day": ["2024-01-01", "2024-02-01"]}, "a"),
        ({"a": [1, 2], "name": ["Ada", "Bob"]}, "a"),
        ({"name": ["Ada", "Bob"]}, None),
    ],
)
def test_a_target_is_chosen_where_none_is_named(table: Any, target: str | None) -> None:
    chosen = choose_target(describe_table(table))
    assert (chosen and chosen.name) == target


async def test_a_table_without_a_possible_target_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        await suggest({"name": ["Ada", "Bob"], "other": ["x1", "x2"]})
    assert caught.value.code == "NNM710"


async def test_a_table_in_which_nothing_predicts_is_refused_with_the_reasons() -> None:
    table = {"name": ["Ada", "Bob", "Eva"], "one": [1, 1, 1], "y": [1, 5, 9]}
    with pytest.raises(DataError) as caught:
        await suggest(table, "y")
    assert "name: 3 different words in 3 rows; one: 1 in all rows" in caught.value.message


# The whole suggestion.


async def test_a_quantity_with_gaps() -> None:
    suggestion = await suggest(flats(), target="price")
    assert suggestion.options == {
        "label": "price",
        "standardize": True,
        "features": ["area", "city"],
        "missing": "indicator",
        "standardize_targets": True,
    }
    features = ("area", "area missing", "city=Bonn", "city=Kiel", "city=Ulm")
    assert suggestion.dataset.inputs["model"].features == features
    assert (
        "flat_id is left out: numbers or identifiers of rows: new rows have others."
        in suggestion.reasons
    )
    assert suggestion.source.startswith("# price is the target: a quantity.\n")
    assert "model:input shape=[5];" in suggestion.source


async def test_the_suggested_model_learns() -> None:
    suggestion = await suggest(flats(), target="price")
    model = await NNModel.create(
        source=suggestion.source, dataset=suggestion.dataset, log=lambda line: None
    )
    async with model:
        await model.train(progress="off", seeds=0)
        result = await model.test()
    assert result.r2 > 0.8


async def test_what_is_wanted_stays_as_it_is_given() -> None:
    suggestion = await suggest(
        flats(),
        target="price",
        features=["area"],
        missing="drop",
        standardize=False,
        split=(1, 0, 0),
    )
    assert suggestion.dataset.size("training") == sum(cell != "" for cell in flats()["area"])
    assert suggestion.options["features"] == ["area"]
    assert suggestion.options["standardize"] is False
    assert not any("scaled to mean 0" in reason for reason in suggestion.reasons)


async def test_the_call_makes_the_same_dataset(tmp_path: Any) -> None:
    path = tmp_path / 'a "b".csv'
    lines = ["city;price", *(f"{'Ulm' if n % 3 else 'Bonn'};{n},5" for n in range(60))]
    path.write_text("\n".join(lines))
    suggestion = await suggest(path, target="price")
    scope: dict[str, Any] = {"CSVDataset": CSVDataset}
    exec(f"async def run():\n{textwrap.indent(suggestion.call, '    ')}\n    return dataset", scope)
    dataset = await scope["run"]()
    for part in ("training", "testing"):
        for ours, theirs in zip(dataset.arrays(part), suggestion.dataset.arrays(part), strict=True):
            assert {name: values.tolist() for name, values in ours.items()} == {
                name: values.tolist() for name, values in theirs.items()
            }


async def test_columns_that_divide_the_rows_are_no_inputs() -> None:
    who = [f"p{number // 4}" for number in range(ROWS)]
    suggestion = await suggest(flats(who=who), target="price", groups="who")
    assert suggestion.options["features"] == ["area", "city"]
    assert "who is left out: it divides or weights the rows." in suggestion.reasons


async def test_many_words_are_categories_where_they_repeat() -> None:
    names = [f"tail{number % 80}" for number in range(800)]
    table = {"tail": names, "x": [n * 7 % 31 for n in range(800)], "late": ["no", "yes"] * 400}
    suggestion = await suggest(table, target="late")
    assert suggestion.options["max_categories"] == 800 // 40
    assert len(suggestion.dataset.inputs["model"].features) == 20 + 1 + 1


async def test_rare_words_of_most_rows_are_hashed() -> None:
    rows = 3000
    table = {
        "shop": [f"shop {number * 7 % 500}" for number in range(rows)],
        "city": [f"city {number % 100 if number % 3 else 0}" for number in range(rows)],
        "x": [n * 7 % 31 for n in range(rows)],
        "late": ["no", "yes"] * (rows // 2),
    }
    suggestion = await suggest(table, target="late")
    assert suggestion.options["hash_buckets"] == {"shop": 128}
    assert 'hash_buckets={"shop": 128}' in suggestion.call
    assert any("Those of shop are in many rows" in text for text in suggestion.reasons)
    again = await suggest(table, target="late", hash_buckets=8)
    assert again.options["hash_buckets"] == 8
    assert not any("hashes" in text for text in again.reasons)


@pytest.mark.parametrize(("users", "option"), [(30, "categorical"), (701, "hash_buckets")])
async def test_identifiers_that_come_again_are_categories(users: int, option: str) -> None:
    rows = 3000
    table = {
        "userId": [1000 + number * 7 % users for number in range(rows)],
        "orderId": [number * 7919 % 100_003 for number in range(rows)],
        "x": [number * 7 % 31 for number in range(rows)],
        "stars": ["high", "low"] * (rows // 2),
    }
    suggestion = await suggest(table, target="stars")
    assert suggestion.options["features"] == ["userId", "x"]
    assert (
        suggestion.options[option]
        == {
            "categorical": ["userId"],
            "hash_buckets": {"userId": 256},
        }[option]
    )
    assert "orderId is left out: numbers or identifiers" in str(suggestion.reasons)
    assert "userId identifies what several rows are about" in str(suggestion.reasons)


async def test_texts_that_come_again_in_most_rows_are_inputs() -> None:
    rows = 4000
    titles = [f"title {number // 2}" for number in range(rows)]
    names = [f"name {number}" if number % 3 else "none" for number in range(rows)]
    table = {"title": titles, "name": names, "stars": ["high", "low"] * (rows // 2)}
    suggestion = await suggest(table, target="stars")
    assert suggestion.options["features"] == ["title"]
    assert suggestion.options["hash_buckets"] == {"title": 512}


async def test_numbers_that_crowd_at_one_end_are_scaled_by_quantiles() -> None:
    table = {
        "height": [(number % 4 == 3) * (number * 7 % 40) ** 4 for number in range(400)],
        "age": [number * 7 % 90 for number in range(400)],
        "code": [(number % 40) ** 5 for number in range(400)],
        "phase": ["climb", "cruise"] * 200,
    }
    suggestion = await suggest(table, target="phase", categorical=["code"])
    assert suggestion.options["input_scale"] == {"height": "quantiles"}
    assert any(reason.startswith("height has most numbers") for reason in suggestion.reasons)
    for other in ({"standardize": False}, {"scale": "minmax"}):
        options = (await suggest(table, target="phase", **other)).options
        assert "input_scale" not in options
    crowded = await suggest(table, target="height", task="regression")
    assert "input_scale" not in crowded.options


async def test_a_long_tail_of_quantities_is_learnt_by_its_mean() -> None:
    draw = random.Random(1)
    visits = [int(draw.expovariate(1) ** 3) for _ in range(400)]
    suggestion = await suggest(
        {"x": [*map(float, visits)], "visits": visits}, target="visits", task="regression"
    )
    assert "model:loss MSE;" in suggestion.source
    normal = [draw.gauss(5, 1) for _ in range(400)]
    other = await suggest({"x": normal, "y": normal}, target="y")
    assert "loss" not in other.source


async def test_names_with_line_breaks_stay_in_comments() -> None:
    table = {"a\nmodel:loss MAE;": [1, 2, 3, 4] * 5, "y": ["u", "v"] * 10}
    suggestion = await suggest(table, target="y")
    assert all(line.startswith("#") or "MAE" not in line for line in suggestion.source.split("\n"))
    assert webnnm.check(suggestion.source) == []


async def test_the_model_is_called_like_the_file(tmp_path: Any) -> None:
    path = tmp_path / "2024 flats-é.csv"
    path.write_text("a,y\n" + "1,2\n2,3\n3,5\n" * 10)
    assert "model:name model;" in (await suggest(path)).source
    path = path.rename(tmp_path / "my flats.2024.csv")
    suggestion = await suggest(path)
    assert "my_flats:name my_flats;" in suggestion.source
    assert str(suggestion).startswith("dataset = await CSVDataset.create(")


async def test_the_target_is_one_of_the_columns() -> None:
    with pytest.raises(DataError) as caught:
        await suggest(flats(), target="prize")
    assert caught.value.hint == 'did you mean "price"?'


@pytest.mark.parametrize(
    ("target", "reason"),
    [("remark", f"{ROWS} different words in {ROWS} rows"), ("gone", "has no value in any row")],
)
async def test_what_cannot_be_predicted_is_refused(target: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        await suggest(flats(gone=[""] * ROWS), target=target)
    assert caught.value.code == "NNM713"
    assert reason in caught.value.message


def test_a_suggested_text_says_why() -> None:
    data = TableDataset({"a": [*range(20)], "y": [0, 1] * 10}, split=(1, 0, 0))
    assert "dense" not in webnnm.suggest_model(data, hidden=()).split("softmax")[1].split(";")[0]


async def test_texts_without_spaces_between_words_are_texts() -> None:
    opinions = ["这本书非常好看我很喜欢", "质量太差了再也不会买"]
    story = "次购买这家店的东西真的是一次难忘的经历值得写下来"
    rows = {
        "comment": [f"{opinions[number % 2]}第{number}{story}" for number in range(60)],
        "good": ["yes", "no"] * 30,
    }
    suggestion = await suggest(rows, target="good")
    assert isinstance(suggestion.dataset, LabeledTextDataset)


async def test_a_series_leaves_out_what_tells_nothing() -> None:
    rows = range(60)
    table = {
        "week": [f"{2020 + n // 52}-W{1 + n % 52:02}" for n in rows],
        "sold": [20 + 5 * (n % 4) for n in rows],
        "remark": [f"week {n} was fine" for n in rows],
        "price": [2 + n % 3 for n in rows],
    }
    suggestion = await suggest(table, target="sold", horizon=1, missing="ignore")
    assert suggestion.options["features"] == ["price"]
    assert isinstance(suggestion.dataset, SeriesDataset)
    assert suggestion.dataset.series.features[:2] == ("sold", "price")
    assert "Left out, since a model learns nothing from it: remark." in suggestion.reasons


# Texts of tables.


@pytest.mark.parametrize("rows", [12, 4000])
async def test_the_text_of_a_table_is_not_taken_for_a_path(rows: int) -> None:
    lines = ["width,kind", *(f"{number % 7},{'ab'[number % 2]}" for number in range(rows))]
    suggestion = await suggest("\n".join(lines), target="kind")
    assert suggestion.call.startswith('dataset = TableDataset(table, label="kind"')
    objects = [{"width": number % 7, "kind": "ab"[number % 2]} for number in range(rows)]
    assert (await suggest(json.dumps(objects), target="kind")).call == suggestion.call


@pytest.mark.parametrize("name", ["a" * 5000, "missing.csv", "a\0b"])
async def test_names_that_no_file_has_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="cannot be read") as caught:
        await suggest(name)
    assert caught.value.code == "NNM715"
