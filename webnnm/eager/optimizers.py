"""Optimizers as functions over containers of arrays: the updates that `NNModel.train` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, show
from webnnm.eager.array import Array, operand_like
from webnnm.eager.calls import as_arrays, evaluate
from webnnm.eager.creation import zeros
from webnnm.eager.dtypes import float32, int32
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.eager.trees import Structure, flatten, tree_map, unflatten
from webnnm.eager.types import astype
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph, Operand
from webnnm.training.clipping import CLIP_STATE
from webnnm.training.optimizers import OPTIMIZERS, SlotShape
from webnnm.training.settings import FinalSettings, parse_settings
from webnnm.training.step_settings import RATE
from webnnm.training.units import product_units
from webnnm.training.update import CLOCK, SLOT, UpdateSettings, update_parameters

Rate = float | Array | Callable[[Array], float | Array]
"""A learning rate, or a function that returns it for a step, counted from 1."""

GRADIENT = "gradient/"
COMMON = (
    *("lr", "weight_decay", "regularization", "lambda1", "lambda2"),
    *("gradient_clipping", "clip_alpha", "clip_epsilon", "agc_lambda"),
)
"""The hyperparameters that all optimizers read."""


class _Slot(NamedTuple):
    """A slot, the structure of its container, and the positions of the parameters that have it."""

    name: str
    structure: Structure
    owners: list[int]


def optimizer(
    name: str = "adamw",
    *,
    lr: Rate | None = None,
    decays: Any = None,
    multipliers: Any = None,
    **settings: Any,
) -> ContainerOptimizer:
    """Return an optimizer for custom training loops, as functions over containers of arrays.

    >>> from webnnm import grad, optimizer, xp
    >>> adam = optimizer("adam", lr=0.1)
    >>> params = {"w": xp.ones(2)}
    >>> state = adam.init(params)
    >>> for _ in range(3):
    ...     gradients = grad(lambda p: xp.sum(p["w"] ** 2))(params)
    ...     params, state = adam.update(gradients, state, params)
    >>> xp.round(params["w"] * 10)
    Array([7.0, 7.0], dtype=float32)

    - `name`: as `optimizer` of `NNModel.train`. `settings` are its hyperparameters that say how a
      gradient changes a parameter: `weight_decay`, those of the optimizer, such as `beta1`, and
      those of regularisation and clipping, such as `gradient_clipping="global"`.
    - `lr`: the learning rate; a `schedule`, or another function of the step number, a float32 array
      that counts from 1; by default the optimizer's own.
    - `decays`: a container of booleans with the structure of the parameters, which says where
      weight decay and regularisation apply; by default to arrays of two or more dimensions.
    - `multipliers`: a container of numbers by which the learning rate is multiplied.

    The formulas are those of `NNModel.train` (spec E.2, E.6 and E.7), and the numbers are the same.
    `gradient_clipping="agc"` clips every array separately, matrices column by column.

    Raises `DataError` NNM703 for settings that the optimizer does not have, NNM704 for values out
    of range.
    """
    is_fixed = lr is not None and not callable(lr) and not isinstance(lr, Array)
    parsed = parse_settings({"optimizer": name, **settings, **({"lr": lr} if is_fixed else {})})
    chosen = OPTIMIZERS[parsed.optimizer]
    accepted = [*COMMON, *chosen.defaults]
    for setting in parsed.explicit - {"optimizer"}:
        if setting not in accepted:
            hint = f"it has {', '.join(accepted)}"
            raise DataError("NNM703", f'"{chosen.name}" has no "{setting}" by itself', hint=hint)
    complete = parsed.finish_without_data()
    rate = lr if callable(lr) or isinstance(lr, Array) else complete.lr
    return ContainerOptimizer(complete, rate, decays, multipliers)


class ContainerOptimizer:
    """An optimizer over containers of arrays, made by `optimizer`.

    Parameters are nested containers of float32 arrays; gradients have the same structure. The state
    is a dictionary of arrays: `step`, the number of updates so far, and the optimizer's moments,
    None where a parameter has none of a kind.
    """

    def __init__(self, settings: FinalSettings, rate: Rate, decays: Any, multipliers: Any) -> None:
        self._settings, self._rate = settings, rate
        self._decays, self._multipliers = decays, multipliers
        self._optimizer = OPTIMIZERS[settings.optimizer]
        self._graphs: dict[Any, tuple[Graph, list[_Slot]]] = {}

    def init(self, params: Any) -> dict[str, Any]:
        """Return the state before the first update.

        Raises `ArrayTypeError` for parameters that are not float32.
        """
        device = _parameters(flatten(params)[0])[0].device
        moments = {
            slot: tree_map(partial(_zeros_for, shape_of), params)
            for slot, shape_of in self._optimizer.slots.items()
        }
        statistics = {name: zeros((), device=device) for name in self._statistics}
        step = zeros((), dtype=int32, device=device)
        return {"step": step, "moments": moments, "statistics": statistics}

    def update(
        self, gradients: Any, state: Mapping[str, Any], params: Any, lr: float | Array | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the parameters after a step, and the state after it.

        `lr` replaces the learning rate that the optimizer was made with.

        Raises `ArrayValueError` if gradients do not have the structure of the parameters.
        """
        leaves, structure = flatten(params)
        weights = _parameters(leaves)
        shapes = [w.shape for w in weights]
        slopes = _parameters(_flatten_like("gradients", gradients, structure))
        if [g.shape for g in slopes] != shapes:
            first = next(at for at, g in enumerate(slopes) if g.shape != shapes[at])
            raise ArrayValueError(
                f"a gradient is {show(slopes[first].shape)}, its parameter {show(shapes[first])}"
            )
        step = state["step"] + 1
        rate = self._rate if lr is None else lr
        rate = rate(astype(step, float32)) if callable(rate) else rate
        trees = {PARAMETER_PREFIX: weights, GRADIENT: slopes}
        arrays = {f"{name}{at}": x for name, tree in trees.items() for at, x in enumerate(tree)}
        graph, slots = self._compile(structure, shapes)
        for slot, own, owners in slots:
            moments = as_arrays(_flatten_like("moments", state["moments"][slot], own))
            arrays |= {f"{SLOT}{slot}/{at}": x for at, x in zip(owners, moments, strict=True)}
        arrays |= {**state["statistics"], RATE: _scalar(rate, weights[0])}
        outputs = evaluate(graph, arrays)
        moments = {
            slot: unflatten(own, (outputs[f"{SLOT}{slot}/{at}"] for at in owners))
            for slot, own, owners in slots
        }
        statistics = {name: outputs[name] for name in self._statistics}
        after = {"step": step, "moments": moments, "statistics": statistics}
        new = (outputs[f"{PARAMETER_PREFIX}{at}"] for at in range(len(weights)))
        return unflatten(structure, new), after

    @property
    def _statistics(self) -> list[str]:
        """The state that it keeps for all parameters together."""
        clocks = [CLOCK + name for name in self._optimizer.clocks]
        return clocks + [*CLIP_STATE] * (self._settings.gradient_clipping == "global")

    def _compile(self, structure: Structure, shapes: Sequence[Shape]) -> tuple[Graph, list[_Slot]]:
        """Return the graph of one update of parameters of these shapes, and their slots."""
        key = structure, tuple(shapes)
        if key not in self._graphs:
            self._graphs[key] = self._build(structure, shapes), self._slots(structure, shapes)
        return self._graphs[key]

    def _slots(self, structure: Structure, shapes: Sequence[Shape]) -> list[_Slot]:
        slots: list[_Slot] = []
        for slot, shape_of in self._optimizer.slots.items():
            has_slot = [shape_of(shape) is not None for shape in shapes]
            tree = unflatten(structure, (True if has else None for has in has_slot))
            owners = [at for at, has in enumerate(has_slot) if has]
            slots.append(_Slot(slot, flatten(tree)[1], owners))
        return slots

    def _build(self, structure: Any, shapes: Sequence[Shape]) -> Graph:
        b, state = GraphBuilder(), dict[str, Operand]()
        names = [str(at) for at in range(len(shapes))]
        weights, slopes = (
            {
                n: b.input(prefix + n, "float32", shape)
                for n, shape in zip(names, shapes, strict=True)
            }
            for prefix in (PARAMETER_PREFIX, GRADIENT)
        )
        decaying, factors = [len(shape) > 1 for shape in shapes], [1.0] * len(shapes)
        if self._decays is not None:
            decaying = [bool(flag) for flag in _flatten_like("decays", self._decays, structure)]
        if self._multipliers is not None:
            factors = [float(x) for x in _flatten_like("multipliers", self._multipliers, structure)]
        s = self._settings
        update = UpdateSettings(
            multipliers=dict(zip(names, factors, strict=True)),
            decays=dict(zip(names, decaying, strict=True)),
            numbers={name: getattr(s, name) for name in self._optimizer.defaults},
            weight_decay=s.weight_decay,
            clipping=s.gradient_clipping,
            clip_alpha=s.clip_alpha,
            clip_epsilon=s.clip_epsilon,
            agc_lambda=s.agc_lambda,
            units={name: _units(shape) for name, shape in zip(names, shapes, strict=True)},
            lambda1=s.lambda1 if "L1" in s.regularization else 0.0,
            lambda2=s.lambda2 if "L2" in s.regularization else 0.0,
        )
        update_parameters(
            b, weights, slopes, b.input(RATE, "float32", []), self._optimizer, update, state
        )
        return b.build(state)

    def __repr__(self) -> str:
        return f"ContainerOptimizer({self._optimizer.name}, lr={self._rate})"


def _parameters(leaves: Sequence[Any]) -> list[Array]:
    """Return leaves as arrays. Raises `ArrayTypeError` unless they are float32."""
    parameters = as_arrays(leaves)
    for p in parameters:
        if p.dtype is not float32 or not p.size:
            raise ArrayTypeError(
                f"an optimizer takes arrays of float32, not {p.dtype}{show(p.shape)}",
                "keep parameters in float32, and convert them with `xp.astype` where they are used",
            )
    if not parameters:
        raise ArrayValueError("there are no parameters", "pass a container of arrays")
    return parameters


def _flatten_like(what: str, tree: Any, structure: Structure) -> list[Any]:
    """Return the leaves of containers with the structure of the parameters."""
    leaves, same = flatten(tree)
    if same != structure:
        raise ArrayValueError(f"{what} are not structured like the parameters", "check their keys")
    return leaves


def _zeros_for(shape_of: SlotShape, parameter: Array) -> Array | None:
    """Return the first value of a slot of a parameter, None if it has no such slot."""
    shape = shape_of(parameter.shape)
    return None if shape is None else zeros(shape, device=parameter.device)


def _scalar(rate: float | Array, like: Array) -> Array:
    if isinstance(rate, Array) and rate.ndim:
        raise ArrayValueError(f"a learning rate is one number, not {show(rate.shape)}")
    return operand_like(rate, like)


def _units(shape: Shape) -> tuple[int, ...]:
    """Return the unit dimensions of a weight `[…, in, out]`, as `find_unit_axes` does."""
    rank = len(shape)
    return product_units(rank, rank - 2) if rank > 1 else ()
