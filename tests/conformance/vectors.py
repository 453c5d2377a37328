"""Conformance vectors: decoding, the way into the builder, the measure of differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from webnnm import ops
from webnnm.arrays import HostArray
from webnnm.dtypes import DataType, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.ops.naming import snake_case

np = pytest.importorskip("numpy")

_BITS = {"float32": "int32", "float16": "int16"}


@dataclass(frozen=True)
class Vector:
    """One test of the web platform: a small graph, what goes in, what shall come out."""

    file: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.content["name"]

    @property
    def operators(self) -> list[Mapping[str, Any]]:
        return self.content["graph"]["operators"]

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def vectors(folder: Path) -> Iterator[Vector]:
    """Return the vectors of a folder whose operators are all in the registry."""
    known = ops.registry()
    for path in sorted(folder.glob("[!_]*.json")):
        for content in json.loads(path.read_text())["tests"]:
            vector = Vector(path.stem, content)
            if all(operator["name"] in known for operator in vector.operators):
                yield vector


def number(value: Any) -> Any:
    """Decode a number: NaN, infinities and -0 are strings, so are big integers, with an n."""
    if not isinstance(value, str):
        return value
    return int(value[:-1]) if value.endswith("n") else float(value)


def option(value: Any) -> Any:
    """Decode an option: numbers, lists, and words that mean themselves."""
    if isinstance(value, list):
        return [option(item) for item in value]
    try:
        return number(value)
    except ValueError:
        return value


def tensor(record: Mapping[str, Any]) -> Any:
    """Decode a tensor; a single number fills it."""
    dtype, shape = record["descriptor"]["dataType"], record["descriptor"]["shape"]
    data = record["data"]
    if not isinstance(data, list):
        return np.full(shape, number(data), dtype=dtype)
    values = [number(item) for item in data]
    exact = np.asarray(values, dtype=np.float64 if is_float(dtype) else dtype)
    return np.reshape(exact.astype(dtype), shape)


def graph(vector: Vector) -> tuple[Graph, dict[str, Any]]:
    """Build the graph of a vector, and return it with the values of its inputs."""
    b = GraphBuilder()
    named: dict[str, Any] = {}
    feeds: dict[str, Any] = {}
    for name, record in vector.content["graph"]["inputs"].items():
        dtype: DataType = record["descriptor"]["dataType"]
        shape = record["descriptor"]["shape"]
        value = tensor(record)
        if record.get("constant"):
            named[name] = b.constant(HostArray(dtype, shape, value.tobytes()))
        else:
            named[name] = b.input(name, dtype, shape)
            feeds[name] = value
    for call in vector.operators:
        results = apply(b, call, named)
        names = call["outputs"]
        if isinstance(names, str):
            named[names] = results
        else:
            named.update(zip(names, results, strict=True))
    wanted = vector.content["graph"]["expectedOutputs"]
    return b.build({name: named[name] for name in wanted}), feeds


def apply(b: GraphBuilder, call: Mapping[str, Any], named: Mapping[str, Operand]) -> Any:
    """Apply one operator: arguments that name tensors are operands, the others are options."""
    operator = ops.registry()[call["name"]]
    slots = {slot.name: slot for slot in operator.operands}
    operands: list[Any] = []
    options: dict[str, Any] = {}
    for argument in call["arguments"]:
        for key, value in argument.items():
            if key == "options":
                for name, item in value.items():
                    options[snake_case(name)] = named[item] if name in slots else option(item)
            elif key in slots:
                several = slots[key].variadic
                operands.append([named[n] for n in value] if several else named[value])
            else:
                options[snake_case(key)] = option(value)
    options.pop("label", None)
    return b.apply(operator, operands, options)


def ulp_distance(found: Any, expected: Any) -> Any:
    """Return for each element how many representable numbers lie between the two.

    Integers are their own distance; NaN is at distance 0 from NaN and far from all else.
    """
    if found.dtype.name not in _BITS:
        both = (a.astype(object) for a in (found, expected))
        return np.abs(np.subtract(*both))
    ordered = []
    for values in (found, expected):
        bits = values.view(_BITS[values.dtype.name]).astype(np.int64)
        # Negative floats order backwards; -0 falls upon 0.
        lowest = -(1 << (8 * values.dtype.itemsize - 1))
        ordered.append(np.where(bits < 0, lowest - bits, bits))
    distance = np.abs(ordered[0] - ordered[1])
    a, b = np.isnan(found), np.isnan(expected)
    return np.where(a & b, 0, np.where(a | b, 1 << 40, distance))


def difference(found: Any, expected: Any, metric: str) -> Any:
    """Return the difference of each element in the metric of a tolerance."""
    if np.array_equal(found, expected):  # quick on the vectors of many megabytes
        return np.zeros(1)
    if metric == "ULP":
        return ulp_distance(found, expected)
    assert metric == "ATOL", f"unknown metric {metric}"
    wide = [a.astype(np.float64) for a in (found, expected)]
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.abs(wide[0] - wide[1]))
