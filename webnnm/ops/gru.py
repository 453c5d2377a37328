"""Gated recurrent unit: over the steps of a sequence, and one step of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.activation import Activation
from webnnm.ops.declare.layer import LayerRules, TensorSlot, ValueOption
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

LAYOUTS = ("zrn", "rzn")
GATES = 3
ACTIVATIONS = ("sigmoid", "tanh")

OPTIONS = {
    "reset_after": Option(True, checks.boolean),
    "layout": Option(LAYOUTS[0], checks.choice(*LAYOUTS)),
    "activations": activations(*ACTIVATIONS),
}
CELL_OPTIONS = {
    **cell_options(*LAYOUTS, activations=ACTIVATIONS),
    "reset_after": ValueOption(read=values.boolean, default=True),
}


class _Recurrence(NamedTuple):
    """The recurrent side of a unit, made ready for all steps.

    `matrices` are transposed weights, `biases` their biases: one for all three gates if the reset
    gate acts after the product, else one for both gates and one for the candidate n, which comes
    last in every layout.
    """

    layout: str
    functions: Sequence[Callable[[Tensor], Tensor]]
    matrices: Sequence[Tensor]
    biases: Sequence[Tensor | None]

    def step(self, b: Builder, entering: Tensor, hidden: Tensor) -> Tensor:
        """Return the hidden state after a step, from the projected input and the previous state."""
        gate, candidate = self.functions
        width = hidden.shape[1]
        cuts = [(GATES - 1) * width, width]
        after = len(self.matrices) == 1
        product = self._product(b, hidden, 0)
        sums, fresh = b.split(entering, splits=cuts, axis=1)
        recurrent, behind = b.split(product, splits=cuts, axis=1) if after else (product, None)
        gates = split_equally(b, gate(sums + recurrent), GATES - 1, 1)
        z, r = (gates[self.layout.index(letter)] for letter in "zr")
        again = self._product(b, r * hidden, 1) if behind is None else r * behind
        return z * hidden + (1 - z) * candidate(fresh + again)

    def _product(self, b: Builder, x: Tensor, number: int) -> Tensor:
        product = b.matmul(x, self.matrices[number])
        bias = self.biases[number]
        return product if bias is None else product + bias


def _recurrence(
    b: Builder,
    weight: Tensor,
    bias: Tensor | None,
    *,
    layout: str,
    activations: Sequence[str | Activation],
    reset_after: bool,
) -> _Recurrence:
    rows, hidden = weight.shape
    cuts = [0, rows] if reset_after else [0, rows - hidden, rows]
    matrices: list[Tensor] = []
    biases: list[Tensor | None] = []
    for first, end in pairwise(cuts):
        cut = b.slice(weight, starts=(first, 0), sizes=(end - first, hidden))
        matrices.append(transpose_matrices(b, cut))
        biases.append(bias and b.slice(bias, starts=(first,), sizes=(end - first,)))
    return _Recurrence(layout, functions(b, activations), matrices, biases)


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
    state = (DIRECTIONS[direction], x.shape[1], hidden_size)
    require_shapes(SLOTS, operands, gates=GATES, lead=state[:1], state=state)
    final = TensorType(x.dtype, state)
    return (final, TensorType(x.dtype, (steps, *state))) if return_sequence else (final,)


def _decompose(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    hidden: Tensor | None,
    *,
    hidden_size: int,
    return_sequence: bool,
    direction: str,
    steps: int,
    lengths: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, ...]:
    state = (DIRECTIONS[direction], x.shape[1], hidden_size)
    operands = (x, weight, recurrent, bias, recurrent_bias, hidden)
    require_shapes(SLOTS, operands, gates=GATES, lead=state[:1], state=state)
    runs: list[list[tuple[Tensor]]] = []
    inputs = project_inputs(b, x, weight, bias)
    for number, backward in enumerate(backwards(direction)):
        own = (take_direction(b, weights, number) for weights in (recurrent, recurrent_bias))
        unit = _recurrence(b, *own, **options)
        first = (zeros(b, x, state[1:]) if hidden is None else take_direction(b, hidden, number),)

        def step(
            entering: Tensor, states: tuple[Any, ...], unit: _Recurrence = unit
        ) -> tuple[Tensor]:
            return (unit.step(b, entering, states[0]),)

        runs.append(run_steps(b, inputs[number], first, step, backward=backward, lengths=lengths))
    final = last_states(b, runs, direction)
    return (*final, sequence(b, runs)) if return_sequence else tuple(final)


def _stablehlo(
    h: Any,
    x: Any,
    *operands: Any,
    steps: Any,
    reset_after: bool,
    layout: str,
    activations: Sequence[str | Activation],
    **options: Any,
) -> tuple[Any, ...]:
    del steps
    *weights, hidden = operands
    rules = {"reset_after": reset_after, "layout": layout, "activations": activations}

    def step(b: Builder, x: Tensor, *inputs: Any) -> Tensor:
        weight, recurrent, bias, recurrent_bias, state = inputs
        rest = {"bias": bias, "recurrent_bias": recurrent_bias, "hidden_size": None}
        return b.gru_cell(x, weight, recurrent, state, **rest, **rules)

    return emit_loops(h, step, x, weights, [hidden], **options)


SLOTS = (
    slot("input", 3),
    slot("weight", 3),
    slot("recurrentWeight", 3),
    slot("bias", 2, optional=True),
    slot("recurrentBias", 2, optional=True),
    slot("initialHiddenState", 3, optional=True),
)

gru = Composite(
    name="gru",
    traits=frozenset({"recurrent", "sequential"}),
    summary="gated recurrent unit over the steps of a sequence",
    operands=SLOTS,
    options={
        "steps": STEPS,
        "hidden_size": HIDDEN_SIZE,
        "return_sequence": RETURN_SEQUENCE,
        "direction": DIRECTION,
        **OPTIONS,
    },
    native="gru",
    covers=covers,
    infer=_infer,
    decompose=_decompose,
    stablehlo=Looped(_stablehlo),
    batch="recurrence",
    layer=LayerRules(
        slots=(*WEIGHTS, *biases("zeros"), initial("initialHiddenState")),
        options={**RUN_OPTIONS, **CELL_OPTIONS},
        results=lambda options: 3 if options["return_sequence"] else 2,
        result_words={"hidden": 1, "sequence": 2},
        fans=gate_fans(GATES),
        shape=run_shape("gru", GATES),
        build=build_run,
    ),
    samples=(
        sample((2, 2, 3), (1, 6, 3), (1, 6, 2), steps=2, hidden_size=2),
        sample(
            (2, 2, 3),
            (2, 6, 3),
            (2, 6, 2),
            (2, 6),
            (2, 6),
            (2, 2, 2),
            direction="both",
            return_sequence=True,
        ),
        sample(
            (3, 1, 2),
            (1, 6, 2),
            (1, 6, 2),
            None,
            (1, 6),
            direction="backward",
            layout="rzn",
            reset_after=False,
            activations=["tanh", "sigmoid"],
        ),
    ),
)


# One step.


def _infer_cell(*operands: TensorType | None, hidden_size: int, **_: Any) -> TensorType:
    x = operands[0]
    assert x is not None
    state = (x.shape[0], hidden_size)
    require_shapes(CELL_SLOTS, operands, gates=GATES, lead=(), state=state)
    return TensorType(x.dtype, state)


def _decompose_cell(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    recurrent: Tensor,
    hidden: Tensor,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    *,
    hidden_size: int,
    **options: Any,
) -> Tensor:
    operands = (x, weight, recurrent, hidden, bias, recurrent_bias)
    state = (x.shape[0], hidden_size)
    require_shapes(CELL_SLOTS, operands, gates=GATES, lead=(), state=state)
    entering = b.matmul(x, transpose_matrices(b, weight))
    if bias is not None:
        entering = entering + bias
    return _recurrence(b, recurrent, recurrent_bias, **options).step(b, entering, hidden)


CELL_SLOTS = (
    slot("input", 2),
    slot("weight", 2),
    slot("recurrentWeight", 2),
    slot("hiddenState", 2),
    slot("bias", 1, optional=True),
    slot("recurrentBias", 1, optional=True),
)

gru_cell = Composite(
    name="gruCell",
    traits=frozenset({"recurrent"}),
    summary="one step of a gated recurrent unit",
    operands=CELL_SLOTS,
    options={"hidden_size": HIDDEN_SIZE, **OPTIONS},
    native="gruCell",
    covers=covers,
    infer=_infer_cell,
    decompose=_decompose_cell,
    batch="recurrence",
    layer=LayerRules(
        slots=(*WEIGHTS, TensorSlot(name="hiddenState"), *biases("zeros")),
        options=CELL_OPTIONS,
        result_words={"hidden": 0},
        fans=gate_fans(GATES),
        shape=cell_shape(GATES),
        build=build_cell,
    ),
    samples=(
        sample((2, 3), (6, 3), (6, 2), (2, 2), hidden_size=2),
        sample(
            (2, 3),
            (6, 3),
            (6, 2),
            (2, 2),
            (6,),
            (6,),
            layout="rzn",
            reset_after=False,
            activations=["sigmoid", "sigmoid"],
        ),
    ),
)
