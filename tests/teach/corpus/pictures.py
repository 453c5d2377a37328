"""Kinds of pictures: bars, textures, places, colours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.teach.corpus.classes import classified
from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, chance, text_of, training
from tests.teach.setup import Setup, of
from tests.teach.texts import dense
from webnnm import Flip, Shift

TRAINED = 0.7
CONVOLUTION = "conv2d({name}, filters={filters}, kernel=3, padding=same, bias={name}b), relu()"
POOLING = "maxPool2d(windowDimensions=2, strides=2)"


def _flipped(draw: Draw, y: NDArray[Any], classes: int) -> tuple[NDArray[Any], float]:
    """Return labels some of which are wrong, and the share of those that are right."""
    if chance(draw, 0.6):
        return y.astype("int32"), 1.0
    share = float(draw.uniform(0.03, 0.15))
    wrong = draw.random(len(y)) < share
    return np.where(wrong, (y + 1) % classes, y).astype("int32"), 1 - share


def _convolutions(draw: Draw, count: int) -> list[str]:
    filters = int(draw.integers(6, 14))
    return [
        CONVOLUTION.format(name=name, filters=filters * (2 if n else 1))
        for n, name in enumerate("fg"[:count])
    ]


def _shape(channels: int, size: int) -> str:
    return f"shape={{channels:{channels}, height:{size}, width:{size}}}"


def _noisy(draw: Draw, clean: NDArray[Any]) -> NDArray[Any]:
    """Return pixels from 0 to 1 with noise."""
    return np.clip(clean + draw.normal(0, between(draw, 0.03, 0.15), clean.shape), 0, 1)


def _bars(draw: Draw, rows: int, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return pictures of a line, a column, or both, and which it is."""
    y = draw.permutation(np.arange(rows) % 3)
    x = draw.uniform(0, 0.4, (rows, 1, 1)) * np.ones((rows, size, size))
    along = draw.integers(0, size, (2, rows))
    for row, number in enumerate(y):
        if number != 1:
            x[row, along[0, row]] += draw.uniform(0.3, 0.6)
        if number != 0:
            x[row, :, along[1, row]] += draw.uniform(0.3, 0.6)
    return _noisy(draw, x), y


@kind
def bars_through_convolutions(draw: Draw) -> Generated:
    rows, size = int(between(draw, 300, 700)), 8
    x, y = _bars(draw, rows, size)
    labels, best = _flipped(draw, y, 3)
    first, *rest = _convolutions(draw, int(draw.integers(1, 3)))
    dropout = ["dropout(0.2)"] if chance(draw, 0.3) else []
    layers = ", ".join(
        [first, POOLING, *rest, "flatten()", *dropout, dense(16), dense(3, "softmax")]
    )
    data = of(x[:, None].astype("float32"), labels)
    train = training(draw, int(TRAINED * rows), slow=True)
    return classified(data, text_of(_shape(1, size), layers, 3), train, rows, best, 1 / 3)


@kind
def textures_behind_a_global_pooling(draw: Draw) -> Generated:
    rows, size, classes = int(between(draw, 300, 700)), 10, int(draw.integers(2, 4))
    y = draw.permutation(np.arange(rows) % classes)
    line, column = np.mgrid[:size, :size]
    ways = np.stack([line, column, line + column])[y]
    phase = draw.uniform(0, 2 * np.pi, (rows, 1, 1))
    x = _noisy(draw, 0.5 + 0.3 * np.sin(2 * np.pi / 3 * ways + phase))
    labels, best = _flipped(draw, y, classes)
    pooling = str(draw.choice(["globalAveragePool()", "reduceMax(axes=[1, 2])"]))
    layers = ", ".join([*_convolutions(draw, 2), pooling, dense(classes, "softmax")])
    data = of(x[:, None].astype("float32"), labels)
    train = training(draw, int(TRAINED * rows), slow=True)
    text = text_of(_shape(1, size), layers, classes)
    return classified(data, text, train, rows, best, 1 / classes)


@kind
def where_a_spot_is(draw: Draw) -> Generated:
    rows, size = int(between(draw, 300, 800)), 8
    centre = draw.uniform(1, size - 2, (2, rows))
    line, column = np.mgrid[:size, :size]
    distance = (line - centre[0][:, None, None]) ** 2 + (column - centre[1][:, None, None]) ** 2
    x = _noisy(draw, 0.1 + 0.8 * np.exp(-distance / 2))
    noise = between(draw, 0.1, 0.4)
    y = (centre.T - 3.5) / 1.5 + draw.normal(0, noise, (rows, 2))
    layers = ", ".join([*_convolutions(draw, 1), "flatten()", dense(16), dense(2, "identity")])
    train = training(draw, int(TRAINED * rows), slow=True)
    data = of(x[:, None].astype("float32"), y.astype("float32"))
    setup = Setup(text_of(_shape(1, size), layers, 2), data, train, score="r2")
    return Generated(setup, float(1 - noise**2 / y.var(axis=0).mean()))


@kind
def colours_and_shapes(draw: Draw) -> Generated:
    rows, size = int(between(draw, 300, 700)), 8
    bars, shape = _bars(draw, rows, size)
    red = draw.integers(0, 2, rows)
    x = np.stack([bars, bars, bars], axis=1) * np.where(red, 1.0, 0.5)[:, None, None, None]
    x[:, 2] *= np.where(red, 0.5, 1.0)[:, None, None]
    labels, best = _flipped(draw, (shape == 2) * 2 + red, 4)
    layers = ", ".join(
        [*_convolutions(draw, 1), POOLING, "flatten()", dense(24), dense(4, "softmax")]
    )
    data = of(_noisy(draw, x).astype("float32"), labels)
    train = training(draw, int(TRAINED * rows), slow=True)
    return classified(data, text_of(_shape(3, size), layers, 4), train, rows, best, 1 / 3)


@kind
def pictures_that_are_augmented(draw: Draw) -> Generated:
    rows, size = int(between(draw, 300, 600)), 8
    x, y = _bars(draw, rows, size)
    labels, best = _flipped(draw, y, 3)
    plain = of(x[:, None].astype("float32"), labels)
    function = Flip() if chance(draw, 0.5) else Shift(0.13)
    layers = ", ".join([*_convolutions(draw, 1), POOLING, "flatten()", dense(3, "softmax")])
    train = training(draw, int(TRAINED * rows), slow=True)
    text = text_of(_shape(1, size), layers, 3)
    return classified(lambda s: plain(s).augment(function), text, train, rows, best, 1 / 3)


@kind
def pixels_in_a_dense_network(draw: Draw) -> Generated:
    rows, size = int(between(draw, 400, 900)), 6
    stencils = draw.uniform(0, 0.8, (4, size * size))
    y = draw.permutation(np.arange(rows) % 4)
    labels, best = _flipped(draw, y, 4)
    x = np.clip(stencils[y] + draw.normal(0, between(draw, 0.1, 0.3), (rows, size * size)), 0, 1)
    text = text_of(size * size, f"{dense(24)}, {dense(4, 'softmax')}", 4)
    data = of(x.astype("float32"), labels)
    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, 1 / 4)
