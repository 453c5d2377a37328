"""The review: every rule applied to the facts, and the settings that follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.errors import DataError, Span, suggestion
from webnnm.core.finding import AREAS, SEVERITIES, Finding, Findings
from webnnm.expert.facts.facts import Facts
from webnnm.expert.rules.capacity import LAMBDA
from webnnm.expert.rules.registry import RULES
from webnnm.expert.rules.rule import Hit, Rule
from webnnm.graph.elaboration.vertices import Network
from webnnm.training.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    from webnnm.core.markup import Markup

AUTOMATIC = {
    "loss_weights": "off",
    "regularization": "off",
    "gradient_scaling": "off",
    "gradient_clipping": "off",
    "compute_type": "float32",
}
"""Settings that may be "auto", and what they are if no rule turns them on (spec F)."""

SHOWN = 3
"""The number of findings needing attention that are shown before a training; the rest by id."""

PROVEN = 0.95
"""A skill on other rows that leaves nothing to learn."""

OPTIMIZERS_OWN = ("lr", "weight_decay", "momentum_factor", "beta1", "beta2", "alpha", "epsilon")
"""Settings whose defaults come from the optimizer."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """The findings of the expert system, and every setting with its origin.

    - `findings`: ordered by id; each rule reports at most once.
    - `settings`: name → resolved value, with no "auto" left; losses are named "block:loss".
    - `origins`: name → "given", "default", "default of adamw", "default for 105 rows", or the rules
      that set it, "E401".
    - `examined`: how many of many rows were examined, "" for all of them.
    - `told`: the texts of findings that were logged earlier, which `brief` omits.
    """

    findings: Sequence[Finding]
    settings: Mapping[str, Any]
    origins: Mapping[str, str]
    told: Sequence[str] = ()
    examined: str = ""

    def news(self, earlier: Review) -> list[Finding]:
        """Return the findings of rules that did not report in an earlier review."""
        known = {finding.id for finding in earlier.findings}
        return [finding for finding in self.findings if finding.id not in known]

    def finding(self, id: str) -> Finding:
        """Return the finding of a rule; raises `KeyError` if it found nothing."""
        return {finding.id: finding for finding in self.findings}[id]

    @property
    def ranked(self) -> list[Finding]:
        """The findings, the most important first: by severity, then by confidence."""
        return sorted(self.findings, key=lambda finding: finding.rank)

    def brief(self) -> list[str]:
        """Return what to show before a training: findings that need attention, and chosen settings.

        These are the three most important ones and all errors; the others are listed by id.
        """
        lines = brief(f for f in self.ranked if str(f) not in self.told)
        lines += [self.examined] if self.examined else []
        chosen = [text for text in self._decided() if not text.endswith("(given)")]
        return [*lines, f"settings: {', '.join(chosen)}"] if chosen else lines

    def __str__(self) -> str:
        lines = self._grouped(SEVERITIES)
        shown = {name: value for name, value in self.settings.items() if _shown(value)}
        if shown:
            usual = [f"{n} {self._text(n)}" for n in shown if self.origins[n] == "default"]
            lines += ["Settings", *(f"  {text}" for text in self._decided())]
            lines += [f"  default: {', '.join(usual)}"] * bool(usual)
        return "\n".join([*lines, *([self.examined] if self.examined else [])])

    def to_html(self) -> Markup:
        """Return findings and settings as HTML tables, as notebooks show them."""
        from webnnm.core.markup import html_table, join, tag

        shown = [
            (name, self._text(name), self.origins[name])
            for name, value in self.settings.items()
            if _shown(value)
        ]
        findings = Findings(self.findings).to_html()
        if not shown:
            return findings
        settings = html_table([("setting", "value", "origin"), *shown], head=True)
        return join([findings, tag("details", tag("summary", "Settings"), settings)])

    _repr_html_ = to_html

    def _text(self, name: str) -> str:
        return str(self._meant(name))

    def _meant(self, name: str) -> Any:
        """Return the value of a setting, with the number of epochs in place of the 0 for 5 %."""
        value = self.settings[name]
        if name != "warmup_epochs" or value:
            return value
        from webnnm.training.schedules import Schedule

        kind, epochs = self.settings["schedule"], self.settings["epochs"]
        return Schedule(kind=kind, rate=1.0, epochs=epochs, batches=1).warmup

    def _decided(self) -> list[str]:
        """Return the settings that are not defaults, with their origins."""
        return [
            f"{name} {self._text(name)} ({origin})"
            for name, origin in self.origins.items()
            if origin != "default" and _shown(self.settings[name])
        ]

    def _grouped(self, severities: Sequence[str], told: Sequence[str] = ()) -> list[str]:
        lines: list[str] = []
        shown = [f for f in self.findings if f.severity in severities and str(f) not in told]
        for area in AREAS:
            found = [finding for finding in shown if finding.area == area]
            found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
            if found:
                lines += [area, *(f"  {line}" for f in found for line in str(f).split("\n"))]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the review as plain values for JSON."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": {k: self._meant(k) for k, v in self.settings.items() if _shown(v)},
            "origins": dict(self.origins),
            **({"examined": self.examined} if self.examined else {}),
        }


def brief(ranked: Iterable[Finding]) -> list[str]:
    """Return the lines of the findings that matter, and one with the ids of the others.

    >>> first = Finding(id="E404", severity="warning", message="dropout1 drops 80 %")
    >>> brief([first, Finding(id="E111", severity="info", message="softmax and CCE of m")])
    ['warning E404: dropout1 drops 80 %', 'notes E111: see review()']
    """
    lines: list[str] = []
    more: dict[str, list[str]] = {"more": [], "notes": []}
    shown = 0
    for finding in ranked:
        if finding.severity == SEVERITIES[-1]:
            more["notes"].append(finding.id)
        elif finding.severity == SEVERITIES[0] or shown < SHOWN:
            shown += 1
            lines += str(finding).split("\n")
        else:
            more["more"].append(finding.id)
    listed = "; ".join(f"{word} {', '.join(ids)}" for word, ids in more.items() if ids)
    return [*lines, f"{listed}: see review()"] if listed else lines


def _shown(value: Any) -> bool:
    return value is not None and value != () and not callable(value)


def review(facts: Facts, *, off: Collection[str] = ()) -> Review:
    """Apply all rules but those that are `off`; these neither report nor decide settings.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers dropout(0.8), matmul(w);"
    >>> settings = {"optimizer": "rlion", "lr": 0.01, "gradient_clipping": "auto"}
    >>> print(review(Facts(network=elaborate(parse(text)), settings=settings)))
    Capacity
      warning E404 line 1, column 49: dropout1 drops 80%
        → Drop 10 to 50 %.
    Settings
      lr 0.01 (default of rlion)
      default: optimizer rlion, gradient_clipping off

    Raises `DataError` NNM703 for an unknown rule.
    """
    for id in off:
        if id not in RULES:
            raise DataError("NNM703", f'there is no rule "{id}"', hint=suggestion(id, RULES))
    given = {name for name, value in facts.given.items() if value != "auto"}
    given |= {f"{output.name}:loss" for output in facts.outputs if output.written}
    settings = {
        name: AUTOMATIC.get(name, v) if v == "auto" else v for name, v in facts.settings.items()
    }
    settings |= {f"{output.name}:loss": output.loss for output in facts.outputs if output.loss}
    origins = {name: _origin(name, given, facts) for name in settings}
    if settings.get("batch_size", 0) is None and facts.data.sizes:
        settings["batch_size"] = facts.data.batch_size
        origins["batch_size"] = "default of the dataset"
    findings: list[Finding] = []
    place = _places(facts.network)
    for rule in RULES.about(facts):
        if rule.id not in off:
            decide = partial(_decide, rule.id, given=given, settings=settings, origins=origins)
            findings += _apply(rule, facts, place, decide)
    _strengths(settings, origins)
    findings = consistent(tried(_merged(findings, facts), facts))
    return Review(
        findings=findings,
        settings=settings,
        origins=origins,
        examined=facts.data.examined,
    )


def hindsight(facts: Facts, *, off: Collection[str] = (), early: bool = False) -> list[Finding]:
    """Return what the rules on trainings find in `facts.history`; nothing without a history.

    With `early`, apply only the rules that can find something while the training runs.
    """
    if facts.history is None:
        return []
    place = _places(facts.network)
    found: list[Finding] = []
    for rule in RULES.on_trainings():
        if rule.id not in off and (rule.early or not early):
            found += _apply(rule, facts, place, lambda _: ())  # decides nothing any more
    return tried(_merged(found, facts), facts)


def _apply(
    rule: Rule,
    facts: Facts,
    place: Callable[[str], Any],
    decide: Callable[[Mapping[str, Any]], Sequence[str]],
) -> list[Finding]:
    """Return what a rule finds: nothing, a finding, or that the rule itself failed."""
    try:
        hit = rule.test(facts)
        return [] if hit is None else [_finding(rule, hit, decide(hit.changes), place)]
    except Exception as error:
        from webnnm.expert.rules.failing import failure

        return [failure(rule.id, error)]


def _merged(findings: list[Finding], facts: Facts) -> list[Finding]:
    """Return findings with the failures among the facts; equal failures are one."""
    failures = [*facts.failures, *facts.data.failures]
    if not failures and not any(finding.failed for finding in findings):
        return findings
    from webnnm.expert.rules.failing import merge_failures

    return sorted(merge_failures([*findings, *failures]), key=lambda finding: finding.id)


def tried(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Return findings after a training; those that its scores on other rows refute become
    information.

    What would prevent a model from learning did not, if every output has a skill of 0.95 on rows
    that were not trained on.
    """
    if facts.history is None or not facts.history.ended:
        return [*findings]
    from webnnm.expert.facts.course import skill

    skills = [skill(found) for found in facts.history.held_out.values()]
    if not skills or any(known is None or known < PROVEN for known in skills):
        return [*findings]
    return [
        replace(found, severity="info") if not found.failed and RULES[found.id].refuted else found
        for found in findings
    ]


def consistent(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those whose remedy contradicts that of a more important one.

    >>> fast = Finding(id="E305", severity="warning", message="lr 1 is 100 times the default")
    >>> few = Finding(id="E702", severity="advice", message="60 steps")
    >>> [finding.id for finding in consistent([fast, few])]
    ['E305']
    """
    kept: list[Finding] = []
    own = [finding for finding in findings if not finding.failed]
    for finding in sorted(own, key=lambda finding: finding.rank):
        rule = RULES[finding.id]
        if not any(rule.contradicts(RULES[other.id]) for other in kept):
            kept.append(finding)
    return [finding for finding in findings if finding.failed or finding in kept]


def _origin(name: str, given: Collection[str], facts: Facts) -> str:
    if name in given:
        return "given"
    if name == "epochs" and facts.data.training:  # as `automatic.by_rows` has it
        return f"default for {facts.data.training:,} rows"
    optimizer = facts.settings.get("optimizer")
    own = name in OPTIMIZERS_OWN and optimizer in OPTIMIZERS
    return f"default of {optimizer}" if own else "default"


def _decide(
    id: str,
    changes: Mapping[str, Any],
    given: Collection[str],
    settings: dict[str, Any],
    origins: dict[str, str],
) -> list[str]:
    """Apply a rule's decisions to settings that the user did not give; return what was done."""
    done: list[str] = []
    for name, value in changes.items():
        if name in given:
            continue
        earlier = origins.get(name, "")
        if name == "regularization" and earlier in RULES and settings[name] != "off":
            value, origins[name] = f"{value}+{settings[name]}", f"{earlier}, {id}"
        else:
            origins[name] = id
        settings[name] = value
        done.append(f"{name}={value!r}")
    return done


def _strengths(settings: dict[str, Any], origins: dict[str, str]) -> None:
    """Give a regularization that is on its λ where that is 0 (spec E.1)."""
    for kind, name in (("L1", "lambda1"), ("L2", "lambda2")):
        if kind in str(settings.get("regularization")) and not settings.get(name):
            settings[name] = LAMBDA[kind]
            origins[name] = origins["regularization"].replace("given", "default")


def _finding(rule: Rule, hit: Hit, done: Sequence[str], place: Callable[[str], Any]) -> Finding:
    nodes = tuple(hit.nodes)
    return Finding(
        id=rule.id,
        severity=hit.severity or rule.severity,
        message=hit.message,
        remedy=hit.remedy or rule.remedy,
        action=hit.action or ", ".join(done),
        fix=dict(hit.fix),
        confidence=rule.confidence if hit.confidence is None else hit.confidence,
        nodes=nodes,
        evidence=dict(hit.evidence),
        places=tuple(found for node in nodes if (found := place(node)) is not None),
    )


def _places(network: Network) -> Callable[[str], tuple[int, int] | None]:
    """Return a function that finds the line and column of a node by its name."""
    source = network.outline.document.source
    spans: dict[str, Span] = {layer.label: layer.span for layer in network.layers}
    spans |= {parameter.name: parameter.span for parameter in network.parameters}
    for block in network.outline.blocks.values():
        for name, port in (("input", block.input), ("output", block.output)):
            if port is not None:
                spans[f"{block.name}:{name}"] = port.property_span
    return lambda node: spans[node].position(source) if node in spans else None
