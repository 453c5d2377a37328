"""A process that is killed while it saves leaves a whole snapshot, the old one or the new one."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

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


async def trained(seed: int, optimizer: str) -> NNModel:
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
    assert model.checkpoint is not None
    state = {name: bytes(array.data) for name, array in model.checkpoint.state.items()}
    return {p.name: p.value.tobytes() for p in model.params()}, state, model.step


async def save_in_turn(models: list[NNModel], path: Path, times: int) -> None:
    for number in range(times):
        await models[number % 2].save(path)


def begin(models: list[NNModel], path: Path, times: int) -> tuple[int, int]:
    """Fork a process that saves the models in turn over the same file, then waits to be killed.

    Returns the process, and a pipe that it writes a byte to at its start and at its end.
    """
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(tell, b"1")
            asyncio.run(save_in_turn(models, path, times))
            os.write(tell, b"2")
            signal.pause()
        finally:
            os._exit(1)
    os.close(tell)
    return child, hear


def kill(child: int, pipe: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(pipe)


def seconds_per_save(models: list[NNModel], path: Path) -> float:
    """Return how long a save takes in a child of this process, which the moments are drawn from."""
    times = 8
    child, pipe = begin(models, path, times)
    os.read(pipe, 1)
    began = time.perf_counter()
    os.read(pipe, 1)
    seconds = (time.perf_counter() - began) / times
    kill(child, pipe)
    return seconds


def test_killed_at_any_moment_a_whole_snapshot_is_there(tmp_path: Path) -> None:
    path = tmp_path / "m.webnnm.safetensors"
    models = [asyncio.run(trained(1, "adam")), asyncio.run(trained(2, "sgdm"))]
    asyncio.run(save_in_turn(models, path, 2))
    expected = [content(model) for model in models]
    seconds = seconds_per_save(models, path)
    draw = random.Random(0)
    seen = [0, 0]
    unfinished: dict[str, int] = {}
    for _ in range(KILLS):
        # Some are killed before they begin, most on their way, some after the last saving.
        models.reverse()
        child, pipe = begin(models, path, draw.choice((1, 3, 1000)))
        if draw.random() < 0.9:
            os.read(pipe, 1)
            time.sleep(draw.uniform(0, draw.choice((1, 4)) * seconds))
        kill(child, pipe)
        seen[expected.index(content(asyncio.run(load(path))))] += 1
        left = [each for each in tmp_path.iterdir() if each != path]
        unfinished |= {each.name: each.stat().st_size for each in left}
        for each in left:
            then = time.time() - 90
            os.utime(each, (then, then))
    print(f"a save takes {seconds * 1e3:.1f} ms; old and new: {seen}")
    print(f"{len(unfinished)} files not finished, of up to {max(unfinished.values())} bytes")
    assert min(seen) > 10
    assert len(unfinished) > 2
    asyncio.run(save_in_turn(models, path, 1))
    assert list(tmp_path.iterdir()) == [path]
