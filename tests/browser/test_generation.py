"""Texts that go on on WebNN: the tokens of NumPy, in memory that is taken once."""

from __future__ import annotations

import itertools

import pytest

from tests.browser.harness import PyodidePage
from webnnm import NNModel
from webnnm.transformers.beams import Beams
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

pytest.importorskip("numpy")

SOURCE = """
ids:input int32 shape=[] sequence=words;
ids:output shape=[60];
ids:param table shape=[60, 16] init=normal(1);
ids:layers
  embedding(table), decoder(repeat=2), rmsNorm(g), matmul(table, bTranspose=true);
decoder:layers
  rmsNorm(g), attend(q, k, v, o, heads=2, kvHeads=1, causal=true, rope=true),
  residual(to=input, name=middle),
  rmsNorm(g), matmul(up), silu(shape=[32]), matmul(down, shape=[16]), residual(to=middle);
"""
READS = """
input_ids:input int32 shape=[] sequence=tokens;
attention_mask:input int32 shape=[] sequence=tokens;
words:input int32 shape=[] sequence=words;
words:output shape=[30];
encoded:output shape=[16] sequence=tokens;
words:param table shape=[30, 16] init=normal(1);
words:param near shape=[6, 2] init=normal(1);
encoded:layers
  embedding(table, node=input_ids), attend(eq, ek, ev, eo, heads=2, mask=attention_mask);
words:layers
  embedding(table),
  attend(q, k, v, o, heads=2, causal=true, relativeBias=near, maxDistance=9, name=own),
  attend(cq, ck, cv, co, heads=2, to=encoded, mask=attention_mask), add(own),
  matmul(table, bTranspose=true);
"""
SOURCE_OF = {
    "input_ids": [[7, 3, 9, 1, 1], [4, 8, 2, 6, 5]],
    "attention_mask": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]],
}
PROMPTS = [[1, 2, 3, 4, 5], [7] * 20, [9, 8]]
PROGRAM = f"""
import asyncio
from webnnm import NNModel
from webnnm.transformers.beams import Beams
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

model = await NNModel.create(source={SOURCE!r}, backend="webnn", seed=4, log=lambda _: None)
generator = Generator(model)

async def whole(rows, count, **given):
    found = [[] for _ in rows]
    async for fresh in generator.generate(rows, count, **given):
        for row, more in zip(found, fresh):
            row += more
    return found

found = [await whole([prompt], 40) for prompt in {PROMPTS!r}]
together = await whole({PROMPTS!r}, 40)
sampling = Sampling(temperature=1.5, top_k=20, top_p=0.9, min_p=0.01, repetition_penalty=1.2)
drawn = await whole([[1, 2]], 20, sampling=sampling, seed=1)
unlike = Sampling(no_repeat_ngram_size=2, min_new_tokens=9, ends=(7, 8, 9))
varied = await whole([[7] * 20], 20, sampling=unlike)
for _ in range(2):  # until its decode has been compiled in the background
    await asyncio.wait([generator._graphs.ahead[1]])
    await whole([[1, 2]], 20, sampling=sampling, seed=1)
before = model.backend.memory()
again = await whole([[1, 2]], 20, sampling=sampling, seed=1)
steady = model.backend.memory() == before
generator.close()
model.close()
reader = await NNModel.create(source={READS!r}, backend="webnn", seed=5, log=lambda _: None)
generator = Generator(reader)
read = await whole([[1], [2, 3]], 30, source={SOURCE_OF!r})
searched = await generator.search([[1], [2, 3]], 12, Beams(3, ends=(4,)), source={SOURCE_OF!r})
generator.close()
reader.close()
[found, together, drawn, again, steady, varied, read, searched]
"""


async def whole(generator: Generator, row: list[int], count: int, **given: Sampling) -> list[int]:
    found: list[int] = []
    async for fresh in generator.generate([row], count, **given):
        found += fresh[0]
    return found


async def test_tokens_are_those_of_numpy(pyodide_page: PyodidePage) -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", seed=4, log=lambda _: None)
    generator = Generator(model)
    wanted = [await whole(generator, prompt, 40) for prompt in PROMPTS]
    reader = await NNModel.create(source=READS, backend="numpy", seed=5, log=lambda _: None)
    reading = Generator(reader)
    (*results, read, searched) = await pyodide_page.run_python(PROGRAM)
    found, together, drawn, again, steady, varied = results
    unlike = Sampling(no_repeat_ngram_size=2, min_new_tokens=9, ends=(7, 8, 9))
    assert varied == [await whole(generator, [7] * 20, 20, sampling=unlike)]
    text = [7, *varied[0]]
    assert len({*itertools.pairwise(text)}) == 20
    assert not {7, 8, 9} & {*text[1:10]}
    assert [row for (row,) in found] == wanted == together
    assert drawn == again
    assert len({*drawn[0]}) > 1
    assert steady
    texts: list[list[int]] = [[], []]
    async for fresh in reading.generate([[1], [2, 3]], 30, source=SOURCE_OF):
        texts = [text + more for text, more in zip(texts, fresh, strict=True)]
    assert read == texts and texts[0] != texts[1]
    beams = Beams(3, ends=(4,))
    assert searched == await reading.search([[1], [2, 3]], 12, beams, source=SOURCE_OF)
