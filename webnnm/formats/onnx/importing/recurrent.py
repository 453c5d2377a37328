"""Recurrent layers over sequences: LSTM, GRU and the simple RNN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import (
    as_type,
    at,
    full,
    part,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

MAX_STEPS = 4096
"""How many steps a sequence has at most: each of them is unrolled."""

Step = Callable[[Operand, tuple[Operand, ...]], tuple[Operand, ...]]
"""From the input of a step and the states before it to the states after it."""


class _Cell:
    """One direction of a recurrent node: its weights and its functions."""

    def __init__(self, c: Call, direction: int, gates: int, *weights: Operand | None) -> None:
        w, r, bias = weights
        assert w is not None and r is not None
        self.weight = c.b.transpose(at(c, w, 0, direction))
        self.recurrent = c.b.transpose(at(c, r, 0, direction))
        self.hidden = r.shape[2]
        self.biases: tuple[Operand, Operand] | None = None
        if bias is not None:
            row, size = at(c, bias, 0, direction), gates * self.hidden
            self.biases = part(c, row, 0, 0, size), part(c, row, 0, size, size)


def _functions(c: Call, default: Sequence[str], directions: int) -> list[list[Any]]:
    """Return the activations of each direction."""
    names = c.strings("activations", [*default] * directions)
    alphas, betas = c.numbers("activation_alpha", ()), c.numbers("activation_beta", ())
    functions = [_function(c, name, alphas, betas) for name in names]
    if len(functions) != len(default) * directions:
        raise c.invalid(f"{len(functions)} activations")
    return [functions[k * len(default) : (k + 1) * len(default)] for k in range(directions)]


def _function(
    c: Call, name: str, alphas: list[float], betas: list[float]
) -> Callable[[Operand], Operand]:
    """Return an activation; its parameters are taken from the front of the lists."""
    b, key = c.b, name.lower()
    defaults = {"affine": (1.0, 0.0), "leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0),
                "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5), "elu": (1.0, 0.0)}  # fmt: skip
    alpha, beta = defaults.get(key, (0.0, 0.0))
    if key in defaults:
        alpha = alphas.pop(0) if alphas else alpha
    if key in ("affine", "scaledtanh", "hardsigmoid"):
        beta = betas.pop(0) if betas else beta
    functions: dict[str, Callable[[Operand], Operand]] = {
        "relu": b.relu,
        "tanh": b.tanh,
        "sigmoid": b.sigmoid,
        "softsign": b.softsign,
        "softplus": b.softplus,
        "affine": lambda x: x * alpha + beta,
        "leakyrelu": lambda x: b.leaky_relu(x, alpha=alpha),
        "thresholdedrelu": lambda x: b.where(
            b.greater(x, scalar_like(c, alpha, x)), x, scalar_like(c, 0, x)
        ),
        "scaledtanh": lambda x: b.tanh(x * beta) * alpha,
        "hardsigmoid": lambda x: b.hard_sigmoid(x, alpha=alpha, beta=beta),
        "elu": lambda x: b.elu(x, alpha=alpha),
    }
    if key not in functions:
        raise c.not_supported(f'there is no activation "{name}"')
    return functions[key]


def _directions(c: Call, weights: Operand) -> list[bool]:
    """Return for each direction whether it runs backwards."""
    direction = c.string("direction", "forward")
    flags = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if flags is None or weights.shape[0] != len(flags):
        raise c.invalid(f'direction "{direction}" with weights {weights}')
    return flags


def _run(
    c: Call,
    x: Operand,
    lengths: Operand | None,
    steps: Sequence[tuple[bool, Step, tuple[Operand, ...]]],
) -> list[Operand]:
    """Return all hidden states, and the last states of each direction.

    `x` is [steps, batch, size]; each direction has a flag for running backwards, a step function,
    and initial states. Beyond the length of a sequence its state stays the same, and its outputs
    are 0.
    """
    size = x.shape[0]
    if size > MAX_STEPS:
        raise c.not_supported(f"{size} steps, at most {MAX_STEPS} can be unrolled")
    alive = None if lengths is None else _alive(c, lengths, size)
    rows: list[list[Operand]] = []
    last: list[tuple[Operand, ...]] = []
    for backwards, step, states in steps:
        row: dict[int, Operand] = {}
        for k in reversed(range(size)) if backwards else range(size):
            new_states = step(at(c, x, 0, k), states)
            if alive is not None:
                mask = alive[k]
                new_states = tuple(
                    c.b.where(mask, new, old) for new, old in zip(new_states, states, strict=True)
                )
            states = new_states
            row[k] = states[0]
            if alive is not None:
                row[k] = c.b.where(alive[k], states[0], scalar_like(c, 0, states[0]))
        rows.append([row[k] for k in range(size)])
        last.append(states)
    outputs = [
        _concat(c, [reshape_to(c, row[k], (1, 1, *row[k].shape)) for row in rows], 1)
        for k in range(size)
    ]
    states = [
        _concat(
            c,
            [
                reshape_to(c, states_of_direction[k], (1, *states_of_direction[k].shape))
                for states_of_direction in last
            ],
            0,
        )
        for k in range(len(last[0]))
    ]
    return [_concat(c, outputs, 0), *states]


def _alive(c: Call, lengths: Operand, size: int) -> list[Operand] | None:
    """Return for each step which sequences still continue, None if all run to the end."""
    array = c.b.evaluate(lengths)
    if array is not None and all(value >= size for value in array.values()):
        return None
    column = as_type(c, reshape_to(c, lengths, (-1, 1)), "int32")
    return [c.b.greater(column, c.b.constant(k, "int32")) for k in range(size)]


def _concat(c: Call, parts: Sequence[Operand], axis: int) -> Operand:
    return parts[0] if len(parts) == 1 else c.b.concat(list(parts), axis=axis)


def _steps_first(c: Call, x: Operand) -> Operand:
    """Return the sequence with its steps in front."""
    return c.b.transpose(x, permutation=(1, 0, 2)) if c.flag("layout") else x


def _state(c: Call, states: Operand | None, k: int, x: Operand, hidden: int) -> Operand:
    """Return the initial state of a direction, [batch, hidden]."""
    if states is None:
        return full(c, 0, x.dtype, (x.shape[1], hidden))
    return at(c, states, 1 if c.flag("layout") else 0, k)


def _to_layout(c: Call, results: Sequence[Operand]) -> list[Operand]:
    """Return outputs with the order of dimensions that the node specifies."""
    if not c.flag("layout"):
        return list(results)
    outputs, *states = results
    outputs = c.b.transpose(outputs, permutation=(2, 0, 1, 3))
    return [outputs, *(c.b.transpose(state, permutation=(1, 0, 2)) for state in states)]


def _clip(c: Call, x: Operand) -> Operand:
    bound = c.number("clip", 0.0)
    return c.b.clamp(x, min_value=-bound, max_value=bound) if bound else x


def _native(c: Call, default: Sequence[str], lengths: Operand | None, x: Operand) -> bool:
    """Return whether the builder's own layer computes what the node specifies."""
    return (
        not c.number("clip", 0.0)
        and not c.has("activation_alpha")
        and not c.has("activation_beta")
        and c.strings("activations", default)[: len(default)] == [*default]
        and len(set(c.strings("activations", default))) <= len(set(default))
        and (lengths is None or _alive(c, lengths, x.shape[0]) is None)
    )


def _halves(c: Call, bias: Operand | None, size: int) -> tuple[Operand | None, Operand | None]:
    """Return the biases of the input and of the state."""
    if bias is None:
        return None, None
    return part(c, bias, 1, 0, size), part(c, bias, 1, size, size)


def _all_outputs(c: Call, results: Any, states: int) -> list[Operand]:
    """Return outputs in ONNX's order: all hidden states, then the last ones."""
    return _to_layout(c, [results[states], *results[:states]])


_DIRECTIONS = {"forward": "forward", "reverse": "backward", "bidirectional": "both"}


@imports("RNN")
def rnn(
    c: Call,
    x: Operand,
    w: Operand,
    r: Operand,
    bias: Operand | None = None,
    lengths: Operand | None = None,
    state: Operand | None = None,
) -> list[Operand]:
    """A hidden state that is a function of the input and of itself: f(x·W + h·R + b)."""
    x, ways = _steps_first(c, x), _directions(c, w)
    functions = _functions(c, ["Tanh"], len(ways))
    steps: list[tuple[bool, Step, tuple[Operand, ...]]] = []
    for k, backwards in enumerate(ways):
        cell, (function,) = _Cell(c, k, 1, w, r, bias), functions[k]

        def step(
            x: Operand,
            states: tuple[Operand, ...],
            cell: _Cell = cell,
            function: Callable[[Operand], Operand] = function,
        ) -> tuple[Operand, ...]:
            total = c.b.matmul(x, cell.weight) + c.b.matmul(states[0], cell.recurrent)
            if cell.biases is not None:
                total = total + cell.biases[0] + cell.biases[1]
            return (function(_clip(c, total)),)

        steps.append((backwards, step, (_state(c, state, k, x, cell.hidden),)))
    return _to_layout(c, _run(c, x, lengths, steps))


@imports("GRU")
def gru(
    c: Call,
    x: Operand,
    w: Operand,
    r: Operand,
    bias: Operand | None = None,
    lengths: Operand | None = None,
    state: Operand | None = None,
) -> list[Operand]:
    """Gated recurrent unit."""
    x, ways = _steps_first(c, x), _directions(c, w)
    if _native(c, ["Sigmoid", "Tanh"] * len(ways), lengths, x):
        first = state
        if state is not None and c.flag("layout"):
            first = c.b.transpose(state, permutation=(1, 0, 2))
        biases = _halves(c, bias, w.shape[1])
        results = c.b.gru(
            x,
            w,
            r,
            bias=biases[0],
            recurrent_bias=biases[1],
            initial_hidden_state=first,
            steps=x.shape[0],
            hidden_size=r.shape[2],
            return_sequence=True,
            direction=_DIRECTIONS[c.string("direction", "forward")],
            reset_after=c.flag("linear_before_reset"),
            layout="zrn",
        )
        return _all_outputs(c, results, 1)
    functions = _functions(c, ["Sigmoid", "Tanh"], len(ways))
    steps: list[tuple[bool, Step, tuple[Operand, ...]]] = []
    for k, backwards in enumerate(ways):
        cell = _Cell(c, k, 3, w, r, bias)
        step = _gru_step(c, cell, *functions[k])
        steps.append((backwards, step, (_state(c, state, k, x, cell.hidden),)))
    return _to_layout(c, _run(c, x, lengths, steps))


def _gru_step(c: Call, cell: _Cell, gate: Any, candidate: Any) -> Step:
    size = cell.hidden

    def third(x: Operand, k: int) -> Operand:
        return part(c, x, x.rank - 1, k * size, size)

    def step(x: Operand, states: tuple[Operand, ...]) -> tuple[Operand, ...]:
        (h,) = states
        entering = c.b.matmul(x, cell.weight)
        zr = part(c, cell.recurrent, 1, 0, 2 * size)
        own = third(cell.recurrent, 2)
        gates = part(c, entering, 1, 0, 2 * size) + c.b.matmul(h, zr)
        extra: Operand | None = None
        last = third(entering, 2)
        if cell.biases is not None:
            both = cell.biases[0] + cell.biases[1]
            gates = gates + part(c, both, 0, 0, 2 * size)
            last, extra = last + third(cell.biases[0], 2), third(cell.biases[1], 2)
        gates = gate(_clip(c, gates))
        z, r = part(c, gates, 1, 0, size), part(c, gates, 1, size, size)
        if c.flag("linear_before_reset"):
            back = c.b.matmul(h, own)
            back = r * (back if extra is None else back + extra)
        else:
            back = c.b.matmul(r * h, own)
            back = back if extra is None else back + extra
        new = candidate(_clip(c, last + back))
        return ((1 - z) * new + z * h,)

    return step


@imports("LSTM")
def lstm(
    c: Call,
    x: Operand,
    w: Operand,
    r: Operand,
    bias: Operand | None = None,
    lengths: Operand | None = None,
    hidden: Operand | None = None,
    memory: Operand | None = None,
    peephole: Operand | None = None,
) -> list[Operand]:
    """Long short-term memory."""
    sequence, ways = _steps_first(c, x), _directions(c, w)
    default = ["Sigmoid", "Tanh", "Tanh"] * len(ways)
    if not _native(c, default, lengths, sequence) or c.flag("input_forget"):
        return unroll_lstm(c, x, w, r, bias, lengths, hidden, memory, peephole, lambda x: x)
    states = [hidden, memory]
    if c.flag("layout"):
        states = [x and c.b.transpose(x, permutation=(1, 0, 2)) for x in states]
    biases = _halves(c, bias, w.shape[1])
    results = c.b.lstm(
        sequence,
        w,
        r,
        bias=biases[0],
        recurrent_bias=biases[1],
        peephole_weight=peephole,
        initial_hidden_state=states[0],
        initial_cell_state=states[1],
        steps=sequence.shape[0],
        hidden_size=r.shape[2],
        return_sequence=True,
        direction=_DIRECTIONS[c.string("direction", "forward")],
        layout="iofg",
    )
    return _all_outputs(c, results, 2)


def unroll_lstm(
    c: Call,
    x: Operand,
    w: Operand,
    r: Operand,
    bias: Operand | None,
    lengths: Operand | None,
    hidden: Operand | None,
    memory: Operand | None,
    peephole: Operand | None,
    round_operand: Callable[[Operand], Operand],
) -> list[Operand]:
    """Return the results of an LSTM that rounds the operands of its products, step by step."""
    x, ways = round_operand(_steps_first(c, x)), _directions(c, w)
    functions = _functions(c, ["Sigmoid", "Tanh", "Tanh"], len(ways))
    steps: list[tuple[bool, Step, tuple[Operand, ...]]] = []
    for k, backwards in enumerate(ways):
        cell = _Cell(c, k, 4, w, r, bias)
        weights = None if peephole is None else at(c, peephole, 0, k)
        first = tuple(
            _state(c, state_of_layer, k, x, cell.hidden) for state_of_layer in (hidden, memory)
        )
        steps.append((backwards, _lstm_step(c, cell, weights, round_operand, *functions[k]), first))
    return _to_layout(c, _run(c, x, lengths, steps))


def _lstm_step(
    c: Call,
    cell: _Cell,
    peephole: Operand | None,
    round_operand: Callable[[Operand], Operand],
    gate: Any,
    candidate: Any,
    output: Any,
) -> Step:
    size = cell.hidden

    def quarter(x: Operand, k: int) -> Operand:
        return part(c, x, x.rank - 1, k * size, size)

    def peephole_term(k: int, memory: Operand) -> Operand:
        """Return the peephole term of a gate."""
        return memory * (0 if peephole is None else part(c, peephole, 0, k * size, size))

    def step(x: Operand, states: tuple[Operand, ...]) -> tuple[Operand, ...]:
        h, memory = states
        total = c.b.matmul(x, cell.weight) + c.b.matmul(round_operand(h), cell.recurrent)
        if cell.biases is not None:
            total = total + cell.biases[0] + cell.biases[1]
        i = gate(_clip(c, quarter(total, 0) + peephole_term(0, memory)))
        f = gate(_clip(c, quarter(total, 2) + peephole_term(2, memory)))
        if c.flag("input_forget"):
            f = 1 - i
        memory = f * memory + i * candidate(_clip(c, quarter(total, 3)))
        o = gate(_clip(c, quarter(total, 1) + peephole_term(1, memory)))
        return o * output(memory), memory

    return step
