"""The cost of building a graph, and how the cost of a step grows with batch, width and depth."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from bench.contest import DATA, Contest
from bench.training_steps import same
from bench.workloads import CLASSES, Workload, mlp, write
from tools.common import say

if TYPE_CHECKING:
    from collections.abc import Sequence

OPERATORS = (500, 2_000, 10_000)
FEATURES = 256
BASE = {"batch": 64, "width": 256, "depth": 2}
SCALES: dict[str, Sequence[int]] = {
    "batch": (16, 32, 64, 128, 256, 512),
    "width": (64, 128, 256, 512, 1024),
    "depth": (2, 4, 8, 16, 32, 64),
}
STEPS = 20
LEARNING_RATE = 1e-3


async def building(contest: Contest, rounds: int) -> list[dict[str, Any]]:
    """Return the milliseconds of building graphs of more and more operators."""
    results: list[dict[str, Any]] = []
    for operators in OPERATORS:
        answers = [await contest.run("build", operators, float(number)) for number in range(rounds)]
        ours = {
            key: statistics.median(f["ours"][key] for f in answers) for key in answers[0]["ours"]
        }
        webnn = statistics.median(f["webnn"] for f in answers)
        results.append({"operators": operators, "ours": ours, "webnn": webnn})
        say(f"  building: {results[-1]}")
    return results


def scale_network(**changed: int) -> Workload:
    """Return a network with another batch size, width or depth."""
    size = BASE | changed
    name = "scale_" + "_".join(f"{key}_{value}" for key, value in changed.items())
    layers = [FEATURES, *[size["width"]] * size["depth"], CLASSES]
    return mlp(name, name, layers, size["batch"], STEPS, LEARNING_RATE)


async def scale(
    contest: Contest, rounds: int, seconds: float, *, quick: bool = False
) -> dict[str, Any]:
    """Return the milliseconds of a step by batch, width and depth, of webnnm and by hand."""
    points: dict[str, Any] = {}
    for kind, values in SCALES.items():
        chosen = values[:: len(values) - 1] if quick else values
        for value in chosen:
            times = await _pair(contest, scale_network(**{kind: value}), rounds, seconds)
            points.setdefault(kind, []).append({"value": value, **times})
            say(f"  {kind} {value}: ours {times['ours']:.3f}, by hand {times['webnn']:.3f}")
    return {"base": BASE, "features": FEATURES, "kinds": points}


async def _pair(
    contest: Contest, workload: Workload, rounds: int, seconds: float
) -> dict[str, Any]:
    await contest.run("take", write(workload, DATA))
    names = ("ours", "webnn")
    for name in names:
        await contest.run("prepare", name)
    firsts = {name: (await contest.call(name, "train", 1)) for name in names}
    same({name: [first["first"]] for name, first in firsts.items()}, workload.name)
    step = (await contest.call("webnn", "train", 2))["step"]
    epochs = max(4, min(1000, round(1e3 * seconds / (step * workload.steps))))
    times: dict[str, list[float]] = {name: [] for name in names}
    build: list[float] = []
    for number in range(rounds):
        for name in names if number % 2 else names[::-1]:
            result = await contest.call(name, "train", epochs)
            times[name].append(result["step"])
            if name == "ours":
                build.append(result["phases"]["build"])
    for name in names:
        await contest.run("close", name)
    medians = {name: statistics.median(t) for name, t in times.items()}
    return {**medians, "build": 1e3 * statistics.median(build), "rounds": times}
