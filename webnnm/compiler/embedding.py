"""Inputs of a plan that become constants with the values of tensors on the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.compiler.plan import Plan, operands_of, renamed
from webnnm.compiler.traps.constants import MAX_CONSTANT_BYTES, MAX_GRAPH_CONSTANT_BYTES
from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import count

Call = dict[str, Any]


def embedded(plan: Plan, tensors: Mapping[str, int]) -> Plan:
    """Return the plan in which inputs are constants: name → handle of a tensor.

    What is too large for that stays an input. A constant that a transpose and other operators use
    is there once more for the transpose: Chromium transposes a constant when it builds a graph if
    nothing else uses it, and else in every run.
    """
    content, calls = plan.content, list(plan.content["operators"])
    others = [call for part in ("before", "after") for call in content.get(part, ())]
    uses = Counter(id for call in calls for id in operands_of(call))
    transposes = {
        call["operands"][0]: place for place, call in enumerate(calls) if call["op"] == "transpose"
    }
    left = MAX_GRAPH_CONSTANT_BYTES - len(plan.constants)
    free = 1 + max((id for call in (*calls, *others) for id in call["results"]), default=0)
    inputs: list[Call] = []
    constants: list[Call] = list(content["constants"])
    for given in content["inputs"]:
        id, length = given["id"], byte_length(given["dtype"], count(given["shape"]))
        ids = [id, free] if id in transposes and uses[id] > 1 else [id]
        if given["name"] not in tensors or length > min(left // len(ids), MAX_CONSTANT_BYTES):
            inputs.append(given)
            continue
        held = {**given, "length": length, "tensor": tensors[given["name"]]}
        constants += [{**held, "id": each} for each in ids]
        left -= length * len(ids)
        if len(ids) > 1:
            calls[transposes[id]] = renamed(calls[transposes[id]], {id: free})
            free += 1
    changed = {"inputs": inputs, "constants": constants, "operators": calls}
    return replace(plan, content={**content, **changed})
