"""Random graphs after all passes and rewrites: the same numbers, on the reference backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.verdict import as_numpy
from tests.fuzz.executions import difference
from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_promises import showing
from tests.fuzz.graph_target import graph_targets
from tests.unit.compiler.legalising import legalise
from webnnm.backends.reference import evaluate
from webnnm.compiler.pipeline import OPTIMISATIONS, Target, run_passes
from webnnm.core.errors import BackendError
from webnnm.ops import registry

LACKING = frozenset({"gelu", "gatherElements", "layerNormalization", "lstm"})
LIMITS: Mapping[str, Any] = {
    **{name: {} for name in registry() if name not in LACKING},
    "preferredInputLayout": "nhwc",
}
"""A backend that has most operators, in every type, and all the traps that are known."""


def check(case: GraphCase) -> str | None:
    """Compare a graph with what the passes make of it."""
    case = showing(case)
    graph, feeds = case.graph()
    values = {name: as_numpy(array) for name, array in feeds.items()}
    changed, _ = run_passes(graph, Target(LIMITS), OPTIMISATIONS)
    wrong = difference(graph, values, evaluate(changed, values))
    assert not wrong, f"after the passes, {wrong}"
    try:
        fitted, _ = legalise(changed, LIMITS)
    except BackendError as error:
        return f"refused {error.code}"
    wrong = difference(graph, values, evaluate(fitted, values))
    assert not wrong, f"rewritten, {wrong}"
    return None


TARGETS = graph_targets("graphs", check, 60)
