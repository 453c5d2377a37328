"""Graphs of the fuzzer in the page: one context for all, until one of them loses it."""

from __future__ import annotations

from tests.browser.in_page import Answer, Failure, Job, answer, failure
from webnnm.backends.webnn import WebNNBackend

_open: list[WebNNBackend] = []


async def run(job: Job) -> tuple[Answer, bool]:
    """Run a graph on WebNN; return its answer, and whether the context is still there."""
    if not _open:
        _open.append(await WebNNBackend.open())
    try:
        return await answer(_open[0], job), True
    except Exception as error:
        found: Failure = failure(error)
        return found, not found.lost
