"""Epochs per call and steps per dispatch change when things happen, not what happens."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from tests.unit.trainer.budgets import exactly
from webnnm import Dataset, NNModel
from webnnm.backends.base import Binding, Constants, Executable
from webnnm.backends.budget import Budget
from webnnm.backends.reference import ReferenceBackend
from webnnm.core.errors import ContextLost
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.training.step_settings import CURSOR

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
STEPS = 6
"""Steps per epoch."""


def rows(**settings: Any) -> Dataset:
    draw = np.random.default_rng(3)
    x = draw.normal(size=(22, 2))
    y = np.sin(2 * x[:, :1]) * x[:, 1:]
    return Dataset(x.tolist(), y.tolist(), **{"split": (1, 0, 0), **settings})


class CountingBackend(ReferenceBackend):
    """Lists what it is asked for: copies of the whole state, and graphs of several steps."""

    def __init__(self) -> None:
        super().__init__()
        self.copies = 0
        self.unrolled: list[int] = []

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        is_copy = executable.inputs == executable.outputs
        self.copies += is_copy and CURSOR in executable.inputs
        super().dispatch(executable, inputs, outputs)

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        if isinstance(graph, Scan):
            self.unrolled.append(graph.length)
        return await super().compile(graph, constants=constants, recompute=recompute)


async def create(
    budget: Budget,
    source: str = SOURCE,
    dataset: Dataset | None = None,
    backend: ReferenceBackend | None = None,
) -> NNModel:
    backend = backend or ReferenceBackend()
    backend.budget = budget
    return await NNModel.create(
        source=source, dataset=dataset or rows(), backend=backend, log=lambda _: None
    )


async def train(
    epochs_per_call: int, source: str = SOURCE, dataset: Dataset | None = None, **settings: Any
) -> tuple[NNModel, History]:
    """Train with so many epochs per call of the device; 0 leaves it to the tuner."""
    budget = exactly(STEPS * epochs_per_call) if epochs_per_call else Budget()
    model = await create(budget, source, dataset)
    return model, await model.train(**{**ROUGH, **settings})


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


def record(history: History) -> list[Any]:
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
    expected, history = await train(1, source, **settings)
    model, found = await train(epochs_per_call, source, **settings)
    assert record(found) == record(history)
    assert (found.best_epoch, found.best_loss) == (history.best_epoch, history.best_loss)
    assert values(model) == values(expected)
    assert model.step == expected.step == 17 * 6


async def test_the_best_epoch_lies_within_a_call() -> None:
    model, history = await train(6, epochs=18)
    assert history.best_epoch % 6, "this is what the test is about"
    expected, _ = await train(1, epochs=18)
    assert values(model) == values(expected)


@pytest.mark.parametrize("restore", [True, False])
@pytest.mark.parametrize("epochs_per_call", [7, 64])
async def test_patience_ends_within_a_call(epochs_per_call: int, restore: bool) -> None:
    settings: dict[str, Any] = {"epochs": 40, "patience": 3, "restore_best": restore}
    expected, history = await train(1, **settings)
    assert history.stopped == "patience" and len(history.epochs) % epochs_per_call
    model, found = await train(epochs_per_call, **settings)
    assert record(found) == record(history)
    assert values(model) == values(expected)
    assert model.step == 6 * len(history.epochs)


@pytest.mark.parametrize(
    ("steps", "seconds", "copies"), [(2, math.inf, 3), (2, -1, 9), (1, math.inf, 0)]
)
async def test_short_calls_share_a_copy_of_the_state_and_single_steps_need_none(
    steps: int, seconds: float, copies: int
) -> None:
    backend = CountingBackend()
    model = await create(exactly(steps, replay_seconds=seconds), backend=backend)
    await model.train(**ROUGH, epochs=3)
    assert backend.copies == copies


@pytest.mark.parametrize(("steps", "seconds"), [(2, math.inf), (2, -1), (1, math.inf)])
async def test_a_divergence_is_found_at_its_step(steps: int, seconds: float) -> None:
    seen: list[int] = []
    with pytest.raises(Exception, match="NNM708"):
        await train(0, epochs=30, lr=1e6, on_batch=lambda record: seen.append(record.batch))
    epoch, batch = divmod(len(seen), 6)
    model = await create(exactly(steps, replay_seconds=seconds))
    with pytest.raises(Exception, match=f"epoch {epoch + 1}, batch {batch + 1}"):
        await model.train(**{**ROUGH, "lr": 1e6}, epochs=30)


async def test_epochs_before_a_divergence_are_recorded() -> None:
    async def diverged(epochs_per_call: int) -> History:
        model = await create(exactly(STEPS * epochs_per_call))
        training = model.train(**{**ROUGH, "lr": 0.5, "epochs": 30})
        with pytest.raises(Exception, match="NNM708") as caught:
            await training
        assert f"epoch {len(training.history.epochs) + 1}, " in str(caught.value)
        return training.history

    one, many = await diverged(1), await diverged(64)
    assert one.epochs and record(many) == record(one)


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
    expected, history = await train(4, source, micro_steps=1, **settings)
    model, found = await train(4, source, micro_steps=times, **settings)
    assert record(found) == record(history)
    assert values(model) == values(expected)


async def test_micro_steps_go_with_validation_and_streams_end_exactly() -> None:
    data = rows(split=(15, 7, 0))
    expected, history = await train(1, dataset=data, epochs=5, micro_steps=1)
    model, found = await train(1, dataset=data, epochs=5, micro_steps=3)
    assert found.losses == history.losses and values(model) == values(expected)


async def test_no_dispatch_is_built_for_more_steps_than_there_are() -> None:
    data = rows(split=(15, 7, 0))
    expected, history = await train(1, dataset=data, epochs=5, micro_steps=1)
    backend = CountingBackend()
    model = await create(Budget(), dataset=data, backend=backend)
    found = await model.train(**ROUGH, epochs=5, micro_steps=10**9)
    # Validated after every epoch, whose steps are all that can be run at once.
    assert backend.unrolled == [model.step // 5]
    assert found.losses == history.losses and values(model) == values(expected)


class SlowDispatches(CountingBackend):
    """A device on which a dispatch takes a hundredth of a second, and a step no time."""

    dispatch_seconds = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.dispatches = 0

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        self.dispatches += 1
        super().dispatch(executable, inputs, outputs)

    def agreed(self, seconds: float) -> float:
        seconds, self.dispatches = self.dispatches * self.dispatch_seconds, 0
        return seconds


async def test_the_tuner_chooses_micro_steps_where_dispatches_cost() -> None:
    expected, history = await train(0, epochs=60, micro_steps=1)
    backend = SlowDispatches()
    model = await create(Budget(), backend=backend)
    found = await model.train(**ROUGH, epochs=60)
    assert backend.unrolled and backend.unrolled[0] > 1
    assert found.losses == history.losses and values(model) == values(expected)


async def test_a_lost_device_tells_steps_not_dispatches() -> None:
    model = await create(exactly(6))
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
        raise ContextLost("the browser lost the device: destroyed", step=first)

    model.backend.run_steps = close  # type: ignore[method-assign]
    with pytest.raises(ContextLost, match="the model was closed during its training") as caught:
        await model.train(**ROUGH, epochs=9)
    assert "lost the device" not in str(caught.value)
    assert caught.value.hint.startswith("create the model again")


async def test_records_come_one_by_one_whatever_the_crossing() -> None:
    model = await create(exactly(4 * STEPS))
    seen: list[EpochRecord] = [record async for record in model.train(**ROUGH, epochs=10)]
    assert [record.epoch for record in seen] == list(range(1, 11))
    assert all(math.isfinite(record.loss) for record in seen)
