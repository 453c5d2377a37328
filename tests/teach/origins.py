"""The data of programs about how columns, targets, weights and pictures came about."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.samples import Floats
from tests.teach.setup import Data, of
from tests.teach.texts import model
from webnnm import TableDataset

EYE = model(
    "shape={channels:1, height:12, width:12}",
    "conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu(), maxPool2d(windowDimensions=2, "
    "strides=2), conv2d(g, filters=12, kernel=3, padding=same, bias=c), relu(), flatten(), "
    "matmul(w), add(b), softmax()",
    2,
)


def table(columns: dict[str, Any], label: str, **options: Any) -> Data:
    """Return what makes a `TableDataset` of these columns."""
    cells = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in columns.items()}
    return lambda seed: TableDataset(cells, label=label, seed=seed, standardize=True, **options)


def takings(*, first: int, last: int | None = None, refused: bool = False) -> Data:
    """Return takings by day, weather and weekend, and a mean of the days from `first` on."""
    draw = np.random.default_rng(301)
    rows = 700
    sun, weekend = draw.normal(6, 3, rows), (np.arange(rows) % 7 > 4).astype(float)
    y = 200 + 8 * (sun - 6) + 60 * weekend + draw.normal(0, 40, rows)
    if refused:
        y = (y > 220).astype(float)
    end = last if last is not None else first + 7
    days = [np.arange(day + first, day + end).clip(0, rows - 1) for day in range(rows)]
    mean = np.array([y[window].mean() for window in days]).round(2)
    columns: dict[str, Any] = {"sun": sun.round(1), "weekend": weekend, "mean": mean}
    if refused:
        target = np.where(y > 0, "refused", "accepted")
        return table({**columns, "order": target}, "order", features=[*columns])
    return table(
        {**columns, "takings": y.round(1)},
        "takings",
        task="regression",
        standardize_targets=True,
    )


def wards(*, fill: str, ordered: bool = False) -> Data:
    """Return patients of three diagnoses, who lack values of two tests, which were filled in."""
    draw = np.random.default_rng(302)
    kinds = draw.integers(0, 3, 900)
    x = draw.normal(0, 1, (900, 5)) + 0.5 * np.eye(3, 5)[kinds]
    x = (20 + 5 * x).round(1)
    chance = np.array([0.75, 0.4, 0.15])[kinds] if ordered else 0.4
    gone = draw.random(900) < chance
    for column in (0, 3) if not ordered else (3,):
        for kind in range(3):
            group = kinds == kind if fill == "class" else np.full(900, True)
            value = np.median(x[group & ~gone, column])
            x[gone & (kinds == kind), column] = value
    if fill == "marked":
        x = np.concatenate([x, gone[:, None]], axis=1)
    return of(x.astype("float32"), kinds.astype("int32"), standardize=True)


def parcels(*, buckets: int | None) -> Data:
    """Return parcels by shop, each of which has its level, hashed or not."""
    draw = np.random.default_rng(303)
    level = draw.normal(40, 12, 50)
    shop, rain = draw.integers(0, 50, 1000), draw.random(1000).round(3)
    y = level[shop] - 10 * rain + draw.normal(0, 3, 1000)
    columns = {"shop": [f"S{n:02}" for n in shop], "rain": rain, "parcels": y.round(1)}
    hashed: dict[str, Any] = {"hash_buckets": {"shop": buckets}} if buckets else {}
    return table(columns, "parcels", task="regression", standardize_targets=True, **hashed)


def boilers(*, kept: bool, limit: float = 1023.0) -> Data:
    """Return pressures of boilers, cut off in the training rows, or without those rows."""
    draw = np.random.default_rng(304)
    x = draw.uniform(0, 1, (700, 3))
    y = (300 + 900 * x[:, 0] + 500 * x[:, 1] * x[:, 2] + draw.normal(0, 15, 700)).round()
    training = np.arange(700) < 500
    inside = np.arange(700)[(y < limit) & training]
    y = np.where(training, np.minimum(y, limit), y)
    rows = [*range(500)] if kept else [*map(int, inside)]
    split = (rows, [], [*range(500, 700)])
    return of(
        x.astype("float32"),
        y.astype("float32")[:, None],
        split=split,
        standardize=True,
        standardize_targets=True,
    )


def two_clinics(*, opposite: bool) -> Data:
    """Return patients of three clinics, in order, the second of which may exchange labels."""
    draw = np.random.default_rng(305)
    x = draw.normal(0, 1, (900, 4))
    y = (x[:, 0] + 0.7 * x[:, 1] - x[:, 2] + draw.normal(0, 0.7, 900) > 0).astype("int32")
    second = (np.arange(900) >= 350) & (np.arange(900) < 700)
    if opposite:
        y = np.where(second, 1 - y, y)
    return of(x.astype("float32"), y, standardize=True)


def buoys(*, power: int) -> Data:
    """Return readings of good and bad buoys, weighted by a power of their deviation; the good ones
    test."""
    draw = np.random.default_rng(306)
    x = draw.uniform(-1, 1, (700, 4))
    std = np.where(draw.random(700) < 0.4, 5.0, 0.3)
    clean = 2 * x[:, 0] - 1.5 * x[:, 1] + np.sin(3 * x[:, 2])
    y = clean + std * draw.normal(0, 1, 700)
    good = np.flatnonzero(std < 1)
    tested = [*map(int, good[-120:])]
    trained = [row for row in range(700) if row not in tested]
    return of(
        x.astype("float32"),
        y.astype("float32")[:, None],
        sample_weight=(std**power).astype("float32"),
        split=(trained, [], tested),
        standardize_targets=True,
    )


def _spots(seed: int, rows: int, strength: float) -> tuple[Floats, Any]:
    """Return pictures `[rows, 12, 12]` of a spot around the middle, in those of class 1."""
    draw = np.random.default_rng(seed)
    y = draw.permutation(np.arange(rows) % 2).astype("int32")
    line, column = np.mgrid[:12, :12]
    x = draw.normal(0.4, 0.12, (rows, 12, 12))
    for row in np.flatnonzero(y):
        top, left = draw.uniform(4.5, 7.5, 2)
        x[row] += strength * np.exp(-((line - top) ** 2 + (column - left) ** 2) / 6)
    return x.clip(0, 1).astype("float32"), y


def scans(*, letter: float, seed: int = 307) -> Data:
    """Return scans of a faint spot; a share of those of the ill, and few others, have a letter."""
    x, y = _spots(seed, 500, 0.13)
    draw = np.random.default_rng(308)
    if letter:
        lettered = (draw.random(500) < letter) == (y > 0)
        x[lettered, 1:3, 9:11] = 0.98
    return of(x[:, None], y, standardize=True, batch_size=32)


def seedlings(*, bytes_share: float) -> Data:
    """Return pictures of a bright spot or none, a share of them in bytes."""
    x, y = _spots(309, 500, 0.5)
    in_bytes = np.random.default_rng(310).random(500) < bytes_share
    x = np.where(in_bytes[:, None, None], (255 * x).round(), x).astype("float32")
    return of(x[:, None], y, standardize=True, batch_size=32)


def scratches(*, apart: bool) -> Data:
    """Return four variants of each picture, mirrored and brighter or darker, divided by picture or
    not."""
    draw = np.random.default_rng(312)
    x, y = _spots(312, 160, 0.12)
    source = np.repeat(np.arange(160), 4)
    mirrored = draw.random(640) < 0.5
    pictures = np.where(mirrored[:, None, None], x[source][:, :, ::-1], x[source])
    pictures = pictures * draw.uniform(0.85, 1.15, (640, 1, 1))
    pictures = (pictures + draw.normal(0, 0.02, pictures.shape)).astype("float32")[:, None]
    held = np.isin(source, draw.permutation(160)[:48])
    options: dict[str, Any] = {}
    if apart:
        numbers = [[*map(int, np.flatnonzero(part))] for part in (~held, held)]
        options["split"] = (numbers[0], [], numbers[1])
    return of(pictures, y[source], standardize=True, batch_size=32, **options)


def forklifts(*, hours: bool) -> Data:
    """Return loads by the hour, given as seconds since 1970 or as sine and cosine."""
    draw = np.random.default_rng(313)
    seconds = 1.65e9 + draw.integers(0, 50 * 86_400, 900)
    angle = 2 * np.pi * (seconds % 86_400) / 86_400
    heat = draw.normal(15, 5, 900)
    y = 50 + 14 * np.sin(angle - 2) + 0.8 * (heat - 15) + draw.normal(0, 3, 900)
    columns = [np.sin(angle), np.cos(angle), heat] if hours else [seconds, heat]
    return of(
        np.stack(columns, axis=1),
        y.astype("float32")[:, None],
        standardize=True,
        standardize_targets=True,
    )


def recordings(*, in_g: float) -> Data:
    """Return recordings of three activities, a share of them in g, the others in m/s²."""
    draw = np.random.default_rng(314)
    kinds = draw.permutation(np.arange(600) % 3)
    x = draw.normal(0, 1, (600, 1, 24)) * np.exp(draw.normal(0, 0.25, (600, 1, 1)))
    x *= np.array([0.6, 2.0, 7.0])[kinds][:, None, None]
    x[draw.random(600) < in_g] /= 9.80665
    return of(x.astype("float32"), kinds.astype("int32"), standardize=True)


def tiles(*, swapped: bool) -> Data:
    """Return pictures of red, green and blue tiles; those to test with may be read the other way
    round."""
    draw = np.random.default_rng(315)
    kinds = draw.permutation(np.arange(450) % 3)
    colours = np.array([[0.6, 0.35, 0.3], [0.3, 0.6, 0.35], [0.35, 0.3, 0.6]])
    x = draw.normal(0.4, 0.1, (450, 3, 10, 10))
    for row, kind in enumerate(kinds):
        top, left = draw.integers(1, 4, 2)
        x[row, :, top : top + 5, left : left + 5] += (colours[kind] - 0.4)[:, None, None]
    if swapped:
        x[300:] = x[300:, ::-1]
    split = ([*range(300)], [], [*range(300, 450)])
    return of(x.astype("float32"), kinds.astype("int32"), split=split, standardize=True)
