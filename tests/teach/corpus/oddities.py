"""Kinds of tables that look odd at first sight, and are as they should be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tests.teach.corpus.classes import classified, draw_classes, draw_clusters
from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, hidden_layers, text_of, training
from tests.teach.samples import one_hot
from tests.teach.setup import Setup, of
from tests.teach.texts import dense

TRAINED = 0.7


def _text(draw: Draw, features: int, classes: int, loss: str = "") -> str:
    head = dense(classes, "identity" if loss == "CCEL" else "softmax")
    return text_of(features, f"{hidden_layers(draw)}, {head}", classes, loss)


@kind
def rows_sorted_by_class(draw: Draw) -> Generated:
    rows, classes = int(between(draw, 200, 900)), int(draw.integers(2, 5))
    x, y, best = draw_clusters(draw, rows, classes, 4, between(draw, 0.8, 1.6))
    order = np.argsort(y, kind="stable")
    data = of(x[order], y[order], standardize=True)
    train = training(draw, int(TRAINED * rows))
    return classified(data, _text(draw, 4, classes), train, rows, best, 1 / classes)


@kind
def few_levels_of_each_feature(draw: Draw) -> Generated:
    """Rows recur, in other subsets too: there are few different ones."""
    rows, features = int(between(draw, 300, 1200)), int(draw.integers(4, 8))
    x = draw.integers(0, 3, (rows, features))
    score = 1.5 * (x - 1) @ draw.normal(0, 1, features)
    y, best, floor = draw_classes(draw, score)
    data = of(x.astype("float32"), y, standardize=True)
    train = training(draw, int(TRAINED * rows))
    return classified(data, _text(draw, features, 2), train, rows, best, floor)


@kind
def rows_of_a_person_stay_together(draw: Draw) -> Generated:
    people, visits = int(draw.integers(100, 200)), int(draw.integers(3, 7))
    rows, person = people * visits, np.repeat(np.arange(people), visits)
    habits = draw.normal(0, 1, (people, 4))
    x = habits[person] + draw.normal(0, 1, (rows, 4))
    y, best, floor = draw_classes(draw, 2 * x @ draw.normal(0, 1, 4))
    ends = (0, int(TRAINED * people), people)
    training_rows, testing_rows = (
        np.flatnonzero((person >= a) & (person < b)).tolist() for a, b in pairwise(ends)
    )
    data = of(x.astype("float32"), y, split=(training_rows, [], testing_rows), standardize=True)
    train = training(draw, int(TRAINED * rows))
    train = {n: v for n, v in train.items() if n not in ("validation_split", "patience")}
    return classified(data, _text(draw, 4, 2), train, rows, best, floor)


@kind
def skewed_features(draw: Draw) -> Generated:
    rows, features = int(between(draw, 400, 1500)), int(draw.integers(3, 7))
    plain = draw.normal(0, 1, (rows, features))
    y, best, floor = draw_classes(draw, 2 * plain @ draw.normal(0, 1, features))
    incomes = 1000 * np.exp(between(draw, 0.4, 1) * plain)
    data = of(np.log(incomes).astype("float32"), y, standardize=True)
    train = training(draw, int(TRAINED * rows))
    return classified(data, _text(draw, features, 2), train, rows, best, floor)


@kind
def uneven_classes(draw: Draw) -> Generated:
    rows = int(between(draw, 500, 1500))
    shares = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.5, 0.35, 0.15]])[draw.integers(3)]
    y = np.repeat(np.arange(3), (shares * rows).astype(int))
    y = draw.permutation(y).astype("int32")
    centres = draw.normal(0, 2, (3, 4))
    spread = between(draw, 0.7, 1.2)
    x = centres[y] + draw.normal(0, spread, (len(y), 4))
    distances = ((x[:, None] - centres) ** 2).sum(axis=2) / (2 * spread**2) - np.log(shares)
    best = float((distances.argmin(axis=1) == y).mean())
    train = training(draw, int(TRAINED * rows))
    data = of(x.astype("float32"), y, standardize=True)
    return classified(data, _text(draw, 4, 3), train, rows, best, float(shares.max()))


@kind
def many_classes(draw: Draw) -> Generated:
    classes = int(draw.integers(12, 25))
    rows = 50 * classes
    x, y, best = draw_clusters(draw, rows, classes, 8, between(draw, 0.8, 1.5))
    data = of(x, y, standardize=True, labels=[f"kind {n}" for n in range(classes)])
    text = text_of(8, f"{dense(48)}, {dense(classes, 'softmax')}", classes)
    train = training(draw, int(TRAINED * rows))
    return classified(data, text, train, rows, best, 1 / classes)


@kind
def shares_of_votes(draw: Draw) -> Generated:
    rows, classes = int(between(draw, 300, 900)), int(draw.integers(3, 5))
    x, y, best = draw_clusters(draw, rows, classes, 5, between(draw, 0.8, 1.4))
    votes = (one_hot(y, classes) * 0.7 + 0.3 / classes).astype("float32")
    data = of(x, votes, standardize=True)
    train = training(draw, int(TRAINED * rows))
    return classified(data, _text(draw, 5, classes, "KLD"), train, rows, best, 1 / classes)


@kind
def scores_without_softmax(draw: Draw) -> Generated:
    rows, classes = int(between(draw, 300, 900)), int(draw.integers(2, 6))
    x, y, best = draw_clusters(draw, rows, classes, 6, between(draw, 0.8, 1.8))
    data = of(x, y, standardize=True, scale=str(draw.choice(["standard", "minmax"])))
    train = training(draw, int(TRAINED * rows)) | {"label_smoothing": 0.1}
    return classified(data, _text(draw, 6, classes, "CCEL"), train, rows, best, 1 / classes)


@kind
def features_that_go_together(draw: Draw) -> Generated:
    rows, features, noise = int(between(draw, 300, 1500)), 6, between(draw, 0.2, 0.8)
    cause = draw.normal(0, 1, (rows, 2))
    x = cause @ draw.normal(0, 1, (2, features)) + draw.normal(0, 0.3, (rows, features))
    y = cause[:, 0] + draw.normal(0, noise, rows)
    data = of(x.astype("float32"), y.astype("float32"), standardize=True)
    text = text_of(features, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, 1 / (1 + noise**2))


@kind
def time_of_day_on_a_circle(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 400, 1500)), between(draw, 0.2, 0.8)
    hour, warm = draw.uniform(0, 24, rows), draw.normal(15, 8, rows)
    circle = np.stack([np.sin(hour * np.pi / 12), np.cos(hour * np.pi / 12)], axis=1)
    clean = np.sin((hour - 7) * np.pi / 6) + (warm - 15) / 12
    y = 300 + 100 * (clean + draw.normal(0, noise, rows))
    x: Any = np.concatenate([circle, warm[:, None]], axis=1).astype("float32")
    data = of(x, y.astype("float32"), standardize=True, standardize_targets=True)
    text = text_of(3, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, float(clean.var() / (clean.var() + noise**2)))


@kind
def dates_that_do_not_matter(draw: Draw) -> Generated:
    """Rows come in the order of their time, which nothing depends on."""
    rows, noise = int(between(draw, 300, 1200)), between(draw, 0.3, 0.8)
    x = draw.normal(0, 1, (rows, 4))
    y = x @ [1, -0.5, 0.3, 0] + draw.normal(0, noise, rows)
    later = ("sequential", (0.7, 0, 0.3))
    method, split = later if draw.random() < 0.5 else ("random", (0.6, 0.2, 0.2))
    data = of(
        x.astype("float32"), y.astype("float32"), method=method, split=split, standardize=True
    )
    text = text_of(4, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    train = training(draw, int(0.6 * rows), rated=False)
    return Generated(Setup(text, data, train, score="r2"), float(1 - noise**2 / y.var()))
