"""Milliseconds of an inference: rows go to the device, are computed, and the results come back."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from bench.contest import DATA, Contest, Failed
from bench.training_steps import Unequal, best_of
from bench.workloads import Workload, write
from tools.common import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

APART = 1e-4
"""Largest difference allowed between the probabilities of two contestants."""
FIRST_REPEATS = 3
SHORTEST, SLOWEST = 0.05, 200


async def measure(
    contest: Contest, workload: Workload, rows: int, rounds: int, seconds: float
) -> dict[str, Any]:
    """Return the median times of an inference of that many rows, after a check of its results.

    Raises `Unequal` if results differ.
    """
    described = write(workload, DATA)
    await contest.run("take", described)
    await contest.torch.ask("open", workload=described, folder=str(DATA))
    await contest.run("prepare", "ours")
    await contest.run("prepare", "forward", rows)
    times: dict[str, list[float]] = {}
    predict: list[float] = []
    backends = list(contest.facts["tensorflow"]["found"])
    results: dict[str, Sequence[float]] = {}
    one = await contest.call("forward", "forward", 50)
    repeats = max(20, min(2000, round(1e3 * seconds / one)))
    for number in range(rounds):
        found = {"webnn": await contest.call("forward", "forward", repeats)}
        results["webnn"] = await contest.call("forward", "result")
        ours = await contest.call("ours", "forward", rows, repeats)
        found["ours"], results["ours"] = ours["time"], ours["result"]
        predict.append(ours["predict"])
        for threads in (1, 2):
            torch = await contest.torch.ask("forward", rows=rows, repeats=repeats, threads=threads)
            found[f"torch/{threads}"], results["torch"] = torch["time"], torch["result"]
        for backend in list(backends):
            try:
                await contest.run("prepare", "tfjs", backend)
                first = await contest.call("tfjs", "forward", rows, FIRST_REPEATS)
                if first > SLOWEST:
                    backends.remove(backend)
                # The page's clock may not advance during a few runs of a small network.
                again = max(FIRST_REPEATS, round(1e3 * seconds / max(first, SHORTEST) / 2))
                found[f"tfjs/{backend}"] = await contest.call("tfjs", "forward", rows, again)
                results[f"TensorFlow.js {backend}"] = await contest.call("tfjs", "result", rows)
            except Failed as error:
                backends.remove(backend)
                say(f"  TensorFlow.js {backend}: {str(error).splitlines()[0]}")
            finally:
                await contest.run("close", "tfjs")
        same(results, workload.name)
        for name, time in found.items():
            times.setdefault(name, []).append(time)
        summary = ", ".join(f"{name} {time:.3f}" for name, time in found.items())
        say(f"  inference of {workload.name}, round {number + 1}: {summary}")
    for name in ("ours", "forward"):
        await contest.run("close", name)
    medians = {name: statistics.median(t) for name, t in times.items()}
    torch, tfjs = best_of(medians, "torch/"), best_of(medians, "tfjs/")
    return {
        "title": workload.title,
        "rows": rows,
        "ours": medians["ours"],
        "predict": statistics.median(predict),
        "webnn": medians["webnn"],
        "torch": medians[torch],
        "torch_threads": torch.removeprefix("torch/"),
        "tfjs": medians.get(tfjs),
        "tfjs_backend": tfjs.removeprefix("tfjs/"),
        "rounds": times,
    }


def same(results: Mapping[str, Sequence[float]], where: str) -> None:
    """Raise `Unequal` unless all results agree."""
    (reference, expected), *others = results.items()
    for name, values in others:
        apart = max(abs(a - b) for a, b in zip(expected, values, strict=True))
        if apart > APART:
            raise Unequal(f"{where}: results of {reference} and {name} differ by {apart}")
