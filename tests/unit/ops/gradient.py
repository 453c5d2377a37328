"""The gradient check of the specification, part K: analytic gradients against measured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from webnnm import gradients
from webnnm.backends.kernels import Program, computable
from webnnm.backends.reference import Namespace, evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

np = pytest.importorskip("numpy")

LIMIT = 1e-6
STEP = 1e-3
MOST_ELEMENTS = 200


def program(loss: Operand) -> Callable[[Mapping[str, Any]], float]:
    """Return a function of the inputs that computes a scalar in float64."""
    compute = Program(computable(loss.builder.build({"loss": loss})), Namespace(wide=True))

    def run(feeds: Mapping[str, Any]) -> float:
        with np.errstate(all="ignore"):
            return float(compute(feeds)["loss"])

    return run


def functional(builder: GraphBuilder, results: Sequence[Operand], seed: int) -> Operand:
    """Return Σ r·y over all results, with r drawn from U(-1, 1)."""
    rng = np.random.default_rng([seed, 1])
    total: Operand | None = None
    for y in results:
        weights = builder.constant(rng.uniform(-1, 1, y.shape).astype(np.float32), y.dtype)
        term = builder.reduce_sum(y * weights)
        total = term if total is None else total + term
    assert total is not None
    return total


def measure(
    run: Callable[[Any], float], at: Any, seed: int = 0, most: int = MOST_ELEMENTS
) -> tuple[Any, list[int]]:
    """Return central differences with one Richardson step, and the flat indices they stand at."""
    flat = np.reshape(at, (-1,))
    indices = list(range(flat.size))
    if flat.size > most:
        rng = np.random.default_rng([seed, 2])
        indices = sorted(rng.choice(flat.size, most, replace=False).tolist())

    def shift(index: int, by: float) -> float:
        moved = flat.copy()
        moved[index] += by
        return run(np.reshape(moved, np.shape(at)))

    def difference(index: int, h: float) -> float:
        return (shift(index, h) - shift(index, -h)) / (2 * h)

    found = []
    for index in indices:
        h = STEP * max(1.0, abs(flat[index]))
        found.append((4 * difference(index, h / 2) - difference(index, h)) / 3)
    return np.asarray(found), indices


def error(analytic: Any, numeric: Any) -> float:
    """Return the relative error of two gradients."""
    largest = np.max(np.abs(analytic)) + np.max(np.abs(numeric)) + 1e-8
    return float(np.max(np.abs(analytic - numeric)) / largest)


def check_gradients(
    loss: Operand,
    xs: Sequence[Operand],
    feeds: Mapping[str, Any],
    seed: int = 0,
    most: int = MOST_ELEMENTS,
) -> None:
    """Compare the gradients of a scalar with respect to some inputs, `most` elements of each."""
    builder = loss.builder
    analytic = gradients(loss, xs)
    found = evaluate(builder.build({f"g{i}": g for i, g in enumerate(analytic)}), feeds, wide=True)
    forward = program(loss)
    for i, x in enumerate(xs):
        name = x.node.name  # type: ignore[attr-defined]

        def run(value: Any, name: str = name) -> float:
            return forward({**feeds, name: value})

        assert found[f"g{i}"].shape == x.shape
        numeric, indices = measure(run, feeds[name], seed, most)
        reached = error(np.reshape(found[f"g{i}"], (-1,))[indices], numeric)
        assert reached <= LIMIT, f"gradient for {name}: relative error {reached:.2e}"


def check_direction(
    loss: Operand, xs: Sequence[Operand], feeds: Mapping[str, Any], seed: int = 0
) -> None:
    """Compare the gradients of a scalar with its slope along one random direction."""
    builder = loss.builder
    rng = np.random.default_rng([seed, 3])
    names = [x.node.name for x in xs]  # type: ignore[attr-defined]
    direction = {n: rng.uniform(-1, 1, x.shape) for n, x in zip(names, xs, strict=True)}
    forward = program(loss)

    def run(t: Any) -> float:
        moved = {name: feeds[name] + t[0] * direction[name] for name in names}
        return forward({**feeds, **moved})

    analytic = gradients(loss, xs)
    found = evaluate(builder.build({f"g{i}": g for i, g in enumerate(analytic)}), feeds, wide=True)
    slope = sum(float(np.sum(found[f"g{i}"] * direction[n])) for i, n in enumerate(names))
    ((numeric,), _) = measure(run, np.zeros(1), seed)
    apart = abs(slope - numeric) / (abs(slope) + abs(numeric) + 1e-6)
    assert apart <= LIMIT, f"slope {slope}, measured {numeric}: relative error {apart:.2e}"
