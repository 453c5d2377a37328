"""Sound programs: ways in which data are given, labelled, scaled and divided."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import sound
from tests.teach.samples import bars, blobs, houses, lines, one_hot, rare, rings, topics
from tests.teach.setup import Setup, of
from tests.teach.texts import classifier, dense, model, regressor, yes_or_no
from webnnm import CSVDataset, Dataset, ImageDataset, IrisDataset, TableDataset


@sound("Iris as it is shipped, standardised, with all settings left alone.")
def iris_standardised() -> Setup:
    return Setup(
        classifier(4, (8,), 3),
        lambda seed: IrisDataset.create(standardize=True, seed=seed),
        {"epochs": 60},
    )


@sound("A CSV text whose label is a word.")
def table_of_words() -> Setup:
    x, y = blobs(210, 3)
    lines_of_text = [
        "width,height,depth,weight,tree",
        *(
            ",".join([*(f"{cell:.3f}" for cell in row), ("ash", "beech", "oak")[number]])
            for row, number in zip(x, y, strict=True)
        ),
    ]
    text = "\n".join(lines_of_text)
    return Setup(
        classifier(4, (12,), 3),
        lambda seed: CSVDataset.create(text=text, seed=seed, standardize=True),
    )


@sound("Categories of a table as columns of 0 and 1, which need no standardising.")
def one_hot_categories() -> Setup:
    x, y = rare(300, 0.5, 0.8)
    colours = np.array(["red", "green", "blue"])[(np.abs(x[:, 2] * 3).astype(int) + y) % 3]
    table = {
        "age": (40 + 12 * x[:, 0]).tolist(),
        "pulse": (70 + 9 * x[:, 1]).tolist(),
        "colour": colours.tolist(),
        "answer": ["yes" if n else "no" for n in y],
    }
    return Setup(
        classifier(5, (12,), 2),
        lambda seed: TableDataset(table, label="answer", seed=seed, standardize=["age", "pulse"]),
    )


@sound("Empty cells become the mean of the training rows.")
def gaps_filled_with_means() -> Setup:
    x, y = rare(300, 0.5, 1.8)
    columns: dict[str, list[object]] = {name: x[:, n].tolist() for n, name in enumerate("abc")}
    columns["b"][::19] = [None] * len(columns["b"][::19])
    table = {**columns, "kind": ["elm" if n else "fir" for n in y]}
    return Setup(
        classifier(3, (8,), 2),
        lambda seed: TableDataset(table, label="kind", seed=seed, missing="mean", standardize=True),
    )


@sound("Pixels from 0 to 1, not standardised, in a dense network.")
def pixels_from_zero_to_one() -> Setup:
    x, y = bars()
    return Setup(classifier(64, (32,), 4), of(x.reshape(-1, 64), y), {"epochs": 30})


@sound("Bytes of pictures through ImageDataset, which makes them 0 to 1.")
def pictures_of_bytes() -> Setup:
    x, y = bars(240)
    pixels = np.round(x[..., None] * 255).astype("uint8")
    text = (
        "model:input shape={channels:1, height:8, width:8};\nmodel:output shape=[4];\n"
        "model:layers conv2d(f, filters=8, kernel=3, padding=same, bias=b), relu(),\n"
        "  maxPool2d(windowDimensions=2, strides=2), flatten(), matmul(w), add(c), softmax();\n"
    )
    return Setup(
        text,
        lambda seed: ImageDataset(pixels, y, seed=seed),
        {"seeds": 5, "epochs": 12},
    )


@sound("Numbers of words from 0 to 39 go to an embedding, not standardised.")
def words_looked_up() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers embedding(table, size=40, shape=[8]), reduceMean(axes=[sequence]),\n"
        "  matmul(w), add(b), softmax();\n"
    )
    return Setup(text, of(*topics(), length="max"), {"seeds": 5})


@sound("Answers of a questionnaire: 0 and 1 in twelve columns, not standardised.")
def columns_of_yes_and_no() -> Setup:
    draw = np.random.default_rng(50)
    x = draw.integers(0, 2, (300, 12)).astype("float32")
    y = (x[:, :5].sum(axis=1) + 0.3 * draw.normal(0, 1, 300) > 2.5).astype("int32")
    return Setup(classifier(12, (8,), 2), of(x, y), {"epochs": 30})


@sound("Features scaled to 0 … 1 by their extrema.")
def scaled_by_extrema() -> Setup:
    x, y = blobs(300, 3, 4, 1.5)
    data = of(x * np.array([1, 20, 300, 0.1], "float32"), y, standardize=True, scale="minmax")
    return Setup(classifier(4, (16,), 3), data, {"epochs": 40})


@sound("Features that are standardised by the caller already.")
def standardised_by_hand() -> Setup:
    x, y = blobs(300, 3, 4, 1.5)
    return Setup(classifier(4, (16,), 3), of((x - x.mean(axis=0)) / x.std(axis=0), y))


@sound("Prices around 250,000, standardised as inputs and as targets.")
def prices_standardised() -> Setup:
    x, y = houses()
    data = of(x * 50 + 120, 250_000 + 60_000 * y, standardize=True, standardize_targets=True)
    return Setup(regressor(6, (24,)), data, {"epochs": 40}, score="r2")


@sound("Fractions from 0 to 1 under a sigmoid, with the mean squared error.")
def fractions_under_sigmoid() -> Setup:
    x, y = houses()
    text = model(6, f"{dense(24)}, {dense(1, 'sigmoid')}", 1, "MSE")
    return Setup(text, of(x, 1 / (1 + np.exp(-y)), standardize=True), {"epochs": 40}, score="r2")


@sound("Angles from −0.9 to 0.9 under a tanh.")
def angles_under_tanh() -> Setup:
    x, y = houses()
    text = model(6, f"{dense(24)}, {dense(1, 'tanh')}", 1)
    return Setup(text, of(x, 0.9 * np.tanh(y / 2), standardize=True), {"epochs": 40}, score="r2")


@sound("Waiting times, all above 0, under a softplus.")
def times_under_softplus() -> Setup:
    x, y = houses()
    text = model(6, f"{dense(24)}, {dense(1, 'softplus')}", 1)
    return Setup(text, of(x, np.log1p(np.exp(y)), standardize=True), {"epochs": 40}, score="r2")


@sound("Class numbers from 0, as integers, with names.")
def numbers_with_names() -> Setup:
    x, y = blobs()
    return Setup(
        classifier(4, (12,), 3), of(x, y, labels=["ash", "beech", "oak"], standardize=True)
    )


@sound("One-hot rows under a softmax.")
def one_hot_rows() -> Setup:
    x, y = blobs()
    return Setup(classifier(4, (12,), 3), of(x, one_hot(y, 3), standardize=True))


@sound("Shares that sum to 1, as three critics voted, under a softmax.")
def shares_under_softmax() -> Setup:
    x, y = blobs(300, 3)
    votes = one_hot(y, 3) * 0.7 + 0.1
    text = classifier(4, (12,), 3, "KLD")
    return Setup(text, of(x, votes, standardize=True))


@sound("Several labels for each row, with a sigmoid for each.")
def sigmoid_for_each_label() -> Setup:
    x, _ = blobs(300)
    labels = (x[:, :3] + 0.3 * x[:, 3:] > 0).astype("float32")
    layers = f"{dense(16)}, {dense(3, 'sigmoid')}"
    return Setup(model(4, layers, 3), of(x, labels, standardize=True), {"epochs": 30})


@sound("Labels −1 and 1 with the hinge loss, on a linear score.")
def hinge_of_plus_and_minus_one() -> Setup:
    x, y = blobs(300, 2, 4, 1.5)
    labels = (2.0 * y - 1).astype("float32")[:, None]
    text = regressor(4, (), loss="HIL")
    return Setup(text, of(x, labels, standardize=True), {"epochs": 20})


@sound("Two classes of one in ten, with the focal loss, which is chosen for them.")
def rare_class_with_focal_loss() -> Setup:
    data = of(*rare(500, 0.1, 2.0), standardize=True)
    return Setup(classifier(4, (8,), 2, "FOL"), data, {"epochs": 30}, score="macro_f1")


@sound("The rows of a rare class are repeated, in the training subset alone.")
def rare_rows_repeated() -> Setup:
    x, y = rare(600, 0.08, 1.8)

    def data(seed: int) -> Dataset:
        plain = Dataset(x, y, seed=seed)
        training = [row for row in plain.rows("training") for _ in range(9 if y[row] else 1)]
        rows = np.array([*training, *plain.rows("testing")])
        end = len(training)
        split = (list(range(end)), [], list(range(end, len(rows))))
        return Dataset(x[rows], y[rows], split=split, seed=seed, standardize=True)

    return Setup(classifier(4, (8,), 2), data, score="macro_f1")


@sound("Two classes of 60 and 40 %, which is not an imbalance.")
def classes_almost_even() -> Setup:
    return Setup(yes_or_no(4, (8,)), of(*rare(400, 0.4, 1.5), standardize=True))


@sound("Rows of a patient stay together: they are divided by patient.")
def divided_by_patient() -> Setup:
    draw = np.random.default_rng(51)
    sick = draw.integers(0, 2, 60)
    habits = draw.normal(0, 1, (60, 5)) + 1.5 * sick[:, None]
    patient = np.repeat(np.arange(60), 6)
    x = (habits[patient] + draw.normal(0, 0.5, (360, 5))).astype("float32")
    split = [np.flatnonzero((patient >= a) & (patient < b)).tolist() for a, b in _THIRDS]
    return Setup(
        classifier(5, (8,), 2),
        of(x, sick[patient].astype("int32"), split=split, standardize=True),
    )


_THIRDS = ((0, 36), (36, 46), (46, 60))


@sound("A series in time: later rows are for testing.")
def later_rows_for_testing() -> Setup:
    draw = np.random.default_rng(52)
    series = np.zeros(460)
    for step in range(2, 460):
        series[step] = 1.5 * series[step - 1] - 0.8 * series[step - 2] + draw.normal(0, 0.3)
    x = np.stack([series[start : start + 6] for start in range(450)]).astype("float32")
    y = series[6:456].astype("float32")[:, None]
    data = of(x, y, method="sequential", split=(0.6, 0.15, 0.25), standardize=True)
    return Setup(regressor(6, (16,)), data, {"epochs": 40}, score="r2")


@sound("Counts of rows for each subset, with ample validation.")
def subsets_by_counts() -> Setup:
    data = of(*blobs(500), split=(300, 100, 100), standardize=True)
    return Setup(classifier(4, (16,), 3), data, {"patience": 20, "epochs": 40})


@sound("The truth table of exclusive or: four rows are all there is, and all are trained.")
def exclusive_or() -> Setup:
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]]
    data = of(rows, [[0], [1], [1], [0]], split=(1, 0, 0), batch_size=4)
    text = model(2, f"{dense(8, 'tanh')}, {dense(1, 'sigmoid')}", 1)
    return Setup(text, data, {"epochs": 300, "optimizer": "adam", "lr": 0.05}, subset="training")


@sound("A few targets are far off, and the loss is Huber's, with δ = 1.")
def outliers_under_huber() -> Setup:
    x, y = houses()
    y[:280:33] = 40
    rows = list(range(280)), [], list(range(280, 400))
    data = of(x, y, split=rows, standardize=True)
    return Setup(regressor(6, (16,), loss="HUL; model:delta 1"), data, {"epochs": 40}, score="r2")


@sound("Two features that go together without being the same, as height and weight.")
def correlated_features() -> Setup:
    x, y = lines()
    x[:, 1] = 0.8 * x[:, 0] + 0.6 * x[:, 1]
    return Setup(regressor(3, ()), of(x, y, standardize=True), {"epochs": 30}, score="r2")


@sound("One feature tells most of the label, as it happens: rings by their distance.")
def strong_feature() -> Setup:
    x, y = rings(noise=0.35)
    distance = np.sqrt((x**2).sum(axis=1, keepdims=True))
    data = of(np.concatenate([x, distance], axis=1), y, standardize=True)
    return Setup(classifier(3, (12,), 2), data)
