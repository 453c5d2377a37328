"""What the targets that check random graphs have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.drawing import CHAINS, GRAPHS, Kind, draw_seeded
from tests.fuzz.frame import Target
from tests.fuzz.graph_case import GraphCase, read_case
from tests.fuzz.shrinking import shrink


def graph_targets(
    name: str, check: Callable[[GraphCase], str | None], examples: int, **more: Any
) -> tuple[Target, ...]:
    """Return two targets: graphs of any operators, and chains of ordering and indexing ones."""
    return (
        graph_target(name, check, examples, **more),
        graph_target(f"{name}-chains", check, examples, CHAINS, **more),
    )


def graph_target(
    name: str,
    check: Callable[[GraphCase], str | None],
    examples: int,
    kind: Kind = GRAPHS,
    **more: Any,
) -> Target:
    """Return a target whose cases are graphs, kept as JSON, and shrunk as graphs are."""
    return Target(
        name=name,
        cases=draw_seeded(kind),
        check=check,
        save=str,
        load=read_case,
        shrink=shrink,
        suffix=".json",
        examples=examples,
        **more,
    )
