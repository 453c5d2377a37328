"""Milliseconds of a training step of every contestant, after a check that all compute the same."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.contest import DATA, Contest, Failed
from bench.workloads import Workload, write
from tools.common import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHECKED = 5
"""This many first steps are compared one by one."""
APART = 1e-3
"""Largest difference allowed between contestants, relative to the loss."""
LONGEST_STEP = 20_000.0
"""Milliseconds: a backend of TensorFlow.js that takes longer for a step is left out."""
HOPELESS = 3.0
"""A backend that takes this many times as long as the best one is no longer measured."""
THREADS = (1, 2)
"""Numbers of threads of PyTorch: the faster one counts."""


class Unequal(AssertionError):
    """Contestants do not compute the same, so a comparison would be meaningless."""


@dataclass
class Steps:
    """Times by contestant, a list of rounds each, and remarks."""

    workload: Workload
    epochs: int
    times: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    whole: list[float] = field(default_factory=list[float])
    remarks: list[str] = field(default_factory=list[str])
    opened: dict[str, float] = field(default_factory=dict[str, float])
    phases: dict[str, float] = field(default_factory=dict[str, float])

    def note(self, name: str, time: float) -> None:
        """Add the time of a round."""
        self.times.setdefault(name, []).append(time)

    def result(self) -> dict[str, Any]:
        """Return the medians and the times that they were made of."""
        medians = {name: statistics.median(t) for name, t in self.times.items()}
        tfjs, torch = (best_of(medians, prefix) for prefix in ("tfjs/", "torch/"))
        return {
            "title": self.workload.title,
            "steps": self.workload.steps,
            "epochs": self.epochs,
            "ours": medians["ours"],
            "webnn": medians["webnn"],
            "torch": medians[torch],
            "torch_threads": torch.removeprefix("torch/"),
            "tfjs": medians.get(tfjs),
            "tfjs_backend": tfjs.removeprefix("tfjs/"),
            "medians": medians,
            "ours_whole": statistics.median(self.whole),
            "phases": self.phases,
            "rounds": self.times,
            "remarks": self.remarks,
        }


def best_of(medians: Mapping[str, float], prefix: str) -> str:
    """Return the fastest of the variants of a contestant."""
    variants = [name for name in medians if name.startswith(prefix)]
    return min(variants, key=lambda name: medians[name], default="")


async def measure(
    contest: Contest, workload: Workload, rounds: int, seconds: float
) -> dict[str, Any]:
    """Return the median times of a step; each contestant gets about `seconds` per round.

    Raises `Unequal` if losses differ.
    """
    described = write(workload, DATA)
    await contest.run("take", described)
    contest.facts["torch"] = await contest.torch.ask("open", workload=described, folder=str(DATA))
    for name in ("ours", "webnn"):
        await contest.run("prepare", name)
    losses = {name: await contest.call(name, "losses", CHECKED) for name in ("ours", "webnn")}
    losses["torch"] = await contest.torch.ask("losses", count=CHECKED)
    same(losses, workload.name)
    # A training of one epoch has no warm-up of the learning rate.
    firsts = {n: (await contest.call(n, "train", 1))["first"] for n in ("ours", "webnn")}
    firsts["torch"] = await contest.torch.ask("epoch")
    same({name: [loss] for name, loss in firsts.items()}, f"{workload.name}, mean of an epoch")
    step = (await contest.call("webnn", "train", 2))["step"]
    epochs = max(workload.epochs, min(1000, round(1e3 * seconds / (step * workload.steps))))
    steps = Steps(workload, epochs)
    left = list(contest.facts["tensorflow"]["found"]) if workload.tensorflow else []
    steps.remarks += [
        f"TensorFlow.js has no {name} backend here: {why}"
        for name, why in contest.facts["tensorflow"]["missing"].items()
    ]
    for number in range(rounds):
        order = ["ours", "webnn", "torch", "tfjs"]
        turn = number % len(order)
        for name in order[turn:] + order[:turn]:
            if name == "tfjs":
                left = await _tensorflow(contest, steps, left, losses["torch"], seconds)
            elif name == "torch":
                for threads in THREADS:
                    time = await contest.torch.ask("train", seconds=seconds, threads=threads)
                    steps.note(f"torch/{threads}", time)
            else:
                result = await contest.call(name, "train", epochs)
                steps.note(name, result["step"])
                if name == "ours":
                    steps.whole.append(result["whole"])
                    steps.phases = result["phases"]
        summary = ", ".join(f"{name} {t[-1]:.3f}" for name, t in steps.times.items())
        say(f"  {workload.name} round {number + 1}: {summary}")
    for name in ("ours", "webnn"):
        await contest.run("close", name)
    return steps.result()


def same(losses: Mapping[str, Sequence[float]], where: str) -> None:
    """Raise `Unequal` unless all lists of losses agree."""
    (reference, expected), *others = losses.items()
    for name, values in others:
        for number, (a, b) in enumerate(zip(expected, values, strict=True), 1):
            if not math.isclose(a, b, rel_tol=APART, abs_tol=APART):
                raise Unequal(f"{where}: loss {number} of {reference} is {a}, of {name} {b}")


async def _tensorflow(
    contest: Contest, steps: Steps, left: list[str], expected: Sequence[float], seconds: float
) -> list[str]:
    """Measure the remaining backends; return those that are worth another round."""
    times: dict[str, float] = {}
    for backend in left:
        try:
            await contest.run("prepare", "tfjs", backend)
            if f"tfjs/{backend}" not in steps.times:
                losses = await contest.call("tfjs", "losses", 2)
                both = {"torch": expected[:2], f"TensorFlow.js {backend}": losses}
                same(both, steps.workload.name)
            times[backend] = await contest.call("tfjs", "train", 1e3 * seconds)
        except Failed as error:
            reason = str(error).splitlines()[0].removeprefix("Page.evaluate: Error: ")
            steps.remarks.append(
                f"TensorFlow.js on {backend} cannot train {steps.workload.title}: {reason}"
            )
            continue
        finally:
            await contest.run("close", "tfjs")
        steps.note(f"tfjs/{backend}", times[backend])
    limit = min(HOPELESS * min(times.values(), default=0.0), LONGEST_STEP)
    return [backend for backend, time in times.items() if time <= limit]
