"""Mistakes that an examination of rows and layers finds: in columns, windows, pictures, pools."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np

from tests.teach.cases import mistake
from tests.teach.samples import Floats, Integers, bars, houses, order, stripes
from tests.teach.setup import Data, Setup, augmented, of
from tests.teach.texts import CONVOLVED, classifier, model, regressor
from webnnm import TableDataset


def _table(columns: dict[str, Any], label: str, **options: Any) -> Data:
    cells = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in columns.items()}
    more = {"standardize": True, "standardize_targets": True, "task": "regression", **options}
    return lambda seed: TableDataset(cells, label=label, seed=seed, **more)


# Columns of a table.


def _beams(share: float, factor: float) -> Data:
    draw = np.random.default_rng(120)
    span, load = draw.uniform(3, 12, 400), draw.normal(5, 1, 400)
    sag = 0.6 * span + 0.8 * (load - 5) + draw.normal(0, 0.4, 400)
    other = draw.random(400) < share
    return _table({"span": np.where(other, span * factor, span), "load": load, "sag": sag}, "sag")


@mistake(
    "A twentieth of the spans was entered in millimetres, the others in metres.",
    remedy="Divide these by 1,000.",
    mended=lambda setup: setup.but(data=_beams(0, 1000)),
    named_by=("E631",),
)
def millimetres_among_metres() -> Setup:
    return Setup(regressor(2, (16,)), _beams(0.05, 1000), {"epochs": 60}, score="r2")


@mistake(
    "Two offices were merged: four of ten spans are in centimetres, the others in metres.",
    remedy="Divide these by 100.",
    mended=lambda setup: setup.but(data=_beams(0, 100)),
    named_by=("E631",),
)
def two_offices_two_units() -> Setup:
    return Setup(regressor(2, (16,)), _beams(0.4, 100), {"epochs": 60}, score="r2")


def _flats(*, divided: bool) -> Data:
    draw = np.random.default_rng(121)
    area, year = draw.uniform(30, 150, 400), draw.integers(1930, 2022, 400)
    each = 2 + 0.02 * (year - 1930) + draw.normal(0, 0.6, 400)
    table = {"area": area, "year": year, "per_m2": each.round(3), "price": area * each}
    if not divided:
        del table["per_m2"]
    return _table(table, "price")


@mistake(
    "The price of a flat is learnt from its area and its price per square metre.",
    remedy="Leave the price per square metre out: it was computed from the price.",
    mended=lambda setup: setup.but(text=regressor(2, (16,)), data=_flats(divided=False)),
    why="the score is that of a division; without the column it is that of an estimate",
    named_by=("E632",),
)
def price_divided_out() -> Setup:
    return Setup(regressor(3, (16,)), _flats(divided=True), score="r2")


def _customers(**options: Any) -> Data:
    draw = np.random.default_rng(122)
    x = draw.normal(0, 1, (800, 5))
    score = 1.5 * x[:, 0] - x[:, 1] + 1.2 * np.abs(x[:, 2]) - 1 + 0.8 * x[:, 3] * x[:, 4]
    table: dict[str, Any] = {name: x[:, n].tolist() for n, name in enumerate("abcde")}
    pets = draw.integers(0, 4, 800)
    table["pets"] = [
        int(n) if told < 0.08 else None for n, told in zip(pets, draw.random(800), strict=True)
    ]
    table["buys"] = ["yes" if s > 0 else "no" for s in score + draw.normal(0, 0.4, 800)]
    return lambda seed: TableDataset(table, label="buys", seed=seed, standardize=True, **options)


@mistake(
    "missing='drop' leaves 60 of 800 rows, as hardly anybody told how many pets there are.",
    remedy="Leave this column out, or fill it in.",
    mended=lambda setup: setup.but(
        text=classifier(5, (24,), 2), data=_customers(features=[*"abcde"], missing="drop")
    ),
    named_by=("E633",),
)
def rows_dropped_for_pets() -> Setup:
    return Setup(classifier(6, (24,), 2), _customers(missing="drop"))


def _pool(*, digits: bool) -> Data:
    draw = np.random.default_rng(123)
    days = [date(2019, 1, 1) + timedelta(days=2 * n) for n in range(700)]
    angle = np.array([2 * np.pi * day.timetuple().tm_yday / 365.25 for day in days])
    price = draw.uniform(3, 7, len(days))
    guests = 400 - 200 * np.cos(angle) + 60 * np.sin(2 * angle) - 25 * price
    guests = guests + draw.normal(0, 30, len(days))
    table: dict[str, Any] = {"sin": np.sin(angle), "cos": np.cos(angle)}
    if digits:
        table = {"date": [day.year * 10_000 + day.month * 100 + day.day for day in days]}
    return _table({**table, "price": price, "guests": guests}, "guests")


@mistake(
    "The guests of a pool are learnt from the date as a number, 20190131.",
    remedy="Give the season as sine and cosine of the day of the year.",
    mended=lambda setup: setup.but(text=regressor(3, (16,)), data=_pool(digits=False)),
    named_by=("E634",),
)
def date_as_one_number() -> Setup:
    return Setup(regressor(2, (16,)), _pool(digits=True), {"epochs": 60}, score="r2")


def _fields(*, joined: bool) -> Data:
    draw = np.random.default_rng(124)
    soil, rain, sun = (
        draw.normal(6.5, 0.6, 350),
        draw.gamma(4, 20, 350),
        draw.normal(1500, 180, 350),
    )
    crop = 4 + 0.5 * (soil - 6.5) + 1.2 * np.tanh((rain - 80) / 40) + 0.003 * (sun - 1500)
    table = {"soil": soil, "rain": rain * joined, "sun": sun * joined}
    return _table({**table, "crop": crop + draw.normal(0, 0.25, 350)}, "crop")


@mistake(
    "The weather was joined by a key that never matched: rain and sun are 0 in all rows.",
    remedy="Mend the join.",
    mended=lambda setup: setup.but(data=_fields(joined=True)),
    named_by=("E604",),
)
def weather_that_was_not_joined() -> Setup:
    return Setup(regressor(3, (16,)), _fields(joined=False), score="r2")


# Windows over series.


def _sales(*, change: bool) -> Data:
    draw = np.random.default_rng(125)
    time = np.arange(420)
    sales = 100 + 1.5 * time + 25 * np.sin(2 * np.pi * time / 12) + draw.normal(0, 4, 420)
    x, y = np.stack([sales[n : n + 12] for n in range(408)]), sales[12:]
    if change:
        x, y = np.diff(x, axis=1), y - x[:, -1]
    return of(x, y[:, None], method="sequential", standardize=True, standardize_targets=True)


@mistake(
    "Sales that grow are forecast as they are: the test lies where no row was trained.",
    remedy="Forecast the change against the last value.",
    mended=lambda setup: setup.but(
        text=setup.text.replace("shape=[12]", "shape=[11]"), data=_sales(change=True)
    ),
    named_by=("E622",),
)
def level_of_growing_sales() -> Setup:
    text = regressor(12, (16,)).replace("activation=relu", "activation=tanh")
    return Setup(text, _sales(change=False), score="r2")


def _machines(*, apart: bool) -> Data:
    draw = np.random.default_rng(126)
    rows: list[Floats] = []
    labels: list[int] = []
    for number in range(24):
        level, speed, phase = draw.normal(0, 1), draw.uniform(0.02, 0.12), draw.uniform(0, 6)
        noise = draw.normal(0, 0.1 + 0.025 * (number % 2), 200)
        signal = (level + np.sin(speed * np.arange(200) + phase) + noise).astype("float32")
        for start in range(0, 176, 3):
            rows.append(signal[start : start + 24])
            labels.append(number % 2)
    split: Any = (0.7, 0, 0.3)
    if apart:
        held = 16 * len(rows) // 24
        split = ([*range(held)], [], [*range(held, len(rows))])
    return of(np.stack(rows), np.array(labels, "int32"), split=split, standardize=True)


@mistake(
    "Windows over signals of 24 machines are divided at random: each machine is in the test.",
    remedy="Hold whole machines back.",
    mended=lambda setup: setup.but(data=_machines(apart=True)),
    why="the score is that of machines that were seen; held back, it is that of new ones",
    named_by=("E620",),
)
def machines_on_both_sides() -> Setup:
    return Setup(classifier(24, (48, 24), 2), _machines(apart=False), {"epochs": 60})


# Outputs.


def _signs(*, zero: bool) -> Data:
    x, y = houses(300)
    signs = np.where(y > 0, 1.0, 0.0 if zero else -1.0).astype("float32")
    return of(x, signs, standardize=True)


@mistake(
    "Labels −1 and 1 are learnt by a sigmoid with squared errors.",
    remedy="Make them 0 and 1, and take BCE.",
    mended=lambda setup: setup.but(
        text=setup.text.replace("MSE", "BCE"), data=_signs(zero=True), score="accuracy"
    ),
    why="numbers of two signs have no accuracy, and their R² is not that of 0 and 1",
    named_by=("E117",),
)
def sigmoid_for_two_signs() -> Setup:
    layers = "dense(shape=[16], activation=relu), dense(shape=[1], activation=sigmoid)"
    return Setup(model(6, layers, 1, "MSE"), _signs(zero=False), score="r2")


# Pictures and sequences.


def _blots(rows: int = 320, size: int = 12) -> tuple[Floats, Integers]:
    """Return pictures `[rows, height, width, 3]` of a blot, and which of three colours it has."""
    draw = np.random.default_rng(127)
    y = draw.permutation(np.arange(rows) % 3)
    line, column = np.mgrid[:size, :size]
    x = draw.normal(0, 0.1, (rows, size, size, 3))
    for row, kind in enumerate(y):
        top, left = draw.uniform(3, size - 4, 2)
        near = np.exp(-((line - top) ** 2 + (column - left) ** 2) / 8)
        x[row] += near[..., None] * (0.4 + 0.6 * np.eye(3)[kind])
    return x.astype("float32"), y.astype("int32")


SEEN = (
    "conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu(), maxPool2d(windowDimensions=2, "
    "strides=2), conv2d(g, filters=12, kernel=3, padding=same, bias=c), relu(), "
    "{}matmul(w), add(b), softmax()"
)


def _reshaped(*, moved: bool) -> Data:
    x, y = _blots()
    pictures = np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if moved else x.reshape(-1, 3, 12, 12)
    return of(pictures, y, standardize=True, batch_size=32)


@mistake(
    "Pictures with the channels last were reshaped to channels first, which mixes them.",
    remedy="Transpose them: x.transpose(0, 3, 1, 2).",
    mended=lambda setup: setup.but(data=_reshaped(moved=True)),
    named_by=("E630",),
)
def channels_by_reshape() -> Setup:
    text = model("shape={channels:3, height:12, width:12}", SEEN.format("globalAveragePool(), "), 3)
    return Setup(text, _reshaped(moved=False), {"epochs": 12})


def _quarters(rows: int = 400, size: int = 16) -> tuple[Floats, Integers]:
    """Return pictures of a spot, and in which quarter it is."""
    draw = np.random.default_rng(128)
    y = draw.permutation(np.arange(rows) % 4)
    x = draw.normal(0, 0.2, (rows, 1, size, size))
    for row, kind in enumerate(y):
        top, left = 4 + 4 * np.array([kind // 2, kind % 2]) + draw.integers(0, 3, 2)
        x[row, 0, top : top + 2, left : left + 2] += 1.5
    return x.astype("float32"), y.astype("int32")


EYE = "shape={channels:1, height:16, width:16}"
TWO = (
    "conv2d(f, filters=8, kernel=3, bias=a), relu(), "
    "conv2d(g, filters=8, kernel=3, bias=c), relu(), "
)


@mistake(
    "In which quarter a spot lies is asked behind a mean over all places.",
    remedy="Take flatten() in place of globalAveragePool().",
    mended=lambda setup: setup.saying("globalAveragePool()", "flatten()"),
    named_by=("E924",),
)
def quarter_pooled_away() -> Setup:
    text = model(EYE, TWO + "globalAveragePool(), matmul(w), add(b), softmax()", 4)
    return Setup(text, of(*_quarters(), batch_size=32), {"epochs": 12})


@mistake(
    "Where a peak lies in a signal is asked behind a maximum over all steps.",
    remedy="Take flatten() in place of reduceMax().",
    mended=lambda setup: setup.saying("reduceMax(axes=[1])", "flatten()"),
    named_by=("E924",),
)
def half_of_a_signal_pooled_away() -> Setup:
    draw = np.random.default_rng(129)
    y = draw.permutation(np.arange(360) % 2)
    x = draw.normal(0, 0.2, (360, 1, 24))
    for row, kind in enumerate(y):
        place = 4 + 8 * kind + draw.integers(0, 6)
        x[row, 0, place : place + 2] += 1.5
    layers = "conv1d(f, filters=8, kernel=3, bias=a), relu(), reduceMax(axes=[1]), "
    text = model("shape={channels:1, length:24}", layers + "matmul(w), add(b), softmax()", 2)
    return Setup(text, of(x.astype("float32"), y.astype("int32"), batch_size=32), {"epochs": 15})


def _marks(rows: int = 450, size: int = 15) -> tuple[Floats, Integers]:
    """Return pictures with two small marks of one of three kinds."""
    draw = np.random.default_rng(130)
    marks = np.array(["010111010", "101010101", "111101111"])
    shapes = np.array([[float(one) for one in mark] for mark in marks]).reshape(3, 3, 3)
    y = draw.permutation(np.arange(rows) % 3)
    x = draw.normal(0, 0.15, (rows, 1, size, size))
    for row, kind in enumerate(y):
        for top, left in draw.integers(0, size - 3, (2, 2)):
            x[row, 0, top : top + 3, left : left + 3] += shapes[kind]
    return x.astype("float32"), y.astype("int32")


@mistake(
    "A kernel of one pixel moves in steps of 4: fifteen of sixteen pixels are never looked at.",
    remedy="A kernel of 3 in steps of 1, and a pool behind it.",
    mended=lambda setup: setup.saying(
        "kernel=1, strides=4, bias=a), relu()",
        "kernel=3, padding=same, bias=a), relu(), maxPool2d(windowDimensions=3, strides=3)",
    ),
    named_by=("E321",),
)
def pixels_that_are_skipped() -> Setup:
    layers = (
        "conv2d(f, filters=8, kernel=1, strides=4, bias=a), relu(), "
        "conv2d(g, filters=12, kernel=3, padding=same, bias=c), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("shape={channels:1, height:15, width:15}", layers, 3)
    return Setup(text, of(*_marks(), batch_size=32), {"epochs": 15})


@mistake(
    "Which of two words comes first is asked behind a mean over all words.",
    remedy="Give each position its own weights: flatten() in place of the mean.",
    mended=lambda setup: setup.saying("reduceMean(axes=[0])", "flatten()"),
    named_by=("E923",),
)
def order_pooled_away() -> Setup:
    layers = "embedding(t, size=6, shape=[8, 8]), reduceMean(axes=[0]), matmul(u, shape=[16]), "
    text = model("int32 shape=[8]", layers + "add(c), relu(), matmul(w), add(b), softmax()", 2)
    return Setup(text, of(*order(600)), {"epochs": 20})


# What a training takes for granted: pictures as they will be, labels that stay.


def _arrows(*, mirrored: bool) -> Data:
    """Return what makes pictures of arrows to the left, right, up and down, and augments them."""
    draw = np.random.default_rng(131)
    y = draw.permutation(np.arange(480) % 4)
    left = np.zeros((5, 5))
    left[2] = 1
    left[[1, 3, 0, 4], [1, 1, 2, 2]] = 1
    ways = (left, left[:, ::-1], left.T, left.T[::-1])
    x = draw.normal(0, 0.2, (480, 1, 10, 10))
    for row, way in enumerate(y):
        top, start = draw.integers(0, 6, 2)
        x[row, 0, top : top + 5, start : start + 5] += ways[way]
    make = of(x.astype("float32"), y.astype("int32"), batch_size=32)
    return augmented(make, lambda x: x[..., ::-1] if mirrored else np.roll(x, 1, -1))


@mistake(
    "Pictures of arrows are mirrored at random, and to the left and to the right are two classes.",
    remedy="Shift them instead.",
    mended=lambda setup: setup.but(data=_arrows(mirrored=False)),
    named_by=("E635",),
)
def arrows_in_a_mirror() -> Setup:
    text = model("shape={channels:1, height:10, width:10}", CONVOLVED, 4)
    return Setup(text, _arrows(mirrored=True), {"epochs": 15})


def _in_noisy_colours(*, moved: bool) -> Data:
    """Return what makes bars of three channels, each with a strength and noise of its own."""
    draw = np.random.default_rng(132)
    x, y = bars(160, 6)
    colours = x.repeat(2, 1).repeat(2, 2)[..., None] * draw.uniform(0.3, 1, (160, 1, 1, 3))
    colours += draw.normal(0, 0.2, colours.shape)
    chw = colours.transpose(0, 3, 1, 2) if moved else colours.reshape(-1, 3, 12, 12)
    return of(np.ascontiguousarray(chw, "float32"), y, batch_size=32)


@mistake(
    "Pictures with noise in every channel were reshaped to channels first.",
    remedy="Transpose them: x.transpose(0, 3, 1, 2).",
    mended=lambda setup: setup.but(data=_in_noisy_colours(moved=True)),
    named_by=("E630",),
)
def noisy_channels_by_reshape() -> Setup:
    text = model("shape={channels:3, height:12, width:12}", SEEN.format("flatten(), "), 4)
    return Setup(text, _in_noisy_colours(moved=False), {"epochs": 15})


def _grey_levels(*, forgotten: bool) -> Data:
    """Return pictures of 0 to 255 that were scaled by hand, or those to be tested were not."""
    x, y = bars(480, 12)
    levels = np.rint(40 + 150 * x)[:, None].astype("float32")
    scaled = (levels - 90) / 50
    trained, tested = list(range(336)), list(range(336, 480))
    if forgotten:
        scaled[tested] = levels[tested]
    return of(scaled, y, batch_size=32, split=(trained, [], tested))


@mistake(
    "Training pictures were scaled by hand, those to be tested are still bytes.",
    remedy="Scale all by the same numbers.",
    mended=lambda setup: setup.but(data=_grey_levels(forgotten=False)),
    named_by=("E622",),
)
def pictures_to_test_in_bytes() -> Setup:
    text = model("shape={channels:1, height:12, width:12}", SEEN.format("flatten(), "), 4)
    return Setup(text, _grey_levels(forgotten=True), {"epochs": 15})


def _monthly(*, changes: bool) -> Data:
    """Return windows over a series that grows, or the same less the last value of each."""
    draw = np.random.default_rng(133)
    step = np.arange(624)
    series = 50 + 0.3 * step + 12 * np.sin(2 * np.pi * step / 12) + draw.normal(0, 2, 624)
    windows = np.stack([series[first : first + 24] for first in range(600)])
    after = series[24:]
    if changes:
        windows, after = windows - windows[:, -1:], after - windows[:, -1]
    return of(
        windows[..., None].astype("float32"),
        after[:, None].astype("float32"),
        method="sequential",
        standardize=True,
        standardize_targets=True,
        batch_size=32,
    )


@mistake(
    "Sales that grow are predicted by a recurrent layer in their own units, in later months.",
    remedy="Predict the change, from values relative to the last one.",
    mended=lambda setup: setup.but(data=_monthly(changes=True)),
    named_by=("E622",),
)
def sales_beyond_all_seen() -> Setup:
    layers = "gru(w, r, bias=c, hiddenSize=16), matmul(v), add(b)"
    text = model("shape=[1] sequence=true", layers, 1, "MSE")
    return Setup(text, _monthly(changes=False), {"epochs": 30, "optimizer": "adam"}, score="r2")


# What a test takes for granted: rows of others, columns that will be known.


def _visits(*, by_person: bool) -> Data:
    """Return what makes fifteen visits of each of 100 patients, whole ones held back or not."""
    draw = np.random.default_rng(134)
    age, height = draw.normal(55, 12, 100).round(1), draw.normal(172, 9, 100).round(1)
    pulse, ill = draw.normal(70, 9, 100), draw.random(100) < 0.5
    who = draw.permutation(np.repeat(np.arange(100), 15))
    mark = draw.normal(0, 1, 1500) + 1.2 * ill[who]
    x = np.stack([age[who], height[who], pulse[who] + draw.normal(0, 2, 1500), mark], 1)
    split: Any = (0.7, 0, 0.3)
    if by_person:
        split = (np.flatnonzero(who < 70).tolist(), [], np.flatnonzero(who >= 70).tolist())
    labels = ill[who].astype("int32")
    return of(x.astype("float32"), labels, split=split, standardize=True, batch_size=32)


@mistake(
    "Visits of the same patients are in training and in the test, which asks who they are.",
    remedy="Hold whole patients back.",
    mended=lambda setup: setup.but(data=_visits(by_person=True)),
    why="the score of patients that were seen is too good",
    named_by=("E619",),
)
def patients_seen_before() -> Setup:
    return Setup(classifier(4, (16,), 2), _visits(by_person=False))


def _lets(*, rated: bool) -> Data:
    """Return flats, and how often those of the same postcode were let, itself among them."""
    draw = np.random.default_rng(135)
    code = draw.integers(0, 400, 1200)
    x = np.stack([draw.normal(70, 20, 1200), draw.normal(15, 6, 1200)], 1)
    chance = 1 / (1 + np.exp(-0.06 * (x[:, 0] - 70) + 0.2 * (x[:, 1] - 15)))
    y = draw.random(1200) < chance
    rate = np.array([y[code == one].mean() for one in code])
    table = {"area": x[:, 0], "rent": x[:, 1], "rate": rate}
    if not rated:
        del table["rate"]
    table["let"] = np.where(y, "yes", "no")
    return _table(table, "let", task="classification", standardize_targets=False)


@mistake(
    "A column is the mean of the label by postcode, which has three flats.",
    remedy="Leave it out, or take the mean of other flats.",
    mended=lambda setup: setup.but(text=classifier(2, (16,), 2), data=_lets(rated=False)),
    why="the score is that of knowing part of the answer",
    named_by=("E615",),
)
def rates_with_the_row_itself() -> Setup:
    return Setup(classifier(3, (16,), 2), _lets(rated=True), {"epochs": 50})


def _failures(*, copied: bool) -> Data:
    """Return rows of which one in twelve is a failure; those are copied ten times, or weighed."""
    draw = np.random.default_rng(136)
    y = (np.arange(1000) % 12 == 0).astype("int32")
    x = draw.normal(0, 1, (1000, 6))
    x[:, :3] += 0.9 * y[:, None]
    if copied:
        again = np.repeat(np.flatnonzero(y), 10)
        x = np.concatenate([x, x[again] + draw.normal(0, 0.03, (len(again), 6))])
        y = np.concatenate([y, y[again]])
    return of(x.astype("float32"), y, standardize=True)


@mistake(
    "Failures were copied ten times with a little noise before the rows were divided.",
    remedy="Divide first, or take class_weight.",
    mended=lambda setup: setup.but(data=_failures(copied=False)).trained(class_weight="balanced"),
    why="copies in the test are known from the training",
    named_by=("E619",),
)
def failures_copied_first() -> Setup:
    return Setup(classifier(6, (24,), 2), _failures(copied=True), {"epochs": 30}, score="macro_f1")


def _customers_who_wrote(*, letters: bool) -> Data:
    """Return customers, and the letters that most wrote only when they left."""
    draw = np.random.default_rng(137)
    x = draw.normal(0, 1, (1200, 4))
    y = draw.random(1200) < 1 / (1 + np.exp(-1.8 * x[:, 0] + 1.2 * x[:, 1]))
    wrote = draw.poisson(0.3, 1200) + y * (1 + draw.poisson(1.6, 1200))
    table: dict[str, Any] = {name: x[:, n] for n, name in enumerate("abcd")}
    if letters:
        table["letters"] = wrote.astype(float)
    table["left"] = np.where(y, "yes", "no")
    return _table(table, "left", task="classification", standardize_targets=False)


@mistake(
    "All who left wrote letters, which are not there yet when it is asked who will leave.",
    remedy="Leave the letters out.",
    mended=lambda setup: setup.but(
        text=classifier(4, (16,), 2), data=_customers_who_wrote(letters=False)
    ),
    why="the letters tell what is asked for, and come after it",
    named_by=("E615",),
)
def letters_of_notice() -> Setup:
    text = classifier(5, (16,), 2)
    return Setup(text, _customers_who_wrote(letters=True), {"epochs": 60})


def _kinds(*, numbers: bool) -> Data:
    """Return rows of six kinds, learnt as one standardised quantity or as classes."""
    draw = np.random.default_rng(138)
    y = draw.integers(0, 6, 1000)
    x = draw.normal(0, 1, (6, 5))[y] + draw.normal(0, 0.6, (1000, 5))
    table: dict[str, Any] = {name: x[:, n] for n, name in enumerate("abcde")}
    table["kind"] = y
    task = "regression" if numbers else "classification"
    return _table(table, "kind", task=task, standardize_targets=numbers)


@mistake(
    "Kinds 0 to 5 are learnt as a quantity, which is standardised.",
    remedy="A score for each kind, and softmax.",
    mended=lambda setup: setup.but(
        text=classifier(5, (24,), 6), data=_kinds(numbers=False), score="accuracy"
    ),
    why="R² and accuracy are two scales; rounded, the quantity finds half of the kinds",
    named_by=("E115",),
)
def kinds_as_a_standardised_quantity() -> Setup:
    return Setup(regressor(5, (24,), loss="MSE"), _kinds(numbers=True), score="r2")


@mistake(
    "Pictures of stripes are averaged over 4 × 4 pixels before the first convolution.",
    remedy="Convolve first, and pool later.",
    mended=lambda setup: setup.saying("averagePool2d(windowDimensions=4, strides=4), ", ""),
    named_by=("E331",),
)
def stripes_averaged_away() -> Setup:
    x, y = stripes(139, 16, [(1, 1), (1, -1)])
    layers = (
        "averagePool2d(windowDimensions=4, strides=4), "
        "conv2d(f, filters=6, kernel=3, padding=same, bias=a), relu(), "
        "conv2d(g, filters=8, kernel=3, padding=same, bias=c), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("shape={channels:1, height:16, width:16}", layers, 2)
    return Setup(text, of(x, y, batch_size=32), {"epochs": 20})
