"""What comes back from the page is compared as it should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.in_page import Failure, Packed
from tests.browser.jobs import application, difference
from tests.conformance.verdict import as_numpy
from tests.unit.ops.cases import CASES, np
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray

(CASE,) = [case for case in CASES if str(case) == "tanh-0"]
JOB = application(CASE, gradients=True)


def answer(**changes: Callable[[Any], Any]) -> dict[str, Packed]:
    """Return what the reference computes, some of it changed."""
    graph, feeds = JOB.graph()
    found = evaluate(graph, {name: as_numpy(array) for name, array in feeds.items()})
    changed = {name: changes.get(name, lambda x: x)(value) for name, value in found.items()}
    return {name: Packed.of(HostArray.of(value)) for name, value in changed.items()}


def test_the_same_does_not_differ() -> None:
    assert answer().keys() == {"y0", "g0"}
    assert difference(JOB, answer()) == ""


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("y0", lambda y: y * np.float32(1.001)),
        ("y0", lambda y: np.where(y < 0, np.float32("nan"), y)),
        ("y0", lambda y: y.T),
        ("y0", lambda y: y.astype("float16")),
        ("g0", lambda g: g * np.float32(1.001)),
        ("g0", lambda g: g * np.float32("nan")),
        ("g0", lambda g: g + np.float32(1e-3)),
    ],
)
def test_a_change_is_seen(name: str, change: Callable[[Any], Any]) -> None:
    assert difference(JOB, answer(**{name: change})).startswith(f"{name} ")


def test_a_failure_is_told() -> None:
    assert difference(JOB, Failure("it broke", clear=False)) == "it broke"


@pytest.mark.parametrize("value", [[1.5] * 7, [1.0, 2.0], [0.0, -0.0], [[3.0]], 2.0])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_arrays_come_back_as_they_were(value: Any, dtype: Any) -> None:
    array = HostArray.of(value, dtype)
    again = Packed.of(array).array
    assert (again.dtype, again.shape, bytes(again.data)) == (dtype, array.shape, bytes(array.data))


def test_filled_arrays_travel_as_one_element() -> None:
    assert len(Packed.of(HostArray.of([2.0] * 1000)).data) == 4
    assert len(Packed.of(HostArray.of([2] * 9, "uint4")).data) == 5
