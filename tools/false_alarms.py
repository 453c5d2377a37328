"""Counts which rules report something on generated set-ups that are sound.

Run `make teach ARGS=--corpus`: it reviews, trains and tests the set-ups of tests/teach/corpus, or
those of some seeds only, as in `ARGS="--corpus --seeds 40"`. A set-up counts if its score shows
that it learns what its rows can teach. All texts are in build/corpus.json. `--record FILE …` merges
such files into tests/teach/corpus.json, from which docs/expert.md and docs/rules.md are made.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.teach.corpus import SET_UPS, generate
from tools.common import ROOT, say
from tools.teach_runs import is_alarm, run

INTO = ROOT / "build" / "corpus.json"
RECORD = ROOT / "tests" / "teach" / "corpus.json"
LINE = "{:>5} {:36} {:>7} {:>6}  {}"
HALVES = ("tuning", "testing")
"""What set-ups are for, by the parity of their seed."""
ERROR = 0.05
"""The chance that a rate is above its upper bound."""


@dataclass(frozen=True)
class Rate:
    """How often a rule reports something on sound set-ups.

    >>> str(Rate(0, 300)), str(Rate(3, 300))
    ('0 of 300 (at most 1.0%)', '3 of 300 (at most 2.6%)')
    """

    reports: int
    set_ups: int

    @property
    def bound(self) -> float:
        """The upper bound of the rate, 95%, by Clopper & Pearson."""
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            rate = (low + high) / 2
            if _at_most(self.reports, self.set_ups, rate) > ERROR:
                low = rate
            else:
                high = rate
        return high

    def __str__(self) -> str:
        return f"{self.reports} of {self.set_ups} (at most {self.bound:.1%})"


def _at_most(reports: int, trials: int, rate: float) -> float:
    """Return the chance of at most so many reports."""
    return math.fsum(
        math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(reports + 1)
    )


async def measure(seed: int) -> dict[str, Any]:
    """Return the outcome of a seed's set-up; the rows of its dataset are divided by the seed."""
    name, generated = generate(seed)
    result = await run(generated.setup, seed)
    score = result.score
    return {
        "seed": seed,
        "kind": name,
        "score": score,
        "share": None if score is None else generated.share(score),
        "sound": score is not None and generated.is_reached(score),
        **vars(result),
    }


def shorten(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of an outcome; `alarms` are findings above information."""
    if "alarms" in result:
        return dict(result)
    findings = [finding for when in ("before", "after") for finding in result[when]]
    share = result["share"]
    return {
        **{name: result[name] for name in ("seed", "kind", "sound")},
        "share": None if share is None else round(share, 2),
        "alarms": sorted({finding["id"] for finding in findings if is_alarm(finding)}),
    }


def read_record() -> list[dict[str, Any]]:
    """Return the recorded outcomes, in the order of their seeds."""
    results: list[dict[str, Any]] = json.loads(RECORD.read_text())
    return results


def rates(results: Sequence[Mapping[str, Any]]) -> dict[str, Rate]:
    """Return how often each rule reported something on the sound set-ups, most frequent first.

    >>> sound = {"sound": True, "alarms": ["E605"]}
    >>> rates([sound, sound, {"sound": False, "alarms": ["E701"]}])
    {'E605': Rate(reports=2, set_ups=2)}
    """
    sound = [result for result in results if result["sound"]]
    counts = Counter(id for result in sound for id in result["alarms"])
    return {id: Rate(count, len(sound)) for id, count in counts.most_common()}


def half(results: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Return the outcomes of the set-ups for tuning, or of those for testing."""
    return [result for result in results if result["seed"] % 2 == HALVES.index(name)]


def count_alarmed(results: Sequence[Mapping[str, Any]]) -> Rate:
    """Return how many sound set-ups have any finding above information."""
    sound = [result for result in results if result["sound"]]
    return Rate(sum(bool(result["alarms"]) for result in sound), len(sound))


def summary(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many set-ups are sound, and the rate of each rule, by half."""
    lines: list[str] = []
    for name in HALVES:
        own = half(results, name)
        if not any(result["sound"] for result in own):
            continue
        lines += ["", f"{name}: {len(own)} set-ups; with a finding: {count_alarmed(own)}"]
        lines += [f"  {id} {rate}" for id, rate in rates(own).items()]
    poor = Counter(result["kind"] for result in results if not result["sound"])
    names = ", ".join(f"{name} {count}" for name, count in poor.most_common())
    return [*lines, "", f"not counted, because they learnt too little: {names or 'none'}"]


async def main(words: Sequence[str]) -> None:
    """Measure the set-ups of the named seeds or kinds, or merge files into the record."""
    options = _arguments(words)
    if options.record:
        record([each for path in options.record for each in json.loads(path.read_text())])
        return
    seeds = range(options.first, options.first + options.seeds * options.step, options.step)
    results: list[dict[str, Any]] = []
    for seed in seeds:
        if options.kinds and generate(seed)[0] not in options.kinds:
            continue
        results.append(await measure(seed))
        say(_line(results[-1]))
        options.into.parent.mkdir(parents=True, exist_ok=True)
        options.into.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=str))
    for text in summary([shorten(result) for result in results]):
        say(text)


def _line(result: Mapping[str, Any]) -> str:
    share = "–" if result["share"] is None else f"{result['share']:.2f}"
    alarms = " ".join(shorten(result)["alarms"])
    note = "" if result["sound"] else f"not sound {result['error']}"
    return LINE.format(
        result["seed"], result["kind"], share, f"{result['seconds']:.1f}", f"{alarms} {note}"
    ).rstrip()


def record(results: Sequence[Mapping[str, Any]]) -> None:
    """Record outcomes in the order of their seeds; later ones win, others are kept."""
    earlier = read_record() if RECORD.exists() else []
    by_seed = {result["seed"]: result for result in [*earlier, *map(shorten, results)]}
    lines = ",\n".join(json.dumps(by_seed[seed]) for seed in sorted(by_seed))
    RECORD.write_text(f"[\n{lines}\n]\n")
    say(f"wrote {RECORD.relative_to(ROOT)}: {len(by_seed)} set-ups")


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make teach ARGS=--corpus…", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--seeds", type=int, default=SET_UPS, help="how many of them")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--step", type=int, default=1, help="2: those for tuning, or for testing")
    parser.add_argument("--into", type=Path, default=INTO, metavar="FILE")
    parser.add_argument("--record", type=Path, nargs="*", default=[], metavar="FILE")
    return parser.parse_args(words)
