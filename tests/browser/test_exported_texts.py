"""Exported models of texts: the same tokens, and the same answers, as in Python."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.browser.exported_cases import CASES
from tests.browser.exported_texts import bert, draw_texts, make_tokenizers
from tests.browser.site_pages import WATCH_POLICY
from tests.browser.test_exported_pages import ANSWER, check_equal, find_answers
from tests.unit.transformers.folders import pack
from tools.common import ROOT, SITE
from webnnm import DataError, from_pretrained
from webnnm.cli.serve import SiteServer
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count
from webnnm.data.texts.tokenizer import TextTokenizer
from webnnm.data.texts.vocabulary import UNITS, learn_vocabulary
from webnnm.formats.page.tokenizers import Texts, encode_tokenizer

SIZE, INNER, LAYER = 16, 24, "encoder.layer.0"
SQUARES = ("attention.self.query", "attention.self.key", "attention.self.value")
TOKENS = """async ([file, texts]) => {
  const { openTokenizer } = await import("./webnnm/inference/tokens.js");
  const tokenizer = openTokenizer(JSON.parse(file));
  return texts.map((text) => tokenizer.encode(text));
}"""


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.LayerNorm.weight": (SIZE,), f"{name}.LayerNorm.bias": (SIZE,)}


def bert_files(vocabulary: int) -> dict[str, bytes]:
    """Return the files of a small BERT."""
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": vocabulary,
        "hidden_size": SIZE,
        "intermediate_size": INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 40,
        "type_vocab_size": 2,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, SIZE),
        "embeddings.position_embeddings.weight": (40, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        **norm("embeddings"),
        **{k: v for name in SQUARES for k, v in linear(f"{LAYER}.{name}", SIZE, SIZE).items()},
        **linear(f"{LAYER}.attention.output.dense", SIZE, SIZE),
        **norm(f"{LAYER}.attention.output"),
        **linear(f"{LAYER}.intermediate.dense", INNER, SIZE),
        **linear(f"{LAYER}.output.dense", SIZE, INNER),
        **norm(f"{LAYER}.output"),
        **linear("pooler.dense", SIZE, SIZE),
    }
    tensors: dict[str, HostArray] = {}
    for name, shape in shapes.items():
        values = [u - 0.5 for u in Stream(0, Purpose.RANDOMIZE, name).uniform(count(shape))]
        tensors[name] = HostArray.of(values, "float32", shape)
    return {"config.json": json.dumps(config).encode(), "model.safetensors": pack(tensors)}


def read_published() -> dict[str, Tokenizer]:
    """Return the tokenizers of models that `make models` has fetched."""
    tokenizers: dict[str, Tokenizer] = {}
    for path in (SITE / "models").glob("*/tokenizer.json"):
        tokenizers[path.parent.name] = tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
    return tokenizers


@pytest.mark.webnn
async def test_tokens_are_those_of_the_package_tokenizers(
    tmp_path: Path, webnn_context: Any, page_log: Any
) -> None:
    texts = draw_texts()
    options: dict[str, Any] = {"size": 900, "minimum_count": 2, "lowercase": True}
    learnt = {unit: learn_vocabulary(texts, unit, **options) for unit in UNITS}
    ngrams = learnt.pop("ngrams")  # other packages have none
    tokenizers = {**make_tokenizers(), **read_published()}
    tokenizers |= {unit: Tokenizer.from_str(tokenizer.file) for unit, tokenizer in learnt.items()}
    await find_answers(CASES[0], tmp_path)
    script = (ROOT / "js_bridge" / "inference" / "tokens.js").read_text()
    (tmp_path / "webnnm" / "inference" / "tokens.js").write_text(script)
    page = await webnn_context.new_page()
    page_log.watch(page)
    with SiteServer(tmp_path) as server:
        await page.goto(server.url)
        for name, tokenizer in tokenizers.items():
            _, file = encode_tokenizer(Texts(tokenizer.to_str()))
            rows = await page.evaluate(TOKENS, [file.decode(), texts])
            own = TextTokenizer(tokenizer.to_str())
            for text, row in zip(texts, rows, strict=True):
                assert row == tokenizer.encode(text).ids, (name, text[:100])
                # Which characters there are depends on the version of Unicode that Python has.
                if all(unicodedata.category(letter) != "Cn" for letter in text):
                    assert row == own.encode(text), (name, text[:100])
        _, file = encode_tokenizer(Texts(ngrams.file))
        known = [t for t in texts if all(unicodedata.category(letter) != "Cn" for letter in t)]
        rows = await page.evaluate(TOKENS, [file.decode(), known])
        assert rows == [ngrams.encode(text) for text in known]
    await page.close()


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_sentence_has_the_vector_that_python_finds(tmp_path: Path, page: Any) -> None:
    tokenizer = bert()
    files = bert_files(tokenizer.get_vocab_size()) | {"tokenizer.json": tokenizer.to_str().encode()}
    model = await from_pretrained(files, pooling="mean", backend="numpy", log=lambda _: None)
    await model.export(tmp_path / "page", format="page")
    texts = ["Hello, world!", "", "ΣΊΣΥΦΟΣ 👍🏽 naïve", "the quick brown fox", "x " * 40]
    expected: list[Any] = []
    for text in texts[:-1]:
        outputs = await model.predict(input_ids=[model.tokenizer.encode(text)])
        values = {name: {"values": array.tolist()[0]} for name, array in outputs.items()}
        expected.append(values)
    expected.append({"error": "NNM711"})
    await page.add_init_script(WATCH_POLICY)
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        has_webnn = await page.evaluate("'ml' in navigator")
        for engine in ("webnn", "script") if has_webnn else ("script",):
            answers = (await page.evaluate(ANSWER, [engine, texts]))["answers"]
            check_equal(answers, expected, engine)
        await page.locator("webnnm-model textarea").fill(texts[0])
        await page.get_by_role("button", name="Predict").click()
        await page.locator("webnnm-model form p").first.wait_for()
        assert await page.evaluate("refused") == []
    model.close()


def test_a_tokenizer_that_pages_do_not_have_is_refused() -> None:
    file = json.loads(bert().to_str()) | {"pre_tokenizer": {"type": "UnicodeScripts"}}
    with pytest.raises(DataError, match='NNM905: the tokenizer has a "UnicodeScripts"'):
        encode_tokenizer(Texts(json.dumps(file)))
