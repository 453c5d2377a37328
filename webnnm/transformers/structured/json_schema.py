"""JSON schemas as patterns: every text of the pattern is valid, but not the other way round.

Source: "JSON Schema: A Media Type for Describing JSON Documents", draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import is_integer
from webnnm.transformers.structured.automaton import Pattern, choice, literal
from webnnm.transformers.structured.json_values import (
    NOTHING,
    Bound,
    Property,
    anything,
    array,
    integer,
    json_map,
    json_object,
    matching_string,
    number,
    string,
    value_of,
)

MAX_RECURSION = 3
"""How many times a schema that refers to itself may be nested."""
NOTES = frozenset(
    {
        *("$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated"),
        *("description", "discriminator", "examples", "readOnly", "title", "writeOnly"),
    }
)
"""Keywords that allow every value."""
TYPES = "string", "integer", "number", "boolean", "null", "array", "object"
OF_TYPE: Mapping[str, Sequence[str]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
}
"""The keywords that say something about values of a type."""
_DAY = r"(?:0[1-9]|1\d|2[0-8])"
_DATE = (
    rf"[12]\d{{3}}-(?:(?:0[1-9]|1[0-2])-{_DAY}|(?:0[13-9]|1[0-2])-(?:29|30)|"
    r"(?:0[13578]|1[02])-31)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
_WORD = r"[A-Za-z0-9_+-]{1,30}"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "email": rf"{_WORD}(?:\.{_WORD}){{0,2}}@{_NAME}(?:\.{_NAME}){{1,3}}",
    "hostname": rf"{_NAME}(?:\.{_NAME}){{0,3}}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
    "uri": rf"https?://{_NAME}(?:\.{_NAME}){{1,3}}(?:/[A-Za-z0-9._~-]{{0,60}}){{0,8}}",
}
"""Expressions for `format`, which match some of what each allows."""

Schema = Mapping[str, Any]


def json_schema_pattern(schema: Schema | str | bool) -> Pattern:
    """Return the pattern of the JSON texts that fit a schema, written without line breaks.

    >>> from webnnm.transformers.structured.automaton import Automaton
    >>> schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}}}
    >>> automaton = Automaton(json_schema_pattern({**schema, "required": ["age"]}))
    >>> [automaton.advance(0, text) is None for text in (b'{"age": 20}', b'{"age": 9}', b"{}")]
    [False, True, True]

    Properties come in the order of the schema; other properties come only if a schema has none of
    its own. Raises `DataError` NNM704 for keywords that are not supported, and for schemas that no
    text fits.
    """
    if isinstance(schema, str):
        try:
            schema = cast("Schema", parse_json(schema))
        except ValueError as error:
            raise DataError("NNM704", f"json_schema is not JSON: {error}") from error
    return _Reader(schema).read(schema, "", ())


class _Reader:
    """Reads schemas, and what they refer to in the outermost one."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def read(self, schema: Any, path: str, within: tuple[str, ...]) -> Pattern:
        """Return the pattern of a schema at a path, within others that were referred to."""
        if schema is True or schema == {}:
            return anything()
        if schema is False:
            return NOTHING
        if not isinstance(schema, Mapping):
            raise _refuse(path, f"a schema is an object, not {schema!r}")
        keys = {key: value for key, value in cast("Schema", schema).items() if key not in NOTES}
        if not keys:
            return anything()
        if "$ref" in keys:
            return self._read_reference(keys, path, within)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in keys:
                return self._read_parts(key, keys, path, within)
        if "const" in keys or "enum" in keys:
            return self._read_values(keys, path)
        return self._read_types(keys, path, within)

    def _read_reference(self, keys: Schema, path: str, within: tuple[str, ...]) -> Pattern:
        name = keys["$ref"]
        if len(keys) > 1:
            raise _refuse(path, f'"$ref" beside {_other(keys, "$ref")} is not supported')
        if not isinstance(name, str) or not name.startswith("#"):
            raise _refuse(path, f'"$ref" is {name!r}; only parts of the schema can be referred to')
        if within.count(name) > MAX_RECURSION:
            return NOTHING
        target: Any = self._root
        for key in name.split("/")[1:]:
            part = key.replace("~1", "/").replace("~0", "~")
            schemas = cast("dict[str, Any]", target if isinstance(target, Mapping) else {})
            if part not in schemas:
                raise _refuse(path, f'"$ref" is "{name}", which is missing')
            target = schemas[part]
        return self.read(target, name, (*within, name))

    def _read_parts(self, key: str, keys: Schema, path: str, within: tuple[str, ...]) -> Pattern:
        """Return the pattern of alternatives, or of one schema in several parts."""
        parts = cast("Any", keys[key])
        if not isinstance(parts, list) or not parts:
            raise _refuse(path, f'"{key}" is not a list of schemas')
        rest = {name: value for name, value in keys.items() if name != key}
        possible = [part for part in cast("list[Any]", parts) if part is not False]
        merged = [self._merge(rest, part, f"{path}/{key}") for part in possible]
        if key == "allOf":
            if len(possible) < len(parts):
                return NOTHING
            combined: dict[str, Any] = {}
            for part in merged:
                combined = self._merge(combined, part, f"{path}/{key}")
            return self.read(combined, path, within)
        if key == "oneOf" and not _are_disjoint(merged):
            raise _refuse(path, '"oneOf" with alternatives of the same type is not supported')
        return choice(*(self.read(part, f"{path}/{key}", within) for part in merged))

    def _merge(self, one: Schema, other: Any, path: str) -> dict[str, Any]:
        """Return one schema for what two say, which must not be about the same."""
        if other is True:
            return dict(one)
        if not isinstance(other, Mapping):
            raise _refuse(path, f"a schema is an object, not {other!r}")
        other = cast("Schema", other)
        same = sorted({*one} & {*other} - NOTES)
        different = [key for key in same if one[key] != other[key]]
        if different:
            raise _refuse(path, f'"{different[0]}" in two schemas for one value is not supported')
        return {**one, **other}

    def _read_values(self, keys: Schema, path: str) -> Pattern:
        key = "const" if "const" in keys else "enum"
        if rest := [name for name in keys if name not in (key, "type")]:
            raise _refuse(path, f'"{key}" beside "{rest[0]}" is not supported')
        values = cast("Any", [keys[key]] if key == "const" else keys[key])
        if not isinstance(values, list) or not values:
            raise _refuse(path, '"enum" is not a list of values')
        types = _types(keys, path)
        fitting = [v for v in cast("list[Any]", values) if any(_is_of(v, type) for type in types)]
        return choice(*map(value_of, fitting)) if fitting else NOTHING

    def _read_types(self, keys: Schema, path: str, within: tuple[str, ...]) -> Pattern:
        types = _types(keys, path)
        allowed = {name for type in types for name in OF_TYPE.get(type, ())}
        for key in keys:
            if key not in allowed and key not in ("type", "nullable"):
                raise _refuse(path, f'"{key}" is not supported')
        read: Mapping[str, Callable[[], Pattern]] = {
            "string": lambda: _string(keys, path),
            "integer": lambda: _integer(keys, path),
            "number": lambda: number(*_bounds(keys, path)),
            "boolean": lambda: choice(literal("true"), literal("false")),
            "null": lambda: literal("null"),
            "array": lambda: self._read_array(keys, path, within),
            "object": lambda: self._read_object(keys, path, within),
        }
        if "number" in types:  # which integers are
            types = [type for type in types if type != "integer"]
        return choice(*(read[type]() for type in types))

    def _read_array(self, keys: Schema, path: str, within: tuple[str, ...]) -> Pattern:
        heads = cast("Any", keys.get("prefixItems", []))
        if not isinstance(heads, list):
            raise _refuse(path, '"prefixItems" is not a list of schemas')
        first = [
            self.read(head, f"{path}/prefixItems", within) for head in cast("list[Any]", heads)
        ]
        minimum, maximum = _counts(keys, path, "minItems", "maxItems")
        items = keys.get("items", True)
        if items is False:
            maximum = len(first) if maximum is None else min(maximum, len(first))
        return array(self.read(items, f"{path}/items", within), minimum, maximum, first=first)

    def _read_object(self, keys: Schema, path: str, within: tuple[str, ...]) -> Pattern:
        declared = cast("Any", keys.get("properties", {}))
        required = cast("Any", keys.get("required", []))
        if not isinstance(declared, Mapping) or not isinstance(required, list):
            raise _refuse(path, '"properties" is an object, and "required" a list of their names')
        more = keys.get("additionalProperties", True)
        names = cast("list[str]", required)
        schemas: dict[str, Any] = dict(cast("Schema", declared))
        schemas |= {name: more for name in names if name not in schemas}
        minimum, maximum = _counts(keys, path, "minProperties", "maxProperties")
        if not schemas:
            value = NOTHING if more is False else self.read(more, f"{path}/additional", within)
            return json_map(value, minimum, 0 if more is False else maximum)
        if minimum > len(names) or (maximum is not None and maximum < len(schemas)):
            raise _refuse(path, "numbers of properties beside their names are not supported")
        return json_object(
            [
                Property(name, self.read(part, f"{path}/{name}", within), name in names)
                for name, part in schemas.items()
            ]
        )


def _types(keys: Schema, path: str) -> list[str]:
    """Return the types that a schema allows."""
    types = cast("Any", keys.get("type"))
    if types is None:
        named = [t for t, words in OF_TYPE.items() if {*words} & {*keys} and t != "integer"]
        types = named or [*TYPES]
    names = cast("list[Any]", types if isinstance(types, list) else [types])
    for name in names:
        if name not in TYPES:
            raise _refuse(path, f'"type" is {name!r}; there are {", ".join(TYPES)}')
    return [*names, *(["null"] if keys.get("nullable") is True and "null" not in names else [])]


def _is_of(value: Any, type: str) -> bool:
    """Return whether a value is of a type of JSON."""
    match type:
        case "integer":
            return is_integer(value)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[type])


def _are_disjoint(schemas: Sequence[Schema]) -> bool:
    """Return whether no value fits two schemas, by their types or constants."""
    if all("const" in schema for schema in schemas):
        return len({repr(schema["const"]) for schema in schemas}) == len(schemas)
    types = [schema.get("type") for schema in schemas]
    if not all(isinstance(type, str) for type in types):
        return False
    return len({"number" if t == "integer" else t for t in types}) == len(types)


def _string(keys: Schema, path: str) -> Pattern:
    stated = [key for key in ("pattern", "format") if key in keys]
    if not stated:
        return string(*_counts(keys, path, "minLength", "maxLength"))
    if len([key for key in keys if key in OF_TYPE["string"]]) > 1:
        raise _refuse(path, f'"{stated[0]}" beside other limits of a string is not supported')
    if stated == ["pattern"]:
        return matching_string(keys["pattern"])
    if keys["format"] not in FORMATS:
        raise _refuse(path, f'"format" is {keys["format"]!r}; there are {", ".join(FORMATS)}')
    return matching_string(f"^{FORMATS[keys['format']]}$")


def _integer(keys: Schema, path: str) -> Pattern:
    low, high = _bounds(keys, path)
    return integer(
        None if low is None else low.value + (not low.inclusive),
        None if high is None else high.value - (not high.inclusive),
    )


def _bounds(keys: Schema, path: str) -> tuple[Bound | None, Bound | None]:
    """Return the tightest lower and upper bound of a number."""
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        value = keys.get(key)
        if value is not None and (isinstance(value, bool) or value != int(value)):
            raise _refuse(path, f'"{key}" is {value!r}; only integers are supported')
    low = [Bound(int(keys[k]), not e) for k, e in _LOW.items() if keys.get(k) is not None]
    high = [Bound(int(keys[k]), not e) for k, e in _HIGH.items() if keys.get(k) is not None]
    return (
        max(low, key=lambda bound: (bound.value, not bound.inclusive), default=None),
        min(high, key=lambda bound: (bound.value, bound.inclusive), default=None),
    )


_LOW, _HIGH = (
    {"minimum": False, "exclusiveMinimum": True},
    {"maximum": False, "exclusiveMaximum": True},
)
"""Keywords of bounds, and whether these are excluded."""


def _counts(keys: Schema, path: str, low: str, high: str) -> tuple[int, int | None]:
    """Return the least and the greatest count of something."""
    minimum, maximum = keys.get(low, 0), keys.get(high)
    for key, value in ((low, minimum), (high, maximum)):
        if value is not None and (not is_integer(value) or value < 0):
            raise _refuse(path, f'"{key}" is {value!r}, not a count')
    if maximum is not None and maximum < minimum:
        raise _refuse(path, f'"{low}" is {minimum}, "{high}" is {maximum}')
    return minimum, maximum


def _other(keys: Schema, key: str) -> str:
    return next(f'"{name}"' for name in keys if name != key)


def _refuse(path: str, why: str) -> DataError:
    where = f" at {path.lstrip('#/')}" if path.lstrip("#/") else ""
    return DataError("NNM704", f"json_schema{where}: {why}", hint="see docs/generation.md")
