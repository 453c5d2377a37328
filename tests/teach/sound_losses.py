"""Sound programs: losses and scales that fit their targets, whatever R² says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.teach.cases import sound
from tests.teach.programs import clusters, quantity
from tests.teach.setup import Setup, of
from tests.teach.texts import regressor
from webnnm import xp

LOGARITHMS = {"standardize_targets": True, "target_scale": "log1p"}


def _features(seed: int) -> tuple[np.random.Generator, NDArray[np.float32]]:
    draw = np.random.default_rng(seed)
    return draw, draw.normal(0, 1, (500, 5)).astype("float32")


def _regression(x: Any, y: Any, loss: str = "", **options: Any) -> Setup:
    data = of(x, y.astype("float32")[:, None], standardize=True, **options)
    return Setup(regressor(5, (16,), loss=loss), data, {"epochs": 40}, score="r2")


@sound("Counts with the likelihood of Poisson, written as a loss of one's own.")
def counts_with_their_likelihood() -> Setup:
    draw, x = _features(160)
    y = draw.poisson(np.exp(0.2 + 0.6 * x[:, 0] - 0.4 * x[:, 1]))

    def poisson(prediction: Any, target: Any) -> Any:
        return xp.mean(xp.exp(prediction) - target * prediction, axis=-1)

    return _regression(x, y).trained(loss=poisson)


@sound("A mean and a deviation at once, by the likelihood of a normal distribution.")
def mean_and_deviation() -> Setup:
    draw, x = _features(161)
    y = 0.5 * x[:, :1] + np.exp(0.5 * x[:, 1:2]) * draw.normal(0, 1, (500, 1))

    def likelihood(prediction: Any, target: Any) -> Any:
        mean, log_std = prediction[..., 0], prediction[..., 1]
        return log_std + 0.5 * ((target[..., 0] - mean) * xp.exp(-log_std)) ** 2

    data = of(x, np.repeat(y, 2, axis=1).astype("float32"), standardize=True)
    return Setup(regressor(5, (16,), 2), data, {"loss": likelihood, "epochs": 40}, score="r2")


@sound("Small counts of visits, standardised, under the squared error.")
def small_counts() -> Setup:
    draw, x = _features(162)
    return _regression(x, draw.poisson(np.exp(0.8 + 0.5 * x[:, 0])), standardize_targets=True)


@sound("Counts whose logarithm is learnt, with zeros among them.")
def logarithm_of_counts() -> Setup:
    draw, x = _features(163)
    return _regression(x, draw.poisson(np.exp(1.5 + x[:, 0] - 0.8 * x[:, 1])), **LOGARITHMS)


@sound("Damages with a tail so long that their logarithm has one as well, which is learnt.")
def logarithm_of_damages() -> Setup:
    draw, x = _features(164)
    return _regression(x, draw.pareto(1.5, 500) * np.exp(0.7 * x[:, 0]), "MSE", **LOGARITHMS)


@sound("A weight decay of 1 at a rate of 0.001, which averages over sixty epochs.")
def strong_decay_at_a_low_rate() -> Setup:
    return clusters(optimizer="adamw", weight_decay=1.0, lr=0.001)


@sound("A high rate at first, with small batches, that a cosine lowers to 0.")
def high_rate_that_falls() -> Setup:
    return quantity(optimizer="adam", lr=0.08, batch_size=8, epochs=40)
