"""Networks as StableHLO modules: golden texts, open sizes, what needs its sizes."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.places import VALID
from tests.unit.formats.stablehlo_cases import (
    CNN,
    GOLDEN,
    IRIS,
    TRANSFORMER,
    golden_file,
    inference_text,
    loss_text,
    losses,
    network,
    step_settings,
    train,
    train_text,
)
from webnnm import DataError, GraphBuilder, ModelError, WebNNMError
from webnnm.formats.stablehlo.check import check_stablehlo
from webnnm.formats.stablehlo.lowering import graph_text

NEED_SIZES = {"10-gather-sequence", "15-lstm-classifier", "16-gru-tagger", "23-encoder-decoder"}
"""Examples with a percentage of a sequence, unrolled layers, a table of positions."""


def signature(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return names and types of the arguments and of the results."""
    arguments, _, results = text.splitlines()[1].partition(" -> ")
    pattern = r'(tensor<[^>]*>) \{webnnm\.name = "([^"]*)"\}'
    given, found = (re.findall(pattern, part) for part in (arguments, results))
    return [(n, t) for t, n in given], [(n, t) for t, n in found]


@pytest.mark.skipif(sys.platform == "emscripten", reason="golden files are not sent into the page")
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_texts(name: str) -> None:
    text = GOLDEN[name]()
    assert text == golden_file(name).read_text(), "python -m tests.unit.formats.stablehlo_cases"
    assert check_stablehlo(text)


@pytest.mark.desktop
def test_every_valid_example_becomes_modules() -> None:
    found = 0
    for path in sorted(VALID.glob("*.nnm")):
        facts = json.loads(path.with_suffix(".json").read_text("utf-8"))
        example, lengths = network(path.read_text("utf-8")), facts.get("sequence") or {}
        writers = [lambda b, s, e=example: inference_text(e, b, s)]
        try:
            chosen = losses(example, lengths)
            step = step_settings(example, chosen)
        except DataError as error:  # nothing to train in some
            assert error.code in ("NNM604", "NNM706")
        else:
            writers += [
                lambda b, s, e=example, c=chosen: loss_text(e, c, b, s),
                lambda b, s, e=example, p=step: train_text(e, p, b, s),
            ]
        for number, write in enumerate(writers):
            for batch, sequence in ((facts["batch"], lengths), (None, {})):
                try:
                    text = write(batch, sequence)
                except WebNNMError as error:
                    untrainable = number == 2 and error.code in ("NNM605", "NNM606")
                    open_size = batch is None and error.code == "NNM902"
                    assert untrainable or (open_size and path.stem in NEED_SIZES), path.stem
                    assert untrainable or error.line, "the error tells its place"
                else:
                    assert check_stablehlo(text)
                    assert batch is None or "?" not in text
                    found += 1
    assert found > 100


def test_arguments_and_results_of_inference() -> None:
    given, found = signature(inference_text(network(IRIS)))
    assert given == [
        ("iris", "tensor<?x4xf32>"),
        ("w1", "tensor<4x8xf32>"),
        ("b1", "tensor<8xf32>"),
        ("w2", "tensor<8x3xf32>"),
        ("b2", "tensor<3xf32>"),
    ]
    assert found == [("iris", "tensor<?x3xf32>")]


def test_arguments_and_results_of_a_loss() -> None:
    chosen = losses(network(IRIS), {})
    given, found = signature(loss_text(network(IRIS), chosen, 5))
    assert given[:3] == [
        ("iris", "tensor<5x4xf32>"),
        ("target/iris", "tensor<5x3xf32>"),
        ("valid_count", "tensor<f32>"),
    ]
    assert [name for name, _ in given[3:]] == ["w1", "b1", "w2", "b2"]
    assert found == [("loss/iris", "tensor<f32>")]


def test_arguments_and_results_of_a_step() -> None:
    given, found = signature(train(CNN, None, optimizer="adam", gradient_clipping="global"))
    names = [name for name, _ in given]
    assert names[:3] == ["digits", "target/digits", "valid_count"]
    assert names[-2:] == ["lr", "1/S"]
    assert ("f1", "tensor<4x1x3x3xf32>") in given
    assert {"clip/mean", "clip/deviation", "clip/count", "clock/beta1", "opt/m/f1"} <= {*names}
    assert ("random/dropout1/0", "tensor<?x16xf32>") in given
    assert [name for name, _ in found[-2:]] == ["loss/digits", "overflow"]
    assert found[-1] == ("overflow", "tensor<ui8>")
    states = [name for name, _ in found[:-2]]
    assert states == [name for name in names if name in states], "in the order of the arguments"
    assert {"f1", "opt/v/f1", "random/dropout1/2", "clip/count"} <= {*states}


def test_a_step_with_scaling_and_accumulation_has_their_states() -> None:
    given, found = signature(train(IRIS, 4, gradient_scaling="on", accumulate=2))
    names = [name for name, _ in given]
    assert names[-3:] == ["lr", "due", "1/S"]
    assert {"scale/value", "scale/clean", "scale/streak", "sum/rows", "sum/w1"} <= {*names}
    assert ("scale/value", "tensor<f32>") in found


def test_parameters_never_get_an_open_size() -> None:
    given, found = signature(inference_text(network(TRANSFORMER)))
    assert given[0] == ("words", "tensor<?x?x8xf32>")
    assert found == [("words", "tensor<?x?x8xf32>")]
    assert all("?" not in type for _, type in given[1:])


def test_sizes_are_fixed_one_by_one() -> None:
    for batch, sequence, type in (
        (2, {}, "tensor<2x?x8xf32>"),
        (None, {"words": 7}, "tensor<?x7x8xf32>"),
        (2, {"words": 7}, "tensor<2x7x8xf32>"),
    ):
        text = inference_text(network(TRANSFORMER), batch, sequence)
        assert signature(text)[0][0] == ("words", type)
        assert check_stablehlo(text)


STRIDED = """
m:input shape=[3] sequence=true;
m:output shape=[2];
m:layers conv1d(w, filters=4, kernel=3, strides=2), relu(), reduceMean(axes='sequence'),
  matmul(v), add(b);
"""


def test_a_size_after_a_stride_is_read_off_the_tensor_that_has_it() -> None:
    text = inference_text(network(STRIDED))
    assert check_stablehlo(text)
    lines = [line for line in text.splitlines() if "get_dimension_size" in line]
    assert any("%arg0" not in line for line in lines)


@pytest.mark.parametrize(
    ("layers", "column", "message"),
    [
        ("lstm(w, r, hiddenSize=3)", 10, '"lstm1": its graph differs between sizes'),
        ("gather(shape={sequence:50%}, axis='sequence'), reduceSum(axes='sequence')", 10,
         "a size is not a multiple of an open size plus a number"),
        ("positionalEncoding(), reduceSum(axes='sequence')", 10,
         "it has a different table float32[?, 4]"),
    ],
)  # fmt: skip
def test_what_needs_its_size_is_nnm902_at_its_place(layers: str, column: int, message: str) -> None:
    size = 3 if layers.startswith("lstm") else 4
    source = f"m:input shape=[4] sequence=steps;\nm:output shape=[{size}];\nm:layers {layers};"
    with pytest.raises(ModelError) as caught:
        inference_text(network(source))
    assert (caught.value.code, caught.value.line, caught.value.column) == ("NNM902", 3, column)
    assert message in caught.value.message
    assert "hint: sequence=128 fixes the length of sequences" in str(caught.value)
    assert check_stablehlo(inference_text(network(source), None, {"steps": 6}))


RECURRENT = """
m:input shape=[4] sequence=steps;
m:output shape=[3];
m:layers gru(w, r, bias=b, hiddenSize=5, direction=both, returnSequence=true),
  lstm(w, r, hiddenSize=3, direction=backward);
"""


def test_recurrent_layers_are_loops_where_that_is_asked_for() -> None:
    found = network(RECURRENT)
    unrolled = inference_text(found, 2, {"steps": 4})
    looped = inference_text(found, 2, {"steps": 4}, loops=True)
    assert "stablehlo.while" not in unrolled
    assert looped.count("stablehlo.while") == 3, "one for each direction"
    assert check_stablehlo(looped)
    longer = inference_text(found, 2, {"steps": 40}, loops=True)
    assert len(longer.splitlines()) == len(looped.splitlines())


def test_loops_take_sequences_of_any_length() -> None:
    text = inference_text(network(RECURRENT), loops=True)
    assert signature(text)[0][0] == ("m", "tensor<?x?x4xf32>")
    assert check_stablehlo(text)
    whole = loss_text(network(RECURRENT), losses(network(RECURRENT), {"steps": 3}), loops=True)
    assert check_stablehlo(whole)


def test_a_loop_that_was_changed_is_refused() -> None:
    text = inference_text(network(RECURRENT), 2, {"steps": 4}, loops=True)
    place = text.index("dynamic_update_slice")
    start, end = text.index("tensor<i32>", place), text.index("\n", place)
    line = text[start:end].replace("tensor<i32>", "tensor<i64>")
    with pytest.raises(ModelError):
        check_stablehlo(text[:start] + line + text[end:])


def test_windows_that_are_long_are_tried_with_longer_sequences() -> None:
    source = STRIDED.replace("kernel=3, strides=2", "kernel=90")
    assert check_stablehlo(inference_text(network(source)))


def test_sequences_that_there_are_not() -> None:
    with pytest.raises(DataError) as caught:
        inference_text(network(TRANSFORMER), 1, {"wordz": 3})
    assert caught.value.code == "NNM711"
    assert caught.value.hint == 'did you mean "words"?'


@pytest.mark.parametrize(
    ("values", "operation"),
    [
        (lambda n: [0.5] * n, "dynamic_broadcast_in_dim"),
        (lambda n: [3.0 + 2 * k for k in range(n)], "dynamic_iota"),
        (lambda n: [float(n)] * n, "convert"),
    ],
)
def test_constants_that_follow_from_an_open_size(values: object, operation: str) -> None:
    graphs = []
    for size in (5, 8, 12):
        b = GraphBuilder()
        x = b.input("x", "float32", [size])
        graphs.append(b.build({"y": x + b.constant(values(size), "float32")}))  # type: ignore[operator]
    text = graph_text(graphs)
    assert f"stablehlo.{operation}" in text
    assert check_stablehlo(text)
