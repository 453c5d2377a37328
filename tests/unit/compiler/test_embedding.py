"""Inputs of plans that become constants with values on the device or on the host."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import GraphBuilder
from webnnm.compiler.embedding import embed_constants
from webnnm.compiler.plan import Plan, lower
from webnnm.core.arrays import HostArray


def tie(rows: int = 1) -> Plan:
    """Scores of rows of a table against all of its rows, as in language models."""
    b = GraphBuilder()
    table = b.input("table", "float32", [5, 16])
    found = b.gather(table, b.input("ids", "int32", [rows]), axis=0)
    scores = b.matmul(found, b.transpose(table))
    return lower(b.build({"scores": scores * b.input("scale", "float32", [5])}))


def operands(plan: Plan, name: str) -> list[int]:
    return next(call["operands"] for call in plan.content["operators"] if call["op"] == name)


def held(plan: Plan) -> list[dict[str, Any]]:
    return [each for each in plan.content["constants"] if "tensor" in each]


def test_a_constant_that_is_transposed_and_used_is_there_twice() -> None:
    plan = embed_constants(tie(), {"table": 7, "scale": 8})
    assert [*plan.inputs] == ["ids"]
    assert [(each["tensor"], each["length"]) for each in held(plan)] == [
        (7, 320),
        (8, 20),
        (7, 320),
    ]
    ids = [each["id"] for each in held(plan) if each["tensor"] == 7]
    assert sorted(ids) == sorted([operands(plan, "gather")[0], operands(plan, "transpose")[0]])
    made = [id for call in plan.content["operators"] for id in call["results"]]
    assert not {*ids} & {*made}


def test_for_many_rows_it_is_there_once() -> None:
    assert len(held(embed_constants(tie(2), {"table": 7}))) == 1


def test_a_constant_that_is_only_transposed_is_there_once() -> None:
    b = GraphBuilder()
    table = b.input("table", "float32", [5, 3])
    product = b.matmul(b.input("x", "float32", [2, 3]), b.transpose(table))
    assert len(held(embed_constants(lower(b.build({"y": product})), {"table": 7}))) == 1


@pytest.mark.parametrize(
    ("room", "inputs", "copied"),
    [
        (660, [], True),
        (659, [], False),
        (339, ["scale"], False),
        (319, ["table"], False),
        (19, ["table", "scale"], False),
    ],
)
def test_what_is_too_large_stays_an_input(room: int, inputs: list[str], copied: bool) -> None:
    plan = embed_constants(tie(), {"table": 7, "scale": 8}, graph_bytes=room)
    assert [name for name in plan.inputs if name != "ids"] == inputs
    assert (plan.content["operators"] != tie().content["operators"]) == copied


def test_values_on_the_host_lie_beside_the_plan() -> None:
    array = HostArray.of([[1.0] * 16] * 5, "float32")
    plan = embed_constants(tie(), {"table": array, "scale": 8})
    assert plan.beside == (array.data,)
    places = [(each.get("tensor"), each.get("beside")) for each in plan.content["constants"]]
    assert places == [(None, 0), (8, None), (None, 0)]
    assert not plan.constants
