"""What the recurrent operators refuse: an error that names operand, numbers and rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, network
from webnnm import GraphBuilder
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.ops.declare.tensors import OperatorError

LSTM = ((4, 3, 2), (1, 20, 2), (1, 20, 5))
GRU = ((4, 3, 2), (1, 15, 2), (1, 15, 5))
CELL = ((3, 2), (20, 2), (20, 5), (3, 5), (3, 5))


@pytest.mark.parametrize(
    ("code", "words", "name", "shapes", "options"),
    [
        ("NNM302", '"lstm" takes 3 to 8 operands, 2 given', "lstm", LSTM[:2], {}),
        ("NNM405", 'input of "lstm" is float32[3, 2], needs rank 3', "lstm",
         ((3, 2), *LSTM[1:]), {}),
        ("NNM404", "weight is [1, 20, 3], not [1, 20, 2] for hidden size 5 and input [4, 3, 2]",
         "lstm", (LSTM[0], (1, 20, 3), LSTM[2]), {}),
        ("NNM404", "weight is [1, 20, 2], not [2, 20, 2]", "lstm", LSTM, {"direction": "both"}),
        ("NNM404", "recurrentWeight is [1, 20, 4], not [1, 16, 4]", "lstm",
         (LSTM[0], (1, 16, 2), (1, 20, 4)), {}),
        ("NNM404", "bias is [1, 15], not [1, 20]", "lstm", (*LSTM, (1, 15)), {}),
        ("NNM404", "peepholeWeight is [1, 20], not [1, 15]", "lstm", (*LSTM, None, None, (1, 20)),
         {}),
        ("NNM404", "initialHiddenState is [1, 3, 4], not [1, 3, 5]", "lstm",
         (*LSTM, None, None, None, (1, 3, 4)), {}),
        ("NNM303", "steps of \"lstm\": 3 steps, but the input float32[4, 3, 2] has 4", "lstm", LSTM,
         {"steps": 3}),
        ("NNM303", "hidden_size of \"gru\": 4, the recurrent weights float32[1, 15, 5] have 5",
         "gru", GRU, {"hidden_size": 4}),
        ("NNM303", "'sideways' is not one of forward, backward, both", "gru", GRU,
         {"direction": "sideways"}),
        ("NNM303", "'iofg' is not one of zrn, rzn", "gru", GRU, {"layout": "iofg"}),
        ("NNM303", "3 activations, 2 expected", "gru", GRU, {"activations": ["relu"] * 3}),
        ("NNM303", "'relu' is not a list", "gru", GRU, {"activations": "relu"}),
        ("NNM303", "3 is not an activation", "gru", GRU, {"activations": ["relu", 3]}),
        ("NNM204", '"rleu" is not an activation', "gru", GRU, {"activations": ["relu", "rleu"]}),
        ("NNM303", "1 is neither true nor false", "gru", GRU, {"reset_after": 1}),
        ("NNM301", '"gru" has no option "peephole_weight"', "gru", GRU, {"peephole_weight": None}),
        ("NNM404", "weight is [1, 12, 2], not [1, 15, 2]", "gru",
         (GRU[0], (1, 12, 2), GRU[2]), {"activations": ["sin", "tanh"]}),
        ("NNM302", '"lstmCell" takes 5 to 8 operands, 4 given', "lstm_cell", CELL[:4], {}),
        ("NNM404", "cellState is [2, 5], not [3, 5]", "lstm_cell", (*CELL[:4], (2, 5)), {}),
        ("NNM405", "needs rank 2", "gru_cell", (*GRU, (3, 5)), {}),
    ],
)  # fmt: skip
def test_tensor_operators(code: str, words: str, name: str, shapes: Any, options: Any) -> None:
    b = GraphBuilder()
    xs = [s if s is None else b.input(f"x{k}", "float32", s) for k, s in enumerate(shapes)]
    with pytest.raises(OperatorError) as caught:
        getattr(b, name)(*xs, **options)
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value


def test_types_are_those_of_the_input() -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", LSTM[0]), b.input("w", "float16", LSTM[1])
    with pytest.raises(OperatorError) as caught:
        b.lstm(x, w, b.input("r", "float32", LSTM[2]))
    assert (caught.value.code, caught.value.message) == (
        "NNM501",
        'operands of "lstm" are float32 and float16',
    )


def text(layers: str, *more: str, input: str = "shape=[2] sequence=true") -> str:
    return "\n".join([f"m:input {input};", "m:output shape=[5];", f"m:layers {layers};", *more])


@pytest.mark.parametrize(
    ("code", "marked", "says"),
    [
        ("NNM302", text("¦lstm(w)"), '"lstm" takes 2 to'),
        ("NNM405", text("¦lstm(w, r)", input="shape=[2, 3] sequence=true"),
         "needs 1 feature dimension, not [2, 3]"),
        ("NNM411", text("¦lstm(w, r)", input="shape=[2]"), "needs a sequence"),
        ("NNM406", text("¦gru(w, r, direction=both)"), "5 features, 2 directions"),
        ("NNM402", text("gru(w, r, hiddenSize=4, shape=¦[5])"), "declared [5]"),
        ("NNM404", text("¦gru(k, r)", "m:param k shape=[1, 15, 3];"),
         "weight [1, 15, 3], but the other operands need [1, 15, 2]"),
        ("NNM404", text("¦gru(w, r, initialHiddenState=k)", "m:param k shape=[4];"), "state [4]"),
        ("NNM303", text("gru(w, r, ¦layout=iofg)"), "expected zrn or rzn"),
        ("NNM303", text("lstm(w, r, ¦direction=up)"), "expected forward or backward or both"),
        ("NNM303", text("lstm(w, r, ¦hiddenSize=0)"), "0 is less than 1"),
        ("NNM303", text("lstm(w, r, ¦activations=[relu])"), "a list of 3 activations"),
        ("NNM205", text("lstm(w, r, name=l), ¦add(l.sequence)"), '"l" has 3 results'),
        ("NNM205", text("gruCell(w, r, ¦h)"), 'unknown name "h"'),
        ("NNM205", text("gru(w, r, ¦initialHiddenState=h)"), 'unknown name "h"'),
        ("NNM301", text("gru(w, r, ¦peepholeWeight=p)"), 'no option "peepholeWeight"'),
    ],
)  # fmt: skip
def test_layers(code: str, marked: str, says: str) -> None:
    fails(code, marked, says=says)


def test_an_unknown_activation_stands_at_its_layer() -> None:
    found = network(text("gru(w, r, activations=[sigmoid, tahn])"))
    with pytest.raises(ModelError) as caught:
        lower_network(found, sequence={"sequence": 2})
    assert caught.value.code == "NNM204"
    assert '"tahn" is not an activation' in caught.value.message
    assert (caught.value.line, caught.value.column) == (3, 10)
