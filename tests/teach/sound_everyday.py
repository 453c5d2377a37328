"""Sound programs of everyday work, from all areas."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import sound
from tests.teach.programs import clusters, validated
from tests.teach.samples import bars, blobs, houses, lines, order, rare
from tests.teach.setup import Setup, of
from tests.teach.texts import DENSE, classifier, dense, model, regressor, yes_or_no
from webnnm import IrisDataset, TableDataset, TextDataset


@sound("Eight answers from 1 to 5 of a questionnaire, standardised.")
def answers_from_one_to_five() -> Setup:
    draw = np.random.default_rng(90)
    mood = draw.normal(0, 1, 360)
    answers = np.clip(np.round(3 + mood[:, None] + draw.normal(0, 1, (360, 8))), 1, 5)
    y = (mood + draw.normal(0, 0.4, 360) > 0).astype("int32")
    return Setup(classifier(8, (8,), 2), of(answers.astype("float32"), y, standardize=True))


@sound("Two quantities that are standardised beside flags of 0 and 1 that are not.")
def flags_beside_quantities() -> Setup:
    draw = np.random.default_rng(91)
    age, pulse = draw.normal(50, 15, 400), draw.normal(75, 10, 400)
    smokes, sport = draw.integers(0, 2, 400), draw.integers(0, 2, 400)
    risk = (age - 50) / 15 + 1.2 * smokes - 0.8 * sport + draw.normal(0, 0.6, 400)
    table = {
        "age": age.tolist(),
        "pulse": pulse.tolist(),
        "smokes": smokes.tolist(),
        "sport": sport.tolist(),
        "ill": ["yes" if r > 0.4 else "no" for r in risk],
    }
    return Setup(
        classifier(4, (12,), 2),
        lambda seed: TableDataset(table, label="ill", seed=seed, standardize=["age", "pulse"]),
    )


@sound("Prices whose logarithm is learnt.")
def logarithm_of_prices() -> Setup:
    x, y = houses()
    prices = 100_000 * np.exp(0.5 * y)
    data = of(x, np.log(prices), standardize=True, standardize_targets=True)
    return Setup(regressor(6, (24,)), data, score="r2")


@sound("One row in ten is of the rare class, and classes are weighed by their frequency.")
def balanced_weights() -> Setup:
    data = of(*rare(700, 0.1, 1.8), standardize=True)
    return Setup(classifier(4, (12,), 2), data, {"class_weight": "balanced"}, score="macro_f1")


@sound("A fifth of 500 rows validates, with a patience of 15.")
def fifth_for_validation() -> Setup:
    data = of(*blobs(500, 4, 5, 1.4), standardize=True)
    return Setup(classifier(5, (24,), 4), data, {"validation_split": 0.2, "patience": 15})


@sound("Batches of 128 of 1,400 rows, adam at 0.003.")
def larger_batches() -> Setup:
    data = of(*blobs(2000, 5, 6, 1.8), standardize=True)
    train = {"batch_size": 128, "optimizer": "adam", "lr": 0.003, "epochs": 40}
    return Setup(classifier(6, (32,), 5), data, train)


@sound("Three hidden layers with gelu and elu.")
def gelu_and_elu() -> Setup:
    layers = f"{dense(32, 'gelu')}, {dense(32, 'gelu')}, {dense(16, 'elu')}, {dense(3, 'softmax')}"
    return Setup(model(4, layers, 3), of(*blobs(400, spread=1.6), standardize=True))


@sound("A hundred features for 280 rows, with dropout and weight decay.")
def many_features() -> Setup:
    draw = np.random.default_rng(92)
    x = draw.normal(0, 1, (400, 100)).astype("float32")
    y = (x[:, :5].sum(axis=1) + draw.normal(0, 0.5, 400) > 0).astype("int32")
    layers = f"{dense(12)}, dropout(0.4), {dense(2, 'softmax')}"
    train = {"optimizer": "adamw", "weight_decay": 0.1, "epochs": 25}
    return Setup(model(100, layers, 2), of(x, y, standardize=True), train)


@sound("Convolutions with batch normalisation and an average pooling.")
def convolutions_with_batch_norm() -> Setup:
    x, y = bars(480)
    text = (
        "model:input shape={channels:1, height:8, width:8};\nmodel:output shape=[4];\n"
        "model:layers conv2d(f, filters=8, kernel=3, padding=same),\n"
        "  batchNorm(scale=g, bias=c, axis=0), relu(),\n"
        "  averagePool2d(windowDimensions=2, strides=2), flatten(),\n"
        "  matmul(w), add(b), softmax();\n"
    )
    return Setup(text, of(x[:, None], y), {"seeds": 2, "epochs": 15, "batch_size": 32})


@sound("A gru that forecasts the next value of a series.")
def forecast_with_gru() -> Setup:
    draw = np.random.default_rng(93)
    time = np.arange(500)
    series = np.sin(time / 5) + 0.4 * np.sin(time / 1.7) + draw.normal(0, 0.1, 500)
    x = np.stack([series[at : at + 12] for at in range(480)]).astype("float32")[:, :, None]
    y = series[12:492].astype("float32")[:, None]
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[1];\n"
        "model:layers gru(w, r, bias=b, hiddenSize=12), matmul(v), add(c);\n"
    )
    data = of(x, y, length="max", method="sequential", split=(0.7, 0, 0.3))
    return Setup(text, data, {"seeds": 1, "epochs": 15, "optimizer": "adam"}, score="r2")


@sound("Four labels for each row, all of them common.")
def several_common_labels() -> Setup:
    draw = np.random.default_rng(94)
    x = draw.normal(0, 1, (400, 6)).astype("float32")
    labels = (x @ draw.normal(0, 1, (6, 4)) + draw.normal(0, 0.4, (400, 4)) > 0).astype("float32")
    layers = f"{dense(24)}, {dense(4, 'sigmoid')}"
    return Setup(model(6, layers, 4), of(x, labels, standardize=True))


@sound("Counts of visitors from 0 to about 30, standardised.")
def counts_of_visitors() -> Setup:
    x, y = houses(500)
    draw = np.random.default_rng(95)
    visitors = draw.poisson(np.exp(1.8 + 0.3 * y)).astype("float32")
    data = of(x, visitors, standardize=True, standardize_targets=True)
    return Setup(regressor(6, (24,)), data, score="r2")


@sound("A table of vectors for a category, beside two quantities.")
def category_through_an_embedding() -> Setup:
    draw = np.random.default_rng(96)
    town = draw.integers(0, 8, 500).astype("int32")
    rest = draw.normal(0, 1, (500, 2)).astype("float32")
    dear = draw.permutation(8) / 3
    price = (dear[town] + rest @ [0.5, -0.3] + draw.normal(0, 0.2, 500)).astype("float32")
    text = (
        "town:input int32 shape=[]; rest:input shape=[2]; price:output shape=[1];\n"
        "town:layers embedding(table, size=8, shape=[4]);\n"
        "price:layers concat([town, rest], axis=0),\n"
        f"  {dense(16)}, {dense(1, 'identity')};\n{DENSE}\n"
    )
    data = of({"town": town, "rest": rest}, {"price": price[:, None]}, standardize_targets=True)
    return Setup(text, data, {"epochs": 40, "optimizer": "adam"}, score="r2")


@sound("Five of sixty epochs are warm-up, then a cosine, with nesterov.")
def five_epochs_of_warm_up() -> Setup:
    return clusters(optimizer="nesterov", lr=0.02, warmup_epochs=5, epochs=60)


@sound("Six residual layers with normalisation, adam.")
def six_residual_layers() -> Setup:
    text = model(5, f"{dense(24)}, unit(repeat=6), {dense(6, 'softmax')}", 6)
    text += (
        "unit:layers layerNorm(scale=g, bias=c), matmul(v), add(d), relu(shape=[24]),\n"
        "  matmul(u, shape=[24]), add(e), residual(to=input);\n"
    )
    data = of(*blobs(420, 6, 5, 1.4), standardize=True)
    return Setup(text, data, {"seeds": 1, "epochs": 20, "optimizer": "adam", "lr": 0.002})


@sound("Targets with heavy tails under the mean absolute error.")
def heavy_tails_under_mae() -> Setup:
    x, y = lines()
    noise = np.random.default_rng(97).standard_t(2, y.shape) * 0.3
    data = of(x, (y + noise).astype("float32"), standardize=True)
    return Setup(regressor(3, (16,), loss="MAE"), data, {"epochs": 60}, score="r2")


@sound("Iris, batches of ten, adam at 0.005 for a hundred epochs.")
def iris_by_the_book() -> Setup:
    return Setup(
        classifier(4, (10,), 3),
        lambda seed: IrisDataset.create(standardize=True, seed=seed),
        {"batch_size": 10, "optimizer": "adam", "lr": 0.005, "epochs": 100},
    )


@sound("Momentum of 0.9 and a rate that halves every twenty epochs, with validation.")
def rate_that_halves() -> Setup:
    return validated(
        optimizer="sgdm",
        lr=0.02,
        momentum_factor=0.9,
        schedule="step",
        step_epochs=20,
        step_factor=0.5,
        epochs=60,
    )


@sound("Three thousand rows and all settings left alone.")
def three_thousand_rows() -> Setup:
    x, y = rare(3000, 0.4, 1.0)
    data = of(x, y.astype("float32")[:, None], standardize=True)
    return Setup(yes_or_no(4, (16,)), data)


@sound("Sentences of different lengths as lists, and attention with positions of waves.")
def attention_over_lists() -> Setup:
    x, y = order(400)
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[2];\n"
        "model:layers embedding(table, size=6, shape=[16]),\n"
        "  positionalEncoding(name=seen), layerNorm(scale=g, bias=c),\n"
        "  attend(q, k, v, o, heads=2), residual(to=seen),\n"
        "  reduceMean(axes=[sequence]), matmul(w), add(b), softmax();\n"
    )
    cut = np.random.default_rng(98).integers(0, 3, len(x))
    rows = [[*row, *([3] * more)] for row, more in zip(x.tolist(), cut, strict=True)]
    data = of(rows, y, length="max")
    return Setup(text, data, {"seeds": 1, "epochs": 25, "optimizer": "adam"})


@sound("A rare class whose rows are weighed.")
def rare_class_weighed() -> Setup:
    x, y = rare(600, 0.08, 1.8)
    data = of(x, y, standardize=True)
    settings = {"class_weight": "balanced", "epochs": 60}
    return Setup(classifier(4, (8,), 2), data, settings, score="macro_f1")


@sound("Forty-eight flowers of three kinds that the length of a leaf tells apart.")
def few_rows_an_easy_task() -> Setup:
    draw = np.random.default_rng(99)
    y = (np.arange(48) % 3).astype("int32")
    centres = np.array([[5.0, 1.4], [6.0, 4.2], [6.6, 5.6]])
    x = (centres[y] + draw.normal(0, 0.25, (48, 2))).astype("float32")
    return Setup(classifier(2, (), 3), of(x, y, standardize=True, batch_size=8), {"epochs": 200})


@sound("Letters of a text, as frequent as the language has them, by a causal attention.")
def letters_of_a_text() -> Setup:
    draw = np.random.default_rng(100)
    words = ["the", "tree", "sees", "a", "bee", "then", "zebra"]
    spoken = " ".join(draw.choice(words, 500))
    known = sorted(set(spoken))
    ids = np.array([known.index(letter) for letter in spoken], "int32")
    text = (
        f"model:input int32 shape=[] sequence=true;\nmodel:output shape=[{len(known)}];\n"
        f"model:layers embedding(table, size={len(known)}, shape=[16]),\n"
        "  positionalEmbedding(place, size=16, name=seen),\n"
        "  attend(q, k, v, o, heads=2, causal=true), residual(to=seen),\n"
        "  layerNorm(scale=g, bias=c), matmul(w), add(b), softmax();\n"
    )
    return Setup(
        text,
        lambda seed: TextDataset(ids, 16, vocabulary=len(known), seed=seed),
        {"epochs": 15, "optimizer": "adam"},
    )
