"""Models trained alike on every backend; as a program, on forced devices or in several processes.

`python -m tests.unit.backends.cloud [optimizers [address processes number]]` prints the results as
JSON, in one line; several optimizers have commas between them.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.data.dataset import Dataset
from webnnm.model.nnmodel import NNModel

ROOT = Path(__file__).resolve().parents[3]
ROWS, BATCH, EPOCHS = 48, 16, 3
POOL = "maxPool2d(windowDimensions={height:2, width:2}, strides={height:2, width:2})"

MLP = """
m:input shape=[12]; m:output shape=[3];
m:layers matmul(w, shape=[16]), add(b), relu(), dropout(p=0.3), matmul(w), add(b), softmax();
"""
CNN = f"""
m:input shape={{channel:1, height:8, width:8}}; m:output shape=[3];
m:layers
  conv2d(f, filters=4, kernel=3, padding=same), batchNormalization(), relu(), {POOL},
  conv2d(f, filters=6, kernel=3, bias=c), relu(), flatten(),
  matmul(w), add(b), softmax();
"""
MODELS: Mapping[str, tuple[str, tuple[int, ...]]] = {"mlp": (MLP, (12,)), "cnn": (CNN, (1, 8, 8))}
OPTIMIZERS = ("lion", "rlion", "nesterov", "sgdm", "adam", "adamw")
RUNS = (*(("mlp", name) for name in OPTIMIZERS), ("cnn", "rlion"), ("cnn", "adam"))


def dataset(shape: tuple[int, ...]) -> Dataset:
    """Return rows of three classes, each with a pattern of its own under noise."""
    draw = random.Random(3)
    size = math.prod(shape)
    patterns = [[draw.gauss(0, 1) for _ in range(size)] for _ in range(3)]
    x = [[p + draw.gauss(0, 1) for p in patterns[row % 3]] for row in range(ROWS)]
    y = [[float(row % 3 == k) for k in range(3)] for row in range(ROWS)]
    rows = [_to_lists(values, shape) for values in x]
    return Dataset(rows, y, split=(0.75, 0.25, 0), batch_size=BATCH)


def _to_lists(values: list[float], shape: tuple[int, ...]) -> list[Any]:
    for size in reversed(shape[1:]):
        values = [values[k : k + size] for k in range(0, len(values), size)]  # type: ignore[misc]
    return values


async def create(name: str, backend: str, **settings: Any) -> NNModel:
    """Return one of the models with its data."""
    text, shape = MODELS[name]
    return await NNModel.create(
        source=text,
        dataset=dataset(shape),
        backend=backend,
        seed=5,
        log=lambda _: None,
        **settings,
    )


async def train(model: NNModel, optimizer: str = "sgdm", **settings: Any) -> list[list[float]]:
    """Train for a few epochs; return the losses and the validation losses."""
    given = {"epochs": EPOCHS, "seeds": 0, "restore_best": False, **settings}
    history = await model.train(optimizer=optimizer, **given)
    return [history.losses, [epoch.val_loss or 0.0 for epoch in history.epochs]]


async def results(backend: str, only: str = "") -> dict[str, Any]:
    """Return the losses of all runs, or of those with some optimizers, and what they ran on."""
    found: dict[str, Any] = {}
    for name, optimizer in RUNS:
        if only and optimizer not in only.split(","):
            continue
        model = await create(name, backend)
        found[f"{name} {optimizer}"] = await train(model, optimizer)
        found["device"] = model.backend.device
        model.close()
    return found


def program(devices: int, *arguments: str) -> subprocess.Popen[str]:
    """Start this module as a program on so many devices of its own."""
    flags = (
        f"--xla_force_host_platform_device_count={devices}",
        # How machine code divides the work does not depend on how good it is.
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
    )
    settings = {"XLA_FLAGS": " ".join(flags), "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.unit.backends.cloud", *arguments],
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answers(*programs: subprocess.Popen[str], seconds: float = 240) -> list[dict[str, Any]]:
    """Return what programs print last; fail with the first one that does."""
    found: list[dict[str, Any]] = []
    try:
        for started in programs:
            out, err = started.communicate(timeout=seconds)
            assert started.returncode == 0, err
            found.append(json.loads(out.splitlines()[-1]))
    finally:
        for started in programs:
            started.kill()
            started.communicate()
    return found


def main() -> None:
    """Train all models on JAX and print the results."""
    only, *several = sys.argv[1:] or [""]
    if several:
        import jax

        address, processes, number = several[0], int(several[1]), int(several[2])
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, processes, number)
    print(json.dumps(asyncio.run(results("jax", only))))


if __name__ == "__main__":
    main()
