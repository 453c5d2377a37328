"""The builder has every method of MLGraphBuilder, with its operands, options, types and ranks."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from tests.places import SPEC
from webnnm import GraphBuilder, ops
from webnnm.core.dtypes import ANY
from webnnm.core.naming import camel_case, snake_case
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Slot

NOT_OPERATORS = {"build", "constant", "input"}
FOUR_BITS = {"int4", "uint4"}


@cache
def table() -> dict[str, Any]:
    """The methods that make operators, by name."""
    listed = json.loads((SPEC / "webnn_ops.json").read_text())["operators"]
    return {method["name"]: method for method in listed if method["name"] not in NOT_OPERATORS}


every_method = pytest.mark.parametrize("name", table())


def declared(name: str) -> AnyOperator:
    operator = ops.method(snake_case(name))
    assert operator is not None, f"there is no {name}"
    return operator


def test_there_are_ninety_five() -> None:
    assert len(table()) == 95
    assert set(dir(GraphBuilder)) >= NOT_OPERATORS


@every_method
def test_native_method_is_this_one(name: str) -> None:
    assert (declared(name).name, declared(name).native) == (name, name)


def operands(name: str) -> tuple[list[str], list[str]]:
    """Return the names of a method's operands, and of those among its options."""
    method = table()[name]
    places = [a["name"] for a in method["args"] if "operand" in a["kind"]]
    return places, [o["name"] for o in method["options"] if o["kind"] == "operand"]


@every_method
def test_operands_are_those_of_the_method(name: str) -> None:
    slots = declared(name).operands
    places, keywords = operands(name)
    assert [camel_case(slot.name) for slot in slots if not slot.keyword] == places
    assert [camel_case(slot.name) for slot in slots if slot.keyword] == keywords


@every_method
def test_options_are_those_of_the_method(name: str) -> None:
    method, options = table()[name], declared(name).options
    arguments = [a for a in method["args"] if "operand" not in a["kind"]]
    assert len([o for o in options.values() if o.positional]) == len(arguments)
    members = {o["name"]: o for o in method["options"] if o["kind"] != "operand"}
    members.pop("label")
    own = {camel_case(key): option for key, option in options.items() if not option.positional}
    assert own.keys() == members.keys()
    for key, option in own.items():
        default = members[key].get("default")
        if isinstance(default, (bool, int, float)) and option.default is not None:
            assert option.default == default, key
        assert option.default is not REQUIRED, key


@every_method
def test_types_are_those_of_the_method(name: str) -> None:
    for slot, limits in list_limited(name):
        allowed = limits["allowedDataTypes"]
        if isinstance(allowed, list):
            assert slot.dtypes - FOUR_BITS == set(allowed) - FOUR_BITS, slot.name
        elif allowed == "any":
            assert slot.dtypes - FOUR_BITS == ANY - FOUR_BITS, slot.name
        else:
            assert slot.like is not None, f"{slot.name} is {allowed}"


@every_method
def test_ranks_are_those_of_the_method(name: str) -> None:
    for slot, limits in list_limited(name):
        ranks = limits["allowedRanks"]
        if not re.fullmatch(r"N|\d+( to (N|\d+))?", ranks):
            continue  # told by another operand: the shape rule checks it
        low, _, high = ranks.partition(" to ")
        expected = (
            (0, None) if ranks == "N" else (int(low), int(high or low) if high != "N" else None)
        )
        assert slot.ranks == expected, slot.name


def list_limited(name: str) -> list[tuple[Slot, dict[str, Any]]]:
    """Return the slots of which the table states limits."""
    limits = {
        entry["operand"].removesuffix("[*]"): entry for entry in table()[name]["tensorLimits"]
    }
    return [
        (slot, limits[camel_case(slot.name)])
        for slot in declared(name).operands
        if camel_case(slot.name) in limits
    ]
