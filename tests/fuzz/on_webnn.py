"""Random graphs on the bundled browser's WebNN, against the reference backend."""

from __future__ import annotations

from tests.browser.in_page import Failure
from tests.conformance.verdict import as_numpy
from tests.fuzz.executions import difference
from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_target import graph_target
from tests.fuzz.page import Browser

BROWSER = Browser()
REFUSALS = frozenset({"NNM405", "NNM409", "NNM505"})
"""What the browser lacks: dimensions, memory, types and operators."""


def check(case: GraphCase) -> str | None:
    """Run a graph in the browser; raise for a wrong number, a crash, or an unclear refusal."""
    graph, feeds = case.graph()
    answer, there = BROWSER.answer(case)
    if not there:
        raise AssertionError("the browser's WebNN process died")
    if isinstance(answer, Failure):
        if answer.clear and answer.code in REFUSALS:
            return f"refused {answer.code}"
        raise AssertionError(answer.text)
    found = {name: as_numpy(packed.array) for name, packed in answer.items()}
    wrong = difference(graph, {name: as_numpy(array) for name, array in feeds.items()}, found)
    assert not wrong, wrong
    return None


TARGET = graph_target("webnn", check, examples=40, browser=True, close=BROWSER.close)
