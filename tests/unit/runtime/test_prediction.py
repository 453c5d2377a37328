"""Padded rows in inference: lengths of a context, predictions of lists of different lengths."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel
from webnnm.runtime.inference.prediction import BUCKETS, MAX_LENGTHS
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH

np = pytest.importorskip("numpy")

MEAN = "m:input shape=[] sequence=words; m:output shape=[]; m:layers reduceMean(axes=[words]);"
TAGS = """
m:input shape=[2] sequence=words; m:output shape=[2] sequence=words;
m:layers attend(q, k, v), matmul(w);
"""
LSTM = """
m:input shape=[2] sequence=words; m:output shape=[3];
m:layers lstm(k, r, hiddenSize=4), matmul(w, shape=[3]), softmax();
"""
PAIR = """
a:input shape=[2] sequence=words; b:input int32 shape=[] sequence=words; c:input shape=[1];
y:output shape=[2]; z:output shape=[2] sequence=words;
z:layers codes(node=b, name=coded), add([a, coded]), tanh();
y:layers reduceMax(node=z, axes=[words]), add(c);
codes:layers embedding(e, shape=[2], size=5);
"""


async def create(source: str = MEAN, **settings: Any) -> NNModel:
    given = {"backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


def make_ragged(lengths: list[int], width: int = 2) -> list[Any]:
    draw = np.random.default_rng(sum(lengths))
    return [draw.normal(size=(n, width)).astype("float32").tolist() for n in lengths]


# Lengths of a context.


async def test_padding_has_no_part_in_the_results() -> None:
    model = await create()
    context = await model.create_context(2, sequence_length=3)
    rows = [[1, 2, 6], [5, 7, 700]]
    means: list[list[float]] = []
    for lengths in (None, [3, 1], [1, 2], None):
        context.set_lengths(None if lengths is None else {"words": lengths})
        context.set_data(rows)
        await model.run(context)
        means.append((await context.output()).tolist())
    whole = [3, pytest.approx(712 / 3)]
    assert means == [whole, [3, 5], [1, 6], whole]


async def test_data_and_lengths_hold_until_they_are_set_anew() -> None:
    model = await create()
    context = await model.create_context(2, sequence_length=2)
    context.set_data([[1, 3], [5, 9]])
    context.set_lengths({"words": [2, 1]})  # another graph, the same data
    await model.run(context)
    assert (await context.output()).tolist() == [2, 5]
    context.set_data([[1, 5], [7, 9]])
    await model.run(context)
    assert (await context.output()).tolist() == [3, 7]


async def test_graph_is_compiled_once_for_all_lengths() -> None:
    model = await create()
    context = await model.create_context(1, sequence_length=4)
    compiled = 0
    compile_ = model.backend.compile

    async def count_calls(graph: Any, **more: Any) -> Any:
        nonlocal compiled
        compiled += 1
        return await compile_(graph, **more)

    model.backend.compile = count_calls  # type: ignore[method-assign]
    context.set_data([[1, 2, 3, 4]])
    for n, expected in ((1, 1), (2, 1), (4, 1), (None, 2), (3, 3)):
        context.set_lengths({} if n is None else {"words": [n]})
        await model.run(context)
        assert compiled == expected


async def test_nothing_stays_of_graphs_that_were_replaced() -> None:
    model = await create()
    before = model.memory()
    context = await model.create_context(1, sequence_length=4)
    for lengths in (None, [2], None, [3]):
        context.set_data([[1, 2, 3, 4]])
        context.set_lengths(lengths and {"words": lengths})
        await model.run(context)
    context.close()
    assert model.memory() == before


@pytest.mark.parametrize(
    ("lengths", "code", "words"),
    [
        ({"word": [1, 1]}, "NNM710", 'did you mean "words"'),
        ({"words": [1]}, "NNM702", "1 lengths for a batch of 2"),
        ({"words": [1, 0]}, "NNM711", "row 1 is 0"),
        ({"words": [4, 1]}, "NNM711", "from 1 to 3"),
        ({"words": [1, 1.5]}, "NNM711", "row 1 is 1.5"),
        ({"words": [True, 1]}, "NNM711", "row 0 is True"),
    ],
    ids=repr,
)
async def test_lengths_that_do_not_fit(lengths: Any, code: str, words: str) -> None:
    context = await (await create()).create_context(2, sequence_length=3)
    with pytest.raises(DataError) as caught:
        context.set_lengths(lengths)
    assert caught.value.code == code
    assert words in str(caught.value)


async def test_lengths_need_the_length_of_the_sequence() -> None:
    context = await (await create()).create_context(2)
    with pytest.raises(DataError) as caught:
        context.set_lengths({"words": [1, 1]})
    assert caught.value.code == "NNM711"


# Predictions of rows of different lengths.


@pytest.mark.parametrize("source", [LSTM, TAGS])
@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
async def test_each_row_is_predicted_as_if_alone(source: str, batch_size: int) -> None:
    model = await create(source)
    rows = make_ragged([3, 1, 5, 2, 2])
    found = await model.predict(rows, batch_size)
    assert len(found) == 5
    alone = await create(source)
    for row, one in enumerate(rows):
        expected = (await alone.predict([one]))[0]
        assert np.shape(found[row]) == np.shape(expected)
        np.testing.assert_allclose(found[row], expected, rtol=1e-5, atol=1e-6)


async def test_rows_of_one_length_are_one_array() -> None:
    model = await create(TAGS)
    for lengths in ([4, 4, 4], [2, 2]):  # no length was set: it is that of the rows
        found = await model.predict(make_ragged(lengths))
        assert found.shape == (len(lengths), lengths[0], 2)


async def test_shorter_rows_need_no_other_graph() -> None:
    model = await create(LSTM)
    await model.predict(make_ragged([3, 6]))
    before = model.memory()
    await model.predict(make_ragged([2, 4]))
    assert model.memory() == before
    np.testing.assert_allclose(
        (await model.predict(make_ragged([7, 1])))[1],
        (await (await create(LSTM)).predict([make_ragged([7, 1])[1]]))[0],
        rtol=1e-5,
    )


async def test_inputs_of_one_sequence_and_of_none() -> None:
    model = await create(PAIR)
    rows = {"a": make_ragged([2, 3, 1]), "b": [[1, 2], [0, 3, 4], [2]], "c": [[1], [2], [3]]}
    found = await model.predict(rows, batch_size=2)
    assert found["y"].shape == (3, 2)
    assert [part.shape for part in found["z"]] == [(2, 2), (3, 2), (1, 2)]
    for row in range(3):
        one = {name: [values[row]] for name, values in rows.items()}
        alone = await (await create(PAIR)).predict(one)
        np.testing.assert_allclose(found["y"][row], alone["y"][0], rtol=1e-6)
        np.testing.assert_allclose(found["z"][row], alone["z"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        (
            {"a": make_ragged([2, 1]), "b": [[1], [1, 2]], "c": [[1], [1]]},
            "NNM702",
            "differ in length",
        ),
        ({"a": make_ragged([2, 1]), "b": [[1, 2], [1]], "c": [[1]]}, "NNM702", "but others have 2"),
        (
            {"a": make_ragged([2, 1]), "b": [[1, 2], []], "c": [[1], [1]]},
            "NNM702",
            "differ in length",
        ),
        ({"a": [[[1, 2]], []], "b": [[1], []], "c": [[1], [1]]}, "NNM711", "row 1"),
        ({"a": [[[1, 2]], [[1], [2]]], "b": [[1], [1, 2]], "c": [[1], [1]]}, "NNM702", "row 1"),
    ],
    ids=["lengths", "rows", "other", "empty", "shape"],
)
async def test_rows_that_do_not_fit(rows: Any, code: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        await (await create(PAIR)).predict(rows)
    assert caught.value.code == code
    assert words in str(caught.value)


async def test_sequences_of_fixed_length_bound_the_rows() -> None:
    model = await create(LSTM.replace("sequence=words", "sequence={words:4}"))
    rows = make_ragged([1, 4, 2])
    found = await model.predict(rows)
    np.testing.assert_allclose(found[0], (await model.predict([rows[0], rows[1]]))[0], rtol=1e-6)
    with pytest.raises(DataError) as caught:
        await model.predict(make_ragged([1, 5]))
    assert caught.value.code == "NNM711"


async def test_rows_are_standardised_where_they_are_valid() -> None:
    rows = [(10 + 2 * np.array(row)).tolist() for row in make_ragged([3, 1, 4, 2, 2, 5])]
    targets = np.eye(3)[[0, 1, 2, 0, 1, 2]].tolist()
    data = Dataset(rows, targets, length="max", standardize=True, split=(1, 0, 0))
    model = await create(LSTM, dataset=data)
    scaled, _ = data.arrays("training")
    mask = data.masks("training")["model"].public().astype(bool)
    own = [np.array(x)[m].tolist() for x, m in zip(scaled["model"].tolist(), mask, strict=True)]
    np.testing.assert_allclose(
        await model.predict(rows), await model.predict(own, raw=True), rtol=1e-4, atol=1e-6
    )


# Graphs.


def compilations(model: NNModel) -> list[Any]:
    """Note what is compiled from now on."""
    seen: list[Any] = []
    compile_ = model.backend.compile

    async def note_call(graph: Any, **more: Any) -> Any:
        seen.append(graph)
        return await compile_(graph, **more)

    model.backend.compile = note_call  # type: ignore[method-assign]
    return seen


DENSE = "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"


async def test_numbers_of_rows_share_a_few_graphs() -> None:
    model, exact = await create(DENSE), await create(DENSE)
    compiled = compilations(model)
    draw = np.random.default_rng(3).normal(size=(200, 3)).astype("float32")
    for rows in (1, 3, 1, 3, 1, 3, 2, 1):
        await model.predict(draw[:rows])
    assert len(compiled) == 2
    for rows in (*range(1, 70), 128, 129, 200):
        found = await model.predict(draw[:rows])
        assert found.shape == (rows, 2)
        np.testing.assert_allclose(found, await exact.predict(draw[:rows], rows), rtol=1e-6)
    assert len(compiled) == len({*BUCKETS, PREDICTION_BATCH})


async def test_a_batch_size_is_never_exceeded() -> None:
    model = await create(DENSE)
    seen: list[int] = []
    create_ = model._predictor._create

    async def note_call(size: int) -> Any:
        seen.append(size)
        return await create_(size)

    model._predictor._create = note_call
    for rows in (1, 2, 3, 7, 20, 8):
        await model.predict([[0.0, 1.0, 2.0]] * rows, batch_size=7)
    assert seen == [1, 4, 7]


@pytest.mark.alike
@pytest.mark.parametrize("source", [LSTM, TAGS])
async def test_lengths_of_sequences_share_a_few_graphs(source: str) -> None:
    model = await create(source)
    compiled = compilations(model)
    draw = np.random.default_rng(4).normal(size=(40, 2)).astype("float32")
    expected: dict[int, Any] = {}
    for length in [*range(1, 41), 3, 30, 3, 17]:
        found = await model.predict([draw[:length]])
        if length not in expected:
            context = await model.create_context(1, sequence_length=length)
            context.set_data(draw[:length])
            await model.run(context)
            expected[length] = await context.output()
            context.close()
            compiled.pop()
        assert found.shape == expected[length].shape
        np.testing.assert_allclose(found, expected[length], rtol=1e-4, atol=1e-6)
    assert len(compiled) <= MAX_LENGTHS + 5, "8, 16, 32 and 64 positions at most"


async def test_alternating_lengths_are_compiled_once() -> None:
    model = await create(LSTM)
    compiled = compilations(model)
    for _ in range(3):
        for lengths in ([5], [7], [3, 6], [2, 2, 2, 2]):
            await model.predict(make_ragged(lengths))
    assert len(compiled) == 4


async def test_calls_at_the_same_time_do_not_mix() -> None:
    model = await create()
    calls = [[[float(k)] * n for n in (1, 2, 3 + k % 2)] for k in range(6)]
    found = await asyncio.gather(
        *(model.predict(call, batch_size=1 + k % 3) for k, call in enumerate(calls))
    )
    assert [values.tolist() for values in found] == [[float(k)] * 3 for k in range(6)]


async def test_training_on_padded_rows_then_predicting_them() -> None:
    """What training computed of padded rows is what prediction computes of lists."""
    rows = make_ragged([3, 1, 4, 2, 2, 5])
    targets = np.eye(3)[[0, 1, 2, 0, 1, 2]].tolist()
    data = Dataset(rows, targets, length="max", split=(1, 0, 0), method="sequential")
    model = await create(LSTM, dataset=data)
    history = await model.train(epochs=3, seeds=0)
    # The mask is that of the input, although the output has its name: labels are balanced.
    assert history.loss_settings["m"]["loss"] == "CCE"
    found = np.asarray(await model.predict(rows))
    loss = -np.log(found[np.array(targets, bool)]).mean()
    assert loss == pytest.approx((await model.test("training")).loss, rel=1e-4)
