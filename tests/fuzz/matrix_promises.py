"""What decompositions promise: how far results are from their defining equations.

Factors of a matrix are not unique: signs differ, vectors of equal values turn. So nothing is
compared number by number. Every function here returns the error of a result, relatively to the size
of the matrix, in units of the rounding of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Results = tuple[Any, ...]


def size(x: Any) -> Any:
    """Return the largest singular value of each matrix, in a shape that broadcasts with it."""
    return np.linalg.norm(x, 2, axis=(-2, -1), keepdims=True)


def _across(x: Any) -> Any:
    return np.matrix_transpose(x)


def _scale(error: Any, scale: Any) -> float:
    """Return the largest error, relatively to a scale; none of nothing."""
    return float(np.max(np.abs(error) / np.where(scale == 0, 1, scale), initial=0))


def _orthonormal(q: Any) -> float:
    """Return how far columns are from orthonormal ones."""
    return float(np.max(np.abs(_across(q) @ q - np.eye(q.shape[-1])), initial=0))


def _order(values: Any, scale: Any) -> float:
    """Return how far values are from ascending order."""
    return _scale(np.maximum(-np.diff(values, axis=-1), 0), scale[..., 0])


def singular_values(x: Any, u: Any, s: Any, vh: Any) -> float:
    """A = U·S·Vᴴ with orthonormal U and V, and S sorted, from 0 on."""
    kept = s.shape[-1]
    product = (u[..., :kept] * s[..., None, :]) @ vh[..., :kept, :]
    below = _scale(np.minimum(s, 0), size(x)[..., 0])
    return max(
        *(_scale(product - x, size(x)), _orthonormal(u), _orthonormal(_across(vh))),
        *(_order(s[..., ::-1], size(x)), below),
    )


def triangular_factors(x: Any, q: Any, r: Any) -> float:
    """A = Q·R with orthonormal Q and nothing below the diagonal of R."""
    return max(_scale(q @ r - x, size(x)), _orthonormal(q), _scale(np.tril(r, -1), size(x)))


def eigenvectors(x: Any, values: Any, vectors: Any) -> float:
    """A·V = V·w with orthonormal V, and w ascending."""
    residual = x @ vectors - vectors * values[..., None, :]
    return max(_scale(residual, size(x)), _orthonormal(vectors), _order(values, size(x)))


def lower_factor(x: Any, lower: Any) -> float:
    """A = L·Lᴴ, nothing above the diagonal of L, which is positive."""
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    assert np.all(diagonal > 0), "the diagonal is not positive"
    return max(
        _scale(lower @ _across(lower) - x, size(x)), _scale(np.triu(lower, 1), size(x) ** 0.5)
    )


def solution(x: Any, right: Any, found: Any) -> float:
    """A·x = b, up to what rounding of A alone would change."""
    scale = size(x) * np.max(np.abs(found), axis=(-2, -1), keepdims=True, initial=0)
    return _scale(x @ found - right, scale + np.max(np.abs(right), initial=0))


def determinant(x: Any, found: Any, sign: Any, logarithm: Any) -> float:
    """det A = sign·exp(logarithm), up to what rounding of singular values would change."""
    s = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    assert np.all(np.isin(sign, (-1, 0, 1))), "the sign is none"
    product = np.prod(s, axis=-1)
    # A factor is known up to rounding of the largest one.
    doubt = np.prod(s + s[..., :1], axis=-1) - product if s.shape[-1] else 0 * product
    known = np.linalg.det(x.astype(np.float64))
    errors = np.abs(found - known), np.abs(sign * np.exp(logarithm) - found)
    return float(max(np.max(e / np.where(doubt == 0, 1, doubt), initial=0) for e in errors))


def pseudo_inverse(x: Any, found: Any) -> float:
    """The four conditions of Moore and Penrose, weighed by the condition of the matrix."""
    scale = size(found)
    condition = np.maximum(size(x) * scale, 1)
    return max(
        _scale(x @ found @ x - x, size(x) * condition),
        _scale(found @ x @ found - found, scale * condition),
        *(_scale(p - _across(p), condition**2) for p in (x @ found, found @ x)),
    )


def rank(x: Any, known: Any, found: Any) -> float:
    """The rank is the number of singular values that were not made 0."""
    del x
    return 0.0 if np.array_equal(found, known) else float("inf")


PROMISES: Mapping[str, Callable[..., float]] = {
    "svd": singular_values,
    "qr": triangular_factors,
    "eigh": eigenvectors,
    "cholesky": lower_factor,
    "solve": solution,
    "determinant": determinant,
    "pinv": pseudo_inverse,
    "matrix_rank": rank,
}
