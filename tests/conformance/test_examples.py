"""The examples of the specification: what valid texts mean, where invalid ones are wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.places import INVALID, SPEC, VALID
from webnnm import ops
from webnnm.compiler.plan import lower
from webnnm.core.errors import WebNNMError
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Operand
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Document, Layers, Reference

EXPECTATION = re.compile(r"# expect (NNM\d{3}) at (\d+):(\d+)")


SPECIFIED: frozenset[str] = frozenset(
    word
    for operator in json.loads((SPEC / "operators.json").read_text("utf-8"))["operators"]
    for word in (operator["name"], *operator["aliases"])
)
"""Every word that the specification knows as an operator."""


def missing_operators(document: Document) -> list[str]:
    """Return the specified operators that a document uses and that the package does not have."""
    blocks = set(document.blocks())
    used = set(_words(document, blocks)) - blocks
    return sorted((used & SPECIFIED) - set(ops.operator_names()))


def _words(document: Document, blocks: set[str]) -> Iterator[str]:
    """Yield what stands as an operator, and what calls bind to operator placeholders."""
    for statement in document.statements:
        for layer in statement.layers if isinstance(statement, Layers) else ():
            yield layer.operator
            for option in layer.options if layer.operator in blocks else ():
                if isinstance(option.value, Reference) and option.value.word is not None:
                    yield option.value.word


def examples(folder: Path) -> list[Any]:
    """Return (name, text) of all examples; those that need a missing operator are to fail."""
    found: list[Any] = []
    for path in sorted(folder.glob("*.nnm")):
        text = path.read_text("utf-8")
        try:
            missing = missing_operators(parse(text))
        except WebNNMError:
            missing = []
        reason = f"needs {', '.join(missing)}"
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if missing else []
        found.append(pytest.param(path.stem, text, id=path.stem, marks=marks))
    assert found
    return found


def port(operand: Operand) -> dict[str, Any]:
    return {"shape": list(operand.shape), "dtype": operand.dtype}


def description(network: Network, batch: int, sequence: dict[str, int]) -> dict[str, Any]:
    """Return what the `.json` beside an example says, as the package finds it."""
    lowered = lower_network(network, batch=batch, sequence=sequence)
    plan = lower(lowered.graph())
    for name, operand in lowered.outputs.items():
        assert plan.outputs[name] == operand.type
    parameters = [
        {"name": p.name, "shape": list(p.features[0].sizes()), "dtype": p.dtype}
        for p in network.parameters
    ]
    learns = {vertex.name: vertex.trainable for vertex in network.parameters}
    trainable = [p for p in parameters if learns[p["name"]]]
    fixed = [p for p in parameters if not learns[p["name"]]]
    found: dict[str, Any] = {
        "batch": batch,
        "inputs": {name: port(operand) for name, operand in lowered.inputs.items()},
        "parameters": trainable,
        "parameterCount": sum(math.prod(p["shape"]) for p in trainable),
        "outputs": {name: port(operand) for name, operand in lowered.outputs.items()},
        "warnings": sorted({warning.code for warning in network.warnings}),
    }
    if sequence:
        found["sequence"] = sequence
    if fixed:
        found["state"] = fixed
    return found


def expected(name: str) -> dict[str, Any]:
    content = json.loads((VALID / f"{name}.json").read_text("utf-8"))
    content["warnings"] = sorted(content["warnings"])
    return content


@pytest.mark.parametrize(("name", "text"), examples(VALID))
def test_valid_example_means_what_its_description_says(name: str, text: str) -> None:
    wanted = expected(name)
    network = elaborate(parse(text))
    assert description(network, wanted["batch"], wanted.get("sequence", {})) == wanted
    order = [list(part) for part in (wanted["inputs"], wanted["outputs"])]
    assert [[v.block for v in network.inputs], [o.name for o in network.outputs]] == order


@pytest.mark.parametrize(("name", "text"), examples(VALID))
def test_formatted_example_means_the_same(name: str, text: str) -> None:
    wanted = expected(name)
    sizes = (wanted["batch"], wanted.get("sequence", {}))
    document = parse(text)
    again = parse(format_document(document))
    assert again == document
    plans = []
    for tree in (document, again):
        lowered = lower_network(elaborate(tree), batch=sizes[0], sequence=sizes[1])
        plans.append(lower(lowered.graph()))
    assert plans[0].json == plans[1].json
    assert plans[0].constants == plans[1].constants
    assert description(elaborate(again), *sizes) == wanted


@pytest.mark.parametrize(("name", "text"), examples(INVALID))
def test_invalid_example_gives_its_code_at_its_place(name: str, text: str) -> None:
    expectation = EXPECTATION.match(text)
    assert expectation, f"{name} does not say what to expect"
    with pytest.raises(WebNNMError) as caught:
        elaborate(parse(text))
    error = caught.value
    place = (expectation[1], int(expectation[2]), int(expectation[3]))
    assert (error.code, error.line, error.column) == place
    assert error.message
