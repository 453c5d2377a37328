"""Gradients of random graphs, against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.conformance.verdict import as_numpy
from tests.fuzz.drawing import DIFFERENTIABLE
from tests.fuzz.graph_case import GraphCase
from tests.fuzz.graph_target import graph_target
from tests.unit.ops.gradient import program
from webnnm import gradients
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

LIMIT = 1e-4
"""How far a gradient may be from the measured one, relatively to the size of the slopes."""
STEP = 1e-4
ELEMENTS = 3
"""So many elements of each input are measured."""


def check(case: GraphCase) -> str | None:
    """Compare the gradients of the sum of all outputs, weighted at random."""
    graph, feeds = case.graph()
    values = {name: as_numpy(array).astype("float64") for name, array in feeds.items()}
    xs = [o for o in graph.inputs.values() if is_float(o.dtype)]
    loss = _weigh(graph)
    if loss is None or not xs:
        return "constant"
    b = loss.builder
    found = evaluate(
        b.build({f"g{i}": g for i, g in enumerate(gradients(loss, xs))}), values, wide=True
    )
    forward = program(loss)
    compared = 0
    for i, x in enumerate(xs):
        name = x.node.name  # type: ignore[attr-defined]
        rng = np.random.default_rng(i)
        flat = values[name].reshape(-1)
        for place in rng.permutation(flat.size)[:ELEMENTS].tolist():
            slope, doubt = _measure(forward, values, name, place)
            analytic = float(found[f"g{i}"].reshape(-1)[place])
            if not np.isfinite(slope) or doubt > LIMIT * (abs(slope) + 1):
                continue  # a kink, a jump, or a curve too steep to be measured
            compared += 1
            apart = abs(analytic - slope)
            assert apart <= 10 * doubt + LIMIT * (abs(slope) + abs(analytic) + 1e-2), (
                f"the gradient for {name}[{place}] is {analytic}, measured {slope} ± {doubt:.1e}"
            )
    return None if compared else "not measurable"


def _weigh(graph: Graph) -> Operand | None:
    """Return Σ r·y over all outputs of float types, with r drawn from U(−1, 1)."""
    rng = np.random.default_rng(0)
    terms: list[Operand] = []
    for y in graph.outputs.values():
        b: GraphBuilder = y.builder
        if is_float(y.dtype):
            weights = b.constant(rng.uniform(-1, 1, y.shape).astype(np.float32), y.dtype)
            terms.append(b.cast(b.reduce_sum(y * weights), type="float32"))
    return sum(terms[1:], terms[0]) if terms else None


def _measure(
    forward: Callable[[Mapping[str, Any]], float], values: dict[str, Any], name: str, place: int
) -> tuple[float, float]:
    """Return a slope, and how far its estimates of several steps and sides are apart."""

    def at(by: float) -> float:
        moved = values[name].copy()
        moved.reshape(-1)[place] += by
        return forward({**values, name: moved})

    h = STEP * max(1.0, abs(float(values[name].reshape(-1)[place])))
    here = at(0.0)
    sides = {k: (at(k * h), at(-k * h)) for k in (1, 2)}
    central = {k: (up - down) / (2 * k * h) for k, (up, down) in sides.items()}
    # Without a kink the slopes of the two sides differ in proportion to the step.
    bends = {k: (up - 2 * here + down) / (k * h) for k, (up, down) in sides.items()}
    kink = abs(2 * bends[1] - bends[2])
    noise = 1e-15 * (abs(here) + 1) / h
    slope = (4 * central[1] - central[2]) / 3
    return slope, abs(central[1] - central[2]) + kink + noise


TARGET = graph_target("gradients", check, 15, DIFFERENTIABLE)
