"""Factors of matrices and linear equations: what is written out computes what the kernels do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.kernels import computable
from webnnm.backends.reference import evaluate
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import reapply, rewrite
from webnnm.ops import factors, linear_systems
from webnnm.ops.declare.tensors import OperatorError


def results(operator: Any, *operands: Any, wide: bool = False, **options: Any) -> list[Any]:
    """Return what the decomposition of an operator makes of operands."""
    b = GraphBuilder()
    inputs = [b.input(f"x{i}", "float32", x.shape) for i, x in enumerate(operands)]
    made = b.apply(replace(operator, reference=None), inputs, options)
    graph = b.build({f"y{i}": y for i, y in enumerate(made if type(made) is tuple else [made])})
    found = evaluate(graph, {f"x{i}": x for i, x in enumerate(operands)}, wide=wide)
    return [found[name] for name in sorted(found)]


def draw(*shape: int) -> Any:
    return np.random.default_rng(4).normal(size=shape).astype(np.float32)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, atol=2e-5, rtol=2e-4)


def test_equations() -> None:
    x, right = draw(2, 9, 9), draw(9, 3)
    (found,) = results(linear_systems.solve, x, right)
    np.testing.assert_allclose(x @ found, np.broadcast_to(right, (2, 9, 3)), atol=2e-4)
    (inverse,) = results(linear_systems.inverse, x)
    np.testing.assert_allclose(x @ inverse, np.broadcast_to(np.eye(9), x.shape), atol=2e-4)


def test_determinants_of_regular_and_singular_matrices() -> None:
    x = np.stack([draw(5, 5), np.ones((5, 5), np.float32), np.eye(5, dtype=np.float32)[::-1]])
    (found,) = results(linear_systems.determinant, x)
    near(found, np.linalg.det(x))
    sign, size = results(linear_systems.slogdet, x)
    assert sign.tolist() == np.linalg.slogdet(x)[0].tolist()
    assert size[1] == -np.inf
    near(size, np.linalg.slogdet(x)[1])


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(upper: bool) -> None:
    x = draw(2, 6, 6)
    x = x @ np.matrix_transpose(x) + np.eye(6, dtype=np.float32)
    (found,) = results(linear_systems.cholesky, x, upper=upper)
    near(found, np.linalg.cholesky(x, upper=upper))


@pytest.mark.parametrize("shape", [(5, 3), (4, 4), (2, 3, 5), (1, 1)])
@pytest.mark.parametrize("complete", [False, True])
def test_orthogonal_and_triangular_factors(shape: Any, complete: bool) -> None:
    x = draw(*shape)
    expected = np.linalg.qr(x, mode="complete" if complete else "reduced")
    for found, known in zip(results(factors.qr, x, complete=complete), expected, strict=True):
        near(found, known)


def test_eigenvalues_of_symmetric_matrices_also_of_equal_ones() -> None:
    x = draw(2, 7, 7)
    x = np.stack([x[0] + x[0].T, np.diag([1, 2, 2, 0, 0, -1, 1]).astype(np.float32)])
    values, vectors = results(factors.eigh, x)
    near(values, np.linalg.eigvalsh(x))
    near(x @ vectors, vectors * values[:, None, :])
    near(np.matrix_transpose(vectors) @ vectors, np.broadcast_to(np.eye(7), x.shape))


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e6])
@pytest.mark.parametrize("n", [4, 5, 7])
def test_eigenvectors_of_values_of_equal_size_are_orthonormal(n: int, scale: float) -> None:
    """Rounding leaves two sides of the diagonal that differ, where all that is left is rounding."""
    q = np.linalg.qr(draw(n, n))[0]
    signs = np.where(np.arange(n) % 2, 1.0, -1.0).astype(np.float32)
    x = ((q * signs) @ q.T * scale).astype(np.float32)
    values, vectors = results(factors.eigh, x)
    near(values / scale, np.sort(signs))
    near(vectors.T @ vectors, np.eye(n))
    near(x @ vectors / scale, vectors * (values / scale))


@pytest.mark.parametrize("shape", [(6, 4), (2, 3, 5), (4, 4), (1, 3)])
def test_singular_values(shape: Any) -> None:
    x = draw(*shape)
    u, values, v = results(factors.svd, x)
    near(values, np.linalg.svd(x, compute_uv=False))
    near((u * values[..., None, :]) @ v, x)


@pytest.mark.parametrize("operator", [factors.svd, factors.eigh])
def test_factors_are_orthonormal_where_each_row_is_added_up_in_an_order_of_its_own(
    operator: Any,
) -> None:
    """Of rows that are nearly orthogonal, sums of products are what rounding leaves of them."""
    b = GraphBuilder()
    made = b.apply(replace(operator, reference=None), [b.input("x", "float32", [4, 4])], {})
    graph = b.build({f"y{i}": y for i, y in enumerate(made)})
    rng = np.random.default_rng(5)

    def round_by_row(b: GraphBuilder, node: Node) -> Operand | None:
        if not isinstance(node, OperatorNode) or node.operator.name != "reduceSum":
            return None
        y = reapply(b, node, *node.operands)
        assert isinstance(y, Operand)
        return y + b.constant(rng.choice([-1e-7, 0.0, 1e-7], y.shape).astype(np.float32))

    x = np.linalg.qr(draw(4, 4))[0]
    x = x if operator is factors.svd else (x * [1, -1, 1, -1]) @ x.T
    found = evaluate(rewrite(computable(graph), round_by_row), {"x": x.astype(np.float32)})
    factor = found["y2" if operator is factors.svd else "y1"]
    near(factor.T @ factor, np.eye(4))


@pytest.mark.parametrize("shape", [(6, 4), (3, 5), (4, 4)])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_singular_vectors_of_a_lower_rank_are_orthogonal(shape: Any, rank: int) -> None:
    m, n = shape
    x = np.stack([draw(m, rank) @ draw(rank, n), np.outer(np.arange(m), np.ones(n)) * (rank > 0)])
    u, values, v = results(factors.svd, x.astype(np.float32))
    ones = np.broadcast_to(np.eye(min(m, n)), (2, min(m, n), min(m, n)))
    near(np.matrix_transpose(u) @ u, ones)
    near(v @ np.matrix_transpose(v), ones)
    near((u * values[..., None, :]) @ v, x)


def test_sizes_that_do_not_fit_are_refused() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    with pytest.raises(OperatorError, match=r"\[2, 3\]: the matrices are not square"):
        b.inverse(x)
    with pytest.raises(OperatorError, match=r"\[3, 3\] and \[2, 3\] do not fit"):
        b.solve(b.input("a", "float32", [3, 3]), x)
    large = b.input("large", "float32", [65, 65])
    with pytest.raises(OperatorError, match="composes it of others for at most 64 rows"):
        linear_systems.inverse.decompose(b, large)


def test_matrices_without_an_inverse_are_nan_and_leave_the_others_alone() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 2, 2])
    graph = b.build({"inverse": b.inverse(x), "factor": b.cholesky(x), "values": b.svd(x)[1]})
    feeds = {"x": [[[2, 0], [0, 4]], [[1, 1], [1, 1]], [[-1, 0], [0, 1]]]}
    found = evaluate(graph, feeds)
    assert found["inverse"][0].tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert np.isnan(found["inverse"][1]).all()
    assert found["inverse"][2].tolist() == [[-1.0, 0.0], [0.0, 1.0]]
    assert np.isnan(found["factor"][2]).any()
    assert found["values"][0].tolist() == [4.0, 2.0]
