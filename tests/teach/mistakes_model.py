"""Mistakes in the text of the model: head, loss, depth, width, activations, initial values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tests.teach.cases import mistake
from tests.teach.samples import (
    bars,
    blobs,
    houses,
    letters,
    one_hot,
    order,
    rare,
    rings,
    spirals,
    topics,
    waves,
)
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import DENSE, classifier, dense, model, regressor, yes_or_no
from webnnm import TextDataset


def _flowers(**options: Any) -> Data:
    return of(*blobs(spread=1.6), standardize=True, **options)


def _halves() -> Data:
    return of(*blobs(300, 2, 4, 2.0), standardize=True)


def _rings() -> Data:
    return of(*rings(), standardize=True)


# Outputs and losses.


def _codes(layers: str) -> Setup:
    draw = np.random.default_rng(87)
    x = np.tanh(draw.normal(0, 1, (400, 2)) @ draw.normal(0, 1, (2, 8)))
    noisy = (x + draw.normal(0, 0.3, x.shape)).astype("float32")
    return Setup(model(8, layers, 8, "MSE"), of(noisy, noisy.copy()), {"epochs": 60}, score="r2")


@mistake(
    "An autoencoder of eight features has a code of sixteen: it copies them.",
    remedy="A code that is narrower than the row.",
    mended=lambda setup: _codes(f"{dense(2, 'identity')}, {dense(8, 'identity')}"),
    why="a copy has the highest score there is, and the noise in it",
    named_by=("E418",),
)
def code_wider_than_the_row() -> Setup:
    return _codes(f"{dense(16, 'relu')}, {dense(8, 'identity')}")


@mistake(
    "The softmax has three scores, the labels four classes.",
    remedy="Four scores.",
    mended=lambda setup: setup.but(text=classifier(4, (16,), 4)),
    named_by=("NNM706",),
)
def fewer_outputs_than_classes() -> Setup:
    return Setup(classifier(4, (16,), 3), of(*blobs(classes=4), standardize=True))


@mistake(
    "The softmax has ten scores, the labels three classes.",
    remedy="Three scores.",
    mended=lambda setup: setup.but(text=classifier(4, (16,), 3)),
    why="scores of classes that never occur are soon near 0 and cost no accuracy",
    named_by=("E118",),
)
def more_outputs_than_classes() -> Setup:
    return Setup(classifier(4, (16,), 10), _flowers())


@mistake(
    "Two quantities are to be predicted, the output has one.",
    remedy="shape=[2] at the output.",
    mended=lambda setup: setup.but(text=regressor(6, (16,), 2)),
    named_by=("NNM702",),
)
def fewer_outputs_than_targets() -> Setup:
    x, y = houses()
    data = of(x, np.concatenate([y, y + x[:, :1]], axis=1), standardize=True)
    return Setup(regressor(6, (16,)), data, score="r2")


@mistake(
    "The input of the model has five features, the rows four.",
    remedy="shape=[4] at the input.",
    mended=lambda setup: setup.but(text=classifier(4, (16,), 3)),
    named_by=("NNM702",),
)
def other_number_of_features() -> Setup:
    return Setup(classifier(5, (16,), 3), _flowers())


@mistake(
    "Class probabilities of a softmax are trained with the mean squared error.",
    remedy="Cross-entropy: model:loss CCE, or none, which chooses it.",
    mended=lambda setup: setup.but(text=classifier(8, (16,), 8)),
    why="squared errors have their minimum at the probabilities, too: they only take longer",
    named_by=("E102",),
)
def probabilities_under_mse() -> Setup:
    x, y = blobs(400, 8, 8, 1.8)
    text = classifier(8, (16,), 8, "MSE")
    data = of(x, one_hot(y, 8), standardize=True)
    return Setup(text, data, {"optimizer": "sgdm"})


@mistake(
    "A yes/no answer of a sigmoid is trained with the mean absolute error.",
    remedy="Binary cross-entropy: model:loss BCE, or none, which chooses it.",
    mended=lambda setup: setup.but(text=yes_or_no(4, (8,))),
    named_by=("E116",),
)
def yes_or_no_under_mae() -> Setup:
    data = of(*rare(500, 0.2, 1.0), standardize=True)
    settings = {"optimizer": "sgdm", "epochs": 15}
    return Setup(yes_or_no(4, (8,), "MAE"), data, settings, score="macro_f1")


@mistake(
    "Quantities are trained with categorical cross-entropy.",
    remedy="model:loss MSE.",
    mended=lambda setup: setup.saying("CCE", "MSE"),
    named_by=("E102", "E103"),
)
def quantities_under_cross_entropy() -> Setup:
    return Setup(
        regressor(6, (16,), loss="CCE"), of(*houses(), standardize=True), {"seeds": 5}, score="r2"
    )


@mistake(
    "The loss expects logits, and gets probabilities of a softmax.",
    remedy="model:loss CCE, or no softmax.",
    mended=lambda setup: setup.saying("model:loss CCEL;", ""),
    why="the loss is computed from what flows into the softmax under either name",
    named_by=("E111",),
)
def softmax_before_loss_with_logits() -> Setup:
    data = of(blobs(spread=1.6)[0], one_hot(blobs(spread=1.6)[1], 3), standardize=True)
    return Setup(classifier(4, (16,), 3, "CCEL"), data)


@mistake(
    "Two softmaxes stand one behind the other at the output.",
    remedy="One of them.",
    mended=lambda setup: setup.saying(", softmax()", ""),
    named_by=("E505",),
)
def softmax_twice() -> Setup:
    layers = f"{dense(16)}, {dense(6, 'softmax')}, softmax()"
    return Setup(model(4, layers, 6), of(*blobs(360, 6, 4, 1.2), standardize=True))


@mistake(
    "A yes/no answer has one score and a softmax, which is then always 1.",
    remedy="A sigmoid.",
    mended=lambda setup: setup.saying("softmax", "sigmoid"),
    named_by=("E103",),
)
def softmax_of_one_score() -> Setup:
    return Setup(classifier(4, (8,), 1), _halves())


@mistake(
    "The scores go through a relu before the softmax.",
    remedy="No activation between the last dense layer and the softmax.",
    mended=lambda setup: setup.saying("relu), softmax()", "identity), softmax()"),
    named_by=("E504",),
)
def relu_before_softmax() -> Setup:
    layers = f"{dense(8, 'relu')}, softmax()"
    return Setup(model(6, layers, 8), of(*blobs(400, 8, 6, 1.6), standardize=True))


@mistake(
    "The scores go through a sigmoid before the softmax: no probability of ten exceeds 0.24.",
    remedy="No activation between the last dense layer and the softmax.",
    mended=lambda setup: setup.saying("sigmoid), softmax()", "identity), softmax()"),
    named_by=("E504",),
)
def sigmoid_before_softmax() -> Setup:
    layers = f"{dense(24)}, {dense(10, 'sigmoid')}, softmax()"
    return Setup(
        model(6, layers, 10), of(*blobs(500, 10, 6, 1.0), standardize=True), {"optimizer": "sgdm"}
    )


@mistake(
    "Seven of ten scores are dropped before the softmax.",
    remedy="Dropout before the last dense layer, not behind it.",
    mended=lambda setup: setup.saying("dropout(0.7), softmax()", "softmax()"),
    why="nothing is dropped in a test, and classes that overlap so much are guessed as well",
    named_by=("E409",),
)
def dropout_on_scores() -> Setup:
    layers = f"{dense(16)}, {dense(8, 'identity')}, dropout(0.7), softmax()"
    data = of(*blobs(400, 8, 6, 1.4), standardize=True)
    return Setup(model(6, layers, 8), data, {"optimizer": "sgdm"})


@mistake(
    "The quantity that is predicted is dropped out, behind the last layer.",
    remedy="Dropout before the last dense layer, if at all.",
    mended=lambda setup: setup.saying(", dropout(0.3)", ""),
    named_by=("E409",),
)
def dropout_on_quantity() -> Setup:
    text = model(6, f"{dense(16)}, {dense(1, 'identity')}, dropout(0.3)", 1)
    return Setup(text, of(*houses(), standardize=True), score="r2")


@mistake(
    "The loss of the second task counts a hundred thousand times less than that of the first.",
    remedy='loss_weights="auto", or weights of one order.',
    mended=lambda setup: setup.trained(loss_weights=None),
    named_by=("E503",),
)
def loss_weights_apart() -> Setup:
    text = (
        "model:input shape=[6]; kind:output shape=[3]; size:output shape=[1];\n"
        "model:layers matmul(w, shape=[16]), add(b), relu(name=seen);\n"
        "kind:layers matmul(w, node=seen), add(b), softmax();\n"
        "size:layers matmul(w, node=seen), add(b);\n"
    )
    x, y = houses()
    kinds = np.digitize(x[:, 0], [-0.5, 0.5]).astype("int32")
    data = of({"model": x}, {"kind": kinds, "size": y}, standardize=True)
    weights = {"kind": 100.0, "size": 0.001}
    return Setup(text, data, {"loss_weights": weights, "optimizer": "nesterov"}, score="size.r2")


@mistake(
    "The Huber loss has δ = 0.000001, so that gradients are a millionth.",
    remedy="δ of the size of usual deviations, or none, which measures it.",
    mended=lambda setup: setup.saying("model:delta 1e-6;", ""),
    named_by=("E119",),
)
def huber_delta_tiny() -> Setup:
    text = regressor(6, (16,), loss="HUL; model:delta 1e-6")
    return Setup(text, of(*houses(), standardize=True), {"optimizer": "sgdm"}, score="r2")


@mistake(
    "The focal loss has γ = 60: only rows that are wrong by far count.",
    remedy="γ around 2, and cross-entropy where classes are balanced.",
    mended=lambda setup: setup.but(text=classifier(4, (16,), 3)),
    named_by=("E120",),
)
def focal_gamma_huge() -> Setup:
    return Setup(classifier(4, (16,), 3, "FOL; model:gamma 60"), _flowers())


# Depth, width, activations.


@mistake(
    "Dense layers follow each other without an activation: together they are linear.",
    remedy="relu or tanh between them.",
    mended=lambda setup: setup.saying("identity", "relu"),
    named_by=("E309",),
)
def no_activation_between() -> Setup:
    layers = f"{dense(32, 'identity')}, {dense(32, 'identity')}, {dense(2, 'softmax')}"
    return Setup(model(2, layers, 2), _rings())


@mistake(
    "One ring around another is to be told apart by a model without a hidden layer.",
    remedy="A hidden layer with an activation.",
    mended=lambda setup: setup.but(text=classifier(2, (16,), 2)),
    named_by=("E902", "E922"),
)
def no_hidden_layer_for_rings() -> Setup:
    return Setup(classifier(2, (), 2), _rings(), {"epochs": 40})


@mistake(
    "Two hidden units are to follow two spirals.",
    remedy="Thirty units and more, in two layers.",
    mended=lambda setup: setup.but(text=classifier(2, (32, 32), 2)),
    named_by=("E922",),
)
def too_small_for_spirals() -> Setup:
    data = of(*spirals(), standardize=True)
    return Setup(classifier(2, (2,), 2), data, {"epochs": 60, "optimizer": "adam", "seeds": 10})


@mistake(
    "All that is known of eight classes goes through a layer of one unit.",
    remedy="At least eight units there.",
    mended=lambda setup: setup.saying("shape=[1]", "shape=[16]"),
    named_by=("E408",),
)
def narrow_waist() -> Setup:
    layers = f"{dense(32)}, {dense(1)}, {dense(32)}, {dense(8, 'softmax')}"
    return Setup(model(8, layers, 8), of(*blobs(400, 8, 8), standardize=True))


@mistake(
    "Thirty sigmoid layers stand one behind the other.",
    remedy="Two layers with relu; or residual connections and normalisation.",
    mended=lambda setup: setup.but(text=classifier(4, (16, 16), 3)),
    named_by=("E303",),
)
def thirty_sigmoid_layers() -> Setup:
    stack = dense(16, "sigmoid", repeat=30)
    return Setup(
        model(4, f"{stack}, {dense(3, 'softmax')}", 3), _flowers(), {"seeds": 1, "epochs": 10}
    )


@mistake(
    "Forty relu layers of four units, without residual connections.",
    remedy="Fewer layers, wider ones.",
    mended=lambda setup: setup.but(text=classifier(4, (16, 16), 3)),
    named_by=("E304",),
)
def forty_thin_relu_layers() -> Setup:
    stack = dense(4, "relu", repeat=40)
    return Setup(
        model(4, f"{stack}, {dense(3, 'softmax')}", 3), _flowers(), {"seeds": 1, "epochs": 10}
    )


@mistake(
    "A softmax is the activation of a hidden dense layer.",
    remedy="relu or tanh.",
    mended=lambda setup: setup.saying(
        "shape=[32], activation=softmax", "shape=[32], activation=relu"
    ),
    why="layers of thirty units learn clusters that overlap as well: narrow ones do not",
    named_by=("E308",),
)
def softmax_in_the_middle() -> Setup:
    layers = f"{dense(32, 'softmax')}, {dense(32, 'softmax')}, {dense(6, 'softmax')}"
    return Setup(model(6, layers, 6), of(*blobs(360, 6, 6, 1.6), standardize=True))


@mistake(
    "The activation is sign, which has no gradient.",
    remedy="tanh.",
    mended=lambda setup: setup.saying("sign", "tanh"),
    named_by=("E316",),
)
def activation_without_gradient() -> Setup:
    return Setup(model(2, f"{dense(16, 'sign')}, {dense(2, 'softmax')}", 2), _rings())


@mistake(
    "Nine of ten units of the only hidden layer are dropped.",
    remedy="Drop at most half of a layer, and of eight units none.",
    mended=lambda setup: setup.saying("dropout(0.9), ", ""),
    named_by=("E404",),
)
def dropout_of_nine_tenths() -> Setup:
    layers = f"{dense(8)}, dropout(0.9), {dense(2, 'softmax')}"
    return Setup(model(2, layers, 2), _rings())


@mistake(
    "Half of four features are dropped at the input.",
    remedy="No dropout at an input with few features.",
    mended=lambda setup: setup.saying("dropout(0.5), ", ""),
    named_by=("E411",),
)
def dropout_of_features() -> Setup:
    text = model(6, f"dropout(0.5), {dense(16)}, {dense(1, 'identity')}", 1)
    return Setup(text, of(*houses(), standardize=True), score="r2")


@mistake(
    "Two layers of 400 units learn forty rows by heart.",
    remedy="A small layer, or none.",
    mended=lambda setup: setup.but(text=classifier(10, (), 2)),
    named_by=("E405",),
)
def huge_for_forty_rows() -> Setup:
    data = of(*blobs(60, 2, 10, 4.5), standardize=True)
    return Setup(classifier(10, (400, 400), 2), data, {"seeds": 2, "epochs": 40})


@mistake(
    "A layer normalisation of two features leaves nothing but which of them is larger.",
    remedy="No normalisation at the input: standardize=True.",
    mended=lambda setup: setup.saying("layerNorm(), ", ""),
    named_by=("E320",),
)
def layer_norm_of_two_features() -> Setup:
    return Setup(model(2, f"layerNorm(), {dense(16)}, {dense(2, 'softmax')}", 2), _rings())


@mistake(
    "A batch normalisation gets batches of two rows.",
    remedy="Batches of 16 rows and more, or layerNorm.",
    mended=lambda setup: setup.trained(batch_size=20),
    named_by=("E307",),
)
def batch_norm_of_two_rows() -> Setup:
    text = model(4, f"matmul(w, shape=[16]), batchNorm(), relu(), {dense(3, 'softmax')}", 3)
    return Setup(text, _flowers(), {"batch_size": 2, "seeds": 5, "epochs": 10})


@mistake(
    "Values of fifty times the size are multiplied at each of six layers.",
    remedy="No factors: the weights find their own.",
    mended=lambda setup: setup.saying(", mul(50)", ""),
    named_by=("E318",),
)
def exploding_factors() -> Setup:
    text = model(4, f"unit(repeat=6), {dense(3, 'softmax')}", 3)
    text += "unit:layers matmul(w, shape=[16]), add(b), mul(50), relu();\n"
    return Setup(text, _flowers(), {"seeds": 5})


@mistake(
    "The logarithm of features is taken that are negative in half of the rows.",
    remedy="No logarithm, or that of 1 + |x|.",
    mended=lambda setup: setup.saying("log(), ", ""),
    named_by=("E317",),
)
def logarithm_of_negative_values() -> Setup:
    return Setup(
        model(4, f"log(), {dense(16)}, {dense(3, 'softmax')}", 3), _flowers(), {"seeds": 3}
    )


@mistake(
    "The model computes in float16, and features are up to 100,000.",
    remedy="standardize=True.",
    mended=lambda setup: setup.but(data=of(*_metres(), standardize=True)),
    named_by=("E603",),
)
def float16_overflow() -> Setup:
    return Setup(
        model("float16 shape=[4]", f"{dense(16)}, {dense(3, 'softmax')}", 3),
        of(*_metres()),
        {"seeds": 3},
    )


def _metres() -> tuple[np.ndarray, np.ndarray]:
    x, y = blobs()
    return x * 20_000, y


@mistake(
    "A second input is declared, and its layers reach no output.",
    remedy="Join it: concat([left, right], axis=0).",
    mended=lambda setup: setup.saying(
        "name=seen), ", "name=seen), concat([seen, right], axis=0), "
    ),
    named_by=("E413",),
)
def input_that_reaches_nothing() -> Setup:
    text = (
        "left:input shape=[2]; right:input shape=[2]; left:output shape=[3];\n"
        f"left:layers {dense(16, name='seen')}, {dense(3, 'softmax')};\n"
        f"right:layers {dense(16)};\n{DENSE}\n"
    )
    x, y = blobs(spread=1.6)
    data = of({"left": x[:, :2], "right": x[:, 2:]}, {"left": y}, standardize=True)
    return Setup(text, data)


# Initial values, and what is trained.


@mistake(
    "All weights start at 0: the units of a layer stay equal.",
    remedy="Leave init out: weights start at random.",
    mended=lambda setup: setup.saying("matmul(w, init=zeros)", "matmul(w)"),
    named_by=("E313",),
)
def weights_start_at_zero() -> Setup:
    text = classifier(2, (16,), 2).replace("matmul(w)", "matmul(w, init=zeros)")
    return Setup(text, _rings())


@mistake(
    "All weights start at the same number: sixteen units act as one.",
    remedy="Leave init out: weights start at random.",
    mended=lambda setup: setup.saying("matmul(w, init=constant(0.5))", "matmul(w)"),
    named_by=("E313",),
)
def weights_start_equal() -> Setup:
    text = classifier(2, (16,), 2).replace("matmul(w)", "matmul(w, init=constant(0.5))")
    return Setup(text, _rings())


@mistake(
    "Weights start with a deviation of 20.",
    remedy="Leave init out: it then fits to the width of the layer.",
    mended=lambda setup: setup.saying("init=normal(20)", "init=heNormal"),
    named_by=("E314",),
)
def weights_start_huge() -> Setup:
    text = classifier(4, (32, 32), 3).replace("matmul(w)", "matmul(w, init=normal(20))")
    return Setup(text, _flowers(), {"seeds": 5, "optimizer": "sgdm"})


@mistake(
    "Weights start with a deviation of 0.000001: five layers give nothing, and no gradient.",
    remedy="Leave init out: it then fits to the width of the layer.",
    mended=lambda setup: setup.saying("init=normal(1e-6)", "init=heNormal"),
    named_by=("E314",),
)
def weights_start_tiny() -> Setup:
    text = classifier(4, (16, 16, 16, 16), 3).replace("matmul(w)", "matmul(w, init=normal(1e-6))")
    return Setup(text, _flowers(), {"seeds": 5, "optimizer": "sgdm"})


@mistake(
    "The biases before the relus start at −10: no unit ever is above 0.",
    remedy="Leave init out: biases start at 0.",
    mended=lambda setup: setup.saying(" init=constant(-10)", ""),
    named_by=("E315",),
)
def biases_kill_relus() -> Setup:
    text = model(4, f"matmul(v), add(low), relu(), {dense(3, 'softmax')}", 3)
    text += "model:param low shape=[16] init=constant(-10);\n"
    return Setup(text, _flowers(), {"optimizer": "sgdm"})


@mistake(
    "All parameters are frozen.",
    remedy="freeze=0 for a model that took over nothing.",
    mended=lambda setup: setup.trained(freeze=None),
    named_by=("E406", "E703"),
)
def everything_frozen() -> Setup:
    return Setup(classifier(4, (16,), 3), _flowers(), {"freeze": 1.0})


@mistake(
    "No layer is trainable.",
    remedy="trainable=true, which is the default, at least at the head.",
    mended=lambda setup: setup.saying(", trainable=false", ""),
    named_by=("E406",),
)
def nothing_trainable() -> Setup:
    text = classifier(4, (16,), 3).replace("matmul(w)", "matmul(w, trainable=false)")
    return Setup(text.replace("add(b)", "add(b, trainable=false)"), _flowers())


@mistake(
    "The head keeps its random values, the layers before it are trained.",
    remedy="Train the head.",
    mended=lambda setup: setup.saying(", trainable=false", ""),
    named_by=("E410",),
)
def random_head_frozen() -> Setup:
    layers = f"{dense(8)}, {dense(6, 'softmax', trainable='false')}"
    return Setup(model(6, layers, 6), of(*blobs(360, 6, 6, 1.8), standardize=True))


@mistake(
    "The trunk is frozen at random values: it took over nothing.",
    remedy="freeze=0, or load_params of a trained model first.",
    mended=lambda setup: setup.saying(", trainable=false", ""),
    named_by=("E410",),
)
def random_trunk_frozen() -> Setup:
    layers = f"{dense(4, trainable='false')}, {dense(2, 'softmax')}"
    return Setup(model(2, layers, 2), _rings(), {"epochs": 40})


# Words and series.


def _reader(size: int, before: str, outputs: int, shape: int = 8) -> str:
    return (
        f"model:input int32 shape=[] sequence=true;\nmodel:output shape=[{outputs}];\n"
        f"model:layers embedding(table, size={size}, shape=[{shape}]), {before}"
        "reduceMean(axes=[sequence]),\n  matmul(w), add(b), softmax();\n"
    )


@mistake(
    "The order of words decides, and attention sees no positions.",
    remedy="positionalEmbedding behind the embedding.",
    mended=lambda setup: setup.saying("attend(", "positionalEmbedding(place, size=8), attend("),
    named_by=("E319",),
)
def attention_without_positions() -> Setup:
    text = _reader(6, "attend(q, k, v, o, heads=2), relu(), ", 2)
    data = of(*order(400), length="max")
    return Setup(text, data, {"seeds": 2, "optimizer": "adam"})


@mistake(
    "The text has words up to 39, the table of the embedding 20 rows.",
    remedy="size=40.",
    mended=lambda setup: setup.saying("size=20", "size=40"),
    named_by=("NNM702",),
)
def words_beyond_table() -> Setup:
    return Setup(_reader(20, "", 3), of(*topics(), length="max"), {"seeds": 5})


@mistake(
    "Ten words have a table of 5,000 rows of 256 numbers.",
    remedy="As many rows as words, and about eight numbers for each.",
    mended=lambda setup: setup.but(text=_reader(12, "", 3)),
    why="rows that no word uses do nothing but fill memory",
    named_by=("E416",),
)
def table_far_too_large() -> Setup:
    data = of(*topics(120, 12, 12), length="max")
    return Setup(_reader(5000, "", 3, 256), data, {"seeds": 1, "epochs": 2})


@mistake(
    "Numbers of words are standardised, as if they were quantities.",
    remedy="No standardize: words are looked up.",
    mended=lambda setup: setup.but(data=of(*topics(), length="max")),
    named_by=("NNM702",),
)
def words_standardised() -> Setup:
    data = of(*topics(), length="max", standardize=True)
    return Setup(_reader(40, "", 3), data, {"seeds": 5})


@mistake(
    "The next letter is to be predicted by attention that sees it already.",
    remedy="causal=true.",
    mended=lambda setup: setup.saying("heads=2", "heads=2, causal=true"),
    why="the score with the mistake is too good to be true: the answer is in the input",
    named_by=("E330",),
)
def language_model_looks_ahead() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[8];\n"
        "model:layers embedding(table, size=8, shape=[16]), positionalEncoding(name=placed),\n"
        "  attend(q, k, v, o, heads=2), residual(to=placed), matmul(w), add(b), softmax();\n"
    )
    return Setup(
        text,
        lambda seed: TextDataset(letters(), 12, seed=seed),
        {"seeds": 2, "epochs": 15, "optimizer": "adam"},
    )


@mistake(
    "Steps of a series are averaged before anything looks at their order.",
    remedy="A gru or conv1d over the steps.",
    mended=lambda setup: setup.saying(
        "reduceMean(axes=[sequence])", "gru(w, r, bias=c, hiddenSize=8)"
    ),
    named_by=("E412",),
)
def series_averaged_first() -> Setup:
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers reduceMean(axes=[sequence]), matmul(v), add(b), softmax();\n"
    )
    return Setup(text, of(*waves(), length="max"), {"seeds": 3, "epochs": 12})


# Pictures.


def _pictures() -> Data:
    x, y = bars(240)
    return of(x[:, None], y)


def _convolutions(*layers: str) -> str:
    given = "shape={channels:1, height:8, width:8}"
    return (
        f"model:input {given};\nmodel:output shape=[4];\nmodel:layers\n  "
        + ", ".join(layers)
        + ",\n  matmul(w), add(b), softmax();\n"
    )


@mistake(
    "A convolution of 2 × 2 takes steps of 4: three of four pixels are never seen.",
    remedy="Strides no larger than the kernel.",
    mended=lambda setup: setup.saying("strides=4", "strides=1"),
    named_by=("E321",),
)
def strides_skip_pixels() -> Setup:
    text = _convolutions("conv2d(f, filters=8, kernel=2, strides=4, bias=b), relu()", "flatten()")
    return Setup(text, _pictures(), {"seeds": 5})


@mistake(
    "Two convolutions follow each other without an activation.",
    remedy="relu behind each.",
    mended=lambda setup: setup.saying("bias=b), conv2d", "bias=b), relu(), conv2d").saying(
        "bias=c)", "bias=c), relu()"
    ),
    named_by=("E309",),
)
def convolutions_without_activation() -> Setup:
    text = _convolutions(
        "conv2d(f, filters=6, kernel=3, padding=same, bias=b)",
        "conv2d(g, filters=8, kernel=3, padding=same, bias=c)",
        "globalAveragePool()",
    )
    return Setup(text, _pictures(), {"seeds": 3, "epochs": 12})


@mistake(
    "Three poolings leave one pixel of 8 × 8, before the only wide convolution.",
    remedy="One pooling, behind the convolutions.",
    mended=lambda setup: setup.but(
        text=_convolutions(
            "conv2d(f, filters=12, kernel=3, padding=same, bias=b), relu()", f"{_POOL}", "flatten()"
        )
    ),
    named_by=("E322",),
)
def pooled_to_one_pixel() -> Setup:
    text = _convolutions(
        *[_POOL] * 3, "conv2d(f, filters=12, kernel=3, padding=same, bias=b), relu()", "flatten()"
    )
    return Setup(text, _pictures(), {"seeds": 3, "epochs": 12})


_POOL = "averagePool2d(windowDimensions=2, strides=2)"


@mistake(
    "Where a bar lies decides, and a global average over the picture forgets places.",
    remedy="flatten() in place of globalAveragePool().",
    mended=lambda setup: setup.saying("globalAveragePool()", "flatten()"),
    named_by=("E323",),
)
def places_averaged_away() -> Setup:
    draw = np.random.default_rng(30)
    x = draw.uniform(0, 0.3, (240, 8, 8)).astype("float32")
    y = draw.integers(0, 4, 240).astype("int32")
    quarters = list(pairwise(range(0, 10, 2)))
    for row, kind in enumerate(y):
        first, end = quarters[kind]
        x[row, draw.integers(0, 8), first:end] += 0.6
    text = _convolutions(
        "conv2d(f, filters=8, kernel=3, padding=same, bias=b), relu()", "globalAveragePool()"
    )
    return Setup(text, of(x[:, None], y), {"seeds": 3, "epochs": 15})
