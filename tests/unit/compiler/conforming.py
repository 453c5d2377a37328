"""Graphs planned for the WebNN of the specification's text, which accepts the plan or is spared it.

`wide` supports everything that the specification allows and has no bugs, `least` only what it
requires and has all known bugs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.unit.backends.strict_webnn import MLContext, assemble
from tests.unit.backends.webnn_tables import support_limits
from webnnm.compiler.pipeline import Target, compile_plan
from webnnm.compiler.plan import Plan
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.core.errors import BackendError

IMPLEMENTATIONS = ("wide", "least")


@cache
def find_target(name: str) -> Target:
    """Return the limits and bugs of one of the two implementations."""
    if name == "wide":
        return Target(support_limits(), ())
    return Target(support_limits(required=True), ALL_TRAPS)


def plan_conforming(graph: Any, name: str) -> Plan | BackendError:
    """Return a plan that an implementation accepts, or our own refusal.

    Raises `Refusal` where the implementation refuses what we do not.
    """
    target = find_target(name)
    try:
        plan = compile_plan(graph, target).plan
    except BackendError as error:
        return error
    assemble(MLContext(target.limits), plan)
    return plan
