"""A process that is killed while it saves leaves a whole snapshot, the old one or the new one."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.killing import in_new_process, moments, run_and_kill, within
from webnnm import Dataset, NNModel

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.skipif(
    sys.platform in ("emscripten", "win32"), reason="no processes to kill here"
)

KILLS = 200
SOURCE = """
model:input shape=[40]; model:output shape=[3]; model:loss MSE;
model:layers matmul(w, shape=[300]), add(b), tanh(), matmul(w), add(b);
"""


async def train(seed: int, optimizer: str) -> NNModel:
    """Return a model with the state of a training; each optimizer makes files of another size."""
    draw = np.random.default_rng(seed)
    x, y = draw.normal(size=(30, 40)), draw.normal(size=(30, 3))
    dataset = Dataset(x.tolist(), y.tolist(), split=(20, 10, 0))
    model = await NNModel.create(
        source=SOURCE, dataset=dataset, seed=seed, backend="numpy", log=lambda _: None
    )
    await model.train(epochs=2, seeds=0, optimizer=optimizer, progress="off")
    return model


async def load(path: Path) -> NNModel:
    return await NNModel.load(path, backend="numpy", log=lambda _: None)


def content(model: NNModel) -> tuple[Any, ...]:
    """Return all that tells one of the models from the other, and a whole one from a part."""
    assert model.state.checkpoint is not None
    state = {name: bytes(array.data) for name, array in model.state.checkpoint.state.items()}
    return {p.name: p.value.tobytes() for p in model.params()}, state, model.step


def save(models: list[NNModel], path: Path) -> None:
    """Save models over the same file, one after the other."""

    async def in_turn() -> None:
        for model in models:
            await model.save(path)

    asyncio.run(in_turn())


def kill_while_saving(folder: str) -> tuple[int, int, list[int], dict[str, int], list[str]]:
    """Kill processes that save; return their moments, what was found, and what they left."""
    path = Path(folder) / "m.webnnm.safetensors"
    models = [asyncio.run(train(1, "adam")), asyncio.run(train(2, "sgdm"))]
    save(models, path)
    expected = [content(model) for model in models]
    every = moments(lambda: save(models, path))
    # Most happens in memory: half of the kills are drawn from what happens to files.
    writing = within(every, "write_atomically")
    draw = random.Random(0)
    seen = [0, 0]
    unfinished: dict[str, int] = {}
    for number in range(KILLS):
        models.reverse()
        chosen = draw.choice(writing) if number % 2 else draw.randrange(len(every) + 1)
        run_and_kill(lambda: save(models, path), chosen)
        seen[expected.index(content(asyncio.run(load(path))))] += 1
        left = [each for each in path.parent.iterdir() if each != path]
        unfinished |= {each.name: each.stat().st_size for each in left}
        for each in left:
            then = time.time() - 90
            os.utime(each, (then, then))
    save(models, path)
    return len(every), len(writing), seen, unfinished, [each.name for each in path.parent.iterdir()]


def test_killed_at_any_moment_a_whole_snapshot_is_there(tmp_path: Path) -> None:
    every, writing, seen, unfinished, found = in_new_process(kill_while_saving, str(tmp_path))
    print(f"{every} moments, {writing} of them of writing")
    print(f"old and new: {seen}")
    print(f"{len(unfinished)} files not finished, of up to {max(unfinished.values())} bytes")
    assert sum(seen) == KILLS
    assert min(seen) > 10
    assert len(unfinished) > 2
    assert found == ["m.webnnm.safetensors"]
