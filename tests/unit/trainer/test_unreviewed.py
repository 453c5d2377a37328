"""Trainings without a review: nothing is reported, and no rule decides a setting."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel, cross_validate
from webnnm.training.automatic import OFF_VALUES

pytest.importorskip("numpy")

TEXT = """
model:input shape=[2]; model:output shape=[2];
model:layers dropout(0.9), matmul(w, shape=[8]), tanh(), matmul(w), add(b), softmax();
"""


async def create_model(**settings: Any) -> tuple[NNModel, list[str]]:
    """Return a model and its log."""
    log: list[str] = []
    x = [[k % 7 - 3, k % 5 - 2] for k in range(60)]
    data = Dataset(x, [int(a > b) for a, b in x], split=(0.6, 0.2, 0.2), batch_size=6)
    return await NNModel.create(
        source=TEXT, dataset=data, backend="numpy", log=log.append, **settings
    ), log


async def test_nothing_is_reported() -> None:
    model, log = await create_model(review=False)
    history = await model.train(epochs=6, gradient_clipping="auto", progress="off")
    assert history.findings == [] and history.outcome is None
    assert not [line for line in log if "E404" in line or "history.findings has them" in line]
    model.close()


async def test_what_is_automatic_is_off() -> None:
    model, _ = await create_model(review=False)
    history = await model.train(epochs=2, optimizer="adamw", progress="off")
    assert {name: history.settings[name] for name in OFF_VALUES} == OFF_VALUES
    assert history.settings["batch_size"] == 6
    assert (history.chosen["epochs"], history.chosen["lr"]) == ("given", "default of adamw")
    assert history.chosen["batch_size"] == "default of the dataset"
    model.close()


async def test_a_regularization_that_is_on_has_a_strength() -> None:
    model, _ = await create_model(review=False)
    history = await model.train(epochs=1, regularization="L1+L2", lambda1=0.5, progress="off")
    assert (history.settings["lambda1"], history.settings["lambda2"]) == (0.5, 1e-4)
    model.close()


async def test_seeds_are_searched_all_the_same() -> None:
    model, _ = await create_model(review=False)
    history = await model.train(epochs=1, seeds=3, progress="off")
    assert history.scouting is not None and len(history.scouting["candidates"]) == 3
    model.close()


async def test_a_review_can_still_be_asked_for() -> None:
    model, log = await create_model(review=False)
    assert "E404" in {finding.id for finding in model.review()} and len(log) == 1
    model.close()


async def test_the_models_of_folds_are_not_reviewed_either() -> None:
    model, log = await create_model(review=False)
    await cross_validate(model, 2, epochs=1)
    assert not [line for line in log if "E404" in line]
    model.close()


async def test_models_are_reviewed_unless_told_otherwise() -> None:
    model, log = await create_model()
    history = await model.train(epochs=2, progress="off")
    assert "E404" in {finding.id for finding in history.findings}
    assert [line for line in log if "E404" in line]
    model.close()


@pytest.mark.parametrize("value", ["brief", 2])
async def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(DataError, match=f"review is {value!r}") as caught:
        await create_model(review=value)
    assert caught.value.code == "NNM704"
    model, _ = await create_model()
    with pytest.raises(DataError, match=f"review is {value!r}") as caught:
        model.train(epochs=1, review=value)
    assert caught.value.code == "NNM704"
    model.close()


async def test_a_review_after_the_training_decides_nothing_and_finds_the_same() -> None:
    settings: dict[str, Any] = {"epochs": 6, "gradient_clipping": "auto", "progress": "off"}
    model, _ = await create_model()
    before = await model.train({**settings, "on_epoch": lambda _: None})
    model.close()
    model, log = await create_model(review="after")
    seen = [len(log)]
    history = await model.train({**settings, "on_epoch": lambda _: seen.append(len(log))})
    assert {name: history.settings[name] for name in OFF_VALUES} == OFF_VALUES
    assert {f.id for f in history.findings} == {f.id for f in before.findings}
    assert not [finding for finding in history.findings if finding.action]
    assert not [line for line in log[seen[0] : seen[-1]] if "history.findings has them" in line]
    assert [line for line in log[seen[-1] :] if "history.findings has them" in line]
    model.close()


async def test_a_training_is_reviewed_at_the_time_it_names() -> None:
    model, _ = await create_model(review=False)
    history = await model.train(epochs=1, review="after", progress="off")
    assert "E404" in {finding.id for finding in history.findings}
    model.close()
    model, _ = await create_model()
    history = await model.train(epochs=1, review=False, progress="off")
    assert history.findings == []
    model.close()
