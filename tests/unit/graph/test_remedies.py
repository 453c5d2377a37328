"""What newcomers write, and the hints that they get."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import fails, network
from webnnm import ops
from webnnm.core.spelling import normalize_name
from webnnm.graph.elaboration.loss_words import loss_name
from webnnm.graph.hints.foreign_layers import LAYERS
from webnnm.graph.hints.foreign_words import LOSSES, OPTIONS

VECTOR = "m:input shape=[4];\nm:output shape=[3];\nm:layers "
IMAGE = "m:input shape={channels:1, height:28, width:28};\nm:output shape=[10];\nm:layers "
STEPS = "m:input shape=[4] sequence=true;\nm:output shape=[3];\nm:layers "


@pytest.mark.parametrize(
    ("code", "text", "hint"),
    [
        (
            "NNM301",
            IMAGE + "conv2d(k, kernel_size=3, filters=8), flatten(), matmul(w);",
            'write "kernel"',
        ),
        (
            "NNM204",
            IMAGE + "Conv2d(1, 32, kernel_size=3), flatten(), matmul(w);",
            'did you mean "conv2d"?',
        ),
        (
            "NNM405",
            IMAGE + "conv2d(32, 3), flatten(), matmul(w);",
            "write conv2d(filter, filters=32)",
        ),
        ("NNM405", IMAGE + "conv2d(32), flatten(), matmul(w);", "write conv2d(filter, filters=32)"),
        (
            "NNM301",
            IMAGE + "conv2d(k, out_channels=8, kernel=3, stride=2), flatten(), matmul(w);",
            'write "filters"',
        ),
        ("NNM301", VECTOR + "matmul(w), dropout(rate=0.5);", 'write "p"'),
        ("NNM301", STEPS + "lstm(w, r, units=3);", 'write "hiddenSize"'),
        (
            "NNM302",
            STEPS + "lstm(64), matmul(w);",
            "write lstm(weight, recurrentWeight, hiddenSize=64)",
        ),
        (
            "NNM301",
            STEPS + "lstm(w, r, hidden_size=3, batch_first=true);",
            'did you mean "hiddenSize"?',
        ),
        (
            "NNM301",
            STEPS + "lstm(w, r, hiddenSize=3, return_sequences=true);",
            'write "returnSequence"',
        ),
        (
            "NNM110",
            STEPS + "lstm, matmul(w);",
            "the parentheses hold operands and options: matmul(w), lstm(w, r, hiddenSize=64)",
        ),
        (
            "NNM204",
            VECTOR + "dense(10, activation=relu);",
            "dense:layers matmul(w, shape=[units]), add(b), activation();",
        ),
        (
            "NNM204",
            VECTOR + "Dense(3);",
            "dense:layers matmul(w, shape=[units]), add(b), activation();",
        ),
        (
            "NNM204",
            VECTOR + "dense(units=3);",
            "dense:layers matmul(w, shape=[units]), add(b), activation();",
        ),
        (
            "NNM204",
            VECTOR + "Linear(4, 3);",
            "dense:layers matmul(w, shape=[units]), add(b), activation();",
        ),
        (
            "NNM302",
            VECTOR + "linear(3);",
            "dense:layers matmul(w, shape=[units]), add(b), activation();",
        ),
        (
            "NNM601",
            VECTOR + "matmul(w), softmax();\nm:loss categorical_crossentropy;",
            'did you mean "categoricalCrossEntropy"?',
        ),
        (
            "NNM601",
            VECTOR + "matmul(w), softmax();\nm:loss sparse_categorical_crossentropy;",
            'did you mean "sparseCategoricalCrossEntropy"?',
        ),
        ("NNM601", VECTOR + "matmul(w);\nm:loss mse;", 'did you mean "MSE"?'),
        ("NNM601", VECTOR + "matmul(w);\nm:loss bce;", 'did you mean "BCE"?'),
        (
            "NNM601",
            VECTOR + "matmul(w);\nm:loss CrossEntropyLoss;",
            "write CCE for one-hot labels, SCE for class numbers, BCE for yes/no",
        ),
        ("NNM601", VECTOR + "matmul(w);\nm:loss smooth_l1;", 'write "HUL"'),
        ("NNM601", VECTOR + "matmul(w);\nm:loss mse_loss;", 'write "MSE"'),
        (
            "NNM302",
            IMAGE + "maxPool2d(2), flatten(), matmul(w);",
            "write maxPool2d(windowDimensions=2)",
        ),
        ("NNM204", IMAGE + "MaxPooling2D(2), flatten(), matmul(w);", 'write "maxPool2d"'),
        ("NNM204", IMAGE + "max_pool2d(2), flatten(), matmul(w);", 'did you mean "maxPool2d"?'),
        (
            "NNM402",
            IMAGE + "conv2d(k, kernel=3, filters=8), relu(), matmul(w), softmax();",
            '"matmul1" in line 3 keeps 3 dimensions: write flatten() before it',
        ),
        (
            "NNM408",
            IMAGE.replace("{channels:1, height:28, width:28}", "[28, 28, 1]")
            + "conv2d(k, kernel=3);",
            "channels come first if dimensions have no names: write shape={height:28,",
        ),
        (
            "NNM402",
            VECTOR + "matmul(w, shape=[10]), add(b), softmax();",
            '"matmul1" in line 3 has that shape: write shape=[3] there, or leave it out',
        ),
        (
            "NNM402",
            VECTOR + "relu();",
            "the flow still has the shape of the input: matmul(w) changes it",
        ),
        ("NNM204", VECTOR + "rleu(), matmul(w);", 'did you mean "relu"?'),
        ("NNM204", VECTOR + "ReLU(), matmul(w);", 'did you mean "relu"?'),
        ("NNM101", VECTOR + "nn.ReLU(), matmul(w);", 'write "ReLU" alone'),
        ("NNM204", VECTOR + "leaky_relu(), matmul(w);", 'did you mean "leakyRelu"?'),
        ("NNM204", VECTOR + "BatchNorm2d(), matmul(w);", 'write "batchNormalization"'),
        (
            "NNM204",
            VECTOR + "LayerNormalization(), matmul(w);",
            'did you mean "layerNormalization"?',
        ),
        ("NNM204", VECTOR + "Flatten(), matmul(w);", 'did you mean "flatten"?'),
        (
            "NNM204",
            VECTOR + "activation(relu), matmul(w);",
            "write the activation as a layer: relu()",
        ),
        (
            "NNM109",
            "m:input shape=[null, 4];\nm:output shape=[3];\nm:layers matmul(w);",
            "leave the batch out: shapes are those of one row, as in shape=[4]",
        ),
        (
            "NNM109",
            "m:input shape=[None, 4];\nm:output shape=[3];\nm:layers matmul(w);",
            "leave the batch out: shapes are those of one row, as in shape=[4]",
        ),
        (
            "NNM109",
            "m:input shape=[-1, 4];\nm:output shape=[3];\nm:layers matmul(w);",
            'found "-1"; shapes do not include the batch',
        ),
        (
            "NNM109",
            "m:input shape=[batch, 4];\nm:output shape=[3];\nm:layers matmul(w);",
            "leave the batch out: shapes are those of one row, as in shape=[4]",
        ),
        (
            "NNM108",
            "m:input shape=(4);\nm:output shape=[3];\nm:layers matmul(w);",
            "a single size is a list, too: shape=[4]",
        ),
        ("NNM405", VECTOR + "matmul(128), matmul(w);", "write matmul(w, shape=[128])"),
        ("NNM302", VECTOR + "softmax(1), matmul(w);", "write softmax(axis=1)"),
        ("NNM302", IMAGE + "conv2d(filters=8, kernel=3), relu();", "write conv2d(filter, …)"),
        ("NNM302", STEPS + "lstm(hiddenSize=8), matmul(w);", "write lstm(weight, "),
        ("NNM110", VECTOR + "matmul(w), name=out;", "such as relu(name=…)"),
        ("NNM302", VECTOR + "leakyRelu(0.2), matmul(w);", "write leakyRelu(alpha=0.2)"),
        (
            "NNM302",
            VECTOR + "embedding(1000, 64), matmul(w);",
            "write embedding(table, size=1000, shape=[64])",
        ),
        ("NNM302", VECTOR + "reshape(2, 2), matmul(w);", "write reshape([2, 2])"),
        ("NNM204", VECTOR + "concatenate([input, input]), matmul(w);", 'write "concat"'),
        ("NNM301", VECTOR + "layerNorm(epsilon=1e-3, eps=1), matmul(w);", 'write "epsilon"'),
        ("NNM301", VECTOR + "batchNorm(momentum=0.9, eps=0.1), matmul(w);", 'write "epsilon"'),
        ("NNM301", STEPS + "attend(q, k, v, num_heads=2), matmul(w);", 'write "heads"'),
        ("NNM204", STEPS + "multiHeadAttention(heads=2), matmul(w);", 'write "attend"'),
        ("NNM204", STEPS + "bidirectional(), matmul(w);", "write direction=both in lstm or gru"),
        ("NNM301", VECTOR + "matmul(w, units=3);", 'write "shape"'),
        (
            "NNM301",
            VECTOR + "matmul(w, activation=relu);",
            "write the activation as a layer of its own after this one, such as relu()",
        ),
        ("NNM301", VECTOR + "matmul(w, bias=true);", "write add(b) after this layer"),
        ("NNM204", VECTOR + "globalAveragePooling2D(), matmul(w);", 'write "globalAveragePool"'),
        ("NNM204", VECTOR + "upsampling2d(), matmul(w);", 'write "resample2d"'),
        ("NNM204", VECTOR + "sigmod(), matmul(w);", 'did you mean "sigmoid"?'),
        ("NNM204", VECTOR + "swish(), matmul(w);", 'write "silu"'),
        (
            "NNM204",
            VECTOR + "mish(), matmul(w);",
            "define it: mish:layers softplus(), tanh(), mul(input);",
        ),
    ],
)
def test_what_newcomers_write(code: str, text: str, hint: str) -> None:
    assert hint in fails(code, text).hint


@pytest.mark.parametrize("word", ["dense", "mish"])
def test_blocks_of_hints_are_models(word: str) -> None:
    (block,) = [line for line in LAYERS[word].splitlines() if ":layers" in line]
    block = block.strip().removeprefix("define it: ")
    call = "dense(units=64, activation=relu)" if word == "dense" else f"{word}()"
    found = network(f"{VECTOR}{call}, matmul(w);\n{block}")
    assert len(found.layers) > 2


def test_foreign_words_are_none_of_ours_and_lead_to_ours() -> None:
    known = {ops.lookup(word).name for word in ops.operator_names()}
    for word, entry in LAYERS.items():
        assert normalize_name(word) == word
        assert " " in entry or entry in known, word
    spelled = {
        name
        for o in ops.registry().values()
        if o.layer is not None
        for name in o.layer.option_names()
    }
    for word, entries in OPTIONS.items():
        assert normalize_name(word) == word
        assert all(" " in entry or entry in {*spelled, "shape", "init"} for entry in entries), word
    for word, entry in LOSSES.items():
        assert normalize_name(word) == word
        assert loss_name(word) is None
        assert " " in entry or loss_name(entry) == entry, word
