"""Writes docs/expert.md from the rules of the expert system."""

from __future__ import annotations

import json
from typing import Any

from tests.teach.corpus import KINDS
from tests.teach.corpus.kinds import LEAST_SHARE
from tools import false_alarms, teach
from tools.common import ROOT
from tools.false_alarms import Rate
from tools.operators import table
from webnnm.cli.explain import explanation
from webnnm.core.finding import AREAS
from webnnm.data.preparation.row_sample import MAX_CELLS, MAX_ROWS, MIN_ROWS
from webnnm.expert.rules.registry import RULES
from webnnm.expert.rules.rule import Rule

PAGE = ROOT / "docs" / "expert.md"
RULES_PAGE = ROOT / "docs" / "rules.md"

INTRODUCTION = """\
# The expert system

<!-- Written by `make documents`: change the rules in webnnm/expert/rules, not this file. -->

Before training, {count} rules look at the model, its data and the settings. Each reports what it
found once, with the layers and the number that triggered it, and what to do about it. Some decide a
setting that was left on "auto"; a value that you set yourself always wins, and then the rule only
reports. You can switch a rule off by its id: it then neither reports nor decides.

At the end of training, {after} more rules look at its history, and at what the trained model does
with up to 256 training rows and as many others: the log has the three findings that matter most,
`history.findings` has all of them, and `model.review(history)` returns them together with those of
the review before training.

One mistake has many symptoms: if `lr` is a thousandth of what it should be, weights do not move
(E901), and the model is no better than chance (E902). Therefore a finding that another one explains
is only a note, "probably because of E324"; the cause, which is as severe as its worst symptom, says
"explains E901, E902". Only the cause has a remedy.

Severities: **error**, training cannot succeed; **warning**, it will probably go wrong; **advice**,
it could go better; **info**, what was decided and why.

A rule is a small function in a module of `webnnm/expert/rules/`: its docstring starts with the
condition, its decorator has the id, the severity, the remedy and what the rule does by itself.
[Rules](rules.md) explains each rule, with an example, and when to ignore it; so does
`webnnm explain E504`.
"""


RULES_INTRODUCTION = """\
# The rules of the expert system

<!-- Written by `make documents`: change the rules in webnnm/expert/rules, not this file. -->

What each rule looks at, where its threshold comes from, a model or training that triggers it, what
to do, and when to ignore it. `webnnm explain E504` prints the same; [the expert system](expert.md)
lists all rules in tables.

Products (multiplications by a matrix), convolutions, recurrent layers and projections are *heavy
operators*. A *quantity* is a target that is a number, not a class. The *skill* of a model is how
much better it is than a constant prediction: 0 if no better, 1 if always right. For a quantity it
is R²; under MAE, HUL and QUL it is D², the share of the absolute or pinball loss of the best
constant that the model saves (Koenker & Machado 1999), because a median of skewed values can have
an R² below 0 and still be right. A custom loss is not judged by either.

## Samples

If a dataset has more than {rows:,} rows, or more than {cells:,} numbers in its inputs, rules look
at a sample, drawn by the seed of the dataset: {rows:,} rows, or as many as have {cells:,} numbers,
but at least {least}. If pictures are large, rules look at a sample of their pixels. The review says
so at its end: "examined 510 of 60,000 rows, drawn by seed 0". Smaller datasets are examined as
a whole.

Some facts are exact for datasets of any size: numbers of rows and classes, missing classes,
whether rows are sorted (E610), training rows among the testing rows (E606), equal rows with
different classes (E621), numbers that are not finite (E605), facts about targets (E1xx). A feature
that is constant in the sample is compared in all training rows before E604 reports it.

Means, deviations and extremes of features (E603), and what E614 to E655 find in rows and columns,
are those of the sample. If a share p of the rows has a fault, a sample of n rows contains it with a
probability of 1 − (1 − p)ⁿ: with 510 rows, a fault in one of a hundred rows is missed in 0.6% of
the samples, one in a thousand in 60%. So E614 may miss a few cells that are far off, and E603 a
column that only outliers make wide. Statistics of the whole dataset (E612) would show in every
column, so only a few are searched.
`Dataset(..., seed=1)` draws another sample.
"""


VERDICTS = """\
## Verdicts

How well do the rules find mistakes? [tests/teach](../tests/teach) has small programs with one
mistake each, and sound ones; `make teach` runs them with NumPy, and `--record` records the results
for one seed. A mistake is named before training, after it, or by the error that ends it. Its remedy
is right if the corrected program has the higher score, or if the program says why it need not.

{counts}

False alarms (findings above info) on {sound} sound programs: {alarms}.

For every rule that named a mistake: the program, whether the finding disappears without the
mistake, and both scores. For all other rules, [tests/unit/expert](../tests/unit/expert) has facts
that trigger them, and the facts after the remedy, which do not.

{rules}
"""


ERRORS = """\
## False alarms

[tests/teach/corpus](../tests/teach/corpus) generates set-ups of {kinds} kinds that are sound by
construction: tables, pictures, signals and texts, with classes, labels, quantities, counts,
quantiles and custom losses, noise that nothing can explain, and training settings drawn
from usual ranges. The function that generated the rows has a score that a model can exceed only by
chance. A set-up counts as sound if it learns {share}% of the difference between that score and the
score of a constant prediction, within two standard errors: {left_out} of {total} learn less, and
are left out. `make teach ARGS=--corpus` runs them.

Rules were changed by looking at one half of them. This is what the present rules report on each
half:

{halves}

These rules reported something above info:

{rules}

All others reported nothing on the {tested} sound set-ups for testing, so each of them is wrong on
at most {bound}% of such set-ups (95%, Clopper & Pearson).
"""


def errors() -> str:
    """Return the recorded rates of false alarms on generated set-ups."""
    results = false_alarms.read_record()
    halves = {name: false_alarms.half(results, name) for name in false_alarms.HALVES}
    rates = {name: false_alarms.rates(own) for name, own in halves.items()}
    sound = {name: false_alarms.count_alarmed(own) for name, own in halves.items()}
    ids = sorted({id for own in rates.values() for id in own})
    rows = [
        [f"[{id}](rules.md#{id.lower()})"]
        + [str(rates[name].get(id, Rate(0, sound[name].set_ups))) for name in halves]
        for id in ids
    ]
    tested = sound["testing"].set_ups
    head = ["half", "set-ups", "with a finding above information, of the sound ones"]
    return ERRORS.format(
        kinds=len(KINDS),
        share=round(100 * LEAST_SHARE),
        left_out=sum(not result["sound"] for result in results),
        total=len(results),
        halves=table(head, [[name, str(len(halves[name])), str(sound[name])] for name in halves]),
        rules=table(["rule", *halves], rows) if rows else "none.",
        tested=tested,
        bound=f"{100 * Rate(0, tested).bound:.1f}",
    )


def errs(rule: Rule) -> str:
    """Return how often a rule reported something on the generated set-ups for testing."""
    if rule.severity == "info":
        return ""
    results = false_alarms.half(false_alarms.read_record(), "testing")
    rate = false_alarms.rates(results).get(
        rule.id, Rate(0, false_alarms.count_alarmed(results).set_ups)
    )
    return f"*Errs:* reported on {rate.reports} of {rate.set_ups} generated sound set-ups."


def verdicts() -> str:
    """Return the recorded results of the programs of tests/teach."""
    results = [r for r in json.loads(teach.RESULTS.read_text()) if r["name"] in teach.CASES]
    cases = [(teach.CASES[result["name"]], result) for result in results]
    wrong = [(case, result) for case, result in cases if not case.is_sound]
    alarms = [
        f"{case.name} ({', '.join(result['alarms'])})" for case, result in cases if result["alarms"]
    ]
    rows: list[list[str]] = []
    for area in [*dict.fromkeys(case.area for case, _ in wrong), "all"]:
        own = [(case, result) for case, result in wrong if area in (case.area, "all")]
        when = [result["named"] for _, result in own]
        right = sum(bool(r["named"]) and _reason(c, r) != "no better" for c, r in own)
        numbers = [len(own), *map(when.count, ("before", "after", "error")), right]
        rows.append([area.removeprefix("mistakes_"), *map(str, numbers)])
    head = ["mistakes in", "programs", "named before", "after", "by an error", "remedy right"]
    told = [
        [
            id,
            case.name,
            "" if case.mend is None else "yes" if id in result["gone"] else "no",
            _score(result["score"]),
            _score(result["mended"]),
            _reason(case, result),
        ]
        for case, result in wrong
        for id in result["by"]
    ]
    missed = [case.name for case, result in wrong if not result["named"]]
    counts = table(head, rows) + (f"\n\nNot named: {', '.join(missed)}." if missed else "")
    return VERDICTS.format(
        counts=counts,
        sound=len(cases) - len(wrong),
        alarms=f"{len(alarms)}: {'; '.join(alarms)}" if alarms else "none",
        rules=table(["rule", "program", "goes", "score", "mended", "verdict"], sorted(told)),
    )


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"


def _reason(case: teach.Case, result: dict[str, Any]) -> str:
    """Return whether the score rises without the mistake, or why it need not."""
    score, mended = result["score"], result["mended"]
    if mended is not None and (score is None or mended > score):
        return "rises" if score is not None else "trains"
    return case.why or ("no better" if score is not None else "says what to do")


def page() -> str:
    """Return the text of docs/expert.md."""
    after = sum(rule.area == AREAS[-1] for rule in RULES.values())
    parts = [INTRODUCTION.format(count=len(RULES) - after, after=after)]
    for area in AREAS:
        rules = [rule for rule in RULES.values() if rule.area == area]
        names = dict.fromkeys(rule.test.__module__.rpartition(".")[2] for rule in rules)
        rows = [
            [
                f"[{rule.id}](rules.md#{rule.id.lower()})",
                rule.severity,
                condition(rule),
                rule.action or "–",
                rule.remedy or "–",
            ]
            for rule in rules
        ]
        head = ["Id", "Severity", "When", 'On "auto"', "Remedy"]
        sources = " and ".join(f"[{name}.py](../webnnm/expert/rules/{name}.py)" for name in names)
        parts.append(f"## {area}\n\nIn {sources}.\n\n{table(head, rows)}\n")
    return "\n".join([*parts, verdicts(), errors()])


def rules_page() -> str:
    """Return the text of docs/rules.md."""
    limits = {"rows": MAX_ROWS, "cells": MAX_CELLS, "least": MIN_ROWS}
    parts = [RULES_INTRODUCTION.format(**limits)]
    for area in AREAS:
        rules = [rule for rule in RULES.values() if rule.area == area]
        ids = " · ".join(f"[{rule.id}](#{rule.id.lower()})" for rule in rules)
        parts += [f"## {area}\n\n{ids}\n", *map(section, rules)]
    return "\n".join(parts)


def section(rule: Rule) -> str:
    """Return the section on one rule."""
    text = explanation(rule)
    example = f"```python\n{text.example}\n```" if text.example else ""
    done = f'*On "auto":* {rule.action}.' if rule.action else ""
    remedy = f"*Remedy:* {rule.remedy}" if rule.remedy else ""
    links = ", ".join(f"[{id}](#{id.lower()})" for id in sorted(rule.explains))
    explains = f"*Explains:* {links}" if links else ""
    head = f"**{rule.severity}.** {text.condition}"
    paragraphs = [f"### {rule.id}", head, *text.reasons, example, done, remedy, explains]
    paragraphs += [text.ignore, errs(rule)]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def condition(rule: Rule) -> str:
    """Return the condition of a rule, in words and on one line."""
    return explanation(rule).condition
