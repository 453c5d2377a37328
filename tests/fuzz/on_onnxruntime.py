"""Random graphs on ONNX Runtime, against the reference backend."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.conformance.verdict import as_numpy
from tests.fuzz.executions import difference
from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_promises import showing
from tests.fuzz.graph_target import graph_targets
from webnnm.backends.onnxruntime import OnnxRuntimeBackend
from webnnm.core.errors import WebNNMError

REFUSALS = frozenset({"NNM409", "NNM505", "NNM901"})
"""Too many rows to be written out, what ONNX Runtime lacks, and what ONNX cannot express."""


@cache
def _backend() -> OnnxRuntimeBackend:
    return OnnxRuntimeBackend(threads=1)


def check(case: GraphCase) -> str | None:
    """Run a graph; raise for a wrong number, a crash, or an unclear refusal."""
    case = showing(case)
    graph, feeds = case.graph()
    try:
        found: dict[str, Any] = _backend().compute(graph, feeds)
    except WebNNMError as error:
        if error.code not in REFUSALS:
            raise
        return f"refused {error.code}"
    wrong = difference(graph, {name: as_numpy(array) for name, array in feeds.items()}, found)
    assert not wrong, wrong
    return None


TARGETS = graph_targets("onnxruntime", check, 20)
