"""Kinds of sequences: signals, texts, series in time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.teach.corpus.classes import classified
from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, chance, hidden_layers, text_of, training
from tests.teach.setup import Setup, of
from tests.teach.texts import dense
from webnnm import TextDataset

TRAINED = 0.7
SIGNAL = "shape=[1] sequence=true"
TOKENS = "int32 shape=[] sequence=true"


def _patient(draw: Draw, epochs: int) -> dict[str, Any]:
    """Return settings for models that take many updates."""
    return {"optimizer": "adam", "lr": between(draw, 0.005, 0.015), "epochs": epochs}


def _waves(draw: Draw, rows: int, length: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return signals of three frequencies, and which it is."""
    y = draw.permutation(np.arange(rows) % 3).astype("int32")
    phase = draw.uniform(0, 2 * np.pi, (rows, 1))
    x = np.sin(phase + np.arange(length) * (0.4 + 0.5 * y[:, None]))
    return (x + draw.normal(0, between(draw, 0.05, 0.3), x.shape)).astype("float32"), y


@kind
def signals_through_recurrence(draw: Draw) -> Generated:
    rows, length = int(between(draw, 200, 400)), int(draw.integers(10, 16))
    x, y = _waves(draw, rows, length)
    cell = str(draw.choice(["gru", "lstm"]))
    layers = f"{cell}(w, r, bias=b, hiddenSize=12), {dense(3, 'softmax')}"
    text = text_of(SIGNAL, layers, 3)
    train = _patient(draw, 20) | ({"gradient_clipping": "global"} if chance(draw, 0.5) else {})
    data: Any = x[:, :, None]
    if chance(draw, 0.3):
        data = [row[: draw.integers(length - 3, length + 1)] for row in data]
    return classified(of(data, y, length="max"), text, train, rows, 1.0, 1 / 3)


@kind
def signals_through_convolution(draw: Draw) -> Generated:
    rows, length = int(between(draw, 250, 700)), int(draw.integers(14, 28))
    x, y = _waves(draw, rows, length)
    pooling = str(draw.choice(["reduceMax(axes=[-1])", "reduceMean(axes=[-1])", "flatten()"]))
    layers = f"conv1d(f, filters=10, kernel=5, bias=c), relu(), {pooling}, {dense(3, 'softmax')}"
    text = text_of(f"shape={{channels:1, time:{length}}}", layers, 3)
    train = training(draw, int(TRAINED * rows), slow=True)
    return classified(of(x[:, None], y), text, train, rows, 1.0, 1 / 3)


@kind
def which_word_comes_first(draw: Draw) -> Generated:
    rows, length, words = int(between(draw, 400, 700)), int(draw.integers(6, 10)), 8
    x = draw.integers(3, words, (rows, length))
    y = np.empty(rows, "int32")
    for row in range(rows):
        one, two = draw.choice(length, 2, replace=False)
        x[row, one], x[row, two], y[row] = 1, 2, one < two
    layers = (
        f"embedding(table, size={words}, shape=[16]), "
        f"positionalEmbedding(place, size={length}, name=seen), attend(q, k, v, o, heads=2), "
        f"residual(to=seen), relu(), reduceMean(axes=[sequence]), {dense(2, 'softmax')}"
    )
    data = of(x.astype("int32"), y, length="max")
    return classified(data, text_of(TOKENS, layers, 2), _patient(draw, 20), rows, 1.0, 0.5)


@kind
def bag_of_words(draw: Draw) -> Generated:
    rows, classes, words = int(between(draw, 400, 1200)), int(draw.integers(2, 5)), 60
    share, length = float(draw.uniform(0.35, 0.6)), int(draw.integers(8, 20))
    y = draw.permutation(np.arange(rows) % classes).astype("int32")
    x = draw.integers(1, words, (rows, length))
    own = draw.integers(1, words // classes, x.shape) * classes + y[:, None]
    x = np.where(draw.random(x.shape) < share, own, x).astype("int32")
    votes = np.stack([((x % classes) == n).sum(axis=1) for n in range(classes)], axis=1)
    best = float((votes.argmax(axis=1) == y).mean())
    layers = (
        f"embedding(table, size={words}, shape=[12]), reduceMean(axes=[sequence]), "
        f"{hidden_layers(draw, width=(8, 16), depth=1)}, {dense(classes, 'softmax')}"
    )
    train = _patient(draw, int(draw.integers(15, 30)))
    data = of(x, y, length="max")
    return classified(data, text_of(TOKENS, layers, classes), train, rows, best, 1 / classes)


@kind
def words_counted_in_a_table(draw: Draw) -> Generated:
    rows, words = int(between(draw, 400, 1200)), int(draw.integers(20, 50))
    y = draw.permutation(np.arange(rows) % 2).astype("int32")
    rates = draw.gamma(0.6, 1, (2, words))
    x = draw.poisson(rates[y])
    seen = x.sum(axis=0) > 4
    x, rates, words = x[:, seen], rates[:, seen], int(seen.sum())
    likelihood = x @ np.log(rates + 1e-9).T - rates.sum(axis=1)
    best = float((likelihood.argmax(axis=1) == y).mean())
    layers = f"{dense(12)}, dropout(0.2), {dense(2, 'softmax')}"
    data = of(np.log1p(x).astype("float32"), y, standardize=True)
    text, train = text_of(words, layers, 2), training(draw, int(TRAINED * rows))
    return classified(data, text, train, rows, best, 0.5)


@kind
def next_letter(draw: Draw) -> Generated:
    letters, clean = int(draw.integers(5, 8)), float(draw.uniform(0.85, 0.95))
    spoken = [0, 1]
    for _ in range(2000):
        follows = (spoken[-1] + 2 * spoken[-2] + 1) % letters
        spoken.append(follows if draw.random() < clean else int(draw.integers(letters)))
    layers = (
        f"embedding(table, size={letters}, shape=[16]), "
        "positionalEmbedding(place, size=12, name=seen), "
        "attend(q, k, v, o, heads=2, causal=true), residual(to=seen, name=mixed), "
        "matmul(u, shape=[32]), add(b), gelu(), matmul(d, shape=[16]), residual(to=mixed), "
        "matmul(w), add(c), softmax()"
    )
    ids = np.array(spoken, "int32")
    text = text_of(TOKENS, layers, letters)

    def data(seed: int) -> TextDataset:
        return TextDataset(ids, 12, vocabulary=letters, seed=seed)

    # The first position of a window does not show both letters before.
    best = (11 * (clean + (1 - clean) / letters) + 1 / letters) / 12
    return classified(data, text, _patient(draw, 30), 2000, best, 1 / letters)


@kind
def next_value_of_a_series(draw: Draw) -> Generated:
    rows, noise, window = int(between(draw, 400, 1200)), between(draw, 0.1, 0.5), 8
    series = np.zeros(rows + 100)
    turn, damping = draw.uniform(0.3, 1), draw.uniform(0.9, 0.97)
    for step in range(2, len(series)):
        last, before = series[step - 1], series[step - 2]
        mean = 2 * damping * np.cos(turn) * last - damping**2 * before
        series[step] = mean + draw.normal(0, noise)
    series = series[100:].astype("float32")
    x = np.lib.stride_tricks.sliding_window_view(series[:-1], window)
    y = series[window:, None]
    recurrent = chance(draw, 0.3)
    layers = "gru(w, r, bias=b, hiddenSize=12)" if recurrent else dense(16, "tanh")
    text = text_of(SIGNAL if recurrent else window, f"{layers}, {dense(1, 'identity')}", 1)
    options = {"method": "sequential", "split": (0.6, 0.15, 0.25), "standardize": not recurrent}
    data = of(x[:, :, None], y, length="max", **options) if recurrent else of(x, y, **options)
    train = _patient(draw, 15) if recurrent else training(draw, int(0.6 * rows), rated=False)
    setup = Setup(text, data, train, score="r2")
    return Generated(setup, float(1 - noise**2 / series.var()))


@kind
def category_through_an_embedding(draw: Draw) -> Generated:
    rows, towns, noise = int(between(draw, 400, 1500)), int(draw.integers(5, 20)), 0.3
    town = draw.integers(0, towns, rows).astype("int32")
    rest = draw.normal(0, 1, (rows, 3)).astype("float32")
    clean = draw.normal(0, 1, towns)[town] + rest @ [0.5, -0.4, 0.2]
    price = (clean + draw.normal(0, noise, rows)).astype("float32")
    text = (
        "town:input int32 shape=[]; rest:input shape=[3]; price:output shape=[1];\n"
        f"town:layers embedding(table, size={towns}, shape=[4]);\n"
        "price:layers concat([town, rest], axis=0), matmul(w, shape=[16]), add(b), relu(),\n"
        "  matmul(v), add(c);\n"
    )
    inputs = {"town": town, "rest": rest}
    data = of(inputs, {"price": price[:, None]}, standardize_targets=True)
    setup = Setup(text, data, _patient(draw, 30), score="r2")
    return Generated(setup, float(1 - noise**2 / price.var()))
