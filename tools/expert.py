"""Writes docs/expert.md from the rules of the expert system."""

from __future__ import annotations

from tools.common import ROOT, say
from tools.operators import table
from webnnm.cli.explain import explanation
from webnnm.core.finding import AREAS
from webnnm.expert.rule import Rule
from webnnm.expert.rules import RULES

PAGE = ROOT / "docs" / "expert.md"
RULES_PAGE = ROOT / "docs" / "rules.md"

INTRODUCTION = """\
# The expert system

<!-- Written by `python -m tools.expert`: change the rules in webnnm/expert, not this file. -->

Before a training {count} rules look at the model, its data and the settings. Each tells what it
found once, with the layers and the number that made it speak, and what to do about it. Some decide
a setting that was left on "auto"; a value that you give yourself always wins, and then the rule
only reports. A rule can be switched off by its id: it then neither reports nor decides.

At the end of a training {after} more rules look at its history, and at what the trained model does
with up to 256 training rows and as many others: the log has the three findings that matter most,
`history.findings` all of them, and `model.review(history)` tells them together with those of the
review before.

Severities: **error**, training cannot go well; **warning**, it probably goes wrong; **advice**, it
could go better; **info**, what was decided and why.

A rule is one small function in a module of `webnnm/expert/`: its first words are the condition,
its decorator has id, severity, remedy and what it does by itself. [Rules](rules.md) says of each
why it holds, with an example, and when to ignore it; so does `webnnm explain E504`.
"""


RULES_INTRODUCTION = """\
# The rules of the expert system

<!-- Written by `python -m tools.expert`: change the rules in webnnm/expert, not this file. -->

What each rule looks at, where its threshold comes from, a model or training that it speaks of, what
to do, and when to ignore it. `webnnm explain E504` prints the same; [the expert system](expert.md)
lists all rules in tables.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    RULES_PAGE.write_text(rules_page())
    say(f"wrote {PAGE.relative_to(ROOT)} and {RULES_PAGE.name}: {len(RULES)} rules")


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
        sources = " and ".join(f"[{name}.py](../webnnm/expert/{name}.py)" for name in names)
        parts.append(f"## {area}\n\nIn {sources}.\n\n{table(head, rows)}\n")
    return "\n".join(parts)


def rules_page() -> str:
    """Return the text of docs/rules.md."""
    parts = [RULES_INTRODUCTION]
    for area in AREAS:
        rules = [rule for rule in RULES.values() if rule.area == area]
        ids = " · ".join(f"[{rule.id}](#{rule.id.lower()})" for rule in rules)
        parts += [f"## {area}\n\n{ids}\n", *map(section, rules)]
    return "\n".join(parts)


def section(rule: Rule) -> str:
    """Return what is said of one rule."""
    found = explanation(rule)
    example = f"```python\n{found.example}\n```" if found.example else ""
    done = f'*On "auto":* {rule.action}.' if rule.action else ""
    remedy = f"*Remedy:* {rule.remedy}" if rule.remedy else ""
    head = f"**{rule.severity}.** {found.condition}"
    paragraphs = [f"### {rule.id}", head, *found.reasons, example, done, remedy, found.ignore]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def condition(rule: Rule) -> str:
    """Return when a rule holds, in words and on one line."""
    return explanation(rule).condition


if __name__ == "__main__":
    main()
