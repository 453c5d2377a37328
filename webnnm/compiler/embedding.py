"""Inputs of a plan that become constants, with values on the device or on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.compiler.plan import Plan, operand_ids, rename_operands
from webnnm.compiler.rematerialisation import next_free_id
from webnnm.compiler.traps.constants import MAX_CONSTANT_BYTES, MAX_GRAPH_CONSTANT_BYTES
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import count

Call = dict[str, Any]
MIN_RATIO = 16
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
    remaining_bytes = graph_bytes - len(plan.constants)
    inputs: list[Call] = []
    embedded: list[Call] = []
    separate_arrays: list[memoryview[int]] = []
    for input in content["inputs"]:
        length = byte_length(input["dtype"], count(input["shape"]))
        source = values.get(input["name"])
        if source is not None and length <= min(remaining_bytes, constant_bytes):
            if isinstance(source, HostArray):
                location = {"beside": len(separate_arrays)}
                separate_arrays.append(source.data)
            else:
                location = {"tensor": source}
            embedded.append({**input, "length": length, **location})
            remaining_bytes -= length
        else:
            inputs.append(input)
    next_id = next_free_id(content)
    uses = Counter(id for call in calls for id in operand_ids(call))
    transposes = {
        call["operands"][0]: position
        for position, call in enumerate(calls)
        if call["op"] == "transpose"
    }
    products = {
        call["operands"][1]: plan.sizes.get(call["results"][0])
        for call in calls
        if call["op"] == "matmul"
    }
    copies: list[Call] = []
    for constant in embedded:
        id, length = constant["id"], constant["length"]
        if id not in transposes or uses[id] == 1 or length > remaining_bytes:
            continue
        position = transposes[id]
        product = products.get(calls[position]["results"][0])
        if product is not None and product * MIN_RATIO <= length:
            calls[position] = rename_operands(calls[position], {id: next_id})
            copies.append({**constant, "id": next_id})
            remaining_bytes, next_id = remaining_bytes - length, next_id + 1
    constants = [*content["constants"], *embedded, *copies]
    changes = {"inputs": inputs, "constants": constants, "operators": calls}
    return replace(plan, content={**content, **changes}, beside=tuple(separate_arrays))
