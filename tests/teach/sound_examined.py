"""Sound programs that are like the mistakes which an examination of rows and layers finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.cases import sound
from tests.teach.samples import bars, houses, rare, stripes
from tests.teach.setup import Setup, augmented, of
from tests.teach.texts import CONVOLVED, classifier, model, regressor
from webnnm import TableDataset


def _regression(table: dict[str, Any], label: str, **options: Any) -> Any:
    cells = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in table.items()}
    more = {"standardize": True, "standardize_targets": True, "task": "regression", **options}
    return lambda seed: TableDataset(cells, label=label, seed=seed, **more)


@sound("Rows of the rare class have a weight of 6, those of the other one of 1.")
def weights_for_the_rare() -> Setup:
    x, y = rare(900, 0.07, 2.0)
    weights = np.where(y, 6.0, 1.0).astype("float32")
    return Setup(classifier(4, (12,), 2), of(x, y, standardize=True, sample_weight=weights))


@sound("Two hundred random sines, which are meant to stay so, and a linear layer behind them.")
def random_sines() -> Setup:
    draw = np.random.default_rng(140)
    x = draw.uniform(-1, 1, (500, 2)).astype("float32")
    y = np.sin(3 * x[:, 0]) * np.cos(2 * x[:, 1]) + draw.normal(0, 0.05, 500)
    text = (
        "model:input shape=[2];\nmodel:output shape=[1];\nmodel:layers "
        "matmul(v, shape=[200], trainable=false, init=normal(2)), "
        "add(c, trainable=false, init=uniform(-3.14, 3.14)), sin(), matmul(w), add(b);\n"
    )
    data = of(x, y.astype("float32")[:, None], standardize_targets=True)
    return Setup(text, data, {"epochs": 80}, score="r2")


@sound("The power of a machine is about current times voltage, and is measured.")
def power_that_is_measured() -> Setup:
    draw = np.random.default_rng(141)
    current, voltage = draw.uniform(1, 10, 400), draw.normal(230, 12, 400)
    power = current * voltage * draw.normal(0.9, 0.05, 400)
    table = {"current": current, "voltage": voltage, "power": power}
    return Setup(regressor(2, (16,)), _regression(table, "power"), score="r2")


@sound("A fifth of the rows has an empty cell, and is left out.")
def a_fifth_is_left_out() -> Setup:
    draw = np.random.default_rng(142)
    x, y = houses(600)
    table: dict[str, Any] = {name: x[:, n].tolist() for n, name in enumerate("abcdef")}
    table["c"] = [v if u > 0.2 else None for v, u in zip(table["c"], draw.random(600), strict=True)]
    table["y"] = y[:, 0].tolist()
    return Setup(regressor(6, (24,)), _regression(table, "y", missing="drop"), score="r2")


@sound("Years and months are columns of their own, the months as sine and cosine.")
def years_and_months() -> Setup:
    draw = np.random.default_rng(143)
    year, month = draw.integers(2015, 2024, 500), draw.integers(1, 13, 500)
    angle = 2 * np.pi * month / 12
    guests = 200 + 8 * (year - 2015) - 60 * np.cos(angle) + draw.normal(0, 12, 500)
    table = {"year": year, "sin": np.sin(angle), "cos": np.cos(angle), "guests": guests}
    return Setup(regressor(3, (16,)), _regression(table, "guests"), score="r2")


@sound("Small boats and ships a hundred times as long, with crews that are larger as well.")
def boats_and_ships() -> Setup:
    draw = np.random.default_rng(144)
    ship = draw.random(500) < 0.4
    length = draw.uniform(2, 4, 500) * np.where(ship, 100, 1)
    crew = np.where(ship, draw.normal(60, 8, 500), draw.normal(4, 1, 500))
    fuel = np.log(length) + 0.02 * crew + draw.normal(0, 0.2, 500)
    table = {"length": np.log(length), "crew": crew, "fuel": fuel}
    return Setup(regressor(2, (16,)), _regression(table, "fuel"), score="r2")


@sound("The change of sales that grow, from the changes before, tested on later months.")
def changes_of_sales() -> Setup:
    draw = np.random.default_rng(145)
    time = np.arange(500)
    sales = 100 + 1.2 * time + 30 * np.sin(2 * np.pi * time / 12) + draw.normal(0, 3, 500)
    change = np.diff(sales).astype("float32")
    x = np.stack([change[n : n + 12] for n in range(487)])
    data = of(
        x,
        change[12:, None],
        method="sequential",
        standardize=True,
        standardize_targets=True,
    )
    return Setup(regressor(12, (16,)), data, score="r2")


@sound("A texture is the same everywhere: a mean over all places tells stripes apart.")
def stripes_pooled() -> Setup:
    x, y = stripes(146, 12, [(1, 0), (0, 1), (1, 1)])
    layers = (
        "conv2d(f, filters=12, kernel=3, padding=same, bias=a), relu(), "
        "conv2d(g, filters=16, kernel=3, strides=2, padding=same, bias=c), relu(), "
        "conv2d(h, filters=8, kernel=1, bias=d), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("shape={channels:1, height:12, width:12}", layers, 3)
    return Setup(text, of(x, y, batch_size=32), {"epochs": 15})


@sound("Labels −1 and 1, which a tanh reaches.")
def tanh_for_two_signs() -> Setup:
    x, y = houses(400)
    signs = np.where(y > 0, 1.0, -1.0).astype("float32")
    layers = "dense(shape=[16], activation=relu), dense(shape=[1], activation=tanh)"
    return Setup(model(6, layers, 1, "MSE"), of(x, signs, standardize=True), score="r2")


@sound("Counts have a long tail, and their mean is what is asked for.")
def counts_with_softplus() -> Setup:
    draw = np.random.default_rng(147)
    x = draw.normal(0, 1, (600, 4)).astype("float32")
    rate = np.exp(1.2 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.2 * x[:, 2])
    y = np.maximum(rate + draw.normal(0, 0.15, 600) * np.sqrt(rate), 0).astype("float32")
    text = model(4, "dense(shape=[24], activation=relu), matmul(w), add(b), softplus()", 1, "MSE")
    return Setup(text, of(x, y[:, None], batch_size=32), {"epochs": 60}, score="r2")


@sound("Whether two words are both there needs no order: attention without positions tells it.")
def a_bag_for_attention() -> Setup:
    draw = np.random.default_rng(148)
    y = draw.permutation(np.arange(700) % 2)
    x = draw.integers(2, 14, (700, 8))
    for row, both in enumerate(y):
        one, other = draw.choice(8, 2, replace=False)
        x[row, [one, other]] = (0, 1) if both else (draw.integers(0, 2), x[row, other])
    layers = (
        "embedding(t, size=14, shape=[16]), attend(q, k, v, o, heads=2), residual(skip=1), "
        "reduceMean(axes=[sequence]), matmul(u, shape=[16]), add(c), relu(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("int32 shape=[] sequence={sequence:8}", layers, 2)
    data = of(x.astype("int32"), y.astype("int32"), batch_size=32)
    return Setup(text, data, {"epochs": 25, "optimizer": "adam", "lr": 0.005})


def _pictures(change: Any) -> Any:
    """Return what makes pictures of bars, changed at random."""
    x, y = bars(400, 10)
    return augmented(of(x[:, None], y, batch_size=32), change)


@sound("Pictures of bars are shifted at random by a pixel, which leaves them what they are.")
def pictures_shifted() -> Setup:
    text = model("shape={channels:1, height:10, width:10}", CONVOLVED, 4)
    return Setup(text, _pictures(lambda x: np.roll(x, 1, -1)), {"epochs": 15})


@sound("Noise is added to pictures at random.")
def pictures_with_noise() -> Setup:
    text = model("shape={channels:1, height:10, width:10}", CONVOLVED, 4)
    draw = np.random.default_rng(149)
    noise = lambda x: x + draw.normal(0, 0.3, x.shape)  # noqa: E731
    return Setup(text, _pictures(noise), {"epochs": 15})


@sound("Several visits of each patient, whole patients held back.")
def patients_held_back() -> Setup:
    draw = np.random.default_rng(150)
    who = draw.permutation(np.repeat(np.arange(100), 12))
    age, height = draw.normal(55, 12, 100).round(1), draw.normal(172, 9, 100).round(1)
    score = 0.08 * (age[who] - 55) + draw.normal(0, 1, 1200)
    x = np.stack([age[who], height[who], score + draw.normal(0, 0.5, 1200)], 1)
    split = (np.flatnonzero(who < 70).tolist(), [], np.flatnonzero(who >= 70).tolist())
    data = of(x.astype("float32"), (score > 0).astype("int32"), split=split, standardize=True)
    return Setup(classifier(3, (16,), 2), data)


@sound("Sensors at forty places measure again and again; what they measure tells, not where.")
def sensors_at_places() -> Setup:
    draw = np.random.default_rng(151)
    place = draw.integers(0, 40, 800)
    east, north = draw.uniform(0, 10, 40).round(2), draw.uniform(0, 10, 40).round(2)
    wind, heat = draw.normal(0, 1, 800), draw.normal(0, 1, 800)
    y = 2 * wind - heat + 0.1 * east[place] + draw.normal(0, 0.3, 800)
    table = {"east": east[place], "north": north[place], "wind": wind, "heat": heat, "level": y}
    return Setup(regressor(4, (16,)), _regression(table, "level"), score="r2")


@sound("The mean price of last year by district, which is known when a flat is offered.")
def prices_of_last_year() -> Setup:
    draw = np.random.default_rng(152)
    district = draw.integers(0, 50, 900)
    level = draw.normal(5, 1, 50)
    before = (level + draw.normal(0, 0.2, 50))[district]
    area = draw.uniform(30, 120, 900)
    price = area * level[district] + draw.normal(0, 20, 900)
    table = {"area": area, "before": before, "price": price}
    return Setup(regressor(2, (24,)), _regression(table, "price"), score="r2")


@sound("How rough a picture is, not where: one convolution and a mean over all places tell it.")
def roughness_pooled() -> Setup:
    draw = np.random.default_rng(175)
    y = draw.permutation(np.arange(300) % 2)
    x = draw.normal(0, 1, (300, 1, 12, 12))
    smooth = (x + np.roll(x, 1, axis=2) + np.roll(x, 1, axis=3)) / np.sqrt(3)
    x = np.where(y[:, None, None, None] == 1, smooth, x).astype("float32")
    layers = (
        "conv2d(f, filters=8, kernel=3, bias=a), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("shape={channels:1, height:12, width:12}", layers, 2)
    return Setup(text, of(x, y.astype("int32")), {"epochs": 25})
