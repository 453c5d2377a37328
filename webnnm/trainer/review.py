"""What the trainer takes from a review: findings, and every setting with its origin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from webnnm.core.finding import AREAS, SEVERITIES, Finding, Findings, count_notes
from webnnm.evaluation.history import read_copy_settings
from webnnm.training.automatic import default_strengths, turn_off_auto
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import HYPERPARAMETERS, Settings

if TYPE_CHECKING:
    from webnnm.core.markup import Markup
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation.history import History

MAX_SHOWN = 3
"""The number of findings needing attention that are shown before a training; the rest by id."""

ALL_SETTINGS, ALL_FINDINGS = "history.settings has all settings", "history.findings has them"
"""Where the settings and findings are that a log leaves out."""

OPTIMIZER_SETTINGS = frozenset(
    ("lr", "weight_decay", *(name for each in OPTIMIZERS.values() for name in each.defaults))
)
"""Settings whose defaults come from the optimizer."""


@dataclass(frozen=True, kw_only=True)
class Review:
    """The findings of the expert system, and every setting with its origin.

    - `findings`: ordered by id; each rule reports at most once.
    - `settings`: with no "auto" left; `losses`: output → name of its loss.
    - `origins`: name → "given", "default", "default of adamw", "default for 105 rows", or the rules
      that set it, "E401"; losses are named "block:loss".
    - `examined`: how many of many rows were examined, "" for all of them.
    - `logged`: the texts of findings that were logged earlier, which `summary` omits.
    """

    findings: Sequence[Finding]
    settings: Settings
    origins: Mapping[str, str]
    losses: Mapping[str, str] = field(default_factory=dict[str, str])
    logged: Sequence[str] = ()
    examined: str = ""

    def new_findings(self, earlier: Review) -> list[Finding]:
        """Return the findings of rules that did not report in an earlier review."""
        earlier_ids = {finding.id for finding in earlier.findings}
        return [finding for finding in self.findings if finding.id not in earlier_ids]

    def finding(self, id: str) -> Finding:
        """Return the finding of a rule; raises `KeyError` if it found nothing."""
        return {finding.id: finding for finding in self.findings}[id]

    @property
    def ranked(self) -> list[Finding]:
        """The findings, the most important first: by severity, then by confidence."""
        return Findings(self.findings).ranked

    def summary(self) -> list[str]:
        """Return what to show before a training: findings that need attention, and the settings
        that were chosen for a reason.

        These are the three most important ones and all errors; the others are listed by id.
        """
        lines = self.summarize()
        settings = self._describe_choices()
        return [*lines, f"settings: {', '.join(settings)}; {ALL_SETTINGS}"] if settings else lines

    def summarize(self) -> list[str]:
        """Return the findings that need attention, and how many rows were examined."""
        lines = summarize_findings(f for f in self.ranked if str(f) not in self.logged)
        return [*lines, self.examined] if self.examined else lines

    def __str__(self) -> str:
        return self.shorten("review.describe()")

    def shorten(self, rest: str) -> str:
        """Return the findings that ask for something, and the settings that were chosen for a
        reason; `rest` is what shows the others."""
        shown, notes = Findings(self.findings).split()
        lines = self._group_by_area(shown) or ["nothing to change"]
        if choices := self._describe_choices():
            lines += ["Settings", *(f"  {text}" for text in choices)]
        more = [count_notes(notes)] * bool(notes)
        if number := len(self._visible_values()) - len(choices):
            more.append(f"{number} settings" if number > 1 else "1 setting")
        lines += [f"and {' and '.join(more)}: {rest}"] * bool(more)
        return "\n".join([*lines, *([self.examined] if self.examined else [])])

    def describe(self) -> str:
        """Return all findings by area, then every setting with its origin."""
        lines = self._group_by_area(self.findings)
        shown = self._visible_values()
        if shown:
            defaults = [f"{n} {v}" for n, v in shown.items() if self.origins[n] == "default"]
            lines += ["Settings", *(f"  {text}" for text in self._describe_settings())]
            lines += [f"  default: {', '.join(defaults)}"] * bool(defaults)
        return "\n".join([*lines, *([self.examined] if self.examined else [])])

    def to_html(self) -> Markup:
        """Return findings and settings as HTML tables, as notebooks show them."""
        from webnnm.core.markup import join

        findings = Findings(self.findings).to_html()
        return join([findings, read_copy_settings(self._visible_values(), self.origins)])

    _repr_html_ = to_html

    def _visible_values(self) -> dict[str, Any]:
        """Return the settings and losses that have an origin and can be shown, by name."""
        settings = self.settings
        if not settings.warmup_epochs and settings.epochs:  # 0 stands for a share of the epochs
            from webnnm.training.schedules import Schedule

            schedule = Schedule(kind=settings.schedule, rate=1.0, epochs=settings.epochs, batches=1)
            settings = replace(settings, warmup_epochs=schedule.warmup)
        values = settings.to_dict() | {f"{n}:loss": loss for n, loss in self.losses.items()}
        return {
            name: value
            for name, value in values.items()
            if name in self.origins and value not in (None, ()) and not callable(value)
        }

    def _describe_settings(self) -> list[str]:
        """Return the settings that are not defaults, with their origins."""
        return self._describe_origins(lambda origin: origin != "default")

    def _describe_choices(self) -> list[str]:
        """Return the settings that a rule decided, or the number of rows."""
        return self._describe_origins(
            lambda origin: origin not in ("default", "given") and "default of" not in origin
        )

    def _describe_origins(self, is_shown: Callable[[str], bool]) -> list[str]:
        shown = self._visible_values()
        return [
            f"{name} {shown[name]} ({origin})"
            for name, origin in self.origins.items()
            if name in shown and is_shown(origin)
        ]

    @staticmethod
    def _group_by_area(all_findings: Sequence[Finding]) -> list[str]:
        lines: list[str] = []
        for area in AREAS:
            findings = [finding for finding in all_findings if finding.area == area]
            findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
            if findings:
                lines += [area, *(f"  {line}" for f in findings for line in str(f).split("\n"))]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the review as plain values for JSON."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": self._visible_values(),
            "origins": dict(self.origins),
            **({"examined": self.examined} if self.examined else {}),
        }


def summarize_findings(ranked: Iterable[Finding], reported: Collection[str] = ()) -> list[str]:
    """Return the lines of the findings that matter, and one with the ids of the others.

    Of those whose ids were `reported` earlier there is a line with what they explain, if that is
    new.

    >>> first = Finding(id="E404", severity="warning", message="dropout1 drops 80%")
    >>> second = Finding(id="E111", severity="info", message="softmax and CCE of m")
    >>> summarize_findings([first, second])
    ['warning E404: dropout1 drops 80%', '1 note: history.findings has them']
    """
    lines: list[str] = []
    more: list[str] = []
    notes: list[Finding] = []
    shown = 0
    for finding in ranked:
        if finding.id in reported:
            symptoms = [symptom for symptom in finding.explains if symptom not in reported]
            if symptoms:
                lines.append(f"{finding.id} explains {', '.join(symptoms)} → {finding.remedy}")
        elif finding.severity == SEVERITIES[-1]:
            notes.append(finding)
        elif finding.severity == SEVERITIES[0] or shown < MAX_SHOWN:
            shown += 1
            lines += str(finding).split("\n")
        else:
            more.append(finding.id)
    rest = [f"more {', '.join(more)}"] * bool(more) + [count_notes(notes)] * bool(notes)
    return [*lines, f"{'; '.join(rest)}: {ALL_FINDINGS}"] if rest else lines


def resolve_without_review(settings: Settings, dataset: AnyDataset) -> Review:
    """Return the settings of a training without a review: what is "auto" stays off."""
    resolved = turn_off_auto(settings)
    resolved = replace(resolved, **default_strengths(resolved))
    origins = find_origins(resolved)
    if resolved.batch_size is None:
        resolved = replace(resolved, batch_size=dataset.batch_size)
        origins["batch_size"] = "default of the dataset"
    return Review(findings=(), settings=resolved, origins=origins)


def explicit_settings(history: History) -> dict[str, Any]:
    """Return the hyperparameters that the user gave to a training."""
    settings = history.settings
    names = [name for name, origin in history.chosen.items() if origin == "given"]
    return {name: settings[name] for name in names if name in settings}


def find_origins(settings: Settings) -> dict[str, str]:
    """Return where the value of each setting comes from if no rule changes it.

    >>> origins = find_origins(Settings(epochs=5, explicit=frozenset({"epochs"})))
    >>> origins["epochs"], origins["lr"], origins["scale"]
    ('given', 'default of adamw', 'default')
    """
    origins = dict.fromkeys(HYPERPARAMETERS, "default")
    origins |= dict.fromkeys(OPTIMIZER_SETTINGS, f"default of {settings.optimizer}")
    return origins | dict(settings.reasons) | dict.fromkeys(settings.explicit, "given")
