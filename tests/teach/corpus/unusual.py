"""Kinds of set-ups that few people write, with good reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.corpus.classes import classified, draw_classes, draw_clusters
from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, hidden_layers, text_of, training
from tests.teach.samples import one_hot
from tests.teach.setup import Setup, of
from tests.teach.texts import dense
from webnnm import xp

TRAINED = 0.7


@kind
def all_rows_in_one_batch(draw: Draw) -> Generated:
    rows, classes = int(draw.integers(120, 400)), int(draw.integers(2, 4))
    x, y, best = draw_clusters(draw, rows, classes, 4, between(draw, 0.8, 1.5))
    train = {"optimizer": "adam", "lr": between(draw, 0.02, 0.05), "epochs": 300}
    train["batch_size"] = int(TRAINED * rows)
    text = text_of(4, f"{dense(12, 'tanh')}, {dense(classes, 'softmax')}", classes)
    return classified(of(x, y, standardize=True), text, train, rows, best, 1 / classes)


@kind
def plain_gradient_descent(draw: Draw) -> Generated:
    rows = int(between(draw, 300, 1000))
    x = draw.normal(0, 1, (rows, 6))
    y, best, floor = draw_classes(draw, x @ draw.normal(0, 1.5, 6))
    train = {"optimizer": "sgd", "lr": between(draw, 0.05, 0.3), "epochs": 60, "batch_size": 32}
    text = text_of(6, dense(1, "sigmoid"), 1)
    return classified(of(x.astype("float32"), y, standardize=True), text, train, rows, best, floor)


@kind
def margins_of_a_linear_score(draw: Draw) -> Generated:
    rows = int(between(draw, 300, 1000))
    x, y, best = draw_clusters(draw, rows, 2, 5, between(draw, 1, 2))
    signs = (2.0 * y - 1).astype("float32")[:, None]
    train = training(draw, int(TRAINED * rows))
    text = text_of(5, dense(1, "identity"), 1, "HIL")
    return classified(of(x, signs, standardize=True), text, train, rows, best, 0.5)


@kind
def focal_loss_of_a_rare_class(draw: Draw) -> Generated:
    rows, share = int(between(draw, 600, 2000)), float(draw.uniform(0.06, 0.15))
    y = draw.permutation(np.arange(rows) < share * rows).astype("int32")
    distance = float(draw.uniform(3, 4))
    x = draw.normal(0, 1, (rows, 4)) + distance * y[:, None] * np.array([0.7, -0.7, 0, 0])
    text = text_of(4, f"{dense(8)}, {dense(2, 'softmax')}", 2, "FOL")
    data = of(x.astype("float32"), y, standardize=True)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="macro_f1")
    return Generated(setup, 0.9, (1 - share) / (2 - share), int(0.3 * share * rows))


@kind
def mean_and_spread_by_likelihood(draw: Draw) -> Generated:
    rows = int(between(draw, 500, 1500))
    x = draw.normal(0, 1, (rows, 3))
    mean, spread = x[:, 0] - 0.5 * x[:, 1], np.exp(-0.7 + 0.5 * x[:, 2])
    y = (mean + spread * draw.normal(0, 1, rows)).astype("float32")

    def likelihood(prediction: Any, target: Any) -> Any:
        centre, scale = prediction[..., :1], prediction[..., 1:]
        error = (target[..., :1] - centre) * xp.exp(-scale)
        return xp.mean(0.5 * error * error + scale, axis=-1)

    text = text_of(3, f"{dense(24, 'tanh')}, {dense(2, 'identity')}", 2)
    data = of(x.astype("float32"), np.stack([y, y], axis=1), standardize=True)
    train = {"optimizer": "adam", "lr": 0.005, "epochs": 60, "batch_size": 32, "loss": likelihood}
    best = float((0.5 * ((y - mean) / spread) ** 2 + np.log(spread)).mean())
    return Generated(Setup(text, data, train, score="loss"), best, float(0.5 + np.log(y.std())))


@kind
def gamma_by_likelihood(draw: Draw) -> Generated:
    rows = int(between(draw, 500, 1500))
    x = draw.normal(0, 1, (rows, 4))
    mean = np.exp(0.6 * x[:, 0] - 0.4 * x[:, 1] + 0.3)
    y = (mean * draw.gamma(3, 1 / 3, rows)).astype("float32")

    def gamma(prediction: Any, target: Any) -> Any:
        return xp.mean(prediction + target * xp.exp(-prediction), axis=-1)

    text = text_of(4, f"{dense(16, 'tanh')}, {dense(1, 'identity')}", 1)
    train = training(draw, int(TRAINED * rows)) | {"loss": gamma}
    data = of(x.astype("float32"), y[:, None], standardize=True)
    best, constant = (float((np.log(m) + y / m).mean()) for m in (mean, y.mean()))
    return Generated(Setup(text, data, train, score="loss"), best, constant)


@kind
def denoising_autoencoder(draw: Draw) -> Generated:
    rows, width, noise = int(between(draw, 400, 1000)), int(draw.integers(10, 20)), 0.4
    clean = draw.normal(0, 1, (rows, 3)) @ draw.normal(0, 0.58, (3, width))
    dirty = clean + draw.normal(0, noise, clean.shape)
    layers = f"{dense(32, 'tanh')}, {dense(width, 'identity')}"
    train = {"optimizer": "adam", "lr": between(draw, 0.003, 0.01), "epochs": 40}
    data = of(dirty.astype("float32"), clean.astype("float32"))
    setup = Setup(text_of(width, layers, width, "MSE"), data, train, score="r2")
    return Generated(setup, float(1 - noise**2 * 3 / width / clean.var()))


@kind
def a_mark_for_each_position(draw: Draw) -> Generated:
    """Tags of words: the tag depends on the word and on the one before."""
    rows, length, words = int(between(draw, 200, 400)), 10, 12
    x = draw.integers(0, words, (rows, length))
    before = np.concatenate([np.zeros((rows, 1), int), x[:, :-1]], axis=1)
    y = ((x % 3 == 0) & (before % 2 == 0)).astype("int32")
    layers = (
        f"embedding(table, size={words}, shape=[12]), gru(w, r, bias=b, hiddenSize=16, "
        f"returnSequence=true), matmul(v), add(c), softmax()"
    )
    text = text_of("int32 shape=[] sequence=true", layers, 2)
    train = {"optimizer": "adam", "lr": 0.01, "epochs": 25}
    data = of(x.astype("int32"), y, length="max", kinds={"model": "classes"})
    return classified(data, text, train, rows, 1.0, float(max(y.mean(), 1 - y.mean())))


@kind
def what_pixels_belong_to_a_square(draw: Draw) -> Generated:
    rows, size = int(between(draw, 150, 300)), 8
    corner = draw.integers(0, size - 3, (2, rows))
    line, column = np.mgrid[:size, :size]
    inside = (line >= corner[0][:, None, None]) & (line < corner[0][:, None, None] + 3)
    inside &= (column >= corner[1][:, None, None]) & (column < corner[1][:, None, None] + 3)
    x = 0.3 + 0.4 * inside + draw.normal(0, 0.15, inside.shape)
    layers = (
        "conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu(), "
        "conv2d(g, filters=1, kernel=3, padding=same, bias=b), sigmoid()"
    )
    text = (
        f"model:input shape={{channels:1, height:{size}, width:{size}}};\n"
        f"model:output shape=[1, {size}, {size}];\nmodel:loss BCE;\nmodel:layers {layers};\n"
    )
    data = of(np.clip(x, 0, 1)[:, None].astype("float32"), inside[:, None].astype("float32"))
    train = {"optimizer": "adam", "lr": 0.01, "epochs": 30}
    share = inside.mean()
    floor = float(-(share * np.log(share) + (1 - share) * np.log(1 - share)))
    return Generated(Setup(text, data, train, score="loss"), 0.0, floor)


@kind
def two_towers_with_shared_weights(draw: Draw) -> Generated:
    """Are two things of the same kind? Both go through the same layers."""
    rows = int(between(draw, 800, 1500))
    one, other = draw.integers(0, 3, (2, rows))
    other = np.where(draw.random(rows) < 0.25, one, other)
    y = (one == other).astype("int32")
    centres = draw.normal(0, 2, (3, 4))
    left, right = (centres[n] + draw.normal(0, 0.5, (rows, 4)) for n in (one, other))
    text = (
        "model:param seen shape=[4, 16] init=glorot;\n"
        "left:input shape=[4]; right:input shape=[4]; same:output shape=[2];\n"
        "left:layers matmul(seen), tanh();\nright:layers matmul(seen), tanh();\n"
        "same:layers sub([left, right]), abs(), matmul(w, shape=[16]), add(b), relu(),\n"
        "  matmul(v), add(c), softmax();\n"
    )
    data = of({"left": left.astype("float32"), "right": right.astype("float32")}, {"same": y})
    train = {"optimizer": "adam", "lr": 0.01, "epochs": 30}
    return classified(data, text, train, rows, 1.0, float(max(y.mean(), 1 - y.mean())))


@kind
def experts_with_a_gate(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 500, 1500)), between(draw, 0.1, 0.4)
    x = draw.normal(0, 1, (rows, 4))
    clean = np.where(x[:, 0] > 0, x[:, 1] + x[:, 2], x[:, 3] - x[:, 1])
    y = clean + draw.normal(0, noise, rows)
    text = (
        "model:input shape=[4]; model:output shape=[1];\n"
        "model:layers matmul(g, shape=[8]), add(h), softmax(name=gate),\n"
        "  matmul(e, node=input, shape=[8]), add(f, name=value), mul([gate, value]),\n"
        "  matmul(w, shape=[16]), add(b), relu(), matmul(v), add(c);\n"
    )
    data = of(x.astype("float32"), y.astype("float32"), standardize=True)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, float(1 - noise**2 / y.var()))


@kind
def grades_as_thresholds(draw: Draw) -> Generated:
    """Ordered grades as several yes or no: at least 1, at least 2, at least 3."""
    rows = int(between(draw, 400, 1200))
    x = draw.normal(0, 1, (rows, 5))
    hidden = x @ draw.normal(0, 1, 5) + draw.normal(0, 0.5, rows)
    cuts = np.quantile(hidden, [0.3, 0.6, 0.85])
    y = (hidden[:, None] > cuts).astype("float32")
    clean = hidden[:, None] > cuts
    text = text_of(5, f"{hidden_layers(draw)}, {dense(3, 'sigmoid')}", 3)
    floor = float(np.maximum(clean.mean(axis=0), 1 - clean.mean(axis=0)).mean())
    train = training(draw, int(TRAINED * rows))
    return classified(of(x.astype("float32"), y, standardize=True), text, train, rows, 0.92, floor)


@kind
def yes_and_no_as_plus_and_minus_one(draw: Draw) -> Generated:
    rows = int(between(draw, 300, 1000))
    x, y, _ = draw_clusters(draw, rows, 2, 5, between(draw, 0.8, 1.4))
    signs = 0.9 * (2.0 * y - 1) * draw.uniform(0.6, 1, rows)
    text = text_of(5, f"{dense(12, 'tanh')}, {dense(1, 'tanh')}", 1, "MSE")
    data = of(x, signs.astype("float32")[:, None], standardize=True)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, 0.95)


@kind
def heavy_dropout_of_wide_layers(draw: Draw) -> Generated:
    rows, classes = int(between(draw, 400, 1000)), 3
    x, y, best = draw_clusters(draw, rows, classes, 10, between(draw, 1.5, 2.5))
    layers = f"dropout(0.1), {dense(96)}, dropout(0.5), {dense(48)}, dropout(0.3)"
    text = text_of(10, f"{layers}, {dense(classes, 'softmax')}", classes)
    train = training(draw, int(TRAINED * rows))
    return classified(of(x, y, standardize=True), text, train, rows, best, 1 / classes)


@kind
def nearly_half_of_the_labels_are_noise(draw: Draw) -> Generated:
    rows = int(between(draw, 2000, 4000))
    x = draw.normal(0, 1, (rows, 4))
    y, best, floor = draw_classes(draw, float(draw.uniform(0.6, 1)) * (x[:, 0] + x[:, 1]))
    text = text_of(4, f"{dense(8)}, {dense(2, 'softmax')}", 2)
    data = of(x.astype("float32"), y, standardize=True)
    train: dict[str, Any] = {"optimizer": "adamw", "lr": 0.003, "epochs": 10, "batch_size": 64}
    return classified(data, text, train, rows, best, floor)


@kind
def few_rows_of_each_of_many_classes(draw: Draw) -> Generated:
    classes = int(draw.integers(10, 16))
    rows = 14 * classes
    x, y, best = draw_clusters(draw, rows, classes, 12, between(draw, 0.5, 0.9))
    text = text_of(12, f"{dense(32)}, {dense(classes, 'softmax')}", classes)
    train: dict[str, Any] = {"optimizer": "adam", "lr": 0.01, "epochs": 60}
    return classified(of(x, y, standardize=True), text, train, rows, best, 1 / classes)


@kind
def wide_table_of_flags(draw: Draw) -> Generated:
    rows, flags = int(between(draw, 500, 1500)), int(draw.integers(30, 80))
    x = (draw.random((rows, flags)) < draw.uniform(0.1, 0.5, flags)).astype("float32")
    y, best, floor = draw_classes(draw, (x - x.mean(axis=0)) @ draw.normal(0, 1.2, flags))
    layers = f"{dense(8)}, dropout(0.3), {dense(1, 'sigmoid')}"
    train = training(draw, int(TRAINED * rows))
    return classified(of(x, y), text_of(flags, layers, 1), train, rows, best, floor)


@kind
def weights_of_rows(draw: Draw) -> Generated:
    """Measurements of different precision: noisy rows count less."""
    rows = int(between(draw, 400, 1200))
    x = draw.normal(0, 1, (rows, 4))
    spread = draw.choice([0.2, 1.0], rows)
    y = x @ [1, -1, 0.5, 0] + spread * draw.normal(0, 1, rows)
    weights = (1 / (0.05 + spread**2)).astype("float32").tolist()
    data = of(x.astype("float32"), y.astype("float32"), standardize=True, sample_weight=weights)
    text = text_of(4, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, 0.9)


@kind
def one_strong_feature(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 300, 1200)), between(draw, 0.1, 0.3)
    x = draw.normal(0, 1, (rows, 5))
    y = x[:, 0] + 0.15 * x[:, 1] + draw.normal(0, noise, rows)
    data = of(
        (x * 7 + 20).astype("float32"),
        (30 + 9 * y).astype("float32"),
        standardize=True,
        standardize_targets=True,
    )
    text = text_of(5, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    setup = Setup(text, data, training(draw, int(TRAINED * rows)), score="r2")
    return Generated(setup, float(1 - noise**2 / y.var()))


@kind
def seasons_and_a_trend(draw: Draw) -> Generated:
    """A year of days is trained, the days after it are tested: what is learnt goes on."""
    rows, noise = int(draw.integers(500, 1000)), between(draw, 0.2, 0.5)
    day, warm = np.arange(rows), draw.normal(0, 1, rows)
    week = one_hot((day % 7).astype("int32"), 7)
    clean = week @ np.array([0.5, 0.3, 0, 0, 0.4, 1.2, -1]) + 0.8 * warm
    y = clean + draw.normal(0, noise, rows)
    x = np.concatenate([week, warm[:, None]], axis=1).astype("float32")
    split: Any = (0.6, 0.15, 0.25)
    data = of(x, y.astype("float32"), method="sequential", split=split)
    text = text_of(8, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    setup = Setup(text, data, training(draw, int(0.6 * rows), rated=False), score="r2")
    return Generated(setup, float(1 - noise**2 / y.var()))


@kind
def letters_through_a_text_convolution(draw: Draw) -> Generated:
    """Does a text have the letters 1 2 3 in this order, anywhere?"""
    rows, length, letters = int(between(draw, 1200, 2000)), 10, 6
    x = draw.integers(1, letters, (rows, length))
    y = draw.permutation(np.arange(rows) % 2).astype("int32")
    for row in np.flatnonzero(y):
        at = draw.integers(0, length - 2)
        x[row, at : at + 3] = 1, 2, 3
    has = [any((r[k : k + 3] == (1, 2, 3)).all() for k in range(length - 2)) for r in x]
    y = np.array(has, "int32")
    layers = (
        f"embedding(table, size={letters}, shape=[{length}, 8]), transpose(permutation=[1, 0]), "
        "conv1d(f, filters=16, kernel=3, bias=b), relu(), reduceMax(axes=[-1]), "
        f"{dense(2, 'softmax')}"
    )
    text = text_of(f"int32 shape=[{length}]", layers, 2)
    train: dict[str, Any] = {"optimizer": "adam", "lr": 0.01, "epochs": 30}
    floor = float(max(y.mean(), 1 - y.mean()))
    return classified(of(x.astype("int32"), y), text, train, rows, 1.0, floor)


@kind
def rates_that_return(draw: Draw) -> Generated:
    """One cycle: the rate rises for a third of the training, and falls to nothing."""
    rows, classes = int(between(draw, 300, 1000)), 4
    x, y, best = draw_clusters(draw, rows, classes, 5, between(draw, 1, 1.6))
    train = {"optimizer": "nesterov", "schedule": "onecycle", "lr": between(draw, 0.05, 0.15)}
    text = text_of(5, f"{hidden_layers(draw)}, {dense(classes, 'softmax')}", classes)
    data = of(x, y, standardize=True, batch_size=32)
    return classified(data, text, train | {"epochs": 30}, rows, best, 1 / classes)


@kind
def updates_of_several_batches(draw: Draw) -> Generated:
    rows, noise = int(between(draw, 400, 1000)), between(draw, 0.1, 0.5)
    x = draw.normal(0, 1, (rows, 5))
    y = np.tanh(x[:, 0] + x[:, 1]) + 0.3 * x[:, 2] + draw.normal(0, noise, rows)
    train = {"optimizer": "adam", "lr": 0.01, "batch_size": 8, "accumulate": 4, "epochs": 40}
    text = text_of(5, f"{hidden_layers(draw)}, {dense(1, 'identity')}", 1)
    data = of(x.astype("float32"), y.astype("float32"), standardize=True)
    return Generated(Setup(text, data, train, score="r2"), float(1 - noise**2 / y.var()))


@kind
def classes_through_a_bottleneck_of_two(draw: Draw) -> Generated:
    """Two units in the middle, to draw what the network sees."""
    rows, classes = int(between(draw, 400, 1000)), 3
    x, y, best = draw_clusters(draw, rows, classes, 8, between(draw, 0.8, 1.6))
    layers = f"{dense(24, 'tanh')}, {dense(2, 'tanh')}, {dense(classes, 'softmax')}"
    train: dict[str, Any] = {"optimizer": "adam", "lr": 0.01, "epochs": 40}
    data = of(x, y, standardize=True)
    return classified(data, text_of(8, layers, classes), train, rows, best, 1 / classes)
