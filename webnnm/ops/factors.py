"""Factors of matrices: qr, eigh, svd, of batches of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.ops.declare import checks
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.functions import in_float32
from webnnm.ops.declare.matrices import (
    MATRIX,
    MAX_ROTATED,
    MAX_ROWS,
    check_rows,
    check_square,
    identity_matrix,
    of_halves,
    symmetric,
    total,
    unit_column,
)
from webnnm.ops.declare.operator import Composite, Option, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.matmul import transpose_matrices

Types = tuple[TensorType, ...]
EPSILON = 2.0**-23
"""The distance from 1 to the next larger float32."""


# Q and R, by reflections as LAPACK makes them.


def _qr(b: Builder, x: Tensor, *, complete: bool) -> tuple[Tensor, Tensor]:
    check_rows(x, MAX_ROWS, "qr")
    (m, n), end = x.shape[-2:], x.rank - 1
    rest = x
    ones = identity_matrix(b, m)
    q = b.expand(ones, new_shape=(*x.shape[:-2], m, m))
    for k in range(min(m - 1, n)):
        column = slice_axis(b, rest, end, k, 1)
        below = b.where(
            b.constant([int(row > k) for row in range(m)], "uint8", (m, 1)), column, 0.0
        )
        head = slice_axis(b, column, end - 1, k, 1)
        length = b.sqrt(total(b, below * below, -2) + head * head)
        pole = head + b.where(b.lesser(head, 0.0), -length, length)
        v = b.where(unit_column(b, m, k), pole, below)
        squares = total(b, v * v, -2)
        # A column that is already finished is not reflected.
        done = b.equal(total(b, b.abs(below), -2), 0.0)
        factor = b.where(done, 0.0, 2.0 / b.where(done, 1.0, squares))
        across = transpose_matrices(b, v)
        rest = rest - v * (factor * b.matmul(across, rest))
        q = q - b.matmul(q, v) * (factor * across)
    rest = b.triangular(rest, upper=True)
    if complete or m <= n:
        return q, rest
    return slice_axis(b, q, end, 0, n), slice_axis(b, rest, end - 1, 0, n)


def _qr_infer(x: TensorType, *, complete: bool) -> Types:
    *lead, m, n = x.shape
    k = m if complete else min(m, n)
    return TensorType(x.dtype, (*lead, m, k)), TensorType(x.dtype, (*lead, k, n))


def _qr_kernel(np: Any, x: Any, *, complete: bool) -> Any:
    def kernel(t: Any) -> Any:
        q, r = np.linalg.qr(t, mode="complete" if complete else "reduced")
        return q, r

    return of_halves(np, kernel, x)


def _qr_gradient(
    b: Builder, g: Sequence[Tensor], y: Sequence[Tensor], x: Tensor, *, complete: bool
) -> list[Tensor]:
    """H.-J. Liao, J.-G. Liu, L. Wang, T. Xiang, Differentiable programming tensor networks (2019).

    The contribution of the columns beyond the rows is added to the gradient of Q.
    """
    (m, n), end = x.shape[-2:], x.rank - 1
    if complete and m > n:
        raise OperatorError(
            "NNM501",
            f"the complete factors of {m} rows and {n} columns have no gradient",
            "use the reduced ones",
        )
    (gq, gr), (q, r) = g, y
    behind = slice_axis(b, gr, end, m, n - m) if n > m else None
    if behind is not None:
        gq = gq + b.matmul(slice_axis(b, x, end, m, n - m), transpose_matrices(b, behind))
        gr, r = (slice_axis(b, t, end, 0, m) for t in (gr, r))
    inner = b.matmul(r, transpose_matrices(b, gr)) - b.matmul(transpose_matrices(b, gq), q)
    lower = b.triangular(inner, upper=False)
    mirrored = lower + transpose_matrices(b, b.triangular(inner, upper=False, diagonal=-1))
    sent = gq + b.matmul(q, mirrored)
    gradient = transpose_matrices(b, b.solve(r, transpose_matrices(b, sent)))
    if behind is not None:
        gradient = b.concat([gradient, b.matmul(q, behind)], axis=end)
    return [gradient]


# Jacobi rotations, for all pairs of a round together.


def _rounds(n: int) -> list[list[int]]:
    """Return the partner of each row for each round: every two rows meet once.

    >>> _rounds(3)
    [[0, 2, 1], [1, 0, 2], [2, 1, 0]]
    """
    size = n + n % 2
    rounds: list[list[int]] = []
    for turn in range(size - 1):
        circle = [0, *((k + turn) % (size - 1) + 1 for k in range(size - 1))]
        partner = [0] * size
        for i, k in zip(circle, reversed(circle), strict=True):
            partner[i] = k
        rounds.append([k if k < n else i for i, k in enumerate(partner[:n])])
    return rounds


def _angles(
    b: Builder, own: Tensor, between: Tensor, partners: Sequence[int], pairs: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines by which rows are rotated with their partners.

    G. H. Golub, C. F. Van Loan, Matrix Computations, 8.5: the smaller angle that makes the product
    of both vanish. Equal rows rotate by 45°; rows without a partner stay.
    """
    n, axis = len(partners), own.rank - 2
    others = b.gather(own, pairs, axis=axis)
    # Rounded apart, partners would turn by two angles: backends add up rows in orders of their own.
    between = (between + b.gather(between, pairs, axis=axis)) * 0.5
    first = b.constant([1.0 if k > i else -1.0 for i, k in enumerate(partners)], "float32", (n, 1))
    paired = b.constant([float(k != i) for i, k in enumerate(partners)], "float32", (n, 1))
    difference = others - own
    way = b.where(b.equal(difference, 0.0), first, b.sign(difference)) * paired
    double = between * 2.0
    long = b.abs(difference) + b.sqrt(difference * difference + double * double)
    tangent = double * way / b.where(b.equal(long, 0.0), 1.0, long)
    cosine = 1.0 / b.sqrt(1.0 + tangent * tangent)
    return cosine, cosine * tangent


def _rotate(b: Builder, x: Tensor, cosine: Tensor, sine: Tensor, partners: Tensor) -> Tensor:
    return x * cosine - b.gather(x, partners, axis=x.rank - 2) * sine


def _sweeps(n: int) -> int:
    """Return how often all pairs are rotated until nothing is left in float64."""
    return 5 + n.bit_length() if n > 1 else 0


def _in_order(b: Builder, keys: Tensor, rows: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    """Return keys, one per row, and rows in the order of the keys."""
    n = keys.shape[-2]
    order = b.argsort(keys, axis=-2, descending=descending)
    chosen = b.equal(order, b.constant([*range(n)], "int32", (1, n)))
    chosen = b.cast(chosen, type="float32")
    return b.sort(keys, axis=-2, descending=descending), b.matmul(chosen, rows)


def _signs(b: Builder, rows: Tensor) -> Tensor:
    """Return −1 for rows whose largest element is negative, else 1."""
    size = b.abs(rows)
    index = b.arg_max(size, axis=rows.rank - 1, keep_dimensions=True)
    numbers = b.constant([*range(rows.shape[-1])], "int32", (1, rows.shape[-1]))
    largest = total(b, b.where(b.equal(index, numbers), rows, 0.0), -1)
    return b.where(b.lesser(largest, 0.0), b.constant(-1.0, "float32"), 1.0)


def _signs_of_columns(np: Any, x: Any) -> Any:
    largest = np.argmax(np.abs(x), axis=-2, keepdims=True)
    negative: Any = np.take_along_axis(x, largest, axis=-2) < 0
    return np.astype(np.where(negative, -1, 1), x.dtype)


# Eigenvalues of symmetric matrices.


def _eigh(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    check_rows(x, MAX_ROTATED, "eigh")
    n = x.shape[-1]
    ones = identity_matrix(b, n)
    rest, vectors = symmetric(b, x), b.expand(ones, new_shape=x.shape)
    for _ in range(_sweeps(n)):
        for partners in _rounds(n):
            places = b.constant(partners, "int32")
            own = total(b, rest * ones, -1)
            pairs = b.gather(ones, places, axis=0)
            angles = _angles(b, own, total(b, rest * pairs, -1), partners, places)
            for _side in range(2):
                rest = transpose_matrices(b, _rotate(b, rest, *angles, places))
            vectors = _rotate(b, vectors, *angles, places)
    values, vectors = _in_order(b, total(b, rest * ones, -1), vectors, False)
    return b.reshape(values, new_shape=x.shape[:-1]), transpose_matrices(
        b, vectors * _signs(b, vectors)
    )


def _eigh_infer(x: TensorType) -> Types:
    check_square(x)
    return TensorType(x.dtype, x.shape[:-1]), x


def _eigh_kernel(np: Any, x: Any) -> Any:
    def kernel(t: Any) -> Any:
        values, vectors = np.linalg.eigh((t + np.matrix_transpose(t)) / 2)
        return values, vectors * _signs_of_columns(np, vectors)

    return of_halves(np, kernel, x)


def _apart(b: Builder, values: Tensor) -> Tensor:
    """Return 1/(values[k] − values[i]) at [i, k], and 0 for equal ones."""
    *lead, n = values.shape
    difference = b.reshape(values, new_shape=(*lead, 1, n)) - b.reshape(
        values, new_shape=(*lead, n, 1)
    )
    equal = b.equal(difference, 0.0)
    return b.where(equal, 0.0, 1.0 / b.where(equal, 1.0, difference))


def _diagonal(b: Builder, values: Tensor) -> Tensor:
    """Return matrices with these numbers on their diagonals."""
    n = values.shape[-1]
    ones = b.constant([float(i == k) for i in range(n) for k in range(n)], values.dtype, (n, n))
    return b.reshape(values, new_shape=(*values.shape, 1)) * ones


def _eigh_gradient(
    b: Builder, g: Sequence[Tensor], y: Sequence[Tensor], _x: Tensor
) -> list[Tensor]:
    """M. B. Giles, Collected matrix derivative results (2008), 3.1; 0 between equal values."""
    values, vectors = y
    across = transpose_matrices(b, vectors)
    inner = _diagonal(b, g[0]) + _apart(b, values) * b.matmul(across, g[1])
    return [symmetric(b, b.matmul(b.matmul(vectors, inner), across))]


# Singular values.


def _svd(b: Builder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """M. R. Hestenes (1958): columns are turned until all are orthogonal."""
    check_rows(x, MAX_ROTATED, "svd")
    m, n = x.shape[-2:]
    if m < n:
        u, values, v = _svd(b, transpose_matrices(b, x))
        return transpose_matrices(b, v), values, transpose_matrices(b, u)
    ones = b.expand(identity_matrix(b, n), new_shape=(*x.shape[:-2], n, n))
    end = x.rank - 1
    rows = b.concat([transpose_matrices(b, x), ones], axis=end)
    for _ in range(_sweeps(n)):
        for partners in _rounds(n):
            places = b.constant(partners, "int32")
            left = slice_axis(b, rows, end, 0, m)
            right = b.gather(left, places, axis=end - 1)
            own = total(b, left * left, -1)
            angles = _angles(b, own, total(b, left * right, -1), partners, places)
            rows = _rotate(b, rows, *angles, places)
    left = slice_axis(b, rows, end, 0, m)
    values, rows = _in_order(b, b.sqrt(total(b, left * left, -1)), rows, True)
    left, right = slice_axis(b, rows, end, 0, m), slice_axis(b, rows, end, m, n)
    # What rounding leaves of linearly dependent columns is not a direction: any vector
    # orthogonal to the others takes their place.
    none = b.lesser_or_equal(values, slice_axis(b, values, end - 1, 0, 1) * (m * EPSILON))
    left = b.where(none, 0.0, left / b.where(none, 1.0, values))
    left = b.where(
        none, transpose_matrices(b, b.qr(transpose_matrices(b, left), complete=False)[0]), left
    )
    signs = _signs(b, left)
    values = b.reshape(values, new_shape=(*x.shape[:-2], n))
    return transpose_matrices(b, left * signs), values, right * signs


def _svd_infer(x: TensorType) -> Types:
    *lead, m, n = x.shape
    k = min(m, n)
    shapes = ((*lead, m, k), (*lead, k), (*lead, k, n))
    return tuple(TensorType(x.dtype, shape) for shape in shapes)


def _svd_kernel(np: Any, x: Any) -> Any:
    def kernel(t: Any) -> Any:
        u, values, v = np.linalg.svd(t, full_matrices=False)
        tall: bool = t.shape[-2] >= t.shape[-1]
        signs = _signs_of_columns(np, u if tall else np.matrix_transpose(v))
        return u * signs, values, v * np.matrix_transpose(signs)

    return of_halves(np, kernel, x)


def _svd_gradient(b: Builder, g: Sequence[Tensor], y: Sequence[Tensor], _x: Tensor) -> list[Tensor]:
    """J. Townsend, Differentiating the singular value decomposition (2016)."""
    (gu, gs, gv), (u, values, v) = g, y
    *lead, k = values.shape
    column = b.reshape(values, new_shape=(*lead, k, 1))
    row = b.reshape(values, new_shape=(*lead, 1, k))
    none = b.equal(values, 0.0)
    inverse = b.where(none, 0.0, 1.0 / b.where(none, 1.0, values))
    inverse_gaps = _apart(b, values * values)
    left = inverse_gaps * b.matmul(transpose_matrices(b, u), gu)
    right = inverse_gaps * b.matmul(v, transpose_matrices(b, gv))
    inner = _diagonal(b, gs) + (left + transpose_matrices(b, left)) * row
    inner = inner + column * (right + transpose_matrices(b, right))
    gradient = b.matmul(b.matmul(u, inner), v)
    if u.shape[-2] > k:
        scaled = gu * b.reshape(inverse, new_shape=(*lead, 1, k))
        gradient = gradient + b.matmul(
            scaled - b.matmul(u, b.matmul(transpose_matrices(b, u), scaled)), v
        )
    if v.shape[-1] > k:
        scaled = gv * b.reshape(inverse, new_shape=(*lead, k, 1))
        rest = scaled - b.matmul(b.matmul(scaled, transpose_matrices(b, v)), v)
        gradient = gradient + b.matmul(u, rest)
    return [gradient]


TALL = ([[2.0, 0.5], [0.25, -1.5], [1.0, 0.75]],)
WIDE = ([[[2.0, 0.5, -1.0], [0.25, -1.5, 1.0]], [[1.0, 0.75, 3.0], [-2.0, 0.25, 0.5]]],)
SYMMETRIC = ([[4.0, 1.0, -0.5], [1.0, 1.0, 0.75], [-0.5, 0.75, -2.0]],)

qr = Composite(
    name="qr",
    summary="orthogonal matrix and upper triangular matrix whose product is the input",
    operands=(MATRIX,),
    options={"complete": Option(False, checks.boolean)},
    decompose=in_float32(_qr),
    infer=_qr_infer,
    gradient=_qr_gradient,
    reference=_qr_kernel,
    native="qr",  # WebNN has no such method: backends detect that and decompose it
    layer=None,
    batch="axes",
    samples=(sample((3, 2), values=TALL), sample((2, 2, 3), values=WIDE, complete=True)),
)
eigh = Composite(
    name="eigh",
    summary="eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns",
    operands=(MATRIX,),
    options={},
    decompose=in_float32(_eigh),
    infer=_eigh_infer,
    gradient=_eigh_gradient,
    reference=_eigh_kernel,
    native="eigh",
    layer=None,
    batch="axes",
    samples=(sample((3, 3), values=SYMMETRIC),),
)
svd = Composite(
    name="svd",
    summary="U, singular values in descending order, and Vᵀ of the reduced decomposition",
    operands=(MATRIX,),
    options={},
    decompose=in_float32(_svd),
    infer=_svd_infer,
    gradient=_svd_gradient,
    reference=_svd_kernel,
    native="svd",
    layer=None,
    batch="axes",
    samples=(sample((3, 2), values=TALL), sample((2, 2, 3), values=WIDE)),
)
