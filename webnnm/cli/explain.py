"""The command `explain`: what a finding of the expert system or the code of an error means."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from webnnm.cli.common import OK, CommandError, Parsers, command, print_json
from webnnm.cli.error_meanings import MEANINGS
from webnnm.core.errors import suggestion
from webnnm.expert.rules.failing import MEASUREMENTS, REMEDY
from webnnm.expert.rules.registry import RULES
from webnnm.expert.rules.rule import Rule

WIDTH = 80


@dataclass(frozen=True)
class Explanation:
    """The docstring of a rule, paragraph by paragraph.

    `condition` says when it holds; `reasons` what it checks and why the threshold has its value;
    `example` is Python with its output; `ignore` says when the finding does not matter.
    """

    condition: str
    reasons: tuple[str, ...] = ()
    example: str = ""
    ignore: str = ""


def explanation(rule: Rule) -> Explanation:
    """Return the explanation of a rule.

    >>> found = explanation(RULES["E504"])
    >>> found.condition
    'An activation with bounded results comes directly before softmax or sigmoid.'
    >>> found.ignore
    'Ignore it where probabilities must never come near 0 or 1.'
    """
    first, *paragraphs = inspect.cleandoc(rule.test.__doc__ or "").split("\n\n")
    reasons: list[str] = []
    example = ignore = ""
    for paragraph in paragraphs:
        if paragraph.startswith(">>>"):
            example = paragraph
        elif paragraph.startswith(("Ignore it", "Never ignore it")):
            ignore = _line(paragraph)
        else:
            reasons.append(_line(paragraph))
    return Explanation(_line(first), tuple(reasons), example, ignore)


def _line(paragraph: str) -> str:
    return " ".join(paragraph.split())


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm explain CODE [--json]"
    one = command(commands, "explain", "say what a finding or an error means", _run, usage=usage)
    one.add_argument("code", metavar="CODE", help="such as E504 or NNM402")


def _run(arguments: argparse.Namespace) -> int:
    code = arguments.code.upper()
    parts: dict[str, Any]
    if code in MEANINGS:
        meaning, remedy = MEANINGS[code]
        parts = {"id": code, "meaning": meaning, "remedy": remedy}
        text = [f"{code}", meaning, f"→ {remedy}"]
    elif code in MEASUREMENTS:
        part = f"{MEASUREMENTS[code].capitalize()} failed by a fault of webnnm itself."
        remedy = REMEDY.format(silence="")
        parts = {"id": code, "meaning": part, "remedy": remedy}
        text = [code, part, f"→ {remedy}"]
    elif code in RULES:
        rule = RULES[code]
        text_of_rule = explanation(rule)
        parts = {"id": code, "severity": rule.severity, "area": rule.area, "remedy": rule.remedy}
        parts |= vars(text_of_rule)
        done = f'On "auto": {rule.action}.' if rule.action else ""
        advice = f"→ {rule.remedy}" if rule.remedy else ""
        head = [
            f"{code}, {rule.severity} ({rule.area})",
            text_of_rule.condition,
            *text_of_rule.reasons,
        ]
        explains = f"explains {', '.join(sorted(rule.explains))}" if rule.explains else ""
        parts["explains"] = sorted(rule.explains)
        text = [*head, text_of_rule.example, done, advice, explains, text_of_rule.ignore]
    else:
        hint = suggestion(code, [*RULES, *MEANINGS])
        raise CommandError("NNM703", f'there is no finding or error "{arguments.code}"', hint=hint)
    if arguments.json:
        print_json(parts)
    else:
        print("\n\n".join(_wrap(part) for part in text if part))
    return OK


def _wrap(paragraph: str) -> str:
    if paragraph.startswith(">>>"):
        return textwrap.indent(paragraph, "    ")
    return textwrap.fill(paragraph, WIDTH, break_on_hyphens=False)
