"""The command `ops`: the operators, all of them or one in detail."""

from __future__ import annotations

import argparse
from typing import Any

from webnnm import ops
from webnnm.cli import operator_facts as facts
from webnnm.cli.common import FINE, CommandError, Parsers, aligned, command, pairs, print_json
from webnnm.core.errors import suggestion
from webnnm.core.naming import snake_case
from webnnm.ops.declare.operator import AnyOperator, Composite


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "ops", "list the operators, or describe one", _ops)
    one.add_argument("operator", metavar="OPERATOR", nargs="?", help="in any spelling")


def _ops(given: argparse.Namespace) -> int:
    if given.operator is None:
        every = ops.registry().values()
        if given.json:
            print_json([_brief(operator) for operator in every])
        else:
            print(aligned([(operator.name, operator.summary) for operator in every]))
        return FINE
    operator = ops.registry().get(given.operator) or ops.method(snake_case(given.operator))
    if operator is None:
        hint = suggestion(given.operator, ops.operator_names()) or "webnnm ops lists them"
        raise CommandError("NNM710", f'there is no operator "{given.operator}"', hint=hint)
    if given.json:
        print_json(_details(operator))
    else:
        print(_page(operator))
    return FINE


def _brief(operator: AnyOperator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "aliases": operator.aliases,
        "summary": operator.summary,
        "native": bool(operator.native),
    }


def _details(operator: AnyOperator) -> dict[str, Any]:
    slots = operator.operands
    return {
        **_brief(operator),
        "notation": facts.call_in_notation(operator),
        "python": facts.call_in_python(operator),
        "operands": [
            {
                "name": slot.name,
                "types": facts.types_of(slot, slots).replace("`", ""),
                "ranks": facts.ranks_of(slot),
                "optional": slot.optional,
            }
            for slot in slots
        ],
        "options": [
            {
                "name": name,
                "default": facts.default_of(option.default).strip("`"),
                "values": facts.kind_of(option.check),
            }
            for name, option in operator.options.items()
        ],
        "example": facts.example_of(operator),
        "gradient": facts.differentiable_operands(operator),
        "parts": facts.parts_of(operator) if isinstance(operator, Composite) else [],
    }


def _page(operator: AnyOperator) -> str:
    told = _details(operator)
    lines = {"notation": told["notation"] or "–", "python": told["python"]}
    if operator.aliases:
        lines["also"] = ", ".join(operator.aliases)
    lines["example"] = told["example"]
    lines["gradient"] = "to " + ", ".join(told["gradient"]) if told["gradient"] else "none"
    named = operator.native and snake_case(operator.native) != snake_case(operator.name)
    lines["WebNN"] = (operator.native if named else "a method of MLGraphBuilder") or "composed"
    if told["parts"]:
        lines["made of"] = ", ".join(told["parts"])
    found = [f"{operator.name}: {operator.summary}", "", pairs(lines)]
    if told["operands"]:
        rows = [("operand", "types", "ranks")]
        for slot in told["operands"]:
            rows.append((slot["name"] + "?" * slot["optional"], slot["types"], slot["ranks"]))
        found += ["", aligned(rows)]
    if told["options"]:
        rows = [("option", "default", "values")]
        rows += [(o["name"], o["default"], o["values"]) for o in told["options"]]
        found += ["", aligned(rows)]
    return "\n".join(found)
