"""Packed parameters in snapshots: their parts as tensors, their packing in the metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.formats.safetensors import StoredTensor, invalid
from webnnm.graph.packing.packed_parameters import read_in_float16
from webnnm.graph.packing.packing import KINDS, Packing
from webnnm.runtime.packed import Packed, placed
from webnnm.runtime.state import ModelState


def packed(
    packings: Mapping[str, Any], tensors: dict[str, StoredTensor | HostArray], state: ModelState
) -> dict[str, Packed]:
    """Remove the parts of packed parameters from tensors by name; return the parameters.

    Raises `DataError` NNM802 if parts are missing or do not fit each other.
    """
    found: dict[str, Packed] = {}
    halves = read_in_float16(state.network)
    for name, given in packings.items():
        try:
            packing = placed(Packing(*given), state.backend, name in halves)
            whole = tensors[f"{name}/whole"].shape
            fits = packing.dtype in KINDS.values() and len(whole) == 2
            if not fits or packing.axis not in (0, 1) or whole[packing.axis] % packing.block:
                raise ValueError(f"{given} of a matrix {whole}")
            parts = {part: tensors.pop(f"{name}/{part}") for part in packing.types(whole)}
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise invalid(f'the parameter "{name}" is not packed correctly: {error!r}') from error
        arrays = {
            part: each if isinstance(each, HostArray) else each.array().copy()
            for part, each in parts.items()
        }
        if {n: (a.dtype, a.shape) for n, a in arrays.items()} != packing.types(whole):
            raise invalid(f'the parts of the parameter "{name}" do not fit each other')
        found[name] = Packed(name, packing, arrays)
    return found
