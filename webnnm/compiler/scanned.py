"""The plan of a scan: the plans of its three graphs in one, whose middle runs several times."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from webnnm.compiler.plan import Plan, renamed, typed
from webnnm.graph.scan import Scan

Ids = Mapping[str, int]


def scanned(scan: Scan, before: Plan, body: Plan, after: Plan) -> Plan:
    """Return the plan of a scan, given the plans of its rewritten graphs.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.compiler.plan import lower
    >>> b = GraphBuilder()
    >>> before = b.build({"part": b.relu(b.input("data", "float32", [3]))})
    >>> b = GraphBuilder()
    >>> body = b.build({"sum": b.input("sum", "float32", [1]) + b.input("part", "float32", [1])})
    >>> scan = Scan(before, body, GraphBuilder().build({}), 3)
    >>> plan = scanned(scan, *map(lower, (scan.before, scan.body, scan.after)))
    >>> list(plan.inputs), list(plan.outputs)
    (['data', 'sum'], ['sum'])
    >>> plan.content["xs"], plan.content["carry"]
    ([[1, 2, [1]]], [[3, 4]])
    """
    merged = _Merged()
    first = merged.add("before", before, {})
    xs = {name: next(merged.ids) for name in scan.xs if name in body.inputs}
    init = {name: next(merged.ids) for name in scan.carry if name in first}
    own = merged.add("operators", body, {**xs, **init})
    ys = {name: next(merged.ids) for name in scan.ys if name in after.inputs}
    kept = {name: own[name] for name in scan.carry}
    last = merged.add("after", after, {**first, **kept, **ys})
    early, late = scan.outer
    given = {name: first[name] for name in early} | {name: own[name] for name in late} | last
    taken = init | {name: each["id"] for name, each in merged.inputs.items()}
    types = {**before.outputs, **body.outputs, **after.outputs}
    merged.content |= {
        "outputs": [{"name": name, **typed(types[name]), "id": id} for name, id in given.items()],
        "length": scan.length,
        "xs": [[first[name], id, list(body.inputs[name].shape)] for name, id in xs.items()],
        "init": [[first[name], id] for name, id in init.items()],
        "carry": [[taken[name], id] for name, id in kept.items() if name in taken],
        "ys": [[own[name], id] for name, id in ys.items()],
    }
    return Plan(merged.content, bytes(merged.constants))


class _Merged:
    """Merges plans: tensors get new numbers, and inputs of the same name become one."""

    def __init__(self) -> None:
        self.ids = count()
        self.inputs: dict[str, dict[str, Any]] = {}
        self.constants = bytearray()
        self.content: dict[str, Any] = {"constants": []}

    def add(self, part: str, plan: Plan, given: Ids) -> dict[str, int]:
        """Add a plan, of which some inputs are `given`. Return the numbers of its outputs."""
        new: dict[int, int] = {}
        for each in plan.content["inputs"]:
            name = each["name"]
            if name not in given and name not in self.inputs:
                self.inputs[name] = {**each, "id": next(self.ids)}
            new[each["id"]] = given[name] if name in given else self.inputs[name]["id"]
        for each in plan.content["constants"]:
            new[each["id"]] = next(self.ids)
            offset = each["offset"] + len(self.constants)
            self.content["constants"].append({**each, "id": new[each["id"]], "offset": offset})
        self.constants += plan.constants
        calls: list[dict[str, Any]] = []
        for call in plan.content["operators"]:
            new |= {result: next(self.ids) for result in call["results"]}
            calls.append({**renamed(call, new), "results": [new[id] for id in call["results"]]})
        self.content |= {"inputs": list(self.inputs.values()), part: calls}
        return {each["name"]: new[each["id"]] for each in plan.content["outputs"]}
