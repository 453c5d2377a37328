"""Generated set-ups are sound by construction, drawn by their seed, and counted correctly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.teach.corpus import KINDS, SET_UPS, Generated, generate
from tests.teach.corpus.kinds import kind
from tests.teach.setup import Setup, of
from tools import false_alarms, teach
from tools.false_alarms import Rate
from webnnm import parse


@pytest.mark.parametrize("seed", range(0, 2 * len(KINDS), 2))
def test_kinds_have_a_text_that_parses_and_something_to_learn(seed: int) -> None:
    name, generated = generate(seed)
    parse(generated.setup.text)
    assert abs(generated.ceiling - generated.floor) > 0.05, name
    assert generated.share(generated.ceiling) == 1
    assert generated.share(generated.floor) == 0


def test_each_half_has_every_kind_and_as_many_of_each() -> None:
    for half in (range(0, SET_UPS, 2), range(1, SET_UPS, 2)):
        names = [[*KINDS][seed // 2 % len(KINDS)] for seed in half]
        assert {names.count(name) for name in KINDS} == {SET_UPS // 2 // len(KINDS)}


def test_a_seed_draws_the_same_rows_again() -> None:
    arrays = [np.array(generate(7)[1].setup.data(7).arrays("full")[0]["model"]) for _ in range(2)]  # type: ignore
    assert np.array_equal(*arrays)


def test_a_kind_is_listed_once() -> None:
    with pytest.raises(ValueError, match="two kinds are called weighted_sum"):
        kind(KINDS["weighted_sum"])


def test_a_score_that_the_rows_do_not_explain_is_not_sound() -> None:
    loss = Generated(Setup("", of([[0.0]], [[0.0]])), ceiling=0.2, floor=1.0)
    assert loss.is_reached(0.3) and not loss.is_reached(0.7)


def test_rates_have_an_upper_bound_that_covers_the_truth() -> None:
    assert Rate(0, 300).bound == pytest.approx(1 - 0.05 ** (1 / 300), abs=1e-5)
    assert Rate(3, 300).bound == pytest.approx(0.02566, abs=1e-4)
    assert Rate(5, 5).bound == pytest.approx(1, abs=1e-5)


async def test_runner_counts_findings_on_sound_set_ups_by_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "corpus.json"
    first = 2 * [*KINDS].index("weighted_sum")
    await teach.main(
        ["--corpus", "weighted_sum", "--first", str(first), "--seeds", "2", "--into", str(into)]
    )
    results = json.loads(into.read_text())
    assert [result["kind"] for result in results] == ["weighted_sum"] * 2
    assert all(result["sound"] and not result["error"] for result in results)
    printed = capsys.readouterr().out
    assert "tuning: 1 set-ups" in printed and "testing: 1 set-ups" in printed


def test_only_findings_above_information_on_sound_set_ups_count() -> None:
    def result(seed: int, sound: bool, *severities: str) -> dict[str, Any]:
        findings = [{"id": f"E90{n}", "severity": one} for n, one in enumerate(severities)]
        return {
            "seed": seed,
            "kind": "any",
            "sound": sound,
            "share": 0.9,
            "before": findings,
            "after": findings[:1],
        }

    results = [
        false_alarms.shorten(result(0, True, "info", "advice")),
        false_alarms.shorten(result(1, True)),
        false_alarms.shorten(result(2, False, "warning")),
    ]
    assert false_alarms.rates(results) == {"E901": Rate(1, 2)}
    assert false_alarms.count_alarmed(false_alarms.half(results, "testing")) == Rate(0, 1)


def test_the_record_is_of_the_set_ups_there_are() -> None:
    results = false_alarms.read_record()
    for name, first in zip(false_alarms.HALVES, (0, 1), strict=True):
        own = false_alarms.half(results, name)
        seeds = range(first, SET_UPS, 2)[: len(own)]
        assert [result["seed"] for result in own] == [*seeds]
        assert [result["kind"] for result in own] == [
            [*KINDS][seed // 2 % len(KINDS)] for seed in seeds
        ]
        assert sum(result["sound"] for result in own) > 0.9 * len(own)
    assert len(results) >= 300
