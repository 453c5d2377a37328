"""Scans: what goes between the three graphs, and the one graph that they make."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.scans import GIVEN, run, scan
from webnnm.compiler.plan import lower
from webnnm.compiler.scanned import merge_scan_plans

np = pytest.importorskip("numpy")


def by_hand(length: int) -> dict[str, Any]:
    """Return the same, step after step."""
    given = {name: np.array(value, "float32") for name, value in GIVEN.items()}
    a, z, total = given["a"], given["z"], float(given["sum"])
    rows = given["table"][1 : 1 + length]
    level = given["level"] + 2 * rows.sum()
    for row in rows:
        total += float((a * row).sum() + given["fixed"].sum())
        a, z = z + row, a * 0.5
    return {
        "place": 1 + length,
        "a": a,
        "z": z,
        "sum": total,
        "least": float((-rows).min()),
        "level": level,
    }


@pytest.mark.parametrize("length", [1, 2, 5])
async def test_a_scan_is_its_body_step_after_step(length: int) -> None:
    expected = {name: np.asarray(value).tolist() for name, value in by_hand(length).items()}
    assert await run(length, "numpy") == [expected] * 2


def test_names_say_what_is_carried_sliced_and_stacked() -> None:
    found = scan(3)
    assert (found.xs, found.carry, found.ys) == (["row"], ["a", "z", "half"], ["seen"])
    assert {name: type.shape for name, type in found.inputs.items()} == {
        "place": (),
        "table": (6, 2),
        "level": (2,),
        "a": (1, 2),
        "z": (1, 2),
        "fixed": (1, 2),
        "sum": (),
    }
    assert list(found.unroll().inputs) == list(found.inputs)


def plan(length: int, label: str = "") -> Any:
    parts = scan(length, label)
    return merge_scan_plans(parts, *map(lower, (parts.before, parts.body, parts.after)))


def test_the_plan_has_the_inputs_and_outputs_of_the_unrolled_graph() -> None:
    found, expected = plan(3), lower(scan(3).unroll())
    assert found.inputs == expected.inputs
    assert found.outputs == expected.outputs


def test_tensors_of_a_plan_have_one_number_each() -> None:
    content = plan(2).content
    calls = [*content["before"], *content["operators"], *content["after"]]
    made = [id for call in calls for id in call["results"]]
    made += [each["id"] for each in (*content["inputs"], *content["constants"])]
    made += [part for _, part, _ in content["xs"]]
    made += [id for part in ("init", "ys") for _, id in content[part]]
    assert sorted(made) == list(range(len(made)))


def test_labels_do_not_change_the_hash_of_a_plan() -> None:
    assert plan(3, "one").json != plan(3, "two").json
    assert plan(3, "one").hash == plan(3, "two").hash
    assert plan(3).hash != plan(4).hash


def test_constants_of_all_parts_lie_where_their_plan_says() -> None:
    found = plan(4)
    values = {
        bytes(found.constants[each["offset"] : each["offset"] + each["length"]])
        for each in found.content["constants"]
    }
    assert values == {
        np.arange(4, dtype="int32").tobytes(),
        np.int32(4).tobytes(),
        np.float32(0.5).tobytes(),
        np.float32(2).tobytes(),
    }
