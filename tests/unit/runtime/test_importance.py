"""Permutation importance is that of a direct computation, and 0 where a model looks away."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import create
from webnnm import DataError, Dataset, NNModel, TableDataset, permutation_importance
from webnnm.core.random import Purpose, Stream
from webnnm.evaluation.importance import PermutationImportance

np = pytest.importorskip("numpy")

LINEAR = "m:input shape=[{}]; m:output shape=[1]; m:layers matmul(w), add(b);"
SPLIT = (0, 0, 1)


def spread(rows: int, columns: int) -> Any:
    return np.random.default_rng(7).normal(size=(rows, columns)).astype("float32")


async def linear(rows: Any, targets: Any, weights: list[float], **options: Any) -> NNModel:
    """Return a model that adds the columns with these weights."""
    model = await create(
        LINEAR.format(len(weights)), Dataset(rows, targets, split=SPLIT, **options)
    )
    await model.load_params({"w1": np.array(weights, "float32")[:, None], "b1": [0.0]})
    return model


@pytest.mark.parametrize("count", [40, 300], ids=["one dispatch", "several"])
async def test_it_is_what_shuffling_by_hand_gives(count: int) -> None:
    rows, weights = spread(count, 3), [1.5, -0.5, 0.25]
    targets = rows @ np.array(weights) + 0.1 * spread(count, 1)[:, 0]
    model = await linear(rows, targets, weights)
    found = await permutation_importance(model, n_repeats=3, seed=5)
    spread_of_targets = ((targets - targets.mean()) ** 2).sum()

    def r2(given: Any) -> float:
        return 1 - ((given @ np.array(weights) - targets) ** 2).sum() / spread_of_targets

    assert found.columns == ("0", "1", "2")
    assert (found.scoring, found.samples, found.subset) == ("r2", count, "testing")
    assert found.score == pytest.approx(r2(rows), abs=1e-5)
    for column, repeats in enumerate(found.importances):
        for repeat, loss in enumerate(repeats):
            shuffled = rows.copy()
            stream = Stream(5, Purpose.SHUFFLING, "importance", column, repeat)
            shuffled[:, column] = rows[stream.permutation(count), column]
            assert loss == pytest.approx(r2(rows) - r2(shuffled), abs=1e-5)
    assert found.importances_mean == pytest.approx(np.mean(found.importances, 1).tolist())
    assert found.importances_std == pytest.approx(np.std(found.importances, 1).tolist())
    again = await permutation_importance(model, n_repeats=3, seed=5)
    assert again == found
    assert await permutation_importance(model, n_repeats=3, seed=6) != found
    model.close()


async def test_a_column_that_is_all_loses_twice_the_variance_and_an_unused_one_nothing() -> None:
    rows = spread(300, 2)
    model = await linear(rows, 2 * rows[:, 0], [2.0, 0.0], features=["all", "none"])
    found = await permutation_importance(model, n_repeats=20)
    assert found.score == pytest.approx(1)
    assert found.importances[1] == (0.0,) * 20
    assert found.importances_mean[0] == pytest.approx(2, abs=0.1)
    assert [name for name, *_ in found.ranked()] == ["all", "none"]
    of_errors = await permutation_importance(model, n_repeats=20, scoring="mse")
    variance = float(np.var(2 * rows[:, 0]))
    assert of_errors.importances_mean[0] == pytest.approx(2 * variance, rel=0.1)
    model.close()


async def test_categories_are_columns_and_are_shuffled_whole() -> None:
    colours = ["red", "green", "blue"] * 20
    table = {
        "width": [float(k % 7) for k in range(60)],
        "colour": colours,
        "kind": ["yes" if colour == "red" else "no" for colour in colours],
    }
    data = TableDataset(table, label="kind", split=SPLIT)
    text = "m:input shape=[4]; m:output shape=[2]; m:layers matmul(w), softmax();"
    model = await create(text, data)
    # width, colour=blue, colour=green, colour=red → no, yes
    weights = [[0.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    await model.load_params({"w1": np.array(weights, "float32")})
    found = await permutation_importance(model, n_repeats=10)
    assert found.columns == ("width", "colour")
    assert (found.scoring, found.score) == ("accuracy", 1.0)
    assert found.importances[0] == (0.0,) * 10
    # Of a third of the rows that are red, two thirds get another colour, and the other way round.
    assert found.importances_mean[1] == pytest.approx(4 / 9, abs=0.08)
    assert str(found).splitlines()[2].startswith("colour")
    assert found.to_dict()["columns"] == ["width", "colour"]
    model.close()


@pytest.mark.parametrize(("count", "dispatches"), [(20, 1), (300, 5)])
async def test_all_copies_of_few_rows_are_one_dispatch(count: int, dispatches: int) -> None:
    rows = spread(count, 3)
    model = await linear(rows, rows.sum(1), [1.0, 0.5, 0.0])
    calls: list[int] = []
    dispatch = model.state.backend.dispatch

    def count_calls(executable: Any, inputs: Any, outputs: Any) -> Any:
        calls.append(1)
        return dispatch(executable, inputs, outputs)

    model.state.backend.dispatch = count_calls  # type: ignore[method-assign]
    await permutation_importance(model, n_repeats=4)
    assert len(calls) == dispatches, "13 copies, of up to 1024 rows in all"
    model.close()


async def test_fewer_rows_are_the_same_ones_for_all_columns() -> None:
    rows = spread(50, 2)
    model = await linear(rows, rows[:, 0], [1.0, 0.0])
    some = await permutation_importance(model, max_samples=0.2)
    assert some.samples == 10
    assert await permutation_importance(model, max_samples=10) == some
    assert (await permutation_importance(model, max_samples=100)).samples == 50
    model.close()


async def test_several_inputs_and_outputs_are_named() -> None:
    text = """
    a:input shape=[2]; b:input shape=[1]; y:output shape=[1]; z:output shape=[1];
    y:layers matmul(w, node=a); z:layers matmul(v, node=b);
    """
    rows = spread(12, 3)
    data = Dataset(
        {"a": rows[:, :2], "b": rows[:, 2:]}, {"y": rows[:, :1], "z": rows[:, 2:]}, split=SPLIT
    )
    model = await create(text, data)
    found = await permutation_importance(model, output="z", n_repeats=2)
    assert found.columns == ("a.0", "a.1", "b.0")
    assert found.importances[:2] == ((0.0, 0.0),) * 2
    with pytest.raises(DataError, match=r"NNM704.*several outputs"):
        await permutation_importance(model)
    with pytest.raises(DataError, match=r'NNM704.*no output "x"'):
        await permutation_importance(model, output="x")
    model.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_repeats": 0}, "n_repeats is 0"),
        ({"max_samples": 1.5}, "max_samples is 1.5"),
        ({"max_samples": 0}, "max_samples is 0"),
        ({"scoring": "accuracy"}, 'scoring="accuracy" is not a score of this output'),
    ],
)
async def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    rows = spread(10, 2)
    model = await linear(rows, rows[:, 0], [1.0, 0.0])
    with pytest.raises(DataError, match=message) as caught:
        await permutation_importance(model, **settings)
    assert caught.value.code == "NNM704"
    with pytest.raises(DataError, match="NNM705"):
        await permutation_importance(model, "validation")
    model.close()


async def test_sequences_have_no_columns() -> None:
    text = (
        "m:input shape=[1] sequence=days; m:output shape=[1]; m:layers matmul(w), "
        "reduceMean(axes=[days]);"
    )
    model = await create(
        text, Dataset([[[1.0]], [[2.0], [3.0]]], [[1.0], [2.0]], length="max", split=SPLIT)
    )
    with pytest.raises(DataError, match=r"NNM702.*sequence"):
        await permutation_importance(model)
    model.close()


def test_one_repeat_has_no_deviation() -> None:
    found = PermutationImportance(("a",), ((0.5,),), "r2", 0.75, 4, "testing")
    assert found.importances_std == (0.0,)
    assert "shuffled 1 time\n" in str(found)
