"""Scouting: what is measured of every start, and which one is taken (spec E.4)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, classes, create, points, values
from webnnm import NNModel
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose
from webnnm.data.dataset import Dataset
from webnnm.trainer.scout import (
    PILOT_ROWS,
    SEARCH_BUDGET,
    TRIAL_PARAMETERS,
    Candidate,
    sample_pilot_rows,
    seeds_within_budget,
)

np = pytest.importorskip("numpy")

IRIS = """
m:input shape=[4]; m:output shape=[3];
m:layers matmul(w, shape=[6]), add(b), relu(), matmul(w), add(b), softmax();
"""
SETTINGS: dict[str, Any] = {**PLAIN, "epochs": 1, "lr": 1e-30}
"""Trainings that leave the chosen start as it is."""


async def run_scout(text: str = IRIS, dataset: Dataset | None = None, **more: Any) -> Any:
    """Return the model, its parameters after scouting, and the table."""
    create_settings = {"seed": more.pop("model_seed", 0)}
    model = await create(text, dataset or classes(), **create_settings)
    history = await model.train({**SETTINGS, "seeds": 12, **more})
    return model, values(model), history.scouting


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether parameters are the same but for the tiny step of the training."""
    return all(np.allclose(found[n], expected[n], rtol=0, atol=1e-12) for n in expected)


async def draw(number: int, seed: int, text: str = IRIS) -> dict[str, Any]:
    """Return the parameters of a candidate, from their streams."""
    model = await create(text, classes(), seed=seed)
    if number:
        await model.state.parameters.initialise(seed, Purpose.SCOUTING, number)
    return values(model)


def write(start: dict[str, Any], data: Dataset) -> dict[str, float]:
    """Measure a start of the model above in float64, as spec E.4 says."""
    inputs, targets = data.arrays("training")
    x, y = (np.array(next(iter(found.values())).tolist()) for found in (inputs, targets))
    p = {name: value.copy() for name, value in start.items()}

    def pass_() -> tuple[float, dict[str, Any], Any, Any]:
        z1 = x @ p["w1"] + p["b1"]
        h = np.maximum(z1, 0)
        z = h @ p["w2"] + p["b2"]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        q = e / e.sum(axis=1, keepdims=True)
        d = (q - y) / len(x) / math.log(3)
        dh = (d @ p["w2"].T) * (z1 > 0)
        slopes = {"w1": x.T @ dh, "b1": dh.sum(0), "w2": h.T @ d, "b2": d.sum(0)}
        return float(-(y * np.log(q)).sum() / len(x) / math.log(3)), slopes, h, q

    loss, slopes, hidden, top = pass_()
    norms = [np.linalg.norm(slopes[n]) / math.sqrt(slopes[n].size) for n in ("w1", "w2")]
    dead = max((hidden <= 0).all(axis=0).mean(), (top.max(axis=1) >= 0.95).mean())
    for _ in range(3):
        _, g, _, _ = pass_()
        whole = math.sqrt(sum(float((v**2).sum()) for v in g.values()))
        p = {name: p[name] - 0.1 * g[name] / whole for name in p}
    delta = pass_()[0]
    spread = float(np.std([math.log10(norm + 1e-12) for norm in norms]))
    return {
        "loss": loss,
        "delta": delta,
        "spread": spread,
        "ratio": max(norms) / min(norms),
        "dead": float(dead),
        "score": -10 * delta - 2 * spread - 10 * float(dead) - abs(loss - 1),
    }


@pytest.mark.alike
@pytest.mark.parametrize("seed", [0, 7])
async def test_every_candidate_is_measured_as_written(seed: int) -> None:
    data = classes(30)
    model, found, table = await run_scout(dataset=data, seeds=8, model_seed=seed)
    assert [row["number"] for row in table["candidates"]] == list(range(8))
    scores = []
    for number, row in enumerate(table["candidates"]):
        expected = write(await draw(number, seed), data)
        assert {n: row[n] for n in expected} == pytest.approx(expected, rel=1e-3, abs=1e-4)
        scores.append(expected["score"])
    assert table["best"] == scores.index(max(scores))
    winner = await draw(table["best"], seed)
    assert same(found, winner)
    model.close()


@pytest.mark.alike
async def test_it_is_reproducible_by_seed() -> None:
    tables = []
    for seed in (3, 3, 4):
        model, found, table = await run_scout(seed=seed)
        tables.append((table, {name: value.tolist() for name, value in found.items()}))
        model.close()
    assert tables[0] == tables[1]
    ours, theirs = (t[0]["candidates"][1:] for t in (tables[0], tables[2]))
    assert all(a["loss"] != b["loss"] for a, b in zip(ours, theirs, strict=True))


@pytest.mark.alike
async def test_more_seeds_do_not_change_the_first_ones() -> None:
    _, _, few = await run_scout(seeds=4)
    _, _, many = await run_scout(seeds=9)
    assert many["candidates"][:4] == few["candidates"]


def test_the_score() -> None:
    figures = {"number": 3, "ratio": 5.0, "norm": 1.0, "outputs": 2}
    candidate = Candidate(loss=2.5, delta=1.25, spread=0.5, dead=0.25, **figures)
    assert candidate.score == pytest.approx(-12.5 - 1 - 2.5 - 0.5)


async def test_ties_go_to_the_lower_number() -> None:
    """Without anything random all candidates are the same."""
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, init=zeros), softmax();"
    _, _, table = await run_scout(text)
    assert len({row["loss"] for row in table["candidates"]}) == 1
    assert table["best"] == 0


@pytest.mark.alike
async def test_dead_starts_are_avoided() -> None:
    """Two thirds of the starts have a hidden unit that no row turns on."""
    text = "m:input shape=[4]; m:output shape=[3]; q:param b shape=[3] init=normal(4);"
    text += "m:layers matmul(w, shape=[3]), add(b), relu(), matmul(w), softmax();"
    _, _, table = await run_scout(text, seeds=20)
    dead = [row["dead"] for row in table["candidates"]]
    assert sum(share > 0 for share in dead) >= 5
    assert any(share == 0 for share in dead)
    assert dead[table["best"]] == 0


async def test_sure_starts_are_avoided() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, init=normal(4)), softmax();"
    _, _, table = await run_scout(text, seeds=10)
    dead = [row["dead"] for row in table["candidates"]]
    assert max(dead) > 0.5
    assert dead[table["best"]] <= sorted(dead)[2]


async def test_candidate_zero_is_the_ordinary_start() -> None:
    model, found, table = await run_scout(seeds=1)
    assert table["best"] == 0
    assert len(table["candidates"]) == 1
    ordinary = values(await create(IRIS, classes()))
    assert same(found, ordinary)
    model.close()


@pytest.mark.alike
async def test_candidate_zero_are_the_trained_parameters() -> None:
    model = await create(IRIS, classes())
    await model.train({**PLAIN, "epochs": 30, "lr": 0.5})
    learned = values(model)
    trained_loss = (await model.test("training")).loss
    history = await model.train(SETTINGS | {"seeds": 6})
    first = history.scouting["candidates"][0]
    assert first["loss"] == pytest.approx(trained_loss / math.log(3), rel=1e-5)
    assert history.scouting["best"] == 0
    assert same(learned, values(model))
    model.close()


@pytest.mark.parametrize(
    ("given", "scouts"),
    [({}, 1), ({"seeds": 0}, 0), ({"freeze": 0.2}, 0), ({"freeze": 0.2, "seeds": 3}, 3)],
    ids=str,
)
async def test_when_it_scouts(given: dict[str, Any], scouts: int) -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    model = await create(text, classes(12))
    settings = {name: value for name, value in PLAIN.items() if name != "seeds"}
    history = await model.train({**settings, "epochs": 1, "lr": 0.01, **given})
    table = history.scouting
    assert (len(table["candidates"]) if table else 0) == scouts
    model.close()


@pytest.mark.alike
async def test_a_trained_model_is_not_scouted_unless_asked() -> None:
    model = await create(IRIS, classes())
    settings = {name: value for name, value in SETTINGS.items() if name != "seeds"}
    assert (await model.train({**settings, "seeds": 2})).scouting is not None
    assert (await model.train(settings)).scouting is None
    assert (await model.train({**settings, "seeds": 2})).scouting is not None
    model.close()


async def test_all_starts_without_a_finite_loss() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), mul(0), log();"
    model = await create(text, points([1.0, 2.0], [1.0, 2.0]))
    before, memory = values(model), model.memory()
    with pytest.raises(DataError, match="none of 5") as caught:
        await model.train({**SETTINGS, "seeds": 5})
    assert caught.value.code == "NNM708"
    assert caught.value.hint
    assert (values(model)["w1"] == before["w1"]).all()
    assert (model.memory().tensors, model.memory().bytes) == (memory.tensors, memory.bytes)
    model.close()


async def test_starts_without_a_finite_loss_are_passed_over() -> None:
    """log(w) exists for about half of them."""
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), log();"
    model = await create(text, points([1.0, 2.0], [1.0, 2.0]), seed=2)
    history = await model.train({**SETTINGS, "seeds": 16})
    finite = [row["number"] for row in history.scouting["candidates"] if row["loss"] is not None]
    assert 0 < len(finite) < 16
    assert history.scouting["best"] in finite
    assert values(model)["w1"].item() > 0
    model.close()


LARGE = """
m:input shape=[4]; m:output shape=[3]; m:layers
  matmul(w, shape=[1000]), relu(), matmul(w, shape=[1100]), relu(), matmul(w), softmax();
"""


async def test_large_models_get_fewer_seeds_and_no_trial_steps() -> None:
    model = await create(LARGE, classes())
    history = await model.train({**SETTINGS, "seeds": 50})
    seeds = 2 * 10**7 // (4 * 1000 + 1000 * 1100 + 1100 * 3)
    assert history.settings["seeds"] == len(history.scouting["candidates"]) == seeds
    assert all(row["delta"] == row["loss"] for row in history.scouting["candidates"])
    model.close()


def test_the_budget_of_the_specification() -> None:
    assert (SEARCH_BUDGET, TRIAL_PARAMETERS, PILOT_ROWS) == (2 * 10**7, 10**6, 64)
    assert seeds_within_budget(9, SEARCH_BUDGET) == seeds_within_budget(9, 2 * SEARCH_BUDGET) == 1


@pytest.mark.alike
async def test_tensors_of_losers_are_released() -> None:
    model = await create(IRIS, classes())
    before = model.memory()
    found = await model.scout(20)
    after = model.memory()
    assert found.best.number > 0
    assert (after.tensors, after.bytes, after.graphs) == (
        before.tensors,
        before.bytes,
        before.graphs,
    )
    model.close()


async def test_parameters_that_do_not_learn_stay_in_the_trial_steps() -> None:
    """A start is judged with its own frozen weights in all of its steps."""
    text = "m:input shape=[4]; m:output shape=[3];"
    text += "m:layers matmul(w, shape=[5], init=normal(2), trainable=false), matmul(w), softmax();"
    model = await create(text, classes())
    table = await model.scout(6)
    assert table.best.number > 0
    # The winner again, as candidate 0 of a model that has it.
    again = (await model.scout(2)).candidates[0]
    assert again.delta == pytest.approx(table.best.delta, rel=1e-6)
    assert again.loss == pytest.approx(table.best.loss, rel=1e-6)
    model.close()


async def test_a_single_start_is_measured_without_trial_steps() -> None:
    model = await create("m:input shape=[4]; m:output shape=[3]; m:layers matmul(w);", classes())
    found = await model.scout(1)
    assert found.best.delta == found.best.loss
    initial = sum(found.initial_losses.values())
    assert str(found).startswith(f"initial loss {initial:.4f}, dead units ")
    several = await model.scout(3)
    initial = sum(several.initial_losses.values())
    assert str(several).startswith(f"initial loss {initial:.4f}, dead units ")
    assert f"seed search: best of 3 is {several.best.number}" in str(several)
    model.close()


def test_pilot_rows_are_stratified() -> None:
    from tests.unit.training.trained import network
    from webnnm.data.binding.binding import bind

    which = [0] * 200 + [1] * 100 + [2] * 20
    data = Dataset([[float(k)] * 4 for k in range(320)], np.eye(3)[which].tolist(), split=(1, 0, 0))
    binding = bind(network(IRIS), data)
    rows = sample_pilot_rows(binding, 0)
    _, outputs = data.arrays("training")
    labels = np.array(next(iter(outputs.values())).tolist()).argmax(axis=1)
    counts = np.bincount(labels[rows], minlength=3)
    assert len(set(rows)) == len(rows) == 64
    assert counts.tolist() == [40, 20, 4]
    assert sample_pilot_rows(binding, 0) == rows != sample_pilot_rows(binding, 1)


async def test_losses_of_several_outputs_are_made_alike() -> None:
    text = IRIS.replace("m:input", "m:loss CCE; m:input")
    text += "n:output shape=[1]; n:loss MSE; n:layers matmul(w, init=zeros, node=m:input);"
    draw = np.random.default_rng(0)
    y = 30 * draw.normal(size=(30, 1))
    one = classes(30)
    inputs, outputs = one.arrays("training")
    given = next(iter(outputs.values())).tolist()
    x = next(iter(inputs.values())).tolist()
    data = Dataset({"m": x}, {"m": given, "n": y.tolist()}, split=(1, 0, 0))
    model = await create(text, data)
    found = (await model.scout(1)).best
    # The second output is 0: its loss is that of knowing nothing but the mean.
    trunk = {name: value for name, value in values(model).items() if name != "w3"}
    plain = write(trunk, one)["loss"]
    expected = plain + float((y**2).mean() / y.var())
    assert found.loss == pytest.approx(expected, rel=1e-4)
    assert found.outputs == 2
    model.close()


@pytest.mark.alike
async def test_far_targets_do_not_stretch_the_delta_of_a_huber_loss() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3))
    y = x.sum(axis=1, keepdims=True)
    y[::20] += 100
    data = Dataset(x.astype("float32"), y.astype("float32"), split=(1, 0, 0))
    text = "m:input shape=[3]; m:output shape=[1]; m:layers matmul(w), add(b);"
    model = await create(text, data)
    history = await model.train(SETTINGS | {"seeds": 5})
    middle = float(np.median(np.abs(y - np.median(y))))
    assert history.loss_settings["m"]["loss"] == "HUL"
    assert history.loss_settings["m"]["delta"] == pytest.approx(1.345 * 1.4826 * middle / 4)
    model.close()


@pytest.mark.parametrize(("largest", "told"), [(1.0, False), (2000.0, True)])
async def test_gradients_of_batches_are_compared(largest: float, told: bool) -> None:
    rows = [[math.sin(3 * k), math.cos(5 * k)] for k in range(60)]
    rows[17] = [largest, largest]
    text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    data = Dataset(rows, [0.3 * row[0] % 1 for row in rows], split=(1, 0, 0))
    model = await NNModel.create(source=text, dataset=data, backend="numpy", log=lambda _: None)
    history = await model.train(epochs=2, optimizer="sgdm", lr=1e-9)
    assert history.scouting is not None
    assert len(history.scouting["candidates"]) == 1, "one seed is enough"
    assert len(history.scouting["batch_norms"]) == 8
    messages = [one.message for one in history.findings if one.id == "E109"]
    assert [("norms of batches vary" in message) for message in messages] == [True] * told
    model.close()
