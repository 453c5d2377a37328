"""Texts of a schema are JSON that fits it."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest

from tests.unit.transformers.structured.random_texts import draw_text, matches
from webnnm import DataError
from webnnm.transformers.structured.automaton import Automaton
from webnnm.transformers.structured.json_schema import json_schema_pattern

Check = Callable[[Any], bool]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 9},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "tags": {"type": "array", "items": {"enum": ["a", "b\n", 'c"']}, "maxItems": 2},
    },
    "required": ["age"],
    "additionalProperties": False,
}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "properties": {
                "value": {"type": "integer"},
                "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["value"],
            "type": "object",
        }
    },
}


def is_person(value: Any) -> bool:
    return (
        0 <= value["age"] <= 130
        and isinstance(value["age"], int)
        and {*value} <= {"name", "age", "tags"}
        and 1 <= len(value.get("name", "x")) <= 9
        and len(value.get("tags", [])) <= 2
        and {*value.get("tags", [])} <= {"a", "b\n", 'c"'}
    )


def is_tree(value: Any) -> bool:
    return isinstance(value["value"], int) and all(map(is_tree, value.get("below", [])))


CASES: dict[str, tuple[Any, Check]] = {
    "person": (PERSON, is_person),
    "tree": (TREE, is_tree),
    "anything": (True, lambda value: True),
    "object": ({"type": "object"}, lambda value: isinstance(value, dict)),
    "map": (
        {"additionalProperties": {"type": "boolean"}, "minProperties": 1, "maxProperties": 2},
        lambda value: len(value) in (1, 2) and all(isinstance(v, bool) for v in value.values()),
    ),
    "alternatives": (
        {"anyOf": [{"const": 5}, {"type": "string", "pattern": r"^[a-c]\d?$"}]},
        lambda value: value == 5 or (value[0] in "abc" and len(value) < 3),
    ),
    "searched": ({"type": "string", "pattern": '"x|y\\\\'}, lambda v: '"x' in v or "y\\" in v),
    "types": ({"type": ["null", "array"], "minItems": 1}, lambda v: v is None or len(v) >= 1),
    "nullable": ({"type": "boolean", "nullable": True}, lambda v: v in (True, False, None)),
    "pair": (
        {"type": "array", "prefixItems": [{"const": 1}, {"type": "null"}], "items": False},
        lambda value: value in ([], [1], [1, None]),
    ),
    "whole": (
        {"allOf": [{"type": "integer"}, {"minimum": -7, "exclusiveMaximum": 12}]},
        lambda value: isinstance(value, int) and -7 <= value < 12,
    ),
    "share": (
        {"type": "number", "exclusiveMinimum": -1, "maximum": 1},
        lambda value: -1 < value <= 1,
    ),
    "date": ({"format": "date", "type": "string"}, lambda v: bool(date.fromisoformat(v))),
    "moment": (
        {"format": "date-time", "type": "string"},
        lambda v: datetime.fromisoformat(v).tzinfo is not None,
    ),
    "uuid": ({"format": "uuid", "type": "string"}, lambda v: str(uuid.UUID(v)) == v),
    "empty": ({"type": "object", "additionalProperties": False}, lambda v: v == {}),
    "extra": (
        {"required": ["b"], "properties": {"a": {"type": "null"}}, "type": "object"},
        lambda v: "b" in v and v.get("a") is None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_drawn_texts_fit(name: str) -> None:
    schema, check = CASES[name]
    automaton, rng = Automaton(json_schema_pattern(schema)), random.Random(0)
    for _ in range(100):
        text = draw_text(automaton, rng)
        assert check(json.loads(text)), text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("person", {"name": "Zoë", "age": 31, "tags": ["a", "b\n"]}),
        ("person", {"age": 130}),
        ("tree", {"value": 1, "below": [{"value": 2, "below": []}, {"value": -30}]}),
        ("anything", {"a": [1.5, {"b": None}], "c": 'é\u2028"\\'}),
        ("types", [[], {}]),
    ],
)
def test_texts_of_python_are_accepted(name: str, value: Any) -> None:
    pattern = json_schema_pattern(CASES[name][0])
    assert matches(pattern, json.dumps(value, ensure_ascii=False))
    assert matches(pattern, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def test_schemas_may_be_texts() -> None:
    assert matches(json_schema_pattern(json.dumps(PERSON)), '{"age": 7}')


@pytest.mark.parametrize("low", [-120, -7, 0, 3, 98])
@pytest.mark.parametrize("width", [0, 1, 13, 250])
def test_numbers_lie_between_their_bounds(low: int, width: int) -> None:
    bounds = {"minimum": low, "maximum": low + width}
    integers = Automaton(json_schema_pattern({"type": "integer", **bounds}))
    numbers = Automaton(json_schema_pattern({"type": "number", **bounds}))
    for value in range(-200, 400):
        inside = low <= value <= low + width
        assert matches(integers, str(value)) == matches(numbers, str(value)) == inside
        assert matches(numbers, f"{value}.0") == inside
        assert matches(numbers, str(value + 0.25)) == (low <= value + 0.25 <= low + width)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "integer", "multipleOf": 3}, '"multipleOf" is not supported'),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, '"oneOf" with alternatives of the'),
        ({"type": "strin"}, "\"type\" is 'strin'"),
        ({"$ref": "#/$defs/x"}, "which is missing"),
        ({"$ref": "other.json"}, "only parts of the schema"),
        ({"properties": {"a": {"not": {}}}}, 'json_schema at a: "not" is not supported'),
        ({"type": "number", "minimum": 0.5}, "only integers are supported"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, '"type" in two schemas'),
        ({"enum": []}, '"enum" is not a list of values'),
        ({"type": "string", "format": "iri"}, "\"format\" is 'iri'"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, '"minItems" is 3'),
        ({"type": "array", "uniqueItems": True}, '"uniqueItems" is not supported'),
        ("{", "json_schema is not JSON"),
        (5, "a schema is an object, not 5"),
    ],
)
def test_what_is_not_supported_is_named(schema: Any, why: str) -> None:
    with pytest.raises(DataError, match="NNM704") as caught:
        json_schema_pattern(schema)
    assert why in str(caught.value)
