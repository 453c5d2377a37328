"""Products of matrices and vectors: array API standard, "Linear Algebra Functions"."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.shapes import count, show
from webnnm.eager.array import Array, check, matrix_product, promote_operands, reshape_to
from webnnm.eager.errors import ArrayAxisError, ArrayValueError
from webnnm.eager.manipulation import axes_of, moveaxis, permute_dims


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the matrix product; one-dimensional arrays are vectors.

    >>> from webnnm import xp
    >>> xp.matmul(xp.ones((2, 3)), xp.ones(3))
    Array([3.0, 3.0], dtype=float32)
    """
    return matrix_product(x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """Return the transposes of a stack of matrices."""
    return x.mT


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot products of vectors along a dimension."""
    a, b = promote_operands("vecdot", x1, x2, "numeric")
    low = min(a.ndim, b.ndim)
    if not -low <= axis < 0:
        raise ArrayValueError(f"axis {axis} must be one of the last {low}, counted back from −1")
    if a.shape[axis] != b.shape[axis]:
        raise ArrayValueError(f"{show(a.shape)} and {show(b.shape)} have no dot product")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    product = reshape_to(a, (*a.shape[:-1], 1, a.shape[-1])) @ reshape_to(b, (*b.shape, 1))
    return reshape_to(product, product.shape[:-2])


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Return the tensor contraction of two arrays over pairs of dimensions."""
    check("tensordot", x1, "numeric")
    check("tensordot", x2, "numeric")
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ArrayAxisError(
                f"{axes} axes of {show(x1.shape)} and {show(x2.shape)} cannot be contracted"
            )
        first, second = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        first, second = axes_of(tuple(axes[0]), x1.ndim), axes_of(tuple(axes[1]), x2.ndim)
    if [x1.shape[at] for at in first] != [x2.shape[at] for at in second]:
        raise ArrayValueError(
            f"{show(x1.shape)} and {show(x2.shape)} do not contract along these axes"
        )
    rows = [at for at in range(x1.ndim) if at not in first]
    columns = [at for at in range(x2.ndim) if at not in second]
    inner = count(x1.shape[at] for at in first)
    shape = [x1.shape[at] for at in rows], [x2.shape[at] for at in columns]
    left = reshape_to(permute_dims(x1, [*rows, *first]), (count(shape[0]), inner))
    right = reshape_to(permute_dims(x2, [*second, *columns]), (inner, count(shape[1])))
    return reshape_to(left @ right, (*shape[0], *shape[1]))
