"""Mistakes in the graph of a model: what it pools, transforms and joins."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import mistake
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import model

PICTURE = "shape={channels:1, height:12, width:12}"


def _spots(kind: str, seed: int) -> Data:
    """Return pictures of a spot, and in which half or quarter it is, or where."""
    draw = np.random.default_rng(seed)
    x = draw.normal(0, 0.2, (400, 1, 12, 12)).astype("float32")
    down, across = draw.integers(1, 11, (2, 400))
    for row, (y0, x0) in enumerate(zip(down, across, strict=True)):
        x[row, 0, y0 - 1 : y0 + 2, x0 - 1 : x0 + 2] += 1
    if kind == "where":
        return of(x, (np.stack([down, across], axis=1) / 12).astype("float32"))
    half = across >= 6
    return of(x, (half if kind == "half" else 2 * (down >= 6) + half).astype("int32"))


def _pooled(pool: str, outputs: int, *more: str, last: str = ", softmax()") -> str:
    layers = ["conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu()", *more, pool]
    return model(PICTURE, f"{', '.join(layers)}, matmul(w), add(b){last}", outputs)


def _flattened(pool: str) -> dict[str, object]:
    return {
        "remedy": "flatten() in place of the pooling.",
        "mended": lambda setup: setup.saying(pool, "flatten()"),
        "named_by": ("E323", "E924"),
    }


@mistake(
    "In which half a spot is decides, and the maximum over the picture forgets it.",
    **_flattened("reduceMax(axes=[1, 2])"),
)
def half_under_a_maximum() -> Setup:
    return Setup(_pooled("reduceMax(axes=[1, 2])", 2), _spots("half", 170), {"epochs": 20})


@mistake(
    "In which quarter a spot is decides: lines, then columns are averaged after two convolutions.",
    **_flattened("reduceMean(axes=[1]), reduceMean(axes=[-1])"),
)
def quarter_under_two_means() -> Setup:
    second = "conv2d(g, filters=8, kernel=3, padding=same, bias=d), relu()"
    text = _pooled("reduceMean(axes=[1]), reduceMean(axes=[-1])", 4, second)
    return Setup(text, _spots("quarter", 171), {"epochs": 15})


@mistake(
    "Where a spot is shall be told as two numbers, and a pooling over the picture forgets it.",
    **_flattened("averagePool2d(windowDimensions=12, strides=12), flatten()"),
)
def place_under_an_average() -> Setup:
    pool = "averagePool2d(windowDimensions=12, strides=12), flatten()"
    return Setup(_pooled(pool, 2, last=""), _spots("where", 172), {"epochs": 20}, score="r2")


@mistake(
    "When something happens in a signal decides, and the maximum over time forgets it.",
    **_flattened("reduceMax(axes=[-1])"),
)
def moment_under_a_maximum() -> Setup:
    draw = np.random.default_rng(173)
    x = draw.normal(0, 0.3, (400, 1, 32)).astype("float32")
    at = draw.integers(2, 30, 400)
    for row, moment in enumerate(at):
        x[row, 0, moment - 1 : moment + 2] += 1.5
    layers = (
        "conv1d(f, filters=8, kernel=5, padding=same, bias=b), relu(), reduceMax(axes=[-1]), "
        "matmul(w), add(c), softmax()"
    )
    text = model("shape={channels:1, time:32}", layers, 2)
    return Setup(text, of(x, (at > 16).astype("int32")), {"epochs": 20})
