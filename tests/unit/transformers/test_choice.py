"""The choice of tokens: frequencies are the probabilities that the filters leave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.work import examples
from webnnm import GraphBuilder, backend
from webnnm.transformers.choice import GENERATOR, Sampling, choose_tokens, generator_states

np = pytest.importorskip("numpy")

SCORES = np.array([2.0, 1.5, 1.5, 0.3, 0.0, -1.0, -2.0, -8.0])
ROWS = examples(6000)
CASES: dict[str, dict[str, Any]] = {
    "all": {"temperature": 1.0},
    "cold": {"temperature": 0.5},
    "top_k": {"temperature": 1.0, "top_k": 4},
    "ties": {"temperature": 1.0, "top_k": 2},
    "more than there are": {"temperature": 2.0, "top_k": 50},
    "top_p": {"temperature": 1.0, "top_p": 0.8},
    "all of it": {"temperature": 1.0, "top_p": 1.0},
    "the most likely": {"temperature": 1.0, "top_p": 0.01},
    "min_p": {"temperature": 1.0, "min_p": 0.1},
    "one after the other": {"temperature": 1.5, "top_k": 6, "top_p": 0.9, "min_p": 0.2},
}


def wanted(temperature: float, top_k: int = 99, top_p: float = 1.0, min_p: float = 0.0) -> Any:
    """Return the probabilities by sorting, with ties kept together."""
    scores = SCORES / temperature
    kept = scores >= np.sort(scores)[::-1][min(top_k, len(scores)) - 1]
    shares = np.exp(scores) * kept / (np.exp(scores) * kept).sum()
    ordered = np.sort(shares)[::-1]
    place = int(np.searchsorted(np.cumsum(ordered), top_p - 1e-9))
    kept &= shares >= ordered[min(place, len(ordered) - 1)]
    kept &= shares >= min_p * shares.max()
    return shares * kept / (shares * kept).sum()


async def draws(sampling: Sampling, rows: int = ROWS, seed: int = 5) -> Any:
    b = GraphBuilder()
    scores = b.input("scores", "float32", [rows, len(SCORES)])
    token, states = choose_tokens(b, scores, sampling.kinds())
    runner = await (await backend("numpy")).compile(b.build({"token": token, **states}))
    first = {n: s.values() for n, s in generator_states(seed, rows, len(SCORES)).items()}
    given = {"scores": np.tile(SCORES, (rows, 1)).astype("float32"), **sampling.values(len(SCORES))}
    given |= {name: np.asarray(first[name]).reshape(rows, -1) for name in GENERATOR}
    found = await runner.run({name: given[name] for name in runner.inputs})
    return np.asarray(found["token"])


@pytest.mark.parametrize("name", CASES)
async def test_frequencies_are_probabilities(name: str) -> None:
    expected = wanted(**CASES[name])
    found = np.bincount(await draws(Sampling(**CASES[name])), minlength=len(SCORES)) / ROWS
    assert not found[expected == 0].any()
    # Five standard deviations; the seed is fixed, and so is the result.
    assert (abs(found - expected) <= 5 * np.sqrt(expected / ROWS) + 1e-12).all()


async def test_without_temperature_the_most_likely_token_is_chosen() -> None:
    assert {*(await draws(Sampling(top_k=3), rows=4)).tolist()} == {0}


def test_what_has_no_effect_is_not_in_the_graph() -> None:
    assert Sampling(top_k=3, repetition_penalty=1.0).kinds() == ()
    assert Sampling(temperature=1.0, top_k=3).kinds() == ("temperature", "top_k")
