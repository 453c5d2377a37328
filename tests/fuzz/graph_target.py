"""What the targets that check random graphs have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.drawing import seeded
from tests.fuzz.frame import Target
from tests.fuzz.graph_case import GraphCase, read_case
from tests.fuzz.shrinking import shrunk


def graph_target(
    name: str,
    check: Callable[[GraphCase], str | None],
    examples: int,
    *,
    differentiable: bool = False,
    **more: Any,
) -> Target:
    """Return a target whose cases are graphs, kept as JSON, and shrunk as graphs are."""
    return Target(
        name=name,
        cases=seeded(differentiable=differentiable),
        check=check,
        save=str,
        load=read_case,
        shrink=shrunk,
        suffix=".json",
        examples=examples,
        **more,
    )
