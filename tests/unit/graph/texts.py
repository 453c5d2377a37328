"""Small model texts and what becomes of them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from webnnm.compiler.plan import Plan, lower
from webnnm.core.errors import WebNNMError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse

MARK = "¦"
"""Stands in a text where an error is expected."""


def model(
    layers: str, *more: str, input: str = "shape=[4]", output: str | None = "shape=[3]"
) -> str:
    """Return a document with one root block and further statements."""
    ports = [f"m:input {input};", *([f"m:output {output};"] if output else [])]
    return "\n".join([*ports, f"m:layers {layers};", *more])


def network(text: str) -> Network:
    return elaborate(parse(text))


def operators(text: str) -> list[str]:
    """Return the operators of the layers in elaboration order."""
    return [layer.operator.name for layer in network(text).layers]


def labels(text: str) -> list[str]:
    return [layer.label for layer in network(text).layers]


def parameters(text: str) -> dict[str, tuple[int, ...]]:
    """Return the parameters in elaboration order with their shapes."""
    return {p.name: p.features[0].sizes() for p in network(text).parameters}


def codes(text: str) -> list[str]:
    """Return the codes of the warnings, in order."""
    return [warning.code for warning in network(text).warnings]


def plan(text: str, batch: int = 1, sequence: Mapping[str, int] | None = None) -> Plan:
    return lower(lower_network(network(text), batch=batch, sequence=sequence).graph())


def calls(text: str, batch: int = 1, sequence: Mapping[str, int] | None = None) -> list[str]:
    """Return the WebNN calls of a model in order, casts with their type."""
    return [
        f"cast {operator['arguments'][0]}" if operator["op"] == "cast" else operator["op"]
        for operator in plan(text, batch, sequence).content["operators"]
    ]


def run(text: str, feeds: Mapping[str, Any], sequence: Mapping[str, int] | None = None) -> Any:
    """Compute the first output by the reference backend; inputs and `param/…` come from `feeds`."""
    pytest.importorskip("numpy")
    from webnnm.backends.reference import evaluate

    batch = len(next(iter(feeds.values())))
    graph = lower_network(network(text), batch=batch, sequence=sequence).graph()
    return next(iter(evaluate(graph, feeds).values())).tolist()


def fails(code: str, marked: str, *, says: str = "", hint: str = "") -> WebNNMError:
    """Elaborate a text that has a mark where it is wrong, and check code, place and words."""
    line, column = 0, 0
    if MARK in marked:
        before = marked[: marked.index(MARK)]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    with pytest.raises(WebNNMError) as caught:
        elaborate(parse(marked.replace(MARK, "")))
    error = caught.value
    assert error.code == code, error
    if line:
        assert (error.line, error.column) == (line, column), error
    assert says in error.message
    assert hint in error.hint
    return error


def names(values: Sequence[Any]) -> list[str]:
    return [value.name for value in values]
