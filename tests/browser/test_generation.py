"""Texts that go on on WebNN: the tokens of NumPy, in memory that is taken once."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage
from webnnm import NNModel
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
PROMPTS = [[1, 2, 3, 4, 5], [7] * 20, [9, 8]]
PROGRAM = f"""
from webnnm import NNModel
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator

model = await NNModel.create(source={SOURCE!r}, backend="webnn", seed=4, log=lambda _: None)
generator = Generator(model.network, model.backend, model.parameters)

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
before = model.backend.ledger()
again = await whole([[1, 2]], 20, sampling=sampling, seed=1)
steady = model.backend.ledger() == before
generator.close()
model.close()
[found, together, drawn, again, steady]
"""


async def whole(generator: Generator, row: list[int], count: int, **given: Sampling) -> list[int]:
    found: list[int] = []
    async for fresh in generator.generate([row], count, **given):
        found += fresh[0]
    return found


async def test_tokens_are_those_of_numpy(pyodide_page: PyodidePage) -> None:
    model = await NNModel.create(source=SOURCE, backend="numpy", seed=4, log=lambda _: None)
    generator = Generator(model.network, model.backend, model.parameters)
    wanted = [await whole(generator, prompt, 40) for prompt in PROMPTS]
    found, together, drawn, again, steady = await pyodide_page.run_python(PROGRAM)
    assert [row for (row,) in found] == wanted == together
    assert drawn == again
    assert len({*drawn[0]}) > 1
    assert steady
