"""Texts of a model with random weights are complete and fit, whatever it would rather write."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, sized_files
from tests.unit.transformers.structured.test_json_schema import PERSON, TREE, is_person, is_tree
from tests.unit.transformers.tokenizer_json import tokenizer
from webnnm import DataError
from webnnm.transformers.gguf_tokenizer import get_letters
from webnnm.transformers.structured.allowed_tokens import AllowedTokens
from webnnm.transformers.structured.automaton import Automaton, literal
from webnnm.transformers.structured.json_schema import json_schema_pattern
from webnnm.transformers.structured.token_bytes import token_bytes

pytestmark = pytest.mark.desktop
LETTERS = get_letters()
MERGES = [("{", '"'), ('"', ":"), ('":', "Ġ"), ("y", "e"), ("ye", "s"), ("Ġ", '"'), ('"', "}")]
WORDS = ["<s>", "<|im_start|>", "<|im_end|>", *LETTERS.values()]
WORDS += [a + b for a, b in MERGES if a in WORDS or len(a) > 1]
TOKENIZER = tokenizer(WORDS, {0, 1, 2}, [f"{a} {b}" for a, b in MERGES])
VOCABULARY = len(WORDS) + 5
"""Models often have scores for more tokens than there are."""


@pytest.fixture
async def model() -> AsyncIterator[Any]:
    pytest.importorskip("tokenizers")
    config = {**CONFIG, "vocab_size": VOCABULARY, "eos_token_id": 2}
    files = sized_files(config, {31: VOCABULARY}, 0.9) | {"tokenizer.json": TOKENIZER.encode()}
    opened = await webnnm.from_pretrained(files, backend="numpy", log=lambda _: None)
    yield opened
    opened.close()


@pytest.mark.parametrize(("schema", "check"), [(PERSON, is_person), (TREE, is_tree)])
async def test_every_text_is_json_that_fits(model: Any, schema: Any, check: Any) -> None:
    for seed in range(15):
        prompts = ["ab", "cde", "f"]
        texts = await model.generate(
            prompts, json_schema=schema, max_new_tokens=40, temperature=1.5, seed=seed
        )
        assert all(check(json.loads(text)) for text in texts), texts


async def test_a_choice_is_made(model: Any) -> None:
    choices = ["yes", "yesterday", "no"]
    texts = {await model.generate("a", choices=choices, temperature=2.0, seed=k) for k in range(12)}
    assert texts <= {*choices} and len(texts) > 1
    pieces = [piece async for piece in model.generate("a", choices=choices)]
    assert "".join(pieces) in choices


async def test_an_expression_is_matched_up_to_the_last_token(model: Any) -> None:
    for limit in (6, 9, 30):
        text = await model.generate("a", regex=r"[a-z]{2,}é(\d\d)+", max_new_tokens=limit)
        assert re.fullmatch(r"[a-z]{2,}é(\d\d)+", text)


async def test_tokens_are_those_of_the_text(model: Any) -> None:
    ids = await model.generate_ids([[5, 6]], json_schema=PERSON, max_new_tokens=30)
    assert is_person(json.loads(model.tokenizer.decode(ids[0][2:])))


async def test_other_rules_do_not_outweigh_the_structure(model: Any) -> None:
    text = await model.generate(
        "a", choices=["aaaa"], repetition_penalty=9.0, no_repeat_ngram_size=1, min_new_tokens=9
    )
    assert text == "aaaa"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"json_schema": PERSON, "max_new_tokens": 4}, "the shortest text takes"),
        ({"choices": ["a"], "regex": "a"}, "choices and regex are given"),
        ({"choices": "abc"}, "choices is 'abc'"),
        ({"choices": []}, "choices is []"),
        ({"choices": ["a"], "num_beams": 2}, "num_beams is 2, and the text is structured"),
        ({"choices": ["a"], "choose": max}, "choose is a function, and the text is structured"),
        ({"json_schema": False}, "no text fits"),
    ],
)
async def test_what_cannot_be_is_refused(model: Any, settings: Any, why: str) -> None:
    with pytest.raises(DataError, match="NNM704") as caught:
        await model.generate("a", **settings)
    assert why in str(caught.value)


async def test_a_model_without_an_end_is_refused() -> None:
    pytest.importorskip("tokenizers")
    config = {**CONFIG, "vocab_size": VOCABULARY}
    files = sized_files(config, {31: VOCABULARY}, 0.9) | {"tokenizer.json": TOKENIZER.encode()}
    async with await webnnm.from_pretrained(files, backend="numpy", log=lambda _: None) as opened:
        with pytest.raises(DataError, match=r"NNM717.*no token that ends texts"):
            await opened.generate("a", choices=["a"])


def test_tokens_that_end_too_late_do_not_follow() -> None:
    data = token_bytes(TOKENIZER)
    allowed = AllowedTokens(Automaton(json_schema_pattern({"type": "string"})), data, [2])
    quote, letter = data.index(b'"'), data.index(b"a")
    state = allowed.advance(allowed.automaton.start, quote)
    assert state is not None
    early, late = allowed.biases(state, 9), allowed.biases(state, 1)
    assert early[letter] == early[quote] == late[quote] == 0 and late[letter] < 0


def test_spaces_that_decoding_drops_do_not_count() -> None:
    class SentencePieces:
        ends, template = frozenset({2}), ""

        def get_bytes(self) -> list[bytes | None]:
            return [b" yes", b"yes", None, b" "]

        def decode(self, tokens: Any) -> str:
            return b"".join(filter(None, (self.get_bytes()[t] for t in tokens))).decode()[1:]

    from webnnm.transformers.structured.output import StructuredOutput

    tokenizer: Any = SentencePieces()
    allowed = StructuredOutput(tokenizer, 4, [2]).find(["yes"], None, None)
    assert allowed is not None
    start = allowed.automaton.start
    assert [bias == 0 for bias in allowed.biases(start, 9)] == [True, True, False, True]
    spaced = StructuredOutput(tokenizer, 4, [2]).find([" yes"], None, None)
    assert spaced is not None
    assert [b == 0 for b in spaced.biases(spaced.automaton.start, 9)] == [False, False, False, True]


def test_control_tokens_have_no_bytes() -> None:
    data = token_bytes(TOKENIZER)
    assert data[:3] == [None] * 3 and data[WORDS.index("Ġ")] == b" "
    allowed = AllowedTokens(Automaton(literal("\ufffd")), data, [2])
    assert allowed.tokens_needed(allowed.automaton.start) == 3
