"""Small sets of rows that the cases share: the same ones in every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


def blobs(
    rows: int = 300, classes: int = 3, features: int = 4, spread: float = 1.0, seed: int = 0
) -> tuple[Floats, Integers]:
    """Return clusters, one for each class, in random order."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(0, 2, (classes, features))
    y = draw.permutation(np.arange(rows) % classes)
    x = centres[y] + draw.normal(0, spread, (rows, features))
    return x.astype("float32"), y.astype("int32")


def rings(rows: int = 400, noise: float = 0.15) -> tuple[Floats, Integers]:
    """Return points of the plane in two rings, one around the other."""
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, rows)
    angle = draw.uniform(0, 2 * np.pi, rows)
    radius = 0.7 + y + draw.normal(0, noise, rows)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return x.astype("float32"), y.astype("int32")


def spirals(rows: int = 500) -> tuple[Floats, Integers]:
    """Return points of two spirals that wind around each other."""
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, rows)
    turn = draw.uniform(0.5, 2.5, rows) * np.pi
    x = np.stack([turn * np.cos(turn + np.pi * y), turn * np.sin(turn + np.pi * y)], axis=1) / 5
    return (x + draw.normal(0, 0.03, x.shape)).astype("float32"), y.astype("int32")


def houses(rows: int = 400, noise: float = 0.3, seed: int = 3) -> tuple[Floats, Floats]:
    """Return six features around 0, and a quantity around 0 that depends on four of them."""
    draw = np.random.default_rng(seed)
    x = draw.normal(0, 1, (rows, 6))
    y = 1.5 * x[:, 0] - x[:, 1] + x[:, 2] * x[:, 3] + draw.normal(0, noise, rows)
    return x.astype("float32"), y.astype("float32")[:, None]


def lines(rows: int = 300, noise: float = 0.2, seed: int = 4) -> tuple[Floats, Floats]:
    """Return three features around 0, and a quantity that is a weighted sum of them."""
    draw = np.random.default_rng(seed)
    x = draw.normal(0, 1, (rows, 3))
    y = x @ [[2.0], [-1.0], [0.5]] + draw.normal(0, noise, (rows, 1))
    return x.astype("float32"), y.astype("float32")


def bars(rows: int = 320, size: int = 8) -> tuple[Floats, Integers]:
    """Return pictures `[rows, size, size]` from 0 to 1 of four kinds of bars, and which it is."""
    draw = np.random.default_rng(5)
    y = draw.permutation(np.arange(rows) % 4)
    x = draw.uniform(0, 0.3, (rows, size, size))
    place = draw.integers(1, size - 1, rows)
    along = np.arange(size)
    for row, kind in enumerate(y):
        if kind in (0, 2):
            x[row, place[row]] += 0.7
        if kind in (1, 2):
            x[row, :, place[row]] += 0.7
        if kind == 3:
            x[row, along, (along + place[row]) % size] += 0.7
    return np.clip(x, 0, 1).astype("float32"), y.astype("int32")


def stripes(
    seed: int, size: int, ways: Sequence[tuple[int, int]], rows: int = 400
) -> tuple[Floats, Integers]:
    """Return pictures `[rows, 1, size, size]` of stripes, four pixels apart, and which way they go.

    Each way is by how much a stripe moves on from one line, and from one column, to the next.
    """
    draw = np.random.default_rng(seed)
    y = draw.permutation(np.arange(rows) % len(ways))
    line, column = np.mgrid[:size, :size]
    places = [down * line + across * column for down, across in ways]
    x = np.stack([np.sin(np.pi / 2 * places[kind] + draw.uniform(0, 6.28)) for kind in y])
    x = (x + draw.normal(0, 0.5, x.shape)).astype("float32")[:, None]
    return x, y.astype("int32")


def topics(
    rows: int = 300, length: int = 12, words: int = 40, classes: int = 3
) -> tuple[Integers, Integers]:
    """Return sentences of words 1 … words − 1, and which topic most of them are of."""
    draw = np.random.default_rng(6)
    y = draw.permutation(np.arange(rows) % classes)
    x = draw.integers(1, words, (rows, length))
    own = draw.integers(1, words // classes, x.shape) * classes + y[:, None]
    x = np.where(draw.random(x.shape) < 0.4, own, x)
    return x.astype("int32"), y.astype("int32")


def order(rows: int = 400, length: int = 8, words: int = 6) -> tuple[Integers, Integers]:
    """Return sentences with the words 1 and 2 in them, and whether 1 comes first."""
    draw = np.random.default_rng(7)
    x = draw.integers(3, words, (rows, length))
    y = np.empty(rows, "int32")
    for row in range(rows):
        one, two = draw.choice(length, 2, replace=False)
        x[row, one], x[row, two] = 1, 2
        y[row] = one < two
    return x.astype("int32"), y


def waves(rows: int = 240, length: int = 16) -> tuple[Floats, Integers]:
    """Return series `[rows, length, 1]` of three frequencies, and which it is."""
    draw = np.random.default_rng(8)
    y = draw.permutation(np.arange(rows) % 3)
    phase = draw.uniform(0, 2 * np.pi, (rows, 1))
    x = np.sin(phase + np.arange(length) * (0.4 + 0.5 * y[:, None]))
    x = x + draw.normal(0, 0.15, x.shape)
    return x.astype("float32")[:, :, None], y.astype("int32")


def letters(count: int = 1500) -> Integers:
    """Return a text as numbers 0 … 7: the next letter follows from the last two, mostly."""
    draw = np.random.default_rng(9)
    text = [0, 1]
    for _ in range(count - 2):
        follows = (text[-1] + 2 * text[-2] + 1) % 8
        text.append(follows if draw.random() < 0.9 else int(draw.integers(8)))
    return np.array(text, "int32")


def rare(rows: int = 400, share: float = 0.05, distance: float = 1.6) -> tuple[Floats, Integers]:
    """Return two overlapping clusters, the second of which has this share of the rows."""
    draw = np.random.default_rng(10)
    y = (np.arange(rows) < share * rows).astype("int32")
    y = draw.permutation(y)
    x = draw.normal(0, 1, (rows, 4)) + distance * y[:, None] * np.array([1, -1, 0.5, 0])
    return x.astype("float32"), y


def one_hot(numbers: Integers, classes: int) -> Floats:
    """Return a row with one 1 for each number."""
    return np.eye(classes, dtype="float32")[numbers]
