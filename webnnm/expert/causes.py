"""Causes before symptoms: a finding that another one explains becomes a note under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from webnnm.core.finding import SEVERITIES, Finding
from webnnm.expert.rules.registry import RULES


def attribute_symptoms(
    findings: Sequence[Finding], earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Return findings; those that others explain are notes, and their causes name them.

    >>> slow = Finding(id="E324", severity="advice", message="lr 1e-7 is tiny")
    >>> stuck = Finding(id="E901", severity="warning", message="the loss hardly fell")
    >>> for finding in attribute_symptoms([stuck], [slow]):
    ...     print(finding)
    info E901: the loss hardly fell
      probably because of E324
    warning E324: lr 1e-7 is tiny
      explains E901

    The `explains` of a rule has what it explains. A cause is as severe as its worst symptom. Causes
    may be among `earlier` findings, those of the review before a training: the ones that explain
    something are returned again, after the others. Errors are no symptoms, information is no cause.
    """
    candidates = {
        one.id: one
        for one in (*earlier, *findings)
        if not one.failed and (one.severity != SEVERITIES[-1] or one.explained_by)
    }
    symptoms = {id: _find_symptoms(id, candidates) for id in candidates}
    explained = frozenset[str]().union(*symptoms.values())
    roots = [id for id in candidates if id not in explained and not candidates[id].explained_by]
    causes = {id: symptoms[id] for id in roots if symptoms[id]}
    new = {finding.id for finding in findings}
    again = [one for one in earlier if one.id not in new and causes.get(one.id, frozenset()) & new]
    return [
        _mark(finding, candidates, causes) if candidates.get(finding.id) is finding else finding
        for finding in (*findings, *again)
    ]


def _find_symptoms(id: str, candidates: Mapping[str, Finding]) -> frozenset[str]:
    """Return what a finding explains, and what that explains in turn."""
    direct = {
        symptom
        for symptom in RULES[id].explains
        if symptom in candidates and candidates[symptom].severity != SEVERITIES[0]
    }
    return frozenset(direct).union(*(_find_symptoms(symptom, candidates) for symptom in direct))


def _mark(
    finding: Finding, candidates: Mapping[str, Finding], causes: Mapping[str, frozenset[str]]
) -> Finding:
    """Return a finding with what it explains, or with what explains it."""
    because = sorted(id for id, symptoms in causes.items() if finding.id in symptoms)
    if because:
        return replace(finding, severity=SEVERITIES[-1], explained_by=tuple(because))
    if finding.explained_by:
        return finding
    symptoms = sorted(causes.get(finding.id, ()))
    ranks = [SEVERITIES.index(candidates[id].severity) for id in (finding.id, *symptoms)]
    return replace(finding, severity=SEVERITIES[min(ranks)], explains=tuple(symptoms))
