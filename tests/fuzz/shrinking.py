"""Smaller graphs with the same fault: outputs left out, steps cut off at their operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.conformance.verdict import as_numpy
from tests.fuzz.graph_case import GraphCase, Leaf, Step, results
from tests.fuzz.smallest import smallest
from webnnm.backends.reference import evaluate


def shrink(case: GraphCase, fails: Callable[[GraphCase], bool]) -> GraphCase:
    """Return a smaller case that fails as well, the smallest that single changes lead to."""
    return smallest(case.prune(), fails, _smaller)


def _smaller(case: GraphCase) -> Iterator[GraphCase]:
    """Yield cases with one thing less, those first that lose most."""
    for number in case.outputs:
        if len(case.outputs) > 1:
            yield replace(case, outputs=(number,)).prune()
    for number in case.outputs:
        if len(case.outputs) > 1:
            yield replace(case, outputs=tuple(n for n in case.outputs if n != number)).prune()
    places = _places(case)
    made = {n: e for n, e in places.items() if isinstance(e[1], Step) and results(e[1]) == 1}
    # An earlier value as the output instead.
    for number in case.outputs:
        step = places[number][1]
        if isinstance(step, Step):
            for operand in step.operands:
                if operand is not None and isinstance(places[operand][1], Step):
                    others = tuple(n for n in case.outputs if n != number)
                    yield replace(case, outputs=tuple({*others, operand})).prune()
    values = _values(case)
    for number, (place, _) in sorted(made.items(), reverse=True):
        if number not in case.outputs and number in values:
            leaf = values[number]
            entries = (*case.entries[:place], leaf, *case.entries[place + 1 :])
            yield replace(case, entries=entries).prune()
    for place, entry in enumerate(case.entries):
        if isinstance(entry, Leaf):
            for simple in _simpler(entry):
                entries = (*case.entries[:place], simple, *case.entries[place + 1 :])
                yield replace(case, entries=entries)


def _places(case: GraphCase) -> dict[int, tuple[int, Any]]:
    found: dict[int, tuple[int, Any]] = {}
    for place, entry in enumerate(case.entries):
        for _ in range(results(entry)):
            found[len(found)] = place, entry
    return found


def _values(case: GraphCase) -> dict[int, Leaf]:
    """Return what every step gives on the reference, as an input."""
    numbers = [n for n, (_, entry) in _places(case).items() if isinstance(entry, Step)]
    try:
        graph, feeds = replace(case, outputs=tuple(numbers)).graph()
        found = evaluate(graph, {name: as_numpy(array) for name, array in feeds.items()})
    except Exception:  # the fault itself
        return {}
    return {
        n: Leaf(o.dtype, o.shape, tuple(found[f"y{n}"].reshape(-1).tolist()))
        for n in numbers
        for o in [graph.outputs[f"y{n}"]]
    }


def _simpler(leaf: Leaf) -> Iterator[Leaf]:
    simple = tuple(k % 3 + 1 for k in range(len(leaf.values)))
    ones = (1,) * len(leaf.values)
    if leaf.constant:
        yield replace(leaf, constant=False)
    if leaf.values not in (ones, simple):
        yield replace(leaf, values=ones)
        yield replace(leaf, values=simple)
