"""The examination of where columns, targets and weights come from: what is told, and what not."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from webnnm import Dataset, TableDataset
from webnnm.expert.examination.examination import examine

ROWS = 400
Table = list[list[float]]


def sales(kind: str, *, rate: bool = False, decimals: int = 2) -> Dataset:
    """Return sales by day, the weather, and a mean of sales; `rate`: whether they are high."""
    draw = Random(1)
    y = [50.0]
    for _ in range(ROWS + 20):
        y.append(0.6 * y[-1] + 20 + draw.gauss(0, 5))
    if rate:
        y = [float(one > 50) for one in y]
    windows = {"centred": (-1, 2), "running": (-2, 1), "trailing": (-3, 0), "far": (-3, 4)}
    x: Table = []
    for day in range(10, 10 + ROWS):
        if kind == "sensor":  # smoother than the target, and not computed from it
            mean = sum(y[day - 2 : day + 3]) / 5 + draw.gauss(0, 0.3)
        elif kind == "forecast":
            mean = y[day] + draw.gauss(0, 3)
        else:
            first, last = windows[kind]
            mean = sum(y[day + first : day + last]) / (last - first)
        x.append([round(mean, decimals), draw.gauss(15, 5)])
    targets = [round(one, 1) for one in y[10 : 10 + ROWS]]
    return Dataset(x, targets, standardize=True, method="sequential")


def laboratory(fill: str, gaps: str = "random", *, classes: int = 2, **options: Any) -> Dataset:
    """Return patients, of whom some lack a test, which was filled by class or by all, or marked."""
    draw = Random(2)
    kinds = [n % classes for n in range(600)]
    tests = [[round(draw.gauss(20 + 2 * kind, 5), 1) for _ in range(3)] for kind in kinds]
    chances = [0.7 - 0.4 * kind if gaps == "telling" else 0.4 for kind in kinds]
    gone = [draw.random() < chance for chance in chances]
    means = {
        group: sum(own) / len(own)
        for group in (None, *range(classes))
        if (
            own := [
                row[0]
                for row, kind, out in zip(tests, kinds, gone, strict=True)
                if not out and group in (None, kind)
            ]
        )
    }
    for row, kind, out in zip(tests, kinds, gone, strict=True):
        if out:
            row[0] = means[kind if fill == "class" else None]
        if fill == "marked":
            row.append(float(out))
    return Dataset(tests, kinds, standardize=True, **options)


def survey(*, copied: bool = False) -> Dataset:
    """Return answers of which most are missing, and filled in; or copies with other labels."""
    draw = Random(3)
    x = [
        [-1.0 if draw.random() < 0.75 else float(round(draw.gauss(50, 9), 1)) for _ in range(4)]
        for _ in range(ROWS)
    ]
    y = [draw.randrange(2) for _ in x]
    if copied:
        x = [[value + draw.gauss(0, 1) for value in row] for row in x]
        x += x[:60]
        y += [1 - one for one in y[:60]]
    return Dataset(x, y)


def products(number: int, buckets: int | None, *, effect: float = 1.0) -> Dataset:
    """Return sales of products, which share hash buckets."""
    draw = Random(4)
    level = [draw.gauss(0, effect) for _ in range(number)]
    names = [draw.randrange(number) for _ in range(600)]
    sold = [level[name] + draw.gauss(0, 0.5) for name in names]
    table = {"product": [f"P{n}" for n in names], "price": [draw.random() for _ in sold]}
    hashed: dict[str, Any] = {"hash_buckets": {"product": buckets}} if buckets else {}
    return TableDataset(
        {**table, "sold": sold}, label="sold", task="regression", missing="mean", **hashed
    )


def loads(limit: float, *, of: str = "training", highest: float = 6000.0) -> Dataset:
    """Return loads that are cut off at a limit, in the training rows or in all."""
    draw = Random(5)
    x = [[draw.random(), draw.random()] for _ in range(ROWS)]
    y = [highest * (a + b) / 2 for a, b in x]
    y = [min(limit, one) if of == "all" or row < 300 else one for row, one in enumerate(y)]
    return Dataset(x, y, split=([*range(300)], [], [*range(300, ROWS)]))


def stations(first: int, last: int, *, labels: bool = True, turning: bool = False) -> Dataset:
    """Return rows whose targets have the opposite sign in some of them, or turn by and by."""
    draw = Random(6)
    x = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(900)]
    signs = [
        math.cos(2 * math.pi * row / 900) if turning else -1.0 if first <= row < last else 1.0
        for row in range(900)
    ]
    y = [s * (a - b) + draw.gauss(0, 0.5) for (a, b, _), s in zip(x, signs, strict=True)]
    return Dataset(x, [int(one > 0) for one in y] if labels else y, standardize=True)


def wandering() -> Dataset:
    """Return series that wander, and have nothing to do with each other."""
    draw = Random(7)
    x: Table = [[0.0, 0.0, 0.0]]
    for _ in range(900):
        x.append([value + draw.gauss(0, 1) for value in x[-1]])
    return Dataset([row[:2] for row in x], [row[2] for row in x], method="sequential")


def weighted(kind: str) -> Dataset:
    """Return measurements of good and bad sensors, weighted by kind."""
    draw = Random(8)
    x = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(ROWS)]
    noise = [draw.choice([0.2, 1.0, 3.0]) for _ in x]
    size = [math.exp(a) for a, _ in x]
    if kind == "importance":
        y = [amount * (1 + draw.gauss(0, 0.3)) for amount in size]
        weights = size
    else:
        y = [a - b + draw.gauss(0, std) for (a, b), std in zip(x, noise, strict=True)]
        weights = [std**2 if kind == "variance" else std**-2 for std in noise]
    return Dataset(x, y, sample_weight=weights if kind != "none" else None, standardize=True)


def clicks(*, period: float = 86_400, unit: float = 1.0, seconds: bool = True) -> Dataset:
    """Return visitors by the time of day, which is hidden in seconds since 1970."""
    draw = Random(9)
    times = [1.6e9 + draw.randrange(40 * 86_400) for _ in range(ROWS)]
    y = [9 * math.sin(2 * math.pi * time / period) + draw.gauss(0, 2) for time in times]
    x = [[time * unit if seconds else time % 86_400, draw.random()] for time in times]
    return Dataset(x, y, standardize=True)


def pictures(
    mark: float = 0.0, *, content: float = 0.035, at: int = 0, scale: float = 1.0, kinds: int = 2
) -> Dataset:
    """Return pictures that are brighter in class 1, with a mark in a share of these; some in
    another scale."""
    draw = Random(11)
    labels = [draw.randrange(kinds) for _ in range(ROWS)]
    x: list[Any] = []
    for row, kind in enumerate(labels):
        level = 0.3 + content * (kind == 1)
        picture = [[draw.gauss(level, 0.15) for _ in range(12)] for _ in range(10)]
        marked = mark and (draw.random() < mark) == (kind == 1)
        for line in range(at, at + 2) if marked else ():
            picture[line][at : at + 3] = [0.95] * 3
        unit = scale if row % 3 else 1.0
        x.append([[[min(1.0, max(0.0, pixel)) * unit for pixel in line] for line in picture]])
    return Dataset(x, labels, standardize=True)


def variants(*, apart: bool = False, flipped: bool = True, noise: float = 0.03) -> Dataset:
    """Return pictures three times each, some mirrored, and brighter or darker."""
    draw = Random(12)
    x: list[Any] = []
    for _ in range(100):
        picture = [[draw.gauss(0.5, 0.2) for _ in range(10)] for _ in range(10)]
        for _ in range(3):
            lines = [line[::-1] for line in picture] if flipped and draw.random() < 0.5 else picture
            gain = draw.uniform(0.8, 1.2)
            x.append([[[gain * pixel + draw.gauss(0, noise) for pixel in line] for line in lines]])
    split = ([*range(210)], [], [*range(210, 300)]) if apart else (0.7, 0.0, 0.3)
    return Dataset(x, [row // 3 % 2 for row in range(300)], split=split)


def devices(factor: float = 9.80665, *, of: str = "all", spread: float = 0.2) -> Dataset:
    """Return signals of two classes, some of devices with another unit."""
    draw = Random(13)
    x: list[Any] = []
    kinds = [row % 2 for row in range(ROWS)]
    for row, kind in enumerate(kinds):
        size = (1 + 3 * kind) * math.exp(draw.gauss(0, spread))
        if row % 5 < 2 and (of == "all" or kind == 0):
            size /= factor
        x.append([[draw.gauss(0, size) for _ in range(20)]])
    return Dataset(x, kinds, standardize=True)


def colours(*, swapped: bool = True, shares: float = 0.5) -> Dataset:
    """Return pictures that are mostly red, or mostly blue; some to test with in another order."""
    draw = Random(14)
    kinds = [int(draw.random() < (0.5 if row < 200 else shares)) for row in range(300)]
    x: list[Any] = []
    for row, kind in enumerate(kinds):
        levels = [0.6, 0.3, 0.2] if kind else [0.2, 0.3, 0.6]
        planes = [
            [[draw.gauss(level, 0.1) for _ in range(8)] for _ in range(8)] for level in levels
        ]
        x.append(planes[::-1] if swapped and row >= 200 else planes)
    return Dataset(x, kinds, split=([*range(200)], [], [*range(200, 300)]))


TOLD: list[tuple[str, Callable[[], Dataset], str]] = [
    ("E646", lambda: sales("centred"), "column 0 is a combination of the target of the row and"),
    ("E646", lambda: sales("running"), "column 0 is a combination of the target"),
    ("E646", lambda: sales("far", decimals=1), "column 0 is a combination of the target"),
    ("E646", lambda: sales("centred", rate=True), "column 0 is a combination of the target"),
    (
        "E647",
        lambda: laboratory("class"),
        "column 0 has 19.81 in class 0 and 21.79 in class 1 alone",
    ),
    (
        "E647",
        lambda: laboratory("class", classes=3),
        "in class 0 and 21.67 in class 1 alone: empty",
    ),
    ("E648", lambda: laboratory("all", "telling"), "column 0 (49% are 21.09, correlation 0.45)"),
    ("E649", lambda: products(40, 4), "40 categories of product share 4 hash buckets, though"),
    (
        "E650",
        lambda: loads(4000),
        "24% of the targets are 4000, the highest of the training rows; 32%",
    ),
    ("E650", lambda: loads(4095, of="all"), "4095, the highest number that 12 bits can hold"),
    ("E651", lambda: stations(300, 600), "in rows 327 to 596 or so, columns have the opposite"),
    ("E651", lambda: stations(0, 200, labels=False), "opposite relation to the target"),
    ("E652", lambda: weighted("variance"), "rows with larger weights have larger errors, "),
    ("E634", clicks, "column 0 has seconds since 1970, and the target depends on the time of day"),
    ("E634", lambda: clicks(unit=1e3), "column 0 has milliseconds since 1970"),
    ("E634", lambda: clicks(period=604_800), "depends on the day of the week"),
    ("E653", lambda: pictures(0.98), "lines 0 to 1 and columns 0 to 2, alone tell whether it is"),
    (
        "E653",
        lambda: pictures(0.98, kinds=3, content=0.05),
        "alone tell whether it is class 1 in",
    ),
    ("E654", lambda: pictures(scale=255), "34% of the pictures of model have pixels from 0 to 1"),
    ("E655", devices, "in 2 of 2 classes, 40% of the rows of model are 1/9.807 of the others"),
    ("E655", lambda: devices(1000), "are 1/1000 of the others (as millivolts to volts)"),
    ("E638", colours, "the mean of channel 0 of model in testing of class 0"),
    ("E619", variants, "much nearer than all others, mirrored or with another brightness"),
    ("E621", lambda: survey(copied=True), "are equal to a row of another class"),
]

SILENT: list[tuple[str, Callable[[], Dataset]]] = [
    ("E646", lambda: sales("trailing")),
    ("E646", lambda: sales("trailing", rate=True)),
    ("E646", lambda: sales("sensor")),
    ("E646", lambda: sales("forecast")),
    ("E647", lambda: laboratory("all")),
    ("E647", lambda: laboratory("all", "telling")),
    ("E648", lambda: laboratory("all")),
    ("E648", lambda: laboratory("marked", "telling")),
    ("E648", lambda: laboratory("class", "telling")),
    ("E649", lambda: products(40, None)),
    ("E649", lambda: products(40, 64)),
    ("E649", lambda: products(40, 4, effect=0.0)),
    ("E649", lambda: products(590, 16)),  # names, each of which is rare
    ("E650", lambda: loads(4000, of="all")),  # a limit of the matter itself
    ("E650", lambda: loads(math.inf)),
    ("E651", lambda: stations(0, 0)),
    ("E651", lambda: stations(0, 0, turning=True)),
    ("E651", wandering),
    ("E652", lambda: weighted("inverse")),
    ("E652", lambda: weighted("importance")),
    ("E652", lambda: weighted("none")),
    ("E634", lambda: clicks(seconds=False)),
    ("E634", lambda: clicks(period=7e6)),
    ("E653", lambda: pictures(0.5)),
    ("E653", lambda: pictures(0.98, content=0.0)),  # the mark is what it is about
    ("E653", lambda: pictures(0.98, at=4)),
    ("E653", pictures),
    ("E654", pictures),
    ("E654", lambda: pictures(scale=4)),
    ("E655", lambda: devices(1.0)),
    ("E655", lambda: devices(of="one class")),
    ("E655", lambda: devices(6.5)),
    ("E655", lambda: devices(1.0, spread=1.5)),
    ("E638", lambda: colours(swapped=False)),
    ("E638", lambda: colours(swapped=False, shares=0.2)),
    ("E619", lambda: variants(apart=True)),
    ("E619", lambda: variants(noise=0.3)),
    ("E621", survey),
]


@pytest.mark.parametrize(("id", "make", "words"), TOLD)
def test_what_is_suspicious_is_told(id: str, make: Callable[[], Dataset], words: str) -> None:
    assert words in examine(make())[id].message


@pytest.mark.parametrize(("id", "make"), SILENT, ids=[id for id, _ in SILENT])
def test_what_is_like_it_is_not_told(id: str, make: Callable[[], Dataset]) -> None:
    assert id not in examine(make())


def test_rows_that_are_equal_by_chance_are_told_as_such() -> None:
    assert "E606" in examine(survey())
    assert "E606" not in examine(survey(copied=True))


def test_a_time_is_to_be_divided_into_hours_and_days() -> None:
    assert examine(clicks())["E634"].remedy.startswith("Make columns of it: sine and cosine")


def test_cells_that_tell_the_class_are_told_once() -> None:
    assert {"E648", "E615", "E614"}.isdisjoint(examine(laboratory("class", "telling")))


def test_outcomes_that_are_more_random_in_one_class_are_no_label_noise() -> None:
    draw = Random(10)
    told = 0
    for _ in range(8):
        x = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(600)]
        chances = [0.02 + 0.68 / (1 + math.exp(-6 * a)) for a, *_ in x]
        y = [int(draw.random() < chance) for chance in chances]
        found = examine(Dataset(x, y, standardize=True)).get("E636")
        told += found is not None and "labels disagree" in found.message
    assert told <= 1
