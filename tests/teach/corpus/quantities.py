"""Kinds of tables whose rows have a quantity, a count or a quantile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, chance, hidden_layers, text_of, training
from tests.teach.setup import Setup, of
from tests.teach.texts import dense
from webnnm import xp

TRAINED = 0.7


def _smooth(draw: Draw, x: NDArray[Any]) -> NDArray[Any]:
    """Return a smooth function of the first columns, with deviation 1."""
    a, b, c = x[:, 0], x[:, 1], x[:, 2]
    functions = (
        a + 0.7 * b - 0.5 * c,
        a * b + c,
        np.sin(1.5 * a) + 0.5 * b,
        np.abs(a) - 0.4 * c**2,
    )
    y = functions[int(draw.integers(len(functions)))]
    return (y - y.mean()) / y.std()


def _features(draw: Draw, rows: int, least: int = 3, most: int = 9) -> NDArray[Any]:
    return draw.normal(0, 1, (rows, int(draw.integers(least, most))))


def _estimator(draw: Draw, features: int, outputs: int = 1, loss: str = "", end: str = "") -> str:
    head = dense(outputs, end or "identity")
    return text_of(features, f"{hidden_layers(draw)}, {head}", outputs, loss)


def _explained(noise: float) -> float:
    """Return the R² of a function of deviation 1 under noise."""
    return 1 / (1 + noise**2)


@kind
def weighted_sum(draw: Draw) -> Generated:
    rows = int(between(draw, 80, 1500))
    x, noise = _features(draw, rows), between(draw, 0.05, 1)
    weights = draw.normal(0, 1, x.shape[1])
    y = x @ (weights / np.linalg.norm(weights)) + draw.normal(0, noise, rows)
    data = of(x.astype("float32"), y.astype("float32")[:, None], standardize=True)
    text = text_of(x.shape[1], dense(1, "identity"), 1)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, _explained(noise))


@kind
def smooth_function(draw: Draw) -> Generated:
    rows = int(between(draw, 400, 2000))
    x, noise = _features(draw, rows, 3, 7), between(draw, 0.05, 0.8)
    y = 40 + 25 * (_smooth(draw, x) + draw.normal(0, noise, rows))
    data = of(
        (10 * x + 5).astype("float32"),
        y.astype("float32")[:, None],
        standardize=True,
        standardize_targets=True,
    )
    text = _estimator(draw, x.shape[1])
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, _explained(noise))


@kind
def curve_of_one_variable(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 150, 600)), between(draw, 0.05, 0.4)
    x = draw.uniform(-3, 3, (rows, 1))
    y = np.sin(between(draw, 0.7, 1.8) * x) * 1.4 + draw.normal(0, noise, x.shape)
    text = text_of(1, f"{dense(24, 'tanh')}, {dense(1, 'identity')}", 1)
    train = {"optimizer": "adam", "lr": between(draw, 0.01, 0.03), "epochs": 120}
    data = of(x.astype("float32"), y.astype("float32"), standardize=True)
    return Generated(Setup(text, data, train, score="r2"), float(1 - noise**2 / y.var()))


@kind
def heavy_tails(draw: Draw) -> Generated:
    rows = int(between(draw, 400, 1500))
    x = _features(draw, rows, 3, 6)
    noise = between(draw, 0.1, 0.4) * draw.standard_t(between(draw, 1.7, 3), rows)
    y = (_smooth(draw, x) + noise).astype("float32")[:, None]
    loss = str(draw.choice(["MAE", "HUL; model:delta 1"]))
    setup = Setup(
        _estimator(draw, x.shape[1], loss=loss),
        of(x.astype("float32"), y, standardize=True),
        training(draw, int(TRAINED * rows)),
        score="loss",
    )
    if loss == "MAE":
        return Generated(setup, float(np.abs(noise).mean()), float(np.abs(y - np.median(y)).mean()))
    return Generated(setup, _huber(noise), _huber(y - np.median(y)))


def _huber(error: NDArray[Any]) -> float:
    size = np.abs(error)
    return float(np.where(size < 1, size**2 / 2, size - 0.5).mean())


@kind
def counts(draw: Draw) -> Generated:
    rows = int(between(draw, 400, 1500))
    x = _features(draw, rows, 3, 6)
    mean = np.exp(between(draw, 0.7, 3) + 0.5 * _smooth(draw, x))
    y = draw.poisson(mean).astype("float32")
    data = of(x.astype("float32"), y[:, None], standardize=True, standardize_targets=True)
    setup = Setup(
        _estimator(draw, x.shape[1]), data, training(draw, int(TRAINED * rows)), score="r2"
    )
    return Generated(setup, float(1 - ((y - mean) ** 2).mean() / y.var()))


@kind
def counts_by_their_likelihood(draw: Draw) -> Generated:
    rows = int(between(draw, 400, 1500))
    x = _features(draw, rows, 3, 6)
    mean = np.exp(between(draw, 0.3, 1.5) + 0.5 * _smooth(draw, x))
    y = draw.poisson(mean).astype("float32")

    def poisson(prediction: Any, target: Any) -> Any:
        return xp.mean(xp.exp(prediction) - target * prediction, axis=-1)

    train = training(draw, int(TRAINED * rows)) | {"loss": poisson}
    data = of(x.astype("float32"), y[:, None], standardize=True)
    setup = Setup(_estimator(draw, x.shape[1]), data, train, score="loss")
    best, constant = (float((m - y * np.log(m)).mean()) for m in (mean, y.mean()))
    return Generated(setup, best, constant)


def _pinball(error: NDArray[Any], level: float) -> float:
    return float(np.maximum(level * error, (level - 1) * error).mean())


@kind
def quantiles_of_waiting_times(draw: Draw) -> Generated:
    rows, level = int(between(draw, 500, 1500)), float(draw.choice([0.1, 0.25, 0.5, 0.75, 0.9]))
    x = _features(draw, rows, 3, 6)
    mean = np.exp(0.8 * _smooth(draw, x))
    waits = draw.gamma(4, 0.25, rows)
    y = (mean * waits).astype("float32")
    text = _estimator(draw, x.shape[1], loss=f"QUL; model:alpha {level}")
    train = training(draw, int(TRAINED * rows))
    setup = Setup(text, of(x.astype("float32"), y[:, None], standardize=True), train, score="loss")
    best = _pinball(y - mean * np.quantile(waits, level), level)
    return Generated(setup, best, _pinball(y - np.quantile(y, level), level))


@kind
def costs_of_ones_own(draw: Draw) -> Generated:
    rows, over = int(between(draw, 500, 1500)), float(draw.uniform(2, 6))
    x, noise = _features(draw, rows, 3, 6), between(draw, 0.2, 0.8)
    error = draw.normal(0, noise, rows)
    y = (_smooth(draw, x) + error).astype("float32")

    def cost(prediction: Any, target: Any) -> Any:
        missing = target - prediction
        return xp.mean(xp.maximum(over * missing, -missing), axis=-1)

    train = training(draw, int(TRAINED * rows)) | {"loss": cost}
    data = of(x.astype("float32"), y[:, None], standardize=True)
    setup = Setup(_estimator(draw, x.shape[1]), data, train, score="loss")
    level = over / (1 + over)
    best, constant = (_pinball(e - np.quantile(e, level), level) * (1 + over) for e in (error, y))
    return Generated(setup, best, constant)


@kind
def prices_by_their_logarithm(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 400, 1500)), between(draw, 0.1, 0.6)
    x = _features(draw, rows, 4, 8)
    y = np.log(90_000 * np.exp(0.5 * (_smooth(draw, x) + draw.normal(0, noise, rows))))
    data = of(x.astype("float32"), y.astype("float32"), standardize=True, standardize_targets=True)
    setup = Setup(
        _estimator(draw, x.shape[1]), data, training(draw, int(TRAINED * rows)), score="r2"
    )
    return Generated(setup, _explained(noise))


@kind
def fractions_under_a_sigmoid(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 400, 1500)), between(draw, 0.05, 0.5)
    x = _features(draw, rows, 3, 6)
    clean = _smooth(draw, x)
    y, best = (1 / (1 + np.exp(-1.5 * z)) for z in (clean + draw.normal(0, noise, rows), clean))
    text = _estimator(draw, x.shape[1], loss="MSE", end="sigmoid")
    data = of(x.astype("float32"), y.astype("float32"), standardize=True)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, float(1 - ((y - best) ** 2).mean() / y.var()))


@kind
def several_quantities(draw: Draw) -> Generated:
    rows, noise, outputs = int(between(draw, 400, 1500)), between(draw, 0.1, 0.5), 3
    x = _features(draw, rows, 4, 8)
    y = np.stack([_smooth(draw, x) for _ in range(outputs)], axis=1)
    y = y + draw.normal(0, noise, y.shape)
    data = of(x.astype("float32"), y.astype("float32"), standardize=True, standardize_targets=True)
    text = _estimator(draw, x.shape[1], outputs)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, _explained(noise))


@kind
def autoencoder(draw: Draw) -> Generated:
    rows, width, code = int(between(draw, 300, 1000)), int(draw.integers(8, 20)), 3
    noise = between(draw, 0.05, 0.4)
    clean = draw.normal(0, 1, (rows, code)) @ draw.normal(0, 1 / np.sqrt(code), (code, width))
    x = (clean + draw.normal(0, noise, clean.shape)).astype("float32")
    inner = f"{dense(code, 'identity')}, {dense(width, 'identity')}"
    wide = chance(draw, 0.5)
    layers = f"{dense(16, 'tanh')}, {dense(code, 'identity')}, {dense(16, 'tanh')}, "
    layers = f"{layers}{dense(width, 'identity')}" if wide else inner
    train = {"optimizer": "adam", "lr": between(draw, 0.005, 0.015), "epochs": 50}
    setup = Setup(text_of(width, layers, width, "MSE"), of(x, x.copy()), train, score="r2")
    return Generated(setup, float(1 - noise**2 / x.var(axis=0).mean()))
