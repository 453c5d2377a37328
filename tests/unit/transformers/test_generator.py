"""Generation with a cache: the tokens that the network gives without one, in memory taken once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from webnnm import BackendError, DataError, NNModel
from webnnm.transformers.beams import Beams
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

np = pytest.importorskip("numpy")

LLAMA = """
ids:input int32 shape=[] sequence=words;
ids:output shape=[96];
ids:param table shape=[96, 32] init=normal(0.5);
ids:layers
  embedding(table), decoder(repeat=2), rmsNorm(g, epsilon=1e-5), matmul(table, bTranspose=true);
decoder:layers
  rmsNorm(g, epsilon=1e-5),
  attend(q, k, v, o, heads=4, kvHeads=2, causal=true, rope=100000),
  residual(to=input, name=middle),
  rmsNorm(g, epsilon=1e-5, name=normed),
  matmul(gate, shape=[64]), silu(name=gated),
  matmul(up, node=normed, shape=[64]), mul(gated), matmul(down, shape=[32]),
  residual(to=middle);
"""
GPT = """
ids:input int32 shape=[] sequence=words;
ids:output shape=[50];
ids:layers
  embedding(table, size=50, shape=[16]), positionalEmbedding(places, size=100),
  decoder(repeat=2), layerNorm(scale=g, bias=b), matmul(out), add(last), softmax();
decoder:layers
  layerNorm(scale=g, bias=b),
  attend(q, k, v, o, heads=2, causal=true, bias=true), residual(to=input, name=middle),
  layerNorm(scale=g, bias=b),
  matmul(up), add(c), gelu(shape=[32]), matmul(down), add(c, shape=[16]), residual(to=middle);
"""
ROTATED = """
ids:input int32 shape=[] sequence=words;
mask:input int32 shape=[] sequence=words;
position_ids:input int32 shape=[] sequence=words;
ids:output shape=[40];
position_ids:layers embedding(places, size=100, shape=[8]);
ids:layers
  embedding(table, size=40, shape=[8]), add(position_ids), positionalEncoding(),
  matmul(q, shape=[8]), rotaryEmbedding(heads=2, name=turned),
  attend(turned, k, v, heads=2, causal=true, mask=mask), matmul(out);
""".replace("mask:", "attention_mask:").replace("mask=mask", "mask=attention_mask")
STATE = LLAMA.replace(
    "matmul(gate, shape=[64])", "shortConv(taps, kernel=3), matmul(gate, shape=[64])"
)
TEXTS = {
    "llama": LLAMA,
    "gpt": GPT,
    "rotated": ROTATED,
    "window": LLAMA.replace("causal=true", "causal=true, window=6"),
    "alibi": GPT.replace("causal=true", "causal=true, alibi=true"),
    "state": STATE,
}
PROMPTS = [[1, 2, 3, 4, 5], [7] * 20, [9, 8]]


async def create(source: str = LLAMA) -> tuple[NNModel, Generator]:
    model = await NNModel.create(source=source, backend="numpy", seed=3, log=lambda _: None)
    for (
        name,
        type,
    ) in model.state.parameters.types.items():  # the first ones give one token for ever
        draw = np.random.default_rng(len(name)).normal(size=type.shape)
        model.state.parameters.set(name, (draw * 0.4).astype("float32"))
    return model, Generator(model)


async def whole(generator: Generator, rows: list[list[int]], count: int, **given: Any) -> Any:
    found: list[list[int]] = [[] for _ in rows]
    async for fresh in generator.generate(rows, count, **given):
        for row, more in zip(found, fresh, strict=True):
            row += more
    return found


async def without_cache(model: NNModel, row: list[int], count: int) -> list[int]:
    """Return the most likely tokens, each from all that come before it."""
    text = list(row)
    context = await model.create_context(1, sequence_length=len(row) + count)
    inputs = [vertex.block for vertex in model.state.network.inputs]
    while len(text) < len(row) + count:
        padded = text + [0] * (len(row) + count - len(text))
        given = {"attention_mask": [1] * len(padded), "position_ids": [*range(len(padded))]}
        for name in inputs:
            context.set_data(name, given.get(name, padded))
        await model.run(context)
        scores = np.asarray(await context.output())[0, len(text) - 1]
        text.append(int(scores.argmax()))
    return text[len(row) :]


@pytest.mark.alike
@pytest.mark.parametrize("name", TEXTS)
async def test_tokens_are_those_without_a_cache(name: str) -> None:
    model, generator = await create(TEXTS[name])
    count = 64 if name == "llama" else 24
    alone = [await without_cache(model, prompt, count) for prompt in PROMPTS]
    assert len({*alone[0]}) > 1
    for prompt, wanted in zip(PROMPTS, alone, strict=True):
        assert await whole(generator, [prompt], count) == [wanted]
    assert await whole(generator, PROMPTS, count) == alone


@pytest.mark.alike
async def test_a_conversation_adds_only_what_is_new() -> None:
    _, generator = await create()
    first = [1, 2, 3, 4, 5]
    (answer,) = await whole(generator, [first], 20)
    turn = [*first, *answer, 6, 7]
    (second,) = await whole(generator, [turn], 20)
    assert generator.speed.prompt_tokens == 3  # the last of the answer, and the new ones
    _, other = await create()
    assert await whole(other, [turn], 20) == [second]
    assert other.speed.prompt_tokens == len(turn)
    # Of a text that differs from some place on, what comes before it counts.
    (third,) = await whole(generator, [turn[:10]], 5)
    assert third == (await whole(other, [[*turn[:10]]], 5))[0]
    assert generator.speed.prompt_tokens == 1


@pytest.mark.alike
async def test_a_state_is_continued_from_its_end_alone() -> None:
    _, generator = await create(STATE)
    rows = [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]
    answers = await whole(generator, rows, 20)
    turns = [[*row, *answer, 6, 7] for row, answer in zip(rows, answers, strict=True)]
    found = await whole(generator, turns, 20)
    assert generator.speed.prompt_tokens == 6
    _, other = await create(STATE)
    assert await whole(other, turns, 20) == found
    # The state after the first tokens of a text is not kept.
    shorter = [turn[:10] for turn in turns]
    found = await whole(generator, shorter, 5)
    assert generator.speed.prompt_tokens == 20
    _, other = await create(STATE)
    assert await whole(other, shorter, 5) == found
    # Texts of different lengths have no common end.
    uneven = [turns[0], turns[1][:9]]
    found = await whole(generator, uneven, 5)
    found = await whole(generator, [[*a, *b, 8] for a, b in zip(uneven, found, strict=True)], 5)
    assert generator.speed.prompt_tokens == sum(map(len, uneven)) + 2 * 6


@pytest.mark.alike
async def test_other_parameters_leave_nothing_of_a_conversation() -> None:
    model, generator = await create()
    await whole(generator, [[1, 2, 3]], 5)
    model.state.parameters.set("table", model.state.parameters.value("table").tolist()[::-1])
    found = await whole(generator, [[1, 2, 3]], 20)
    assert generator.speed.prompt_tokens == 3
    assert found == [await without_cache(model, [1, 2, 3], 20)]
    # They are inputs where they have just changed, and constants of a graph from then on.
    graphs = model.backend.memory().graphs
    assert await whole(generator, [[1, 2, 3]], 20) == found
    assert model.backend.memory().graphs == graphs + 1
    model.state.parameters.set("table", model.state.parameters.value("table").tolist()[::-1])
    assert await whole(generator, [[1, 2, 3]], 20) != found
    assert model.backend.memory().graphs == graphs


async def test_memory_stays_as_it_is() -> None:
    model, generator = await create()
    sampling = Sampling(temperature=1.0, top_p=0.9, repetition_penalty=1.1)
    await whole(generator, [[1, 2]], 3, sampling=sampling)
    before = model.backend.memory()
    for turn in range(2):
        rows = await whole(generator, [[1, turn]], 40, sampling=sampling, seed=turn)
        assert len(rows[0]) == 40
    assert model.backend.memory() == before
    generator.close()
    after = model.backend.memory()
    assert "generation" not in after.kinds
    assert after.tensors < before.tensors
    assert after.graphs < before.graphs


async def create_concurrent() -> tuple[NNModel, Generator, list[bool]]:
    """Return a model on a device that seems to compile meanwhile, and whether graphs it compiled
    have constants."""
    model, generator = await create()
    model.backend.dispatch_seconds = 1e-6
    compile_graph, have_constants = model.backend.compile, list[bool]()

    async def compile(graph: Any, **options: Any) -> Any:
        have_constants.append(bool(options.get("constants")))
        return await compile_graph(graph, **options)

    model.backend.compile = compile
    return model, generator, have_constants


async def compile_ahead(generator: Generator) -> None:
    """Wait until what is compiled in the background is there, or has failed."""
    assert generator._graphs.ahead is not None
    await asyncio.wait([generator._graphs.ahead[1]])


async def test_the_first_tokens_wait_for_no_constants() -> None:
    model, generator, have_constants = await create_concurrent()
    expected = await without_cache(model, [1, 2, 3], 20)
    have_constants.clear()
    assert await whole(generator, [[1, 2, 3]], 4) == [expected[:4]]
    assert have_constants == [False, False]
    await compile_ahead(generator)  # the device has nothing else to do
    assert have_constants == [False, False, True]
    assert await whole(generator, [[1, 2, 3]], 20) == [expected]
    assert have_constants == [False, False, True]


async def test_constants_replace_inputs_within_a_long_text() -> None:
    model, generator, have_constants = await create_concurrent()
    expected = await without_cache(model, [1, 2, 3], 60)
    have_constants.clear()
    assert await whole(generator, [[1, 2, 3]], 60) == [expected]
    assert have_constants == [False, False, True]


async def test_one_token_compiles_no_graph_for_more() -> None:
    _, generator, have_constants = await create_concurrent()
    await whole(generator, [[1, 2, 3]], 1)
    assert generator._graphs.ahead is None
    assert have_constants == [False]


async def test_a_compilation_that_failed_ahead_is_repeated() -> None:
    model, generator, _ = await create_concurrent()
    compile_graph, failures = model.backend.compile, 2

    async def compile(graph: Any, **options: Any) -> Any:
        nonlocal failures
        if options.get("constants") and failures:
            failures -= 1
            raise BackendError("NNM709", "out of memory")
        return await compile_graph(graph, **options)

    model.backend.compile = compile
    await whole(generator, [[1, 2, 3]], 4)
    await compile_ahead(generator)
    assert failures == 1
    with pytest.raises(BackendError, match="out of memory"):
        await whole(generator, [[1, 2, 3]], 4)
    assert await whole(generator, [[1, 2, 3]], 4) == [await without_cache(model, [1, 2, 3], 4)]


async def test_closing_ends_a_compilation_ahead() -> None:
    _, generator, have_constants = await create_concurrent()
    await whole(generator, [[1, 2, 3]], 4)
    generator.close()
    await compile_ahead(generator)
    assert not any(have_constants)


@pytest.mark.parametrize("failing", [1, 2])
async def test_memory_that_was_lacking_is_there_later(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, generator = await create()
    create_tensors, calls = model.backend.tensors, 0

    async def tensors(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise BackendError("NNM709", "out of memory")
        return await create_tensors(*arguments)

    monkeypatch.setattr(model.backend, "tensors", tensors)
    with pytest.raises(BackendError, match="out of memory"):
        await whole(generator, [[1, 2, 3]], 4)
    assert await whole(generator, [[1, 2, 3]], 4) == [await without_cache(model, [1, 2, 3], 4)]


async def test_parameters_may_change_between_two_tokens() -> None:
    model, generator = await create()
    tokens = generator.generate([[1, 2, 3]], 6)
    await anext(tokens)
    model.state.parameters.set("table", model.state.parameters.value("table").tolist()[::-1])
    assert sum([len(row) async for (row,) in tokens]) == 5
    assert await whole(generator, [[1, 2, 3]], 6) == [await without_cache(model, [1, 2, 3], 6)]


async def test_one_token_needs_one_graph() -> None:
    model, generator = await create()
    before = model.backend.memory().graphs
    tokens = generator.generate([[1, 2, 3]], 2)
    await anext(tokens)
    assert model.backend.memory().graphs == before + 1
    await anext(tokens)
    assert model.backend.memory().graphs == before + 2


@pytest.mark.alike
async def test_texts_outgrow_the_room() -> None:
    model, generator = await create()
    found = await whole(generator, [[1, 2] * 40], 20)
    longer = await whole(generator, [[1, 2] * 40 + found[0]], 40)
    assert longer == [await without_cache(model, [1, 2] * 40 + found[0], 40)]


async def test_positions_are_limited() -> None:
    _, generator = await create(GPT)
    assert generator.max_length == 100
    assert len((await whole(generator, [[1] * 97], 64))[0]) == 3
    with pytest.raises(DataError, match="100 tokens, the model has positions for 100"):
        await whole(generator, [[1] * 100], 1)


@pytest.mark.parametrize("source", ["gpt", "state"])
async def test_the_positions_of_each_row_are_its_own(source: str) -> None:
    """Rows whose positions end get nothing more; what the others get does not depend on them."""
    model, _ = await create(TEXTS[source])
    alone, together = (Generator(model, max_length=100) for _ in range(2))
    rows = [[5, 9] * 46, [7] * 70, [3, 8]]
    texts = await whole(together, rows, 40)
    assert [*map(len, texts)] == [8, 30, 40]
    for row, text in zip(rows, texts, strict=True):
        assert text == (await whole(alone, [row], 40))[0]
    longer = [row + text for row, text in zip(rows, texts, strict=True)]
    again = [longer[0][:99], longer[1][:90], longer[2]]  # a conversation goes on from here
    texts = await whole(together, again, 20)
    assert [*map(len, texts)] == [1, 10, 20]
    for row, text in zip(again, texts, strict=True):
        assert text == (await whole(alone, [row], 20))[0]


async def test_the_positions_of_each_row_are_its_own_in_a_search() -> None:
    model, together = await create(GPT)
    beams = Beams(3)
    rows = [[5, 9] * 48, [3, 8]]
    texts = await together.search(rows, 9, beams)
    assert [*map(len, texts)] == [4, 9]
    for row, text in zip(rows, texts, strict=True):
        assert [text] == await Generator(model).search([row], 9, beams)


@pytest.mark.alike
async def test_seeds_decide() -> None:
    _, generator = await create()
    hot = Sampling(temperature=2.0)
    one, again, other = [
        await whole(generator, [[1, 2, 3]], 12, sampling=hot, seed=seed) for seed in (1, 1, 2)
    ]
    assert one == again != other
    pair = await whole(generator, [[1, 2, 3], [1, 2, 3]], 12, sampling=hot, seed=1)
    assert pair[0] == one[0] != pair[1]
    likely = await whole(generator, [[1, 2, 3]], 12)
    cold = Sampling(temperature=0.0, top_p=0.5)
    assert await whole(generator, [[1, 2, 3]], 12, sampling=cold, seed=2) == likely
    single = Sampling(temperature=2.0, top_k=1)
    assert await whole(generator, [[1, 2, 3]], 12, sampling=single, seed=2) == likely


@pytest.mark.alike
async def test_the_host_can_choose() -> None:
    _, generator = await create()
    lengths: list[list[int]] = []

    def likely(scores: Any, texts: list[list[int]]) -> list[int]:
        lengths.append([len(text) for text in texts])
        return [int(row.argmax()) for row in np.asarray(scores)]

    wanted = await whole(generator, PROMPTS, 12)
    assert await whole(generator, PROMPTS, 12, choose=likely) == wanted
    assert lengths == [[5 + n, 20 + n, 2 + n] for n in range(12)]


@pytest.mark.alike
async def test_repetition_is_penalised() -> None:
    _, generator = await create()
    strong = Sampling(repetition_penalty=1e6)
    (found,) = await whole(generator, [[1, 2, 3]], 30, sampling=strong)
    assert len({*found, 1, 2, 3}) == 33


async def test_stop_and_a_newer_generation_end_it() -> None:
    _, generator = await create()
    ended = 0
    for end in (generator.stop, None):
        async for _ in generator.generate([[1, 2, 3]], 90):
            ended += 1
            if end is not None:
                end()
            else:
                await whole(generator, [[4, 5]], 2)
    assert ended == 2


REFUSED: list[tuple[str, str, Callable[[str], str]]] = [
    ("only causal attention", "NNM411", lambda text: text.replace("causal=true", "causal=false")),
    (
        "reads other tokens",
        "NNM717",
        lambda text: text.replace("decoder(repeat=2)", "reverse(axes=[words])"),
    ),
    (
        "does not take tokens",
        "NNM717",
        lambda text: text.replace("ids:input int32 shape=[]", "ids:input shape=[3]").replace(
            "embedding(table, size=50, shape=[16])", "matmul(table, shape=[16])"
        ),
    ),
]


@pytest.mark.parametrize(("words", "code", "change"), REFUSED, ids=[each[0] for each in REFUSED])
async def test_what_does_not_generate_is_refused(
    words: str, code: str, change: Callable[[str], str]
) -> None:
    model = await NNModel.create(source=change(GPT), backend="numpy", log=lambda _: None)
    with pytest.raises(Exception, match=words) as caught:
        await whole(Generator(model), [[1]], 2)
    assert caught.value.code == code  # type: ignore[attr-defined]


@pytest.mark.alike
@pytest.mark.parametrize(
    ("rows", "given", "code", "words"),
    [
        ([], {}, "NNM711", "without tokens"),
        ([[]], {}, "NNM711", "without tokens"),
        ([[96]], {}, "NNM711", "token 96 is not from 0 to 95"),
        ([[1]], {"count": 0}, "NNM704", "max_new_tokens is 0"),
        ([[1]], {"temperature": -1}, "NNM704", "temperature is -1"),
        ([[1]], {"top_k": 1.5}, "NNM704", "top_k is 1.5"),
        ([[1]], {"top_p": 0}, "NNM704", "top_p is 0"),
        ([[1]], {"min_p": 2}, "NNM704", "min_p is 2"),
        ([[1]], {"repetition_penalty": 0}, "NNM704", "repetition_penalty is 0"),
    ],
)
async def test_wrong_values_are_named(
    rows: list[list[int]], given: dict[str, Any], code: str, words: str
) -> None:
    _, generator = await create()
    count = given.pop("count", 2)
    with pytest.raises(DataError, match=words) as caught:
        await whole(generator, rows, count, sampling=Sampling(**given))
    assert caught.value.code == code
