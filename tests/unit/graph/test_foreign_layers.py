"""Layers of Keras and PyTorch are known, and what is said to write can be written."""

from __future__ import annotations

import re

import pytest

from tests.unit.graph.texts import fails, network
from webnnm import ops
from webnnm.core.spelling import normalize_name
from webnnm.graph.hints.foreign_layers import HINTS, LAYERS, OPERATORS
from webnnm.graph.hints.foreign_words import layer_hint

KERAS = """
Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
AdaptiveMaxPooling1D AdaptiveMaxPooling2D Add AdditiveAttention AlphaDropout Attention Average
AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Bidirectional
CategoryEncoding CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
Conv3DTranspose ConvLSTM1D ConvLSTM2D Cropping1D Cropping2D Cropping3D Dense DepthwiseConv1D
DepthwiseConv2D Discretization Dot Dropout EinsumDense ELU Embedding Flatten GaussianDropout
GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention GRU
GRUCell HashedCrossing Hashing Identity InputLayer IntegerLookup Lambda LayerNormalization
LeakyReLU LSTM LSTMCell Masking Maximum MaxPooling1D MaxPooling2D MaxPooling3D Minimum
MultiHeadAttention Multiply Normalization Permute PReLU RandomFlip RandomRotation ReLU RepeatVector
Rescaling Reshape Resizing RMSNormalization RNN SeparableConv1D SeparableConv2D SimpleRNN
SimpleRNNCell Softmax SpatialDropout1D SpatialDropout2D SpectralNormalization StackedRNNCells
StringLookup Subtract TextVectorization TimeDistributed UnitNormalization UpSampling1D UpSampling2D
ZeroPadding1D ZeroPadding2D ZeroPadding3D
""".split()  # noqa: SIM905 (names, as in their documentation)
PYTORCH = """
Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MaxPool1d MaxPool2d MaxPool3d
MaxUnpool1d MaxUnpool2d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d LPPool1d LPPool2d
AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d ReflectionPad1d
ReflectionPad2d ReplicationPad1d ReplicationPad2d ZeroPad1d ZeroPad2d ConstantPad1d ConstantPad2d
Hardshrink Hardsigmoid Hardtanh Hardswish LogSigmoid MultiheadAttention ReLU6 RReLU SELU CELU GELU
Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink Threshold GLU Softmin Softmax2d
LogSoftmax BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm SyncBatchNorm InstanceNorm2d LayerNorm
LocalResponseNorm RMSNorm RNNCell TransformerEncoder TransformerDecoder TransformerEncoderLayer
Linear Bilinear LazyLinear LazyConv2d Dropout1d Dropout2d Dropout3d FeatureAlphaDropout EmbeddingBag
PixelShuffle Upsample UpsamplingNearest2d UpsamplingBilinear2d Unflatten Sequential ModuleList
""".split()  # noqa: SIM905 (names, as in their documentation)
TAILS = (
    ", flatten(), matmul(last);",
    ", matmul(last);",
    ", reduceMean(axes=[sequence]), matmul(last);",
)
HEADS = (
    "m:input shape={channels:4, height:8, width:8}; m:output shape=[3]; m:layers relu(name=a), ",
    "m:input shape={length:8, channels:4}; m:output shape=[3]; m:layers relu(name=a), ",
    "m:input shape=[16, 8, 8]; m:output shape=[3]; m:layers relu(name=a), ",
    "m:input shape=[4]; m:output shape=[3]; m:layers relu(name=a), tanh(name=b), ",
    "m:input shape=[4] sequence=true; m:output shape=[3]; m:layers relu(name=a), ",
    "m:input int32 shape=[] sequence=true; m:output shape=[3]; m:layers ",
)
CALL = re.compile(r"\w+\((?:[^()]|\([^()]*\))*\)(?:, \w+\((?:[^()]|\([^()]*\))*\))*")


@pytest.mark.parametrize("name", sorted({*KERAS, *PYTORCH}))
def test_every_layer_of_other_libraries_is_known(name: str) -> None:
    operators = {normalize_name(word) for word in ops.operator_names()}
    assert normalize_name(name) in operators or normalize_name(name) in LAYERS


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_operators_exist(operator: str) -> None:
    assert ops.lookup(operator) is not None


def models(call: str, blocks: str = "") -> int:
    """Return in how many contexts a call of layers is right."""
    right = 0
    for head in HEADS:
        for tail in TAILS:
            try:
                network(head + call + tail + blocks)
            except Exception as error:
                assert getattr(error, "code", "").startswith("NNM"), error
            else:
                right += 1
    return right


@pytest.mark.parametrize("hint", [hint for hint in HINTS if hint.startswith("write ")])
def test_what_is_said_to_write_is_a_model(hint: str) -> None:
    calls = CALL.findall(hint)
    if "statement" not in hint and calls:
        assert models(calls[0])
    else:
        assert "()" not in hint.replace("lstm or gru", "") or calls


@pytest.mark.parametrize("hint", [hint for hint in HINTS if hint.startswith("define it")])
def test_what_is_said_to_define_is_a_block(hint: str) -> None:
    block = hint.partition(": ")[2]
    assert models(f"{block.partition(':')[0]}()", " " + block)


def test_a_word_that_nobody_knows_is_declared_first() -> None:
    assert layer_hint("frobnicate", ["relu"]).startswith("declare it first")


PICTURE = HEADS[0]


@pytest.mark.parametrize(
    ("code", "layers", "hint"),
    [
        ("NNM403", "conv2d(k), flatten(), matmul(w);", "write filters=8, kernel=3"),
        ("NNM403", "conv2d(k, filters=8), flatten(), matmul(w);", "write kernel=3"),
        ("NNM301", "scatterND(a, axis=0), flatten(), matmul(w);", 'write "coords"'),
        ("NNM205", "reduceVariance([b]), flatten(), matmul(w);", "write axes=[b]"),
        ("NNM302", "tanh(name=d), concat([a], axis=0), matmul(w);", "write concat([d, a], axis=…)"),
        ("NNM302", "tanh(), concat([a], axis=0), matmul(w);", "and concat([x, a], axis=…)"),
        ("NNM302", "tanh(name=d), add([a]), matmul(w);", "write add([d, a])"),
        ("NNM301", "softplus(steepness=2), flatten(), matmul(w);", "softplus(), mul(0.5)"),
        ("NNM301", "conv2d(k, filters=2, kernel=3, autoPad=same), matmul(w);", "padding=same"),
        ("NNM304", "meanVarianceNormalization(mean=a), matmul(w);", "both statistics"),
    ],
)
def test_hints_name_what_is_missing(code: str, layers: str, hint: str) -> None:
    assert hint in fails(code, PICTURE + layers).hint


def test_a_merge_that_drops_the_main_path_is_named() -> None:
    text = PICTURE + "tanh(name=b), silu(), add([a, b]), flatten(), matmul(w);"
    (warning,) = network(text).warnings
    assert warning.code == "NNM002" and '"add1" takes what its list names' in warning.message
    assert text[warning.span.start :].startswith("silu")
