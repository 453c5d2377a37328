"""Plans: the numbered, flat form of a graph that crosses to the browser."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from webnnm import GraphBuilder, gradients
from webnnm.compiler.plan import ALIGNMENT, Plan, lower
from webnnm.graph.node import Graph

GOLDEN = Path(__file__).parent / "golden" / "dense_step.json"
HASH = "a97e779d446b71a713f3c0b7daa9ccff988b159158f0285e0bdbbdd4f2283821"


def dense_step(label: str = "dense") -> Graph:
    """A layer, its loss, and its weights after one step of gradient descent."""
    b = GraphBuilder()
    x = b.input("x", "float32", [4, 3])
    b.input("unused", "int32", [7])
    w = b.input("w", "float32", [3, 2])
    with b.place(label):
        y = b.softmax(b.gemm(x, w, c=b.constant([0.5, -0.5]), alpha=2.0), axis=1)
    loss = b.reduce_mean(b.mul(y, y), axes=[0, 1])
    (dw,) = gradients(loss, [w])
    return b.build({"loss": loss, "w'": w - 0.125 * dw})


def call(graph: Graph) -> dict[str, Any]:
    """Return the one operator call of a small graph."""
    (found,) = lower(graph).content["operators"]
    return found


def test_plan_is_the_golden_one() -> None:
    if sys.platform == "emscripten":
        pytest.skip("golden files are not sent into the page")
    assert lower(dense_step()).content == json.loads(GOLDEN.read_text())


def test_hash_is_stable_between_runs_and_machines() -> None:
    assert lower(dense_step()).hash == HASH
    assert lower(dense_step()).hash == HASH


def test_labels_do_not_change_the_hash() -> None:
    plans = [lower(dense_step(label)) for label in ("one", "two")]
    assert plans[0].json != plans[1].json
    assert plans[0].hash == plans[1].hash


def small(scale: Any = 2.0, *, name: str = "x", out: str = "y", op: str = "mul") -> Plan:
    b = GraphBuilder()
    x = b.input(name, "float32", [2])
    return lower(b.build({out: getattr(b, op)(x, scale)}))


def test_everything_else_changes_the_hash() -> None:
    plans = [small(), small(3.0), small(name="z"), small(out="z"), small(op="add")]
    assert len({plan.hash for plan in plans}) == len(plans)


def test_plan_is_json_with_sorted_keys() -> None:
    plan = lower(dense_step())
    assert json.loads(plan.json) == plan.content
    assert plan.json == json.dumps(plan.content, sort_keys=True)


def test_numbers_are_given_once_and_used_after_they_are_made() -> None:
    content = lower(dense_step()).content
    made = [record["id"] for kind in ("inputs", "constants") for record in content[kind]]
    for operator in content["operators"]:
        used = [n for o in operator["operands"] for n in (o if isinstance(o, list) else [o])]
        assert {*used, *operator["references"].values()} <= set(made)
        made += operator["results"]
    assert sorted(made) == list(range(len(made)))
    assert all(output["id"] in made for output in content["outputs"])


def test_constants_lie_in_one_buffer_at_aligned_places() -> None:
    b = GraphBuilder()
    x = b.input("x", "uint8", [3])
    first, second = b.constant([1, 2, 3], "uint8"), b.constant([4, 5, 6], "uint8")
    plan = lower(b.build({"y": (x + first) * second + first}))
    records = plan.content["constants"]
    assert [(r["offset"], r["length"]) for r in records] == [(0, 3), (ALIGNMENT, 3)]
    cut = [plan.constants[r["offset"] : r["offset"] + r["length"]] for r in records]
    assert cut == [b"\x01\x02\x03", b"\x04\x05\x06"]
    assert len(plan.constants) % ALIGNMENT == 0


def test_inputs_that_nothing_uses_are_left_out() -> None:
    plan = lower(dense_step())
    assert list(plan.inputs) == ["x", "w"]
    assert {n: str(t) for n, t in plan.inputs.items()} == {
        "x": "float32[4, 3]",
        "w": "float32[3, 2]",
    }
    assert {n: str(t) for n, t in plan.outputs.items()} == {
        "loss": "float32[]",
        "w'": "float32[3, 2]",
    }


def test_outputs_may_be_inputs_constants_and_the_same_twice() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1])
    y = b.sin(x)
    content = lower(b.build({"a": y, "b": y, "x": x, "c": b.constant(1)})).content
    numbers = {output["name"]: output["id"] for output in content["outputs"]}
    assert numbers["a"] == numbers["b"] == content["operators"][0]["results"][0]
    assert numbers["x"] == content["inputs"][0]["id"]
    assert numbers["c"] == content["constants"][0]["id"]


def test_list_operands_are_lists_of_numbers() -> None:
    b = GraphBuilder()
    x, z = b.input("x", "float32", [2, 1]), b.input("z", "float32", [2, 3])
    found = call(b.build({"y": b.concat([x, z, x], axis=-1)}))
    assert (found["operands"], found["arguments"], found["options"]) == ([[0, 1, 0]], [1], {})


def test_keyword_operands_are_references() -> None:
    b = GraphBuilder()
    x, c = b.input("x", "float32", [2, 2]), b.input("c", "float32", [2])
    found = call(b.build({"y": b.gemm(x, x, c=c, a_transpose=True, beta=0.5)}))
    assert found["operands"] == [0, 0]
    assert found["references"] == {"c": 1}
    assert found["options"] == {"aTranspose": True, "beta": 0.5}
    assert call(b.build({"y": b.gemm(x, x)}))["references"] == {}


def test_defaults_are_left_out_and_positional_values_are_not() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 2])
    found = call(b.build({"y": b.gemm(x, x, alpha=1, beta=1.0, a_transpose=False)}))
    assert found["options"] == {}
    assert call(b.build({"y": b.softmax(x)}))["arguments"] == [1]
    found = call(b.build({"y": b.slice(x, starts=[0, 1], sizes=[2, 1], strides=[2, 1])}))
    assert (found["arguments"], found["options"]) == ([[0, 1], [2, 1]], {"strides": [2, 1]})


@pytest.mark.parametrize(
    ("value", "written"), [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")]
)
def test_numbers_that_json_has_no_word_for(value: float, written: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 2])
    plan = lower(b.build({"y": b.gemm(x, x, alpha=value)}))
    assert plan.content["operators"][0]["options"] == {"alpha": written}
    assert json.loads(plan.json) == plan.content
    assert plan.hash


def test_plan_of_a_long_chain_needs_no_recursion() -> None:
    b = GraphBuilder()
    y = b.input("x", "float32", [])
    for _ in range(5000):
        y = b.sin(y)
    plan = lower(b.build({"y": y}))
    assert len(plan.content["operators"]) == 5000
    assert len(plan.hash) == 64
