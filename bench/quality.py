"""Measures what `train()` reaches without a single hyperparameter, beside scikit-learn.

Run `make quality`. Mean over seeds 0–9 of the score on 30 % testing rows, features standardised on
the training rows, the same rows for both.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
import warnings
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor  # type: ignore[reportMissingTypeStubs]

from bench.datasets import PROBLEMS, Problem
from webnnm import NNModel


async def score(problem: Problem, seed: int, **settings: Any) -> float:
    """Return the score of one training on the testing rows."""
    model = await NNModel.create(
        source=problem.text,
        dataset=problem.data(seed),
        backend="numpy",
        seed=seed,
        log=lambda _: None,
    )
    async with model:
        await model.train(progress="off", **settings)
        return getattr(await model.test(), problem.metric)


def peer(problem: Problem, seed: int) -> float:
    """Return the score of scikit-learn's network, with its own defaults, on the same rows."""
    data = problem.data(seed)
    kind = MLPRegressor if problem.metric == "r2" else MLPClassifier
    (x, y), (test_x, test_y) = (
        [np.asarray(next(iter(side.values())).tolist()) for side in data.arrays(part)]
        for part in ("training", "testing")
    )
    network = kind(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(x.reshape(len(x), -1), y.ravel())
    return float(network.score(test_x.reshape(len(test_x), -1), test_y.ravel()))


async def main() -> int:
    """Print the table; the status tells whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print("| Dataset | score | webnnm | lowest | target | scikit-learn | seconds per training |")
    print("|---|---|--:|--:|--:|--:|--:|")
    missed = 0
    for problem in PROBLEMS:
        if given.only not in problem.name:
            continue
        began = time.perf_counter()
        ours = [await score(problem, seed) for seed in range(given.seeds)]
        seconds = (time.perf_counter() - began) / given.seeds
        theirs = [peer(problem, seed) for seed in range(given.seeds)]
        mean = statistics.mean(ours)
        missed += mean < problem.target
        print(
            f"| {problem.name} | {problem.metric} | {mean:.4f} | {min(ours):.4f} | "
            f"{problem.target} | {statistics.mean(theirs):.4f} | {seconds:.1f} |",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
