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

from webnnm.compiler.plan import Plan, operand_ids, rename_operands

SEGMENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""The numbers of segments that are tried."""

Call = Mapping[str, Any]


def next_free_id(content: Mapping[str, Any]) -> int:
    """Return a number such that it and all larger ones are free in a plan."""
    calls = [call for part in ("operators", "before", "after") for call in content.get(part, ())]
    input_ids = [tensor["id"] for part in ("inputs", "constants") for tensor in content[part]]
    return 1 + max([*input_ids, *(id for call in calls for id in call["results"])], default=-1)


def peak_bytes(plan: Plan) -> int:
    """Return the peak of the bytes of results, each held from its creation to its last use.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.compiler.plan import lower
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [100])
    >>> peak_bytes(lower(b.build({"y": b.relu(b.tanh(b.exp(x)))})))
    800
    """
    return max(_live_bytes(plan.content["operators"], plan), default=0)


def rematerialise(plan: Plan) -> Plan:
    """Return a plan that computes the same in less memory, or the given plan if none does."""
    calls: Sequence[Call] = plan.content["operators"]
    live_bytes = _live_bytes(calls, plan)
    best, lowest_peak = plan, max(live_bytes, default=0)
    # The backward half begins roughly where most is held.
    backward_start = live_bytes.index(lowest_peak) if live_bytes else 0
    for count in SEGMENTS:
        candidate = _Rematerialiser(plan, backward_start, count).rewrite()
        peak = peak_bytes(candidate)
        if peak < lowest_peak:
            best, lowest_peak = candidate, peak
    return best


def _live_bytes(calls: Sequence[Call], plan: Plan) -> list[int]:
    """Return the bytes that are live while each operator runs."""
    sizes = plan.sizes
    last_uses = {id: position for position, call in enumerate(calls) for id in operand_ids(call)}
    output_ids = {output["id"] for output in plan.content["outputs"]}
    live_bytes: list[int] = []
    live = 0
    for position, call in enumerate(calls):
        live += sum(sizes[result] for result in call["results"])
        live_bytes.append(live)
        ids = {*operand_ids(call), *call["results"]} - output_ids
        live -= sum(
            sizes[id] for id in ids if id in sizes and last_uses.get(id, position) == position
        )
    return live_bytes


class _Rematerialiser:
    """Rewrites a plan whose first `backward_start` operators are cut into `count` segments."""

    def __init__(self, plan: Plan, backward_start: int, count: int) -> None:
        self._plan, self._backward_start = plan, backward_start
        self._calls: Sequence[Call] = plan.content["operators"]
        self._sizes = dict(plan.sizes)
        self._producers = {
            r: position for position, call in enumerate(self._calls) for r in call["results"]
        }
        content = plan.content
        self._next_id = next_free_id(content)
        self._segments = self._divide(count)
        self._kept = {output["id"] for output in content["outputs"]}
        for position, call in enumerate(self._calls[:backward_start]):
            segment = self._segments[position]
            self._kept.update(
                id
                for id in operand_ids(call)
                if id in self._producers and self._segments[self._producers[id]] < segment
            )
        # The backward half begins with the last segment, so its values still exist.
        self._kept.update(
            id
            for id, position in self._producers.items()
            if self._segment_of(position) == count - 1
        )
        self._recomputed: dict[int, int] = {}

    def _divide(self, count: int) -> list[int]:
        """Return the segment of every operator of the forward half; segments keep similar sizes."""
        needed = {id for call in self._calls[self._backward_start :] for id in operand_ids(call)}
        sizes = [
            sum(self._sizes[r] for r in call["results"] if r in needed)
            for call in self._calls[: self._backward_start]
        ]
        total, bytes_before = sum(sizes), 0
        segments: list[int] = []
        for size in sizes:
            segments.append(min(count - 1, bytes_before * count // max(1, total)))
            bytes_before += size
        return segments

    def _segment_of(self, position: int) -> int | None:
        return self._segments[position] if position < self._backward_start else None

    def rewrite(self) -> Plan:
        """Return the plan that recomputes values right before they are used."""
        calls: list[Call] = list(self._calls[: self._backward_start])
        for call in self._calls[self._backward_start :]:
            calls += [self._recompute(position) for position in self._find_missing(call)]
            calls.append(rename_operands(call, self._recomputed))
        content = {**self._plan.content, "operators": calls}
        return replace(self._plan, content=content, sizes=self._sizes)

    def _find_missing(self, call: Call) -> list[int]:
        """Return the operators that have to run again for a given one, in order."""
        positions: set[int] = set()
        queue = operand_ids(call)
        while queue:
            id = queue.pop()
            position = self._producers.get(id, self._backward_start)
            if (
                position >= self._backward_start
                or id in self._kept
                or id in self._recomputed
                or position in positions
            ):
                continue
            positions.add(position)
            queue += operand_ids(self._calls[position])
        return sorted(positions)

    def _recompute(self, position: int) -> Call:
        call = rename_operands(self._calls[position], self._recomputed)
        results = list(range(self._next_id, self._next_id + len(call["results"])))
        self._next_id += len(results)
        for old, new in zip(call["results"], results, strict=True):
            self._recomputed[old] = new
            self._sizes[new] = self._sizes[old]
        return {**call, "results": results}
