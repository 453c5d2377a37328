"""The plan of a scan: the plans of its three graphs in one, whose middle runs several times."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from webnnm.compiler.plan import Plan, describe_type, rename_operands
from webnnm.graph.scan import Scan

Ids = Mapping[str, int]


def merge_scan_plans(scan: Scan, before: Plan, body: Plan, after: Plan) -> Plan:
    """Return the plan of a scan, given the plans of its rewritten graphs.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.compiler.plan import lower
    >>> b = GraphBuilder()
    >>> before = b.build({"part": b.relu(b.input("data", "float32", [3]))})
    >>> b = GraphBuilder()
    >>> body = b.build({"sum": b.input("sum", "float32", [1]) + b.input("part", "float32", [1])})
    >>> scan = Scan(before, body, GraphBuilder().build({}), 3)
    >>> plan = merge_scan_plans(scan, *map(lower, (scan.before, scan.body, scan.after)))
    >>> list(plan.inputs), list(plan.outputs)
    (['data', 'sum'], ['sum'])
    >>> plan.content["xs"], plan.content["carry"]
    ([[1, 2, [1]]], [[3, 4]])
    """
    merger = _PlanMerger()
    before_ids = merger.add("before", before, {})
    xs = {name: next(merger.ids) for name in scan.xs if name in body.inputs}
    init = {name: next(merger.ids) for name in scan.carry if name in before_ids}
    body_ids = merger.add("operators", body, {**xs, **init})
    ys = {name: next(merger.ids) for name in scan.ys if name in after.inputs}
    carry_ids = {name: body_ids[name] for name in scan.carry}
    after_ids = merger.add("after", after, {**before_ids, **carry_ids, **ys})
    before_outputs, body_outputs = scan.outer
    output_ids = (
        {name: before_ids[name] for name in before_outputs}
        | {name: body_ids[name] for name in body_outputs}
        | after_ids
    )
    input_ids = init | {name: tensor["id"] for name, tensor in merger.inputs.items()}
    types = {**before.outputs, **body.outputs, **after.outputs}
    merger.content |= {
        "outputs": [
            {"name": name, **describe_type(types[name]), "id": id}
            for name, id in output_ids.items()
        ],
        "length": scan.length,
        "xs": [[before_ids[name], id, list(body.inputs[name].shape)] for name, id in xs.items()],
        "init": [[before_ids[name], id] for name, id in init.items()],
        "carry": [[input_ids[name], id] for name, id in carry_ids.items() if name in input_ids],
        "ys": [[body_ids[name], id] for name, id in ys.items()],
    }
    return Plan(merger.content, bytes(merger.constants))


class _PlanMerger:
    """Merges plans: tensors get new numbers, and inputs of the same name become one."""

    def __init__(self) -> None:
        self.ids = count()
        self.inputs: dict[str, dict[str, Any]] = {}
        self.constants = bytearray()
        self.content: dict[str, Any] = {"constants": []}

    def add(self, part: str, plan: Plan, known_ids: Ids) -> dict[str, int]:
        """Add a plan, some of whose inputs have numbers already. Return those of its outputs."""
        new_ids: dict[int, int] = {}
        for tensor in plan.content["inputs"]:
            name = tensor["name"]
            if name not in known_ids and name not in self.inputs:
                self.inputs[name] = {**tensor, "id": next(self.ids)}
            new_ids[tensor["id"]] = (
                known_ids[name] if name in known_ids else self.inputs[name]["id"]
            )
        for tensor in plan.content["constants"]:
            new_ids[tensor["id"]] = next(self.ids)
            offset = tensor["offset"] + len(self.constants)
            self.content["constants"].append(
                {**tensor, "id": new_ids[tensor["id"]], "offset": offset}
            )
        self.constants += plan.constants
        calls: list[dict[str, Any]] = []
        for call in plan.content["operators"]:
            new_ids |= {result: next(self.ids) for result in call["results"]}
            calls.append(
                {
                    **rename_operands(call, new_ids),
                    "results": [new_ids[id] for id in call["results"]],
                }
            )
        self.content |= {"inputs": list(self.inputs.values()), part: calls}
        return {tensor["name"]: new_ids[tensor["id"]] for tensor in plan.content["outputs"]}
