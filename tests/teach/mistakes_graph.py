"""Mistakes in the graph of a model: what it pools, transforms and joins."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.cases import mistake
from tests.teach.samples import bars, blobs, houses, stripes, waves
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import CONVOLVED, model, regressor

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


# Logarithms of zeros.


def _incomes(take_logarithm: Any) -> Data:
    draw = np.random.default_rng(176)
    x = draw.normal(0, 1, (500, 5)).astype("float32")
    y = np.exp(5 + 0.8 * x[:, 0] + 0.5 * x[:, 1] + draw.normal(0, 0.2, 500))
    y = take_logarithm(np.where(draw.random(500) < 0.15, 0, y)).astype("float32")[:, None]
    return of(x, y, standardize=True, standardize_targets=True)


@mistake(
    "An income of 0 became log(0 + 1e-6) in the target, far below all others.",
    remedy="log(1 + x / 100) in place of log(x + 1e-6).",
    mended=lambda setup: setup.but(data=_incomes(lambda x: np.log1p(x / 100))),
    named_by=("E637",),
)
def logarithm_of_no_income() -> Setup:
    return Setup(regressor(5, (16,)), _incomes(lambda x: np.log(x + 1e-6)), score="r2")


def _visits(take_logarithm: Any = None, **options: Any) -> Data:
    draw = np.random.default_rng(177)
    counts = draw.poisson(np.exp(draw.normal(0.7, 1, (400, 4)))).astype("float32")
    y = np.log1p(counts) @ np.array([1.0, -1.0, 0.5, -0.5]) + draw.normal(0, 0.2, 400)
    x = counts if take_logarithm is None else take_logarithm(counts)
    return of(x.astype("float32"), y.astype("float32")[:, None], **options)


@mistake(
    "Counts of visits became log10(x + 1e-9) before they came into the data.",
    remedy="log(1 + x) in place of log10(x + 1e-9).",
    mended=lambda setup: setup.but(data=_visits(np.log1p, standardize=True)),
    named_by=("E637",),
)
def logarithm_of_no_visits() -> Setup:
    data = _visits(lambda x: np.log10(x + 1e-9), standardize=True)
    return Setup(regressor(4, ()), data, {"epochs": 40}, score="r2")


@mistake(
    "The model takes log(x + 1e-8) of counts, many of which are 0.",
    remedy="add(2) in place of add(1e-8).",
    mended=lambda setup: setup.saying("add(1e-8)", "add(2)"),
    named_by=("E332",),
)
def logarithm_of_a_tiny_shift() -> Setup:
    text = model(4, "add(1e-8), log(), matmul(w), add(b)", 1)
    return Setup(text, _visits(), {"epochs": 40}, score="r2")


@mistake(
    "A square root is taken of what relu leaves, which is 0 half of the time.",
    remedy="softplus() in place of relu().",
    mended=lambda setup: setup.saying("relu(), sqrt()", "softplus(), sqrt()"),
    named_by=("E317",),
)
def root_of_relu() -> Setup:
    layers = "matmul(u, shape=[16]), add(c), relu(), sqrt(), matmul(w), add(b), softmax()"
    return Setup(model(4, layers, 3), of(*blobs(spread=1.3), standardize=True), {"epochs": 30})


# Constants, windows, answers.


@mistake(
    "The model subtracts 128 from inputs that the dataset standardises, as if they were bytes.",
    remedy="Leave the subtraction out.",
    mended=lambda setup: setup.saying("sub(128), ", ""),
    named_by=("E333",),
)
def bytes_that_are_none() -> Setup:
    layers = "sub(128), dense(shape=[24], activation=relu), dense(shape=[4], activation=softmax)"
    data = of(*blobs(400, 4, 6, 1.4), standardize=True)
    return Setup(model(6, layers, 4), data, {"epochs": 20})


@mistake(
    "Pixels from 0 to 1 are divided by 255 once more.",
    remedy="Leave the division out.",
    mended=lambda setup: setup.saying("div(255), ", ""),
    named_by=("E333",),
)
def divided_by_255_twice() -> Setup:
    x, y = bars(320)
    text = model("shape={channels:1, height:8, width:8}", f"div(255), {CONVOLVED}", 4)
    return Setup(text, of(x[:, None], y), {"epochs": 10})


@mistake(
    "All kernels are 1 × 1, and everything is pooled: no layer sees which way stripes go.",
    remedy="Kernels of 3.",
    mended=lambda setup: setup.but(text=setup.text.replace("kernel=1", "kernel=3")),
    named_by=("E334",),
)
def kernels_of_one() -> Setup:
    layers = (
        "conv2d(f, filters=8, kernel=1, bias=a), relu(), "
        "conv2d(g, filters=8, kernel=1, bias=c), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    return Setup(model(PICTURE, layers, 2), of(*stripes(178, 12, [(1, 0), (0, 1)])), {"epochs": 20})


@mistake(
    "Three poolings leave one pixel to the only convolution.",
    remedy="The convolution first.",
    mended=lambda setup: setup.but(
        text=model("shape={channels:1, height:8, width:8}", CONVOLVED, 4)
    ),
    named_by=("E331",),
)
def pooled_three_times_first() -> Setup:
    pool = "maxPool2d(windowDimensions=2, strides=2)"
    layers = f"{pool}, {pool}, {pool}, conv2d(f, filters=8, kernel=1, bias=a), relu(), flatten()"
    x, y = bars(320)
    text = model(
        "shape={channels:1, height:8, width:8}", f"{layers}, matmul(w), add(b), softmax()", 4
    )
    return Setup(text, of(x[:, None], y), {"epochs": 20})


@mistake(
    "Four classes that exclude each other, by number, and a sigmoid for each.",
    remedy="A softmax.",
    mended=lambda setup: setup.saying("activation=sigmoid", "activation=softmax"),
    why="the largest of four sigmoids is the class as often; together they are no probabilities",
    named_by=("E106",),
)
def sigmoids_for_class_numbers() -> Setup:
    layers = "dense(shape=[24], activation=relu), dense(shape=[4], activation=sigmoid)"
    data = of(*blobs(400, 4, 6, 1.4), standardize=True)
    return Setup(model(6, layers, 4), data, {"epochs": 20})


@mistake(
    "A relu stands before the first layer, and sets all features below their mean to 0.",
    remedy="Leave the relu out.",
    mended=lambda setup: setup.saying("model:layers relu(), ", "model:layers "),
    named_by=("E335",),
)
def relu_of_the_input() -> Setup:
    layers = "relu(), dense(shape=[24], activation=relu), dense(shape=[1], activation=identity)"
    data = of(*houses(), standardize=True)
    return Setup(model(6, layers, 1), data, {"epochs": 40}, score="r2")


@mistake(
    "The probabilities of three kinds of steps are made to sum to 1 over time, not over kinds.",
    remedy="softmax() without axis=.",
    mended=lambda setup: setup.saying("softmax(axis=sequence)", "softmax()"),
    named_by=("E102",),
)
def softmax_over_time() -> Setup:
    x, _ = waves()
    steps = np.digitize(x[:, :, 0], [-0.5, 0.5]).astype("int32")
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3] sequence=true;\n"
        "model:loss SCE;\nmodel:layers gru(w, r, bias=b, hiddenSize=8, returnSequence=true), "
        "matmul(v), add(c), softmax(axis=sequence);\n"
    )
    return Setup(text, of(x, steps, length="max", kinds={"model": "classes"}), {"epochs": 8})


@mistake(
    "A softmax stands between a gru and the mean of its states.",
    remedy="Leave it out.",
    mended=lambda setup: setup.saying("softmax(), reduceMean", "reduceMean"),
    named_by=("E308",),
)
def softmax_of_states() -> Setup:
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers gru(w, r, bias=b, hiddenSize=8, returnSequence=true), softmax(), "
        "reduceMean(axes=[sequence]), matmul(v), add(c), softmax();\n"
    )
    return Setup(text, of(*waves(), length="max"), {"epochs": 15})


@mistake(
    "How bright a picture is decides, and instance normalisation removes it.",
    remedy="Leave the normalisation out, and standardise the pictures.",
    mended=lambda setup: setup.saying("instanceNormalization(), ", "").but(
        data=_bright_pictures(standardize=True)
    ),
    named_by=("E336",),
)
def brightness_normalised_away() -> Setup:
    text = model(
        "shape={channels:1, height:8, width:8}", f"instanceNormalization(), {CONVOLVED}", 3
    )
    return Setup(text, _bright_pictures(), {"epochs": 15})


def _bright_pictures(**options: Any) -> Data:
    draw = np.random.default_rng(179)
    y = draw.integers(0, 3, 300).astype("int32")
    x = draw.uniform(0, 0.3, (300, 1, 8, 8)) + 0.25 * y[:, None, None, None]
    return of(x.astype("float32"), y, **options)


@mistake(
    "How strong a vibration is decides, and a layer normalisation makes all rows equally strong.",
    remedy="Leave the normalisation out.",
    mended=lambda setup: setup.saying("layerNorm(), ", ""),
    named_by=("E336",),
)
def strength_normalised_away() -> Setup:
    draw = np.random.default_rng(180)
    y = draw.integers(0, 2, 500).astype("int32")
    x = draw.normal(0, 1, (500, 24)) * (0.7 + y[:, None])
    layers = "layerNorm(), dense(shape=[32], activation=relu), dense(shape=[2], activation=softmax)"
    return Setup(model(24, layers, 2), of(x.astype("float32"), y), {"epochs": 40})


def _marks_of_colour(seed: int) -> Data:
    """Return coloured pictures, height × width × channels, of one of four marks somewhere."""
    draw = np.random.default_rng(seed)
    x = draw.normal(0.4, 0.1, (480, 12, 12, 3))
    marks = np.zeros((4, 4, 4), bool)
    marks[0], marks[1, 1:3], marks[2, :, 1:3] = True, True, True
    marks[3] = np.eye(4, dtype=bool) | np.eye(4, dtype=bool)[::-1]
    y = draw.permutation(np.arange(480) % 4)
    for row, kind in enumerate(y):
        top, left = draw.integers(0, 9, 2)
        x[row, top : top + 4, left : left + 4][marks[kind]] = draw.uniform(0.7, 1.2, 3)
    return of(x.astype("float32"), y.astype("int32"))


@mistake(
    "Pictures of height × width × channels are reshaped to channels × height × width.",
    remedy="transpose(permutation=[2, 0, 1]) in place of the reshape.",
    mended=lambda setup: setup.saying("reshape([3, 12, 12])", "transpose(permutation=[2, 0, 1])"),
    named_by=("E337",),
)
def planes_by_reshape() -> Setup:
    layers = (
        "reshape([3, 12, 12]), conv2d(f, filters=8, kernel=3, bias=a, inputLayout=nchw), relu(), "
        "conv2d(g, filters=8, kernel=3, bias=d, inputLayout=nchw), leakyRelu(), "
        "maxPool2d(windowDimensions=2, strides=2, layout=nchw), flatten(), "
        "matmul(v, shape=[24]), add(c), leakyRelu(), matmul(w), add(b), softmax()"
    )
    text = model("shape=[12, 12, 3]", layers, 4)
    return Setup(text, _marks_of_colour(176), {"epochs": 25, "lr": 0.004})


@mistake(
    "Where a spot is shall be told as two numbers, by windows of half of the picture and a mean.",
    **_flattened("reduceMean(axes=[1, 2])"),
)
def place_under_wide_windows() -> Setup:
    second = "conv2d(g, filters=8, kernel=5, padding=same, bias=d), relu()"
    text = _pooled("reduceMean(axes=[1, 2])", 2, second, last="")
    return Setup(text, _spots("where", 177), {"epochs": 15}, score="r2")


@mistake(
    "The only score of a yes or no passes a softmax, which makes it 1 for every row.",
    remedy="sigmoid() in place of softmax().",
    mended=lambda setup: setup.saying("softmax()", "sigmoid()"),
    named_by=("E102",),
)
def softmax_over_one_score() -> Setup:
    draw = np.random.default_rng(178)
    x = draw.normal(0, 1, (400, 3)).astype("float32")
    y = (x[:, :1] + x[:, 1:2] > 0.3).astype("float32")
    layers = "matmul(w, shape=[12]), add(b), relu(), matmul(v), add(c), softmax()"
    return Setup(model("shape=[3]", layers, 1, "BCE"), of(x, y), {"epochs": 20})


def _shifted(seed: int, *, told: bool) -> Data:
    """Return pictures of a spot, and where it is; they are shifted in training."""
    draw = np.random.default_rng(seed)
    places = draw.uniform(3, 8, (420, 2))
    down, across = np.mgrid[:12, :12]
    y0, x0 = places[:, 0, None, None], places[:, 1, None, None]
    x = np.exp(-((down - y0) ** 2 + (across - x0) ** 2) / 3) + draw.normal(0, 0.05, (420, 12, 12))

    def shift(inputs: Any, outputs: Any, stream: Any, epoch: int) -> Any:
        pictures = np.array(inputs["model"].tolist(), "float32")
        points = np.array(outputs["model"].tolist(), "float32")
        steps = np.floor(np.array(stream.uniform(2 * len(pictures))).reshape(-1, 2) * 5) - 2
        for row, by in enumerate(steps.astype(int)):
            pictures[row] = np.roll(pictures[row], by, (1, 2))
        return {"model": pictures}, {"model": points + told * steps.astype("float32") / 12}

    rows = of(x[:, None].astype("float32"), (places / 12).astype("float32"))
    return lambda seed: rows(seed).augment(shift)


@mistake(
    "Pictures are shifted in training, and where a spot is in them is not.",
    remedy="Targets that are shifted as well.",
    mended=lambda setup: setup.but(data=_shifted(179, told=True)),
    named_by=("E635",),
)
def places_left_behind() -> Setup:
    layers = CONVOLVED.replace(", softmax()", "")
    return Setup(model(PICTURE, layers, 2), _shifted(179, told=False), {"epochs": 15}, score="r2")
