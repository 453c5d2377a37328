"""Milliseconds of a training step without WebNN: ONNX Runtime, NumPy, TensorFlow.js."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from bench.contest import DATA, Contest, Failed
from bench.training_steps import CHECKED, best_of, same
from bench.workloads import Workload, write
from tools.common import say

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS = ("onnxruntime", "numpy")
"""Backends that do not need WebNN; the page of the contest has it, which does not affect them."""


async def measure(
    contest: Contest, workload: Workload, backends: Sequence[str], rounds: int, seconds: float
) -> dict[str, Any]:
    """Return the median times of a step on some of our backends and the best of TensorFlow.js.

    Raises `Unequal` if the losses of our backends differ.
    """
    await contest.run("take", write(workload, DATA))
    times: dict[str, list[float]] = {}
    losses: dict[str, Sequence[float]] = {}
    for number in range(rounds):
        for backend in backends:
            await contest.run("prepare", "ours", backend)
            if not number:
                losses[backend] = await contest.call("ours", "losses", CHECKED)
            epochs = workload.epochs if backend == OURS[0] else 1
            result = await contest.call("ours", "train", epochs)
            times.setdefault(backend, []).append(result["step"])
            await contest.run("close", "ours")
        for backend in contest.facts["tensorflow"]["found"]:
            try:
                await contest.run("prepare", "tfjs", backend)
                time = await contest.call("tfjs", "train", 1e3 * seconds)
                times.setdefault(f"tfjs/{backend}", []).append(time)
            except Failed as error:
                say(f"  TensorFlow.js {backend}: {str(error).splitlines()[0]}")
            finally:
                await contest.run("close", "tfjs")
        summary = ", ".join(f"{name} {t[-1]:.3f}" for name, t in times.items())
        say(f"  {workload.name} without WebNN, round {number + 1}: {summary}")
    same(losses, workload.name)
    medians = {name: statistics.median(t) for name, t in times.items()}
    tfjs = best_of(medians, "tfjs/")
    return {
        "title": workload.title,
        "onnxruntime": medians["onnxruntime"],
        "numpy": medians.get("numpy"),
        "tfjs": medians[tfjs],
        "tfjs_backend": tfjs.removeprefix("tfjs/"),
        "rounds": times,
    }
