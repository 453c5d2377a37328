"""Packed parameters in snapshots: their parts as tensors, their packing in the metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.graph.packing.packed_parameters import read_in_float16
from webnnm.graph.packing.packing import KINDS, Packing
from webnnm.runtime.packed import Packed, place_packing
from webnnm.runtime.state import ModelState
from webnnm.snapshots.safetensors import StoredTensor, invalid


def take_packed(
    packings: Mapping[str, Any], tensors: dict[str, StoredTensor | HostArray], state: ModelState
) -> dict[str, Packed]:
    """Remove the parts of packed parameters from tensors by name; return the parameters.

    Raises `DataError` NNM802 if parts are missing or do not fit each other.
    """
    result: dict[str, Packed] = {}
    halves = read_in_float16(state.network)
    for name, fields in packings.items():
        try:
            packing = place_packing(Packing(*fields), state.backend, name in halves)
            shape = tensors[f"{name}/whole"].shape
            fits = packing.dtype in KINDS.values() and len(shape) == 2
            if not fits or packing.axis not in (0, 1) or shape[packing.axis] % packing.block:
                raise ValueError(f"{fields} of a matrix {shape}")
            parts = {part: tensors.pop(f"{name}/{part}") for part in packing.types(shape)}
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise invalid(f'the parameter "{name}" is not packed correctly: {error!r}') from error
        arrays = {
            part: tensor if isinstance(tensor, HostArray) else tensor.array().copy()
            for part, tensor in parts.items()
        }
        if {n: (a.dtype, a.shape) for n, a in arrays.items()} != packing.types(shape):
            raise invalid(f'the parts of the parameter "{name}" do not fit each other')
        result[name] = Packed(name, packing, arrays)
    return result
