"""The rules of transcripts on a device: those of OpenAI's Whisper, token by token."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from webnnm import backend
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.transformers.choice import Sampling, choose_tokens
from webnnm.transformers.timestamps import PROGRESS, TIMES, Timestamps

np = pytest.importorskip("numpy")

END, SILENCE, FIRST, VOCABULARY = 20, 21, 23, 60
HIDDEN = [7, 21, 22]
"""Those between words and times never come."""
FACTS = Timestamps(first=FIRST, end=END, silence=SILENCE, latest=5)


def mask_scores(scores: Any, before: list[int]) -> Any:
    """Return the scores that may be chosen, as `whisper/decoding.py` says, others −∞."""
    scores = scores.astype(np.float64).copy()
    last = bool(before) and before[-1] >= FIRST
    penultimate = len(before) < 2 or before[-2] >= FIRST
    if last and penultimate:
        scores[FIRST:] = -np.inf
    elif last:
        scores[:END] = -np.inf
    times = [token for token in before if token >= FIRST]
    if times:
        scores[FIRST : times[-1] + (not (last and not penultimate))] = -np.inf
    if not before:
        scores[:FIRST] = -np.inf
        scores[FIRST + FACTS.latest + 1 :] = -np.inf
    shares = np.exp(scores - scores.max())
    if shares[FIRST:].sum() > shares[:FIRST].max():
        scores[:FIRST] = -np.inf
    return scores


async def write(rows: Any) -> tuple[list[int], list[float]]:
    """Return what a graph chooses of scores `[tokens, vocabulary]`, and its last state."""
    b = GraphBuilder()
    sampling = Sampling(timestamps=FACTS, suppress_tokens=HIDDEN)
    scores = b.input("scores", "float32", [1, VOCABULARY])
    token, states = choose_tokens(b, scores, sampling.kinds())
    device = await backend("numpy")
    executable = await device.compile(b.build({"token": token, PROGRESS: states[PROGRESS]}))
    given: dict[str, Any] = sampling.values(VOCABULARY) | FACTS.values(1)
    assert {*executable.inputs} == {"scores", "suppress_tokens", TIMES, PROGRESS}
    tokens: list[int] = []
    for row in rows:
        found = await executable.run_host({**given, "scores": HostArray.of(row[None])})
        given[PROGRESS] = found[PROGRESS]
        tokens.append(int(found["token"].values()[0]))
        if tokens[-1] == END:
            break
    return tokens, [*given[PROGRESS].values()]


@pytest.mark.parametrize("seed", range(8))
def test_tokens_are_those_of_whisper(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(0, 3, (40, VOCABULARY)).astype(np.float32)
    rows[:, FIRST:] -= random.choice([0, 3, 6], (40, 1))
    wanted: list[int] = []
    total = 0.0
    for row in rows:
        row = row.copy()
        row[HIDDEN] = -np.inf
        scores = mask_scores(row, wanted)
        wanted.append(int(scores.argmax()))
        total += scores.max() - np.log(np.exp(scores).sum())
        if wanted[-1] == END:
            break
    found, state = asyncio.run(write(rows))
    assert found == wanted
    assert state[5] == pytest.approx(total, rel=1e-4)
    first = np.exp(rows[0] - rows[0].max())
    assert state[6] == pytest.approx(first[SILENCE] / first.sum(), rel=1e-4)
