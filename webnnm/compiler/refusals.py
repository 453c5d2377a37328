"""What is said of graphs that a browser could not run: operators, types, sizes and ranks."""

from __future__ import annotations

from webnnm.compiler.limits import Bounds
from webnnm.core.errors import BackendError
from webnnm.ops.declare.tensors import TensorType


def refuse_operator(name: str) -> BackendError:
    """Return the error for an operator that nothing can stand in for."""
    return BackendError(
        "NNM505",
        f"{name}: this browser's WebNN has no such operator",
        hint='use another operator, a newer browser, or backend("numpy")',
    )


def refuse_type(name: str, dtype: str, bounds: Bounds) -> BackendError:
    """Return the error for an operator on a type that no supported type can stand in for."""
    return BackendError(
        "NNM505",
        f"{name}: this browser's WebNN does not support {dtype} here, only "
        f"{', '.join(bounds.dtypes)}, and none of them can represent all values of {dtype}",
        hint=f"cast to one of these types before this layer, if your values allow it; "
        f'backend("numpy") supports {dtype}',
    )


def refuse_rank(name: str, type: TensorType, limit: str) -> BackendError:
    """Return the error for an operator on a tensor that reshaping does not help."""
    return BackendError(
        "NNM405",
        f"{name}: {type} has {len(type.shape)} dimensions; this browser's WebNN takes {limit} here",
        hint="reshape it before this layer",
    )


def refuse_size(name: str, type: TensorType, max_bytes: int) -> BackendError:
    """Return the error for a tensor that is too large."""
    return BackendError(
        "NNM409",
        f"{name}: {type} takes {type.nbytes} bytes; this browser's WebNN holds at most {max_bytes} "
        "in one tensor",
        hint="use a smaller batch, sequence or layer, or float16",
    )


def refuse_tensor(kind: str, type: TensorType, label: str, bounds: Bounds) -> BackendError:
    """Return the error for an input, a constant or an output of an unsupported type or rank."""
    if type.dtype not in bounds.dtypes:
        return BackendError(
            "NNM505",
            f'the {kind} "{label}" is {type}; this browser\'s WebNN holds '
            f"{', '.join(bounds.dtypes)}",
            hint="give it one of these types",
        )
    low, high = bounds.ranks
    return BackendError(
        "NNM405",
        f'the {kind} "{label}" is {type} with {len(type.shape)} dimensions; this browser\'s WebNN '
        f"holds {low} to {high}",
        hint="reshape it",
    )
