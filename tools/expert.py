"""Writes docs/expert.md from the rules of the expert system."""

from __future__ import annotations

from tools.common import ROOT, say
from tools.operators import table
from webnnm.core.finding import AREAS
from webnnm.expert.rule import Rule
from webnnm.expert.rules import RULES

PAGE = ROOT / "docs" / "expert.md"

INTRODUCTION = """\
# The expert system

<!-- Written by `python -m tools.expert`: change the rules in webnnm/expert, not this file. -->

Before a training {count} rules look at the model, its data and the settings. Each tells what it
found once, with the layers and the number that made it speak, and what to do about it. Some decide
a setting that was left on "auto"; a value that you give yourself always wins, and then the rule
only reports. A rule can be switched off by its id: it then neither reports nor decides.

Severities: **error**, training cannot go well; **warning**, it probably goes wrong; **advice**, it
could go better; **info**, what was decided and why.

A rule is one small function in a module of `webnnm/expert/`: its first words are the condition,
its decorator has id, severity, remedy and what it does by itself.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    say(f"wrote {PAGE.relative_to(ROOT)}: {len(RULES)} rules")


def page() -> str:
    """Return the text of docs/expert.md."""
    parts = [INTRODUCTION.format(count=len(RULES))]
    for area in AREAS:
        rules = [rule for rule in RULES.values() if rule.area == area]
        rows = [
            [rule.id, rule.severity, condition(rule), rule.action or "–", rule.remedy or "–"]
            for rule in rules
        ]
        head = ["Id", "Severity", "When", 'On "auto"', "Remedy"]
        names = dict.fromkeys(rule.test.__module__.rpartition(".")[2] for rule in rules)
        source = " and ".join(f"[{name}.py](../webnnm/expert/{name}.py)" for name in names)
        parts.append(f"## {area}\n\nIn {source}.\n\n{table(head, rows)}\n")
    return "\n".join(parts)


def condition(rule: Rule) -> str:
    """Return when a rule holds, in words and on one line: its docstring."""
    return " ".join((rule.test.__doc__ or "").split())


if __name__ == "__main__":
    main()
