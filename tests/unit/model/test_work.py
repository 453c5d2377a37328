"""How much work a model is taken to be: it decides whether a page fetches ONNX Runtime."""

from __future__ import annotations

import pytest

from webnnm import Dataset, parse
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.model.work import multiplications, seconds_on_numpy

LSTM = (
    "m:input shape=[3] sequence=true; m:output shape=[2];"
    "m:layers lstm(w, r, hiddenSize=5), matmul(w);"
)


CELL = (
    "m:input shape=[3]; h:input shape=[5]; c:input shape=[5]; m:output shape=[5];"
    "m:layers lstmCell(w, r, h, c, hiddenSize=5);"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m:input shape=[4]; m:output shape=[2]; m:layers matmul(w);", 8),
        (
            "m:input shape={channel:1, height:6, width:6}; m:output shape=[2];"
            "m:layers conv2d(f, filters=3, kernel=3, padding=same), flatten(), matmul(w);",
            36 * 27 + 108 * 2,
        ),
        (LSTM, 7 * 20 * (3 + 5) + 10),
        (CELL, 20 * (3 + 5)),
    ],
)
def test_products_are_counted(text: str, expected: int) -> None:
    network = elaborate(parse(text))
    names = {i.features[0].sequence for i in network.inputs} - {None}
    graph = lower_network(network, sequence={name: 7 for name in names if name}).graph()
    assert multiplications(graph) == expected


def test_a_training_is_more_than_inferences_and_grows_with_the_rows() -> None:
    network = elaborate(parse("m:input shape=[9]; m:output shape=[2]; m:layers matmul(w);"))

    def seconds(rows: int) -> float:
        data = Dataset([[1.0] * 9] * rows, [[1.0, 0.0]] * rows)
        return seconds_on_numpy(network, data)

    assert seconds_on_numpy(network, None) < seconds(10) == seconds(20) < seconds(20_000)


def test_a_sequence_that_has_to_be_longer_is_not_an_error() -> None:
    layers = "conv1d(f, filters=2, kernel=40), reduceMean(axes=[sequence]), matmul(w);"
    text = f"m:input shape=[3] sequence=true; m:output shape=[2]; m:layers {layers}"
    assert seconds_on_numpy(elaborate(parse(text)), None) > 0
