"""Sound programs: models of many kinds, some of which look odd at first sight."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import sound
from tests.teach.samples import (
    bars,
    blobs,
    houses,
    letters,
    lines,
    order,
    rings,
    spirals,
    topics,
    waves,
)
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import DENSE, classifier, dense, model, regressor, yes_or_no
from webnnm import NNModel, TextDataset


def _quick(**more: object) -> dict[str, object]:
    """Return settings for models that are costly to scout."""
    return {"seeds": 3, "epochs": 12, **more}


@sound("Linear regression: no hidden layer for what is linear.")
def linear_regression() -> Setup:
    return Setup(regressor(3, ()), of(*lines(), standardize=True), {"epochs": 30}, score="r2")


@sound("Logistic regression: one sigmoid, no hidden layer.")
def logistic_regression() -> Setup:
    return Setup(yes_or_no(4, ()), of(*blobs(300, 2), standardize=True))


@sound("Two classes with two scores and a softmax, in place of a sigmoid.")
def two_scores_for_two_classes() -> Setup:
    return Setup(classifier(4, (8,), 2), of(*blobs(300, 2), standardize=True))


@sound("Scores without a softmax, with the loss that expects logits.")
def logits_with_their_loss() -> Setup:
    layers = f"{dense(12)}, {dense(3, 'identity')}"
    return Setup(model(4, layers, 3, "CCEL"), of(*blobs(), standardize=True))


@sound("A small network that is large enough: eight tanh units for two rings.")
def small_but_adequate() -> Setup:
    text = model(2, f"{dense(8, 'tanh')}, {dense(2, 'softmax')}", 2)
    return Setup(text, of(*rings(), standardize=True), {"epochs": 60})


@sound("One input, thirty tanh units, one output: a curve.")
def curve_of_one_variable() -> Setup:
    x = np.linspace(-3, 3, 240, dtype="float32")[:, None]
    y = np.sin(2 * x) + np.random.default_rng(60).normal(0, 0.1, x.shape).astype("float32")
    text = model(1, f"{dense(30, 'tanh')}, {dense(1, 'identity')}", 1)
    settings = {"epochs": 120, "optimizer": "adam", "seeds": 10}
    return Setup(text, of(x, y, standardize=True), settings, score="r2")


@sound("Two hidden layers of 32 units for two spirals.")
def two_layers_for_spirals() -> Setup:
    settings = {"epochs": 80, "optimizer": "adam", "seeds": 10}
    return Setup(classifier(2, (32, 32), 2), of(*spirals(), standardize=True), settings)


@sound("Dropout of 30 % before the last dense layer.")
def dropout_before_the_head() -> Setup:
    layers = f"{dense(32)}, dropout(0.3), {dense(3, 'softmax')}"
    return Setup(model(4, layers, 3), of(*blobs(spread=1.5), standardize=True))


@sound("Dropout of 10 % of fifty features at the input.")
def dropout_of_many_features() -> Setup:
    layers = f"dropout(0.1), {dense(16)}, {dense(3, 'softmax')}"
    return Setup(model(50, layers, 3), of(*blobs(400, 3, 50, 4.0), standardize=True))


@sound("A layer normalisation between dense layers.")
def layer_norm_between() -> Setup:
    layers = (
        f"matmul(w, shape=[24]), add(b), layerNorm(scale=g, bias=c), relu(), {dense(3, 'softmax')}"
    )
    return Setup(model(4, layers, 3), of(*blobs(spread=1.5), standardize=True))


@sound("A batch normalisation between product and relu, the product without a bias.")
def batch_norm_without_bias() -> Setup:
    text = model(
        4, f"matmul(w, shape=[24]), batchNorm(scale=g, bias=b), relu(), {dense(3, 'softmax')}", 3
    )
    return Setup(text, of(*blobs(400, spread=1.5), standardize=True), {"batch_size": 32})


@sound("Twenty residual layers with normalisation.")
def deep_with_residuals() -> Setup:
    text = model(4, f"{dense(16)}, unit(repeat=20), {dense(3, 'softmax')}", 3)
    text += (
        "unit:layers layerNorm(scale=g, bias=c), matmul(v), add(d), relu(shape=[16]),\n"
        "  residual(to=input);\n"
    )
    return Setup(
        text, of(*blobs(), standardize=True), {"seeds": 1, "epochs": 8, "optimizer": "adam"}
    )


@sound("A highway network of twelve layers, whose gates start closed at bias −1.")
def highway() -> Setup:
    text = model(4, f"{dense(16, 'tanh')}, unit(repeat=12), {dense(3, 'softmax')}", 3)
    text += (
        "model:param closed shape=[16] init=constant(-1) shared=false;\n"
        "unit:layers matmul(t, shape=[16]), add(closed), sigmoid(name=gate),\n"
        "  matmul(h, node=input, shape=[16]), add(b), tanh(name=new),\n"
        "  sub([new, input], name=step), mul([step, gate], name=part), add([part, input]);\n"
    )
    return Setup(text, of(*blobs(), standardize=True), _quick(optimizer="adam"))


@sound("The bottleneck of an autoencoder: eight features through two units, on purpose.")
def autoencoder() -> Setup:
    draw = np.random.default_rng(61)
    hidden = draw.normal(0, 1, (300, 2))
    x = np.tanh(hidden @ draw.normal(0, 1, (2, 8))).astype("float32")
    layers = (
        f"{dense(16, 'tanh')}, {dense(2, 'identity')}, {dense(16, 'tanh')}, {dense(8, 'identity')}"
    )
    data = of(x, x.copy())
    return Setup(model(8, layers, 8, "MSE"), data, _quick(epochs=60, optimizer="adam"), score="r2")


@sound("An autoencoder whose decoder uses the transposed weights of the encoder.")
def tied_autoencoder() -> Setup:
    draw = np.random.default_rng(62)
    x = (draw.normal(0, 1, (300, 3)) @ draw.normal(0, 0.6, (3, 10))).astype("float32")
    text = (
        "model:param code float32 shape=[10, 3] init=glorot;\n"
        "model:input shape=[10];\nmodel:output shape=[10];\nmodel:loss MSE;\n"
        "model:layers matmul(code), add(b), matmul(code, bTranspose=true), add(c);\n"
    )
    settings = {"epochs": 60, "optimizer": "adam", "seeds": 5}
    return Setup(text, of(x, x.copy()), settings, score="r2")


@sound("A softmax in the middle that weighs the features: attention by hand.")
def softmax_as_attention() -> Setup:
    text = model(
        4,
        "matmul(a), add(c), softmax(shape=[4], name=weights), mul([weights, input]), "
        f"{dense(16)}, {dense(3, 'softmax')}",
        3,
    )
    return Setup(text, of(*blobs(), standardize=True), {"epochs": 30})


@sound("A gate: one branch's sigmoid times another's tanh.")
def gated_unit() -> Setup:
    text = model(
        4,
        "matmul(g, shape=[12]), add(c), sigmoid(name=gate), "
        "matmul(v, node=input, shape=[12]), add(d), tanh(name=value), mul([gate, value]), "
        f"{dense(3, 'softmax')}",
        3,
    )
    return Setup(text, of(*blobs(), standardize=True))


@sound("A trunk that was trained before, with frozen parameters, under a new head.")
def frozen_trunk_taken_over() -> Setup:
    layers = f"{dense(24)}, {dense(3, 'softmax')}"
    frozen = f"{dense(24, trainable='false')}, {dense(2, 'softmax')}"

    async def begin(new: NNModel) -> None:
        data = of(*blobs(400, 3, 4, 1.5, seed=1), standardize=True)(0)
        teacher = await NNModel.create(
            source=model(4, layers, 3), dataset=data, backend="numpy", log=lambda line: None
        )
        async with teacher:
            await teacher.train(epochs=15, seeds=5, progress="off")
            await new.load_params(teacher, only=["w1", "b1"])

    x, y = blobs(160, 3, 4, 1.5, seed=1)
    data = of(x, (y == 2).astype("int32"), standardize=True)
    return Setup(model(4, frozen, 2), data, {"epochs": 30}, begin=begin)


@sound("A model that goes on from another's parameters at a tenth of the rate.")
def fine_tuned() -> Setup:
    text = classifier(4, (16,), 3)

    async def begin(new: NNModel) -> None:
        data = of(*blobs(400, seed=2), standardize=True)(0)
        teacher = await NNModel.create(
            source=text, dataset=data, backend="numpy", log=lambda line: None
        )
        async with teacher:
            await teacher.train(epochs=15, seeds=5, progress="off")
            await new.load_params(teacher)

    data = of(*blobs(120, seed=2), standardize=True)
    return Setup(text, data, {"lr": 0.001, "optimizer": "adam", "epochs": 15}, begin=begin)


# Several inputs and outputs.


def _kind_and_size() -> tuple[str, Data]:
    text = (
        "model:input shape=[6]; kind:output shape=[3]; size:output shape=[1];\n"
        "model:layers matmul(w, shape=[24]), add(b), relu(name=seen);\n"
        "kind:layers matmul(w, node=seen), add(b), softmax();\n"
        "size:layers matmul(w, node=seen), add(b);\n"
    )
    x, y = houses()
    kinds = np.digitize(x[:, 0], [-0.5, 0.5]).astype("int32")
    data = of({"model": x}, {"kind": kinds, "size": y}, standardize=True, standardize_targets=True)
    return text, data


@sound("A class and a quantity at once, weighed by uncertainty.")
def two_outputs() -> Setup:
    return Setup(*_kind_and_size(), {"epochs": 40}, score="size.r2")


@sound("A class and a quantity at once, the quantity with twice the weight.")
def two_outputs_weighed_by_hand() -> Setup:
    weights = {"kind": 1.0, "size": 2.0}
    return Setup(*_kind_and_size(), {"epochs": 40, "loss_weights": weights}, score="kind.accuracy")


@sound("Two inputs of different kinds that are joined.")
def two_inputs() -> Setup:
    text = (
        "left:input shape=[2]; right:input shape=[2]; answer:output shape=[3];\n"
        f"left:layers {dense(8)};\nright:layers {dense(8)};\n"
        f"answer:layers concat([left, right], axis=0), {dense(3, 'softmax')};\n{DENSE}\n"
    )
    x, y = blobs(spread=1.3)
    data = of({"left": x[:, :2], "right": x[:, 2:]}, {"answer": y}, standardize=True)
    return Setup(text, data)


@sound("Five quantities of one scale at once.")
def five_quantities() -> Setup:
    x, y = houses()
    many = np.concatenate([y, x[:, :2] + 0.5 * y, np.tanh(y), x[:, 2:3] * x[:, 3:4]], axis=1)
    data = of(x, many, standardize=True, standardize_targets=True)
    return Setup(regressor(6, (32,), 5), data, {"epochs": 40}, score="r2")


# Words, series, pictures.


@sound("Attention with learnt positions, where the order of words decides.")
def attention_with_positions() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[2];\n"
        "model:layers embedding(table, size=6, shape=[16]),\n"
        "  positionalEmbedding(place, size=8, name=seen),\n"
        "  attend(q, k, v, o, heads=2), residual(to=seen), relu(),\n"
        "  reduceMean(axes=[sequence]), matmul(w), add(b), softmax();\n"
    )
    data = of(*order(400), length="max")
    return Setup(text, data, {"seeds": 2, "epochs": 20, "optimizer": "adam"})


@sound("A mean of word vectors and no positions: order does not matter for topics.")
def bag_of_words() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers embedding(table, size=40, shape=[12]), reduceMean(axes=[sequence]),\n"
        f"  {dense(12)}, {dense(3, 'softmax')};\n{DENSE}\n"
    )
    return Setup(text, of(*topics(), length="max"), {"seeds": 5})


@sound("A causal language model with tied embeddings.")
def language_model() -> Setup:
    text = (
        "model:input int32 shape=[] sequence=true;\nmodel:output shape=[8];\n"
        "model:param table shape=[8, 16] init=normal(0.3);\n"
        "model:layers embedding(table), positionalEmbedding(position, size=12, name=seen),\n"
        "  attend(q, k, v, o, heads=2, causal=true), residual(to=seen, name=mixed),\n"
        "  matmul(u, shape=[32]), add(b), gelu(), matmul(d, shape=[16]), residual(to=mixed),\n"
        "  matmul(table, bTranspose=true), softmax();\n"
    )
    return Setup(
        text,
        lambda seed: TextDataset(letters(), 12, seed=seed),
        {"seeds": 2, "epochs": 15, "optimizer": "adam"},
    )


@sound("A gru over sixteen steps, with clipping of the gradient.")
def gru_with_clipping() -> Setup:
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers gru(w, r, bias=b, hiddenSize=12), matmul(v), add(c), softmax();\n"
    )
    settings = {"seeds": 2, "epochs": 15, "optimizer": "adam", "gradient_clipping": "global"}
    return Setup(text, of(*waves(200), length="max"), settings)


@sound("An lstm over series of unequal lengths, padded and masked by the dataset.")
def lstm_of_unequal_lengths() -> Setup:
    x, y = waves(160)
    ends = np.random.default_rng(63).integers(10, 17, 160)
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[3];\n"
        "model:layers lstm(w, r, bias=b, hiddenSize=10), matmul(v), add(c), softmax();\n"
    )
    data = of([series[:end] for series, end in zip(x, ends, strict=True)], y, length="max")
    return Setup(text, data, {"seeds": 2, "epochs": 12, "optimizer": "adam"})


@sound("A one-dimensional convolution over a series.")
def convolution_of_series() -> Setup:
    x, y = waves()
    text = (
        "model:input shape={channels:1, time:16};\nmodel:output shape=[3];\n"
        "model:layers conv1d(f, filters=8, kernel=5, bias=b), relu(), reduceMax(axes=[-1]),\n"
        "  matmul(w), add(c), softmax();\n"
    )
    return Setup(text, of(x.transpose(0, 2, 1), y), {"seeds": 5, "epochs": 20})


def _pictures() -> Data:
    x, y = bars(240)
    return of(x[:, None], y)


def _convolutions(layers: str) -> str:
    return (
        "model:input shape={channels:1, height:8, width:8};\nmodel:output shape=[4];\n"
        f"model:layers {layers},\n  matmul(w), add(b), softmax();\n"
    )


@sound("Two convolutions and a pooling, on pixels from 0 to 1.")
def small_convolutional_network() -> Setup:
    text = _convolutions(
        "conv2d(f, filters=6, kernel=3, padding=same, bias=c), relu(),\n"
        "  maxPool2d(windowDimensions=2, strides=2),\n"
        "  conv2d(g, filters=8, kernel=3, padding=same, bias=d), relu(), flatten(), dropout(0.2)"
    )
    return Setup(text, _pictures(), {"seeds": 2, "epochs": 10})


@sound("A global average of channels before the head, where places do not matter.")
def global_average_before_the_head() -> Setup:
    text = _convolutions(
        "conv2d(f, filters=8, kernel=3, padding=same, bias=c), relu(),\n"
        "  conv2d(g, filters=12, kernel=3, padding=same, bias=d), relu(), globalAveragePool()"
    )
    return Setup(text, _pictures(), {"seeds": 2, "epochs": 15, "optimizer": "adam"})


@sound("Convolutions with a stride of 2 and a kernel of 3, in place of pooling.")
def strides_in_place_of_pooling() -> Setup:
    text = _convolutions(
        "conv2d(f, filters=8, kernel=3, strides=2, padding=same, bias=c), relu(), flatten()"
    )
    return Setup(text, _pictures(), {"seeds": 5, "epochs": 15})
