"""Inference contexts: data in, data out, sizes, random data (spec H)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, IrisDataset, NNModel

np = pytest.importorskip("numpy")

DOUBLE = "m:input shape=[3]; m:output shape=[3]; m:layers mul(2);"
WORDS = "m:input int32 shape=[] sequence=words; m:output shape=[]; m:layers add(1);"
TWO = """
left:input shape=[2]; right:input int32 shape=[2]; sum:output shape=[2]; all:output shape=[];
sum:layers add([left, right]); all:layers reduceSum(node=sum);
"""


async def context(source: str = DOUBLE, batch_size: int = 1, **settings: Any) -> Any:
    """Return a context; `await context.run()` is what `model.run(context)` does."""
    model = await NNModel.create(source=source, backend="numpy", log=lambda _: None, **settings)
    return await model.create_context(batch_size)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2, 3], [[1, 2, 3]]),
        ([[1, 2, 3]], [[1, 2, 3]]),
        (4, [[4, 4, 4]]),
        (0.5, [[0.5, 0.5, 0.5]]),
        ((1, 2, 3), [[1, 2, 3]]),
        (np.array([1, 2, 3]), [[1, 2, 3]]),
        (np.array([1, 2, 3], "float64"), [[1, 2, 3]]),
        pytest.param(memoryview(b"\x01\x02\x03"), [[1, 2, 3]], id="memory"),
    ],
    ids=repr,
)
async def test_data_in_many_forms(data: Any, expected: Any) -> None:
    made = await context()
    assert made.set_data(data).tolist() == expected
    assert (await made.input()).tolist() == expected
    await made.run()
    assert (await made.output()).tolist() == (2 * np.array(expected)).tolist()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ([1, 2], "NNM702"),
        ([1], "NNM702"),
        ([[1, 2, 3]] * 2, "NNM702"),
        ([[1, 2], [3]], "NNM702"),
        (["a", "b", "c"], "NNM702"),
    ],
    ids=repr,
)
async def test_data_that_does_not_fit(data: Any, code: str) -> None:
    with pytest.raises(DataError) as caught:
        (await context()).set_data(data)
    assert caught.value.code == code


async def test_integer_inputs_take_integers() -> None:
    made = await context(WORDS)
    made.set_sequence_length(3)
    made.set_data([1.0, 2.0, 3.0])
    for wrong in ([1.5, 2, 3], [2**31, 0, 0]):
        with pytest.raises(DataError) as caught:
            made.set_data(wrong)
        assert caught.value.code == "NNM702"


async def test_names_of_inputs_and_outputs() -> None:
    made = await context(TWO)
    made.set_data("left", [1, 2])
    made.set_data("right:input", [3, 4])
    await made.run()
    assert (await made.output()).tolist() == [[4, 6]]
    assert (await made.output("all:output")).tolist() == [10]
    assert {k: v.tolist() for k, v in (await made.outputs()).items()} == {
        "sum": [[4, 6]],
        "all": [10],
    }
    assert (await made.input("left")).tolist() == [[1, 2]]


@pytest.mark.parametrize("name", ["lft", "sum", "left:output"])
async def test_unknown_inputs(name: str) -> None:
    made = await context(TWO)
    with pytest.raises(DataError) as caught:
        made.set_data(name, [1, 2])
    assert caught.value.code == "NNM710"


async def test_which_of_several_inputs() -> None:
    made = await context(TWO)
    with pytest.raises(DataError, match="left, right") as caught:
        made.set_data([1, 2])
    assert caught.value.code == "NNM710"


async def test_nothing_before_a_run() -> None:
    made = await context()
    for call in (made.output(), made.input(), made.run()):
        with pytest.raises(DataError) as caught:
            await call
        assert caught.value.code == "NNM702"


async def test_batch_size_takes_effect_at_the_next_run() -> None:
    made = await context()
    made.set_data([1, 2, 3])
    await made.run()
    made.set_batch_size(2)
    with pytest.raises(DataError) as caught:
        await made.run()
    assert caught.value.code == "NNM702"
    made.set_data([[1, 2, 3], [4, 5, 6]])
    await made.run()
    assert (await made.output()).tolist() == [[2, 4, 6], [8, 10, 12]]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
async def test_batch_sizes_are_whole_and_positive(size: Any) -> None:
    made = await context()
    with pytest.raises(DataError) as caught:
        made.set_batch_size(size)
    assert caught.value.code == "NNM704"


async def test_sequence_lengths() -> None:
    made = await context(WORDS)
    with pytest.raises(DataError) as caught:
        made.set_data([1, 2, 3])
    assert caught.value.code == "NNM711"
    for length in (3, {"words": 5}):
        made.set_sequence_length(length)
        n = length if isinstance(length, int) else 5
        made.set_data(list(range(n)))
        await made.run()
        assert (await made.output()).tolist() == [list(range(1, n + 1))]


async def test_sequence_length_of_the_model() -> None:
    made = await context(WORDS, sequence_length=2)
    assert made.set_data([1, 2]).shape == (1, 2)


async def test_random_data_is_the_same_for_a_seed() -> None:
    made, again, other = await context(), await context(), await context(seed=1)
    first = made.randomize().tolist()
    assert first == again.randomize().tolist() != other.randomize().tolist()
    assert made.randomize(seed=1).tolist() == other.randomize().tolist()
    assert (await made.input()).tolist() == other.randomize().tolist()


@pytest.mark.parametrize(("lower", "upper"), [(-1, 1), (0, 1), (5, 6)])
async def test_random_data_lies_within_its_bounds(lower: float, upper: float) -> None:
    made = await context(batch_size=200)
    found = made.randomize(lower=lower, upper=upper)
    assert lower <= found.min() < lower + 0.05 * (upper - lower)
    assert upper - 0.05 * (upper - lower) < found.max() <= upper


async def test_random_integers_include_both_bounds() -> None:
    made = await context(TWO, batch_size=50)
    assert set(made.randomize("right", 1, 3).ravel().tolist()) == {1, 2, 3}


async def test_old_spellings() -> None:
    made = await context()
    made.setBatchSize(2)
    assert made.setData(1).shape == (2, 3)


async def test_closing_frees_the_tensors() -> None:
    model = await NNModel.create(source=DOUBLE, backend="numpy", log=lambda _: None)
    before = model.memory()
    made = await model.create_context()
    made.set_data(1)
    await model.run(made)
    assert model.memory() != before
    made.close()
    assert model.memory() == before


async def test_raw_data_are_standardised_as_the_training_rows_were() -> None:
    iris = await IrisDataset.create(standardize=True)
    model = await NNModel.create(
        source="m:input shape=[4]; m:output shape=[4]; m:layers identity();", log=lambda _: None
    )
    model.set_dataset(Dataset([[5.0, 3, 4, 1]] * 4, [[0.5, 0, 0, 0]] * 4, split=(4, 0, 0)))
    plain = await model.predict([[5.0, 3, 4, 1]], raw=True)
    assert plain.tolist() == [[5, 3, 4, 1]], "nothing was standardised"
    fitted = iris.standardization["model"]
    trained = await NNModel.create(
        source="m:input shape=[4]; m:output shape=[3]; m:layers slice([0], [3]);",
        dataset=iris,
        log=lambda _: None,
    )
    context = await trained.create_context()
    assert context.set_data(fitted.mean, raw=True).tolist()[0] == pytest.approx([0] * 4, abs=1e-6)
    assert context.set_data(fitted.mean).tolist()[0] == pytest.approx(fitted.mean)


async def test_an_output_is_that_of_the_last_run_and_the_callers_own() -> None:
    made = await context()
    made.set_data([1, 2, 3])
    await made.run()
    first = await made.output()
    first[:] = 7
    assert (await made.output()).tolist() == [[2, 4, 6]]
    made.set_data([4, 5, 6])
    assert (await made.output()).tolist() == [[2, 4, 6]]
    await made.run()
    assert (await made.output()).tolist() == [[8, 10, 12]]
    assert first.tolist() == [[7, 7, 7]]


async def test_runs_take_the_present_parameters() -> None:
    model = await NNModel.create(
        source="m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);",
        backend="numpy",
        log=lambda _: None,
    )
    made = await model.create_context()
    made.set_data([1, 2])
    for value in (1.0, 3.0):
        model.state.parameters.set("w1", [[value], [value]])
        for _ in range(2):
            await model.run(made)
            assert (await made.output()).tolist() == [[3 * value]]
        await made.compile()
        await model.run(made)
        assert (await made.output()).tolist() == [[3 * value]]
