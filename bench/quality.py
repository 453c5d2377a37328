"""Compares `train()` without a single hyperparameter with scikit-learn and PyTorch.

Run `make quality`. Means over seeds 0–9 of scores on test rows, ± their standard errors; the same
rows for all, features standardised on the training rows. "− peer" is the mean difference over
the seeds in its standard errors, positive where webnnm is better. The peers' scores are kept in
.cache/quality, those of webnnm are measured again. `--half testing` takes the forty problems that
nothing was chosen on, `tuning` the sixty others, both of bench/halves.py. `--set lr=0.01` trains
with hyperparameters, `--backend onnxruntime` on another backend; `--peers` measures peers alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.datasets import PICTURES, PROBLEMS, Problem
from bench.halves import divide
from bench.peers import PEERS, TREES, Peer, scores
from webnnm import NNModel

KEPT = Path(__file__).resolve().parent.parent / ".cache" / "quality" / "peers.json"
SMALLER = ("mae",)
"""Scores for which lower is better."""


async def ours(
    problem: Problem, seed: int, backend: str = "numpy", **settings: Any
) -> dict[str, float]:
    """Return the scores of one training on the test rows."""
    data = problem.data(seed)
    model = await NNModel.create(
        source=problem.source, dataset=data, backend=backend, seed=seed, log=lambda _: None
    )
    async with model:
        await model.train(progress="off", **settings)
        inputs, targets = data.arrays("testing")
        answer = await model.predict(next(iter(inputs.values())), raw=True)
    predictions = np.asarray(answer.tolist())
    predictions = predictions.argmax(1) if problem.outputs > 1 else predictions[:, 0]
    return scores(problem.scores, np.ravel(next(iter(targets.values())).tolist()), predictions)


Results = Mapping[str, Sequence[Mapping[str, float]]]
"""The scores and seconds of each library by seed."""


def of_peers(problem: Problem, seeds: int, peers: Mapping[str, Peer]) -> Results:
    """Return the scores of every peer by seed, from the file in which they are cached."""
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    scores: dict[str, list[dict[str, float]]] = {}
    for name, peer in peers.items():
        for seed in range(seeds):
            key = f"{name}|{problem.name}|{problem.hidden}|{problem.training}|{seed}"
            if key not in kept:
                began = time.process_time()
                kept[key] = peer(problem, seed) | {"seconds": time.process_time() - began}
                KEPT.parent.mkdir(parents=True, exist_ok=True)
                KEPT.write_text(json.dumps(kept))
            scores.setdefault(name, []).append(kept[key])
    return scores


def format_mean(values: Sequence[float]) -> str:
    """Return the mean ± its standard error."""
    return f"{statistics.mean(values):.3f} ± {_error(values):.3f}"


def apart(values: Sequence[float], others: Sequence[float], score: str) -> float:
    """Return the mean difference in its standard errors, positive where `values` are better."""
    sign = -1 if score in SMALLER else 1
    differences = [sign * (a - b) for a, b in zip(values, others, strict=True)]
    mean, error = statistics.mean(differences), _error(differences)
    return mean / error if error else math.copysign(math.inf, mean) if mean else 0.0


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def _read(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _choose(options: argparse.Namespace) -> Iterator[tuple[str, Problem]]:
    """Yield the kinds and problems that are measured."""
    problems = [("", problem) for problem in PROBLEMS]
    if options.half:
        problems = divide()[options.half]
    elif options.only:
        problems.append(("", PICTURES))
    for kind, problem in problems:
        if not options.only or any(word in problem.name for word in options.only):
            yield kind, problem


def _get_peers(kind: str, problem: Problem) -> Mapping[str, Peer]:
    if problem is PICTURES:
        return {}
    return {**PEERS, **(TREES if kind == "table" else {})}


async def _measure(problem: Problem, options: argparse.Namespace) -> list[dict[str, float]]:
    """Return the scores and seconds of webnnm by seed."""
    results: list[dict[str, float]] = []
    for seed in range(options.seeds):
        began = time.process_time()
        scores = await ours(problem, seed, options.backend, **dict(options.set))
        results.append(scores | {"seconds": time.process_time() - began})
    return results


class _Summary:
    """Ranks among webnnm and its peers, and how often the difference is beyond two errors."""

    def __init__(self) -> None:
        self.ranks: dict[str, list[float]] = {"webnnm": [], **{name: [] for name in PEERS}}
        self.differences: dict[str, list[float]] = {name: [] for name in (*PEERS, *TREES)}
        self.ratios: dict[str, list[float]] = {name: [] for name in self.differences}

    def add(self, results: Results, score: str) -> None:
        """Add the results of a problem."""
        sign = -1 if score in SMALLER else 1
        means = {n: sign * statistics.mean(one[score] for one in results[n]) for n in results}
        networks = {n: mean for n, mean in means.items() if n in self.ranks}
        for name, mean in networks.items():
            better = sum(other > mean for other in networks.values())
            equal = sum(other == mean for other in networks.values())
            self.ranks[name].append(better + (equal + 1) / 2)
        for name in results.keys() - {"webnnm"}:
            pair = [[one[score] for one in results[n]] for n in ("webnnm", name)]
            self.differences[name].append(apart(*pair, score))
            times = [sum(one["seconds"] for one in results[n]) for n in ("webnnm", name)]
            self.ratios[name].append(times[0] / times[1])

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {statistics.mean(of):.2f}" for name, of in self.ranks.items())
        lines = [f"mean rank of the networks: {ranks}"]
        for name, values in self.differences.items():
            if values:
                wins, losses = sum(v > 2 for v in values), sum(v < -2 for v in values)
                lines.append(
                    f"against {name}: {wins} wins, {len(values) - wins - losses} ties, {losses} "
                    f"losses; {statistics.median(self.ratios[name]):.1f} times its time (median)"
                )
        return "\n".join(lines)


async def main() -> int:
    """Print the table; the exit status is 1 if webnnm is two standard errors worse than a peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--half", choices=("tuning", "testing"))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of datasets")
    parser.add_argument("--backend", default="numpy", help="for instance onnxruntime")
    parser.add_argument("--set", nargs="*", default=[], type=_read, metavar="NAME=VALUE")
    options = parser.parse_args()
    names = (*PEERS, *(TREES if options.half else ()))
    print("| Dataset | score | webnnm |", " | ".join(f"{n} | − peer" for n in names), "| seconds |")
    print("|---|---|--:|" + "--:|--:|" * len(names) + "--:|")
    summary = _Summary()
    for kind, problem in _choose(options):
        results = of_peers(problem, options.seeds, _get_peers(kind, problem))
        if options.peers:
            continue
        results = {"webnnm": await _measure(problem, options), **results}
        for score in problem.scores:
            if len(results) > 1:
                summary.add(results, score)
            _print_row(problem.name, score, results, names)
    if summary.ratios["PyTorch"]:
        print(f"\n{summary}")
    return int(any(value < -2 for name in PEERS for value in summary.differences[name]))


def _print_row(problem: str, score: str, results: Results, names: Sequence[str]) -> None:
    values = {name: [one[score] for one in of] for name, of in results.items()}
    cells = [problem, score, format_mean(values["webnnm"])]
    for name in names:
        if name in values:
            difference = apart(values["webnnm"], values[name], score)
            cells += [format_mean(values[name]), f"{difference:+.1f}"]
        else:
            cells += ["–", "–"]
    seconds = statistics.median(one["seconds"] for one in results["webnnm"])
    print(f"| {' | '.join(cells)} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
