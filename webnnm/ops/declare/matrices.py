"""Matrices in rules: transposes, diagonals, and limits on the rows that are written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import show
from webnnm.ops.declare.operator import Slot
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.matmul import transpose_matrices

MATRIX = Slot(name="input", dtypes=FLOAT, ranks=(2, None))
MAX_ROWS = 64
"""Most rows of matrices whose elimination is written out, step by step."""
MAX_ROTATED = 32
"""Most rows of matrices that are rotated plane by plane, which takes n² steps."""


def identity_matrix(b: Builder, n: int) -> Tensor:
    """Return ones on a diagonal of zeros, in float32."""
    return b.constant([float(i == k) for i in range(n) for k in range(n)], "float32", (n, n))


def unit_column(b: Builder, n: int, row: int) -> Tensor:
    """Return a boolean column that is true in one row."""
    return b.constant([int(k == row) for k in range(n)], "uint8", (n, 1))


def total(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Return sums along an axis counted from the end, which keeps size 1."""
    return b.reduce_sum(x, axes=[x.rank + axis], keep_dimensions=True)


def symmetric(b: Builder, x: Tensor) -> Tensor:
    """Return the symmetric part of square matrices."""
    return (x + transpose_matrices(b, x)) * 0.5


def square_infer(x: TensorType, **_: Any) -> TensorType:
    """Infer the type of the operand, which has to be square."""
    check_square(x)
    return x


def check_square(x: TensorType) -> None:
    """Raise NNM404 for matrices that are not square."""
    if x.shape[-1] != x.shape[-2]:
        raise OperatorError("NNM404", f"{show(x.shape)}: the matrices are not square")


def check_rows(x: Tensor, limit: int, what: str) -> None:
    """Raise NNM409 for matrices that are too large to be written out with other operators."""
    n = min(x.shape[-2:]) if what == "qr" else max(x.shape[-2:])
    if n > limit:
        raise OperatorError(
            "NNM409",
            f'"{what}" of {show(x.shape)}: this backend has no such operator, and '
            f"composes it of others for at most {limit} rows",
            'use smaller matrices, or backend("numpy")',
        )


def _with_nan(np: Any, kernel: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Return a kernel's result, NaN for matrices that NumPy refuses, as devices do not raise."""
    try:
        return kernel(x, *others)
    except ValueError:  # numpy.linalg.LinAlgError
        lead, *ends = x.shape[:-2], *x.shape[-2:]
    refused = np.reshape(
        np.asarray([_refuses(kernel, *arrays) for arrays in _one_by_one(np, x, *others)]), lead
    )
    regular = np.where(refused[..., None, None], np.eye(*ends, dtype=x.dtype), x)
    results = kernel(regular, *others)

    def put_nan(y: Any) -> Any:
        where = np.reshape(refused, (*lead, *(1,) * (y.ndim - len(lead))))
        return np.where(where, np.asarray(math.nan, dtype=y.dtype), y)

    return tuple(map(put_nan, results)) if isinstance(results, tuple) else put_nan(results)


def _one_by_one(np: Any, *stacks: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(np.reshape(stack, (-1, *stack.shape[-2:])) for stack in stacks), strict=True)


def _refuses(kernel: Callable[..., Any], *matrices: Any) -> bool:
    try:
        kernel(*matrices)
    except ValueError:
        return True
    return False


def of_halves(np: Any, kernel: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Return a kernel's result for float16 in float32, since NumPy has no factors of float16."""
    if x.dtype != np.float16:
        return _with_nan(np, kernel, x, *others)
    outcome = _with_nan(np, kernel, *(np.astype(array, np.float32) for array in (x, *others)))
    is_tuple = isinstance(outcome, tuple)
    results: tuple[Any, ...] = outcome if is_tuple else (outcome,)
    halves = tuple(np.astype(y, np.float16) for y in results)
    return halves if is_tuple else halves[0]
