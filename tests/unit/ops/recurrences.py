"""Recurrent operators written out, and arrays for them."""

from __future__ import annotations

from typing import Any

from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate

STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 2, 5


def draw(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def build(name: str, arrays: dict[str, Any], **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return the graph of an operator, the first arrays as operands, and the values to run it."""
    b = GraphBuilder()
    xs = {key: b.input(key, "float32", array.shape) for key, array in arrays.items()}
    required = {"gru": 3, "gru_cell": 4, "lstm": 3, "lstm_cell": 5}[name]
    operands = list(xs.values())[:required]
    named = dict(list(xs.items())[required:])
    result = getattr(b, name)(*operands, **named, **options)
    results = result if isinstance(result, tuple) else (result,)
    return b.build({f"y{i}": y for i, y in enumerate(results)}), arrays


def apply_operator(name: str, arrays: dict[str, Any], **options: Any) -> list[Any]:
    return list(evaluate(*build(name, arrays, **options), wide=True).values())


def lstm_arrays(directions: int = 1) -> dict[str, Any]:
    rows = 4 * HIDDEN
    return {
        "input": draw(0, STEPS, BATCH, FEATURES),
        "weight": draw(1, directions, rows, FEATURES),
        "recurrent_weight": draw(2, directions, rows, HIDDEN),
        "bias": draw(3, directions, rows),
        "recurrent_bias": draw(4, directions, rows),
        "peephole_weight": draw(5, directions, 3 * HIDDEN),
        "initial_hidden_state": draw(6, directions, BATCH, HIDDEN),
        "initial_cell_state": draw(7, directions, BATCH, HIDDEN),
    }


def gru_arrays(directions: int = 1) -> dict[str, Any]:
    rows = 3 * HIDDEN
    return {
        "input": draw(0, STEPS, BATCH, FEATURES),
        "weight": draw(1, directions, rows, FEATURES),
        "recurrent_weight": draw(2, directions, rows, HIDDEN),
        "bias": draw(3, directions, rows),
        "recurrent_bias": draw(4, directions, rows),
        "initial_hidden_state": draw(6, directions, BATCH, HIDDEN),
    }


def lstm_by_definition(arrays: dict[str, Any], layout: str, d: int, backward: bool) -> Any:
    """Return hidden states of all steps and the last cell state of one direction."""
    x, w, r, b, rb, p, h, c = arrays.values()
    h, c = h[d], c[d]
    seen = dict(zip("iof", np.split(p[d], 3), strict=True))
    states = {}
    for t in reversed(range(STEPS)) if backward else range(STEPS):
        total = x[t] @ w[d].T + h @ r[d].T + b[d] + rb[d]
        gates = dict(zip(layout, np.split(total, 4, axis=1), strict=True))
        # All peepholes look at the cell before the step.
        i, f, o = (sigmoid(gates[k] + c * seen[k]) for k in "ifo")
        c = f * c + i * np.tanh(gates["g"])
        h = states[t] = o * np.tanh(c)
    return np.stack([states[t] for t in range(STEPS)]), h, c


def gru_by_definition(
    arrays: dict[str, Any], layout: str, d: int, backward: bool, after: bool
) -> Any:
    x, w, r, b, rb, h = arrays.values()
    h = h[d]
    letters = list(layout)
    states = {}
    for t in reversed(range(STEPS)) if backward else range(STEPS):
        own, again, bias = (
            dict(zip(letters, np.split(v, 3, axis=-1), strict=True))
            for v in (x[t] @ w[d].T + b[d], h @ r[d].T, rb[d])
        )
        z, g = (sigmoid(own[k] + again[k] + bias[k]) for k in "zr")
        matrix = np.split(r[d], 3)[letters.index("n")]
        inner = g * (again["n"] + bias["n"]) if after else (g * h) @ matrix.T + bias["n"]
        h = states[t] = z * h + (1 - z) * np.tanh(own["n"] + inner)
    return np.stack([states[t] for t in range(STEPS)]), h
