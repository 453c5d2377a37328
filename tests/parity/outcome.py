"""What is compared: values drawn for a case, and what an implementation makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.parity.cases import Case
from webnnm import gradients, ops
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder

LIMIT = 1e-5
"""The largest difference, relative to the largest element of the tensor that is expected."""

Arrays = Mapping[int, Any]
"""Arrays by the position of an operand or of a result."""


@dataclass(frozen=True)
class Outcome:
    """The results of an operator and the gradients of Σ weight · result for its float operands."""

    results: Arrays
    gradients: Arrays


def draw_operands(case: Case, seed: int) -> Arrays:
    """Return values for the operands that a case has."""
    rng = np.random.default_rng(seed)
    return {
        index: _draw(rng, shape, case.drawn.get(index, "normal"))
        for index, shape in enumerate(case.shapes)
        if shape is not None
    }


def draw_weights(case: Case, shapes: Sequence[Shape], seed: int) -> Arrays:
    """Return weights for the results of a case, which have these shapes."""
    rng = np.random.default_rng([seed, 1])
    return {index: _draw(rng, shape, case.weights) for index, shape in enumerate(shapes)}


def _draw(rng: np.random.Generator, shape: Shape, kind: str) -> Any:
    if kind == "mask":
        mask = rng.integers(0, 2, shape, dtype=np.uint8)
        mask[..., :2] = 1  # with one key alone its weight is 1, and the gradient all rounding
        return mask
    ranges = {"positive": (0.5, 2), "small": (-0.75, 0.75)}
    if kind in ranges:
        return np.asarray(rng.uniform(*ranges[kind], shape), np.float32)
    return np.asarray(rng.standard_normal(shape, dtype=np.float32))


def compute(case: Case, operands: Arrays, weights: Arrays) -> Outcome:
    """Compute a case with webnnm: its graph and its gradients, on the reference backend."""
    b = GraphBuilder()
    xs = {i: b.input(f"x{i}", x.dtype.name, x.shape) for i, x in operands.items()}
    given = [xs.get(i) for i in range(len(case.shapes))]
    result = b.apply(ops.registry()[case.operator], given, case.options)
    ys = dict(enumerate(result if isinstance(result, tuple) else (result,)))
    terms = [b.reduce_sum(y * b.constant(weights[i], y.dtype)) for i, y in ys.items()]
    floats = {i: x for i, x in xs.items() if is_float(x.dtype)}
    found = gradients(sum(terms[1:], terms[0]), list(floats.values()))
    outputs = {f"y{i}": y for i, y in ys.items()}
    outputs |= {f"g{i}": g for i, g in zip(floats, found, strict=True)}
    arrays = evaluate(b.build(outputs), {f"x{i}": x for i, x in operands.items()})
    return Outcome({i: arrays[f"y{i}"] for i in ys}, {i: arrays[f"g{i}"] for i in floats})


def difference(found: Arrays, expected: Arrays) -> float:
    """Return the largest difference of arrays, each relative to the largest element expected."""
    if shapes(found) != shapes(expected):
        raise AssertionError(f"shapes {shapes(found)}, expected {shapes(expected)}")
    return max((_difference(found[i], expected[i]) for i in expected), default=0.0)


def shapes(arrays: Arrays) -> dict[int, Shape]:
    """Return the shapes of arrays."""
    return {index: array.shape for index, array in arrays.items()}


def _difference(found: Any, expected: Any) -> float:
    wide = np.asarray(expected, np.float64)
    largest = float(np.max(np.abs(wide), initial=0)) or 1.0
    worst = float(np.max(np.abs(found - wide), initial=0)) / largest
    return worst if np.isfinite(worst) else float("inf")
