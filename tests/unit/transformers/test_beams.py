"""Beam search: the device keeps the best beams, the host the texts that have ended."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from webnnm import GraphBuilder, NNModel, backend
from webnnm.core.arrays import HostArray
from webnnm.transformers.beams import (
    INDICES,
    ORDER,
    TOTALS,
    VALUES,
    Beams,
    Search,
    count_candidates,
    log_probabilities,
    step_beams,
)
from webnnm.transformers.generator import Generator

np = pytest.importorskip("numpy")

SOURCE = """
words:input int32 shape=[] sequence=words;
words:output shape=[7];
words:layers
  embedding(table, size=7, shape=[8]), attend(q, k, v, o, heads=2, causal=true, rope=true),
  matmul(out);
"""


async def test_a_step_keeps_the_best_that_go_on() -> None:
    beams, ends, drawn = 3, (2, 4), np.random.default_rng(1)
    scores = drawn.normal(size=(6, 9)).astype("float32")
    totals = -drawn.random((2, 3)).astype("float32")
    b = GraphBuilder()
    given = log_probabilities(b, b.input("scores", "float32", [6, 9]))
    token, states = step_beams(b, given, beams, ends, 2)
    runner = await (await backend("numpy")).compile(b.build({"token": token, **states}))
    amount = count_candidates(beams, ends)
    logs = {VALUES: np.zeros((2, 2, amount), "float32"), INDICES: np.ones((2, 2, amount), "int32")}
    found = await runner.run({"scores": scores, TOTALS: totals, **logs})
    logs_of = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)) + totals.reshape(6, 1)
    for text in range(2):
        flat = logs_of[3 * text : 3 * text + 3].reshape(-1)
        best = np.argsort(-flat)[:amount]
        assert found[INDICES][text, 1].tolist() == best.tolist()
        assert found[INDICES][text, 0].tolist() == [1] * amount  # what was there moves on
        np.testing.assert_allclose(found[VALUES][text, 1], flat[best], rtol=1e-5)
        going = [place for place in best if place % 9 not in ends][:beams]
        rows = slice(3 * text, 3 * text + 3)
        assert found["token"][rows].tolist() == [place % 9 for place in going]
        assert found[ORDER][rows].tolist() == [3 * text + place // 9 for place in going]
        np.testing.assert_allclose(found[TOTALS][text], flat[going], rtol=1e-5)


def test_ends_wait_for_something_better() -> None:
    search = Search(Beams(2, ends=(0,)), vocabulary=10, max_length=5)
    search.step([-1.0, -1.5, -2.0, -3.0], [0, 1, 2, 3])  # one ends, 1 and 2 go on
    assert not search.done
    search.step([-1.6, -2.5, -4.0, -5.0], [3, 10, 4, 14])  # [1, 3] is best; [2] ends
    assert not search.done  # -1.6 / 2 may become better than -2.5 / 2
    search.step([-9.0, -9.1, -9.2, -9.3], [5, 6, 7, 8])
    assert search.done and search.best(1) == [[0]]
    search.step([-0.1, -9.1, -9.2, -9.3], [0, 6, 7, 8])
    assert search.best(1) == [[0]]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [({}, [1, 3, 0]), ({"early_stopping": True}, [1, 0]), ({"length_penalty": 0.0}, [0])],
)
def test_the_end_of_a_search_is_chosen(settings: dict[str, Any], wanted: list[int]) -> None:
    search = Search(Beams(2, ends=(0,), **settings), vocabulary=10, max_length=9)
    steps: list[tuple[list[float], list[int]]] = [
        ([-0.5, -1.2, -3.0, -3.1], [1, 0, 3, 4]),
        ([-1.6, -1.65, -3.2, -3.3], [0, 3, 13, 14]),
        ([-1.8, -2.5, -3.0, -3.1], [0, 11, 2, 3]),
        ([-8.0, -8.5, -9.0, -9.1], [1, 11, 2, 3]),
    ]
    for values, places in steps:
        search.step(values, places)
    assert search.done and search.best(1) == [wanted]


def test_the_longest_text_ends_as_it_is_told() -> None:
    search = Search(Beams(2), vocabulary=10, max_length=3, forced=1, last=9)
    search.step([-1.0, -2.0, -3.0, -4.0], [5, 6, 7, 8])
    assert not search.done
    search.step([-1.1, -2.0, -3.0, -4.0], [16, 1, 2, 3])
    assert search.done and search.best(1) == [[5, 9]]


@pytest.mark.alike
async def test_wide_searches_find_the_likeliest_text() -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", seed=3, log=lambda _: None)
    for place, (name, type) in enumerate(model.state.parameters.types.items()):
        model.state.parameters.set(name, np.random.default_rng(place).normal(size=type.shape))
    generator = Generator(model)
    prompts = [[1, 2, 3], [5]]
    found = await generator.search(prompts, 3, Beams(49))
    for prompt, text in zip(prompts, found, strict=True):
        every = [[*prompt, *more] for more in product(range(7), repeat=3)]
        context = await model.create_context(len(every), sequence_length=len(every[0]))
        context.set_data(HostArray.of(every, "int32"))
        await model.run(context)
        scores = np.asarray(await context.output(), dtype="float64")
        scores -= np.log(np.exp(scores).sum(axis=-1, keepdims=True))
        places = range(len(prompt), len(prompt) + 3)
        sums = [
            math.fsum(row[place - 1, words[place]] for place in places)
            for row, words in zip(scores, every, strict=True)
        ]
        assert [*prompt, *text] == every[int(np.argmax(sums))]
    model.close()


async def test_other_sizes_of_searches_take_other_memory() -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", seed=3, log=lambda _: None)
    generator = Generator(model)
    wanted = await generator.search([[1, 2]], 5, Beams(4))
    assert await generator.search([[1, 2], [3]], 5, Beams(2))
    assert await generator.search([[1, 2]], 5, Beams(4, ends=(3, 4))) is not None
    before = model.backend.memory()
    assert await generator.search([[1, 2]], 5, Beams(4, ends=(3, 4))) is not None
    assert model.backend.memory() == before
    assert await generator.search([[1, 2]], 5, Beams(4)) == wanted
    model.close()
