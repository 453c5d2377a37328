"""Calls that plans make are calls that WebNN knows: names, order and kinds of arguments."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.places import SPEC
from tests.unit.ops.cases import CASES, Case, build
from webnnm import ops
from webnnm.compiler.plan import lower
from webnnm.core.dtypes import FORMATS, is_data_type
from webnnm.core.naming import camel_case
from webnnm.graph.node import OperatorNode
from webnnm.ops.declare.operator import REQUIRED, AnyOperator, Composite, covers_all

OTHER_NAMES = {("cast", "type"): "dataType"}
"""Positional arguments whose name in WebNN differs: only their place is emitted."""

OPERANDS = ("operand", "sequence of operands")


@cache
def table() -> dict[str, Any]:
    """The methods of MLGraphBuilder by name."""
    listed = json.loads((SPEC / "webnn_ops.json").read_text())["operators"]
    return {method["name"]: method for method in listed}


REGISTRY = ops.registry().values()
NATIVE = [o for o in REGISTRY if o.native and (isinstance(o, Composite) or o.decompose is None)]
METHODS = [o for o in REGISTRY if o.native in table()]


def plainly(default: Any) -> Any:
    """Return a default of the table as Python has it."""
    if default in ("Infinity", "-Infinity"):
        return float(default)
    return tuple(default) if isinstance(default, list) else default


def is_kind(value: Any, described: dict[str, Any]) -> bool:
    """Return whether a value of a plan is of the kind that the table describes."""
    natural = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    listed = isinstance(value, list)
    match described["kind"]:
        case "unsigned int":
            return natural
        case "long":
            return isinstance(value, int) and not isinstance(value, bool)
        case "list of unsigned ints":
            return listed and all(isinstance(v, int) and v >= 0 for v in value)
        case "unsigned int or list of unsigned ints":
            return natural or (listed and all(isinstance(v, int) and v >= 0 for v in value))
        case "boolean":
            return isinstance(value, bool)
        case "double" | "number":
            words = ("Infinity", "-Infinity", "NaN")
            return (isinstance(value, (int, float)) and not isinstance(value, bool)) or (
                value in words
            )
        case "enum":
            return value in described["values"]
        case "list of enum":
            return listed and all(v in described["values"] for v in value)
        case "dataType enum":
            return isinstance(value, str)
        case "sequence<float>":
            return listed and all(isinstance(v, (int, float)) for v in value)
    return False


@pytest.mark.parametrize("operator", NATIVE, ids=lambda o: o.name)
def test_native_operator_is_a_method(operator: AnyOperator) -> None:
    # A composite that has rules of its own stays one node, and is decomposed for the browser.
    ruled = isinstance(operator, Composite) and (operator.gradient or operator.reference)
    assert operator.native in table() or (ruled and operator.native == operator.name)


@pytest.mark.parametrize("operator", METHODS, ids=lambda o: o.name)
def test_operands_and_arguments_stand_in_the_order_of_the_method(operator: AnyOperator) -> None:
    method = table()[operator.native]
    slots = [slot.name for slot in operator.operands if not slot.keyword]
    positional = [name for name, option in operator.options.items() if option.positional]
    named = [OTHER_NAMES.get((operator.name, name), camel_case(name)) for name in positional]
    assert [*slots, *named] == [argument["name"] for argument in method["args"]]
    kinds = [argument["kind"] in OPERANDS for argument in method["args"]]
    assert kinds == [True] * len(slots) + [False] * len(named)
    assert operator.operands[0].variadic == (method["args"][0]["kind"] == "sequence of operands")


@pytest.mark.parametrize("operator", METHODS, ids=lambda o: o.name)
def test_options_are_those_of_the_method(operator: AnyOperator) -> None:
    described = {option["name"]: option for option in table()[operator.native]["options"]}
    keywords = {slot.name for slot in operator.operands if slot.keyword}
    plain = {camel_case(n): o for n, o in operator.options.items() if not o.positional}
    tensors = {name for name, option in described.items() if option["kind"] == "operand"}
    assert keywords == tensors
    # A composite may have more, if it says that the method covers only some of its uses.
    wider = isinstance(operator, Composite) and operator.covers is not covers_all
    own = {name for name in plain if wider and name not in described}
    assert (plain.keys() - own) | keywords | {"label"} == described.keys()
    for name in plain.keys() - own:
        # A default is left out of the call, so that it must be WebNN's own.
        default = plain[name].default
        assert default is not REQUIRED
        if default is not None:
            assert default == plainly(described[name]["default"])


@pytest.mark.parametrize("operator", METHODS, ids=lambda o: o.name)
def test_operand_types_are_those_of_the_method(operator: AnyOperator) -> None:
    limits = {limit["operand"]: limit for limit in table()[operator.native]["tensorLimits"]}
    for slot in operator.operands:
        allowed = limits.get(slot.name, {}).get("allowedDataTypes")
        if allowed == "any":
            allowed = [*filter(is_data_type, FORMATS)]
        if isinstance(allowed, list):
            assert slot.dtypes - {"int4", "uint4"} == set(allowed), slot.name


@pytest.mark.parametrize("case", [case for case in CASES if case.operator in METHODS], ids=str)
def test_emitted_calls_fit_the_method(case: Case) -> None:
    operator, built = case.operator, build(case)
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
    nodes = [n for n in graph.nodes() if isinstance(n, OperatorNode) and n.operator is operator]
    if not nodes:  # the method has not these options
        assert isinstance(operator, Composite)
        assert operator.covers is not covers_all
        return
    (node,) = nodes
    (call,) = [c for c in lower(graph).content["operators"] if c["op"] == operator.native]
    flat = [n for o in call["operands"] for n in (o if isinstance(o, list) else [o])]
    given = [operand for operand in node.operands if operand is not None]
    assert len(flat) + len(call["references"]) == len(given)
    method = table()[call["op"]]
    arguments = method["args"][len(call["operands"]) :]
    assert len(call["arguments"]) == len(arguments)
    for value, argument in zip(call["arguments"], arguments, strict=True):
        assert is_kind(value, argument), f"{argument['name']}: {value!r}"
    described = {option["name"]: option for option in method["options"]}
    for name, value in call["options"].items():
        assert is_kind(value, described[name]), f"{name}: {value!r}"
    assert all(described[name]["kind"] == "operand" for name in call["references"])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_composites_become_calls_of_methods(case: Case) -> None:
    built = build(case)
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
    for node in graph.nodes():
        if isinstance(node, OperatorNode):
            assert node.operator.native
            assert node.operator.native in table() or node.operator.decompose is not None
