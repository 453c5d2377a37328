"""Epochs per call and steps per dispatch change when things happen, not what happens."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from webnnm import Dataset, NNModel
from webnnm.core.errors import ContextLost
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.trainer.stepper import Stepper
from webnnm.trainer.tuner import DispatchTuner

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten", reason="minutes inside a page, which has tests of its own"
)

SOURCE = """
m:input shape=[2]; m:output shape=[1]; m:loss MSE;
m:layers matmul(w, shape=[5]), add(b), tanh(), matmul(w), add(b);
"""
DROPPING = SOURCE.replace("tanh()", "tanh(), dropout(0.3)")
ROUGH: dict[str, Any] = {
    "lr": 0.15,
    "optimizer": "nesterov",
    "schedule": "constant",
    "seeds": 0,
    "batch_size": 4,
}
"""The loss goes up and down, so that the best epoch lies anywhere."""
COSTS = {"dispatch": 1.0, "device_build": 0.0, "build": 0.03}
"""What a device is said to have measured on which many steps share a dispatch."""


def rows(**settings: Any) -> Dataset:
    draw = np.random.default_rng(3)
    x = draw.normal(size=(22, 2))
    y = np.sin(2 * x[:, :1]) * x[:, 1:]
    return Dataset(x.tolist(), y.tolist(), **{"split": (1, 0, 0), **settings})


def patch_epochs(patch: pytest.MonkeyPatch, epochs: int) -> None:
    """Let each call of the device have so many epochs, as far as there are so many."""
    patch.setattr(DispatchTuner, "epochs_per_call", lambda _tuner, _steps, most: min(epochs, most))


async def trained(
    epochs_per_call: int, source: str = SOURCE, dataset: Dataset | None = None, **settings: Any
) -> tuple[NNModel, History]:
    """Train with so many epochs per call of the device; 0 leaves it to the tuner."""
    with pytest.MonkeyPatch.context() as patch:
        if epochs_per_call:
            patch_epochs(patch, epochs_per_call)
        model = await NNModel.create(
            source=source, dataset=dataset or rows(), backend="numpy", log=lambda _: None
        )
        return model, await model.train(**{**ROUGH, **settings})


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


def recorded(history: History) -> list[Any]:
    """Return what the records say, but for times."""
    names = ("epoch", "loss", "losses", "lr", "scale", "clip_rate", "grad_norm", "overflows")
    return [[getattr(record, name) for name in names] for record in history.epochs]


@pytest.mark.usual(
    *("True-0-plain", "False-2-plain", "True-3-dropout", "False-7-dropout", "True-7-plain"),
    *("True-64-dropout", "False-64-plain"),
)
@pytest.mark.parametrize("source", [SOURCE, DROPPING], ids=["plain", "dropout"])
@pytest.mark.parametrize("epochs_per_call", [0, 2, 3, 7, 64])
@pytest.mark.parametrize("restore", [True, False])
async def test_epochs_of_one_call_are_those_of_many(
    source: str, epochs_per_call: int, restore: bool
) -> None:
    settings: dict[str, Any] = {
        "epochs": 17,
        "restore_best": restore,
        "gradient_clipping": "global",
    }
    expected, history = await trained(1, source, **settings)
    model, found = await trained(epochs_per_call, source, **settings)
    assert recorded(found) == recorded(history)
    assert (found.best_epoch, found.best_loss) == (history.best_epoch, history.best_loss)
    assert values(model) == values(expected)
    assert model.step == expected.step == 17 * 6


async def test_the_best_epoch_lies_within_a_call() -> None:
    model, history = await trained(6, epochs=18)
    assert history.best_epoch % 6, "this is what the test is about"
    expected, _ = await trained(1, epochs=18)
    assert values(model) == values(expected)


@pytest.mark.parametrize("restore", [True, False])
@pytest.mark.parametrize("epochs_per_call", [7, 64])
async def test_patience_ends_within_a_call(epochs_per_call: int, restore: bool) -> None:
    settings: dict[str, Any] = {"epochs": 40, "patience": 3, "restore_best": restore}
    expected, history = await trained(1, **settings)
    assert history.stopped == "patience" and len(history.epochs) % epochs_per_call
    model, found = await trained(epochs_per_call, **settings)
    assert recorded(found) == recorded(history)
    assert values(model) == values(expected)
    assert model.step == 6 * len(history.epochs)


def patch_steps(patch: pytest.MonkeyPatch, steps: int, seconds: float) -> None:
    """Give calls so many steps, and copies of the state so many seconds in which they serve."""

    def steps_per_call(_: DispatchTuner, left: int) -> int:
        return min(left, steps)

    patch.setattr("webnnm.trainer.resident.REPEATED", seconds)
    patch.setattr(DispatchTuner, "steps_per_call", steps_per_call)


@pytest.mark.parametrize(
    ("steps", "seconds", "copies"), [(2, math.inf, 3), (2, -1, 9), (1, math.inf, 0)]
)
async def test_short_calls_share_a_copy_of_the_state_and_single_steps_need_none(
    steps: int, seconds: float, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_steps(monkeypatch, steps, seconds)
    copy, copied = Stepper.copy_state, []

    def counted(self: Stepper, into: Any) -> None:
        copied.append(self.step)
        copy(self, into)

    monkeypatch.setattr(Stepper, "copy_state", counted)
    await trained(0, epochs=3)
    assert len(copied) == copies


@pytest.mark.parametrize(("steps", "seconds"), [(2, math.inf), (2, -1), (1, math.inf)])
async def test_a_divergence_is_found_at_its_step(
    steps: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    with pytest.raises(Exception, match="NNM708"):
        await trained(0, epochs=30, lr=1e6, on_batch=lambda record: seen.append(record.batch))
    epoch, batch = divmod(len(seen), 6)
    patch_steps(monkeypatch, steps, seconds)
    with pytest.raises(Exception, match=f"epoch {epoch + 1}, batch {batch + 1}"):
        await trained(0, epochs=30, lr=1e6)


async def test_epochs_before_a_divergence_are_recorded() -> None:
    async def diverged(epochs_per_call: int) -> History:
        with pytest.MonkeyPatch.context() as patch:
            patch_epochs(patch, epochs_per_call)
            model = await NNModel.create(
                source=SOURCE,
                dataset=rows(),
                backend="numpy",
                log=lambda _: None,
            )
            training = model.train(**{**ROUGH, "lr": 0.5, "epochs": 30})
            with pytest.raises(Exception, match="NNM708") as caught:
                await training
            assert f"epoch {len(training.history.epochs) + 1}, " in str(caught.value)
            return training.history

    one, many = await diverged(1), await diverged(64)
    assert one.epochs and recorded(many) == recorded(one)


@pytest.mark.parametrize(
    "settings",
    [
        {"on_epoch": lambda _record: None},
        {"on_batch": lambda _record: None},
        {"validation": True},
    ],
    ids=["on_epoch", "on_batch", "validation"],
)
async def test_who_wants_to_look_at_every_epoch_can(settings: dict[str, Any]) -> None:
    data = rows(split=(12, 10, 0)) if settings.pop("validation", False) else rows()
    seen: list[int] = []
    model = await NNModel.create(source=SOURCE, dataset=data, backend="numpy", log=lambda _: None)
    write = model.backend.write

    def count(tensor: Any, array: Any) -> None:
        if tensor.type.dtype == "int32" and len(tensor.type.shape) == 2:
            seen.append(tensor.type.shape[0])
        write(tensor, array)

    model.backend.write = count  # type: ignore[method-assign]
    await model.train(**{**ROUGH, "epochs": 5, **settings})
    steps = -(-data.size("training") // 4)
    assert seen == [steps] * 5, "one table of one epoch each"


# Groups of accumulated batches begin and end within a dispatch; scales do not.
@pytest.mark.usual(
    *("accumulated-2-plain", "accumulated-3-dropout", "accumulated-6-plain", "accumulated-7-plain"),
    *("accumulated-50-dropout", "scaled-2-plain", "scaled-7-dropout", "scaled-50-plain"),
)
@pytest.mark.parametrize("source", [SOURCE, DROPPING], ids=["plain", "dropout"])
@pytest.mark.parametrize("times", [2, 3, 6, 7, 50])
@pytest.mark.parametrize(
    "settings",
    [{"gradient_clipping": "global", "accumulate": 2}, {"gradient_scaling": "on"}],
    ids=["accumulated", "scaled"],
)
async def test_steps_of_one_dispatch_are_those_of_many(
    source: str, times: int, settings: dict[str, Any]
) -> None:
    settings = {"epochs": 9, **settings}
    expected, history = await trained(4, source, micro_steps=1, **settings)
    model, found = await trained(4, source, micro_steps=times, **settings)
    assert recorded(found) == recorded(history)
    assert values(model) == values(expected)


async def test_micro_steps_go_with_validation_and_streams_end_exactly() -> None:
    data = rows(split=(15, 7, 0))
    expected, history = await trained(1, dataset=data, epochs=5, micro_steps=1)
    model, found = await trained(1, dataset=data, epochs=5, micro_steps=3)
    assert found.losses == history.losses and values(model) == values(expected)


async def test_no_dispatch_is_built_for_more_steps_than_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[int] = []
    unroll = Stepper._unroll

    async def noted(stepper: Stepper, times: int) -> None:
        built.append(times)
        await unroll(stepper, times)

    monkeypatch.setattr(Stepper, "_unroll", noted)
    data = rows(split=(15, 7, 0))
    expected, history = await trained(1, dataset=data, epochs=5, micro_steps=1)
    model, found = await trained(1, dataset=data, epochs=5, micro_steps=10**9)
    # Validated after every epoch, whose steps are all that can be run at once.
    assert max(built) == model.step // 5
    assert found.losses == history.losses and values(model) == values(expected)


async def test_the_tuner_chooses_micro_steps_where_dispatches_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected, history = await trained(0, epochs=60, micro_steps=1)
    chosen: list[int] = []
    decide = DispatchTuner.micro_steps

    def noted(tuner: DispatchTuner, **costs: Any) -> int:
        chosen.append(decide(tuner, **{**costs, **COSTS}))
        return chosen[-1]

    record = DispatchTuner.record
    monkeypatch.setattr(
        DispatchTuner, "record", lambda tuner, steps, _: record(tuner, steps, steps * 0.01)
    )
    monkeypatch.setattr(DispatchTuner, "micro_steps", noted)
    model, found = await trained(0, epochs=60)
    assert chosen and chosen[0] > 1
    assert found.losses == history.losses and values(model) == values(expected)


async def test_a_lost_device_tells_steps_not_dispatches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DispatchTuner, "steps_per_call", lambda _tuner, left: min(6, left))
    model = await NNModel.create(source=SOURCE, dataset=rows(), backend="numpy", log=lambda _: None)
    run_steps = model.backend.run_steps

    async def lose(executable: Any, banks: Any, first: int, *more: Any) -> Any:
        if first >= 2:
            raise ContextLost("the device is gone", step=first)
        return await run_steps(executable, banks, first, *more)

    model.backend.run_steps = lose  # type: ignore[method-assign]
    with pytest.raises(ContextLost, match="after step 8") as caught:
        await model.train(**ROUGH, epochs=9, micro_steps=3)
    # Two dispatches of three steps, and a third one that is known to be good.
    assert caught.value.step == 8


async def test_a_model_that_is_closed_meanwhile_is_told_as_such() -> None:
    model = await NNModel.create(source=SOURCE, dataset=rows(), backend="numpy", log=lambda _: None)

    async def close(executable: Any, banks: Any, first: int, *more: Any) -> Any:
        model.close()
        raise ContextLost("the browser lost the WebNN device: destroyed", step=first)

    model.backend.run_steps = close  # type: ignore[method-assign]
    with pytest.raises(ContextLost, match="the model was closed during its training") as caught:
        await model.train(**ROUGH, epochs=9)
    assert "lost the WebNN device" not in str(caught.value)
    assert caught.value.hint.startswith("create the model again")


async def test_records_come_one_by_one_whatever_the_crossing() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch_epochs(patch, 4)
        model = await NNModel.create(
            source=SOURCE, dataset=rows(), backend="numpy", log=lambda _: None
        )
        seen: list[EpochRecord] = [record async for record in model.train(**ROUGH, epochs=10)]
    assert [record.epoch for record in seen] == list(range(1, 11))
    assert all(math.isfinite(record.loss) for record in seen)
