"""Models of Hugging Face give what `transformers` gave, as the committed fixtures have it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.parity.pretrained import fixtures
from tests.parity.pretrained.cases import CASES, Case
from tests.parity.pretrained.outcome import LIMIT, difference, outputs
from webnnm import WebNNMError

recorded = cache(fixtures.read)


def test_fixtures_are_those_of_the_cases() -> None:
    assert list(recorded()) == [str(case) for case in CASES], "`make parity-fixtures` writes them"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_outputs_are_those_of_transformers(case: Case) -> None:
    fixture = recorded()[str(case)]
    assert difference(outputs(fixture, fixtures.SEED), fixture) <= LIMIT


@pytest.mark.parametrize(("name", "word"), [("gpt2-plain", "n_positions"), ("bert-base", "rows")])
def test_more_tokens_than_positions_are_refused(name: str, word: str) -> None:
    long = replace(recorded()[name], inputs={"input_ids": np.zeros((1, 20), np.int64)})
    with pytest.raises(WebNNMError, match="NNM711") as caught:
        outputs(long, fixtures.SEED)
    assert word in str(caught.value)


@pytest.mark.parametrize("name", ["bert-base", "distilbert-base"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_embeddings_are_pooled_from_what_the_encoder_gives(name: str, pooling: str) -> None:
    fixture = recorded()[name]
    found = outputs(fixture, fixtures.SEED, pooling=pooling)["sentence_embedding"]
    hidden, mask = fixture.outputs["last_hidden_state"], fixture.inputs["attention_mask"]
    means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    wanted = means if pooling == "mean" else hidden[:, 0]
    wanted = wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-6)
