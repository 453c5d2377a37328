"""The optimizers: how a gradient changes a parameter (spec E.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from webnnm.core.dtypes import FLOAT_INFO, LARGEST_INVERTIBLE
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

State = Mapping[str, Operand]
"""What an optimizer keeps for a parameter, by slot."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of one update of one parameter.

    `rate` is η, the learning rate of this step times the multiplier of the parameter; `decay` the
    weight decay λ, 0 if it does not apply (element by element for several parameters in a
    vector); `settings` the optimizer's own hyperparameters; `clocks` the values of its clocks.
    """

    rate: Operand
    decay: Operand | float
    settings: Mapping[str, float]
    clocks: Mapping[str, Operand] = field(default_factory=dict[str, Operand])


Update = Callable[[GraphBuilder, Operand, Operand, State, Numbers], tuple[Operand, State]]

SlotShape = Callable[[Shape], Shape | None]
"""The shape of a slot by that of its parameter, None for parameters without this slot."""

Clock = Callable[[Operand, Mapping[str, float]], Operand]
"""The next value of a number that all parameters share, by its value and the settings."""


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """An optimizer: everything that the system knows about it.

    - `update(b, w, g, state, numbers)` returns the new parameter and the new state; `formula` says
      the same for documents: g is the gradient, w the parameter, η the rate, λ the weight decay.
    - `slots` names the state tensors of a parameter, each with its shape; they start at zero.
      `clocks` names numbers that all parameters share, 0 before the first update, each with how it
      changes with every applied update.
    - `rate` and `weight_decay` are the defaults of `lr` and `weight_decay`; `defaults` those of the
      other settings that it reads.
    - `elementwise`: each element changes by itself, whatever the others of its parameter are.
    - `decoupled`: weight decay is not part of the gradient.
    - `sign_like`: steps have nearly the same length whatever the gradient.
    - `adaptive`: steps are divided by a root of a mean square of gradients.
    - `descent`: steps are the gradient, or its sum with decay: gradient descent, heavy ball.
    """

    name: str
    slots: Mapping[str, SlotShape]
    rate: float
    weight_decay: float
    update: Update
    formula: str
    defaults: Mapping[str, float]
    clocks: Mapping[str, Clock] = field(default_factory=dict[str, Clock])
    elementwise: bool = True
    decoupled: bool = False
    sign_like: bool = False
    adaptive: bool = False
    descent: bool = False
    aliases: tuple[str, ...] = ()

    def slot_shapes(self, shape: Shape) -> dict[str, Shape]:
        """Return the slots that a parameter of a shape has, with their shapes.

        >>> OPTIMIZERS["adam"].slot_shapes((3, 4)), OPTIMIZERS["adafactor"].slot_shapes((3, 4))
        ({'m': (3, 4), 'v': (3, 4)}, {'row': (3,), 'column': (4,)})
        """
        shapes = {name: slot_shape(shape) for name, slot_shape in self.slots.items()}
        return {name: shape for name, shape in shapes.items() if shape is not None}


def same_shape(shape: Shape) -> Shape:
    """The shape of a slot with a number for each element of the parameter."""
    return shape


def _bias_correction(beta: str) -> Clock:
    """1 − βᵗ as c ← βc + (1 − β), which remains exact where a power would cancel."""
    return lambda c, settings: c * settings[beta] + (1 - settings[beta])


def _lion(direction: Callable[[GraphBuilder, Operand, Numbers], Operand]) -> Update:
    """c = β1·v + (1−β1)·g; w ← w − η(u(c) + λw); v ← β2·v + (1−β2)·g (Chen et al. 2023)."""

    def update(
        b: GraphBuilder, w: Operand, g: Operand, state: State, n: Numbers
    ) -> tuple[Operand, State]:
        v = state["v"]
        beta1, beta2 = n.settings["beta1"], n.settings["beta2"]
        u = direction(b, v * beta1 + g * (1 - beta1), n)
        return w - n.rate * _add_decay(u, w, n), {"v": v * beta2 + g * (1 - beta2)}

    return update


def _softsign(b: GraphBuilder, c: Operand, n: Numbers) -> Operand:
    """u = αc/(1 + |αc|), a sign that is smooth around 0."""
    steep = c * n.settings["alpha"]
    return steep / (b.abs(steep) + 1)


def _momentum(*, nesterov: bool) -> Update:
    """g' = g + λw; v ← μv + g'; w ← w − ηv, or w ← w − η(g' + μv) (Sutskever et al. 2013)."""

    def update(
        _b: GraphBuilder, w: Operand, g: Operand, state: State, n: Numbers
    ) -> tuple[Operand, State]:
        mu = n.settings["momentum_factor"]
        g = _add_decay(g, w, n)
        v = state["v"] * mu + g
        return w - n.rate * (g + v * mu if nesterov else v), {"v": v}

    return update


def _adam(*, decoupled: bool) -> Update:
    """m and v are running means of g and g², corrected by 1 − βᵗ (Kingma & Ba 2015).

    w ← w − η·m̂/(√v̂ + ε); decoupled decay adds λw to the step (Loshchilov & Hutter 2019),
    coupled decay adds it to the gradient.
    """

    def update(
        b: GraphBuilder, w: Operand, g: Operand, state: State, n: Numbers
    ) -> tuple[Operand, State]:
        if not decoupled:
            g = _add_decay(g, w, n)
        beta1, beta2 = n.settings["beta1"], n.settings["beta2"]
        m = state["m"] * beta1 + g * (1 - beta1)
        v = state["v"] * beta2 + g * g * (1 - beta2)
        # Some devices compute roots of larger numbers wrongly; such a gradient is useless anyway.
        square = b.min(min(LARGEST_INVERTIBLE, FLOAT_INFO[v.dtype].max), v / n.clocks["beta2"])
        size = b.sqrt(square) + n.settings["epsilon"]
        step = m / n.clocks["beta1"] / size
        return w - n.rate * (_add_decay(step, w, n) if decoupled else step), {"m": m, "v": v}

    return update


def _gradient_descent(
    _b: GraphBuilder, w: Operand, g: Operand, _state: State, n: Numbers
) -> tuple[Operand, State]:
    """w ← w − η(g + λw)."""
    return w - n.rate * _add_decay(g, w, n), {}


FORGETTING = 0.8
"""β₂ of the t-th update is 1 − t^−0.8 (Shazeer & Stern 2018, section 7.2)."""
SMALLEST_RATIO = 1e-30
"""Rows without gradients, relative to the mean of all rows: their steps are 0 by far."""


def _adafactor(
    b: GraphBuilder, w: Operand, g: Operand, state: State, n: Numbers
) -> tuple[Operand, State]:
    """V is the running mean of g² + ε; w ← w − η(u + λw), u = g/√V, its root mean square ≤ 1.

    Of a matrix only the means of V over its rows and its columns are kept, whose product, divided
    by the mean of all, stands for V (Shazeer & Stern 2018, algorithms 4 and 5). Steps are η
    without the paper's relative step size, and there is no momentum.
    """
    new = b.pow(n.clocks["t"], -FORGETTING)
    # The mean of any number of them is finite; such a gradient is useless anyway.
    largest = min(LARGEST_INVERTIBLE, FLOAT_INFO[g.dtype].max) / max(1, count(g.shape))
    square = b.min(largest, g * g) + n.settings["epsilon"]

    def mean(slot: str, value: Operand) -> Operand:
        return state[slot] * (1 - new) + value * new

    if "v" in state:
        means = {"v": mean("v", square)}
        step = g / b.sqrt(means["v"])
    else:
        last = g.rank - 1
        row = mean("row", b.reduce_mean(square, axes=[last]))
        column = mean("column", b.reduce_mean(square, axes=[last - 1]))
        means = {"row": row, "column": column}
        # Divided by one root after the other: the product could leave the range of numbers.
        ratio = row / b.reduce_mean(row, axes=[last - 1], keep_dimensions=True)
        rows = b.reshape(b.sqrt(b.max(ratio, SMALLEST_RATIO)), new_shape=[*row.shape, 1])
        columns = b.reshape(b.sqrt(column), new_shape=[*g.shape[:-2], 1, g.shape[-1]])
        step = g / columns / rows
    step = step / b.max(1.0, b.sqrt(b.reduce_mean(step * step)))
    return w - n.rate * _add_decay(step, w, n), means


def _add_decay(change: Operand, w: Operand, n: Numbers) -> Operand:
    return change + w * n.decay if n.decay else change


_LION = {"beta1": 0.9, "beta2": 0.99}
_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
_CORRECTIONS = {beta: _bias_correction(beta) for beta in ("beta1", "beta2")}

_ALL = (
    Optimizer(
        name="rlion",
        slots={"v": same_shape},
        rate=5e-2,
        weight_decay=0.01,
        update=_lion(_softsign),
        formula="as lion with αc/(1 + |αc|), a sign that is smooth around 0, in place of sign c",
        defaults={**_LION, "alpha": 10.0},
        decoupled=True,
        sign_like=True,
    ),
    Optimizer(
        name="lion",
        slots={"v": same_shape},
        rate=1e-2,
        weight_decay=0.01,
        update=_lion(lambda b, c, _: b.sign(c)),
        formula="c = β₁v + (1 − β₁)g; w ← w − η(sign c + λw); v ← β₂v + (1 − β₂)g",
        defaults=_LION,
        decoupled=True,
        sign_like=True,
    ),
    Optimizer(
        name="nesterov",
        slots={"v": same_shape},
        rate=2e-2,
        weight_decay=1e-4,
        update=_momentum(nesterov=True),
        formula="g' = g + λw; v ← μv + g'; w ← w − η(g' + μv)",
        defaults={"momentum_factor": 0.9},
        aliases=("nag",),
    ),
    Optimizer(
        name="sgdm",
        slots={"v": same_shape},
        rate=2e-2,
        weight_decay=1e-4,
        update=_momentum(nesterov=False),
        formula="g' = g + λw; v ← μv + g'; w ← w − ηv",
        defaults={"momentum_factor": 0.9},
        descent=True,
    ),
    Optimizer(
        name="adam",
        slots={"m": same_shape, "v": same_shape},
        rate=1e-2,
        weight_decay=0.0,
        update=_adam(decoupled=False),
        formula=(
            "of g' = g + λw the means m and v of g' and g'², each divided by 1 − βᵗ; "
            "w ← w − η·m/(√v + ε)"
        ),
        defaults=_ADAM,
        clocks=_CORRECTIONS,
        adaptive=True,
    ),
    Optimizer(
        name="adamw",
        slots={"m": same_shape, "v": same_shape},
        rate=1e-2,
        weight_decay=0.25,
        update=_adam(decoupled=True),
        formula="as adam of g alone; w ← w − η(m/(√v + ε) + λw)",
        defaults=_ADAM,
        clocks=_CORRECTIONS,
        adaptive=True,
        decoupled=True,
    ),
    Optimizer(
        name="sgd",
        slots={},
        rate=1e-1,
        weight_decay=1e-4,
        update=_gradient_descent,
        formula="w ← w − η(g + λw)",
        defaults={},
        descent=True,
    ),
    Optimizer(
        name="adafactor",
        slots={
            "row": lambda shape: shape[:-1] if len(shape) > 1 else None,
            "column": lambda shape: (*shape[:-2], shape[-1]) if len(shape) > 1 else None,
            "v": lambda shape: shape if len(shape) < 2 else None,
        },
        rate=1e-2,
        weight_decay=0.0,
        update=_adafactor,
        formula=(
            "v ← β₂v + (1 − β₂)(g² + ε) with β₂ = 1 − t^−0.8, of matrices only the means over rows "
            "and columns are kept; u = g/√v, divided by its root mean square where that is above "
            "1; w ← w − η(u + λw) (Shazeer & Stern 2018, without the relative step size)"
        ),
        defaults={"epsilon": 1e-30},
        clocks={"t": lambda t, _: t + 1},
        elementwise=False,
        decoupled=True,
        adaptive=True,
    ),
)

OPTIMIZERS: Mapping[str, Optimizer] = {
    name: optimizer for optimizer in _ALL for name in (optimizer.name, *optimizer.aliases)
}
"""The optimizers by name and alias."""
