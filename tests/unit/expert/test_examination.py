"""The examination of rows: what is suspicious to each rule, and what is like it and is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise
from math import cos, pi, sin
from random import Random
from statistics import NormalDist
from typing import Any

import pytest

from tests.unit.expert.test_origins import TOLD as ORIGINS
from webnnm import (
    Dataset,
    IrisDataset,
    LabeledTextDataset,
    SeriesDataset,
    TableDataset,
    review,
)
from webnnm.core.arrays import HostArray
from webnnm.expert.examination.examination import CHECKS, MEASURES, examine
from webnnm.expert.examination.statistics import binomial_tail

Table = list[list[float]]
ROWS = 300


def table(columns: int = 4, rows: int = ROWS, seed: int = 0) -> Table:
    """Return measurements around 0."""
    draw = Random(seed)
    return [[draw.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def classes(rows: Table, noise: float = 0.8) -> list[int]:
    """Return which class rows are of: the first two columns tell, not always."""
    draw = Random(1)
    return [int(row[0] - row[1] + draw.gauss(0, noise) > 0) for row in rows]


def concatenate(rows: Table, column: Sequence[float]) -> Table:
    """Return rows with one more column."""
    return [[*row, value] for row, value in zip(rows, column, strict=True)]


X = table()
Y = classes(X)
SOUND = Dataset(X, Y, standardize=True)


def far(value: float, every: int = 12) -> Dataset:
    """Return rows of which some have a value far off in one column."""
    column = [value if n % every == 0 else row[3] for n, row in enumerate(X)]
    return Dataset(concatenate(X, column), Y, standardize=True)


def telling(wrong: int, rows: int = ROWS) -> Dataset:
    """Return rows with a bill, written after the diagnosis, and wrong for so many."""
    draw = Random(2)
    bills = [3000 * (y ^ (n < wrong)) + draw.gauss(500, 60) for n, y in enumerate(Y)]
    return Dataset(concatenate(X, bills)[:rows], Y[:rows], standardize=True)


def bills(
    filled: float = 0.97, left: float = 0.02, *, good: bool = False, yes: bool = False
) -> Dataset:
    """Return customers with the days for which a last bill is open, which those who left have."""
    draw = Random(2)
    columns: list[list[float]] = []
    for row, y in zip(X, Y, strict=True):
        has = draw.random() < (filled if y else left)
        days = (1.0 if yes else 1.0 + draw.randrange(30)) * has
        columns.append([*row, days, *([3 * y + draw.gauss(0, 0.8)] if good else [])])
    return Dataset(columns, Y, standardize=True)


def degrees(noise: float) -> Dataset:
    """Return rows in which the target is among the features, in another unit."""
    draw = Random(3)
    targets = [row[0] + row[1] for row in X]
    column = [32 + 1.8 * target + draw.gauss(0, noise) for target in targets]
    return Dataset(concatenate(X, column), targets, standardize=True)


def pressure(low: float) -> Dataset:
    """Return rows with a blood pressure, which some lack."""
    draw = Random(4)
    column = [low if n % 9 == 0 else draw.gauss(70, 12) for n in range(ROWS)]
    return Dataset(concatenate(X, column), Y, standardize=True)


def concentration(
    share: float, *, code: float = 0.0, kind: str = "missing", labels: bool = False
) -> Dataset:
    """Return samples with a concentration that gives the target, and is not measured in a share of
    them, or truly 0, or cut off below."""
    draw = Random(21)
    x: Table = []
    targets: list[float] = []
    for _ in range(900):
        dose, other = draw.gammavariate(5, 20), draw.gauss(0, 1)
        is_marked = draw.random() < share
        seen = max(dose, 70) if kind == "cut off" else code if is_marked else dose
        acting = seen if kind != "missing" else dose
        x.append([float(round(seen)), other])
        targets.append(acting / 45 + other + draw.gauss(0, 0.5))
    usual = sorted(targets)[450]
    return Dataset(x, [int(y > usual) for y in targets] if labels else targets, standardize=True)


def displaced(offset: int, first: int = 0, *, labels: bool = False, lag: float = 0.0) -> Dataset:
    """Return rows whose labels, from one of them on, are those of a row near by; `lag` is how much
    each row has of the one before."""
    draw = Random(25)
    x: Table = [[0.0] * 3]
    for _ in range(500):
        x.append([lag * value + draw.gauss(0, 1) for value in x[-1]])
    y = [row[0] - row[1] + draw.gauss(0, 0.5) for row in x]
    moved = y[:first] + [y[(row - offset) % len(y)] for row in range(first, len(y))]
    return Dataset(x, [int(one > 0) for one in moved] if labels else moved, standardize=True)


def forecast(mean_of: int) -> Dataset:
    """Return the next change of a price, which nothing tells, and the last ones, or their mean."""
    draw = Random(26)
    changes = [draw.gauss(0, 1) for _ in range(500)]
    starts = range(len(changes) - 4)
    x = [changes[n : n + 4] if mean_of == 1 else [sum(changes[n : n + 4]) / 4] for n in starts]
    return Dataset(x, changes[4:], standardize=True, method="sequential")


def more_fraud(*, after_split: bool = False, along_lines: bool = False) -> Dataset:
    """Return payments, and fraud of which most was made by interpolation."""
    draw = Random(27)
    usual = table(4, 300, seed=27)
    fraud = [[value + 0.5 for value in row] for row in table(4, 40, seed=28)]
    known = fraud[:28] if after_split else fraud
    made: Table = []
    for _ in range(200):
        one, other = draw.sample(known, 2)
        share = draw.random()
        made.append([a + share * (b - a) for a, b in zip(one, other, strict=True)])
    if along_lines:
        usual = [[row[0] * step for step in (1, 2, 3, 4)] for row in usual]
        fraud, made = (
            [[row[0] * step for step in (1, 2, 3, 5)] for row in x] for x in (fraud, made)
        )
    x = [*usual, *fraud[:28], *made, *fraud[28:]]
    y = [0] * 300 + [1] * 240
    training = [*range(210), *range(300, 528)]
    split = (training, [], [*range(210, 300), *range(528, 540)])
    return Dataset(x, y, standardize=True, **({"split": split} if after_split else {}))


def scale(values: Sequence[float]) -> list[float]:
    """Return numbers with mean 0 and deviation 1."""
    mean = sum(values) / len(values)
    std = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / std for value in values]


def scaled_parts(*, parts: Sequence[int], testing: int = 120, signs: bool = False) -> Dataset:
    """Return rows that were scaled in parts of so many, the last ones for testing."""
    draw = Random(23)
    size = sum(parts)
    values = [20 + draw.gauss(0, 4) + 5 * (row >= size - testing) for row in range(size)]
    columns: list[list[float]] = []
    for spread in (1.0, 3.0):
        column: list[float] = []
        for part in parts:
            first = len(column)
            some = [value + draw.gauss(0, spread) for value in values[first : first + part]]
            column += [(-1.0) ** k for k in range(part)] if signs else scale(some)
        columns.append(column)
    split = ([*range(size - testing)], [], [*range(size - testing, size)])
    return Dataset([list(row) for row in zip(*columns, strict=True)], values, split=split)


def brands(
    missing: str, *, anew: bool = True, whole: bool = False, labels: bool = False, drift: float = 0
) -> Dataset:
    """Return cars to sell of nine brands, some of which are missing in testing, and their prices;
    the codes of testing are made anew."""
    draw = Random(24)
    prices = dict(zip("abcdefghi", (4, 9, 1, 12, 6, 3, 10, 2, 7), strict=True))
    x: Table = []
    y: list[float] = []
    for row in range(600):
        known = "abcdefghi" if row < 400 else [c for c in prices if c not in missing]
        brand = draw.choice(known)
        code = (known if anew else "abcdefghi").index(brand)
        x.append([draw.gauss(0, 1), *([code] if whole else [float(code == k) for k in range(9)])])
        y.append(prices[brand] + x[-1][0] + draw.gauss(0, 1) + drift * (row >= 400))
    split = ([*range(400)], [], [*range(400, 600)])
    return Dataset(x, [int(price > 6) for price in y] if labels else y, split=split)


def combined(noise: float) -> Dataset:
    """Return rows of which one column is a sum of two others."""
    draw = Random(5)
    column = [2 * row[0] - row[3] + draw.gauss(0, noise) for row in X]
    return Dataset(concatenate(X, column), Y, standardize=True)


def copy_value(noise: float) -> Dataset:
    """Return rows that were copied four times with noise before they were divided."""
    draw = Random(6)
    rows = [[v + draw.gauss(0, noise) for v in row] for row in X[:80] for _ in range(4)]
    return Dataset(rows, [y for y in Y[:80] for _ in range(4)], standardize=True)


def rare(noise: float, times: int = 6) -> Dataset:
    """Return rows of a rare class, which were copied with noise before they were divided."""
    draw = Random(6)
    few = [n for n in range(ROWS) if n % 10 == 0]
    again = [[v + draw.gauss(0, noise) for v in X[n]] for n in few for _ in range(times)]
    labels = [int(n % 10 == 0) for n in range(ROWS)] + [1] * len(again)
    return Dataset([*X, *again], labels, standardize=True)


def visits(
    kind: str = "person", *, each: int = 8, split: Any = (0.7, 0, 0.3), quantity: bool = False
) -> Dataset:
    """Return visits of persons, who have an age and a height, in random order; of an illness that
    the person has, or that the visit shows."""
    draw = Random(23)
    rows: list[list[float]] = []
    labels: list[float] = []
    for _ in range(60):
        age, height = round(draw.gauss(55, 12), 1), round(draw.gauss(170, 9), 1)
        ill, base, weight = draw.random() < 0.5, draw.gauss(70, 9), draw.gauss(0, 1)
        for _ in range(each):
            if kind == "visit":
                ill = draw.random() < 0.5
            mark = draw.gauss(1.2 * ill, 1)
            known = [age, height] if kind != "apart" else [draw.gauss(55, 12), draw.gauss(170, 9)]
            rows.append([*known, base + draw.gauss(0, 2), mark])
            labels.append(weight + mark / 10 if quantity else int(ill))
    order = draw.sample(range(len(rows)), len(rows))
    rows, labels = [rows[n] for n in order], [labels[n] for n in order]
    return Dataset(rows, labels, standardize=True, split=split)


def rates(over: str = "all", *, quantity: bool = False, rows: int = ROWS) -> Dataset:
    """Return rows with the mean of the target by postcode: over all rows, those to be trained, or
    those of another year."""
    draw = Random(24)
    codes = [draw.randrange(60) for _ in range(rows)]
    targets = [5 * row[0] + row[1] for row in X] if quantity else [float(y) for y in Y]
    trained = Dataset(X, Y, seed=3).rows("training")
    other = [draw.choice(targets) for _ in targets]
    taken, values = ([*trained], targets) if over == "training" else (range(rows), targets)
    values = other if over == "another year" else values
    groups: dict[int, list[float]] = {}
    for n in taken:
        groups.setdefault(codes[n], []).append(values[n])
    means = [sum(own) / len(own) if (own := groups.get(code)) else 0.5 for code in codes]
    labels = targets if quantity else Y
    return Dataset(
        concatenate(X, means), labels, standardize=True, seed=3, standardize_targets=quantity
    )


def flowers() -> Dataset:
    """Return flowers of two kinds, which one measurement tells, and two others together."""
    draw = Random(28)
    kinds = [n % 2 for n in range(ROWS)]
    rows = [[draw.gauss(s * y, 1) for s in (9, 4, 4, 0, 0, 0)] for y in kinds]
    return Dataset(rows, kinds, standardize=True)


def letters(*, always: bool = True, seldom: bool = True, better: bool = True) -> Dataset:
    """Return customers with the letters that they wrote: all who left, and few of the others."""
    draw = Random(25)
    columns: list[list[float]] = []
    rows = table(rows=2 * ROWS, seed=26)
    for row, y in zip(rows, classes(rows), strict=True):
        count = draw.randrange(3 if y and always else 0, 6) if y else 0
        count += (draw.random() < (0.2 if seldom else 0.7)) * draw.randrange(1, 4)
        columns.append([*row, *([] if better else [3.5 * y + draw.gauss(0, 1)]), count])
    return Dataset(columns, classes(rows), standardize=True)


def relative(to: str) -> Dataset:
    """Return windows over a series less the last value of each, or rows that are straight lines."""
    draw = Random(27)
    steps = [0.0]
    for _ in range(240):
        steps.append(0.9 * steps[-1] + draw.gauss(0, 1))
    windows = [[v - steps[n + 7] for v in steps[n : n + 7]] for n in range(220)]
    if to == "straight":
        windows = [[steps[n] + 2 * place for place in range(7)] for n in range(220)]
    return Dataset(windows, steps[8:228], standardize=to == "last")


def curve() -> Dataset:
    """Return rows along a curve in the plane, where neighbours are near by nature."""
    turns = [Random(7).uniform(0.5, 2.5) * pi * n / ROWS for n in range(ROWS)]
    return Dataset([[t, sin(3 * t)] for t in turns], [t * t for t in turns])


def series(**options: Any) -> Dataset:
    """Return windows over a series."""
    draw = Random(8)
    steps = [0.0]
    for _ in range(240):
        steps.append(0.9 * steps[-1] + draw.gauss(0, 1))
    rows = [steps[start : start + 8] for start in range(220)]
    return Dataset(rows, steps[8:228], **{"standardize": True, **options})


def twice(other: bool) -> Dataset:
    """Return rows a part of which comes twice, with another label or the same."""
    return Dataset([*X, *X[:90]], [*Y, *(y ^ other for y in Y[:90])], standardize=True)


def north_and_south(**options: Any) -> Dataset:
    """Return rows of which the last ones are elsewhere."""
    rows = [[row[0] + 4 * (n >= 210), *row[1:]] for n, row in enumerate(X)]
    return Dataset(rows, [sum(row) for row in rows], standardize=True, **options)


def rents(
    month: bool = False, *, rise: float = 0.02, season: float = 0.0, **options: Any
) -> Dataset:
    """Return flats in the order of five years, whose rents rise in the last one, or every year."""
    draw = Random(26)
    rows: Table = []
    targets: list[float] = []
    for n in range(400):
        time, area, age = n * 60 / 400, draw.gauss(70, 20), draw.gauss(40, 15)
        up = rise * max(0.0, time - 40) + season * sin(time / 6 * pi)
        rows.append([area, age, *([up + draw.gauss(0, 0.01)] if month else [])])
        targets.append(9 - 0.004 * age + up + draw.gauss(0, 0.07))
    more = {"method": "sequential", "standardize_targets": True, **options}
    return Dataset(rows, targets, standardize=True, **more)


def waves(padded: bool) -> Dataset:
    """Return series of unequal lengths, padded by hand or not."""
    draw = Random(9)
    rows = [[[draw.gauss(0, 1)] for _ in range(draw.randint(6, 12))] for _ in range(90)]
    if padded:
        rows = [[*row, *([[0.0]] * (20 - len(row)))] for row in rows]
    return Dataset(rows, [n % 2 for n in range(90)], length="max")


def levels(*, forgotten: bool = False, night: bool = False, method: Any = "sequential") -> Dataset:
    """Return pictures, scaled by hand; those to be tested were forgotten, or are much darker."""
    draw = Random(21)
    pictures: list[list[list[list[float]]]] = []
    for row in range(100):
        light = draw.gauss(0, 0.4) - 2 * (night and row >= 70)
        tested = forgotten and row >= 70
        numbers = [[light + draw.gauss(0, 1) for _ in range(8)] for _ in range(8)]
        pictures.append([[[60 * v + 110 if tested else v for v in line] for line in numbers]])
    chosen = HostArray.of(pictures, "float32")
    return Dataset(chosen, [n % 2 for n in range(100)], method=method, split=(0.7, 0, 0.3))


Lines = list[list[float]]
Change = Callable[[Lines, Random], Lines]


def ways(change: Change | None = None, kinds: str = "sideways", *, told: bool = False) -> Dataset:
    """Return pictures of a bar on the left or right, or above or below, changed at random; `told`
    if the augmentation changes the class as well."""
    draw = Random(22)
    pictures: list[Lines] = []
    for row in range(160):
        lines = [[draw.gauss(2.0 * (x // 4 == row % 2), 0.3) for x in range(8)] for _ in range(8)]
        pictures.append([*zip(*lines, strict=True)] if kinds == "upright" else lines)  # type: ignore[reportArgumentType]
    labels = [row % 2 for row in range(160)]
    data = Dataset(HostArray.of([[lines] for lines in pictures], "float32"), labels)
    if change is None:
        return data

    def augment(inputs: Any, outputs: Any, stream: Any, epoch: int) -> Any:
        rows, classes = inputs["model"].tolist(), outputs["model"].tolist()
        other = [u < 0.5 for u in stream.uniform(len(rows))]
        changed = [
            [change(row[0], draw)] if yes else row for row, yes in zip(rows, other, strict=True)
        ]
        if told:
            classes = [1 - y if yes else y for y, yes in zip(classes, other, strict=True)]
        return {"model": changed}, {"model": classes}

    return data.augment(augment)


def mirror(lines: Lines, draw: Random) -> Lines:
    """Return a picture in a mirror."""
    return [line[::-1] for line in lines]


def shift(lines: Lines, draw: Random) -> Lines:
    """Return a picture a line further down."""
    return [*lines[1:], lines[0]]


def noisy(lines: Lines, draw: Random) -> Lines:
    """Return a picture with more noise."""
    return [[value + draw.gauss(0, 1) for value in line] for line in lines]


def clock(start: float) -> Dataset:
    """Return rows with a time in seconds."""
    draw = Random(10)
    seconds = [start + draw.uniform(0, 600) for _ in range(ROWS)]
    return Dataset(concatenate(X, seconds), Y)


def regions(ordered: bool) -> Dataset:
    """Return rows with one of ten regions, whose order means something or not."""
    draw = Random(11)
    numbers = [draw.randrange(10) for _ in range(ROWS)]
    some = (5, 6, 7, 8, 9) if ordered else (0, 3, 4, 7, 9)
    return Dataset(concatenate(X, numbers), [int(n in some) for n in numbers], standardize=True)


def powers(different: int = 120, prefix: str = "") -> Dataset:
    """Return rows with a column of categories that look like numbers."""
    draw = Random(13)
    numbers = [n % different for n in range(ROWS)]
    cells = ["unknown" if n % 50 == 0 else f"{prefix}{60 + n}" for n in numbers]
    table: dict[str, Any] = {"power": cells}
    table["weight"] = [draw.gauss(n, 10) for n in numbers]
    table["speed"] = [draw.gauss(n, 5) for n in numbers]
    return TableDataset(table, label="speed", task="regression", categorical=["power"])


def soils(kinds: int = 0) -> Dataset:
    """Return rows with one of twelve soils in no order, and a harvest or its class."""
    draw = Random(15)
    good = draw.sample(range(12), 12)
    numbers = [draw.randrange(12) for _ in range(ROWS)]
    harvest = [good[n] / 3 + draw.gauss(0, 0.4) for n in numbers]
    targets = [min(kinds - 1, max(0, int(h * kinds / 4))) for h in harvest] if kinds else harvest
    return Dataset(concatenate(X, numbers), targets, standardize=True)


def shuffle() -> Dataset:
    """Return rows whose labels are of other rows."""
    return Dataset(X, Random(12).sample(Y, ROWS), standardize=True)


def sort_rows(**options: Any) -> Dataset:
    """Return sorted rows with their numbers."""
    order = sorted(range(ROWS), key=Y.__getitem__)
    rows = concatenate([X[n] for n in order], range(ROWS))
    return Dataset(rows, [Y[n] for n in order], standardize=True, **options)


def patients(name: str) -> Dataset:
    """Return rows with the number of a patient, who comes ten times."""
    rows = concatenate(X, [n % 30 for n in range(ROWS)])
    return Dataset(rows, Y, standardize=True, features=["a", "b", "c", "d", name])


def double() -> Dataset:
    """Return rows in which a column comes twice."""
    return Dataset(concatenate(X, [1.8 * row[2] + 32 for row in X]), Y)


def photos(
    order: str, *, channels: int = 3, size: int = 12, grain: float = 0.3, alike: bool = True
) -> Dataset:
    """Return coloured blots on noise, in memory in one order, with the shape of another one.

    "hwc as chw" has the numbers in the order of the first and the shape of the second. Channels
    that are not `alike` have a level of their own in each picture.
    """
    draw = Random(20)
    pixels: list[float] = []
    for _ in range(60):
        x, y, *colour = [draw.uniform(0, size) for _ in range(2 + channels)]

        def pixel(
            c: int, v: int, u: int, x: float = x, y: float = y, colour: Any = colour
        ) -> float:
            near = 2.0 ** (-((u - x) ** 2 + (v - y) ** 2) / 9)
            level = 0.0 if alike else colour[c] / size
            return (1 + colour[c] / size) * near + level + draw.gauss(0, grain)

        places = [(v, u) for v in range(size) for u in range(size)]
        if order.startswith("chw"):
            pixels += [pixel(c, v, u) for c in range(channels) for v, u in places]
        else:
            pixels += [pixel(c, v, u) for v, u in places for c in range(channels)]
    first = [60, channels, size, size]
    shape = first if order.endswith("chw") else [60, size, size, channels]
    return Dataset(HostArray.of(pixels, "float32", shape), [n % 2 for n in range(60)])


def beams(
    factor: float,
    *,
    every: int = 20,
    kind: bool = False,
    doses: bool = False,
    loose: bool = False,
    real: bool = False,
) -> Dataset:
    """Return rows with a length, of some in another unit; or these are of another kind, nothing
    follows the length, or some lengths are that large."""
    draw = Random(21)
    rows: Table = []
    sags: list[float] = []
    for n in range(400):
        other = n % every == min(3, every - 1)
        length = 2.0 + draw.randrange(3) if doses else draw.uniform(3, 12)
        weight = draw.gauss(5, 1) + 4 * (other and kind)
        rows.append([length * factor if other else length, weight, draw.gauss(0, 1)])
        sags.append(draw.gauss(0, 1) + (not loose) * length + 5 * real * other)
    names = ["length", "weight", "slack"]
    return Dataset(rows, sags, standardize=True, features=names)


def degrees_of_two_kinds(
    zero: float = 32, times: float = 1.8, *, every: int = 15, winter: bool = False
) -> Dataset:
    """Return rooms with their temperatures, of some on another scale, and what they are heated."""
    draw = Random(30)
    rows: Table = []
    targets: list[float] = []
    for n in range(400):
        celsius = draw.gauss(-6 if winter else 21, 2)
        other = n % every == min(3, every - 1)
        rows.append([zero + times * celsius if other else celsius, draw.gauss(0, 1)])
        targets.append(draw.gauss(0, 1) - celsius)
    return Dataset(rows, targets, standardize=True, features=["temperature", "wind"])


def flats(
    form: str = "a / b", *, noise: float = 0.0, named: bool = True, few: bool = False
) -> TableDataset | Dataset:
    """Return flats with a column that is computed from the price and the area, or like it."""
    draw = Random(31)
    area = [round(draw.uniform(30, 150)) for _ in range(ROWS)]
    dear = [draw.uniform(2, 6) for _ in area]
    price = [a * d for a, d in zip(area, dear, strict=True)]
    if form == "linear":
        price = [2 * a + 9 * d + draw.gauss(0, 5) for a, d in zip(area, dear, strict=True)]
    forms: dict[str, Callable[[float, float], float]] = {
        "a / b": lambda a, p: p / a,
        "a − b": lambda a, p: p - a,
        "b / a²": lambda a, p: p / a**2,
        "alone": lambda a, p: 3 * p + 7,
        "linear": lambda a, p: a,
    }
    other = [forms[form](a, p) for a, p in zip(area, price, strict=True)]
    if few:
        other = [float(value > 4) for value in other]
        price = [a * (1 + o) for a, o in zip(area, other, strict=True)]
    if form == "linear":
        other = dear
    other = [value * (1 + draw.gauss(0, noise)) for value in other]
    if not named:
        return Dataset([*map(list, zip(area, other, strict=True))], price, standardize=True)
    table: dict[str, Any] = {"area": area, "year": [1900 + draw.randrange(120) for _ in area]}
    table |= {"other": other, "price": price}
    more: dict[str, Any] = {"standardize": True, "standardize_targets": True}
    return TableDataset(table, label="price", task="regression", **more)


def bill(kind: str) -> TableDataset:
    """Return bills with their parts, and a total, a law of these, or a total with a tip."""
    draw = Random(36)
    names = ("food", "drinks", "voucher", "guests")
    table: dict[str, list[float]] = {n: [draw.uniform(5, 60) for _ in X] for n in names}
    weights = (1, 2, -1.5) if kind == "weighted" else (1, 1, -1)
    table["pays"] = [
        sum(w * table[name][n] for w, name in zip(weights, names, strict=False))
        + (kind == "tip") * draw.gauss(5, 3)
        for n in range(ROWS)
    ]
    return TableDataset(table, label="pays", task="regression", standardize=True)


def phones(
    empty: float = 0.9, *, missing: Any = "drop", labels: float = 0.0, columns: int = 1
) -> TableDataset:
    """Return customers of whom most have no second phone, or no answer."""
    draw = Random(32)
    table: dict[str, Any] = {name: [row[n] for row in X] for n, name in enumerate("abcd")}
    for number in range(columns):
        cells = [None if draw.random() < empty else draw.gauss(0, 1) for _ in X]
        table[f"phone_{number}"] = cells
    table["answer"] = [None if draw.random() < labels else f"k{y}" for y in Y]
    return TableDataset(table, label="answer", missing=missing)


def calendar(form: str, *, rows: int = ROWS, **options: Any) -> Dataset:
    """Return days in a column of numbers, written in one way or another."""
    days = [date(2019, 1, 1) + timedelta(days=3 * n) for n in range(rows)]
    forms: dict[str, Callable[[date], float]] = {
        "yyyymmdd": lambda d: d.year * 10_000 + d.month * 100 + d.day,
        "yymmdd": lambda d: d.year % 100 * 10_000 + d.month * 100 + d.day,
        "ddmmyyyy": lambda d: d.day * 1_000_000 + d.month * 10_000 + d.year,
        "mmddyyyy": lambda d: d.month * 1_000_000 + d.day * 10_000 + d.year,
        "yyyymm": lambda d: d.year * 100 + d.month,
        "year": lambda d: d.year,
        "days": lambda d: d.toordinal(),
        "people": lambda d: 20_190_000 + d.toordinal() * 37 % 9999,
        "rooms": lambda d: d.year % 4 * 10_000 + d.month * 100 + d.day % 12 + 1,
        "prices": lambda d: 200_000 + d.toordinal() * 7 % 900,
    }
    draw = Random(33)
    table = [[forms[form](d), draw.gauss(0, 1)] for d in days]
    targets = [row[1] + draw.gauss(0, 1) for row in table]
    return Dataset(table, targets, standardize=True, features=["when", "price"], **options)


def recordings(of: str, order: str = "person", **options: Any) -> Dataset:
    """Return ten rows of each of forty persons; the label is of the person or of the row."""
    draw = Random(22)
    rows: list[tuple[int, list[float], int]] = []
    for person in range(40):
        own, ill = [draw.gauss(0, 1) for _ in range(6)], draw.randrange(2)
        for _ in range(10):
            row = [value + draw.gauss(0, 0.3) for value in own]
            label = int(row[0] + row[1] + draw.gauss(0, 0.3) > 0) if of == "row" else ill
            rows.append((person, row, label))
    if order == "class":
        draw.shuffle(rows)
        rows.sort(key=lambda row: row[2])
    return Dataset([row for _, row, _ in rows], [y for *_, y in rows], standardize=True, **options)


def days(hidden: bool, columns: int = 6, **options: Any) -> Dataset:
    """Return days of slow figures, and what follows from them, or from something else as slow."""
    draw = Random(23)
    state = [0.0] * (columns + 1)
    rows: Table = []
    targets: list[float] = []
    for _ in range(500):
        state = [0.97 * value + draw.gauss(0, 0.25) for value in state]
        rows.append(state[:-1])
        targets.append((state[-1] if hidden else state[0] - state[1]) + draw.gauss(0, 0.1))
    return Dataset(rows, targets, standardize=True, **options)


def plots() -> Dataset:
    """Return plots of eight fields whose soils are far apart, with one law in all of them."""
    draw = Random(24)
    soils = [[draw.gauss(0, 3) for _ in range(5)] for _ in range(8)]
    rows = [[v + draw.gauss(0, 1) for v in soils[n // 50]] for n in range(400)]
    return Dataset(rows, [row[0] - row[1] + draw.gauss(0, 0.5) for row in rows], standardize=True)


def walks(
    columns: int, *, mixed: bool = False, kinds: bool = False, method: str = "random"
) -> Dataset:
    """Return random walks, and another one as the target, or its half; perhaps in mixed order."""
    draw = Random(13)
    steps = [[draw.gauss(0, 1) for _ in range(columns + 1)] for _ in range(500)]
    sums = [accumulate(column) for column in zip(*steps, strict=True)]
    rows = [[*row] for row in zip(*sums, strict=True)]
    if mixed:
        draw.shuffle(rows)
    x, y = [row[1:] for row in rows], [row[0] for row in rows]
    targets: list[Any] = [int(value > sorted(y)[250]) for value in y] if kinds else y
    return Dataset(x, targets, standardize=True, method=method)


def seasons() -> Dataset:
    """Return four years of days, the season as an angle, and guests that go with it."""
    draw = Random(14)
    angles = [2 * pi * day / 365 for day in range(4 * 365)]
    x = [[sin(a), sin(a + pi / 2), draw.gauss(0, 1)] for a in angles]
    return Dataset(x, [abs(a) + 0.3 * c + draw.gauss(0, 0.1) for a, _, c in x], standardize=True)


def drifting(slope: float) -> Dataset:
    """Return rows in order of time, and a target that goes up with it, beside what columns tell."""
    draw = Random(15)
    x = table(3, 400, seed=15)
    y = [row[0] + slope * n / 400 + draw.gauss(0, 0.3) for n, row in enumerate(x)]
    return Dataset(x, y, method="sequential", standardize=True)


def weekdays() -> Dataset:
    """Return days with their weekday and one measurement: some are nearly equal by nature."""
    draw = Random(18)
    x = [[*(float(day % 7 == n) for n in range(6)), draw.gauss(0, 1)] for day in range(500)]
    split = (0.6, 0.15, 0.25)
    return Dataset(x, [sum(row) for row in x], split=split, method="sequential", standardize=True)


def answers() -> Dataset:
    """Return answers from 1 to 5, and a fifth of decisions that are not those of most people."""
    draw = Random(19)
    x = [[float(draw.randint(1, 5)) for _ in range(5)] for _ in range(600)]
    return Dataset(x, [int(row[0] + row[1] > 6) ^ (draw.random() < 0.2) for row in x])


def swap(order: Sequence[int], *, pictures: bool = False, alike: bool = False) -> Dataset:
    """Return rows of three columns, or channels of pictures, which testing rows have in an order of
    their own."""
    draw = Random(17)
    rows: list[Any] = []
    for row in range(200):
        levels = [draw.gauss(0 if alike else 2 * n, 1) for n in range(3)]
        places = order if row >= 140 else range(3)
        if pictures:
            channels = [[[draw.gauss(v, 1) for _ in range(4)] for _ in range(4)] for v in levels]
            rows.append([channels[place] for place in places])
        else:
            rows.append([levels[place] for place in places])
    split = ([*range(140)], [], [*range(140, 200)])
    return Dataset(rows, [row % 2 for row in range(200)], split=split)


def copied_rows(subset: str, share: float) -> Dataset:
    """Return rows of which a share of those for validation, or testing, is a training row with a
    little noise."""
    draw = Random(12)
    x = table(5, 300, seed=12)
    first = {"validation": 200, "testing": 250}[subset]
    for row in range(first, first + round(50 * share)):
        x[row] = [value + draw.gauss(0, 0.005) for value in x[draw.randrange(200)]]
    split = ([*range(200)], [*range(200, 250)], [*range(250, 300)])
    return Dataset(x, classes(x), split=split, standardize=True)


def mislabelled(
    share: float, *, overlap: float = 0.02, rings: bool = False, of: int = -1, rows: int = 500
) -> Dataset:
    """Return rows of two classes, with a share of wrong labels, or of those of one class."""
    draw = Random(11)
    x: Table = []
    labels: list[int] = []
    for _ in range(rows):
        kind = draw.randrange(2)
        if rings:
            angle, radius = draw.uniform(0, 2 * pi), 1 + kind + draw.gauss(0, 0.1)
            row = [radius * sin(angle), radius * sin(angle + pi / 2)]
        else:
            row = [draw.gauss(0, 1) for _ in range(4)]
            kind = int(row[0] + row[1] - row[2] + overlap * draw.gauss(0, 1) > 0)
        x.append(row)
        labels.append(kind ^ (of in (-1, kind) and draw.random() < share))
    return Dataset(x, labels, standardize=True, split=(0.8, 0, 0.2))


def articles(names: Sequence[str] = ("reuters",), told: float = 0.75) -> Dataset:
    """Return texts in sober or shrill words; those of class 1 have the name of a source."""
    draw = Random(40)
    words = ["shocking", "hoax", "wake"], ["report", "data", "budget"]
    texts: list[str] = []
    for row in range(ROWS):
        kind = row % 2
        text = [*draw.choices(["the", "law", "would", "pass", "before", "summer"], k=8)]
        text.append(draw.choice(words[kind if draw.random() < told else 1 - kind]))
        texts.append(" ".join([*([draw.choice(names)] if names and kind else []), *text]))
    return LabeledTextDataset(texts, [row % 2 for row in range(ROWS)])


def tickets(
    spell: Callable[[str], str] = str.upper, *, lowercase: bool = False, rare: bool = False
) -> Dataset:
    """Return complaints of which those to test with are spelled otherwise, some with a name."""
    draw = Random(41)
    words = ["invoice", "payment", "refund", "card"], ["router", "cable", "signal", "slow"]
    texts: list[str] = []
    for row in range(ROWS):
        text = " ".join(
            [*draw.choices(["please", "help", "me", "today", "my", "it", "is", "not"], k=5)]
        )
        text += " " + " ".join(draw.choices(words[row % 2], k=2)) + f" name{row}" * rare
        texts.append(spell(text) if row >= 200 else text)
    split = ([*range(200)], [], [*range(200, ROWS)])
    kinds = [row % 2 for row in range(ROWS)]
    return LabeledTextDataset(texts, kinds, lowercase=lowercase, split=split)


def stays(length: int = 4, *, first: bool = False) -> Dataset:
    """Return texts with a verdict at their end, or at their beginning."""
    draw = Random(42)
    texts: list[str] = []
    for row in range(ROWS):
        text = [*draw.choices(["the", "bus", "stops", "outside", "there", "is", "a", "bar"], k=9)]
        text.insert(
            0 if first else 9, draw.choice([["rude", "never"], ["lovely", "again"]][row % 2])
        )
        texts.append(" ".join(text))
    return LabeledTextDataset(texts, [row % 2 for row in range(ROWS)], length=length)


def directions(
    period: float = 360.0, *, start: float = 0.0, whole: bool = False, kind: str = "circle"
) -> Dataset:
    """Return winds as two components, and where they come from; or other targets of that range."""
    draw = Random(43)
    rows: Table = []
    targets: list[float] = []
    for _ in range(2 * ROWS):
        turn = draw.random()
        along, up = (wave(2 * pi * turn) + draw.gauss(0, 0.15) for wave in (sin, cos))
        shares = {
            "circle": turn,
            "line": (up + 1.6) / 3.2,
            "noise": draw.random(),
            "two values": 0.5 if up > 0 else draw.choice([0.01, 0.99]) + draw.uniform(-0.01, 0.01),
            "clipped": min(1.0, max(0.0, up + 0.5)),
            "half": turn / 2,
        }
        rows.append([along, up])
        targets.append(start + period * shares[kind])
    return Dataset(rows, [float(int(t)) for t in targets] if whole else targets)


def sales(kind: str = "chance") -> Dataset:
    """Return what is sold on days of which most have no sale, and inputs that tell the chance of
    one, or when there is one."""
    draw = Random(44)
    targets: list[float] = []
    for row in X:
        amount = draw.uniform(1, 9)
        sold = draw.random() < (0.4 if row[0] > 0 else 0.2) if kind == "chance" else row[0] > 0.5
        targets.append(amount if sold or kind == "amounts" else 0.0)
    return Dataset(X, [[target] for target in targets])


def find_ids(data: Dataset, loss: str) -> set[str]:
    text = f"m:input shape=[4]; m:output shape=[1]; m:loss {loss}; m:layers matmul(w), add(b);"
    return {finding.id for finding in review(text, data).findings}


def test_absolute_errors_are_told_where_the_median_is_one_value() -> None:
    assert "E123" in find_ids(sales(), "MAE")
    assert "E123" not in find_ids(sales(), "MSE")
    assert "E123" not in find_ids(sales("when"), "MAE")
    assert "E123" not in find_ids(sales("amounts"), "MAE")


FOUND: list[tuple[str, Callable[[], Dataset], str]] = [
    ("E614", lambda: far(-999), "25 cells of column 4 are -999, the others lie from"),
    ("E614", lambda: far(1e7, 200), "2 cells of column 4 are 10,000,000"),
    ("E614", lambda: far(6), "% of column 4 are 6, and these rows are like average ones"),
    ("E614", lambda: pressure(0), "34 cells of column 4 are 0"),
    ("E614", lambda: concentration(0.3), "% of column 0 are 0, and these rows are like average"),
    ("E614", lambda: concentration(0.1, code=-1), "% of column 0 are -1, and these rows are like"),
    ("E614", lambda: concentration(0.1, code=199), "% of column 0 are 199, and these rows"),
    ("E614", lambda: concentration(0.4, labels=True), "% of column 0 are 0, and these rows are"),
    ("E615", lambda: telling(0), "column 4 alone predicts the class of 100.0% of the rows"),
    ("E615", lambda: degrees(0), "column 4 alone gives the target (rank correlation 1.0000)"),
    ("E615", bills, "column 4 is 0 or not, and that alone predicts the class in 97% of the rows"),
    ("E615", rates, "column 4 is the mean of the class over all rows with the same value"),
    ("E615", lambda: rates("training"), "is the mean of the class over training rows with"),
    ("E615", lambda: rates(quantity=True), "column 4 is the mean of the target over all rows"),
    ("E615", letters, "column 4 is 0 or not, and that alone predicts the class in 90% of the rows"),
    ("E616", sort_rows, "column 4 numbers the rows, from 0 to 299"),
    ("E616", lambda: patients("patient_id"), "patient_id: 90 of 90 testing rows"),
    ("E617", lambda: combined(0), "column 4 is a combination of column 0, column 3"),
    ("E617", double, "column 4 is the same as column 2"),
    ("E619", lambda: copy_value(0.01), "training rows that are much nearer than all others"),
    (
        "E619",
        lambda: rare(0.01),
        "of the testing rows of class 1 have 4 training rows that are much",
    ),
    ("E619", visits, "60 groups of about 6 rows have the same column 0 and column 1: the three"),
    ("E619", lambda: visits(quantity=True), "of the variance, without those of the same group"),
    ("E620", lambda: relative("last"), "every row continues the one before, 1 further"),
    ("E620", lambda: growing("steps", method="random"), "every row continues the one before"),
    ("E620", series, "every row continues the one before, 1 further"),
    ("E620", lambda: recordings("person"), "rows are alike, and the split separates them"),
    ("E620", lambda: days(hidden=True), "of the variance of the target, without those near"),
    ("E621", lambda: twice(other=True), "are equal to a row of another class, such as rows 0, 300"),
    ("E622", lambda: north_and_south(method="sequential"), "column 0 has mean"),
    ("E622", lambda: levels(forgotten=True), "the mean of model has mean -0.03074 in training, 11"),
    ("E622", lambda: levels(night=True), "the mean of model has mean -0.03074 in training, -1."),
    ("E622", rents, "the target has mean 8.834 in training, 9.058 in testing"),
    ("E623", lambda: waves(padded=True), "of the positions of model are 0 at the end of rows"),
    ("E625", lambda: clock(1.7e9), "column 4: numbers around 1.7e+09 have steps of 128"),
    ("E626", lambda: regions(ordered=False), "column 4: 10 whole numbers"),
    ("E626", soils, "column 4: 12 whole numbers"),
    ("E626", lambda: soils(kinds=3), "column 4: 12 whole numbers"),
    (
        "E629",
        lambda: powers(),
        "power: 109 of 110 categories are numbers, the others unknown",
    ),
    (
        "E630",
        lambda: photos("hwc as chw"),
        "with the channels first, as its shape has them, and by",
    ),
    ("E630", lambda: photos("hwc as chw", grain=0.6), "with the channels first, as its shape has"),
    ("E630", lambda: photos("chw as hwc", grain=0.02), "with the channels last, as its shape has"),
    ("E630", lambda: photos("hwc as chw", grain=0.1, alike=False), "with the channels first"),
    ("E630", lambda: photos("chw as hwc", grain=0.1, alike=False), "with the channels last"),
    ("E631", lambda: beams(1000), "are 1,000 times the others, 3.158 to 11.98 (as milli"),
    ("E631", lambda: beams(0.01), "of length, 0.03623 to 0.1094, are 1/100 of the others"),
    ("E631", lambda: beams(1000, every=3), "33.6% of the cells of length, 3298 to"),
    (
        "E631",
        lambda: beams(30.48, every=2),
        "of length, 96.87 to 365.1, are 30.48 times the others",
    ),
    ("E631", degrees_of_two_kinds, "7.5% of the cells of temperature, 61.47"),
    ("E631", lambda: degrees_of_two_kinds(winter=True), "times 1.8 and 32 more"),
    ("E631", lambda: degrees_of_two_kinds(every=2), "(as degrees Celsius to Fahrenheit)"),
    ("E632", flats, "the target is area · other (R² 1), up to scale and offset; area alone has"),
    ("E632", lambda: flats("a − b"), "the target is area + other (R² 1)"),
    ("E632", lambda: flats("b / a²"), "the target is other · area² (R² 1)"),
    ("E632", lambda: flats(noise=0.005), "the target is area · other (R² 0.999"),
    ("E632", lambda: bill("total"), "the target is food + drinks − voucher (R² 1), up to scale"),
    ("E633", phones, "265 of 300 rows were left out for an empty cell: phone_0 in 265; without"),
    ("E633", lambda: phones(0.1, columns=12), "rows were left out for an empty cell: phone_"),
    ("E634", lambda: calendar("yyyymmdd"), "when has dates as numbers, yyyymmdd: it goes up"),
    ("E634", lambda: calendar("yymmdd"), "when has dates as numbers, yymmdd"),
    ("E634", lambda: calendar("ddmmyyyy"), "when has dates as numbers, ddmmyyyy"),
    ("E634", lambda: calendar("mmddyyyy"), "when has dates as numbers, mmddyyyy"),
    ("E634", lambda: calendar("yyyymm"), "when has dates as numbers, yyyymm"),
    (
        "E635",
        lambda: ways(mirror),
        "augmented rows look like another class, 0 of them as they are",
    ),
    ("E619", lambda: copied_rows("testing", 0.4), "of the testing rows are nearly equal"),
    ("E619", lambda: copied_rows("validation", 0.4), "of the validation rows are nearly equal"),
    ("E619", lambda: copied_rows("validation", 1.0), "of the validation rows have 1 training rows"),
    (
        "E637",
        lambda: Dataset(take_logarithms(1e-6), [0.1 * n for n in range(ROWS)]),
        "(1e-06), the others lie from",
    ),
    ("E620", lambda: walks(3), "rows in order of time, which the split separates"),
    ("E620", lambda: walks(6), "rows in order of time, which the split separates"),
    ("E620", lambda: walks(4, kinds=True), "rows in order of time, which the split separates"),
    ("E622", lambda: drifting(4.0), "and no column explains it"),
    ("E622", lambda: drifting(40.0), "and no column explains it"),
    ("E638", lambda: swap((1, 0, 2)), "column 0 in testing (mean"),
    ("E638", lambda: swap((2, 0, 1)), "column 2 in testing (mean"),
    ("E638", lambda: swap((2, 1, 0), pictures=True), "the mean of channel 0 of model in testing"),
    ("E639", lambda: scaled_parts(parts=(240, 120)), "column 0, column 1: mean 0 and deviation 1"),
    ("E639", lambda: scaled_parts(parts=(300, 40), testing=40), "exactly in testing (40 rows)"),
    (
        "E641",
        more_fraud,
        "of the testing rows of class 1 lie exactly on the line between two other",
    ),
    ("E640", lambda: brands("b"), "column 9 is never used in testing, and the codes before"),
    ("E640", lambda: brands("beg"), "column 2 in testing is like column 3 in training"),
    ("E640", lambda: brands("c", whole=True), "8 of column 1 is never used in testing"),
    ("E640", lambda: brands("bf", labels=True), "column 8, column 9 are never used in testing"),
    ("E636", lambda: mislabelled(0.2), "of the labels disagree with those of similar rows"),
    ("E636", lambda: mislabelled(0.25, rings=True), "of the labels disagree with those of similar"),
    ("E636", lambda: mislabelled(0.2, of=0, rings=True, rows=900), "of class 0 have the label 1"),
    ("E645", articles, 'of class 1 have "reuters", and hardly any others; all other words tell'),
    (
        "E645",
        lambda: articles(["reuters", "afp", "ap"], 0.8),
        '"afp" or "reuters" or "ap", and',
    ),
    ("E642", tickets, "written in small letters, 0%"),
    ("E642", lambda: tickets(lambda text: text.replace("o", "zo")), "are in no training text; of"),
    ("E643", stays, "100% of the texts are longer than the 4 tokens that are read of them"),
    ("E644", directions, "from 2.202 to 359.8 as degrees around a circle, and of"),
    ("E644", lambda: directions(24, whole=True), "from 0 to 23 as hours around a circle"),
    ("E644", lambda: directions(2 * pi, start=-pi), "as radians around a circle"),
    ("E627", lambda: displaced(1), "labels are one row after the row that they belong to: columns"),
    ("E627", lambda: displaced(-2, labels=True), "labels are 2 rows before the row that they"),
    ("E627", lambda: displaced(1, 200), "labels from row 250 on are one row after the row"),
    ("E627", shuffle, "the nearest training rows predict the class in"),
]

SILENT: list[tuple[str, Callable[[], Dataset]]] = [
    ("E614", lambda: pressure(45)),
    ("E614", lambda: concentration(0)),
    ("E627", lambda: displaced(0)),
    ("E627", lambda: forecast(1)),
    ("E627", lambda: forecast(4)),
    ("E627", lambda: displaced(0, lag=0.9)),
    ("E627", lambda: displaced(1, lag=0.9)),  # like the row before
    ("E639", lambda: scaled_parts(parts=(360,))),
    ("E639", lambda: scaled_parts(parts=(60,) * 6)),  # by person
    ("E639", lambda: scaled_parts(parts=(240, 120), signs=True)),
    ("E641", lambda: more_fraud(after_split=True)),
    ("E641", lambda: more_fraud(along_lines=True)),
    ("E640", lambda: brands("b", anew=False)),
    ("E640", lambda: brands("hi", anew=False)),
    ("E640", lambda: brands("i")),
    ("E640", lambda: brands("hi", anew=False, whole=True)),
    ("E640", lambda: brands("hi", anew=False, drift=3.0)),
    ("E614", lambda: concentration(0.3, kind="true")),
    ("E614", lambda: concentration(0.3, kind="cut off")),
    ("E614", lambda: concentration(0.3, code=100)),  # filled in with the mean
    ("E615", lambda: telling(20)),
    ("E615", lambda: telling(0, rows=60)),
    ("E615", lambda: degrees(0.2)),
    ("E615", lambda: bills(filled=0.7)),  # fines: many who drive fast have one
    ("E615", lambda: bills(left=0.3)),  # overdue days: others have them too
    ("E615", lambda: bills(good=True)),  # an easy task
    ("E615", lambda: bills(yes=True)),
    ("E615", lambda: rates("another year")),
    ("E615", lambda: letters(always=False)),
    ("E615", lambda: letters(seldom=False)),
    ("E615", lambda: letters(better=False)),
    ("E615", flowers),
    ("E616", lambda: sort_rows(method="sequential")),
    ("E616", lambda: patients("grid")),
    ("E617", lambda: combined(0.5)),
    ("E617", lambda: Dataset({"a": X, "b": [[2 * row[0] - row[3]] for row in X]}, Y)),
    ("E619", lambda: copy_value(1)),
    ("E619", curve),
    ("E619", lambda: rare(1)),
    ("E619", lambda: visits("visit")),
    ("E619", lambda: visits("apart")),
    ("E619", lambda: visits(each=1)),
    ("E619", lambda: visits(split=([*range(300)], [], [*range(300, 480)]))),
    ("E620", lambda: series(method="sequential")),
    ("E620", lambda: recordings("person", split=([*range(300)], [], [*range(300, 400)]))),
    ("E620", lambda: recordings("row")),
    ("E620", lambda: recordings("row", order="class")),
    ("E620", lambda: days(hidden=True, method="sequential")),
    ("E620", lambda: days(hidden=True, columns=2)),  # along a curve
    ("E620", lambda: days(hidden=False)),
    ("E620", plots),
    ("E620", lambda: relative("straight")),
    ("E621", lambda: twice(other=False)),
    ("E622", north_and_south),
    ("E622", lambda: rents(method="random")),
    ("E622", lambda: rents(rise=0)),
    ("E622", lambda: rents(rise=0.001, season=0.3)),  # years are alike, though no column tells
    ("E622", levels),
    ("E622", lambda: levels(night=True, method="random")),
    ("E623", lambda: waves(padded=False)),
    ("E625", lambda: clock(0)),
    ("E626", lambda: regions(ordered=True)),
    ("E619", lambda: powers()),
    ("E629", lambda: powers(different=20)),
    ("E629", lambda: powers(prefix="no. ")),
    ("E630", lambda: photos("chw")),
    ("E630", lambda: photos("hwc")),
    ("E630", lambda: photos("hwc as chw", grain=50)),  # noise
    ("E630", lambda: photos("hwc as chw", size=6)),
    ("E630", lambda: photos("hwc as chw", channels=1)),
    ("E630", lambda: photos("chw", grain=0)),
    ("E630", lambda: photos("hwc", grain=0)),
    ("E630", lambda: photos("chw", alike=False)),
    ("E630", lambda: photos("hwc", alike=False)),
    ("E631", lambda: beams(1)),
    ("E631", lambda: beams(300)),  # no unit has 300 of another
    ("E631", lambda: beams(1000, kind=True)),  # ships among boats
    ("E631", lambda: beams(1000, every=3, loose=True)),  # each as usual as the other
    ("E631", lambda: beams(1000, every=3, real=True)),
    ("E631", lambda: degrees_of_two_kinds(zero=60)),
    ("E631", lambda: degrees_of_two_kinds(times=1)),
    ("E631", lambda: degrees_of_two_kinds(zero=0, times=1)),
    ("E632", lambda: flats(noise=0.05)),  # measured
    ("E632", lambda: flats(named=False)),
    ("E632", lambda: flats("alone")),  # E615 tells it
    ("E632", lambda: flats("linear")),
    ("E632", lambda: flats("a / b", few=True)),
    ("E632", lambda: bill("weighted")),  # a linear law
    ("E632", lambda: bill("tip")),
    ("E632", lambda: series(method="sequential", features=[f"lag_{n}" for n in range(8)])),
    ("E633", lambda: phones(0.3)),
    ("E633", lambda: phones(missing="mean")),
    ("E633", lambda: phones(0.1, labels=0.8)),
    ("E633", lambda: SOUND),
    ("E635", lambda: ways()),
    ("E635", lambda: ways(shift)),
    ("E635", lambda: ways(noisy)),
    ("E635", lambda: ways(mirror, told=True)),
    ("E635", lambda: ways(mirror, kinds="upright")),
    ("E619", lambda: copied_rows("testing", 0.0)),
    ("E619", lambda: copied_rows("validation", 0.05)),
    ("E620", lambda: walks(4, method="sequential")),
    ("E620", lambda: walks(4, mixed=True)),
    ("E620", seasons),
    ("E622", lambda: drifting(0.5)),
    ("E638", lambda: swap((0, 1, 2))),
    ("E638", lambda: swap((0, 1, 2), pictures=True)),
    ("E638", lambda: swap((0, 1, 1))),
    ("E638", lambda: swap((1, 0, 2), alike=True)),
    ("E619", weekdays),
    ("E636", answers),
    ("E636", lambda: mislabelled(0.0)),
    ("E636", lambda: mislabelled(0.0, rings=True)),
    ("E636", lambda: mislabelled(0.0, overlap=0.5)),
    ("E636", lambda: mislabelled(0.0, overlap=2.0)),
    ("E636", lambda: mislabelled(0.2, rows=100)),
    ("E645", lambda: articles([])),
    ("E645", lambda: articles(told=0.5)),  # the word defines the class
    ("E645", lambda: articles(told=1.0)),  # an easy task
    ("E645", lambda: articles([f"source{n}" for n in range(5)])),
    ("E642", lambda: tickets(str)),
    ("E642", lambda: tickets(lowercase=True)),
    ("E642", lambda: tickets(str, rare=True)),
    ("E643", lambda: stays(20)),
    ("E644", lambda: directions(kind="line")),
    ("E644", lambda: directions(kind="noise")),
    ("E644", lambda: directions(kind="two values")),
    ("E644", lambda: directions(kind="clipped")),
    ("E644", lambda: directions(kind="half")),
    ("E644", lambda: directions(100)),  # no circle
    ("E643", lambda: stays(first=True)),
    ("E643", lambda: stays(8)),  # a fifth is cut
    ("E634", lambda: calendar("year")),
    ("E634", lambda: calendar("days")),
    ("E634", lambda: calendar("people")),
    ("E634", lambda: calendar("rooms")),
    ("E634", lambda: calendar("prices")),
    ("E634", lambda: calendar("yyyymmdd", rows=8)),
    ("E631", lambda: beams(100, doses=True)),
    ("E631", lambda: pressure(0)),
]


@pytest.mark.parametrize(("id", "make", "words"), FOUND)
def test_what_is_suspicious_is_told(id: str, make: Callable[[], Dataset], words: str) -> None:
    assert words in examine(make())[id].message


@pytest.mark.parametrize(("id", "make"), SILENT, ids=[id for id, _ in SILENT])
def test_what_is_like_it_is_not_told(id: str, make: Callable[[], Dataset]) -> None:
    assert id not in examine(make())


def test_every_check_is_tried() -> None:
    assert {id for id, *_ in [*FOUND, *ORIGINS]} == {*CHECKS, "E627"}


def test_sound_rows_are_not_suspicious() -> None:
    assert examine(SOUND).keys() <= MEASURES.keys()


def test_one_fact_is_told_once() -> None:
    assert {"E616"} == examine(sort_rows()).keys() - {"E622", *MEASURES}


def test_a_number_of_the_row_hides_no_leak() -> None:
    draw = Random(2)
    bills = [3000 * y + draw.gauss(500, 60) for y in Y]
    rows = concatenate(concatenate(X, bills), range(ROWS))
    found = examine(Dataset(rows, Y, standardize=True))
    assert found["E616"].message.startswith("column 5 numbers the rows")
    assert found["E615"].message == "column 4 alone predicts the class of 100.0% of the rows"


def test_two_categories_with_missing_cells_are_not_the_same() -> None:
    draw = Random(3)
    sexes = ["" if n % 30 == 0 else draw.choice(["male", "female"]) for n in range(ROWS)]
    table = {"mass": [draw.gauss(4, 1) for _ in Y], "sex": sexes, "kind": [f"k{y}" for y in Y]}
    assert "E617" not in examine(TableDataset(table, missing="mean", standardize=["mass"]))


def test_rows_of_one_patient_are_to_be_kept_together() -> None:
    found = examine(patients("patient_id"))["E616"]
    assert found.remedy.startswith("Split the rows by it")


def test_the_last_value_of_a_window_is_told_as_such() -> None:
    rows, _ = series(standardize=False).arrays("full")
    last = [row[-1] for row in rows["model"].tolist()]
    found = examine(Dataset(rows["model"], last, method="sequential"))
    assert found["E615"].remedy.startswith("Take the value after the window")
    assert examine(telling(0))["E615"].remedy == ""


@pytest.mark.parametrize("by_hand", [True, False])
def test_testing_rows_that_were_not_scaled_are_told_as_such(by_hand: bool) -> None:
    place = [NormalDist().inv_cdf((n * 7 % 400 + 0.5) / 400) for n in range(400)]
    scaled = [[place[n], place[n * 3 % 400], place[n * 11 % 400]] for n in range(400)]
    rows = [*scaled, *([20 + 3 * value for value in row] for row in scaled[:200])]
    parts = [*range(400)], [], [*range(400, 600)]
    data = Dataset(rows, [sum(row) for row in rows], split=parts, standardize=not by_hand)
    remedy = examine(data)["E622"].remedy
    assert remedy.startswith("Scale testing rows") if by_hand else not remedy


def number_rows(kinds: int, *, graded: bool, scaled: bool = False) -> Dataset:
    """Return rows of kinds with numbers, whose middles lie in their order or anywhere."""
    draw = Random(29)
    middles = [[draw.gauss(0, 2) for _ in range(4)] for _ in range(kinds)]
    if graded:
        middles = [[1.5 * kind, 0.5 * kind, 0.0, 0.0] for kind in range(kinds)]
    labels = [n % kinds for n in range(ROWS)]
    rows = [[draw.gauss(m, 0.7) for m in middles[label]] for label in labels]
    said: Any = {"model": "continuous"}
    targets = [[float(label)] for label in labels]
    return Dataset(rows, targets, standardize=True, kinds=said, standardize_targets=scaled)


def test_numbers_of_kinds_are_told_from_grades() -> None:
    text = "model:input shape=[4]; model:output shape=[1]; model:loss MSE; "
    text += "model:layers matmul(w, shape=[8]), add(b), relu(), matmul(v), add(c);"

    def severity(dataset: Dataset) -> str:
        return review(text, dataset).finding("E115").severity

    assert severity(number_rows(6, graded=False)) == "advice"
    assert severity(number_rows(6, graded=False, scaled=True)) == "advice"
    assert severity(number_rows(6, graded=True)) == "info"
    assert severity(number_rows(3, graded=False)) == "info"  # nobody can tell


def test_counts_are_told_from_numbers_of_kinds() -> None:
    draw = Random(31)
    rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(200)]
    counts = [min(8, sum(draw.random() < 0.2 for _ in range(9))) for _ in rows]
    evidence = examine(Dataset(rows, [[float(n)] for n in counts]))["E115"].evidence
    assert evidence == {"counts": True}
    kinds = [[float([3, 0, 4, 1, 5, 2][n])] for n in counts if n < 6]
    found = examine(Dataset(rows[: len(kinds)], kinds)).get("E115")
    assert found is None or "counts" not in found.evidence


def test_words_that_tell_the_class_in_any_order_are_told_from_those_whose_order_counts() -> None:
    draw = Random(17)
    rows = [draw.sample(range(2, 40), 8) for _ in range(ROWS)]
    for n, row in enumerate(rows):
        if n % 2:
            row[draw.randrange(8)] = 1
    words = HostArray.of(rows, "int32")
    assert (
        "predict the class of 100%"
        in examine(Dataset(words, [n % 2 for n in range(ROWS)]))["E319"].message
    )
    first = [int(row[0] > row[1]) for row in rows]
    assert "E319" not in examine(Dataset(words, first))
    assert "E319" not in examine(Dataset(words, [int(n % 20 == 0) for n in range(ROWS)]))


def track(*, moved: bool, told: bool, where: bool = True) -> Dataset:
    """Return pictures of a spot, and where or how bright it is, that are shifted or get noise."""
    draw = Random(47)
    spots = [(draw.uniform(2, 5), draw.uniform(2, 5), draw.uniform(1, 2)) for _ in range(240)]
    pictures = [
        [
            [b * math.exp(-((x - u) ** 2) - (y - v) ** 2) + draw.gauss(0, 0.05) for x in range(8)]
            for y in range(8)
        ]
        for u, v, b in spots
    ]
    targets = [[u / 8, v / 8] if where else [b] for u, v, b in spots]

    def augment(inputs: Any, outputs: Any, stream: Any, epoch: int) -> Any:
        rows, places = inputs["model"].tolist(), outputs["model"].tolist()
        for n, u in enumerate(stream.uniform(len(rows))):
            by = int(u * 5) - 2
            lines = rows[n][0]
            if moved:
                rows[n] = [[line[-by:] + line[:-by] for line in lines]]
                places[n][0] += by / 8 * told
            else:
                rows[n] = [[[value + draw.gauss(0, 0.05) for value in line] for line in lines]]
        return {"model": rows}, {"model": places}

    data = Dataset(HostArray.of([[lines] for lines in pictures], "float32"), targets)
    return data.augment(augment)


def test_an_augmentation_that_moves_what_the_target_is_about_is_found() -> None:
    assert "whose targets are" in examine(track(moved=True, told=False))["E635"].message
    assert "E635" not in examine(track(moved=True, told=True))
    assert "E635" not in examine(track(moved=False, told=False))
    assert "E635" not in examine(track(moved=True, told=False, where=False))


def draw_texts(seed: int, label: Callable[[list[int]], int]) -> Dataset:
    """Return rows of ten tokens in random order, some of them padded, and their labels."""
    draw = Random(seed)
    rows = [[draw.randrange(2, 14) for _ in range(10)] for _ in range(300)]
    padded = [row[: draw.randrange(5, 11)] for row in rows]
    filled = [row + [0] * (10 - len(row)) for row in padded]
    return Dataset(HostArray.of(filled, "int32"), [label(row) for row in padded], seed=seed)


@pytest.mark.parametrize(
    ("label", "least", "most"),
    [
        (lambda row: int(row[0] > row[-1]), 8, 8),
        (lambda row: int(row.index(min(row)) < len(row) / 2), 8, 8),
        (lambda row: int(5 in row or 7 in row), 0, 1),
        (lambda row: int(len(row) > 7), 0, 1),
    ],
)
def test_an_order_of_tokens_that_matters_is_told_from_one_that_does_not(
    label: Callable[[list[int]], int], least: int, most: int
) -> None:
    found = [examine(draw_texts(seed, label))["E923"].evidence["share"] for seed in range(8)]
    assert least <= sum(share > 0 for share in found) <= most


def test_targets_far_out_are_told_from_those_that_inputs_explain() -> None:
    draw = Random(41)
    rows = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(300)]
    products = [[3 * a * b + draw.gauss(0, 0.2)] for a, b, _ in rows]
    mistyped = [[(100 if n % 33 == 0 else 1) * a] for n, (a, _, _) in enumerate(rows)]
    assert "E109" in examine(Dataset(rows, products))
    assert "E109" not in examine(Dataset(rows, mistyped))
    weights = [1 + n % 2 for n in range(300)]
    assert "E109" in examine(Dataset(rows, mistyped, sample_weight=weights))
    # Words have no distances: rows with the same one are similar.
    who, what = ([draw.randrange(20) for _ in rows] for _ in range(2))
    taste = [draw.gauss(0, 1) ** 3 for _ in range(40)]
    words = {name: HostArray.of(n, "int32") for name, n in (("who", who), ("what", what))}
    liked = [[taste[a] * taste[20 + b]] for a, b in zip(who, what, strict=True)]
    assert "E109" in examine(Dataset(words, {"liked": liked}))
    assert "E109" not in examine(Dataset(words, {"liked": mistyped}))


def test_columns_of_like_whole_numbers_may_be_words() -> None:
    draw = Random(16)
    words = [[float(draw.randrange(20)) for _ in range(6)] for _ in range(ROWS)]
    mood = draw.sample(range(20), 20)
    targets = [mood[int(row[0])] + draw.gauss(0, 1) for row in words]
    for standardize in (False, True):
        found = examine(Dataset(words, targets, standardize=standardize))["E626"]
        assert "embedding(table, size=20)" in found.remedy
    assert examine(soils())["E626"].remedy == ""


def sentences(kind: str) -> Dataset:
    """Return rows of whole numbers that are words, counts, grades, or pixels beside each other."""
    draw = Random(25)
    mood = draw.sample(range(60), 60)
    rows: Table = []
    for _ in range(400):
        row = [float(draw.randrange(60)) for _ in range(8)]
        if kind == "counts":
            row = [float(sum(draw.random() < 0.3 for _ in range(40))) for _ in range(8)]
        elif kind == "pixels":
            start = draw.randrange(30)
            row = [float(start + 3 * place + draw.randrange(4)) for place in range(8)]
        elif kind == "grades":
            row = [1.0 + draw.randrange(5) for _ in range(8)]
        rows.append(row)
    labels = [int(sum(mood[int(word)] for word in row) > 8 * 29.5) for row in rows]
    return Dataset(rows, labels, standardize=True)


def test_numbers_of_words_tell_nothing_by_their_neighbours() -> None:
    found = examine(sentences("words"))
    assert found["E903"].evidence == {"size": 60}
    assert found["E627"].remedy.startswith("If these are ids of words or categories")
    assert examine(shuffle())["E627"].remedy == ""
    for kind in ("counts", "pixels", "grades"):
        assert "E903" not in examine(sentences(kind))


def test_targets_that_are_the_inputs_are_known() -> None:
    scaled = Dataset(X, X, standardize=True, standardize_targets=True)
    assert "E418" in examine(scaled)
    assert "E418" in examine(Dataset(X, X, standardize=True))
    assert "E418" not in examine(Dataset(X, [row[::-1] for row in X]))


async def test_a_review_tells_what_an_examination_found() -> None:
    text = "m:input shape=[5]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    (finding,) = [one for one in review(text, telling(0)).findings if one.id == "E615"]
    assert (finding.severity, finding.confidence) == ("warning", 0.7)
    (bill,) = [one for one in review(text, bills()).findings if one.id == "E615"]
    assert bill.severity == "advice" and bill.remedy.startswith("Check whether it is known before")
    iris = text.replace("5", "4").replace("[2]", "[3]")
    found = review(iris, await IrisDataset.create(standardize=True)).findings
    assert not {one.id for one in found} & CHECKS.keys()


def test_only_what_slides_over_pictures_needs_their_channels_in_order() -> None:
    text = (
        "m:input shape=[3, 12, 12]; m:output shape=[2]; m:layers {}flatten(), matmul(w), softmax();"
    )
    data = photos("hwc as chw")
    layers = "conv2d(f, shape=[4, 3, 3]), relu(), "
    assert "E630" in {one.id for one in review(text.format(layers), data).findings}
    assert "E630" not in {one.id for one in review(text.format(""), data).findings}


def test_what_a_column_tells_of_a_target_is_not_drift() -> None:
    found = examine(rents(month=True))
    assert (
        "the target" not in found["E622"].message and "column 2 has mean" in found["E622"].message
    )
    assert examine(rents())["E622"].remedy.startswith("Add the cause of the drift as a column")


def growing(kind: str = "lags", method: Any = "sequential") -> Dataset:
    """Return windows over a series that grows, in time, as columns of several kinds."""
    draw = Random(34)
    sales = [100 + n + 9 * sin(n / 2) + draw.gauss(0, 2) for n in range(300)]
    rows = [sales[n : n + 6] for n in range(294)]
    targets: Sequence[float] = sales[6:]
    names = [f"sales_{n}_ago" for n in range(6, 0, -1)]
    if kind in ("sequence", "steps"):
        text = [[[value] for value in row] for row in rows]
        if kind == "steps":  # of one length, which the data do not call a sequence
            steps = HostArray.of(text, "float32")
            return Dataset(steps, targets, method=method, standardize=True)
        return Dataset(text, targets, method="sequential", standardize=True, length="max")
    if kind == "newest first":
        rows, names = [row[::-1] for row in rows], names[::-1]
    if kind == "month":
        rows, names = [[*row, n % 12] for n, row in enumerate(rows)], [*names, "month"]
    if kind == "rises":
        targets = [int(b > a) for a, b in pairwise(sales[5:])]
    return Dataset(rows, targets, method="sequential", standardize=True, features=names)


@pytest.mark.parametrize("kind", ["lags", "newest first", "month"])
def test_of_a_series_that_grows_the_change_is_to_be_learnt(kind: str) -> None:
    remedy = examine(growing(kind))["E622"].remedy
    assert remedy.startswith(
        "Learn the change: subtract the last value of each window, sales_1_ago"
    )
    assert "from the target, and add it to the answer" in remedy


def test_a_window_over_a_series_that_grows_may_be_a_sequence_or_have_classes() -> None:
    for kind in ("sequence", "steps"):
        found = examine(growing(kind))["E622"]
        assert found.message.startswith("the mean of model has mean 2")  # in units of the data
        assert "Learn the change" in found.remedy
    classes = examine(growing("rises"))["E622"]
    assert classes.remedy.startswith("Learn the change") and "the target" not in classes.remedy


def test_rows_that_moved_for_another_reason_are_not_windows() -> None:
    assert not examine(north_and_south(method="sequential"))["E622"].remedy
    slow = [[float(n // 40), float(n // 40), X[n][0]] for n in range(ROWS)]
    assert not examine(Dataset(slow, Y, method="sequential"))["E622"].remedy


def test_windows_of_several_series_are_to_be_kept_together() -> None:
    draw = Random(35)
    rows: Table = []
    for _ in range(9):
        level = [draw.gauss(0, 1)]
        for _ in range(40):
            level.append(0.9 * level[-1] + draw.gauss(0, 1))
        rows += [level[n : n + 8] for n in range(33)]
    found = examine(Dataset(rows, [n // 33 % 2 for n in range(297)], standardize=True))["E620"]
    assert found.message.startswith("every row continues the one before, 1 further, but for 8")
    assert found.remedy.startswith("Hold back whole series")
    assert not examine(series())["E620"].remedy


def test_dates_are_later_in_later_rows() -> None:
    found = examine(calendar("yyyymmdd", method="sequential"))
    assert "E634" in found and "E622" not in found
    assert "E622" in examine(calendar("year", method="sequential"))


def test_many_columns_that_lack_a_few_cells_are_filled_in() -> None:
    assert examine(phones(0.1, columns=12))["E633"].remedy.startswith("Fill in the cells")
    assert not examine(phones())["E633"].remedy
    text = "m:input shape=[5]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    assert review(text, phones()).finding("E633").severity == "warning"


def weigh(rare: float, every: int = 20) -> Dataset:
    """Return rows of which one in twenty is of the rare class, with a weight of its own."""
    labels = [int(n % every == 0) for n in range(ROWS)]
    weights = [rare if y else 1.0 for y in labels]
    return Dataset(X, labels, standardize=True, sample_weight=weights)


@pytest.mark.parametrize(
    ("rare", "every", "id", "speaks"),
    [
        (1, 20, "E110", True),
        (6, 20, "E110", False),
        (0.5, 20, "E110", True),
        (1, 8, "E608", True),
        (6, 8, "E608", False),
    ],
)
def test_rows_that_weigh_more_lift_their_class(
    rare: float, every: int, id: str, speaks: bool
) -> None:
    text = "m:input shape=[4]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    found = {one.id for one in review(text, weigh(rare, every)).findings}
    assert (id in found) is speaks


@pytest.mark.parametrize(("every", "id"), [(20, "E110"), (8, "E608")])
@pytest.mark.parametrize(("distance", "severity"), [(5.0, "info"), (1.0, "advice")])
def test_a_rare_class_apart_from_others_needs_no_weight(
    every: int, id: str, distance: float, severity: str
) -> None:
    draw = Random(every)
    labels = [int(n % every == 0) for n in range(600)]
    rows = [[draw.gauss(distance * y), draw.gauss(0)] for y in labels]
    text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    assert review(text, Dataset(rows, labels, standardize=True)).finding(id).severity == severity


def test_each_rare_class_is_looked_at() -> None:
    draw = Random(3)
    labels = [(0, 1, 2)[(n % 10 == 0) + (n % 20 == 0)] for n in range(900)]
    rows = [[draw.gauss(6 * (y == 1)), draw.gauss(0)] for y in labels]
    assert examine(Dataset(rows, labels))["E608"].evidence == {"overlooked": [2]}
    assert "E608" not in examine(Dataset(rows, [n % 3 for n in range(900)]))


def test_shuffled_labels_are_found_in_most_draws() -> None:
    found = 0
    for seed in range(20):
        draw = Random(seed)
        labels = [draw.randrange(3) for _ in range(400)]
        rows = [[draw.gauss(2 * (y == n)) for n in range(4)] for y in labels]
        draw.shuffle(labels)
        found += "E627" in examine(Dataset(rows, labels))
    assert found >= 17


def test_labels_that_depend_on_a_column_are_related_to_the_rows() -> None:
    draw = Random(8)
    rows = [[draw.gauss(0) for _ in range(24)] for _ in range(600)]
    # Among 24 columns neighbours do not see one that matters, but its means differ.
    labels = [int(row[0] + draw.gauss(0, 2) > 0) for row in rows]
    assert "E627" not in examine(Dataset(rows, labels))
    draw.shuffle(labels)
    assert "E627" in examine(Dataset(rows, labels))


def test_neighbours_that_know_a_rare_class_are_related_to_the_labels() -> None:
    draw = Random(5)
    rows = [[draw.random(), draw.random()] for _ in range(600)]
    # On one side nearly half of the rows are of the rare class: a vote rarely chooses it.
    labels = [int(draw.random() < (0.46 if x < 0.5 else 0.06)) for x, _ in rows]
    assert "E627" not in examine(Dataset(rows, labels))
    draw.shuffle(labels)
    assert "E627" in examine(Dataset(rows, labels))


def test_rows_of_a_series_are_not_to_be_split_at_random() -> None:
    """The levels of windows move, or the scale of all testing rows: the model learns the change."""
    moving = [{"week": n, "price": n + n % 3, "sold": 2 * n + n % 5} for n in range(160)]
    louder = [{"week": n, "sold": n % 5 + (n > 127) * 20 * (n % 7)} for n in range(160)]
    for rows in (moving, louder):
        data = SeriesDataset(rows, "sold", time="week", window=8, horizon=2)
        assert 'scale="window"' in examine(data)["E622"].remedy


def draw_spots(seed: int, *, where: bool, channels: int = 1) -> Dataset:
    """Return pictures of a spot, and in which half it is; or how bright it is."""
    draw = Random(seed)
    pictures, labels = list[Any](), list[int]()
    for _ in range(120):
        x, y, bright = draw.randrange(12), draw.randrange(10), draw.randrange(2)
        picture = [[draw.gauss(0, 0.2) for _ in range(12)] for _ in range(10)]
        picture[y][x] += 2.0 if where else 1.5 + bright
        pictures.append([picture] * channels)
        labels.append(int(x >= 6) if where else bright)
    return Dataset(pictures, labels, seed=seed)


def test_positions_that_matter_are_told_from_those_that_do_not() -> None:
    assert all("E323" in examine(draw_spots(seed, where=True)) for seed in range(5))
    assert "E323" in examine(draw_spots(0, where=True, channels=3))
    assert sum("E323" in examine(draw_spots(seed, where=False)) for seed in range(20)) <= 1


@pytest.mark.parametrize("length", [16, 23, 27])
def test_waves_that_begin_anywhere_have_no_positions(length: int) -> None:
    found = 0
    for seed in range(8):
        draw = Random(seed)
        kinds = [n % 3 for n in range(150)]
        signals = []
        for kind in kinds:
            phase = draw.uniform(0, 2 * pi)
            signals.append([[sin(phase + n * (0.4 + 0.5 * kind)) for n in range(length)]])
        found += "E323" in examine(Dataset(signals, kinds, seed=seed))
    assert found <= 1


def test_where_a_quantity_is_read_in_a_signal_matters() -> None:
    draw = Random(3)
    moments = [draw.randrange(24) for _ in range(150)]
    signals = [[[float(n == at) + draw.gauss(0, 0.1) for n in range(24)]] for at in moments]
    found = examine(Dataset(signals, [[at / 24] for at in moments]))["E323"]
    assert found.message.startswith("where something is in model tells the target (p = 0.002")
    noise = [Dataset(signals, [[draw.gauss(0, 1)] for _ in moments], seed=n) for n in range(9)]
    assert sum("E323" in examine(data) for data in noise) <= 1
    short = [[float(n == at // 3) for n in range(8)] for at in moments]
    assert "E323" in examine(Dataset([[row] for row in short], [[at / 24] for at in moments]))
    assert found.evidence["is_place"] and "its centre explains" in found.message
    assert not examine(draw_spots(0, where=True))["E323"].evidence["is_place"]
    both = [[at / 24, -at / 24] for at in moments]
    assert "E323" in examine(Dataset(signals, both))
    assert "E323" not in examine(Dataset(signals[:30], both[:30]))
    assert "E323" not in examine(Dataset(signals, [[0.5]] * 150))


def take_logarithms(shift: float, base: float = math.e, share: float = 0.2) -> list[list[float]]:
    """Return logarithms of incomes, a share of which are 0."""
    draw = Random(4)
    incomes = [math.exp(draw.gauss(8, 1)) * (draw.random() >= share) for _ in range(ROWS)]
    return [[math.log(income + shift, base)] for income in incomes]


@pytest.mark.parametrize("base", [math.e, 10.0, 2.0])
@pytest.mark.parametrize("scaled", [False, True])
def test_logarithms_of_zeros_are_named(base: float, scaled: bool) -> None:
    rows, targets = table(), [0.1 * n for n in range(ROWS)]
    columns = take_logarithms(1e-6, base)
    found = examine(Dataset(columns, targets, standardize=scaled))["E637"]
    assert "(1e-06), the others lie from" in found.message
    assert found.remedy == "Take log(1 + x / 3000) in place of log(x + ε): 3000 is a usual value."
    target = examine(Dataset(rows, columns, standardize_targets=scaled))["E637"]
    assert "values of the target are" in target.message


def test_a_lowest_value_that_is_near_or_rare_is_no_logarithm_of_zero() -> None:
    targets = [0.1 * n for n in range(ROWS)]
    for shift, share in ((1.0, 0.2), (1e-6, 0.0), (0.3, 0.2)):
        assert "E637" not in examine(Dataset(take_logarithms(shift, share=share), targets))
    codes = [[float(n % 5) or -9.0] for n in range(ROWS)]
    assert "E637" not in examine(Dataset(codes, targets))


def test_amounts_of_zero_are_measured_as_the_model_gets_them() -> None:
    incomes = [[max(0.0, n % 7 - 1.0), 1.0 + n] for n in range(ROWS)]
    targets = [0.1 * n for n in range(ROWS)]
    (one,) = examine(Dataset(incomes, targets))["E332"].evidence["model"]
    assert (one.name, one.smallest, one.median) == ("column 0", 1.0, 3.0)
    assert one.is_far(1e-8) and not one.is_far(1.0)
    assert "E332" not in examine(Dataset(incomes, targets, standardize=True))


@pytest.mark.parametrize("share", [0.15, 0.25])
def test_rows_that_are_listed_have_wrong_labels(share: float) -> None:
    noisy, clean = mislabelled(share), mislabelled(0.0)
    listed = examine(noisy)["E636"].evidence["rows"]
    labels = [list(data.arrays("full")[1]["model"].values()) for data in (noisy, clean)]
    wrong = [row for row in listed if labels[0][row] != labels[1][row]]
    assert len(listed) >= 10
    assert len(wrong) >= 0.8 * len(listed)


def test_missing_values_are_not_label_noise() -> None:
    draw = Random(22)
    x: Table = []
    labels: list[int] = []
    for _ in range(1200):
        glucose, age = draw.gauss(120, 20), draw.gauss(40, 10)
        labels.append(int(glucose + age + draw.gauss(0, 2) > 160))
        x.append([float(round(glucose)) if draw.random() < 0.75 else 0.0, age])
    found = examine(Dataset(x, labels, standardize=True))
    assert "E614" in found
    assert "E636" not in found


def test_confidences_are_given_or_left_to_the_rule() -> None:
    assert examine(far(-999))["E614"].confidence is None
    assert examine(pressure(0))["E614"].confidence == 0.5
    assert examine(concentration(0.3))["E614"].confidence == 0.7
    for _, make, _ in FOUND:
        for suspicion in examine(make()).values():
            assert suspicion.confidence is None or 0 < suspicion.confidence <= 1


def test_columns_that_drift_with_time_are_not_to_be_split_at_random() -> None:
    draw = Random(16)
    rows = [[n / 50 + draw.gauss(0, 0.3), draw.gauss(0, 1)] for n in range(400)]
    later = examine(Dataset(rows, [a + b for a, b in rows], method="sequential"))["E622"]
    assert later.remedy.startswith("Keep testing on later rows")
    other = [[a + 4 * (n >= 280), a * a] for n, (_, a) in enumerate(rows)]
    split = {"split": (0.7, 0.0, 0.3), "method": "sequential"}
    assert examine(Dataset(other, [b for _, b in rows], **split))["E622"].remedy == ""


def test_levels_that_tell_the_target_are_told_from_those_that_do_not() -> None:
    draw = Random(6)
    loud = [draw.randrange(2) for _ in range(150)]
    waves = [[(1 + 2 * one) * draw.gauss(0, 1) for _ in range(20)] for one in loud]
    found = examine(Dataset(waves, loud))["E336"]
    assert found.evidence["model"].startswith("the deviation of a row tells the target (R² 0.")
    bright = [[2 * one + draw.gauss(0, 1) for _ in range(20)] for one in loud]
    assert "the mean of a row" in examine(Dataset(bright, loud))["E336"].evidence["model"]
    amount = [[sum(row) / 20] for row in bright]
    assert "the mean of a row" in examine(Dataset(bright, amount))["E336"].evidence["model"]
    others = [[draw.randrange(2) for _ in loud] for _ in range(9)]
    assert not any("E336" in examine(Dataset(waves, labels)) for labels in others)
    assert "E336" not in examine(Dataset([row[:3] for row in bright], loud))


def test_tails_of_many_rows_are_finite() -> None:
    assert binomial_tail(1200, 2100, 0.5) == pytest.approx(3.168638657887718e-11)
    assert binomial_tail(0, 2100, 0.5) == pytest.approx(1)
