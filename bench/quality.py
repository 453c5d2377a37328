"""Compares `train()` without a single hyperparameter with scikit-learn and PyTorch.

Run `make quality`. Means over seeds 0–9 of scores on test rows, ± their standard errors; the same
rows for all, features standardised on the training rows. "− peer" is the mean difference over
the seeds in its standard errors, positive where webnnm is better. The peers' scores are kept in
.cache/quality, those of webnnm are measured again. `--set lr=0.01` trains with hyperparameters,
`--backend onnxruntime` on another backend.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.datasets import PICTURES, PROBLEMS, Problem
from bench.peers import PEERS, scores
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


def of_peers(problem: Problem, seeds: int) -> dict[str, list[dict[str, float]]]:
    """Return the scores of every peer by seed, from the file in which they are cached."""
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    scores: dict[str, list[dict[str, float]]] = {}
    for name, peer in PEERS.items():
        for seed in range(seeds):
            key = f"{name}|{problem}|{seed}"
            if key not in kept:
                kept[key] = peer(problem, seed)
            scores.setdefault(name, []).append(kept[key])
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept))
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


async def main() -> int:
    """Print the table; the exit status is 1 if webnnm is two standard errors worse than a peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of datasets")
    parser.add_argument("--backend", default="numpy", help="for instance onnxruntime")
    parser.add_argument("--set", nargs="*", default=[], type=_read, metavar="NAME=VALUE")
    options = parser.parse_args()
    heads = [f"{name} | − peer" for name in PEERS]
    print("| Dataset | score | webnnm |", " | ".join(heads), "| seconds |")
    print("|---|---|--:|" + "--:|--:|" * len(PEERS) + "--:|")
    behind = 0
    for problem in (*PROBLEMS, PICTURES):
        chosen = any(word in problem.name for word in options.only)
        if not (chosen or (not options.only and problem is not PICTURES)):
            continue
        times: list[float] = []
        results: list[dict[str, float]] = []
        for seed in range(options.seeds):
            began = time.process_time()
            results.append(await ours(problem, seed, options.backend, **dict(options.set)))
            times.append(time.process_time() - began)
        peers = of_peers(problem, options.seeds) if problem is not PICTURES else {}
        for score in problem.scores:
            values = [one[score] for one in results]
            cells = [problem.name, score, format_mean(values)]
            for others in peers.values():
                theirs = [one[score] for one in others]
                difference = apart(values, theirs, score)
                behind += difference < -2
                cells += [format_mean(theirs), f"{difference:+.1f}"]
            cells += ["–"] * (2 * len(PEERS)) if not peers else []
            print(f"| {' | '.join(cells)} | {statistics.median(times):.1f} |", flush=True)
    return int(behind > 0)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
