"""Decompositions of matrices of every kind, held to what they promise.

Each is computed twice: by NumPy's kernel, and written out in operators, as WebNN computes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.dice import Dice
from tests.fuzz.frame import Target
from tests.fuzz.matrix_promises import PROMISES
from webnnm import GraphBuilder, backend, xp
from webnnm.backends.reference import evaluate
from webnnm.eager.device import Device
from webnnm.ops import factors, linear_systems

LIMIT = 60
"""How many roundings of the type, for each row, the error of a result may be."""
MOST = 8
SQUARE = frozenset({"eigh", "cholesky", "solve", "determinant"})
SINGULAR = frozenset({"svd", "qr", "eigh", "determinant", "matrix_rank"})
"""Functions of matrices that need not be regular."""


@dataclass(frozen=True)
class MatrixCase:
    """A function, and the matrices that it takes."""

    function: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[float, ...]
    rank: int
    """The rank of every matrix."""

    def matrix(self) -> Any:
        """Return the matrices."""
        return np.asarray(self.values, self.dtype).reshape(self.shape)

    def __str__(self) -> str:
        return json.dumps(vars(self)) + "\n"


def read_matrix(text: str) -> MatrixCase:
    """Read what `str` of a case writes."""
    found = json.loads(text)
    return MatrixCase(**{**found, "shape": tuple(found["shape"]), "values": tuple(found["values"])})


def matrices(seed: int) -> MatrixCase:
    """Draw matrices with singular values that are equal, far apart, or 0."""
    dice, rng = Dice(seed), np.random.default_rng(seed)
    function = dice.one([*PROMISES])
    rows = dice.number(1, MOST)
    columns = rows if function in SQUARE else dice.number(1, MOST)
    stack = tuple(dice.one(([], [2], [2, 2], [1])))
    small = min(rows, columns)
    rank = dice.number(0, small) if function in SINGULAR and dice.coin() else small
    spread = dice.one((0, 0, 1, 3))
    values = 10.0 ** rng.uniform(-spread / 2, spread / 2, small)
    if dice.chance(3):
        values = np.full(small, 1.0)
    values[rank:] = 0
    # Determinants of large or small matrices are infinite or 0 in float32.
    values *= dice.one((1.0, 0.5, 3.0) if function == "determinant" else (1.0, 1.0, 1e-8, 1e6))
    x = np.zeros((*stack, rows, columns))
    for place in np.ndindex(*stack):
        left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (rows, columns))
        right = left.T if function in ("eigh", "cholesky") else right
        signs = rng.choice([-1.0, 1.0], small) if function == "eigh" else 1.0
        x[place] = (left[:, :small] * (values * signs)) @ right[:small]
        if dice.chance(6) and rows == columns:  # a diagonal, most of whose products are exact
            x[place] = np.diag(dice.shuffle((values * signs).tolist()))
    if function in ("eigh", "cholesky"):
        x = (x + np.matrix_transpose(x)) / 2
    dtype = dice.one(("float32", "float64"))
    return MatrixCase(function, dtype, x.shape, tuple(x.astype(dtype).reshape(-1).tolist()), rank)


def _right(x: Any) -> Any:
    return np.random.default_rng(x.size).normal(size=(*x.shape[:-1], 2)).astype(x.dtype)


def _by_arrays(case: MatrixCase, x: Any) -> list[Any]:
    """Return what functions of arrays make of a matrix, one list of results for each way."""
    a, function = xp.asarray(x, dtype=getattr(xp, case.dtype)), case.function
    if function == "svd":
        whole, short = xp.linalg.svd(a), xp.linalg.svd(a, full_matrices=False)
        values = xp.linalg.svdvals(a)
        return [whole, short, (short.U, values, short.Vh)]
    if function == "qr":
        return [xp.linalg.qr(a), xp.linalg.qr(a, mode="complete")]
    if function == "eigh":
        found = xp.linalg.eigh(a)
        return [found, (xp.linalg.eigvalsh(a), found.eigenvectors)]
    if function == "cholesky":
        upper = xp.linalg.cholesky(a, upper=True)
        return [(xp.linalg.cholesky(a),), (upper.mT,)]
    if function == "solve":
        right = xp.asarray(_right(x), dtype=a.dtype)
        return [(right, xp.linalg.solve(a, right)), (right, xp.linalg.inv(a) @ right)]
    if function == "determinant":
        return [(xp.linalg.det(a), *xp.linalg.slogdet(a))]
    if function == "pinv":
        return [(xp.linalg.pinv(a),)]
    known = xp.full(x.shape[:-2], case.rank)
    return [(known, xp.linalg.matrix_rank(a))]


def _write(operator: Any, x: Any, *others: Any, **options: Any) -> list[Any]:
    """Return what an operator computes where no kernel does."""
    b = GraphBuilder()
    operands = [x, *others]
    inputs = [b.input(f"x{i}", "float32", each.shape) for i, each in enumerate(operands)]
    made = b.apply(replace(operator, reference=None), inputs, options)
    outputs = made if isinstance(made, tuple) else (made,)
    graph = b.build({f"y{i}": y for i, y in enumerate(outputs)})
    found = evaluate(graph, {f"x{i}": each for i, each in enumerate(operands)})
    return [found[f"y{i}"] for i in range(len(outputs))]


def _compose(x: Any) -> Mapping[str, Callable[[], list[Any]]]:
    """Return the results of what is written out in operators, by function."""
    return {
        "svd": lambda: _write(factors.svd, x),
        "qr": lambda: _write(factors.qr, x, complete=True),
        "eigh": lambda: _write(factors.eigh, x),
        "cholesky": lambda: _write(linear_systems.cholesky, x, upper=False),
        "solve": lambda: [_right(x), *_write(linear_systems.solve, x, _right(x))],
        "determinant": lambda: [
            *_write(linear_systems.determinant, x),
            *_write(linear_systems.slogdet, x),
        ],
    }


def check(case: MatrixCase) -> str | None:
    """Check that results keep their promises, by kernels and written out."""
    before, device = Device.default(), Device(partial(backend, "numpy"))
    device.make_default()
    try:
        x = case.matrix()
        for results in _by_arrays(case, x):
            _hold(case, x, [np.asarray(each) for each in results])
    finally:
        before.make_default()
        device.close()
    composed = _compose(x).get(case.function)
    if composed is not None and case.dtype == "float32":
        with np.errstate(all="ignore"):
            _hold(case, x, composed())
    return case.function


def _hold(case: MatrixCase, x: Any, results: list[Any]) -> None:
    """Raise an error for results that are further off than rounding explains."""
    wide = [np.asarray(each, np.float64) for each in results]
    error = PROMISES[case.function](x.astype(np.float64), *wide)
    limit = LIMIT * max(x.shape[-2:]) * float(np.finfo(case.dtype).eps)
    assert error <= limit, f"{case.function} of {x.shape} is off by {error:.1e}, not {limit:.1e}"


TARGET = Target(
    name="matrices",
    cases=st.integers(0, 2**40).map(matrices),
    check=check,
    save=str,
    load=read_matrix,
    suffix=".json",
    examples=40,
)
