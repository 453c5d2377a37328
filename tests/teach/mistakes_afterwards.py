"""Mistakes that show in the course of a training, or in what came out of it."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import mistake
from tests.teach.programs import VALIDATED
from tests.teach.samples import blobs, houses, rare, rings, spirals
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import classifier, dense, model, regressor, yes_or_no


@mistake(
    "The features have nothing to do with the label: the loss stays where it is.",
    remedy="Other features.",
    why="no model can be better than chance",
    named_by=("E902",),
)
def nothing_to_learn() -> Setup:
    x, _ = blobs(300, 2)
    y = np.random.default_rng(40).integers(0, 2, 300).astype("int32")
    return Setup(classifier(4, (16,), 2), of(x, y, split=VALIDATED, standardize=True))


@mistake(
    "A regression of noise: the model is worse than the mean of the targets.",
    remedy="Other features; nothing was learnt that holds for new rows.",
    mended=lambda setup: setup.but(text=regressor(8, ()), train={"weight_decay": 0.3}),
    named_by=("E903",),
)
def worse_than_the_mean() -> Setup:
    draw = np.random.default_rng(41)
    x = draw.normal(0, 1, (120, 8)).astype("float32")
    y = draw.normal(0, 1, (120, 1)).astype("float32") + 0.2 * x[:, :1]
    settings = {"epochs": 60, "seeds": 5, "optimizer": "adam"}
    return Setup(regressor(8, (64,)), of(x, y, standardize=True), settings, score="r2")


@mistake(
    "The loss still falls steeply in the last of five epochs.",
    remedy="More epochs.",
    mended=lambda setup: setup.trained(epochs=60),
    named_by=("E904",),
)
def still_falling_at_the_end() -> Setup:
    data = of(*spirals(), split=VALIDATED, standardize=True)
    settings = {"epochs": 5, "optimizer": "adam", "seeds": 5}
    return Setup(classifier(2, (32, 32), 2), data, settings)


@mistake(
    "The loss crawls: after forty epochs at a small rate the best epoch is the last.",
    remedy="A learning rate ten times as high.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=("E904",),
)
def crawls_to_the_end() -> Setup:
    data = of(*houses(), split=VALIDATED, standardize=True)
    settings = {"lr": 3e-4, "optimizer": "sgdm", "epochs": 40, "schedule": "constant"}
    return Setup(regressor(6, (24,)), data, settings, score="r2")


@mistake(
    "Training loss falls to nothing while validation loss rises: rows are learnt by heart.",
    remedy="More rows, and a smaller model.",
    mended=lambda setup: setup.but(
        text=classifier(20, (8,), 2),
        data=of(*blobs(900, 2, 20, 6.0), split=VALIDATED, standardize=True),
        train={"epochs": 20},
    ),
    named_by=("E905",),
)
def validation_rises() -> Setup:
    data = of(*blobs(80, 2, 20, 6.0), split=VALIDATED, standardize=True)
    settings = {"epochs": 60, "optimizer": "adam", "seeds": 3, "restore_best": False}
    return Setup(classifier(20, (128, 128), 2), data, settings)


@mistake(
    "All training rows are right and many testing rows wrong: there are 42 rows to learn from.",
    remedy="A smaller model, and more rows.",
    mended=lambda setup: setup.but(
        text=classifier(30, (), 3), data=of(*blobs(900, 3, 30, 9.0), standardize=True)
    ),
    named_by=("E903",),
)
def training_far_better_than_testing() -> Setup:
    data = of(*blobs(60, 3, 30, 9.0), standardize=True)
    return Setup(classifier(30, (64,), 3), data, {"epochs": 30, "seeds": 3, "optimizer": "adam"})


@mistake(
    "Validation rows have another scale than training rows: millimetres, not metres.",
    remedy="One unit in all rows.",
    mended=lambda setup: setup.but(data=_units(1)),
    why="the testing rows are in metres in both",
    named_by=("E907",),
)
def validation_in_other_units() -> Setup:
    return Setup(classifier(4, (16,), 3), _units(1000))


def _units(factor: float) -> Data:
    x, y = blobs(300, 3, 4, 1.5)
    x[150:210] *= factor
    rows = list(range(150)), list(range(150, 210)), list(range(210, 300))
    return of(x, y, split=rows, standardize=True)


@mistake(
    "Nine of ten rows are of one class, and it alone is predicted.",
    remedy="Repeat the rare rows, or take the focal loss; and more features.",
    mended=lambda setup: setup.but(data=_even(), train={}),
    named_by=("E906",),
)
def one_class_predicted() -> Setup:
    data = of(*rare(400, 0.1, 0.8), standardize=True)
    return Setup(
        yes_or_no(4, (4,), "BCE"), data, {"optimizer": "sgdm", "epochs": 10}, score="macro_f1"
    )


def _even() -> Data:
    """Rare rows come nine times among the training rows."""
    x, y = rare(400, 0.1, 0.8)
    training = [row for row in range(280) for _ in range(9 if y[row] else 1)]
    rows = np.array([*training, *range(280, 400)])
    end = len(training)
    split = list(range(end)), [], list(range(end, len(rows)))
    return of(x[rows], y[rows], split=split, standardize=True)


@mistake(
    "A class of 3 % of the rows lies between two others and is never predicted.",
    remedy="Repeat its rows, or take the focal loss.",
    mended=lambda setup: setup.but(data=_between(repeat=10)),
    named_by=("E608", "E611", "E906"),
)
def one_class_never_predicted() -> Setup:
    text = classifier(2, (12,), 3, "SCE")
    return Setup(text, _between(repeat=1), {"optimizer": "nesterov"}, score="macro_f1")


def _between(repeat: int) -> Data:
    draw = np.random.default_rng(42)
    y = draw.choice([0, 1, 2], 600, p=[0.5, 0.47, 0.03]).astype("int32")
    x = np.array([[-1.6, 0.0], [1.6, 0.0], [0.0, 0.4]])[y] + draw.normal(0, 0.8, (600, 2))
    training = [row for row in range(360) for _ in range(repeat if y[row] == 2 else 1)]
    rows = np.array([*training, *range(360, 600)])
    end = len(training)
    split = list(range(end)), [], list(range(end, len(rows)))
    return of(x[rows].astype("float32"), y[rows], split=split, standardize=True)


@mistake(
    "Most units of a relu layer are 0 for every row once the first steps are done.",
    remedy="A lower learning rate, or leakyRelu.",
    mended=lambda setup: setup.trained(lr=None),
    why="the best epoch is kept, which was before they died",
    named_by=("E305", "E908", "E913"),
)
def relus_die() -> Setup:
    data = of(*rings(), split=VALIDATED, standardize=True)
    settings = {"lr": 3.0, "optimizer": "sgdm", "gradient_clipping": "off", "seeds": 0}
    return Setup(classifier(2, (16, 16), 2), data, settings)


@mistake(
    "The units of tanh layers are all at ±1: their weights are far too large.",
    remedy="Leave init out, and standardise.",
    mended=lambda setup: setup.saying(", init=normal(15)", ""),
    named_by=("E909",),
)
def tanh_saturates() -> Setup:
    layers = f"unit(shapes=[[16], [16]]), {dense(2, 'softmax')}"
    text = model(2, layers, 2) + "unit:layers matmul(w, init=normal(15)), add(b), tanh();\n"
    data = of(*rings(), split=VALIDATED, standardize=True)
    return Setup(text, data, {"optimizer": "sgdm", "seeds": 5})


@mistake(
    "Inputs up to 5,000 saturate a sigmoid layer from the first step on.",
    remedy="standardize=True.",
    mended=lambda setup: setup.but(data=of(*_far(), split=VALIDATED, standardize=True)),
    named_by=("E909",),
)
def sigmoid_saturates() -> Setup:
    layers = f"{dense(16, 'sigmoid')}, {dense(3, 'softmax')}"
    return Setup(model(4, layers, 3), of(*_far(), split=VALIDATED), {"optimizer": "adam"})


def _far() -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs(300, 3, 4, 1.6)
    return x * 600 + 2000, y


@mistake(
    "The gradient of the first of twelve sigmoid layers is a millionth of the last one's.",
    remedy="relu or tanh, fewer layers, residual connections.",
    mended=lambda setup: setup.saying("repeat=12", "repeat=1").saying("=sigmoid", "=tanh"),
    named_by=("E910",),
)
def gradients_vanish() -> Setup:
    text = model(4, f"{dense(12, 'sigmoid', repeat=12)}, {dense(3, 'softmax')}", 3)
    data = of(*blobs(300, 3, 4, 1.2), split=VALIDATED, standardize=True)
    return Setup(text, data, {"optimizer": "sgdm", "seeds": 5})


@mistake(
    "Gradients grow from layer to layer: fifteen relu layers start with four times He's weights.",
    remedy="Leave init out, or normalise between the layers.",
    mended=lambda setup: setup.saying(", init=normal(1.4)", ""),
    named_by=("E314", "E329"),
)
def gradients_explode() -> Setup:
    text = model(4, f"unit(repeat=15), {dense(3, 'softmax')}", 3)
    text += "unit:layers matmul(w, shape=[16], init=normal(1.4)), add(b), relu();\n"
    data = of(*blobs(300, 3, 4, 1.2), split=VALIDATED, standardize=True)
    settings = {"optimizer": "sgdm", "gradient_clipping": "off", "seeds": 3}
    return Setup(text, data, settings)


@mistake(
    "The hidden layer learns a million times more slowly than the rest: lrm=0.000001.",
    remedy="lrm left out.",
    mended=lambda setup: setup.saying(", lrm=1e-6", ""),
    named_by=("E911",),
)
def layer_hardly_moves() -> Setup:
    layers = f"{dense(6, 'tanh', lrm='1e-6')}, {dense(2, 'softmax')}"
    data = of(*rings(), split=VALIDATED, standardize=True)
    return Setup(model(2, layers, 2), data, {"epochs": 40, "seeds": 0})


@mistake(
    "The updates of the hidden layer are as large as its weights: lrm=300.",
    remedy="lrm left out.",
    mended=lambda setup: setup.saying(", lrm=300", ""),
    why="the best epoch is kept",
    named_by=("E912",),
)
def layer_jumps() -> Setup:
    layers = f"{dense(16, 'relu', lrm=300)}, {dense(2, 'softmax')}"
    data = of(*rings(), split=VALIDATED, standardize=True)
    return Setup(model(2, layers, 2), data, {"optimizer": "adam"})


@mistake(
    "The loss leaps up again and again: a constant high rate and momentum of 0.99.",
    remedy="A lower rate, the cosine schedule, momentum of 0.9.",
    mended=lambda setup: setup.but(train={"optimizer": "sgdm", "epochs": 40}),
    named_by=("E913",),
)
def loss_leaps() -> Setup:
    settings = {
        "optimizer": "sgdm",
        "lr": 0.4,
        "momentum_factor": 0.99,
        "schedule": "constant",
        "epochs": 40,
        "gradient_clipping": "off",
        "restore_best": False,
    }
    data = of(*blobs(420, 6, 5, 1.4), split=VALIDATED, standardize=True)
    return Setup(classifier(5, (24,), 6), data, settings)


@mistake(
    "The loss swings around a constant value: the rate is high and never falls.",
    remedy="The optimizer's own rate, and the cosine schedule; both are defaults.",
    mended=lambda setup: setup.trained(schedule=None, lr=None),
    named_by=("E913",),
)
def rate_stays_high() -> Setup:
    data = of(*houses(), split=VALIDATED, standardize=True)
    settings = {"optimizer": "lion", "lr": 0.08, "schedule": "constant", "restore_best": False}
    return Setup(regressor(6, (24,)), data, settings, score="r2")


@mistake(
    "Training ended after patience while validation was still noisy: a few epochs of many.",
    remedy="patience of 20, or a lower rate.",
    mended=lambda setup: setup.trained(patience=40),
    named_by=("E916",),
)
def ended_by_noise() -> Setup:
    data = of(*spirals(300), split=(0.6, 0.1, 0.3), standardize=True)
    settings = {"patience": 2, "epochs": 60, "optimizer": "adam", "lr": 0.03, "seeds": 5}
    return Setup(classifier(2, (32,), 2), data, settings)


@mistake(
    "One of two outputs learns nothing: its features are not among the inputs.",
    remedy="The features that it depends on, or no such output.",
    why="the score of the other output is the same",
    named_by=("E902",),
)
def one_output_learns_nothing() -> Setup:
    text = (
        "model:input shape=[6]; price:output shape=[1]; noise:output shape=[1];\n"
        "model:layers matmul(w, shape=[24]), add(b), tanh(name=seen);\n"
        "price:layers matmul(w, node=seen), add(b);\n"
        "noise:layers matmul(w, node=seen), add(b);\n"
    )
    x, y = houses()
    other = np.random.default_rng(43).normal(0, 1, y.shape).astype("float32")
    data = of({"model": x}, {"price": y, "noise": other}, split=VALIDATED, standardize=True)
    return Setup(text, data, score="price.r2")


@mistake(
    "Both classes are told apart by chance: their difference is in a product, the model is linear.",
    remedy="A hidden layer with an activation.",
    mended=lambda setup: setup.but(text=classifier(2, (16,), 2)),
    named_by=("E902", "E922"),
)
def model_underfits() -> Setup:
    draw = np.random.default_rng(44)
    x = draw.normal(0, 1, (400, 2)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int32")
    data = of(x, y, split=VALIDATED, standardize=True)
    return Setup(classifier(2, (), 2), data, {"epochs": 40})


@mistake(
    "Three quantities, each a sum of all features, pass through two units of tanh.",
    remedy="No hidden layer.",
    mended=lambda setup: setup.but(text=regressor(8, (), 3)),
    named_by=("E925",),
)
def sums_through_two_units() -> Setup:
    draw = np.random.default_rng(45)
    x = draw.normal(0, 1, (400, 8)).astype("float32")
    y = x @ draw.normal(0, 1, (8, 3)) + 0.1 * draw.normal(0, 1, (400, 3))
    text = regressor(8, (2,), 3).replace("relu", "tanh")
    return Setup(text, of(x, y.astype("float32"), split=VALIDATED, standardize=True), score="r2")


@mistake(
    "Waves in two dimensions are learnt by three units.",
    remedy="Two layers of 64 units, and less weight decay.",
    mended=lambda setup: setup.but(text=regressor(2, (64, 64))).trained(weight_decay=0.01),
    named_by=("E926",),
)
def waves_for_three_units() -> Setup:
    draw = np.random.default_rng(46)
    x = draw.uniform(-2, 2, (600, 2)).astype("float32")
    y = np.sin(3 * x[:, :1]) * np.cos(3 * x[:, 1:]) + 0.05 * draw.normal(0, 1, (600, 1))
    data = of(x, y.astype("float32"), split=VALIDATED, standardize=True)
    return Setup(regressor(2, (3,)), data, score="r2")
