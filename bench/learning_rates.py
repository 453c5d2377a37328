"""Measures test accuracy over learning rates, from which `docs/defaults.md` takes the defaults.

Run `python -m bench.learning_rates`; it takes a few minutes.
"""

from __future__ import annotations

import asyncio
import statistics

from webnnm import IrisDataset, NNModel
from webnnm.training.optimizers import OPTIMIZERS

SOURCE = """
model:input shape=[4];
model:output shape=[3];
model:layers dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
SEEDS = range(10)
EPOCHS = 200


async def accuracy(optimizer: str, rate: float, seed: int, standardize: bool) -> float:
    """Return the test accuracy of one training on Iris."""
    iris = await IrisDataset.create(seed=seed, standardize=standardize)
    async with await NNModel.create(
        source=SOURCE, dataset=iris, backend="numpy", seed=seed, log=lambda _: None
    ) as model:
        await model.train(epochs=EPOCHS, optimizer=optimizer, lr=rate)
        return (await model.test()).outputs["model"].accuracy


async def main() -> None:
    """Print a table of mean accuracies in Markdown."""
    print("| Optimizer | standardised |", " | ".join(f"{rate:g}" for rate in RATES), "|")
    print("|---|---|" + "--:|" * len(RATES))
    for optimizer in OPTIMIZERS:
        for standardize in (True, False):
            means = [
                statistics.mean([await accuracy(optimizer, rate, s, standardize) for s in SEEDS])
                for rate in RATES
            ]
            row = " | ".join(f"{mean:.3f}" for mean in means)
            print(f"| {optimizer} | {'yes' if standardize else 'no'} | {row} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
