"""The command `ops`: the operators, all of them or one in detail."""

from __future__ import annotations

import argparse
from typing import Any

from webnnm import ops
from webnnm.cli import operator_facts as facts
from webnnm.cli.common import OK, CommandError, Parsers, align, command, pairs, print_json
from webnnm.core.errors import suggestion
from webnnm.core.naming import snake_case
from webnnm.ops.declare.operator import AnyOperator, Composite


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "ops", "list the operators, or describe one", _ops)
    one.add_argument("operator", metavar="OPERATOR", nargs="?", help="in any spelling")


def _ops(arguments: argparse.Namespace) -> int:
    if arguments.operator is None:
        operators = ops.registry().values()
        if arguments.json:
            print_json([_summarize(operator) for operator in operators])
        else:
            print(align([(operator.name, operator.summary) for operator in operators]))
        return OK
    operator = ops.registry().get(arguments.operator) or ops.method(snake_case(arguments.operator))
    if operator is None:
        hint = suggestion(arguments.operator, ops.operator_names()) or "webnnm ops lists them"
        raise CommandError("NNM710", f'there is no operator "{arguments.operator}"', hint=hint)
    if arguments.json:
        print_json(_details(operator))
    else:
        print(_page(operator))
    return OK


def _summarize(operator: AnyOperator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "aliases": operator.aliases,
        "summary": operator.summary,
        "native": bool(operator.native),
    }


def _details(operator: AnyOperator) -> dict[str, Any]:
    slots = operator.operands
    return {
        **_summarize(operator),
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
    details = _details(operator)
    lines = {"notation": details["notation"] or "–", "python": details["python"]}
    if operator.aliases:
        lines["also"] = ", ".join(operator.aliases)
    lines["example"] = details["example"]
    lines["gradient"] = "to " + ", ".join(details["gradient"]) if details["gradient"] else "none"
    has_other_name = operator.native and snake_case(operator.native) != snake_case(operator.name)
    lines["WebNN"] = (
        operator.native if has_other_name else "a method of MLGraphBuilder"
    ) or "composed"
    if details["parts"]:
        lines["made of"] = ", ".join(details["parts"])
    parts = [f"{operator.name}: {operator.summary}", "", pairs(lines)]
    if details["operands"]:
        rows = [("operand", "types", "ranks")]
        for slot in details["operands"]:
            rows.append((slot["name"] + "?" * slot["optional"], slot["types"], slot["ranks"]))
        parts += ["", align(rows)]
    if details["options"]:
        rows = [("option", "default", "values")]
        rows += [(o["name"], o["default"], o["values"]) for o in details["options"]]
        parts += ["", align(rows)]
    return "\n".join(parts)
