"""Decompositions and solvers: array API standard, the extension `linalg`.

>>> from webnnm import xp
>>> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 2.0]))
Array([1.0, 0.5], dtype=float32)

All functions take stacks of matrices. WebNN has no operators for them: graphs compute them in a
number of steps that follows from the shapes, for matrices of up to 64 rows, or 32 for rotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from webnnm.core.shapes import show
from webnnm.eager import elementwise, statistics
from webnnm.eager.array import (
    Array,
    check,
    common_shape,
    convert_dtype,
    empty,
    promote_operands,
    record,
    record_several,
    reshape_to,
)
from webnnm.eager.creation import expand_to, eye, full, zeros
from webnnm.eager.dtypes import DEFAULTS, DType, float_info
from webnnm.eager.elementwise import where
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.linear_algebra import matmul as matmul
from webnnm.eager.linear_algebra import matrix_transpose as matrix_transpose
from webnnm.eager.linear_algebra import tensordot as tensordot
from webnnm.eager.linear_algebra import vecdot as vecdot
from webnnm.eager.manipulation import axis_of, concat, moveaxis, stack

Norm = int | float | Literal["fro", "nuc"]


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Array
    R: Array


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Array
    logabsdet: Array


def _check_matrices(name: str, x: Array, *, square: bool = True) -> None:
    check(name, x, "real floating")
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        what = "square matrices" if square else "matrices"
        raise ArrayValueError(f'"{name}" takes {what}, not {show(x.shape)}')


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the triangular factors L of positive definite matrices L·Lᵀ."""
    _check_matrices("cholesky", x)
    return record(lambda b, a: b.cholesky(a, upper=upper), x) if x.size else x


def inv(x: Array, /) -> Array:
    """Return the inverses of matrices."""
    _check_matrices("inv", x)
    return record(lambda b, a: b.inverse(a), x) if x.size else x


def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solutions of systems of linear equations x1 · x = x2."""
    a, y = promote_operands("solve", x1, x2, "real floating")
    _check_matrices("solve", a)
    vector = y.ndim == 1
    right = reshape_to(y, (*y.shape, 1)) if vector else y
    stack_shape = common_shape(a.shape[:-2], right.shape[:-2])
    shape = (*stack_shape, a.shape[-1], right.shape[-1])
    if not a.size or not right.size:
        return empty(shape[:-1] if vector else shape, a.dtype, a)
    a = expand_to(a, (*stack_shape, *a.shape[-2:]))
    solution = record(lambda b, p, q: b.solve(p, q), a, expand_to(right, shape))
    return reshape_to(solution, shape[:-1]) if vector else solution


def det(x: Array, /) -> Array:
    """Return the determinants of matrices."""
    _check_matrices("det", x)
    if not x.size:
        return full(x.shape[:-2], 1.0, dtype=x.dtype, device=x.device)
    return record(lambda b, a: b.determinant(a), x)


def slogdet(x: Array, /) -> SlogdetResult:
    """Return the signs of determinants and the logarithms of their absolute values."""
    _check_matrices("slogdet", x)
    if not x.size:
        one = full(x.shape[:-2], 1.0, dtype=x.dtype, device=x.device)
        return SlogdetResult(one, one * 0)
    return SlogdetResult(*record_several(lambda b, a: b.slogdet(a), x))


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return orthonormal Q and upper triangular R with Q·R = x."""
    _check_matrices("qr", x, square=False)
    rows, columns = x.shape[-2:]
    if not x.size:
        inner = rows if mode == "complete" else min(rows, columns)
        q = _identities((*x.shape[:-2], rows, inner), x)
        return QRResult(q, zeros((*x.shape[:-2], inner, columns), dtype=x.dtype, device=x.device))
    complete = mode == "complete"
    return QRResult(*record_several(lambda b, a: b.qr(a, complete=complete), x))


def _identities(shape: Sequence[int], like: Array) -> Array:
    return expand_to(eye(*shape[-2:], dtype=like.dtype, device=like.device), tuple(shape))


def eigh(x: Array, /) -> EighResult:
    """Return the eigenvalues of symmetric matrices in ascending order, and their eigenvectors."""
    _check_matrices("eigh", x)
    if not x.size:
        return EighResult(empty(x.shape[:-1], x.dtype, x), x)
    return EighResult(*record_several(lambda b, a: b.eigh(a), x))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of symmetric matrices in ascending order."""
    return eigh(x).eigenvalues


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return U, the singular values S in descending order, and Vᵀ with U·diag(S)·Vᵀ = x."""
    _check_matrices("svd", x, square=False)
    *stacked, rows, columns = x.shape
    if x.size:
        u, s, vh = record_several(lambda b, a: b.svd(a), x)
    else:
        inner = min(rows, columns)
        u = _identities((*stacked, rows, inner), x)
        s = empty((*stacked, inner), x.dtype, x)
        vh = _identities((*stacked, inner, columns), x)
    return (
        SVDResult(_complete_basis(u), s, _complete_basis(vh.mT).mT)
        if full_matrices
        else SVDResult(u, s, vh)
    )


def _complete_basis(x: Array) -> Array:
    """Return orthonormal columns, completed to a basis."""
    rows, columns = x.shape[-2:]
    if rows == columns:
        return x
    if not x.size:
        return _identities((*x.shape[:-1], rows), x)
    return concat([x, qr(x, mode="complete").Q[..., columns:]], axis=-1)


def svdvals(x: Array, /) -> Array:
    """Return the singular values of matrices in descending order."""
    return svd(x, full_matrices=False).S


def _tolerance(x: Array, s: Array, rtol: float | Array | None) -> Array:
    """Return the threshold below which singular values count as 0."""
    relative = max(x.shape[-2:]) * float_info(x.dtype).eps if rtol is None else rtol
    largest = statistics.max(s, axis=-1, keepdims=True)
    if isinstance(relative, Array):
        relative = convert_dtype(reshape_to(relative, (*relative.shape, 1)), x.dtype)
    return largest * relative


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the ranks of matrices: how many singular values are not 0, up to rounding."""
    _check_matrices("matrix_rank", x, square=False)
    if not x.size:
        return zeros(x.shape[:-2], dtype=DEFAULTS["indexing"], device=x.device)
    s = svdvals(x)
    return statistics.count_nonzero(s > _tolerance(x, s, rtol), axis=-1)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose pseudo-inverses of matrices."""
    _check_matrices("pinv", x, square=False)
    if not x.size:
        return empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype, x)
    u, s, vh = svd(x, full_matrices=False)
    kept = s > _tolerance(x, s, rtol)
    inverse = where(kept, 1.0 / where(kept, s, 1.0), 0.0)
    return vh.mT @ (reshape_to(inverse, (*inverse.shape, 1)) * u.mT)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return the n-th powers of matrices, of their inverses for n < 0."""
    _check_matrices("matrix_power", x)
    if not x.size or n == 0:
        return _identities(x.shape, x)
    base = inv(x) if n < 0 else x
    power: Array | None = None
    for bit in bin(abs(n))[:1:-1]:
        if bit == "1":
            power = base if power is None else power @ base
        base = base @ base
    assert power is not None
    return power


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return the norms of vectors along dimensions: (Σ |x|ᵒʳᵈ)^(1/ord)."""
    check("vector_norm", x, "real floating")
    size = elementwise.abs(x)
    along: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == float("inf"):
        return statistics.max(size, **along)
    if ord == float("-inf"):
        return statistics.min(size, **along)
    if ord == 0:
        return convert_dtype(statistics.count_nonzero(x, **along), x.dtype)
    if ord == 1:
        return statistics.sum(size, **along)
    if ord == 2:
        return elementwise.sqrt(statistics.sum(x * x, **along))
    return statistics.sum(size ** float(ord), **along) ** (1.0 / ord)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Norm | None = "fro") -> Array:
    """Return the norms of matrices.

    `ord` is "fro" (the root of the sum of squares), "nuc" (the sum of singular values), ±2 (the
    largest or smallest singular value), ±1 (the largest or smallest sum of absolute values in a
    column) or ±inf (in a row).
    """
    _check_matrices("matrix_norm", x, square=False)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, float("inf"), float("-inf")):
        axis = -2 if abs(float(ord)) == 1 else -1  # pyrefly: ignore[bad-argument-type]
        sums = statistics.sum(elementwise.abs(x), axis=axis)
    elif ord in ("nuc", 2, -2):
        sums = svdvals(x)
    else:
        raise ArrayValueError(f"{ord!r} is not a matrix norm", 'such as "fro", "nuc", 1, 2')
    if ord == "nuc":
        norm = statistics.sum(sums, axis=-1)
    else:
        positive = float(ord) > 0  # pyrefly: ignore[bad-argument-type]
        norm = (statistics.max if positive else statistics.min)(sums, axis=-1)
    return reshape_to(norm, (*norm.shape, 1, 1)) if keepdims else norm


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross products of three-element vectors along a dimension."""
    a, b = promote_operands("cross", x1, x2, "numeric")
    for operand in (a, b):
        axis_of(axis, operand.ndim)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ArrayValueError(f"a cross product takes vectors of 3 elements, not {a.shape[axis]}")
    p, q = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    shape = common_shape(p.shape, q.shape)
    p, q = expand_to(p, shape), expand_to(q, shape)
    parts = [p[..., i] * q[..., j] - p[..., j] * q[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts, axis=-1), -1, axis)


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the outer product of two vectors."""
    a, b = promote_operands("outer", x1, x2, "numeric")
    if a.ndim != 1 or b.ndim != 1:
        raise ArrayValueError("an outer product takes two vectors")
    return reshape_to(a, (a.size, 1)) * reshape_to(b, (1, b.size))


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonals of matrices, above (`offset` > 0) or below the main one."""
    if x.ndim < 2:
        raise ArrayValueError(f"diagonals are taken from matrices, not from {show(x.shape)}")
    rows, columns = x.shape[-2:]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if not size or not x.size:
        return empty((*x.shape[:-2], size), x.dtype, x)
    start = offset if offset >= 0 else -offset * columns
    flat = reshape_to(x, (*x.shape[:-2], rows * columns))
    return flat[..., start : start + (size - 1) * (columns + 1) + 1 : columns + 1]


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sums of diagonals."""
    return statistics.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


__all__ = (
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
)


def __dir__() -> list[str]:
    return [*__all__]
