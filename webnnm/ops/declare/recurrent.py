"""What recurrent operators share: slots and options, shape checks, the loop over steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import Shape, is_integer, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.activation import Activation, activation
from webnnm.ops.declare.operator import Option, Slot
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.matmul import transpose_matrices

NATIVE_ACTIVATIONS = frozenset({"relu", "sigmoid", "tanh"})
"""The activations of WebNN's own methods."""

DIRECTIONS = {"forward": 1, "backward": 1, "both": 2}
"""The number of sets of weights for a direction."""

Step = Callable[[Tensor, tuple[Any, ...]], tuple[Any, ...]]
"""From the projected input and the states of one step to the states of the next."""


# Slots and options of tensor operators.


def slot(name: str, rank: int, *, optional: bool = False) -> Slot:
    """Return an operand with the type of the first, the input; optional ones are passed by name."""
    return Slot(
        name=name,
        dtypes=FLOAT,
        ranks=(rank, rank),
        like=None if name == "input" else 0,
        optional=optional,
        keyword=optional,
    )


def _steps(value: Any, *types: TensorType) -> int:
    """Accept the number of steps of the input; None means that number."""
    steps = types[0].shape[0]
    if value is not None and value != steps:
        raise OperatorError("NNM303", f"{value!r} steps, but the input {types[0]} has {steps}")
    return steps


def _check_hidden_size(value: Any, *types: TensorType) -> int:
    """Accept the hidden size of the recurrent weights; None means that size."""
    size = types[2].shape[-1]
    if value is not None and (not is_integer(value) or value != size):
        raise OperatorError("NNM303", f"{value!r}, the recurrent weights {types[2]} have {size}")
    return size


STEPS = Option(None, _steps, positional=True)
HIDDEN_SIZE = Option(None, _check_hidden_size, positional=True)
RETURN_SEQUENCE = Option(False, checks.boolean)
DIRECTION = Option("forward", checks.choice(*DIRECTIONS))


def activations(*default: str) -> Option:
    """Return the option of activations: names or `Activation` objects, as many as the default."""

    def check(value: Any, *_: TensorType) -> tuple[str | Activation, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise OperatorError("NNM303", f"{value!r} is not a list")
        items: Iterable[Any] = value
        activations = tuple(_plain_activation(item) for item in items)
        if len(activations) != len(default):
            raise OperatorError(
                "NNM303", f"{len(activations)} activations, {len(default)} expected"
            )
        return activations

    return Option(default, check)


def _plain_activation(value: Any) -> str | Activation:
    result = activation(value)
    return result if result.options else result.name


def covers(*, activations: Sequence[str | Activation], **_: Any) -> bool:
    """The native methods have three activations."""
    return all(isinstance(a, str) and a in NATIVE_ACTIVATIONS for a in activations)


def require_shapes(
    slots: Sequence[Slot],
    operands: Sequence[TensorType | Tensor | None],
    *,
    gates: int,
    lead: Shape,
    state: Shape,
) -> None:
    """Raise NNM404 unless the shapes of all operands match.

    `lead` is the number of directions, if there are any, `state` the shape of states.
    """
    assert operands[0] is not None
    hidden = state[-1]
    wide = (*lead, gates * hidden)
    expected: dict[str, Shape] = {
        "weight": (*wide, operands[0].shape[-1]),
        "recurrentWeight": (*wide, hidden),
        "bias": wide,
        "recurrentBias": wide,
        "peepholeWeight": (*lead, 3 * hidden),
        **dict.fromkeys(("hiddenState", "cellState"), state),
        **dict.fromkeys(("initialHiddenState", "initialCellState"), state),
    }
    for slot, operand in zip(slots, operands, strict=True):
        shape = expected.get(slot.name)
        if operand is not None and shape is not None and shape != operand.shape:
            rule = f"{show(shape)} for hidden size {hidden} and input {show(operands[0].shape)}"
            raise OperatorError("NNM404", f"{slot.name} is {show(operand.shape)}, not {rule}")


# Arithmetic.


def functions(b: Builder, names: Sequence[str | Activation]) -> list[Callable[[Tensor], Any]]:
    """Return activations as functions of a tensor."""
    return [partial(activation(name), b) for name in names]


def split_equally(b: Builder, x: Tensor, count: int, axis: int) -> list[Tensor]:
    """Cut a tensor into equal parts along an axis."""
    return [x] if count == 1 else list(b.split(x, splits=count, axis=axis))


def project_inputs(
    b: Builder, x: Tensor, weight: Tensor, *biases: Tensor | None
) -> list[list[Tensor]]:
    """Multiply the inputs of all steps by the input weights in one product, and add biases.

    Returns per direction the projected inputs `[batch, gates · hidden]` of the steps in time.
    """
    steps, batch, features = x.shape
    directions, rows, _ = weight.shape
    flat = b.reshape(x, new_shape=(steps * batch, features))
    product = b.matmul(flat, transpose_matrices(b, b.reshape(weight, new_shape=(-1, features))))
    for bias in biases:
        if bias is not None:
            product = product + b.reshape(bias, new_shape=(directions * rows,))
    return [split_equally(b, part, steps, 0) for part in split_equally(b, product, directions, 1)]


def take_direction(b: Builder, x: Tensor | None, number: int) -> Any:
    """Return one direction's part of a tensor whose first dimension is the direction."""
    if x is None:
        return None
    part = x
    if x.shape[0] > 1:
        rest = x.shape[1:]
        part = b.slice(x, starts=(number, *(0 for _ in rest)), sizes=(1, *rest))
    return b.reshape(part, new_shape=x.shape[1:])


def zeros(b: Builder, x: Tensor, shape: Shape) -> Tensor:
    """Return zeros of the type of `x`."""
    return b.expand(b.constant(0, x.dtype), new_shape=shape)


def run_steps(
    b: Builder,
    inputs: Sequence[Tensor],
    state: tuple[Any, ...],
    step: Step,
    *,
    backward: bool,
    lengths: Tensor | None = None,
) -> list[tuple[Any, ...]]:
    """Return the states after each step, in the order of time.

    With `lengths`, `[batch, 1]`, the states of a row do not change after its last step.
    """
    outputs: list[tuple[Any, ...]] = []
    order = range(len(inputs))
    for time in reversed(order) if backward else order:
        new_state = step(inputs[time], state)
        if lengths is not None and time:  # every row has a first step
            is_inside = b.greater(lengths, b.constant(time, "float32"))
            pairs = zip(new_state, state, strict=True)
            new_state = tuple(b.where(is_inside, new, old) for new, old in pairs)
        state = new_state
        outputs.append(state)
    return outputs[::-1] if backward else outputs


def emit_loops(
    h: Any,
    cell: Callable[..., Any],
    x: Any,
    weights: Sequence[Any],
    states: Sequence[Any],
    *,
    hidden_size: int,
    return_sequence: bool,
    direction: str,
) -> tuple[Any, ...]:
    """Emit the steps as a loop in StableHLO, one for each direction.

    `cell(b, x, *weights, *states)` builds one step; absent operands are None.
    """
    steps, state = x.shape[0], (x.shape[1], hidden_size)
    ends: list[list[Any]] = []
    sequences: list[Any] = []
    for number, backward in enumerate(backwards(direction)):
        own = [w if w is None else h.reshape(h.cut(w, 0, number, 1), w.shape[1:]) for w in weights]
        first = [
            h.constant(0, x.dtype, state) if s is None else h.reshape(h.cut(s, 0, number, 1), state)
            for s in states
        ]
        present = [w for w in own if w is not None]
        outputs = [h.constant(0, x.dtype, (steps, *state))] if return_sequence else []

        def going(time: Any, *_: Any) -> Any:
            return h.compare("LT", time, steps)

        def step(
            time: Any,
            x: Any,
            *rest: Any,
            own: Any = own,
            k: int = len(present),
            back: Any = backward,
        ) -> list[Any]:
            inputs, before, written = rest[:k], rest[k : k + len(states)], rest[k + len(states) :]
            left = iter(inputs)
            at = h.subtract(steps - 1, time) if back else time
            around = [None if w is None else next(left) for w in own]
            after = h.inline(cell, h.take(x, at, 0), *around, *before)
            kept = [h.update_row(sequence, after[0], at) for sequence in written]
            return [h.add(time, 1), x, *inputs, *after, *kept]

        results = h.loop([h.constant(0, "int32"), x, *present, *first, *outputs], going, step)
        results = results[2 + len(present) :]
        ends.append([h.reshape(end, (1, *state)) for end in results[: len(states)]])
        sequences += [h.reshape(y, (steps, 1, *state)) for y in results[len(states) :]]
    last = [h.concatenate(kind, 0) for kind in zip(*ends, strict=True)]
    return (*last, h.concatenate(sequences, 1)) if return_sequence else tuple(last)


def stack(b: Builder, tensors: Sequence[Tensor], *lead: int) -> Tensor:
    """Stack tensors of equal shape in leading dimensions of these sizes."""
    joined = tensors[0] if len(tensors) == 1 else b.concat(tensors, axis=0)
    return b.reshape(joined, new_shape=(*lead, *tensors[0].shape))


def last_states(
    b: Builder, runs: Sequence[Sequence[tuple[Any, ...]]], direction: str
) -> list[Tensor]:
    """Return the states after the last step, each `[directions, batch, hidden]`."""
    ends = [
        states[0] if backward else states[-1]
        for states, backward in zip(runs, backwards(direction), strict=True)
    ]
    return [stack(b, kind, len(ends)) for kind in zip(*ends, strict=True)]


def sequence(b: Builder, runs: Sequence[Sequence[tuple[Any, ...]]]) -> Tensor:
    """Return the first state of every step, `[steps, directions, batch, hidden]`."""
    at_steps = [state[0] for states in zip(*runs, strict=True) for state in states]
    return stack(b, at_steps, len(runs[0]), len(runs))


def backwards(direction: str) -> tuple[bool, ...]:
    """Return, for each direction, whether it runs from the last step to the first."""
    return {"forward": (False,), "backward": (True,), "both": (False, True)}[direction]
