"""Random graphs on JAX as users run them, with all that XLA does for speed."""

from __future__ import annotations

from functools import cache

from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_target import graph_target
from tests.fuzz.on_jax import check_graph
from webnnm.backends.jax import JaxBackend


@cache
def _backend() -> JaxBackend:
    return JaxBackend()


def check(case: GraphCase) -> str | None:
    """Run a graph that was compiled as ever."""
    return check_graph(case, _backend())


TARGET = graph_target("jax_optimised", check, 6)
