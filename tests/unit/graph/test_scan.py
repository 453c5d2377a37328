"""Scans: what goes between the three graphs, and the one graph that they make."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.scans import GIVEN, run, scan
from webnnm.compiler.plan import lower
from webnnm.compiler.scanned import scanned

np = pytest.importorskip("numpy")


def by_hand(times: int) -> dict[str, Any]:
    """Return the same, run after run."""
    given = {name: np.array(value, "float32") for name, value in GIVEN.items()}
    a, z, total = given["a"], given["z"], float(given["sum"])
    rows = given["table"][1 : 1 + times]
    level = given["level"] + 2 * rows.sum()
    for row in rows:
        total += float((a * row).sum() + given["fixed"].sum())
        a, z = z + row, a * 0.5
    return {
        "place": 1 + times,
        "a": a,
        "z": z,
        "sum": total,
        "least": float((-rows).min()),
        "level": level,
    }


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_scan_is_its_body_run_after_run(times: int) -> None:
    expected = {name: np.asarray(value).tolist() for name, value in by_hand(times).items()}
    assert await run(times, "numpy") == [expected] * 2


def test_names_tell_what_goes_where() -> None:
    found = scan(3)
    assert (found.sliced, found.carried, found.joined) == (["row"], ["a", "z", "half"], ["told"])
    assert {name: type.shape for name, type in found.inputs.items()} == {
        "place": (),
        "table": (6, 2),
        "level": (2,),
        "a": (1, 2),
        "z": (1, 2),
        "fixed": (1, 2),
        "sum": (),
    }
    assert list(found.unrolled().inputs) == list(found.inputs)


def plan(times: int, label: str = "") -> Any:
    parts = scan(times, label)
    return scanned(parts, *map(lower, (parts.before, parts.body, parts.after)))


def test_the_plan_has_the_inputs_and_outputs_of_the_unrolled_graph() -> None:
    found, expected = plan(3), lower(scan(3).unrolled())
    assert found.inputs == expected.inputs
    assert found.outputs == expected.outputs


def test_tensors_of_a_plan_have_one_number_each() -> None:
    content = plan(2).content
    calls = [*content["before"], *content["operators"], *content["after"]]
    made = [id for call in calls for id in call["results"]]
    made += [each["id"] for each in (*content["inputs"], *content["constants"])]
    made += [part for _, part, _ in content["slices"]]
    made += [id for part in ("begun", "joined") for _, id in content[part]]
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
