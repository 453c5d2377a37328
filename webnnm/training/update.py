"""The backward half of a step: gradients, their treatment, and the update of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webnnm.core.errors import DataError, WebNNMError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, Lowered
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Operand
from webnnm.graph.transforms.autodiff import backward
from webnnm.training.clipping import CLIP_STATE, clip_globally, clip_units, global_norm
from webnnm.training.optimizers import Numbers, Optimizer
from webnnm.training.regularisation import add_penalty_gradient, compute_penalty
from webnnm.training.scaling import SCALE, SCALE_STATE, STREAK, all_finite, next_scale
from webnnm.training.vectors import Vector

SLOT, CLOCK, SUM = "opt/", "clock/", "sum/"
TASK_WEIGHT = "task/s/"
VECTOR = "vector/parameters"


@dataclass(frozen=True, kw_only=True)
class UpdateSettings:
    """How gradients become updates; everything here is compiled in.

    - `multipliers`: trainable parameter → learning-rate multiplier, 0 for a frozen one;
      `decays`: parameter → whether weight decay and regularisation apply.
    - `numbers`: the optimizer's settings; `weight_decay`: λ.
    - `accumulate`: how many batches make one update.
    - `scaling`, `scale`, `growth_interval`: spec E.5. `clipping`, `clip_alpha`, `clip_epsilon`,
      `agc_lambda`: spec E.6, with `units`: clipped parameter → the dimensions of its units.
      `lambda1`, `lambda2`: spec E.7, 0 if off.
    """

    multipliers: Mapping[str, float]
    decays: Mapping[str, bool]
    numbers: Mapping[str, float]
    weight_decay: float = 0.0
    accumulate: int = 1
    scaling: bool = False
    scale: float = 1000.0
    growth_interval: int = 1000
    clipping: str = "off"
    clip_alpha: float = 0.95
    clip_epsilon: float = 1e-6
    agc_lambda: float = 0.01
    units: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    lambda1: float = 0.0
    lambda2: float = 0.0


@dataclass(frozen=True)
class UpdateResults:
    """The results of an update: next states, and numbers for the host.

    `is_finite` is a condition, false if the batch overflowed; None if it is not needed. `norm` is
    that of the gradient before clipping. `sums` accumulate over an epoch, `latest` are current
    values.
    """

    state: dict[str, Operand]
    is_finite: Operand | None
    norm: Operand
    gradients: dict[str, Operand]
    sums: dict[str, Operand]
    latest: dict[str, Operand]


def apply_update(
    network: Network,
    lowered: Lowered,
    loss: Operand,
    task_weights: Mapping[str, Operand],
    rate: Operand,
    valid: Operand,
    due: Operand | None,
    optimizer: Optimizer,
    settings: UpdateSettings,
    unscale: Operand | None = None,
    vector: Vector | None = None,
) -> UpdateResults:
    """Return the new values and states of every trainable parameter.

    `loss` is L, `task_weights` the uncertainty weights among its operands, `rate` the learning rate
    of the step, `valid` the rows of the batch, `due` 1 in steps that end an accumulation (None:
    all), `unscale` what gradients are multiplied by first (None: 1/S of the state, where it is
    scaled). The parameters in `vector` are updated as one; its states are named by
    `name_vector_states`. Each gradient is unscaled, regularised, clipped, and passed to the
    optimizer, in this order.
    """
    b, s = lowered.builder, settings
    trainable = _find_trainable(lowered, s)
    scaling = {name: b.input(name, "float32", []) for name in SCALE_STATE} if s.scaling else {}
    targets = trainable | {TASK_WEIGHT + name: weight for name, weight in task_weights.items()}
    gradients = _compute_gradients(b, network, loss, targets, scaling.get(SCALE), unscale)
    state: dict[str, Operand] = {}
    if due is not None:
        gradients = _accumulate(gradients, valid, due, state)
    unclipped = dict(gradients)
    is_finite = all_finite(b, list(gradients.values())) if s.scaling else None
    norm, sums, latest = update_parameters(b, targets, gradients, rate, optimizer, s, state, vector)
    state = _apply_if(lowered, state, is_finite, due)
    if due is not None and "clipped" in sums:
        sums["clipped"] = sums["clipped"] * due
    if is_finite is not None:
        state |= _advance_scale(lowered, scaling, is_finite, due, s.growth_interval)
        finite = b.cast(is_finite, type="float32")
        if "clipped" in sums:
            sums["clipped"] = sums["clipped"] * finite
        overflow = 1 - finite
        sums["overflows"] = overflow if due is None else overflow * due
        latest |= {"scale": state[SCALE], "streak": state[STREAK]}
    return UpdateResults(state, is_finite, norm, unclipped, sums, latest)


def update_parameters(
    b: GraphBuilder,
    targets: Mapping[str, Operand],
    gradients: dict[str, Operand],
    rate: Operand,
    optimizer: Optimizer,
    settings: UpdateSettings,
    state: dict[str, Operand],
    vector: Vector | None = None,
) -> tuple[Operand, dict[str, Operand], dict[str, Operand]]:
    """Regularise and clip gradients, and put the optimizer's results into `state`.

    `targets` are the parameters, and uncertainty weights, which are neither regularised nor
    clipped. Returns the norm of the gradient, the sums over the epoch and the latest values.
    """
    s = settings
    trainable = {name: w for name, w in targets.items() if name in s.multipliers}
    decaying = [name for name in trainable if s.decays[name]]
    for name in decaying:
        g = gradients[name]
        gradients[name] = add_penalty_gradient(b, trainable[name], g, s.lambda1, s.lambda2)
    norm = global_norm(b, [gradients[name] for name in trainable])
    sums, latest = _clip(b, trainable, gradients, norm, s, state)
    if s.lambda1 or s.lambda2:
        weights = [trainable[name] for name in decaying]
        latest["penalty"] = compute_penalty(b, weights, s.lambda1, s.lambda2)
    _optimize(b, targets, gradients, rate, optimizer, s, vector, state)
    return norm, sums, latest


def name_vector_states(vector: Vector, optimizer: Optimizer) -> dict[str, dict[str, str]]:
    """Return the states of a vector, each with the names of the states that it consists of."""
    names = {VECTOR: {name: _state_name(name) for name in vector.shapes}}
    for slot in optimizer.slots:
        names[_slot_name(slot, VECTOR)] = {n: _slot_name(slot, n) for n in vector.shapes}
    return names


def _state_name(name: str) -> str:
    has_own_name = name == VECTOR or name.startswith(TASK_WEIGHT)
    return name if has_own_name else PARAMETER_PREFIX + name


def _slot_name(slot: str, name: str) -> str:
    return f"{SLOT}{slot}/{name}"


def _find_trainable(lowered: Lowered, settings: UpdateSettings) -> dict[str, Operand]:
    """Return the parameters that are not frozen. Raises `DataError` NNM605 if there are none."""
    trainable = {n: lowered.parameters[n] for n, m in settings.multipliers.items() if m > 0}
    if not trainable:
        raise DataError(
            "NNM605",
            "the model has no trainable parameters",
            hint="name one, as in matmul(w), or freeze fewer of them",
        )
    return trainable


def _compute_gradients(
    b: GraphBuilder,
    network: Network,
    loss: Operand,
    targets: Mapping[str, Operand],
    scale: Operand | None,
    unscale: Operand | None,
) -> dict[str, Operand]:
    """Return the gradients of the loss; those of a scaled loss are divided by the scale.

    Raises `ModelError` NNM606 for a parameter that the loss does not depend on.
    """
    gradients: dict[str, Operand] = {}
    scaled = backward(loss, list(targets.values()), scale)
    for name, g in zip(targets, scaled, strict=True):
        if g is None:
            raise _no_gradient_error(network, name)
        factor = unscale
        if scale is not None and unscale is None:
            factor = b.reciprocal(scale)
        gradients[name] = g if factor is None else g * factor
    return gradients


def _clip(
    b: GraphBuilder,
    trainable: Mapping[str, Operand],
    gradients: dict[str, Operand],
    norm: Operand,
    settings: UpdateSettings,
    state: dict[str, Operand],
) -> tuple[dict[str, Operand], dict[str, Operand]]:
    """Clip the gradients in place, and put the statistics of their norm into `state` (spec E.6).

    Returns the sums over the epoch and the latest values to be reported.
    """
    s = settings
    if s.clipping == "global":
        statistics = {name: b.input(name, "float32", []) for name in CLIP_STATE}
        clipped = clip_globally(b, norm, statistics, s.clip_alpha, s.clip_epsilon)
        for name in trainable:
            gradients[name] = gradients[name] * clipped.factor
        state |= clipped.state
        return {"clipped": clipped.clipped}, {"threshold": clipped.threshold}
    if s.clipping == "agc":
        clipped_units = b.constant(0, "float32")
        for name, units in s.units.items():
            w, g = trainable[name], gradients[name]
            gradients[name], above = clip_units(b, w, g, units, s.agc_lambda)
            clipped_units = clipped_units + above
        return {"clipped": b.min(clipped_units, b.constant(1, "float32"))}, {}
    return {}, {}


def _optimize(
    b: GraphBuilder,
    targets: Mapping[str, Operand],
    gradients: Mapping[str, Operand],
    rate: Operand,
    optimizer: Optimizer,
    settings: UpdateSettings,
    vector: Vector | None,
    state: dict[str, Operand],
) -> None:
    """Put the next values of parameters, and of the optimizer's own states, into `state`."""
    s = settings
    clocks = _advance_clocks(b, optimizer, s, state)

    def update_one(
        name: str, w: Operand, g: Operand, multiplier: Operand | float, decay: Operand | float
    ) -> None:
        slots = {
            slot: b.input(_slot_name(slot, name), "float32", shape)
            for slot, shape in optimizer.slot_shapes(w.shape).items()
        }
        numbers = Numbers(
            rate=rate if multiplier == 1 else rate * multiplier,
            decay=decay,
            settings=s.numbers,
            clocks=clocks,
        )
        state[_state_name(name)], next_slots = optimizer.update(b, w, g, slots, numbers)
        state.update({_slot_name(slot, name): value for slot, value in next_slots.items()})

    multipliers = {name: s.multipliers.get(name, 1.0) for name in targets}
    decays = {name: s.weight_decay if s.decays.get(name) else 0.0 for name in targets}
    for name, w in targets.items():
        if vector is None or name not in vector.shapes:
            with b.place(f"update of {name}"):
                update_one(name, w, gradients[name], multipliers[name], decays[name])
    if vector is not None:
        with b.place(f"update of {', '.join(vector.shapes)}"):
            update_one(
                VECTOR,
                b.inputs[VECTOR],
                vector.concatenate(b, gradients),
                vector.spread(b, multipliers),
                vector.spread(b, decays),
            )


def _advance_clocks(
    b: GraphBuilder, optimizer: Optimizer, settings: UpdateSettings, state: dict[str, Operand]
) -> dict[str, Operand]:
    """Return the values of the optimizer's clocks in this update, and put them into `state`."""
    clocks = {
        name: advance(b.input(CLOCK + name, "float32", []), settings.numbers)
        for name, advance in optimizer.clocks.items()
    }
    state.update({CLOCK + name: value for name, value in clocks.items()})
    return clocks


def _accumulate(
    gradients: Mapping[str, Operand], valid: Operand, due: Operand, state: dict[str, Operand]
) -> dict[str, Operand]:
    """Return the mean gradient over the rows since the last update; sums are kept in `state`."""
    b = valid.builder
    is_due = b.greater(due, b.constant(0, "float32"))
    rows = b.input(f"{SUM}rows", "float32", []) + valid
    state[f"{SUM}rows"] = b.where(is_due, b.constant(0, "float32"), rows)
    means: dict[str, Operand] = {}
    for name, g in gradients.items():
        total = b.input(SUM + name, *g.type) + g * valid
        zero = b.expand(b.constant(0, "float32"), new_shape=g.shape)
        state[SUM + name] = b.where(is_due, zero, total)
        means[name] = total / rows
    return means


def _apply_if(
    lowered: Lowered, state: dict[str, Operand], is_finite: Operand | None, due: Operand | None
) -> dict[str, Operand]:
    """Change states only in batches without overflow, and only when an update is due."""
    b = lowered.builder
    condition = is_finite
    if due is not None:
        is_due = b.greater(due, b.constant(0, "float32"))
        condition = is_due if condition is None else b.logical_and(condition, is_due)
    if condition is None:
        return state
    return {
        name: value if name.startswith(SUM) else b.where(condition, value, b.inputs[name])
        for name, value in state.items()
    }


def _advance_scale(
    lowered: Lowered,
    scaling: Mapping[str, Operand],
    is_finite: Operand,
    due: Operand | None,
    growth_interval: int,
) -> dict[str, Operand]:
    b = lowered.builder
    next_state = next_scale(b, scaling, is_finite, growth_interval)
    if due is None:
        return next_state
    is_due = b.greater(due, b.constant(0, "float32"))
    return {name: b.where(is_due, value, scaling[name]) for name, value in next_state.items()}


def _no_gradient_error(network: Network, name: str) -> WebNNMError:
    parameter = next(p for p in network.parameters if p.name == name)
    return network.outline.error(
        "NNM606",
        f'no loss reaches "{name}" by a differentiable path',
        parameter.span,
        "set trainable=false, or remove the operator without a gradient",
    )
