"""Parameters taken from another model, and trainings that leave some of them as they are."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel, Transposed

np = pytest.importorskip("numpy")

SOURCE = """
m:input shape=[2]; m:output shape=[2];
m:layers matmul(trunk, shape=[4]), add(offset), tanh(), matmul(head), add(bias);
"""
NAMES = ["trunk1", "offset1", "head1", "bias1"]


def data() -> Dataset:
    x = np.random.default_rng(0).normal(size=(20, 2))
    return Dataset(x.tolist(), np.sin(x).tolist(), split=(1, 0, 0))


async def create(source: str = SOURCE, **settings: Any) -> NNModel:
    given = {"dataset": data(), "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def pair(source: str = SOURCE) -> tuple[NNModel, NNModel]:
    """Return a trained model and a fresh one of another seed."""
    teacher = await create()
    await teacher.train(epochs=2, seeds=0)
    return teacher, await create(source, seed=1)


async def test_all_parameters_make_the_same_model() -> None:
    teacher, model = await pair()
    x = [[0.5, -1.0], [2.0, 0.25]]
    assert (await model.predict(x)).tolist() != (await teacher.predict(x)).tolist()
    assert await model.load_params(teacher) == NAMES
    assert values(model) == values(teacher)
    assert (await model.predict(x)).tolist() == (await teacher.predict(x)).tolist()
    assert (await model.test("training")).loss == (await teacher.test("training")).loss


@pytest.mark.alike
async def test_the_giver_keeps_its_own() -> None:
    teacher, model = await pair()
    before = values(teacher)
    await model.load_params(teacher)
    await model.train(epochs=2)
    assert values(teacher) == before != values(model)


async def test_names_and_mapping_alone() -> None:
    teacher, model = await pair()
    start, given = values(model), values(teacher)
    assert await model.load_params(teacher, only="head1") == ["head1"]
    assert values(model) == start | {"head1": given["head1"]}
    assert await model.load_params(teacher, only=["bias1", "trunk*"]) == ["trunk1", "bias1"]
    other = await create(SOURCE.replace("trunk", "stem"))
    start = values(other)
    mapping = {"stem1": "trunk1"}
    assert await other.load_params(teacher, mapping=mapping, only="stem1") == ["stem1"]
    assert values(other) == start | {"stem1": given["trunk1"]}
    assert len(await other.load_params(teacher, mapping=mapping)) == 4


async def test_what_differs_in_name_or_shape_stays() -> None:
    wide = SOURCE.replace("shape=[2]; m:layers", "shape=[3]; m:layers").replace(
        "m:output shape=[2]", "m:output shape=[3]"
    )
    teacher = await create()
    lines: list[str] = []
    model = await create(wide, dataset=None, log=lines.append)
    with pytest.raises(DataError, match=r"head1.*in the other model"):
        await model.load_params(teacher)
    assert await model.load_params(teacher, strict=False) == ["trunk1", "offset1"]
    assert lines[-1] == "loaded 2 parameters, not head1, bias1"


async def test_arrays_by_name() -> None:
    model = await create()
    arrays = {"trunk1": np.ones((2, 4)), "offset1": [1, 2, 3, 4], "unknown": [0]}
    assert await model.load_params(arrays, strict=False) == ["trunk1", "offset1"]
    assert values(model)["offset1"] == [1, 2, 3, 4]


async def test_arrays_in_another_layout_and_of_another_type() -> None:
    model = await create()
    arrays = {"fc.0.weight": np.arange(8, dtype="int64").reshape(4, 2), "fc.0.bias": range(4)}
    mapping = {"trunk{n}": Transposed("fc.{n-1}.weight"), "offset{n}": "fc.{n-1}.bias"}
    names = await model.load_params(arrays, mapping=mapping, only=["trunk1", "offset1"])
    assert names == ["trunk1", "offset1"]
    assert values(model)["trunk1"] == [[0, 2, 4, 6], [1, 3, 5, 7]]


async def test_arrays_of_a_backend() -> None:
    teacher, model = await pair()
    assert await model.load_params(teacher.param_arrays()) == NAMES
    assert values(model) == values(teacher)


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"only": ["trunk"]}, "NNM710", 'did you mean "trunk1"'),
        ({"only": ["x*"], "strict": False}, "NNM710", 'no parameter "x*"'),
        ({"only": []}, "NNM710", "none of the 4 tensors"),
        ({"mapping": {"trnk1": "trunk1"}}, "NNM805", 'did you mean "trunk1"'),
        ({"mapping": {"trunk1": "other"}}, "NNM805", "trunk1 (other in the other model) missing"),
        ({"mapping": {"trunk1": "head1"}}, "NNM805", "trunk1 not in the model"),
        ({"mapping": {"trunk1": "head1"}, "only": "trunk1"}, "NNM806", "[4, 2]"),
        ({"only": ["bias1", "trunk"]}, "NNM710", "trunk"),
    ],
    ids=repr,
)
async def test_errors_change_nothing(settings: Any, code: str, words: str) -> None:
    teacher, model = await pair()
    before = values(model)
    with pytest.raises(DataError) as caught:
        await model.load_params(teacher, **settings)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert values(model) == before
    assert not model.state.trained


async def test_nothing_is_taken_during_a_training() -> None:
    teacher, model = await create(), await create()
    training = teacher.train(epochs=500, seeds=0)
    async for _ in training:
        with pytest.raises(DataError) as caught:
            await model.load_params(teacher)
        break
    assert caught.value.code == "NNM712"
    await training.stop()
    await model.load_params(teacher)


@pytest.mark.alike
async def test_training_goes_on_from_there_unless_starts_are_asked_for() -> None:
    teacher, model = await pair()
    assert (await (await create()).train(epochs=1)).scouting is not None
    await model.load_params(teacher)
    history = await model.train(epochs=1)
    assert history.scouting is None
    assert (await model.train(epochs=1, seeds=3)).scouting is not None


async def test_memory_is_as_before() -> None:
    teacher, model = await pair()
    before = model.memory()
    await model.load_params(teacher)
    assert model.memory() == before


FROZEN = {
    "freeze": (SOURCE, {"freeze": 0.4}),
    "lrm": (
        SOURCE.replace("shape=[4]", "shape=[4], lrm=0").replace("add(offset", "add(offset, lrm=0"),
        {},
    ),
    "trainable": (
        SOURCE.replace("shape=[4]", "shape=[4], trainable=false").replace(
            "add(offset", "add(offset, trainable=false"
        ),
        {},
    ),
}


@pytest.mark.parametrize("way", FROZEN)
async def test_frozen_parameters_stay_to_the_bit(way: str) -> None:
    source, settings = FROZEN[way]
    teacher, model = await pair(source)
    await model.load_params(teacher, only=["trunk1", "offset1"])
    start = values(model)
    history = await model.train(epochs=30, **settings)
    found = values(model)
    same = [name for name in NAMES if found[name] == start[name]]
    assert same == ["trunk1", "offset1"]
    assert history.losses[-1] < history.losses[0]


@pytest.mark.alike
async def test_multiplier_of_zero_and_not_trainable_are_the_same() -> None:
    results: list[Any] = []
    for way in ("lrm", "trainable"):
        teacher, model = await pair(FROZEN[way][0])
        await model.load_params(teacher, only=["trunk1", "offset1"])
        losses = (await model.train(epochs=3)).losses
        results.append((losses, values(model)))
    assert results[0] == results[1]


@pytest.mark.alike
async def test_frozen_parameters_have_no_state_on_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = dict.fromkeys(FROZEN, 0) | {"": 0}
    for way in most:
        source, settings = FROZEN.get(way, (SOURCE, {}))
        model = await create(source)
        run_steps = model.backend.run_steps

        async def measure(
            *given: Any, way: str = way, model: NNModel = model, run: Any = run_steps
        ):
            most[way] = max(most[way], model.memory().tensors)
            return await run(*given)

        monkeypatch.setattr(model.backend, "run_steps", measure)
        await model.train(epochs=1, seeds=0, optimizer="adam", **settings)
    assert most["freeze"] == most["lrm"] == most["trainable"] < most[""]
