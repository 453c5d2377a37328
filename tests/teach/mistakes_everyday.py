"""Mistakes of everyday work, from all areas: in tables, outputs, settings and subsets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.cases import mistake
from tests.teach.programs import clusters, quantity
from tests.teach.samples import blobs, houses, rare, topics
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import classifier, dense, model, regressor
from webnnm import TableDataset

# Tables.


def _weather(*, leaking: bool) -> Data:
    x, y = houses()
    celsius = 12 + 6 * y[:, 0]
    table = {name: x[:, n].tolist() for n, name in enumerate(("wind", "cloud", "sun", "rain"))}
    if leaking:
        error = np.random.default_rng(80).normal(0, 0.05, len(y))
        table["fahrenheit"] = (32 + 1.8 * celsius + error).tolist()
    table["celsius"] = celsius.tolist()
    return lambda seed: TableDataset(
        table, label="celsius", seed=seed, standardize=True, standardize_targets=True
    )


@mistake(
    "The temperature is to be predicted, and a column has it in another unit.",
    remedy="Leave the column out.",
    mended=lambda setup: setup.but(text=regressor(4, (16,)), data=_weather(leaking=False)),
    why="the score was that of a thermometer; without the column it is that of a forecast",
    named_by=("E615",),
)
def target_in_another_unit() -> Setup:
    return Setup(regressor(5, (16,)), _weather(leaking=True), score="r2")


def _answers(words: tuple[str, str, str, str]) -> Data:
    x, y = rare(400, 0.5, 1.2)
    other = np.random.default_rng(85).random(400) < 0.2
    answers = [words[2 * kind + second] for kind, second in zip(y, other, strict=True)]
    table = {name: x[:, n].tolist() for n, name in enumerate("abcd")}
    return lambda seed: TableDataset(
        {**table, "member": answers}, label="member", seed=seed, standardize=True
    )


@mistake(
    "A class is written in two ways, with and without a capital, and each counts as a class.",
    remedy="One spelling for each class, and as many outputs.",
    mended=lambda setup: setup.but(
        text=classifier(4, (8,), 2), data=_answers(("no", "no", "yes", "yes"))
    ),
    named_by=("E628",),
)
def classes_in_two_spellings() -> Setup:
    return Setup(classifier(4, (8,), 4), _answers(("no", "No", "yes", "Yes")))


def _cars(**options: Any) -> Data:
    draw = np.random.default_rng(86)
    power = np.round(draw.gamma(6, 16, 360)).astype(int)
    weight = 900 + 5 * power + draw.normal(0, 180, 360)
    speed = 90 + 55 * np.log(power / 40) - 0.01 * weight + draw.normal(0, 5, 360)
    cells = [str(each) for each in power]
    for row in draw.choice(360, 8, replace=False):
        cells[row] = "" if options.get("missing") else "not known"
    table = {"power": cells, "weight": weight.tolist(), "speed": speed.tolist()}
    return lambda seed: TableDataset(
        table, label="speed", task="regression", seed=seed, standardize=True, **options
    )


@mistake(
    "For eight cells without a number a column of them was made categories: 140 of them.",
    remedy='Leave these cells empty, and fill them: missing="mean".',
    mended=lambda setup: setup.but(text=regressor(2, (16,)), data=_cars(missing="mean")),
    named_by=("E629",),
)
def numbers_made_categories() -> Setup:
    data = _cars(categorical=["power"])
    width = data(0).inputs["model"].shape[0]  # type: ignore[reportAttributeAccessIssue]
    return Setup(regressor(width, (16,)), data, {"epochs": 40}, score="r2")


def _gaps(marker: float | None) -> Data:
    x, y = rare(400, 0.5, 1.2)
    columns: dict[str, list[Any]] = {
        name: [round(float(cell), 3) for cell in x[:, n]] for n, name in enumerate("abcd")
    }
    draw = np.random.default_rng(81)
    for name in "abc":
        for row in np.flatnonzero(draw.random(400) < 0.2):
            columns[name][row] = marker
    table = {**columns, "kind": ["elm" if n else "fir" for n in y]}
    return lambda seed: TableDataset(
        table, label="kind", seed=seed, missing="mean", standardize=True
    )


@mistake(
    "Cells without a value are −999, as the sensor writes them.",
    remedy='Make them empty, and fill them: missing="mean".',
    mended=lambda setup: setup.but(data=_gaps(None)),
    named_by=("E614",),
)
def minus_999_for_missing() -> Setup:
    return Setup(classifier(4, (8,), 2), _gaps(-999.0), {"epochs": 30})


def _towns(**options: Any) -> Data:
    draw = np.random.default_rng(82)
    town = draw.integers(0, 12, 500)
    size = draw.normal(0, 1, 500)
    dear = draw.permutation(12) / 4
    price = dear[town] + 0.4 * size + draw.normal(0, 0.2, 500)
    table = {"town": town.tolist(), "size": size.tolist(), "price": price.tolist()}
    return lambda seed: TableDataset(
        table, label="price", seed=seed, standardize=True, standardize_targets=True, **options
    )


@mistake(
    "The number of a town is learnt as a quantity: town 7 is not seven times town 1.",
    remedy='Say that it is a category: categorical=["town"].',
    mended=lambda setup: setup.but(text=regressor(13, (16,)), data=_towns(categorical=["town"])),
    named_by=("E626",),
)
def town_number_as_quantity() -> Setup:
    return Setup(regressor(2, (16,)), _towns(), {"epochs": 40}, score="r2")


def _incomes(*, logarithm: bool) -> Data:
    x, y = houses()
    return of(x, y if logarithm else 1000 * np.exp(2 * y), standardize=True)


@mistake(
    "Incomes over five orders of magnitude are learnt as they are.",
    remedy="Learn their logarithm.",
    mended=lambda setup: setup.but(data=_incomes(logarithm=True)),
    named_by=("E122",),
)
def incomes_without_logarithm() -> Setup:
    return Setup(regressor(6, (24,)), _incomes(logarithm=False), score="r2")


def _typing_error(value: float | None) -> Data:
    x, y = blobs(300, 3, 4, 1.6)
    if value is not None:
        x[np.arange(0, 300, 60), 1] = value
    return of(x, y, standardize=True)


@mistake(
    "Five cells of a feature lack the decimal point: standardised, the others are all alike.",
    remedy="Correct or drop these rows, or clip the feature.",
    mended=lambda setup: setup.but(data=_typing_error(None)),
    named_by=("E614",),
)
def cells_without_decimal_point() -> Setup:
    return Setup(classifier(4, (16,), 3), _typing_error(1e6))


# Outputs.


@mistake(
    "A sensor was switched on late: its column is 0 in all training rows, not in testing rows.",
    remedy="Leave the column out, or divide at random.",
    mended=lambda setup: setup.but(data=of(*_late_sensor(), standardize=True)),
    named_by=("E604",),
)
def sensor_switched_on_late() -> Setup:
    data = of(*_late_sensor(), standardize=True, method="sequential")
    return Setup(regressor(7, (24,)), data, {"epochs": 40}, score="r2")


def _late_sensor() -> tuple[np.ndarray, np.ndarray]:
    x, y = houses()
    heat = np.where(np.arange(400) < 280, 0, 40 + 5 * x[:, 5])[:, None]
    return np.concatenate([x, heat], axis=1).astype("float32"), y


@mistake(
    "Of two quantities that are learnt one is 3.5 in every row: a column was mixed up.",
    remedy="The right column, or one output.",
    mended=lambda setup: setup.but(text=regressor(6, (24,), 1), data=_pair(constant=False)),
    why="half of the score is that of a number that is always right",
    named_by=("E114",),
)
def one_of_two_targets_is_constant() -> Setup:
    return Setup(regressor(6, (24,), 2), _pair(constant=True), {"epochs": 40}, score="r2")


def _pair(*, constant: bool) -> Data:
    x, y = houses()
    pair = np.concatenate([y, np.full_like(y, 3.5)], axis=1) if constant else y
    return of(x, pair, standardize=True)


@mistake(
    "A layer normalisation of the single output: it is 0 whatever comes in.",
    remedy="Take it out.",
    mended=lambda setup: setup.saying(", layerNorm(scale=g, bias=c)", ""),
    named_by=("E320",),
)
def layer_norm_of_one_output() -> Setup:
    layers = f"{dense(24)}, {dense(1, 'identity')}, layerNorm(scale=g, bias=c)"
    data = of(*houses(), standardize=True, standardize_targets=True)
    return Setup(model(6, layers, 1), data, {"epochs": 30}, score="r2")


@mistake(
    "Targets of mean 0 and deviation 1 meet a tanh: a third of them is beyond ±1.",
    remedy="No tanh at the output.",
    mended=lambda setup: setup.saying("activation=tanh", "activation=identity"),
    named_by=("E117",),
)
def tanh_for_standardised_targets() -> Setup:
    data = of(*houses(), standardize=True, standardize_targets=True)
    text = model(6, f"{dense(24)}, {dense(1, 'tanh')}", 1)
    return Setup(text, data, {"epochs": 40}, score="r2")


@mistake(
    "The last weights start at a deviation of 2: scores begin at ±40, surely and wrongly.",
    remedy="The usual initialisation.",
    mended=lambda setup: setup.saying("init=normal(2)", "init=glorot"),
    why="the first epochs unlearn it, and what they end at may be as good",
    named_by=("E314",),
)
def sure_from_the_start() -> Setup:
    layers = f"{dense(400)}, matmul(v, init=normal(2)), add(c), softmax()"
    return Setup(model(4, layers, 3), of(*blobs(spread=1.6), standardize=True), {"epochs": 8})


# Settings.


@mistake(
    "L2 with λ = 1 leaves nothing of the weights.",
    remedy="A thousandth of it.",
    mended=lambda setup: setup.trained(lambda2=1e-4),
    named_by=(
        "E415",
        "E920",
    ),
)
def ridge_of_one() -> Setup:
    return quantity(regularization="L2", lambda2=1.0, optimizer="adam", epochs=40)


@mistake(
    "Of four hidden units half are dropped.",
    remedy="No dropout in a layer so small.",
    mended=lambda setup: setup.saying(", dropout(0.5)", ""),
    named_by=("E404",),
)
def half_of_four_units_dropped() -> Setup:
    layers = f"{dense(4)}, dropout(0.5), {dense(6, 'softmax')}"
    data = of(*blobs(420, 6, 5, 1.0), standardize=True)
    return Setup(model(5, layers, 6), data, {"epochs": 60})


@mistake(
    "The rate of lion is 0.5, which is added to each weight at every step.",
    remedy="The default rate.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=(
        "E305",
        "E913",
    ),
)
def lion_too_fast() -> Setup:
    return clusters(optimizer="lion", lr=0.5, epochs=30)


@mistake(
    "Weights of classes are the wrong way round: the common class has twenty times the weight.",
    remedy='class_weight="balanced".',
    mended=lambda setup: setup.trained(class_weight="balanced"),
    named_by=("E121",),
)
def weights_the_wrong_way_round() -> Setup:
    data = of(*rare(600, 0.1, 1.4), standardize=True)
    train = {"class_weight": {0: 20.0, 1: 1.0}, "epochs": 40}
    return Setup(classifier(4, (12,), 2), data, train, score="macro_f1")


@mistake(
    "Four rows validate, and after two epochs without a better one the training ends.",
    remedy="validation_split=0.2 and more patience.",
    mended=lambda setup: setup.trained(validation_split=0.2, patience=20),
    why="which of two models is kept is left to chance: it may be the better one",
    named_by=(
        "E618",
        "E708",
    ),
)
def four_rows_validate() -> Setup:
    return clusters(validation_split=0.015, patience=2, epochs=60, lr=0.003)


# Subsets.


@mistake(
    "Rows are sorted by class and divided in their order: the test has classes never trained.",
    remedy='Divide at random: method="stratified".',
    mended=lambda setup: setup.but(data=of(*_sorted(), standardize=True)),
    named_by=("E602",),
)
def test_of_unseen_classes() -> Setup:
    return Setup(classifier(4, (16,), 3), of(*_sorted(), method="sequential", standardize=True))


def _sorted() -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs(300, 3, 4, 1.6)
    order = np.argsort(y, kind="stable")
    return x[order], y[order]


def _augmented(*, before: bool) -> Data:
    x, y = blobs(150, 6, 5, 2.4)
    draw = np.random.default_rng(83)
    copies = np.repeat(np.arange(150), 6)
    many = (x[copies] + draw.normal(0, 0.02, (900, 5))).astype("float32")
    if before:
        return of(many, y[copies], standardize=True)
    parts = [np.flatnonzero(copies < 105), [], np.flatnonzero(copies >= 105)]
    return of(many, y[copies], standardize=True, split=[[*map(int, part)] for part in parts])


@mistake(
    "Each row was copied six times with a little noise, and then rows were divided.",
    remedy="Divide first, then copy the training rows alone.",
    mended=lambda setup: setup.but(data=_augmented(before=False)),
    why="the score was too good: copies of testing rows were trained",
    named_by=("E619",),
)
def copied_before_dividing() -> Setup:
    return Setup(classifier(5, (64,), 6), _augmented(before=True))


@mistake(
    "A third of the testing rows are training rows too.",
    remedy="Lists of rows that do not overlap.",
    mended=lambda setup: setup.but(data=_listed(210)),
    why="the score was too good: a third of the rows were known",
    named_by=("NNM704",),
)
def test_rows_in_training() -> Setup:
    return Setup(classifier(4, (16,), 3), _listed(180))


def _listed(start: int) -> Data:
    split = [list(range(210)), [], list(range(start, start + 90))]
    return of(*blobs(spread=1.6), standardize=True, split=split)


# Words and labels.


def _sentences(*, padded_by_hand: bool) -> Data:
    x, y = topics(300, 12, 40)
    lengths = np.random.default_rng(84).integers(4, 12, 300)
    if not padded_by_hand:
        rows = [row[:length] for row, length in zip(x, lengths, strict=True)]
        return of(rows, y, length="max")
    padded = np.zeros((300, 60), "int32")
    for row, length in enumerate(lengths):
        padded[row, :length] = x[row, :length]
    return of(padded, y, length="max")


@mistake(
    "Sentences of four to eleven words are filled up with zeros to 60, by hand.",
    remedy="Give lists of different lengths: the padding is then masked.",
    mended=lambda setup: setup.but(data=_sentences(padded_by_hand=False)),
    named_by=("E623",),
)
def filled_up_by_hand() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers embedding(table, size=40, shape=[12]),\n"
        "  gru(w, r, bias=b, hiddenSize=12), matmul(v), add(c), softmax();\n"
    )
    train = {"seeds": 1, "epochs": 10, "optimizer": "adam"}
    return Setup(text, _sentences(padded_by_hand=True), train)


@mistake(
    "One of three labels is true in 4 % of the rows, and is never predicted.",
    remedy="Weigh its rows higher.",
    mended=lambda setup: setup.but(data=_labels(0.4)),
    why="the rows that would tell it are not there",
    named_by=("E906",),
)
def rare_label_of_several() -> Setup:
    layers = f"{dense(16)}, {dense(3, 'sigmoid')}"
    return Setup(model(4, layers, 3), _labels(0.04), {"epochs": 40})


def _labels(share: float) -> Data:
    draw = np.random.default_rng(85)
    x = draw.normal(0, 1, (500, 4)).astype("float32")
    noisy = x[:, :3] + draw.normal(0, 0.7, (500, 3))
    limits = np.array([0, 0, np.quantile(noisy[:, 2], 1 - share)])
    return of(x, (noisy > limits).astype("float32"), standardize=True)
