"""Conformance vectors: decoding, the way into the builder; it imports webnnm only, to run in pages.

The encoding is described in the files themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webnnm import ops
from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import FORMATS
from webnnm.core.naming import snake_case
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand


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

    @property
    def tolerance(self) -> tuple[str, float]:
        """The metric, "ULP" or "ATOL", and how far apart results may be in it.

        Where no tolerance is given, results shall be the same.
        """
        tolerance = self.content["tolerance"]
        value = tolerance["value"]
        return ("ULP", 0) if value is None else (tolerance["metric"], value)

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    def expected(self) -> dict[str, HostArray]:
        """Return the tensors that shall come out."""
        records = self.content["graph"]["expectedOutputs"]
        return {name: tensor(record) for name, record in records.items()}

    def graph(self) -> tuple[Graph, dict[str, HostArray]]:
        """Build the graph, and return it with the values of its inputs."""
        b = GraphBuilder()
        named: dict[str, Operand] = {}
        feeds: dict[str, HostArray] = {}
        for name, record in self.content["graph"]["inputs"].items():
            array = tensor(record)
            if record.get("constant"):
                named[name] = b.constant(array)
            else:
                named[name] = b.input(name, array.dtype, array.shape)
                feeds[name] = array
        for call in self.operators:
            results = apply(b, call, named)
            names = call["outputs"]
            if isinstance(names, str):
                named[names] = results
            else:
                found = results if isinstance(results, tuple) else (results,)
                named.update(zip(names, found, strict=True))
        wanted = self.content["graph"]["expectedOutputs"]
        return b.build({name: named[name] for name in wanted}), feeds


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


def tensor(record: Mapping[str, Any]) -> HostArray:
    """Decode a tensor; a single number fills it."""
    dtype, shape = record["descriptor"]["dataType"], record["descriptor"]["shape"]
    data = record["data"]
    if isinstance(data, list):
        return HostArray(dtype, shape, pack([number(item) for item in data], dtype))
    if dtype in FORMATS:
        return HostArray(
            dtype, shape, bytes(memoryview(pack([number(data)], dtype))) * count(shape)
        )
    return HostArray(dtype, shape, pack([number(data)] * count(shape), dtype))


def apply(b: GraphBuilder, call: Mapping[str, Any], named: Mapping[str, Operand]) -> Any:
    """Apply one operator: arguments that name tensors are operands, the others are options."""
    operator = ops.registry()[call["name"]]
    slots = {slot.name: slot for slot in operator.operands}
    operands: list[Any] = []
    options: dict[str, Any] = {}
    for argument in filter(None, call["arguments"]):
        for key, value in argument.items():
            if key == "options":
                for name, item in value.items():
                    options[snake_case(name)] = named[item] if name in slots else option(item)
            elif key in slots or (isinstance(value, str) and value in named):
                several = isinstance(value, list)
                operands.append([named[n] for n in value] if several else named[value])
            else:
                options[snake_case(key)] = option(value)
    options.pop("label", None)
    return b.apply(operator, operands, options)
