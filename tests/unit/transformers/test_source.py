"""Generation about a source: an encoder runs once, and tokens are those of the whole network."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest

from webnnm import DataError, ModelError, NNModel
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

np = pytest.importorskip("numpy")

SIZE, COUNT = 40, 24
TRANSLATES = """
input_ids:input int32 shape=[] sequence=tokens;
attention_mask:input int32 shape=[] sequence=tokens;
decoder_input_ids:input int32 shape=[] sequence=decoder_tokens;
logits:output shape=[40] sequence=decoder_tokens;
encoded:output shape=[16] sequence=tokens;
logits:param table shape=[40, 16];
encoded:layers
  embedding(table, node=input_ids), positionalEmbedding(places, size=50),
  attend(eq, ek, ev, eo, heads=2, mask=attention_mask, relativeBias=far), rmsNorm(g);
encoded:param far shape=[8, 2];
logits:param near shape=[6, 2];
logits:layers embedding(table, node=decoder_input_ids), decoder(repeat=2), matmul(out);
decoder:layers
  rmsNorm(g),
  attend(q, k, v, o, heads=2, causal=true, relativeBias=near, maxDistance=9), residual(to=input),
  attend(cq, ck, cv, co, heads=4, kvHeads=2, to=encoded, mask=attention_mask, name=informed),
  matmul(up, shape=[24]), gelu(), matmul(down, shape=[16]), residual(to=informed);
"""
DESCRIBES = """
pixels:input shape=[6, 5];
words:input int32 shape=[] sequence=words;
words:output shape=[40];
pixels:layers matmul(patches, shape=[6, 16]), attend(eq, ek, ev, eo, heads=2);
words:layers
  embedding(table, size=40, shape=[16]),
  attend(q, k, v, o, heads=2, causal=true, rope=true), residual(to=input),
  attend(cq, ck, cv, co, heads=2, to=pixels), matmul(out);
"""
PROMPTS = [[1, 2, 3], [7], [9, 8]]


def sources(name: str) -> dict[str, Any]:
    """Return what three texts are about: rows of 9, 20 and 4 tokens, or three pictures."""
    drawn = np.random.default_rng(4)
    if name == "describes":
        return {"pixels": drawn.normal(size=(3, 6, 5)).astype("float32")}
    mask = (np.arange(20) < np.array([[9], [20], [4]])).astype("int32")
    ids = drawn.integers(0, SIZE, (3, 20)).astype("int32")
    return {"input_ids": ids * mask, "attention_mask": mask}


async def create(name: str) -> tuple[NNModel, Generator]:
    source = {"translates": TRANSLATES, "describes": DESCRIBES}[name]
    model = await NNModel.create(source=source, backend="numpy", seed=3, log=lambda _: None)
    for name, type in model.state.parameters.types.items():
        draw = np.random.default_rng(crc32(name.encode())).normal(size=type.shape)
        model.state.parameters.set(name, (draw * 0.6).astype("float32"))
    return model, Generator(model)


async def whole(generator: Generator, rows: list[list[int]], count: int, **given: Any) -> Any:
    found: list[list[int]] = [[] for _ in rows]
    async for fresh in generator.generate(rows, count, **given):
        for row, more in zip(found, fresh, strict=True):
            row += more
    return found


async def without_cache(
    model: NNModel, row: list[int], about: dict[str, Any], count: int
) -> list[int]:
    """Return the most likely tokens, each from all that come before it."""
    text, length = list(row), len(row) + count
    name = "decoder_tokens" if "input_ids" in about else "words"
    lengths = {name: length, **({"tokens": 20} if "input_ids" in about else {})}
    context = await model.create_context(1, sequence_length=lengths)
    for word, value in about.items():
        context.set_data(word, value)
    while len(text) < length:
        padded = text + [0] * (length - len(text))
        context.set_data("decoder_input_ids" if "input_ids" in about else "words", [padded])
        await model.run(context)
        scores = np.asarray(await context.output(model.outputs()[0]))[0, len(text) - 1]
        text.append(int(scores.argmax()))
    return text[len(row) :]


@pytest.mark.alike
@pytest.mark.parametrize("name", ["translates", "describes"])
async def test_tokens_are_those_of_the_whole_network(name: str) -> None:
    model, generator = await create(name)
    about = sources(name)
    single = [{word: array[row : row + 1] for word, array in about.items()} for row in range(3)]
    alone = [
        await without_cache(model, prompt, each, COUNT)
        for prompt, each in zip(PROMPTS, single, strict=True)
    ]
    assert any(len({*row}) > 1 for row in alone) and alone[0] != alone[1]
    for prompt, each, wanted in zip(PROMPTS, single, alone, strict=True):
        assert await whole(generator, [prompt], COUNT, source=each) == [wanted]
    assert await whole(generator, PROMPTS, COUNT, source=about) == alone


@pytest.mark.alike
async def test_padding_of_a_source_changes_nothing() -> None:
    _, generator = await create("translates")
    ids = [5, 9, 30, 2]
    wanted = await whole(generator, [[1]], COUNT, source=source_of([ids]))
    long = source_of([[*ids] + [3] * 30])
    long["attention_mask"][:, 4:] = 0
    assert await whole(generator, [[1]], COUNT, source=long) == wanted


def source_of(ids: list[list[int]]) -> dict[str, Any]:
    return {"input_ids": np.array(ids), "attention_mask": np.ones_like(ids)}


async def test_the_encoder_runs_once_for_each_source(monkeypatch: pytest.MonkeyPatch) -> None:
    model, generator = await create("translates")
    ran: list[int] = []
    dispatch = model.backend.dispatch

    def count_calls(executable: Any, inputs: Any, outputs: Any) -> None:
        ran.append("source/0/keys" in outputs)
        dispatch(executable, inputs, outputs)

    monkeypatch.setattr(model.backend, "dispatch", count_calls)
    one, other = source_of([[5, 9, 30, 2]]), source_of([[5, 9, 30, 3]])
    first = await whole(generator, [[1]], COUNT, source=one)
    assert sum(ran) == 1
    longer = [[1, *first[0][:10]]]
    assert await whole(generator, longer, COUNT - 10, source=one) == [first[0][10:]]
    assert sum(ran) == 1
    assert generator.speed.prompt_tokens == 1  # of the text, all but the last is there as well
    assert await whole(generator, longer, COUNT, source=other) != first
    assert sum(ran) == 2
    assert generator.speed.prompt_tokens == 11  # its keys were about the other source
    model.state.parameters.set("table", model.state.parameters.value("table").tolist()[::-1])
    await whole(generator, [[1]], 2, source=other)
    assert sum(ran) == 3


@pytest.mark.alike
async def test_memory_stays_as_it_is() -> None:
    model, generator = await create("translates")
    sampling = Sampling(temperature=1.0, top_p=0.9, suppress_tokens=[3])
    await whole(generator, [[1, 2]], 3, source=source_of([[1, 2]]), sampling=sampling)
    before = model.backend.memory()
    for turn in range(3):
        about = source_of([[5] * (turn + 3)])
        (row,) = await whole(generator, [[1]], 30, source=about, sampling=sampling, seed=turn)
        assert len(row) == 30 and 3 not in row
    assert model.backend.memory() == before
    await whole(generator, [[1]], 3, source=source_of([[5] * 40]), sampling=sampling)
    assert model.backend.memory().tensors == before.tensors  # longer ones take the same places
    generator.close()
    assert "generation" not in model.backend.memory().kinds


async def test_only_texts_have_sequences_that_may_not_be_written() -> None:
    _, generator = await create("describes")
    unlike = Sampling(encoder_no_repeat_ngram_size=2)
    with pytest.raises(DataError, match="NNM704: encoder_no_repeat_ngram_size is set, but"):
        await whole(generator, PROMPTS, 4, source=sources("describes"), sampling=unlike)


async def test_texts_may_end_as_they_are_told() -> None:
    _, generator = await create("translates")
    about = source_of([[5, 9, 30, 2]])
    (free,) = await whole(generator, [[1]], 8, source=about)
    assert await whole(generator, [[1]], 8, source=about, last=39) == [[*free[:-1], 39]]


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (None, "NNM710", "check attention_mask, input_ids"),
        ({"input_ids": [[1, 2]]}, "NNM710", "check attention_mask"),
        (source_of([[1], [2]]), "NNM702", r"input_ids is \[2, 1\]"),
        ({**source_of([[1, 2]]), "attention_mask": [[1]]}, "NNM702", r"attention_mask is \[1, 1\]"),
    ],
)
async def test_wrong_sources_are_named(given: Any, code: str, words: str) -> None:
    _, generator = await create("translates")
    with pytest.raises(DataError, match=words) as caught:
        await whole(generator, [[1]], 2, source=given)
    assert caught.value.code == code


async def change(old: str, new: str) -> Generator:
    assert old in TRANSLATES
    text = TRANSLATES.replace(old, new)
    model = await NNModel.create(source=text, backend="numpy", log=lambda _: None)
    return Generator(model)


async def test_tokens_see_all_of_a_source() -> None:
    generator = await change("to=encoded, mask", "to=encoded, causal=true, mask")
    with pytest.raises(ModelError, match="leave causal=true out"):
        await whole(generator, [[1]], 2, source=source_of([[1, 2]]))


@pytest.mark.alike
async def test_encoders_may_look_where_they_like() -> None:
    generator = await change("rmsNorm(g);\nencoded", "reverse(axes=[tokens]);\nencoded")
    assert len((await whole(generator, [[1]], 2, source=source_of([[1, 2]])))[0]) == 2
