"""An ensemble is an ordinary model that averages members trained from different seeds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import classes, create
from webnnm import Dataset, MemberPredictions, NNModel, predict_members, train_ensemble
from webnnm.core.errors import DataError

np = pytest.importorskip("numpy")

TEXTS = {
    "activation at the end": "matmul(w, shape=[5]), tanh(), matmul(w), add(b), softmax()",
    "activation as an option": "dense(shape=[5], activation=tanh), dense(activation=softmax)",
    "linear": "matmul(w, shape=[5], name=h), relu(), add([h, 1]), matmul(w)",
    "batch normalization": "matmul(w, shape=[5]), batchNormalization(), relu(), matmul(w)",
}
ROWS = [[0.5, -1.0, 2.0, 0.0], [1.0, 1.0, -1.0, 0.5], [-2.0, 0.0, 0.5, 1.0]]


def write(layers: str) -> str:
    dense = "dense:layers matmul(w), add(b), activation();" if "dense" in layers else ""
    return f"m:input shape=[4]; m:output shape=[3]; m:layers {layers}; {dense}"


def quantities() -> Dataset:
    """Return rows of four features and three quantities each."""
    draw = np.random.default_rng(3)
    x = draw.normal(size=(30, 4))
    return Dataset(x.tolist(), (x @ draw.normal(size=(4, 3))).tolist(), split=(1, 0, 0))


async def predict(seed: int, text: str, dataset: Dataset) -> Any:
    async with await create(text, dataset, seed=seed) as model:
        await model.train(epochs=3, progress="off")
        return np.array((await model.predict(ROWS)).tolist())


@pytest.mark.parametrize("layers", TEXTS.values(), ids=TEXTS)
async def test_members_are_models_trained_with_successive_seeds(layers: str) -> None:
    text = write(layers)
    dataset = classes(30) if "softmax" in text else quantities()
    model = await create(text, dataset, seed=7)
    ensemble = await train_ensemble(model, 3, epochs=3)
    found = await predict_members(ensemble, ROWS)
    alone = [await predict(7 + k, text, dataset) for k in range(3)]
    for member, single in zip(found.members, alone, strict=True):
        np.testing.assert_allclose(np.array(member.tolist()), single, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.spread, np.std(alone, axis=0, ddof=1), rtol=1e-3, atol=1e-6)
    mean = np.mean(alone, axis=0)
    if "softmax" in text:
        mean = np.exp(np.mean(np.log(alone), axis=0))
        mean /= mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose((await ensemble.predict(ROWS)).tolist(), mean, rtol=1e-4, atol=1e-6)
    assert not model.state.trained
    ensemble.close()
    model.close()


async def test_a_saved_ensemble_still_knows_its_members() -> None:
    model = await create(write(TEXTS["activation as an option"]), classes(30))
    ensemble = await train_ensemble(model, 2, epochs=2)
    before = await predict_members(ensemble, ROWS)
    async with await NNModel.load(await ensemble.save(), log=lambda line: None) as loaded:
        after = await predict_members(loaded, ROWS)
    np.testing.assert_allclose(after.spread, before.spread, rtol=1e-4, atol=1e-7)
    assert (await ensemble.test("training")).samples == 30
    ensemble.close()
    model.close()


async def test_declared_parameters_become_those_of_each_member() -> None:
    text = (
        "m:input shape=[4]; m:output shape=[3]; m:param t shape=[4, 4];"
        "m:layers matmul(t), relu(), matmul(t, bTranspose=true), matmul(w), softmax();"
    )
    model = await create(text, classes(30))
    ensemble = await train_ensemble(model, 2, epochs=2)
    values = ensemble.state.parameters.values()
    assert len(values) == 2 * len(model.state.parameters.values())
    tables = [value for value in values.values() if value.shape == (4, 4)]
    assert tables[0].data != tables[1].data
    ensemble.close()
    model.close()


@pytest.mark.parametrize(
    ("text", "members", "message"),
    [
        (write("matmul(w)"), 1, "members is 1"),
        (write("end()") + "end:layers matmul(w), softmax();", 2, "softmax1 ends the block"),
        (write("matmul(member)") + "member [4, 3] 1;", 2, 'a "member" of its own'),
        (
            "a:input shape=[4]; a:layers relu(); m:output shape=[3]; m:layers matmul(w, node=a);",
            2,
            'this model has "a", "m"',
        ),
    ],
)
async def test_what_cannot_be_averaged_is_refused(text: str, members: int, message: str) -> None:
    async with await create(text, classes(30)) as model:
        with pytest.raises(DataError, match=f"NNM704: .*{message}"):
            await train_ensemble(model, members, epochs=1)


async def test_members_start_at_random() -> None:
    async with await create(write("matmul(w)"), classes(30)) as model:
        await model.train(epochs=1, progress="off")
        with pytest.raises(DataError, match="trained or loaded parameters"):
            await train_ensemble(model, 2, epochs=1)
        with pytest.raises(DataError, match="not an ensemble"):
            await predict_members(model, ROWS)
    text = write("member(shape=[3])") + "member:layers matmul(w), add(b);"
    async with await create(text, quantities()) as other:
        with pytest.raises(DataError, match="not an ensemble"):
            await predict_members(other, ROWS)


def test_only_arrays_have_a_spread() -> None:
    with pytest.raises(DataError, match="no arrays"):
        _ = MemberPredictions([[1.0], [2.0]]).spread
