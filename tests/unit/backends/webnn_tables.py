"""The tables of the WebNN specification: methods, options, data types and ranks (26 June 2026)."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, NamedTuple

from tests.places import SPEC

DATA_TYPES = {
    "float32": 4,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "int8": 1,
    "uint8": 1,
}
"""MLOperandDataType, with the bytes of an element."""
LARGEST = 2**31 - 1
"""The largest valid dimension, which is also that of element counts."""
LARGEST_RANK = 8
"""The rank that these implementations have where the specification allows any."""


class TensorLimits(NamedTuple):
    """A row of a table: what the operand or result may be, and what all implementations have.

    `like` names the operand whose data type it has, "" if it may have each of `allowed`.
    """

    allowed: tuple[str, ...]
    like: str
    ranks: tuple[int, int] | str
    required: tuple[str, ...]
    required_ranks: tuple[int, int]


class Method(NamedTuple):
    """A method of MLGraphBuilder: arguments, members of its options, limits of its tensors."""

    name: str
    arguments: list[dict[str, Any]]
    options: dict[str, dict[str, Any]]
    limits: dict[str, TensorLimits]


@cache
def methods() -> dict[str, Method]:
    """The methods that make operators, by name."""
    listed = json.loads((SPEC / "webnn_ops.json").read_text(encoding="utf-8"))["operators"]
    return {method["name"]: _read(method) for method in listed if method.get("tensorLimits")}


def _read(method: dict[str, Any]) -> Method:
    limits = {_slot(row["operand"]): _limits(row) for row in method["tensorLimits"]}
    if method["name"] == "prelu":  # its row is not closed in the specification, and got lost
        limits["slope"] = limits["input"]._replace(allowed=(), like="input")
    options = {option["name"]: option for option in method["options"]}
    return Method(method["name"], method["args"], options, limits)


def _slot(operand: str) -> str:
    """Return the name that an operand or result has in opSupportLimits()."""
    if result := re.match(r"outputs\[(\d)\]", operand):
        return f"output{result[1]}"
    return operand.removesuffix("[*]")


def _limits(row: dict[str, Any]) -> TensorLimits:
    allowed, ranks = row["allowedDataTypes"], row["allowedRanks"]
    like = ""
    if allowed == "any":
        allowed = [*DATA_TYPES]
    elif isinstance(allowed, str):
        like, allowed = _operand_in(allowed), []
    return TensorLimits(
        tuple(allowed),
        like,
        _operand_in(ranks) if ranks.startswith("same as") else _range(ranks),
        tuple(row["requiredDataTypes"]),
        _range(row["requiredRanks"]),
    )


def _operand_in(text: str) -> str:
    """Return the operand in "same as input" or "same as inputs's list/items"."""
    return text.removeprefix("same as ").split("'")[0]


def _range(text: str) -> tuple[int, int]:
    if text == "N":
        return 0, LARGEST_RANK
    low, _, high = text.partition(" to ")
    return int(low), LARGEST_RANK if high == "N" else int(high or low)


def support_limits(*, required: bool = False) -> dict[str, Any]:
    """Return `opSupportLimits()` of an implementation that has everything that is allowed, or of
    one that has only what the specification requires.
    """
    entries: dict[str, Any] = {"preferredInputLayout": "nchw", "maxTensorByteLength": LARGEST}
    dtypes: set[str] = set()
    for method in methods().values():
        entry = entries[method.name] = {}
        for slot, row in method.limits.items():
            ranks = row.ranks
            while isinstance(ranks, str):
                ranks = method.limits[ranks].ranks
            allowed = row.allowed
            if row.like:
                allowed = method.limits[row.like].allowed
            chosen = row.required if required else allowed
            low, high = row.required_ranks if required else ranks
            entry[slot] = {"dataTypes": [*chosen], "rankRange": {"min": low, "max": high}}
            dtypes |= {*chosen}
    tensors = {
        "dataTypes": [dtype for dtype in DATA_TYPES if dtype in dtypes],
        "rankRange": {"min": 0, "max": 5 if required else LARGEST_RANK},
    }
    return {**entries, "input": tensors, "constant": tensors, "output": tensors}
