"""Kinds of tables whose rows have a class or several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, chance, hidden_layers, text_of, training
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import dense
from webnnm import TableDataset

TRAINED, TESTED = 0.7, 0.3


def classified(
    data: Data, text: str, train: dict[str, Any], rows: int, ceiling: float, floor: float
) -> Generated:
    """Return a set-up whose score is the accuracy."""
    return Generated(Setup(text, data, train), ceiling, floor, int(TESTED * rows))


def _classifier(draw: Draw, features: int, classes: int, **options: Any) -> str:
    hidden = hidden_layers(draw, **options)
    return text_of(features, f"{hidden}, {dense(classes, 'softmax')}", classes)


def draw_classes(draw: Draw, score: NDArray[Any]) -> tuple[NDArray[Any], float, float]:
    """Return a class for each row, the best accuracy and that of the most frequent class."""
    probability = 1 / (1 + np.exp(-score))
    y = (draw.random(len(score)) < probability).astype("int32")
    best = float(np.maximum(probability, 1 - probability).mean())
    return y, best, float(max(y.mean(), 1 - y.mean()))


def draw_clusters(draw: Draw, rows: int, classes: int, features: int, spread: float) -> Any:
    """Return clusters of rows, the class of each, and the best accuracy."""
    centres = draw.normal(0, 2, (classes, features))
    y = draw.permutation(np.arange(rows) % classes).astype("int32")
    x = (centres[y] + draw.normal(0, spread, (rows, features))).astype("float32")
    distances = ((x[:, None] - centres) ** 2).sum(axis=2)
    return x, y, float((distances.argmin(axis=1) == y).mean())


@kind
def clusters_of_classes(draw: Draw) -> Generated:
    classes, features = int(draw.integers(2, 8)), int(draw.integers(2, 12))
    rows = int(between(draw, 50 * classes, 250 * classes))
    x, y, best = draw_clusters(draw, rows, classes, features, between(draw, 0.8, 2))
    data = of(x, y, standardize=True)
    text = _classifier(draw, features, classes)
    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, 1 / classes)


@kind
def logistic_of_quantities(draw: Draw) -> Generated:
    features, rows = int(draw.integers(3, 15)), int(between(draw, 200, 2000))
    x = draw.normal(0, 1, (rows, features))
    score = x @ draw.normal(0, between(draw, 0.5, 2), features)
    y, best, floor = draw_classes(draw, score)
    scales = np.exp(draw.normal(0, 2, features))
    data = of(
        (x * scales + scales * draw.normal(0, 3, features)).astype("float32"), y, standardize=True
    )
    layers = f"{dense(8)}, {dense(1, 'sigmoid')}" if chance(draw, 0.5) else dense(1, "sigmoid")
    train = training(draw, int(TRAINED * rows))
    return classified(data, text_of(features, layers, 1), train, rows, best, floor)


@kind
def one_class_is_rare(draw: Draw) -> Generated:
    rows, share = int(between(draw, 600, 2500)), float(draw.uniform(0.06, 0.25))
    features, distance = int(draw.integers(3, 8)), float(draw.uniform(2.5, 4))
    y = draw.permutation(np.arange(rows) < share * rows).astype("int32")
    way = draw.normal(0, 1, features)
    way /= np.linalg.norm(way)
    x = (draw.normal(0, 1, (rows, features)) + distance * y[:, None] * way).astype("float32")
    balanced = chance(draw, 0.5)
    bias = 0.0 if balanced else np.log(share / (1 - share))
    chosen = (distance * (x @ way) - distance**2 / 2 + bias > 0).astype(int)
    train = training(draw, int(TRAINED * rows))
    if balanced:
        train["class_weight"] = "balanced"
    text = _classifier(draw, features, 2, width=(6, 16), depth=1)
    setup = Setup(text, of(x, y, standardize=True), train, score="macro_f1")
    floor = (1 - share) / (2 - share)
    return Generated(setup, _macro_f1(y, chosen), floor, int(TESTED * share * rows))


def _macro_f1(wanted: NDArray[Any], chosen: NDArray[Any]) -> float:
    scores = [
        2 * ((wanted == n) & (chosen == n)).sum() / ((wanted == n).sum() + (chosen == n).sum())
        for n in (0, 1)
    ]
    return float(np.mean(scores))


@kind
def curved_boundaries(draw: Draw) -> Generated:
    rows = int(between(draw, 300, 1500))
    x = draw.uniform(-2, 2, (rows, int(draw.integers(2, 4))))
    sharp = between(draw, 3, 10)
    a, b = x[:, 0], x[:, 1]
    shapes = (a * b, a**2 + b**2 - 2.4, b - np.sin(2 * a), np.abs(a) - np.abs(b))
    y, best, floor = draw_classes(draw, sharp * shapes[int(draw.integers(len(shapes)))])
    text = _classifier(draw, x.shape[1], 2, width=(16, 48))
    data = of(x.astype("float32"), y, standardize=True)
    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, floor)


@kind
def many_features_few_matter(draw: Draw) -> Generated:
    features, rows = int(draw.integers(20, 60)), int(between(draw, 400, 1500))
    x = draw.normal(0, 1, (rows, features))
    y, best, floor = draw_classes(draw, 2 * x[:, :4].sum(axis=1))
    layers = f"{dense(12)}, dropout({draw.choice([0.2, 0.3, 0.4])}), {dense(2, 'softmax')}"
    train = {"optimizer": "adamw", "weight_decay": between(draw, 0.03, 0.3), "epochs": 20}
    data = of(x.astype("float32"), y, standardize=True)
    return classified(data, text_of(features, layers, 2), train, rows, best, floor)


@kind
def table_with_categories_and_gaps(draw: Draw) -> Generated:
    rows, towns = int(between(draw, 300, 1500)), int(draw.integers(3, 7))
    x, town = draw.normal(0, 1, (rows, 3)), draw.integers(0, towns, rows)
    effect = draw.normal(0, 1.5, towns)
    y, best, floor = draw_classes(draw, x @ [1.5, -1, 0.7] + effect[town])
    columns: dict[str, list[Any]] = {
        "age": (45 + 15 * x[:, 0]).round().tolist(),
        "income": (2500 * np.exp(0.3 * x[:, 1])).tolist(),
        "weight": (70 + 12 * x[:, 2]).tolist(),
        "town": [f"town {n}" for n in town],
        "bought": ["yes" if n else "no" for n in y],
    }
    for row in np.flatnonzero(draw.random(rows) < 0.04):
        columns["weight"][row] = None
    text = _classifier(draw, 3 + towns, 2)
    scaled = ["age", "income", "weight"]

    def data(seed: int) -> TableDataset:
        return TableDataset(columns, label="bought", seed=seed, missing="mean", standardize=scaled)

    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, floor)


@kind
def several_labels_for_each_row(draw: Draw) -> Generated:
    features, labels = int(draw.integers(4, 10)), int(draw.integers(2, 6))
    rows = int(between(draw, 300, 1500))
    x = draw.normal(0, 1, (rows, features))
    score = 2 * x @ draw.normal(0, 1, (features, labels)) + draw.normal(0, 1, labels)
    probability = 1 / (1 + np.exp(-score))
    y = (draw.random(score.shape) < probability).astype("float32")
    best = float(np.maximum(probability, 1 - probability).mean())
    floor = float(np.maximum(y.mean(axis=0), 1 - y.mean(axis=0)).mean())
    text = text_of(features, f"{hidden_layers(draw)}, {dense(labels, 'sigmoid')}", labels)
    data = of(x.astype("float32"), y, standardize=True)
    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, floor)


@kind
def answers_of_a_questionnaire(draw: Draw) -> Generated:
    rows, questions = int(between(draw, 300, 1200)), int(draw.integers(5, 15))
    mood, levels = draw.normal(0, 1, rows), int(draw.integers(2, 6))
    noise = draw.normal(0, 1, (rows, questions))
    answers = np.clip(np.round(levels / 2 + mood[:, None] + noise), 1, levels)
    y, best, floor = draw_classes(draw, 1.5 * (answers.mean(axis=1) - answers.mean()) / 0.5)
    text = _classifier(draw, questions, 2, width=(6, 16), depth=1)
    data = of(answers.astype("float32"), y, standardize=True)
    return classified(data, text, training(draw, int(TRAINED * rows)), rows, best, floor)


@kind
def few_rows_small_net(draw: Draw) -> Generated:
    rows, classes = int(draw.integers(60, 150)), int(draw.integers(2, 4))
    features = int(draw.integers(2, 5))
    x, y, best = draw_clusters(draw, rows, classes, features, between(draw, 0.5, 1.2))
    layers = f"{dense(6, 'tanh')}, {dense(classes, 'softmax')}"
    train = {"optimizer": "adam", "lr": 0.01, "batch_size": 8, "epochs": int(draw.integers(40, 90))}
    data = of(x, y, standardize=True)
    text = text_of(features, layers, classes)
    return classified(data, text, train, rows, best, 1 / classes)


@kind
def a_head_for_each_of_two_questions(draw: Draw) -> Generated:
    rows = int(between(draw, 400, 1500))
    x, y, best = draw_clusters(draw, rows, 3, 5, between(draw, 0.8, 1.5))
    size = (x @ draw.normal(0, 0.4, 5) + draw.normal(0, 0.3, rows)).astype("float32")
    text = (
        "model:input shape=[5]; kind:output shape=[3]; size:output shape=[1];\n"
        "model:layers matmul(w, shape=[24]), add(b), relu(name=seen);\n"
        "kind:layers matmul(w, node=seen), add(b), softmax();\n"
        "size:layers matmul(w, node=seen), add(b);\n"
    )
    outputs = {"kind": y, "size": size[:, None]}
    data = of({"model": x}, outputs, standardize=True, standardize_targets=True)
    train = training(draw, int(TRAINED * rows))
    setup = Setup(text, data, train, score="kind.accuracy")
    return Generated(setup, best, 1 / 3, int(TESTED * rows))
