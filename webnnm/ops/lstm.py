"""Long short-term memory: over the steps of a sequence, and one step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from webnnm.ops.declare import checks
from webnnm.ops.declare.activation import Activation
from webnnm.ops.declare.layer import LayerRules, TensorSlot
from webnnm.ops.declare.operator import Composite, Looped, Option, sample
from webnnm.ops.declare.recurrent import (
    DIRECTION,
    DIRECTIONS,
    HIDDEN_SIZE,
    RETURN_SEQUENCE,
    STEPS,
    activations,
    backwards,
    covers,
    emit_loops,
    functions,
    last_states,
    project_inputs,
    require_shapes,
    run_steps,
    sequence,
    slot,
    split_equally,
    take_direction,
    zeros,
)
from webnnm.ops.declare.recurrent_layer import (
    RUN_OPTIONS,
    WEIGHTS,
    biases,
    build_cell,
    build_run,
    cell_options,
    cell_shape,
    gate_fans,
    initial,
    run_shape,
)
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType
from webnnm.ops.matmul import transpose_matrices

LAYOUTS = ("iofg", "ifgo")
PEEPHOLES = "iof"
GATES = 4
ACTIVATIONS = ("sigmoid", "tanh", "tanh")

OPTIONS = {
    "layout": Option(LAYOUTS[0], checks.choice(*LAYOUTS)),
    "activations": activations(*ACTIVATIONS),
}
BIASES_AND_PEEPHOLES = (
    *biases("gates"),
    TensorSlot(name="peepholeWeight", parameter="other", optional=True, option=True),
)
CELL_OPTIONS = cell_options(*LAYOUTS, activations=ACTIVATIONS)


class _Gates(NamedTuple):
    """The gates of a step: their layout, activations and peepholes."""

    layout: str
    functions: Sequence[Callable[[Tensor], Tensor]]
    peepholes: Mapping[str, Tensor]

    def step(self, b: Builder, total: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return the hidden and the cell state after a step."""
        gate, candidate, output = self.functions
        # Adjacent gates are one operand, unless each of them has a peephole of its own.
        groups = [*self.layout]
        if not self.peepholes:
            groups = ["".join(letters) for _, letters in groupby(self.layout, "g".__eq__)]
        hidden_size = cell.shape[1]
        values: dict[str, Tensor] = {}
        sums = b.split(total, splits=[len(letters) * hidden_size for letters in groups], axis=1)
        for letters, entering in zip(groups, sums, strict=True):
            if letters in self.peepholes:
                entering = entering + cell * self.peepholes[letters]
            value = (candidate if letters == "g" else gate)(entering)
            values |= zip(letters, split_equally(b, value, len(letters), 1), strict=True)
        cell = values["f"] * cell + values["i"] * values["g"]
        return values["o"] * output(cell), cell


def _gates(
    b: Builder, layout: str, activations: Sequence[str | Activation], peephole: Tensor | None
) -> _Gates:
    weights = [] if peephole is None else split_equally(b, peephole, len(PEEPHOLES), 0)
    return _Gates(layout, functions(b, activations), dict(zip(PEEPHOLES, weights, strict=False)))


# Over the steps of a sequence.


def _infer(
    *operands: TensorType | None,
    steps: int,
    hidden_size: int,
    return_sequence: bool,
    direction: str,
    **_: Any,
) -> tuple[TensorType, ...]:
    x = operands[0]
    assert x is not None
    state_shape = (DIRECTIONS[direction], x.shape[1], hidden_size)
    require_shapes(SLOTS, operands, gates=GATES, lead=state_shape[:1], state=state_shape)
    final = (TensorType(x.dtype, state_shape),) * 2
    return (*final, TensorType(x.dtype, (steps, *state_shape))) if return_sequence else final


def _decompose(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    peephole: Tensor | None,
    hidden: Tensor | None,
    cell: Tensor | None,
    *,
    hidden_size: int,
    return_sequence: bool,
    direction: str,
    layout: str,
    activations: Sequence[str | Activation],
    lengths: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, ...]:
    state_shape = (DIRECTIONS[direction], x.shape[1], hidden_size)
    operands = (x, weight, recurrent, bias, recurrent_bias, peephole, hidden, cell)
    require_shapes(SLOTS, operands, gates=GATES, lead=state_shape[:1], state=state_shape)
    runs: list[list[tuple[Tensor, Tensor]]] = []
    inputs = project_inputs(b, x, weight, bias, recurrent_bias)
    for number, backward in enumerate(backwards(direction)):
        matrix = transpose_matrices(b, take_direction(b, recurrent, number))
        gates = _gates(b, layout, activations, take_direction(b, peephole, number))
        first = tuple(
            zeros(b, x, state_shape[1:]) if initial is None else take_direction(b, initial, number)
            for initial in (hidden, cell)
        )

        def step(
            total: Tensor, states: tuple[Any, ...], gates: _Gates = gates, matrix: Tensor = matrix
        ) -> tuple[Tensor, Tensor]:
            hidden_state, cell_state = states
            return gates.step(b, total + b.matmul(hidden_state, matrix), cell_state)

        runs.append(run_steps(b, inputs[number], first, step, backward=backward, lengths=lengths))
    final = last_states(b, runs, direction)
    return (*final, sequence(b, runs)) if return_sequence else tuple(final)


def _stablehlo(
    h: Any,
    x: Any,
    *operands: Any,
    steps: Any,
    layout: str,
    activations: Sequence[str | Activation],
    **options: Any,
) -> tuple[Any, ...]:
    del steps
    *weights, hidden, cell = operands

    def step(b: Builder, x: Tensor, *inputs: Any) -> tuple[Tensor, Tensor]:
        weight, recurrent, bias, recurrent_bias, peephole, *states = inputs
        rest = {"bias": bias, "recurrent_bias": recurrent_bias, "peephole_weight": peephole}
        options = {"hidden_size": None, "layout": layout, "activations": activations}
        return b.lstm_cell(x, weight, recurrent, *states, **rest, **options)

    return emit_loops(h, step, x, weights, [hidden, cell], **options)


SLOTS = (
    slot("input", 3),
    slot("weight", 3),
    slot("recurrentWeight", 3),
    slot("bias", 2, optional=True),
    slot("recurrentBias", 2, optional=True),
    slot("peepholeWeight", 2, optional=True),
    slot("initialHiddenState", 3, optional=True),
    slot("initialCellState", 3, optional=True),
)

lstm = Composite(
    name="lstm",
    traits=frozenset({"recurrent", "sequential"}),
    summary="long short-term memory over the steps of a sequence",
    operands=SLOTS,
    options={
        "steps": STEPS,
        "hidden_size": HIDDEN_SIZE,
        "return_sequence": RETURN_SEQUENCE,
        "direction": DIRECTION,
        **OPTIONS,
    },
    native="lstm",
    covers=covers,
    infer=_infer,
    decompose=_decompose,
    stablehlo=Looped(_stablehlo),
    batch="recurrence",
    layer=LayerRules(
        slots=(
            *WEIGHTS,
            *BIASES_AND_PEEPHOLES,
            initial("initialHiddenState"),
            initial("initialCellState"),
        ),
        options={**RUN_OPTIONS, **CELL_OPTIONS},
        # Result 0 is the one that the next layer takes: `build_run` repeats it.
        results=lambda options: 4 if options["return_sequence"] else 3,
        result_words={"hidden": 1, "cell": 2, "sequence": 3},
        fans=gate_fans(GATES),
        shape=run_shape("lstm", GATES),
        build=build_run,
    ),
    samples=(
        sample((2, 2, 3), (1, 8, 3), (1, 8, 2), steps=2, hidden_size=2),
        sample(
            (2, 2, 3),
            (2, 8, 3),
            (2, 8, 2),
            (2, 8),
            (2, 8),
            (2, 6),
            (2, 2, 2),
            (2, 2, 2),
            direction="both",
            return_sequence=True,
        ),
        sample(
            (3, 1, 2),
            (1, 8, 2),
            (1, 8, 2),
            (1, 8),
            None,
            None,
            None,
            (1, 1, 2),
            direction="backward",
            layout="ifgo",
            activations=["sigmoid", "relu", "tanh"],
        ),
    ),
)


# One step.


def _infer_cell(
    *operands: TensorType | None, hidden_size: int, **_: Any
) -> tuple[TensorType, TensorType]:
    x = operands[0]
    assert x is not None
    state_shape = (x.shape[0], hidden_size)
    require_shapes(CELL_SLOTS, operands, gates=GATES, lead=(), state=state_shape)
    return TensorType(x.dtype, state_shape), TensorType(x.dtype, state_shape)


def _decompose_cell(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    hidden: Tensor,
    cell: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    peephole: Tensor | None,
    *,
    hidden_size: int,
    layout: str,
    activations: Sequence[str | Activation],
) -> tuple[Tensor, Tensor]:
    operands = (x, weight, recurrent, hidden, cell, bias, recurrent_bias, peephole)
    state_shape = (x.shape[0], hidden_size)
    require_shapes(CELL_SLOTS, operands, gates=GATES, lead=(), state=state_shape)
    total = b.matmul(x, transpose_matrices(b, weight))
    for bias_part in (bias, recurrent_bias):
        total = total if bias_part is None else total + bias_part
    gates = _gates(b, layout, activations, peephole)
    return gates.step(b, total + b.matmul(hidden, transpose_matrices(b, recurrent)), cell)


CELL_SLOTS = (
    slot("input", 2),
    slot("weight", 2),
    slot("recurrentWeight", 2),
    slot("hiddenState", 2),
    slot("cellState", 2),
    slot("bias", 1, optional=True),
    slot("recurrentBias", 1, optional=True),
    slot("peepholeWeight", 1, optional=True),
)

lstm_cell = Composite(
    name="lstmCell",
    traits=frozenset({"recurrent"}),
    summary="one step of a long short-term memory",
    operands=CELL_SLOTS,
    options={"hidden_size": HIDDEN_SIZE, **OPTIONS},
    native="lstmCell",
    covers=covers,
    infer=_infer_cell,
    decompose=_decompose_cell,
    batch="recurrence",
    layer=LayerRules(
        slots=(
            *WEIGHTS,
            TensorSlot(name="hiddenState"),
            TensorSlot(name="cellState"),
            *BIASES_AND_PEEPHOLES,
        ),
        options=CELL_OPTIONS,
        results=lambda _: 2,
        result_words={"hidden": 0, "cell": 1},
        fans=gate_fans(GATES),
        shape=cell_shape(GATES),
        build=build_cell,
    ),
    samples=(
        sample((2, 3), (8, 3), (8, 2), (2, 2), (2, 2), hidden_size=2),
        sample(
            (2, 3),
            (8, 3),
            (8, 2),
            (2, 2),
            (2, 2),
            (8,),
            (8,),
            (6,),
            layout="ifgo",
            activations=["sigmoid", "tanh", "sigmoid"],
        ),
    ),
)
