"""Random graphs on JAX, against the reference backend."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.conformance.verdict import as_numpy
from tests.fuzz.drawing import seeded
from tests.fuzz.executions import difference
from tests.fuzz.frame import Target
from tests.fuzz.graph_case import GraphCase, read_case
from tests.fuzz.shrinking import shrunk
from webnnm.backends.jax import JaxBackend
from webnnm.errors import BackendError


@cache
def _backend() -> JaxBackend:
    return JaxBackend()


def check(case: GraphCase) -> str | None:
    """Run a graph with JAX; raise for a wrong number or any exception that is not a refusal."""
    graph, feeds = case.graph()
    try:
        # What no output needs is not taken.
        used = {name: array for name, array in feeds.items() if name in graph.inputs}
        found: dict[str, Any] = _backend().compute(graph, used)
    except BackendError as error:
        return f"refused {error.code}"
    wrong = difference(graph, {name: as_numpy(array) for name, array in feeds.items()}, found)
    assert not wrong, wrong
    return None


TARGET = Target(
    name="jax",
    cases=seeded(),
    check=check,
    save=str,
    load=read_case,
    shrink=shrunk,
    suffix=".json",
    examples=12,
)
