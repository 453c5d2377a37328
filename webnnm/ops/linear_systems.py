"""Linear equations: cholesky, solve, inverse, determinant, slogdet, of batches of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.functions import in_float32
from webnnm.ops.declare.matrices import (
    MATRIX,
    MAX_ROWS,
    check_rows,
    check_square,
    identity_matrix,
    of_halves,
    square_infer,
    symmetric,
    total,
    unit_column,
)
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.matmul import transpose_matrices

# Gradients: M. B. Giles, Collected matrix derivative results for forward and reverse mode
# algorithmic differentiation (2008); I. Murray, Differentiation of the Cholesky decomposition
# (2016).


class _Elimination(NamedTuple):
    """The result of an elimination: the solved right side, the pivots, and 1 for each exchange."""

    right: Tensor
    pivots: list[Tensor]
    exchanged: list[Tensor]


def _eliminate(b: Builder, x: Tensor, right: Tensor, what: str) -> _Elimination:
    """Solve by Gauss–Jordan elimination with the largest pivot of each column."""
    check_rows(x, MAX_ROWS, what)
    n, end = x.shape[-1], x.rank - 1
    rest = b.concat([x, right], axis=end)
    pivots: list[Tensor] = []
    exchanged: list[Tensor] = []
    for k in range(n):
        done = b.constant([int(row < k) for row in range(n)], "uint8", (n, 1))
        size = b.where(done, -1.0, b.abs(slice_axis(b, rest, end, 0, 1)))
        pivot_row = b.arg_max(size, axis=end - 1, keep_dimensions=True)
        rows = b.constant([*range(n)], "int32", (n, 1))
        chosen = b.equal(rows, pivot_row)
        row = total(b, b.where(chosen, rest, 0.0), -2)
        rest = b.where(chosen, slice_axis(b, rest, end - 1, k, 1), rest)
        pivot = slice_axis(b, row, end, 0, 1)
        pivots.append(pivot)
        exchanged.append(b.not_equal(pivot_row, k))
        # A pivot of 0 would make the determinant NaN; solutions are infinite by its row.
        scaled = row / pivot if what != "determinant" else row / _not_zero(b, pivot)
        rest = b.where(unit_column(b, n, k), scaled, rest - slice_axis(b, rest, end, 0, 1) * scaled)
        rest = slice_axis(b, rest, end, 1, rest.shape[-1] - 1)
    return _Elimination(rest, pivots, exchanged)


def _not_zero(b: Builder, x: Tensor) -> Tensor:
    return b.where(b.equal(x, 0.0), 1.0, x)


def _solve(b: Builder, x: Tensor, right: Tensor) -> Tensor:
    lead = broadcast(x.shape[:-2], right.shape[:-2])
    assert lead is not None
    x, right = (b.expand(t, new_shape=(*lead, *t.shape[-2:])) for t in (x, right))
    return _eliminate(b, x, right, "solve").right


def _solve_infer(x: TensorType, right: TensorType) -> TensorType:
    check_square(x)
    lead = broadcast(x.shape[:-2], right.shape[:-2])
    if lead is None or x.shape[-1] != right.shape[-2]:
        raise OperatorError("NNM401", f"{show(x.shape)} and {show(right.shape)} do not fit")
    return TensorType(right.dtype, (*lead, *right.shape[-2:]))


def _solve_kernel(np: Any, x: Any, right: Any) -> Any:
    # Batches broadcast here: a right side of one matrix could be mistaken for vectors.
    lead = np.broadcast_shapes(x.shape[:-2], right.shape[:-2])
    x, right = (np.broadcast_to(t, (*lead, *t.shape[-2:])) for t in (x, right))
    return of_halves(np, np.linalg.solve, x, right)


def _solve_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, _right: Tensor) -> list[Tensor]:
    sent = b.solve(transpose_matrices(b, x), g)
    return [-b.matmul(sent, transpose_matrices(b, y)), sent]


def _inverse(b: Builder, x: Tensor) -> Tensor:
    ones = b.expand(identity_matrix(b, x.shape[-1]), new_shape=x.shape)
    return _eliminate(b, x, ones, "inverse").right


def _inverse_kernel(np: Any, x: Any) -> Any:
    return of_halves(np, np.linalg.inv, x)


def _inverse_gradient(b: Builder, g: Tensor, y: Tensor, _x: Tensor) -> list[Tensor]:
    across = transpose_matrices(b, y)
    return [-b.matmul(b.matmul(across, g), across)]


def _pivots(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the pivots along a last dimension, and the sign of the row exchanges."""
    elimination = _eliminate(b, x, slice_axis(b, x, x.rank - 1, 0, 1) * 0.0, "determinant")
    lead = x.shape[:-2]
    pivots, exchanged = (
        b.reshape(b.concat(size, axis=x.rank - 1), new_shape=(*lead, x.shape[-1]))
        for size in (
            elimination.pivots,
            [b.cast(e, type="float32") for e in elimination.exchanged],
        )
    )
    sign = b.reduce_product(1.0 - 2.0 * exchanged, axes=[x.rank - 2])
    return pivots, sign


def _determinant(b: Builder, x: Tensor) -> Tensor:
    pivots, sign = _pivots(b, x)
    return b.reduce_product(pivots, axes=[x.rank - 2]) * sign


def _determinant_kernel(np: Any, x: Any) -> Any:
    def kernel(t: Any) -> Any:
        return np.asarray(np.linalg.det(t))

    return of_halves(np, kernel, x)


def _determinant_infer(x: TensorType) -> TensorType:
    check_square(x)
    return TensorType(x.dtype, x.shape[:-2])


def _column(b: Builder, x: Tensor) -> Tensor:
    """Return one number per matrix so that it broadcasts against the matrices."""
    return b.reshape(x, new_shape=(*x.shape, 1, 1))


def _determinant_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor) -> list[Tensor]:
    return [_column(b, g * y) * transpose_matrices(b, b.inverse(x))]


def _slogdet(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    pivots, sign = _pivots(b, x)
    axes = [x.rank - 2]
    sign = b.reduce_product(b.sign(pivots), axes=axes) * sign
    return sign, b.reduce_sum(b.log(b.abs(pivots)), axes=axes)


def _slogdet_kernel(np: Any, x: Any) -> Any:
    def kernel(t: Any) -> Any:
        sign, size = np.linalg.slogdet(t)
        return np.asarray(sign), np.asarray(size)

    return of_halves(np, kernel, x)


def _slogdet_infer(x: TensorType) -> tuple[TensorType, TensorType]:
    one = _determinant_infer(x)
    return one, one


def _slogdet_gradient(b: Builder, g: Sequence[Tensor], _y: Any, x: Tensor) -> list[Tensor]:
    return [_column(b, g[1]) * transpose_matrices(b, b.inverse(x))]


def _cholesky(b: Builder, x: Tensor, *, upper: bool) -> Tensor:
    check_rows(x, MAX_ROWS, "cholesky")
    n, end = x.shape[-1], x.rank - 1
    rest = symmetric(b, x)
    columns: list[Tensor] = []
    for k in range(n):
        column = slice_axis(b, rest, end, k, 1)
        below = b.constant([float(row >= k) for row in range(n)], "float32", (n, 1))
        column = column / b.sqrt(slice_axis(b, column, end - 1, k, 1)) * below
        columns.append(column)
        rest = rest - column * transpose_matrices(b, column)
    factor = b.concat(columns, axis=end)
    return transpose_matrices(b, factor) if upper else factor


def _cholesky_kernel(np: Any, x: Any, *, upper: bool) -> Any:
    def kernel(t: Any) -> Any:
        return np.linalg.cholesky((t + np.matrix_transpose(t)) / 2, upper=upper)

    return of_halves(np, kernel, x)


def _cholesky_gradient(
    b: Builder, g: Tensor, y: Tensor, _x: Tensor, *, upper: bool
) -> list[Tensor]:
    lower, sent = (transpose_matrices(b, t) if upper else t for t in (y, g))
    across = transpose_matrices(b, lower)
    inner = b.triangular(b.matmul(across, sent), upper=False)
    n = inner.shape[-1]
    halved = [1.0 - 0.5 * (i == k) for i in range(n) for k in range(n)]
    inner = inner * b.constant(halved, inner.dtype, (n, n))
    left = b.solve(across, inner)
    return [symmetric(b, transpose_matrices(b, b.solve(across, transpose_matrices(b, left))))]


REGULAR = ([[2.0, 0.5, -1.0], [0.25, -1.5, 1.0], [1.0, 0.75, 3.0]],)
EXCHANGED = ([[[0.0, 2.0], [1.5, 1.0]], [[3.0, 1.0], [0.5, -2.0]]],)
DEFINITE = ([[4.0, 1.0, -0.5], [1.0, 3.0, 0.75], [-0.5, 0.75, 2.0]],)

cholesky = Composite(
    name="cholesky",
    summary="triangular matrix whose product with its transpose is the symmetric part of the input",
    operands=(MATRIX,),
    options={"upper": Option(False, checks.boolean)},
    decompose=in_float32(_cholesky),
    infer=square_infer,
    gradient=_cholesky_gradient,
    reference=_cholesky_kernel,
    native="cholesky",  # WebNN has no such method: backends detect that and decompose it
    layer=None,
    batch="axes",
    samples=(
        sample((3, 3), values=DEFINITE),
        sample((2, 2), values=([[3.0, -1.0], [-1.0, 1.0]],), upper=True),
    ),
)
solve = Composite(
    name="solve",
    summary="matrix y with a·y = b; NaN or infinity where a is singular",
    operands=(
        Slot(name="a", dtypes=FLOAT, ranks=(2, None)),
        Slot(name="b", dtypes=FLOAT, ranks=(2, None), like=0),
    ),
    options={},
    decompose=in_float32(_solve),
    infer=_solve_infer,
    gradient=_solve_gradient,
    reference=_solve_kernel,
    native="solve",
    layer=None,
    batch="matrices",
    samples=(
        sample((3, 3), (3, 2), values=REGULAR),
        sample((2, 2, 2), (2, 1), values=EXCHANGED),
    ),
)
inverse = Composite(
    name="inverse",
    summary="inverse matrix; NaN or infinity if there is none",
    operands=(MATRIX,),
    options={},
    decompose=in_float32(_inverse),
    infer=square_infer,
    gradient=_inverse_gradient,
    reference=_inverse_kernel,
    native="inverse",
    layer=None,
    batch="axes",
    samples=(sample((3, 3), values=REGULAR), sample((2, 2, 2), values=EXCHANGED)),
)
determinant = Composite(
    name="determinant",
    summary="determinant of square matrices",
    operands=(MATRIX,),
    options={},
    decompose=in_float32(_determinant),
    infer=_determinant_infer,
    gradient=_determinant_gradient,
    reference=_determinant_kernel,
    native="determinant",
    layer=None,
    batch="axes",
    samples=(sample((3, 3), values=REGULAR), sample((2, 2, 2), values=EXCHANGED)),
)
slogdet = Composite(
    name="slogdet",
    summary="sign of the determinant, and the logarithm of its absolute value",
    operands=(MATRIX,),
    options={},
    decompose=in_float32(_slogdet),
    infer=_slogdet_infer,
    gradient=_slogdet_gradient,
    reference=_slogdet_kernel,
    native="slogdet",
    layer=None,
    batch="axes",
    samples=(sample((3, 3), values=REGULAR), sample((2, 2, 2), values=EXCHANGED)),
)
