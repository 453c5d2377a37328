"""Recompute values instead of keeping them if a graph has too much to keep.

A training step keeps what its forward half computes until the backward half has used it. Here the
forward half is cut into segments: only what later segments need of each is kept, and the rest is
recomputed right before the backward half reaches it. Memory falls towards the square root of the
depth, for at most one additional forward pass.

Source: T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost",
2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from webnnm.compiler.plan import Plan, operands_of, renamed

SEGMENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""The numbers of segments that are tried."""

Call = Mapping[str, Any]


def free_number(content: Mapping[str, Any]) -> int:
    """Return a number such that it and all larger ones are free in a plan."""
    calls = [call for part in ("operators", "before", "after") for call in content.get(part, ())]
    taken = [each["id"] for part in ("inputs", "constants") for each in content[part]]
    return 1 + max([*taken, *(id for call in calls for id in call["results"])], default=-1)


def peak_bytes(plan: Plan) -> int:
    """Return the peak of the bytes of results, each held from its creation to its last use.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.compiler.plan import lower
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [100])
    >>> peak_bytes(lower(b.build({"y": b.relu(b.tanh(b.exp(x)))})))
    800
    """
    return max(_held(plan.content["operators"], plan), default=0)


def rematerialised(plan: Plan) -> Plan:
    """Return a plan that computes the same in less memory, or the given plan if none does."""
    calls: Sequence[Call] = plan.content["operators"]
    held = _held(calls, plan)
    best, least = plan, max(held, default=0)
    # The backward half begins roughly where most is held.
    turn = held.index(least) if held else 0
    for count in SEGMENTS:
        found = _Rewriting(plan, turn, count).written()
        peak = peak_bytes(found)
        if peak < least:
            best, least = found, peak
    return best


def _held(calls: Sequence[Call], plan: Plan) -> list[int]:
    """Return the bytes that are held while each operator runs."""
    sizes = plan.sizes
    last = {id: place for place, call in enumerate(calls) for id in operands_of(call)}
    kept = {output["id"] for output in plan.content["outputs"]}
    found: list[int] = []
    now = 0
    for place, call in enumerate(calls):
        now += sum(sizes[result] for result in call["results"])
        found.append(now)
        gone = {*operands_of(call), *call["results"]} - kept
        now -= sum(sizes[id] for id in gone if id in sizes and last.get(id, place) == place)
    return found


class _Rewriting:
    """Rewrites a plan whose first `turn` operators are cut into `count` segments."""

    def __init__(self, plan: Plan, turn: int, count: int) -> None:
        self._plan, self._turn = plan, turn
        self._calls: Sequence[Call] = plan.content["operators"]
        self._sizes = dict(plan.sizes)
        self._made = {r: place for place, call in enumerate(self._calls) for r in call["results"]}
        content = plan.content
        self._free = free_number(content)
        self._segments = self._cut(count)
        self._kept = {output["id"] for output in content["outputs"]}
        for place, call in enumerate(self._calls[:turn]):
            mine = self._segments[place]
            self._kept.update(
                id
                for id in operands_of(call)
                if id in self._made and self._segments[self._made[id]] < mine
            )
        # The backward half begins with the last segment, so its values still exist.
        self._kept.update(
            id for id, place in self._made.items() if self._segment(place) == count - 1
        )
        self._again: dict[int, int] = {}

    def _cut(self, count: int) -> list[int]:
        """Return the segment of every operator before the turn; segments keep similar sizes."""
        needed = {id for call in self._calls[self._turn :] for id in operands_of(call)}
        sizes = [
            sum(self._sizes[r] for r in call["results"] if r in needed)
            for call in self._calls[: self._turn]
        ]
        total, done = sum(sizes), 0
        found: list[int] = []
        for size in sizes:
            found.append(min(count - 1, done * count // max(1, total)))
            done += size
        return found

    def _segment(self, place: int) -> int | None:
        return self._segments[place] if place < self._turn else None

    def written(self) -> Plan:
        """Return the plan that recomputes values right before they are used."""
        calls: list[Call] = list(self._calls[: self._turn])
        for call in self._calls[self._turn :]:
            calls += [self._copied(place) for place in self._missing(call)]
            calls.append(renamed(call, self._again))
        content = {**self._plan.content, "operators": calls}
        return replace(self._plan, content=content, sizes=self._sizes)

    def _missing(self, call: Call) -> list[int]:
        """Return the operators that have to run again for a given one, in order."""
        found: set[int] = set()
        waiting = operands_of(call)
        while waiting:
            id = waiting.pop()
            place = self._made.get(id, self._turn)
            if place >= self._turn or id in self._kept or id in self._again or place in found:
                continue
            found.add(place)
            waiting += operands_of(self._calls[place])
        return sorted(found)

    def _copied(self, place: int) -> Call:
        call = renamed(self._calls[place], self._again)
        results = list(range(self._free, self._free + len(call["results"])))
        self._free += len(results)
        for old, new in zip(call["results"], results, strict=True):
            self._again[old] = new
            self._sizes[new] = self._sizes[old]
        return {**call, "results": results}
