"""Runs the programs of tests/teach, and prints what a review and a training reported on each.

Run `make teach`, or, for some programs only, `make teach ARGS="leaking_column all_warm_up"`.
Findings are those of the first seed, scores are medians over all seeds. The texts of all findings,
errors and logs are in build/teach.json. At the end it counts the mistakes that were named by the
findings and errors that identify them, and the sound programs that had findings above info.
`--record FILE …` merges such files into tests/teach/results.json, from which the tables of
docs/expert.md are made. With `--corpus` it runs generated set-ups instead (tools/false_alarms.py).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.teach import CASES, Case
from tests.unit.expert.cases import find_long_numbers
from tools import false_alarms
from tools.common import ROOT, say
from tools.teach_runs import Run, is_alarm, run

SEEDS = 3
INTO = ROOT / "build" / "teach.json"
RESULTS = ROOT / "tests" / "teach" / "results.json"
LINE = "{:34} {:28} {:28} {:>8} {:>8}"
COUNTS = "{:22} {:>8} {:>8} {:>8} {:>8} {:>14}"


async def judge(case: Case, seeds: int) -> dict[str, Any]:
    """Return the outcomes of a case's runs, with all texts for the first seed."""
    wrong = [await run(case.make(), seed) for seed in range(seeds)]
    mended = case.mended()
    right = [] if mended is None else [await run(mended, seed) for seed in range(seeds)]
    return {
        "name": case.name,
        "area": case.area,
        "about": case.about,
        "remedy": case.remedy,
        "why": case.why,
        "score": _median(wrong),
        "mended_score": _median(right),
        "first": vars(wrong[0]),
        "codes": {
            "before": _codes(wrong[0].before),
            "after": _codes(wrong[0].after),
        },
        "mended": vars(right[0]) if right else None,
        "seconds": sum(each.seconds for each in wrong + right),
    }


def _codes(findings: Sequence[dict[str, Any]]) -> str:
    """Return the ids of findings, with those of severity info in brackets."""
    return " ".join(
        finding["id"] if finding["severity"] != "info" else f"({finding['id']})"
        for finding in findings
    )


def _median(runs: Sequence[Run]) -> float | None:
    """Return the median score, None unless every run has one."""
    scores = [run.score for run in runs if run.score is not None]
    return statistics.median(scores) if scores and len(scores) == len(runs) else None


def line(found: dict[str, Any]) -> str:
    """Return the table row for a result of `judge`."""
    error = found["first"]["error"].partition(":")[0].split(" line ")[0]
    before = found["codes"]["before"] or "–"
    after = f"error {error}" if error else found["codes"]["after"] or "–"
    scores = [f"{s:.3f}" if s is not None else "–" for s in (found["score"], found["mended_score"])]
    return LINE.format(found["name"], before, after, *scores)


async def main(words: Sequence[str]) -> None:
    """Run the named cases, or all of them; after --corpus, the generated set-ups."""
    if words and words[0] == "--corpus":
        await false_alarms.main(words[1:])
        return
    options = _arguments(words)
    if options.record:
        record([each for path in options.record for each in json.loads(path.read_text())])
        return
    cases = [CASES[name] for name in options.names or CASES]
    say(LINE.format("case", "before the training", "after it", "score", "mended"))
    area, results = "", list[dict[str, Any]]()
    for case in cases:
        if case.area != area:
            area = case.area
            say(f"\n{area}")
        results.append(await judge(case, options.seeds))
        say(line(results[-1]))
        options.into.parent.mkdir(parents=True, exist_ok=True)
        options.into.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=str))
    for text in summary(results):
        say(text)
    say(f"\n{len(results)} cases; all texts are in {options.into}")


def find_report(found: dict[str, Any]) -> str:
    """Return where the mistake of a case was named: "before", "after", "error", or ""."""
    codes = set(CASES[found["name"]].named_by)
    first = found["first"]
    for when in ("before", "after"):
        if codes & {each["id"] for each in first[when]}:
            return when
    return "error" if first["error"][:6] in codes else ""


def is_mended(found: dict[str, Any]) -> bool:
    """Return whether the program without the mistake has a higher score, or does not need one."""
    if CASES[found["name"]].why or found["score"] is None:
        return True
    return found["mended_score"] is not None and found["mended_score"] > found["score"]


def false_alarm(found: dict[str, Any]) -> list[str]:
    """Return the findings above info on a sound program."""
    first = found["first"]
    findings = [finding for when in ("before", "after") for finding in first[when]]
    return [finding["id"] for finding in findings if is_alarm(finding)]


def summary(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return how many mistakes were named, by area and in total, and all false alarms."""
    lines = ["", COUNTS.format("area", "mistakes", "before", "after", "error", "right remedy")]
    mistakes = [case for case in results if not CASES[case["name"]].is_sound]
    areas = dict.fromkeys(case["area"] for case in mistakes)
    for area in [*areas, "all"]:
        cases_of_area = [case for case in mistakes if area in (case["area"], "all")]
        reports = [(find_report(case), case) for case in cases_of_area]
        where = [
            sum(when == stage for when, _ in reports) for stage in ("before", "after", "error")
        ]
        right = sum(bool(when) and is_mended(case) for when, case in reports)
        lines.append(COUNTS.format(area, len(cases_of_area), *where, right))
    missed = [case["name"] for case in mistakes if not find_report(case)]
    alarms = {f["name"]: false_alarm(f) for f in results if CASES[f["name"]].is_sound}
    wrong = [f"{name} ({' '.join(ids)})" for name, ids in alarms.items() if ids]
    lines.append(f"not named: {', '.join(missed) or 'none'}")
    findings = [
        each for case in results for when in ("before", "after") for each in case["first"][when]
    ]
    texts = [f"{each['message']} {each['remedy']}" for each in findings]
    long = [number for text in texts for number in find_long_numbers(text)]
    lines.append(f"numbers with more digits than a reader needs: {', '.join(long) or 'none'}")
    lines.append(f"false alarms in {len(alarms)} sound programs: {', '.join(wrong) or 'none'}")
    return lines


def record(results: Sequence[dict[str, Any]]) -> None:
    """Record the results that the documentation shows, in the order of the cases; later ones win.

    For all other cases it keeps the previous record.
    """
    results_by_name = {result["name"]: result for result in json.loads(RESULTS.read_text())}
    results_by_name |= {result["name"]: _short(result) for result in results}
    kept = [results_by_name[name] for name in CASES if name in results_by_name]
    lines = ",\n".join(json.dumps(result, ensure_ascii=False) for result in kept)
    RESULTS.write_text(f"[\n{lines}\n]\n")
    say(f"wrote {RESULTS.relative_to(ROOT)}: {len(kept)} cases")


def _short(found: dict[str, Any]) -> dict[str, Any]:
    """Return when a mistake was named, by which rules, which of them vanished, and both scores."""
    first_findings, mended = _collect_findings(found["first"]), _collect_findings(found["mended"])
    codes = CASES[found["name"]].named_by
    return {
        "name": found["name"],
        "named": find_report(found),
        "by": [id for id in codes if id in first_findings],
        "gone": [id for id in codes if id in first_findings and id not in mended],
        "score": found["score"] and round(found["score"], 3),
        "mended": found["mended_score"] and round(found["mended_score"], 3),
        "alarms": false_alarm(found) if CASES[found["name"]].is_sound else [],
    }


def _collect_findings(run: dict[str, Any] | None) -> set[str]:
    """Return the findings of a run, and the error that ended it."""
    if run is None:
        return set()
    ids = {finding["id"] for when in ("before", "after") for finding in run[when]}
    return ids | ({run["error"][:6]} if run["error"] else set())


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make teach ARGS=…", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="default: all of them")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--into", type=Path, default=INTO, metavar="FILE")
    parser.add_argument("--record", type=Path, nargs="*", default=[], metavar="FILE")
    options = parser.parse_args(words)
    for name in options.names:
        if name not in CASES:
            parser.error(f'there is no case "{name}"; tests/teach has {", ".join(CASES)}')
    return options


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
