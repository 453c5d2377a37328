"""The review: every rule applied to the facts, and the settings that follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from webnnm.core.errors import DataError, Span, suggestion
from webnnm.core.finding import Finding
from webnnm.expert.causes import attribute_symptoms
from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.registry import RULES
from webnnm.expert.rules.rule import Hit, Rule
from webnnm.graph.elaboration.vertices import Network
from webnnm.trainer.review import Review, find_origins
from webnnm.training.automatic import default_strengths, turn_off_auto

PROVEN_SKILL = 0.95
"""A skill on other rows that leaves nothing to learn."""


def review(facts: Facts, *, off: Collection[str] = ()) -> Review:
    """Apply all rules but those that are `off`; these neither report nor decide settings.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> from webnnm.training.settings import Settings
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers dropout(0.8), matmul(w);"
    >>> found = review(Facts(network=elaborate(parse(text)), settings=Settings(optimizer="rlion")))
    >>> print(found.finding("E404"))
    warning E404 line 1, column 49: dropout1 drops 80%
      → Drop 10 to 50%.
    >>> found.settings.gradient_clipping, found.origins["lr"]
    ('off', 'default of rlion')

    Raises `DataError` NNM703 for an unknown rule.
    """
    for id in off:
        if id not in RULES:
            raise DataError("NNM703", f'there is no rule "{id}"', hint=suggestion(id, RULES))
    decisions = _Decisions(facts)
    findings: list[Finding] = []
    locate = _locator(facts.network)
    for rule in RULES.select(facts):
        if rule.id not in off:
            findings += _apply(rule, facts, locate, partial(decisions.decide, rule.id))
    decisions.add_strengths()
    findings = soften_refuted(_merge_failures(findings, facts), facts)
    findings = drop_contradictions(attribute_symptoms(findings))
    return Review(
        findings=findings,
        settings=decisions.settings,
        origins=decisions.origins,
        losses=decisions.losses,
        examined=facts.data.examined,
    )


class _Decisions:
    """The settings and losses of a training, as the rules decide them one after the other.

    `origins` are as in `Review`.
    """

    def __init__(self, facts: Facts) -> None:
        self.settings = turn_off_auto(facts.settings)
        self.origins = find_origins(self.settings)
        self.losses = {output.name: output.loss for output in facts.outputs if output.loss}
        if self.settings.batch_size is None and facts.data.sizes:
            self.settings = replace(self.settings, batch_size=facts.data.batch_size)
            self.origins["batch_size"] = "default of the dataset"
        for output in facts.outputs:
            if output.loss:
                self.origins[f"{output.name}:loss"] = "given" if output.written else "default"

    def decide(self, id: str, changes: Mapping[str, Any]) -> list[str]:
        """Apply a rule's changes to what the user did not decide; return what was done."""
        done: list[str] = []
        for name, value in changes.items():
            earlier = self.origins.get(name, "")
            if earlier == "given":
                continue
            self.origins[name] = id
            if name.endswith(":loss"):
                self.losses[name.removesuffix(":loss")] = value
            else:
                before = self.settings.regularization
                if name == "regularization" and earlier in RULES and before != "off":
                    value, self.origins[name] = f"{value}+{before}", f"{earlier}, {id}"
                self.settings = replace(self.settings, **{name: value})
            done.append(f"{name}={value!r}")
        return done

    def add_strengths(self) -> None:
        """Give a regularization that is on its λ where that is 0 (spec E.1)."""
        strengths = default_strengths(self.settings)
        self.settings = replace(self.settings, **strengths)
        origin = self.origins["regularization"].replace("given", "default")
        self.origins |= dict.fromkeys(strengths, origin)


def hindsight(facts: Facts, *, off: Collection[str] = (), early: bool = False) -> list[Finding]:
    """Return what the rules on trainings find in `facts.history`; nothing without a history.

    With `early`, apply only the rules that can find something while the training runs.
    """
    if facts.history is None:
        return []
    locate = _locator(facts.network)
    findings: list[Finding] = []
    for rule in RULES.select_for_trainings():
        if rule.id not in off and (rule.early or not early):
            findings += _apply(rule, facts, locate, lambda _: ())  # decides nothing any more
    return soften_refuted(_merge_failures(findings, facts), facts)


def _apply(
    rule: Rule,
    facts: Facts,
    locate: Callable[[str], Any],
    decide: Callable[[Mapping[str, Any]], Sequence[str]],
) -> list[Finding]:
    """Return what a rule finds: nothing, a finding, or that the rule itself failed."""
    try:
        hit = rule.test(facts)
        return [] if hit is None else [_make_finding(rule, hit, decide(hit.changes), locate)]
    except Exception as error:
        from webnnm.expert.rules.failing import failure

        return [failure(rule.id, error)]


def _merge_failures(findings: list[Finding], facts: Facts) -> list[Finding]:
    """Return findings with the failures among the facts; equal failures are one."""
    failures = [*facts.failures, *facts.data.failures]
    if not failures and not any(finding.failed for finding in findings):
        return findings
    from webnnm.expert.rules.failing import merge_failures

    return sorted(merge_failures([*findings, *failures]), key=lambda finding: finding.id)


def soften_refuted(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Return findings after a training; those that its scores on other rows refute become
    information.

    What would prevent a model from learning did not, if every output has a skill of 0.95 on rows
    that were not trained on.
    """
    if facts.history is None or not facts.history.ended:
        return [*findings]
    from webnnm.expert.facts.course import skill

    skills = [skill(predictions) for predictions in facts.history.held_out.values()]
    if not skills or any(value is None or value < PROVEN_SKILL for value in skills):
        return [*findings]
    return [
        replace(finding, severity="info")
        if not finding.failed and RULES[finding.id].refuted
        else finding
        for finding in findings
    ]


def drop_contradictions(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those whose remedy contradicts that of a more important one.

    >>> fast = Finding(id="E305", severity="warning", message="lr 1 is 100 times the default")
    >>> few = Finding(id="E702", severity="advice", message="60 steps")
    >>> [finding.id for finding in drop_contradictions([fast, few])]
    ['E305']
    """
    advising = [finding for finding in findings if not finding.failed and not finding.explained_by]
    dropped: list[Finding] = []
    kept: list[Rule] = []
    for finding in sorted(advising, key=lambda finding: finding.rank):
        rule = RULES[finding.id]
        if any(rule.contradicts(other) for other in kept):
            dropped.append(finding)
        else:
            kept.append(rule)
    return [finding for finding in findings if finding not in dropped]


def _make_finding(
    rule: Rule, hit: Hit, actions: Sequence[str], locate: Callable[[str], Any]
) -> Finding:
    nodes = tuple(hit.nodes)
    return Finding(
        id=rule.id,
        severity=hit.severity or rule.severity,
        message=hit.message,
        remedy=hit.remedy or rule.remedy,
        action=hit.action or ", ".join(actions),
        fix=dict(hit.fix),
        confidence=rule.confidence if hit.confidence is None else hit.confidence,
        nodes=nodes,
        evidence=dict(hit.evidence),
        places=tuple(position for node in nodes if (position := locate(node)) is not None),
    )


def _locator(network: Network) -> Callable[[str], tuple[int, int] | None]:
    """Return a function that finds the line and column of a node by its name."""
    source = network.outline.document.source
    spans: dict[str, Span] = {layer.label: layer.span for layer in network.layers}
    spans |= {parameter.name: parameter.span for parameter in network.parameters}
    for block in network.outline.blocks.values():
        for name, port in (("input", block.input), ("output", block.output)):
            if port is not None:
                spans[f"{block.name}:{name}"] = port.property_span
    return lambda node: spans[node].position(source) if node in spans else None
