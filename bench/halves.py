"""A hundred problems, divided at random: defaults are tuned on sixty, and tested on forty others.

The networks are what a user would take without knowing more: one hidden layer of 16 units up to
200 rows, 64 units from 40 features, else 32, and two such layers for up to 3 features.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn import datasets  # type: ignore[reportMissingTypeStubs]

from bench import generated as g
from bench.datasets import Draw, Problem
from bench.tables import TABLES

SEED = 50
"""Divides the problems; chosen before anything was measured."""
TESTED = 40
"""So many of the half for testing are drawn: all would take hours."""


def _sklearn(name: str, rows: int, **settings: object) -> Draw:
    """Return a generator of scikit-learn as a function of the seed."""
    make = getattr(datasets, f"make_{name}")
    return lambda seed: make(n_samples=rows, **settings, random_state=seed)[:2]


def _field(centres: int, width: float, number: int) -> partial[g.Floats]:
    return partial(g.random_field, centres, width, number=number)


def _one_dimensional(value: str) -> partial[g.Rows]:
    """Return 150 noisy points of a function of one number."""
    functions = {
        "sinc": lambda x: np.sinc(2 * x[:, 0]),
        "steps": lambda x: np.floor(2 * x[:, 0]) % 3,
        "damped": lambda x: np.exp(-x[:, 0] - 2) * np.sin(8 * x[:, 0]),
        "kink": lambda x: np.abs(x[:, 0] - 0.5),
    }
    return partial(g.surface, 150, 1, functions[value], 0.15)


CLASSES: dict[str, Draw] = {
    "moons, little noise": _sklearn("moons", 300, noise=0.1),
    "moons, much noise": _sklearn("moons", 500, noise=0.4),
    "circles, close": _sklearn("circles", 400, noise=0.08, factor=0.75),
    "blobs": _sklearn("blobs", 500, n_features=3, centers=5, cluster_std=3.0),
    "blobs, 20 features": _sklearn("blobs", 200, n_features=20, centers=4, cluster_std=6.0),
    "quantiles, 3 classes": _sklearn("gaussian_quantiles", 700, n_features=4, n_classes=3),
    "quantiles, 10 features": _sklearn("gaussian_quantiles", 500, n_features=10, n_classes=2),
    "clusters, 10 features": _sklearn(
        "classification", 600, n_features=10, n_informative=4, flip_y=0.0
    ),
    "clusters, 30 features, flips": _sklearn(
        "classification", 1000, n_features=30, n_informative=5, flip_y=0.15
    ),
    "clusters, 50 features": _sklearn(
        "classification", 300, n_features=50, n_informative=10, flip_y=0.02
    ),
    "clusters, 4 classes": _sklearn(
        "classification", 2000, n_features=20, n_informative=12, n_classes=4, class_sep=0.8
    ),
    "clusters, 5 features": _sklearn("classification", 150, n_features=5, flip_y=0.1),
    "checkerboard": partial(g.checkerboard, 900, 3),
    "three arms": partial(g.arms, 600, 3, 0.06),
    "five arms": partial(g.arms, 1500, 5, 0.05),
    "wave": partial(g.boundary, 300, 2, lambda x: x[:, 1] - np.sin(3 * x[:, 0])),
    "ellipsoid": partial(
        g.boundary, 400, 5, lambda x: (x**2 * np.asarray([1, 2, 0.5, 1, 3])).sum(1)
    ),
    "cubic": partial(
        g.boundary, 600, 8, lambda x: x[:, 0] ** 3 - 3 * x[:, 1] * x[:, 2] + x[:, 3], flips=0.05
    ),
    "product of three": partial(g.boundary, 1000, 6, lambda x: x[:, 0] * x[:, 1] * x[:, 2]),
    "XOR of 10": partial(g.boundary, 400, 10, lambda x: x[:, 0] * x[:, 1], flips=0.1),
    "plane": partial(g.boundary, 300, 8, lambda x: x @ np.arange(1, 9), noise=0.8),
    "plane, 30 features": partial(g.boundary, 200, 30, lambda x: x[:, :5].sum(1), noise=0.3),
    "field, 2 features": partial(g.boundary, 400, 2, _field(30, 0.35, 1)),
    "field, 3 features, flips": partial(g.boundary, 800, 3, _field(30, 0.5, 2), flips=0.2),
    "field, 4 features": partial(g.boundary, 1200, 4, _field(40, 0.6, 3)),
    "field, 6 features, noise": partial(g.boundary, 800, 6, _field(60, 0.8, 4), noise=0.5),
    "disc, flips": partial(g.boundary, 300, 2, lambda x: (x**2).sum(1), flips=0.25),
}
NUMBERS: dict[str, Draw] = {
    "friedman1, 20 features": _sklearn("friedman1", 400, n_features=20, noise=0.3),
    "friedman2": _sklearn("friedman2", 500, noise=60.0),
    "friedman3": _sklearn("friedman3", 600, noise=0.1),
    "linear, 5 features": _sklearn("regression", 200, n_features=5, noise=10.0),
    "linear, 60 features": _sklearn(
        "regression", 400, n_features=60, n_informative=10, noise=100.0
    ),
    "four of ten": _sklearn("sparse_uncorrelated", 400),
    "sinc": _one_dimensional("sinc"),
    "steps": _one_dimensional("steps"),
    "damped": _one_dimensional("damped"),
    "kink": _one_dimensional("kink"),
    "peaks": partial(
        g.surface, 400, 2, lambda x: np.exp(-(x**2).sum(1)) * (x[:, 0] + 3 * x[:, 1] ** 3), 0.0
    ),
    "ripples": partial(g.surface, 600, 2, lambda x: np.sin(2 * np.hypot(*x.T) ** 1.5), 0.1),
    "field, 3 numbers": partial(g.surface, 700, 3, _field(30, 0.6, 5), 0.05),
    "field, 6 numbers": partial(g.surface, 1500, 6, _field(50, 0.8, 6), 0.2),
    "ridge": partial(g.surface, 300, 8, lambda x: np.tanh(x @ np.linspace(-1, 1, 8)), 0.2),
    "sums": partial(g.surface, 500, 10, lambda x: np.sin(2 * x[:, :3]).sum(1), 0.5),
    "mostly noise": partial(g.surface, 400, 6, lambda x: x[:, 0] + x[:, 1] ** 2, 2.5),
}
PICTURES: dict[str, Draw] = {
    "shapes": partial(g.shapes, 1200, 12, 0.3),
    "shapes, little noise": partial(g.shapes, 2000, 12, 0.05),
    "stripes": partial(g.stripes, 600, 10, 0.6),
    "stripes, little noise": partial(g.stripes, 400, 8, 0.2),
    "patches": partial(g.patches, 800, 8),
    "patches, large": partial(g.patches, 300, 12),
    "noisy digits": partial(g.digits, 1000, 0.4),
    "few digits": partial(g.digits, 200, 0.2),
}
TEXTS: dict[str, Draw] = {
    "topics": partial(g.topics, 500, 200, 4, 40),
    "topics, short": partial(g.topics, 1000, 300, 6, 12),
    "topics, long": partial(g.topics, 200, 400, 5, 150),
    "documents": partial(g.documents, 200, ("Ecdat", "MASS", "HSAUR", "psych", "car")),
    "documents, 500 words": partial(g.documents, 500, ("MASS", "boot", "robustbase", "HistData")),
}
SEQUENCES: dict[str, Draw] = {
    "waves": partial(g.waves, 400, 24, 0.4),
    "waves, little noise": partial(g.waves, 800, 24, 0.1),
    "autoregression": partial(g.autoregression, 600, 40),
}
SERIES: dict[str, Draw] = {
    "chaos": partial(g.chaos, 500, 3, 0.02),
    "chaos, noise": partial(g.chaos, 400, 4, 0.1),
    "sunspots": partial(g.observed, "sunspots", 9, 1),
    "El Niño": partial(g.observed, "elnino", 12, 3),
    "CO₂": partial(g.observed, "co2", 10, 4),
}
KINDS: tuple[tuple[str, bool, dict[str, Draw]], ...] = (
    ("table", True, {t.path: t for t in TABLES if t.classes}),
    ("table", False, {t.path: t for t in TABLES if not t.classes}),
    ("generator", True, CLASSES),
    ("generator", False, NUMBERS),
    ("picture", True, PICTURES),
    ("bag of words", True, TEXTS),
    ("sequence", True, SEQUENCES),
    ("sequence", False, SERIES),
)
"""The problems by kind, and whether they are classification."""


def make_problem(name: str, draw: Draw, classes: bool) -> Problem:
    """Return a problem with the network that a user would take."""
    x, y = draw(0)
    rows, features = x.shape
    units = 16 if rows <= 200 else 64 if features >= 40 else 32
    return Problem(
        name,
        draw,
        len(np.unique(y)) if classes else 1,
        (units, units) if features <= 3 else (units,),
        scores=("accuracy",) if classes else ("r2",),
    )


def divide() -> dict[str, list[tuple[str, Problem]]]:
    """Return the kinds and problems of both halves, "tuning" and "testing"."""
    halves: dict[str, list[tuple[str, Problem]]] = {"tuning": [], "testing": []}
    order = np.random.default_rng(SEED)
    first = 0
    for kind, classes, draws in KINDS:
        for position, number in enumerate(order.permutation(len(draws))):
            name = list(draws)[number]
            half = ("tuning", "testing")[(position + first) % 2]
            halves[half].append((kind, make_problem(name, draws[name], classes)))
        first += len(draws)
    drawn = sorted(order.permutation(len(halves["testing"]))[:TESTED])
    return halves | {"testing": [halves["testing"][k] for k in drawn]}
