"""Quantised blocks of GGUF files: JavaScript unpacks them to the numbers of Python."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage
from webnnm.formats import gguf

ROWS, COLUMNS, HEAD = 8, 512, 4
PROGRAM = """
import random
from webnnm.backends import pyodide_host
from webnnm.formats import gguf

def blocks(code, seed):
    kind, draw = gguf.BLOCKS[code], random.Random(seed)
    data = bytearray(draw.randbytes({ROWS} * {COLUMNS} // kind.values * kind.size))
    for start in range(0, len(data), kind.size):
        for place in (1, 3, 209):  # halves that are neither infinite nor NaN
            if place < kind.size:
                data[start + place] &= 0xBB
    return memoryview(data)

unpack = (await pyodide_host.load_module("page/downloads")).unpack
tensor = gguf.StoredTensor({code!r}, ({ROWS}, {COLUMNS}), blocks({code!r}, 1))
name = {name!r}
metadata = {{"general.architecture": "llama", "llama.attention.head_count": {ROWS} // {HEAD}}}
plain = gguf.File(metadata, {{name: tensor}})
native = gguf.File(metadata, {{name: tensor}}, unpack)
[
    bytes(plain.rope_order(name, transposed=transposed).data)
    == bytes(native.rope_order(name, transposed=transposed).data)
    for transposed in (False, True)
]
"""


@pytest.mark.parametrize("name", ["blk.0.attn_q.weight", "blk.0.ffn_up.weight"])
@pytest.mark.parametrize("code", sorted(gguf.IN_PAGES))
async def test_javascript_unpacks_the_same_numbers(
    pyodide_page: PyodidePage, code: str, name: str
) -> None:
    program = PROGRAM.format(code=code, name=name, ROWS=ROWS, COLUMNS=COLUMNS, HEAD=HEAD)
    assert await pyodide_page.run_python(program) == [True, True]
