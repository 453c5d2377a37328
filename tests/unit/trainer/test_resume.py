"""A training that was stopped, saved, loaded and resumed is the one that was never interrupted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, Dataset, History, NNModel, StreamDataset
from webnnm.backends.budget import Budget
from webnnm.core.arrays import zeros
from webnnm.evaluation.epoch import BatchRecord
from webnnm.snapshots.safetensors import chunks, read
from webnnm.snapshots.snapshot import CHECKSUM, KEY
from webnnm.training.optimizers import OPTIMIZERS

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten", reason="takes minutes in a page; tests/browser/test_resume.py"
)

SOURCE = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[6]), batchNorm(s, t), tanh(), dropout(0.2), matmul(w), add(b);
"""
TASKS = """
m:input shape=[3]; many:output shape=[2]; many:loss MSE; one:output shape=[1]; one:loss huber;
many:layers matmul(w, shape=[5], node=m), tanh(name=both), matmul(w), add(b);
one:layers matmul(w, node=both), add(b);
"""
SETTINGS: dict[str, Any] = {
    "epochs": 6,
    "batch_size": 5,
    "seeds": 3,
    "progress": "off",
    "weight_decay": 0.01,
}


HANGS = 600
"""Seconds after which another process is taken for one that never ends."""


def rows(count: int = 33, **settings: Any) -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(count, 3))
    y = np.sin(x[:, :2]) + 0.1 * draw.normal(size=(count, 2))
    return Dataset(x.tolist(), y.tolist(), **{"split": (23, 10, 0), **settings})


async def create(source: str = SOURCE, **settings: Any) -> NNModel:
    given = {"dataset": rows(), "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


async def load(data: Any, **settings: Any) -> NNModel:
    given = {"dataset": rows(), "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.load(data, **given)


def same(one: NNModel, other: NNModel) -> None:
    for mine, its in zip(one.params(), other.params(), strict=True):
        np.testing.assert_array_equal(mine.value, its.value, err_msg=mine.name, strict=True)
    assert one.step == other.step


def same_course(whole: History, end: History) -> None:
    """Look whether a course goes on as the one that was not interrupted."""
    later = whole.epochs[end.resumed_after :]
    assert [r.epoch for r in end.epochs] == [r.epoch for r in later]
    for mine, its in zip(later, end.epochs, strict=True):
        for name in ("loss", "lr", "val_loss", "scale", "clip_rate", "grad_norm", "overflows"):
            assert getattr(mine, name) == getattr(its, name), (name, mine.epoch)
    assert (whole.best_epoch, whole.best_loss) == (end.best_epoch, end.best_loss)
    assert whole.stopped == end.stopped


def until(epoch: int, batch: int = 0) -> dict[str, Any]:
    """Return the callback that stops after an epoch, or after a batch of the next one."""
    if not batch:
        return {"on_epoch": lambda record: record.epoch < epoch}
    return {"on_batch": lambda record: (record.epoch, record.batch) != (epoch + 1, batch)}


OTHERWISE: dict[str, dict[str, Any]] = {
    **{name: {"optimizer": name} for name in OPTIMIZERS},
    "accumulated": {"accumulate": 3},
    "clipped": {"gradient_clipping": "global"},
    "clipped by unit": {"gradient_clipping": "agc"},
    "scaled": {"gradient_scaling": "on", "growth_interval": 7},
    "float16": {"compute_type": "float16"},
    "one cycle": {"schedule": "onecycle"},
    "lowered by plateaus": {"schedule": "plateau", "step_epochs": 1, "lr": 0.5},
    "frozen in part": {"freeze": 0.5, "seeds": 0},
    "regularised": {"regularization": "L1+L2", "lambda1": 1e-4, "lambda2": 1e-3},
    "in order": {"shuffle": False},
    "the best one kept": {"patience": 2, "epochs": 12},
    "the last one kept": {"restore_best": False},
}


@pytest.mark.parametrize("settings", OTHERWISE.values(), ids=OTHERWISE)
async def test_a_resumed_training_repeats_the_whole_one(settings: dict[str, Any]) -> None:
    """It was stopped between two epochs, then within one."""
    given = {**SETTINGS, **settings}
    whole = await create()
    course = await whole.train(given)
    for epoch, batch in ((3, 0), (2, 3)):
        part = await create()
        await part.train(given, **until(epoch, batch))
        again = await load(await part.save())
        same(part, again)
        end = await again.train(resume=True)
        same_course(course, end)
        same(whole, again)


DRAWN: dict[str, tuple[str, dict[str, Any]]] = {
    "dropout masks": ("dropout(0.5), ", {"shuffle": False}),
    "orders of rows": ("", {}),
}


@pytest.mark.parametrize(("layer", "settings"), DRAWN.values(), ids=DRAWN)
async def test_a_resumed_training_draws_the_same_random_numbers(
    layer: str, settings: dict[str, Any]
) -> None:
    # Parameters hardly move, so that losses of batches tell what was drawn for them.
    source = f"m:input shape=[3]; m:output shape=[2]; m:loss MSE; m:layers {layer}matmul(w);"
    given = {**SETTINGS, **settings, "seeds": 0, "lr": 1e-12, "weight_decay": 0.0, "epochs": 4}
    losses: list[tuple[int, int, float]] = []

    def note(record: BatchRecord) -> bool:
        losses.append((record.epoch, record.batch, record.loss))
        return len(losses) != 8  # within the second epoch

    part = await create(source)
    await part.train(given, on_batch=note)
    again = await load(await part.save())
    await again.train(resume=True, on_batch=note)
    resumed = losses.copy()
    losses[:] = [(0, 0, 0.0)] * 8  # so that it is not stopped
    await (await create(source)).train(given, on_batch=note)
    assert losses[8:] == resumed
    assert len({round(loss, 6) for _, _, loss in resumed}) == len(resumed) == 20


async def test_without_validation_many_epochs_go_out_at_once_and_the_end_is_the_same() -> None:
    data = {"dataset": rows(split=(33, 0, 0))}
    given = {**SETTINGS, "epochs": 40, "lr": 0.05, "optimizer": "adam"}
    whole = await create(**data)
    course = await whole.train(given)
    assert course.best_epoch > 1
    part = await create(**data)
    stopping = part.train(given)
    async for record in stopping:
        if record.epoch >= 9:
            await stopping.stop()
    again = await load(await part.save(), **data)
    end = await again.train(resume=True)
    assert 9 <= end.resumed_after < 40
    same_course(course, end)
    same(whole, again)


async def test_weights_of_several_outputs_go_on() -> None:
    x = np.random.default_rng(1).normal(size=(30, 3))
    outputs = {"many": np.sin(x[:, :2]).tolist(), "one": (100 * x[:, :1] ** 2).tolist()}
    data = Dataset({"m": x.tolist()}, outputs, split=(20, 10, 0))
    whole = await create(TASKS, dataset=data)
    course = await whole.train(SETTINGS)
    assert all("s" in entry for entry in course.loss_settings.values())
    part = await create(TASKS, dataset=data)
    await part.train(SETTINGS, **until(2, 1))
    again = await load(await part.save(), dataset=data)
    same_course(course, await again.train(resume=True))
    same(whole, again)


async def test_a_stream_goes_on_in_the_middle_of_its_rows() -> None:
    async def source(subset: str, epoch: int) -> AsyncIterator[Any]:
        draw = np.random.default_rng(epoch)
        for _ in range(700):
            x = draw.normal(size=3)
            yield x.tolist(), [float(x[0]), float(x[1] * x[2])]

    async def stream() -> StreamDataset:
        return await StreamDataset.create(source, rows={"training": 700})

    whole = await create(dataset=await stream())
    given = {**SETTINGS, "epochs": 2, "seeds": 0}
    course = await whole.train(given)
    part = await create(dataset=await stream())
    await part.train(given, **until(0, 130))
    assert part.state.checkpoint is not None
    assert (part.state.checkpoint.epoch, part.state.checkpoint.batch) == (0, 130)
    again = await load(await part.save(), dataset=await stream())
    same_course(course, await again.train(resume=True))
    same(whole, again)


PROGRAM = """
import asyncio, sys
from tests.unit.trainer.test_resume import create, load, until, SETTINGS

async def main():
    what, path = sys.argv[1:]
    if what == "begin":
        model = await create()
        await model.train(SETTINGS, **until(2, 3))
        await model.save(path)
    else:
        model = await load(path)
        await model.train(resume=True)
        await model.save(path, optimizer=False)

asyncio.run(main())
"""


async def test_another_process_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.webnnm.safetensors"
    for what in ("begin", "end"):
        command = [sys.executable, "-c", PROGRAM, what, str(path)]
        subprocess.run(command, check=True, timeout=HANGS)
    whole = await create()
    await whole.train(SETTINGS)
    same(whole, await load(path))


async def test_a_training_is_saved_while_it_runs_and_goes_on_undisturbed() -> None:
    whole = await create()
    course = await whole.train({**SETTINGS, "epochs": 30})
    model = await create()
    training = model.train({**SETTINGS, "epochs": 30})
    saved: list[bytes] = []
    async for record in training:
        if record.epoch in (4, 11, 12):
            saved.append(await model.save())
    same_course(course, await training)
    same(whole, model)
    for data in saved:
        again = await load(data)
        assert again.state.checkpoint is not None
        assert not again.state.checkpoint.restored
        same_course(course, await again.train(resume=True))
        same(whole, again)


class Shown:
    """What shows a training somewhere: of its process alone."""

    def begin(self, *_: object) -> None:
        """Show nothing."""

    update = note = end = begin


@pytest.mark.parametrize("again", [False, True])
async def test_what_listens_to_a_training_is_not_saved_with_it(again: bool) -> None:
    model = await create()
    seen: list[int] = []
    listening: dict[str, Any] = {
        "progress": Shown(),
        "on_epoch": lambda record: seen.append(record.epoch),
        "on_batch": lambda record: len(seen) < 3,
    }
    await model.train({**SETTINGS, **listening})
    assert seen == [1, 2, 3]
    loaded = await load(await model.save())
    given = {**listening, "on_batch": lambda record: True} if again else {}
    history = await loaded.train(given, resume=True)
    assert (history.resumed_after, history.finished) == (3, 6)
    assert seen == [1, 2, 3, *((4, 5, 6) if again else ())]


async def test_a_paused_training_can_be_saved() -> None:
    model = await create()
    training = model.train({**SETTINGS, "epochs": 50})
    async for record in training:
        if record.epoch == 3:
            training.pause()
            before = await model.save()
            assert await model.save() == before
            training.resume()
            break
    assert (await training).stopped == "epochs"


async def test_the_file_for_inference_has_what_the_training_would_leave() -> None:
    model = await create()
    await model.train({**SETTINGS, "epochs": 12, "lr": 0.3, "schedule": "constant"})
    assert model.state.checkpoint is not None
    assert model.state.checkpoint.best_epoch < 12
    whole, lean = read(await model.save()), read(await model.save(optimizer=False))
    assert {name.partition("/")[0] for name in lean.tensors} == {"param", "state"}
    assert f"{KEY}cursor" not in lean.metadata
    assert {name.partition("/")[0] for name in whole.tensors} == {"param", "state", "opt", "best"}
    for name, tensor in lean.tensors.items():
        assert tensor.data == whole.tensors[f"best/{name}"].data
    halves = read(await model.save(dtype="float16"))
    assert halves.tensors.keys() == lean.tensors.keys()


async def test_more_epochs_may_follow_a_finished_training() -> None:
    model = await create()
    await model.train({**SETTINGS, "schedule": "constant"})
    again = await load(await model.save())
    history = await again.train(resume=True, epochs=8)
    assert [record.epoch for record in history.epochs] == [7, 8]
    assert history.finished == 8


async def test_nothing_is_left_to_train() -> None:
    model = await create()
    await model.train(SETTINGS)
    before = {p.name: p.value for p in model.params()}
    history = await model.train(resume=True)
    assert (history.epochs, history.finished) == ([], 6)
    assert str(history)
    for p in model.params():
        np.testing.assert_array_equal(p.value, before[p.name])


async def catch_error(model: NNModel, **settings: Any) -> str:
    with pytest.raises(DataError) as caught:
        await model.train(resume=True, **settings)
    assert caught.value.code == "NNM808"
    return str(caught.value)


async def test_another_training_is_not_a_resumed_one() -> None:
    model = await create()
    assert "no training to resume" in await catch_error(model)
    await model.train(SETTINGS, optimizer="adam", **until(2))
    told = await catch_error(model, optimizer="lion")
    assert "optimizer 'adam'" in told and "'lion'" in told
    assert "batch_size 5" in await catch_error(model, batch_size=7)
    lean = await load(await model.save(optimizer=False))
    assert "optimizer=True" in await catch_error(lean)
    other = await load(await model.save(), dataset=rows(split=(33, 0, 0)))
    assert "an epoch has 7 batches" in await catch_error(other)
    model.set_dataset(rows())
    await model.load_params({"w1": np.zeros((3, 6), "float32")}, only="w1")
    assert "no training to resume" in await catch_error(model)


async def test_states_of_another_model_are_refused_and_nothing_changes() -> None:
    model = await create()
    await model.train(SETTINGS, optimizer="adam", **until(2))
    file = read(await model.save())

    def change(name: str, array: Any) -> bytes:
        from webnnm.core.arrays import HostArray

        tensors = {n: t.array() for n, t in file.tensors.items()}
        tensors[name] = HostArray.of(array, "float32")
        metadata = {k: v for k, v in file.metadata.items() if k != CHECKSUM}
        return sign(tensors, metadata)

    for name, code in (
        ("opt/m/w1", "NNM806"),
        ("opt/m/other", "NNM805"),
        ("best/param/w2", "NNM806"),
    ):
        with pytest.raises(DataError) as caught:
            await load(change(name, [1.0]))
        assert caught.value.code == code
        assert name in str(caught.value)


def sign(tensors: Any, metadata: dict[str, str]) -> bytes:
    """Return a file as a forger writes it: with a checksum that fits."""
    from webnnm.snapshots.safetensors import header
    from webnnm.snapshots.snapshot import compute_checksum

    body = (tensor.data for tensor in tensors.values())
    return b"".join(
        chunks(tensors, {**metadata, CHECKSUM: compute_checksum(body, header(tensors, metadata))})
    )


NONSENSE: dict[str, Any] = {
    "cursor": [{}, {"epoch": -1, "batch": 0, "totals": {}}, {"epoch": 1.5}, []],
    "schedule": [{}, {"t": "1", "numbers": {}}, {"t": 1, "numbers": {"clock/beta1": "x"}}],
    "best": [{}, {"epoch": 1, "value": "low", "restored": True}],
    "hyperparameters": [
        {},
        {"given": 1, "resolved": 2},
        {"given": {}, "resolved": {"epochs": "many"}},
        {"given": {}, "resolved": {"unheard_of": 1}},
    ],
    "loss": [5],
}


async def test_a_checkpoint_that_makes_no_sense_is_refused() -> None:
    model = await create()
    await model.train(SETTINGS, **until(2))
    file = read(await model.save())
    tensors = {n: t.array() for n, t in file.tensors.items()}
    for key, contents in NONSENSE.items():
        for content in contents:
            metadata = {k: v for k, v in file.metadata.items() if k != CHECKSUM}
            metadata[KEY + key] = json.dumps(content)
            with pytest.raises(DataError) as caught:
                await load(sign(tensors, metadata))
            assert caught.value.code == "NNM802", (key, content)


RANDOM: dict[str, tuple[Any, str]] = {
    "gone": (None, "rng has no seed"),
    "no position of the dropout": ({"seed": 0, "shuffling": 2}, "rng has no dropout"),
    "another seed": ({"seed": 1, "shuffling": 2, "dropout": 10}, "rng says seed is 1"),
    "another order": ({"seed": 0, "shuffling": 3, "dropout": 10}, "rng says shuffling is 3"),
    "other masks": ({"seed": 0, "shuffling": 2, "dropout": 9}, "rng says dropout is 9"),
    "no numbers": ([0, 2, 10], "rng is not a JSON object"),
}


@pytest.mark.parametrize(("content", "words"), RANDOM.values(), ids=RANDOM)
async def test_where_random_numbers_stand_is_told_if_it_is_not_what_the_training_says(
    content: Any, words: str
) -> None:
    model = await create()
    await model.train(SETTINGS, **until(2))
    file = read(await model.save())
    assert json.loads(file.metadata[f"{KEY}rng"]) == {"seed": 0, "shuffling": 2, "dropout": 10}
    tensors = {n: t.array() for n, t in file.tensors.items()}
    metadata = {k: v for k, v in file.metadata.items() if k not in (CHECKSUM, f"{KEY}rng")}
    if content is not None:
        metadata[f"{KEY}rng"] = json.dumps(content)
    with pytest.raises(DataError, match=words) as caught:
        await load(sign(tensors, metadata))
    assert caught.value.code == "NNM802"


# Autosave.


async def test_autosave_writes_on_the_way_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "m.webnnm.safetensors"
    model = await create()
    model.backend.budget = Budget(call_steps=1)
    # A time that is over at once: a saving is due whenever the one before has ended.
    training = model.train({**SETTINGS, "epochs": 40}, autosave=path, autosave_seconds=0)
    seen: set[int] = set()
    async for _ in training:
        if path.exists():
            found = (await load(path)).state.checkpoint
            assert found is not None
            seen.add(found.epoch)
    assert len(seen) > 2
    found = (await load(path)).state.checkpoint
    assert found is not None
    assert (found.epoch, found.restored) == (40, True)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


async def test_an_autosave_that_fails_costs_a_warning(tmp_path: Path) -> None:
    lines: list[str] = []
    model = await create(log=lines.append)
    model.backend.budget = Budget(call_steps=1)
    place = tmp_path / "gone" / "m.safetensors"
    training = model.train({**SETTINGS, "epochs": 60}, autosave=place, autosave_seconds=0)
    history = await training
    assert (history.stopped, len(history.epochs)) == ("epochs", 60)
    (told,) = history.warnings
    assert "autosave" in told
    assert "NNM807" in told
    assert sum("warning: autosave" in line for line in lines) > 1
    assert History.from_dict(history.to_dict()).warnings == [told]


@pytest.mark.parametrize("error", [OSError("disk"), MemoryError("memory"), IndexError("index")])
async def test_whatever_an_autosave_raises_the_history_is_there(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = await create()

    async def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(model, "save", fail)
    history = await model.train(SETTINGS, autosave="anywhere")
    assert history.stopped == "epochs"
    assert history.warnings == [f"autosave: {type(error).__name__}: {error}"]


async def test_a_model_with_a_scalar_parameter_is_saved_with_its_training(tmp_path: Path) -> None:
    text = "m:input shape=[3]; m:output shape=[2]; m:param s shape=[]; m:layers matmul(w), mul(s);"
    model = await create(text)
    history = await model.train(SETTINGS, autosave=tmp_path / "m.safetensors")
    assert not history.warnings
    again = await load(await model.save())
    same(model, again)
    assert again.state.parameters.value("s").shape == ()


def test_an_array_has_no_truth() -> None:
    """As that of its length it would fail for scalars, and be false for an array without rows."""
    for shape in ((), (0, 2), (3,)):
        with pytest.raises(TypeError, match="neither true nor false"):
            bool(zeros("float32", shape))


# The schedule.


async def test_a_schedule_that_gets_another_end_is_told() -> None:
    model = await create()
    await model.train(SETTINGS)
    file = await model.save()
    again = await load(file)
    longer = await again.train(resume=True, epochs=12)
    (told,) = longer.warnings
    assert "not 6" in told
    assert "schedule_epochs=6" in told
    jumped = longer.epochs[0].lr
    assert again.state.checkpoint.settings.epochs == 12
    kept = await load(file)
    flat = await kept.train(resume=True, epochs=12, schedule_epochs=6)
    assert not flat.warnings
    assert {record.lr for record in flat.epochs} == {0.0}
    assert jumped > 0
    assert not (await (await load(file)).train(resume=True, patience=3)).warnings


async def test_a_training_that_fails_refuses_to_tell_where_it_stands() -> None:
    model = await create()
    training = model.train({**SETTINGS, "lr": 1e30, "optimizer": "sgdm", "schedule": "constant"})

    async def ask() -> AsyncIterator[Any]:
        while True:
            yield await training.checkpoint()

    with pytest.raises(DataError) as caught:
        async for _ in ask():
            pass
    assert caught.value.code == "NNM808"
    with pytest.raises(DataError, match="NNM708"):
        await training
    assert model.state.checkpoint is None
