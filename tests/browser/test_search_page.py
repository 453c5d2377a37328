"""The page that finds sentences by what they mean: a tiny encoder, and MiniLM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.site_pages import check_usable, needs, open_site_page
from tests.browser.test_model_pages import in_one_browser, ready
from tests.unit.transformers.folders import pack
from tests.unit.transformers.tokenizer_json import tokenizer
from webnnm.core.arrays import HostArray
from webnnm.core.random import Stream
from webnnm.core.shapes import count

pytest.importorskip("numpy")

WORDS = ["<end>", "a", "b", "c", "d", "Ġ", ".", "?"]
WIDTH, INNER = 8, 12
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": len(WORDS),
    "hidden_size": WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": INNER,
    "max_position_embeddings": 64,
}


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the tensors of a BERT of one layer."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (64, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    layer = "encoder.layer.0"
    norms = ["embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm"]
    for name in (*norms, f"{layer}.output.LayerNorm"):
        found |= {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}
    sizes = {f"attention.self.{word}": (WIDTH, WIDTH) for word in ("query", "key", "value")}
    sizes |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (INNER, WIDTH)}
    for name, size in (sizes | {"output.dense": (WIDTH, INNER)}).items():
        found |= {f"{layer}.{name}.weight": size, f"{layer}.{name}.bias": size[:1]}
    return found | {"pooler.dense.weight": (WIDTH, WIDTH), "pooler.dense.bias": (WIDTH,)}


def folder() -> list[dict[str, Any]]:
    """Return the files of a tiny encoder, as a field for files takes them."""
    drawn = {
        name: HostArray.of(
            [2 * value - 1 for value in Stream(0, 1, name).uniform(count(shape))], "float32", shape
        )
        for name, shape in shapes().items()
    }
    contents = {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": tokenizer(WORDS, {0}).encode(),
        "model.safetensors": pack(drawn),
    }
    return [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in contents.items()
    ]


async def found(page: Any, query: str) -> list[str]:
    """Search, and return what was found."""
    await page.locator("#query").fill(query)
    await page.locator("#find:enabled").click()
    await page.locator(f'#found[data-query="{query}"] li').first.wait_for()
    return [await each.text_content() for each in await page.locator("#found li p").all()]


@in_one_browser
async def test_a_sentence_finds_itself(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "search.html")
    await page.locator("#folder").set_input_files(folder())
    await page.locator("#work:enabled").wait_for()
    sentences = ["ab cd.", "dd dd dd?", "cab", *(f"{'ab' * n} c" for n in range(1, 9))]
    await page.locator("#text").fill("ab cd. dd dd dd?\ncab\n" + "\n".join(sentences[3:]))
    assert (await found(page, "cab"))[0] == "cab"
    rate = page.locator("#rate")
    assert "11 sentences, 11 of them new" in await rate.text_content()
    assert "on WebNN" in await rate.text_content()
    assert (await found(page, "dd dd dd?"))[0] == "dd dd dd?"
    assert "11 sentences, 0 of them new" in await rate.text_content()
    assert len(await page.locator("#found li small").all_text_contents()) == 5
    assert await page.locator("#found li small").first.text_content() == "1.00"
    await check_usable(page)


@in_one_browser
async def test_minilm_finds_what_is_meant(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs("all-MiniLM-L6-v2/model.safetensors")
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "search.html")
    for query, word in {
        "How do plants make their food?": "sugar",
        "animals that navigate by ear": "Bats",
        "why do things get more expensive": "price rises",
    }.items():
        assert any(word in text for text in (await found(page, query))[:2]), query
    print(await page.locator("#rate").text_content())
