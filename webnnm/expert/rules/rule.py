"""A rule of the expert system, and the helpers that rules are written with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from webnnm.core.finding import AREAS, Severity
from webnnm.expert.facts.facts import Facts, HistoryFacts

DEFAULT_CONFIDENCE = 0.9
"""The confidence of rules that do not state one."""

MAX_NAMES = 5
"""The number of names that a message lists, before a count (spec F.3)."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """The result of a rule that fires.

    `message` names nodes and numbers; `changes` are settings that the rule decides where they are
    "auto", or losses, as "block:loss"; `action` is what else is done; `fix` has the hyperparameters
    that carry out the remedy. `confidence`, `remedy` and `severity`, if given, replace those of the
    rule.
    """

    message: str
    nodes: Sequence[str] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    action: str = ""
    fix: Mapping[str, Any] = field(default_factory=dict[str, Any])
    confidence: float | None = None
    remedy: str = ""
    severity: Severity | None = None


Test = Callable[[Facts], Hit | None]


@dataclass(frozen=True)
class Rule:
    """One rule: `test(facts)` says whether it holds, `remedy` is one imperative sentence.

    `action` says for the documentation what the rule does automatically; `confidence` is how likely
    it is that what it finds costs accuracy or time. The remedy `lowers` or `raises` what is named
    there: hyperparameters, or "capacity" and "regularisation" in general. A rule on the course of a
    training is `early` if it may fire while the training runs. A finding that would prevent
    learning is `refuted` by scores on other rows that leave nothing to learn: it then becomes
    information. `explains` has the ids of the rules that find its consequences.
    """

    id: str
    severity: Severity
    remedy: str
    action: str
    test: Test
    confidence: float = DEFAULT_CONFIDENCE
    lowers: frozenset[str] = frozenset()
    raises: frozenset[str] = frozenset()
    early: bool = False
    refuted: bool = False
    explains: frozenset[str] = frozenset()

    def contradicts(self, other: Rule) -> bool:
        """Return whether this remedy lowers what the other one raises, or vice versa."""
        return bool(self.lowers & other.raises or self.raises & other.lowers)

    @property
    def area(self) -> str:
        """What it is about, one of `AREAS`."""
        return AREAS[int(self.id[1]) - 1]


DECLARED: dict[str, Rule] = {}
"""The rules declared so far."""


def rule(
    id: str,
    severity: Severity,
    remedy: str = "",
    action: str = "",
    *,
    confidence: float = DEFAULT_CONFIDENCE,
    lowers: Sequence[str] = (),
    raises: Sequence[str] = (),
    early: bool = False,
    refuted: bool = False,
    explains: Sequence[str] = (),
) -> Callable[[Test], Test]:
    """Declare a rule; the function's docstring says when it holds."""

    def declare(test: Test) -> Test:
        assert id not in DECLARED, id
        DECLARED[id] = Rule(
            *(id, severity, remedy, action, test, confidence),
            lowers=frozenset(lowers),
            raises=frozenset(raises),
            early=early,
            refuted=refuted,
            explains=frozenset(explains),
        )
        return test

    return declare


HistoryTest = Callable[[Facts, HistoryFacts], Hit | None]


def after(
    id: str, severity: Severity, remedy: str, *, early: bool = False, **more: Any
) -> Callable[[HistoryTest], Test]:
    """Declare a rule on a training that has ended; an `early` one is also applied while it runs."""

    def declare(test: HistoryTest) -> Test:
        @wraps(test)
        def test_history(facts: Facts) -> Hit | None:
            history = facts.history
            if history is None or not history.epochs or not (history.ended or early):
                return None
            return test(facts, history)

        return rule(id, severity, remedy, early=early, **more)(test_history)

    return declare


def join_names(names: Iterable[str], separator: str = ", ") -> str:
    """Return names for a message: at most five, then a count.

    >>> join_names("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    all_names = list(names)
    more = f" and {len(all_names) - MAX_NAMES} more" if len(all_names) > MAX_NAMES else ""
    return separator.join(all_names[:MAX_NAMES]) + more


def merge_hits(
    messages: Mapping[str, str], lead: str = "", tail: str = "", **rest: Any
) -> Hit | None:
    """Return one hit for what was found, node → text, or None if nothing was."""
    if not messages:
        return None
    message = f"{lead}{join_names(messages.values(), '; ')}{tail}"
    return Hit(message=message, nodes=tuple(messages), **rest)


def evidence_by_input(facts: Facts, id: str) -> Mapping[str, Any]:
    """Return, by input, what the examination measured for a rule."""
    suspicion = facts.data.suspicions.get(id)
    evidence: Mapping[str, Any] = suspicion.evidence if suspicion is not None else {}
    if len(evidence) == 1 and len(facts.network.inputs) == 1:
        return {facts.network.inputs[0].block: next(iter(evidence.values()))}
    return evidence


def report_suspicion(facts: Facts, id: str) -> Hit | None:
    """Return what the examination found for a rule."""
    suspicion = facts.data.suspicions.get(id)
    if suspicion is None:
        return None
    return Hit(
        message=suspicion.message,
        evidence=suspicion.evidence,
        remedy=suspicion.remedy,
        confidence=suspicion.confidence,
    )
