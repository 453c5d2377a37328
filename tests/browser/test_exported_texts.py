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
from tests.unit.transformers.tiny_bert import bert_files
from tools.common import ROOT, SITE
from webnnm import DataError, LabeledTextDataset, from_pretrained, train_text_head
from webnnm.cli.serve import SiteServer
from webnnm.data.texts.tokenizer import TextTokenizer
from webnnm.data.texts.vocabulary import UNITS, learn_vocabulary
from webnnm.formats.page.tokenizers import Texts, encode_tokenizer
from webnnm.model.serving import answer

TOKENS = """async ([file, texts]) => {
  const { openTokenizer } = await import("./webnnm/inference/tokens.js");
  const tokenizer = openTokenizer(JSON.parse(file));
  return texts.map((text) => tokenizer.encode(text));
}"""


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


@pytest.mark.projects("webnn")
async def test_a_head_on_an_encoder_answers_as_in_python(tmp_path: Path, page: Any) -> None:
    tokenizer = bert()
    files = bert_files(tokenizer.get_vocab_size()) | {"tokenizer.json": tokenizer.to_str().encode()}
    encoder = await from_pretrained(files, pooling="mean", backend="numpy", log=lambda _: None)
    texts = ["so good", "so very bad", "good", "bad, bad"] * 4
    data = LabeledTextDataset(texts, ["yes", "no"] * 8, tokens=encoder, length=12)
    model = await train_text_head(encoder, data, epochs=2)
    await model.export(tmp_path / "page", format="page")
    rows = ["Hello, world!", "ΣΊΣΥΦΟΣ 👍🏽 naïve", "so good " * 40]
    expected = [json.loads(await answer(model, row)) for row in rows]
    with SiteServer(tmp_path / "page") as server:
        await page.goto(server.url)
        for engine in ("webnn", "script"):
            answers = (await page.evaluate(ANSWER, [engine, rows]))["answers"]
            check_equal(answers, expected, engine)
    encoder.close()
    model.close()


def test_a_tokenizer_that_pages_do_not_have_is_refused() -> None:
    file = json.loads(bert().to_str()) | {"pre_tokenizer": {"type": "UnicodeScripts"}}
    with pytest.raises(DataError, match='NNM905: the tokenizer has a "UnicodeScripts"'):
        encode_tokenizer(Texts(json.dumps(file)))
