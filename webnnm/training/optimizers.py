"""The optimizers: how a gradient changes a parameter (spec E.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, LARGEST_INVERTIBLE
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of one update of one parameter.

    `rate` is η, the learning rate of this step times the multiplier of the parameter; `decay` the
    weight decay λ, 0 if it does not apply (element by element for several parameters in a
    vector); `settings` the optimizer's own hyperparameters;
    `corrections` holds 1 − βᵗ for every β that the optimizer corrects.
    """

    rate: Operand
    decay: Operand | float
    settings: Mapping[str, float]
    corrections: Mapping[str, Operand] = field(default_factory=dict[str, Operand])


Update = Callable[
    [GraphBuilder, Operand, Operand, Sequence[Operand], Numbers],
    tuple[Operand, tuple[Operand, ...]],
]


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """An optimizer.

    `update(b, w, g, state, numbers)` returns the new parameter and the new state. `slots` names
    the state tensors, each of the shape of the parameter and zero at the start; `corrected` the
    settings β whose 1 − βᵗ it needs, t counting the applied updates from 1. `defaults` are the
    settings that it reads; `decoupled` says that weight decay is not part of the gradient, and
    `sign_like` that steps have nearly the same length whatever the gradient.
    """

    name: str
    slots: tuple[str, ...]
    rate: float
    weight_decay: float
    update: Update
    defaults: Mapping[str, float]
    corrected: tuple[str, ...] = ()
    decoupled: bool = False
    sign_like: bool = False
    aliases: tuple[str, ...] = ()


def _lion(direction: Callable[[GraphBuilder, Operand, Numbers], Operand]) -> Update:
    """c = β1·v + (1−β1)·g; w ← w − η(u(c) + λw); v ← β2·v + (1−β2)·g (Chen et al. 2023)."""

    def update(
        b: GraphBuilder, w: Operand, g: Operand, state: Sequence[Operand], n: Numbers
    ) -> tuple[Operand, tuple[Operand, ...]]:
        (v,) = state
        beta1, beta2 = n.settings["beta1"], n.settings["beta2"]
        u = direction(b, v * beta1 + g * (1 - beta1), n)
        return w - n.rate * _decayed(u, w, n), (v * beta2 + g * (1 - beta2),)

    return update


def _softsign(b: GraphBuilder, c: Operand, n: Numbers) -> Operand:
    """u = αc/(1 + |αc|), a sign that is smooth around 0."""
    steep = c * n.settings["alpha"]
    return steep / (b.abs(steep) + 1)


def _momentum(*, nesterov: bool) -> Update:
    """g' = g + λw; v ← μv + g'; w ← w − ηv, or w ← w − η(g' + μv) (Sutskever et al. 2013)."""

    def update(
        _b: GraphBuilder, w: Operand, g: Operand, state: Sequence[Operand], n: Numbers
    ) -> tuple[Operand, tuple[Operand, ...]]:
        mu = n.settings["momentum_factor"]
        g = _decayed(g, w, n)
        v = state[0] * mu + g
        return w - n.rate * (g + v * mu if nesterov else v), (v,)

    return update


def _adam(*, decoupled: bool) -> Update:
    """m and v are running means of g and g², corrected by 1 − βᵗ (Kingma & Ba 2015).

    w ← w − η·m̂/(√v̂ + ε); decoupled decay adds λw to the step (Loshchilov & Hutter 2019),
    coupled decay adds it to the gradient.
    """

    def update(
        b: GraphBuilder, w: Operand, g: Operand, state: Sequence[Operand], n: Numbers
    ) -> tuple[Operand, tuple[Operand, ...]]:
        if not decoupled:
            g = _decayed(g, w, n)
        beta1, beta2 = n.settings["beta1"], n.settings["beta2"]
        m = state[0] * beta1 + g * (1 - beta1)
        v = state[1] * beta2 + g * g * (1 - beta2)
        # Some devices compute roots of larger numbers wrongly; such a gradient is useless anyway.
        square = b.min(min(LARGEST_INVERTIBLE, FLOAT_INFO[v.dtype].max), v / n.corrections["beta2"])
        size = b.sqrt(square) + n.settings["epsilon"]
        step = m / n.corrections["beta1"] / size
        return w - n.rate * (_decayed(step, w, n) if decoupled else step), (m, v)

    return update


def _decayed(change: Operand, w: Operand, n: Numbers) -> Operand:
    return change + w * n.decay if n.decay else change


_LION = {"beta1": 0.9, "beta2": 0.99}
_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}

_ALL = (
    Optimizer(
        name="rlion",
        slots=("v",),
        rate=5e-2,
        weight_decay=0.01,
        update=_lion(_softsign),
        defaults={**_LION, "alpha": 10.0},
        decoupled=True,
        sign_like=True,
    ),
    Optimizer(
        name="lion",
        slots=("v",),
        rate=1e-2,
        weight_decay=0.01,
        update=_lion(lambda b, c, _: b.sign(c)),
        defaults=_LION,
        decoupled=True,
        sign_like=True,
    ),
    Optimizer(
        name="nesterov",
        slots=("v",),
        rate=2e-2,
        weight_decay=1e-4,
        update=_momentum(nesterov=True),
        defaults={"momentum_factor": 0.9},
        aliases=("nag",),
    ),
    Optimizer(
        name="sgdm",
        slots=("v",),
        rate=2e-2,
        weight_decay=1e-4,
        update=_momentum(nesterov=False),
        defaults={"momentum_factor": 0.9},
    ),
    Optimizer(
        name="adam",
        slots=("m", "v"),
        rate=1e-2,
        weight_decay=0.0,
        update=_adam(decoupled=False),
        defaults=_ADAM,
        corrected=("beta1", "beta2"),
    ),
    Optimizer(
        name="adamw",
        slots=("m", "v"),
        rate=1e-2,
        weight_decay=0.25,
        update=_adam(decoupled=True),
        defaults=_ADAM,
        corrected=("beta1", "beta2"),
        decoupled=True,
    ),
)

OPTIMIZERS: Mapping[str, Optimizer] = {
    word: optimizer for optimizer in _ALL for word in (optimizer.name, *optimizer.aliases)
}
"""The optimizers by name and alias."""


def optimizer_of(settings: Mapping[str, Any]) -> Optimizer | None:
    """Return the optimizer that settings name, None if they name none."""
    return OPTIMIZERS.get(settings.get("optimizer", ""))
