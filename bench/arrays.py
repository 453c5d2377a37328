"""Array programs, compared with jax-js and TensorFlow.js: milliseconds per iteration, and lines."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.contest import Contest, Failed
from bench.training_steps import Unequal, best_of
from tools.common import ROOT, say

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "bench" / "array_programs"
FILES = {"ours": "ours.py", "jaxjs": "jaxjs.js", "tfjs": "tfjs.js"}
CHECKED = 5
"""After this many iterations, all programs must have the same state."""
APART = 1e-3
BY_HAND = "single"
"""The program that is also written in WebNN by hand."""
TITLES = {
    "mlp": "training step of an MLP 784-256-128-10, batch 64",
    "logistic": "logistic regression, step of 1,000 rows of 20",
    "chain": "20 element-wise operations on 100,000 numbers",
    "single": "one element-wise operation on 1,000 numbers, with its reading",
    "products": "8 products of matrices of 256 × 256",
    "life": "game of life, 256 × 256 cells",
}
SHAPES: Mapping[str, Mapping[str, Sequence[int]]] = {
    "mlp": {
        "x": [64, 784],
        "y": [64, 10],
        "w1": [784, 256],
        "b1": [256],
        "w2": [256, 128],
        "b2": [128],
        "w3": [128, 10],
        "b3": [10],
    },
    "logistic": {"x": [1000, 20], "y": [1000], "w": [20]},
    "chain": {"x": [100_000]},
    "single": {"x": [1000]},
    "products": {"a": [256, 256], "m": [256, 256]},
    "life": {"board": [256, 256]},
}
"""The inputs of the programs; arrays.js fills them."""


async def measure(contest: Contest, rounds: int, seconds: float) -> dict[str, Any]:
    """Return the median times and the lines of all contestants for every program.

    Raises `Unequal` if they do not compute the same.
    """
    async with contest.another_page():
        facts = await contest.run("beginArrays")
        contest.facts["arrays"] = facts
        backends = [f"tfjs/{backend_name}" for backend_name in facts["tensorflow"]["found"]]
        return {
            name: await _program(contest, name, contestants(name, backends), rounds, seconds)
            for name in TITLES
        }


def contestants(name: str, backends: list[str]) -> list[str]:
    """Return the contestants of a program: "eager" are our programs without `jit`."""
    by_hand = ["webnn"] if name == BY_HAND else []
    return ["ours", "eager", *by_hand, "jaxjs", *backends]


async def _program(
    contest: Contest, name: str, those: list[str], rounds: int, seconds: float
) -> dict[str, Any]:
    states: dict[str, list[float]] = {}
    for contestant in those:
        try:
            await contest.run("openProgram", contestant, name, SHAPES[name])
            states[contestant] = await contest.run("runProgram", contestant, "state", CHECKED)
        except Failed as error:
            if not contestant.startswith("tfjs/"):
                raise
            say(f"  {contestant}: {str(error).splitlines()[0]}")
    _same(states, name)
    times: dict[str, list[float]] = {contestant: [] for contestant in states}
    for number in range(rounds):
        turn = number % len(times)
        for contestant in [*times][turn:] + [*times][:turn]:
            times[contestant].append(
                await contest.run("runProgram", contestant, "iterate", 1e3 * seconds)
            )
        summary = ", ".join(
            f"{contestant} {measurements[-1]:.3f}" for contestant, measurements in times.items()
        )
        say(f"  {name} round {number + 1}: {summary}")
    medians = {
        contestant: statistics.median(measurements) for contestant, measurements in times.items()
    }
    tfjs = best_of(medians, "tfjs/")
    return {
        "title": TITLES[name],
        "ours": medians["ours"],
        "eager": medians["eager"],
        "webnn": medians.get("webnn"),
        "jaxjs": medians["jaxjs"],
        "jaxjs_device": contest.facts["arrays"]["jaxjs"]["used"],
        "tfjs": medians[tfjs],
        "tfjs_backend": tfjs.removeprefix("tfjs/"),
        # From the same rounds, since the machine's other load differs from round to round.
        "ratios": {
            kind: statistics.median(
                theirs / ours for theirs, ours in zip(times[contestant], times["ours"], strict=True)
            )
            for kind, contestant in (("jaxjs", "jaxjs"), ("tfjs", tfjs))
        },
        "lines": {contestant: lines(FOLDER / file)[name] for contestant, file in FILES.items()},
        "rounds": times,
    }


def _same(states: Mapping[str, Sequence[float]], name: str) -> None:
    (reference, expected), *others = states.items()
    largest = max(map(abs, expected))
    for other, values in others:
        apart = max(abs(a - b) for a, b in zip(expected, values, strict=True))
        if apart > APART * largest:
            raise Unequal(f"{name}: {reference} and {other} are {apart:.3g} apart of {largest:.3g}")


def lines(file: Path) -> dict[str, int]:
    """Return the number of lines of each function in a file, without blank lines and comments."""
    text = file.read_text(encoding="utf-8").splitlines()
    if file.suffix == ".py":
        functions = [e for e in ast.parse("\n".join(text)).body if isinstance(e, ast.FunctionDef)]
        line_ranges = {
            function.name: (function.lineno - 1, function.end_lineno) for function in functions
        }
    else:
        starts = [at for at, line in enumerate(text) if line.startswith("export function* ")]
        line_ranges = {
            text[at].split()[2].partition("(")[0]: (at, text.index("}", at) + 1) for at in starts
        }
    return {
        name: sum(bool(line.strip()) for line in text[start:stop])
        for name, (start, stop) in line_ranges.items()
    }
