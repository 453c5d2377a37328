"""Findings of the rules of the expert system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from webnnm.core.markup import Markup

Severity = Literal["error", "warning", "advice", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice", "info")
"""The most serious first."""

AREAS = (
    "Loss",
    "Precision",
    "Stability",
    "Capacity",
    "Outputs",
    "Data",
    "Schedule",
    "Target",
    "Training",
)
"""The areas of the rules E1xx, E2xx, …, E9xx."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding of the expert system (spec F).

    >>> print(Finding(id="E404", severity="warning", nodes=("dropout1",), message="dropout1 "
    ...     "drops 80%", remedy="Drop 10 to 50%.", places=((1, 40),)))
    warning E404 line 1, column 40: dropout1 drops 80%
      → Drop 10 to 50%.

    - `nodes`: the names of the layers, parameters and blocks concerned.
    - `action`: what was done about it automatically, or "".
    - `fix`: hyperparameters that apply the remedy, as in `model.train(**finding.fix)`; {} if the
      remedy takes more than those.
    - `confidence`: 0 … 1, how likely it is that the problem costs accuracy or time.
    - `evidence`: the numbers behind it.
    - `places`: line and column of the nodes in the model text.
    - `failed`: the rule itself failed, which is a fault of webnnm and says nothing of the model.
    - `explains`: the ids of findings that are its symptoms; `explained_by`: those of the probable
      causes of this one.
    """

    id: str
    severity: Severity
    message: str
    remedy: str = ""
    action: str = ""
    fix: Mapping[str, Any] = field(default_factory=dict[str, Any])
    confidence: float = 1.0
    nodes: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    places: tuple[tuple[int, int], ...] = ()
    failed: bool = False
    explains: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The area of the rule, one of `AREAS`."""
        return AREAS[int(self.id[1]) - 1]

    @property
    def rank(self) -> tuple[int, float, str]:
        """The sort key of findings; the most important one comes first."""
        return SEVERITIES.index(self.severity), -self.confidence, self.id

    @property
    def where(self) -> str:
        """The position of the first node in the model text, "" if there is none."""
        return "line {}, column {}".format(*self.places[0]) if self.places else ""

    @property
    def advice(self) -> list[str]:
        """What was done about the finding, and what remains to be done.

        Of a symptom its cause: the remedy is that of the cause.
        """
        done = [f"done: {self.action}"] if self.action else []
        if self.explained_by:
            return [*done, f"probably because of {', '.join(self.explained_by)}"]
        shows_remedy = self.remedy and (self.severity != "info" or not self.action)
        explained = [f"explains {', '.join(self.explains)}"] if self.explains else []
        return done + ([f"→ {self.remedy}"] if shows_remedy else []) + explained

    def __str__(self) -> str:
        head = " ".join(filter(None, (self.severity, self.id, self.where)))
        return "\n  ".join([f"{head}: {self.message}", *self.advice])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Finding:
        """Return the finding that `to_dict` wrote."""
        attributes: dict[str, Any] = {
            f.name: values[f.name] for f in fields(cls) if f.name in values
        }
        for name in ("nodes", "explains", "explained_by"):
            attributes[name] = tuple(attributes.get(name, ()))
        attributes["places"] = tuple(
            (line, column) for line, column in attributes.get("places", ())
        )
        return cls(**attributes)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values for JSON."""
        return asdict(self) | {"area": self.area}

    def to_html(self) -> Markup:
        """Return the finding as an HTML table, as notebooks show it."""
        return Notes([self]).to_html()

    _repr_html_ = to_html


class Findings(list[Finding]):
    """A list of findings, printed one below the other; notebooks show a table.

    >>> found = Findings([Finding(id="E111", severity="info", message="softmax and CCE of m")])
    >>> print(found)
    nothing to change; 1 note: .notes
    >>> print(found.notes)
    info E111: softmax and CCE of m
    >>> found[0].severity
    'info'

    Both begin with the most important finding. Notes, which most good models have as well, are
    counted only.
    """

    @property
    def notes(self) -> Notes:
        """The findings that ask for nothing."""
        return Notes(finding for finding in self if finding.severity == SEVERITIES[-1])

    @property
    def ranked(self) -> list[Finding]:
        """The findings, the most important first: by severity, then by confidence."""
        return sorted(self, key=lambda finding: finding.rank)

    def __str__(self) -> str:
        shown, notes = self.split()
        lines = [*map(str, shown)]
        if notes:
            lead = "and" if shown else "nothing to change;"
            lines.append(f"{lead} {count_notes(notes)}: .notes")
        return "\n".join(lines) or "nothing was found"

    def split(self) -> tuple[list[Finding], Notes]:
        """Return the findings that ask for something, the most important first, and the notes."""
        shown = [finding for finding in self.ranked if finding.severity != SEVERITIES[-1]]
        return shown, self.notes

    def to_html(self) -> Markup:
        """Return the table as HTML, as notebooks show it; notes are folded."""
        from webnnm.core.markup import join, tag

        shown, notes = self.split()
        parts = [self._make_table(shown)] if shown or not notes else []
        if notes:
            folded = tag("summary", count_notes(notes)), self._make_table(notes.ranked)
            parts.append(tag("details", *folded))
        return join(parts)

    @staticmethod
    def _make_table(findings: Sequence[Finding]) -> Markup:
        from webnnm.core.markup import html_table, tag

        rows = [
            (
                f"{finding.severity} {finding.id}",
                finding.where,
                finding.message,
                " ".join(finding.advice).removeprefix("→ "),
            )
            for finding in findings
        ]
        head = ("finding", "place", "what", "what to do")
        return html_table([head, *rows], head=True) if rows else tag("p", "nothing was found")

    _repr_html_ = to_html


class Notes(Findings):
    """Findings that ask for nothing, all of which are shown."""

    def split(self) -> tuple[list[Finding], Notes]:
        """Return all of them as findings to show."""
        return self.ranked, Notes()


def count_notes(notes: Sequence[Finding]) -> str:
    """Return how many notes there are.

    >>> count_notes([]), count_notes([Finding(id="E111", severity="info", message="")])
    ('0 notes', '1 note')
    """
    return f"{len(notes)} note" + "s" * (len(notes) != 1)
