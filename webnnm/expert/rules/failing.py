"""Findings in place of errors that a rule, or the measuring of its facts, raised itself."""

from __future__ import annotations

import os
import traceback
from pathlib import PurePath

from webnnm.core.finding import Finding

STRICT_VARIABLE = "WEBNNM_STRICT"
"""A variable of the environment: where it is "1", as in our tests, such errors are raised."""

MEASUREMENTS = {"E600": "measuring the data", "E900": "measuring the training"}
"""What serves the rules of a whole area, by the id under which its failures are reported."""

REMEDY = (
    "Report this to the authors of webnnm as an issue of its repository, with the model text and "
    "this message; {silence}the results of the model are not affected."
)


def failure(id: str, error: Exception) -> Finding:
    """Return the finding that a rule, or one of `MEASUREMENTS`, failed.

    Raises the error if `STRICT_VARIABLE` is set.
    """
    if os.environ.get(STRICT_VARIABLE) == "1":
        raise error
    what = f"{MEASUREMENTS[id]} failed" if id in MEASUREMENTS else f"the rule {id} of webnnm failed"
    text = str(error).partition("\n")[0]
    kind = type(error).__name__
    steps = traceback.extract_tb(error.__traceback__)
    # The first frame is the `try` that caught it.
    at = f"{PurePath(steps[-1].filename).name}, {steps[-1].name}" if len(steps) > 1 else ""
    message = f"{what}: {kind}{f': {text}' * bool(text)}{f' (in {at})' * bool(at)}"
    silence = "" if id in MEASUREMENTS else f'silence="{id}" leaves the rule out; '
    return Finding(
        id=id,
        severity="warning",
        message=message,
        remedy=REMEDY.format(silence=silence),
        confidence=0.0,
        evidence={"error": kind, "in": at},
        failed=True,
    )


def merge_failures(findings: list[Finding]) -> list[Finding]:
    """Return findings in which rules that failed with the same error share the first one's."""
    merged: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.failed:
            merged.setdefault(finding.message.replace(finding.id, ""), []).append(finding)
    kept = {id(group[0]): group[1:] for group in merged.values()}
    return [
        _with_others(finding, kept[id(finding)]) if finding.failed else finding
        for finding in findings
        if not finding.failed or id(finding) in kept
    ]


def _with_others(finding: Finding, others: list[Finding]) -> Finding:
    if not others:
        return finding
    from dataclasses import replace

    from webnnm.expert.rules.rule import join_names

    names = join_names(other.id for other in others)
    return replace(finding, message=f"{finding.message}; so did {names}")
