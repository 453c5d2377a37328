"""Types that ONNX allows for an operator, but for which ONNX Runtime has no CPU or wasm kernel.

Each comes with a type that holds all of its values and, for arithmetic, gives the same result once
it is cast back: integers wrap around. Found by running a model of every operator and type on the
wheels 1.23 to 1.32 and on onnxruntime-web 1.30. ONNX Runtime casts float16 itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.formats.onnx.exporting.values import Element

FOUR_BITS: Mapping[Element, Element] = {"int4": "int8", "uint4": "uint8"}
HAVE_FOUR_BITS = frozenset({"Cast", "Transpose"})
"""The only operators with kernels for 4-bit types."""

_BYTES: Mapping[Element, Element] = {"int8": "int32", "uint8": "int32"}
_UNSIGNED: Mapping[Element, Element] = {"uint32": "int64", "uint64": "int64"}

SHORTAGES: Mapping[str, Mapping[Element, Element]] = {
    "ArgMax": {"uint32": "int64"},
    "ArgMin": {"uint32": "int64"},
    "CumSum": _UNSIGNED,
    "Max": _BYTES,
    "Min": _BYTES,
    "ReduceMax": {"uint32": "int64"},
    "ReduceMin": {"uint32": "int64"},
    "ReduceProd": _UNSIGNED,
    "ReduceSum": _UNSIGNED,
    "ReduceSumSquare": _UNSIGNED,
    "Trilu": {**_UNSIGNED, "int32": "int64", "int8": "int64", "uint8": "int64"},
    "Where": {**_UNSIGNED, "int8": "int32"},
}


def stand_in(operator: str, dtype: Element) -> Element:
    """Return the type in which an operator is computed for operands of a type.

    >>> stand_in("Max", "int8"), stand_in("Max", "float32"), stand_in("Add", "uint4")
    ('int32', 'float32', 'uint8')
    """
    if operator not in HAVE_FOUR_BITS:
        dtype = FOUR_BITS.get(dtype, dtype)
    return SHORTAGES.get(operator, {}).get(dtype, dtype)
