"""Inputs of a plan that become constants, with values on the device or on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.compiler.plan import Plan, operands_of, renamed
from webnnm.compiler.rematerialisation import free_number
from webnnm.compiler.traps.constants import MAX_CONSTANT_BYTES, MAX_GRAPH_CONSTANT_BYTES
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import count

Call = dict[str, Any]
SMALL = 16
"""By at least this factor, a product of few rows with a matrix is smaller than the matrix."""


def embed_constants(
    plan: Plan,
    values: Mapping[str, int | HostArray],
    *,
    constant_bytes: int = MAX_CONSTANT_BYTES,
    graph_bytes: int = MAX_GRAPH_CONSTANT_BYTES,
) -> Plan:
    """Return the plan in which inputs are constants: name → handle of a tensor, or an array.

    Inputs that are too large for that stay inputs: `constant_bytes` is the limit of one constant,
    `graph_bytes` that of all in a graph. If few rows are multiplied by the transpose of a
    constant that has other users, the product gets a copy of it: Chromium transposes a constant
    when it builds a graph if it has no other users, else in every run, which takes longer than the
    product.
    """
    content, calls = plan.content, list(plan.content["operators"])
    left = graph_bytes - len(plan.constants)
    inputs: list[Call] = []
    held: list[Call] = []
    beside: list[memoryview[int]] = []
    for given in content["inputs"]:
        length = byte_length(given["dtype"], count(given["shape"]))
        value = values.get(given["name"])
        if value is not None and length <= min(left, constant_bytes):
            if isinstance(value, HostArray):
                place = {"beside": len(beside)}
                beside.append(value.data)
            else:
                place = {"tensor": value}
            held.append({**given, "length": length, **place})
            left -= length
        else:
            inputs.append(given)
    free = free_number(content)
    uses = Counter(id for call in calls for id in operands_of(call))
    transposes = {
        call["operands"][0]: place for place, call in enumerate(calls) if call["op"] == "transpose"
    }
    products = {
        call["operands"][1]: plan.sizes.get(call["results"][0])
        for call in calls
        if call["op"] == "matmul"
    }
    copies: list[Call] = []
    for constant in held:
        id, length = constant["id"], constant["length"]
        if id not in transposes or uses[id] == 1 or length > left:
            continue
        place = transposes[id]
        product = products.get(calls[place]["results"][0])
        if product is not None and product * SMALL <= length:
            calls[place] = renamed(calls[place], {id: free})
            copies.append({**constant, "id": free})
            left, free = left - length, free + 1
    constants = [*content["constants"], *held, *copies]
    changed = {"inputs": inputs, "constants": constants, "operators": calls}
    return replace(plan, content={**content, **changed}, beside=tuple(beside))
