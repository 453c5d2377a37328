"""Random graphs on the WebNN of both bundled browsers, against the reference backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.browser.in_page import Failure
from tests.conformance.verdict import as_numpy
from tests.fuzz.executions import difference
from tests.fuzz.frame import Target
from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_promises import showing
from tests.fuzz.graph_target import graph_targets
from tests.fuzz.page import Browser
from tools.common import playwright_config

REFUSALS = frozenset({"NNM405", "NNM409", "NNM505"})
"""What the browser lacks: dimensions, memory, types and operators."""


def check_in(browser: Browser) -> Callable[[GraphCase], str | None]:
    """Return the check that runs a graph in a browser."""

    def check(case: GraphCase) -> str | None:
        """Raise for a wrong number, a crash, or an unclear refusal."""
        case = showing(case)
        graph, feeds = case.graph()
        answer, there = browser.answer(case)
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

    return check


def _on(project: str, examples: int) -> tuple[Target, ...]:
    browser = Browser(project)
    check = check_in(browser)
    more = {"browser": True, "close": browser.close}
    graphs, chains = graph_targets(project, check, examples, **more)
    return replace(graphs, folder="webnn"), replace(chains, folder="webnn-chains")


TARGETS = (*_on("webnn", 40), *_on(playwright_config().SECOND, 20))
