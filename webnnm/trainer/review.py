"""What the trainer takes from a review: findings, and every setting with its origin."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webnnm.core.finding import AREAS, SEVERITIES, Finding, Findings
from webnnm.training.automatic import default_strengths, without_rules
from webnnm.training.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    from webnnm.core.markup import Markup
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation.history import History

SHOWN = 3
"""The number of findings needing attention that are shown before a training; the rest by id."""

OPTIMIZERS_OWN = frozenset(
    ("lr", "weight_decay", *(name for each in OPTIMIZERS.values() for name in each.defaults))
)
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


def resolve_without_review(
    given: Mapping[str, Any], settings: Mapping[str, Any], dataset: AnyDataset
) -> Review:
    """Return the settings of a training without a review: what is "auto" stays off."""
    resolved = without_rules(settings)
    resolved |= default_strengths(resolved)
    explicit = {name for name, value in given.items() if value != "auto"}
    rows, optimizer = dataset.size("training"), settings["optimizer"]
    origins = {name: origin_of(name, explicit, optimizer, rows) for name in resolved}
    if resolved["batch_size"] is None:
        resolved["batch_size"] = dataset.batch_size
        origins["batch_size"] = "default of the dataset"
    return Review(findings=(), settings=resolved, origins=origins)


def given_settings(history: History) -> dict[str, Any]:
    """Return the hyperparameters that the user gave to a training."""
    settings = history.settings
    names = [name for name, origin in history.chosen.items() if origin == "given"]
    return {name: settings[name] for name in names if name in settings}


def origin_of(name: str, given: Collection[str], optimizer: str | None, rows: int) -> str:
    """Return where the value of a setting comes from if no rule changes it.

    >>> origin_of("lr", {"epochs"}, "adamw", 105), origin_of("epochs", set(), "adamw", 105)
    ('default of adamw', 'default for 105 rows')
    """
    if name in given:
        return "given"
    if name == "epochs" and rows:  # as `automatic.by_rows` has it
        return f"default for {rows:,} rows"
    own = name in OPTIMIZERS_OWN and optimizer in OPTIMIZERS
    return f"default of {optimizer}" if own else "default"
