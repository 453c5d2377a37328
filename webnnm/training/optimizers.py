"""The optimizers: how a gradient changes a parameter (spec E.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

Update = Callable[..., tuple[Operand, tuple[Operand, ...]]]


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """An optimizer.

    `update(b, w, g, state, rate, decay, settings)` returns the new parameter and the new state;
    `rate` is the learning rate of this step as a tensor, `decay` the weight decay λ of this
    parameter (0 where it does not apply). `slots` names the state tensors, each of the shape of
    the parameter and zero at the start. `defaults` are the settings that it reads.
    """

    name: str
    slots: tuple[str, ...]
    rate: float
    weight_decay: float
    update: Update
    defaults: Mapping[str, float] = field(default_factory=dict[str, float])
    aliases: tuple[str, ...] = ()


def _rlion(
    b: GraphBuilder,
    w: Operand,
    g: Operand,
    state: Sequence[Operand],
    rate: Operand,
    decay: float,
    settings: Mapping[str, float],
) -> tuple[Operand, tuple[Operand, ...]]:
    """c = β1·v + (1−β1)·g; u = αc/(1 + |αc|); w ← w − η(u + λw); v ← β2·v + (1−β2)·g."""
    (v,) = state
    beta1, beta2 = settings["beta1"], settings["beta2"]
    steep = (v * beta1 + g * (1 - beta1)) * settings["alpha"]
    direction = steep / (b.abs(steep) + 1)
    if decay:
        direction = direction + w * decay
    return w - rate * direction, (v * beta2 + g * (1 - beta2),)


def _sgdm(
    _b: GraphBuilder,
    w: Operand,
    g: Operand,
    state: Sequence[Operand],
    rate: Operand,
    decay: float,
    settings: Mapping[str, float],
) -> tuple[Operand, tuple[Operand, ...]]:
    """g' = g + λw; v ← μv + g'; w ← w − ηv."""
    if decay:
        g = g + w * decay
    v = state[0] * settings["momentum_factor"] + g
    return w - rate * v, (v,)


RLION = Optimizer(
    name="rlion",
    slots=("v",),
    rate=1e-2,
    weight_decay=0.01,
    update=_rlion,
    defaults={"beta1": 0.9, "beta2": 0.99, "alpha": 10.0},
)

SGDM = Optimizer(
    name="sgdm",
    slots=("v",),
    rate=5e-3,
    weight_decay=1e-4,
    update=_sgdm,
    defaults={"momentum_factor": 0.9},
)

OPTIMIZERS: Mapping[str, Optimizer] = {
    word: optimizer for optimizer in (RLION, SGDM) for word in (optimizer.name, *optimizer.aliases)
}
