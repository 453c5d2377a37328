"""Choose the initialiser of every parameter (spec B.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from webnnm.core.shapes import Shape, count
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex, Vertex
from webnnm.notation.syntax import Call, Number
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.traits import Trait

Kind = Literal["constant", "parts", "uniform", "normal", "truncatedNormal", "file"]

WEIGHTS = ("weight", "recurrent")
"""Roles of parameters whose fan-in and fan-out their layer may define."""

TRANSPARENT: frozenset[Trait] = frozenset({"additive", "normalization", "passing", "pooling"})
"""What may stand between weights and the activation that decides how they start."""


@dataclass(frozen=True)
class Initialiser:
    """How a parameter starts: `constant(a)`, `uniform(a, b)`, `normal(std a, mean b)`.

    `parts` has one constant for each of the equal parts of the last dimension. Parameters that
    start with a value from a file have the kind `file`, which draws nothing.
    """

    kind: Kind
    a: float = 0.0
    b: float = 0.0
    parts: tuple[float, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        if self.kind == "file":
            return self.kind
        pair = (self.a,) if self.kind == "constant" else (self.a, self.b)
        numbers = self.parts or pair
        return f"{self.kind}({', '.join(f'{number:.4g}' for number in numbers)})"


def initialisers(network: Network) -> dict[str, Initialiser]:
    """Return the initialiser of every parameter, by name.

    Raises `ModelError` NNM303 for an unknown initialiser or wrong arguments.
    """
    users = _users(network)
    return {
        parameter.name: _read_initialiser(network.outline, parameter)
        if parameter.init is not None
        else _default(parameter, users)
        for parameter in network.parameters
    }


def check_initialisers(network: Network) -> None:
    """Raise `ModelError` NNM303 for an unknown initialiser or wrong arguments."""
    for parameter in network.parameters:
        if parameter.init is not None:
            _read_initialiser(network.outline, parameter)


def _read_initialiser(outline: Outline, parameter: ParameterVertex) -> Initialiser:
    init = parameter.init
    assert init is not None
    name = str(init.function) if isinstance(init, Call) else str(init)
    arguments = [
        argument.value
        for argument in (init.arguments if isinstance(init, Call) else ())
        if isinstance(argument, Number)
    ]
    fan_in, fan_out = fans(parameter)
    match name, arguments:
        case "zeros", []:
            return Initialiser("constant", 0)
        case "ones", []:
            return Initialiser("constant", 1)
        case "constant", [value]:
            return Initialiser("constant", value)
        case "normal" | "truncatedNormal", [std, *mean] if len(mean) <= 1:
            return Initialiser(name, std, *mean)
        case "uniform", [low, high]:
            return Initialiser("uniform", low, high)
        case "he", []:
            return _symmetric(math.sqrt(6 / fan_in))
        case "heNormal", []:
            return Initialiser("normal", math.sqrt(2 / fan_in))
        case "glorot", []:
            return _symmetric(math.sqrt(6 / (fan_in + fan_out)))
        case "glorotNormal", []:
            return Initialiser("normal", math.sqrt(2 / (fan_in + fan_out)))
        case _:
            from webnnm.graph.elaboration.unknown_initialiser import unknown_initialiser_error

            raise unknown_initialiser_error(outline, name, len(arguments), init.span)


def _symmetric(radius: float) -> Initialiser:
    return Initialiser("uniform", -radius, radius)


def _default(parameter: ParameterVertex, users: dict[int, list[LayerVertex]]) -> Initialiser:
    if parameter.value is not None:
        return Initialiser("file")
    shape = parameter.features[0].sizes()
    user = parameter.user
    following = _next_activation(user, users) if user is not None else None
    match parameter.role:
        case "weight" | "projection" | "other" if len(shape) >= 2:
            fan_in, fan_out = fans(parameter)
            rectified = following is not None and "rectifying" in following.traits
            if rectified and parameter.role == "weight":
                return _symmetric(math.sqrt(6 / fan_in))
            return _symmetric(math.sqrt(6 / (fan_in + fan_out)))
        case "recurrent":
            fan_in, fan_out = fans(parameter)
            return _symmetric(math.sqrt(6 / (fan_in + fan_out)))
        case "gates":
            return Initialiser("parts", parts=_open_gates(user))
        case "additive":
            rectified = following is not None and following.silent_below == 0
            return Initialiser("constant", 0.01 if rectified else 0.0)
        case "ones":
            return Initialiser("constant", 1)
        case "slope":
            return Initialiser("constant", 0.25)
        case "table":
            return Initialiser("normal", 0.02)
        case _:
            return Initialiser("constant", 0)


def _open_gates(user: LayerVertex | None) -> tuple[float, ...]:
    """Return 1 for the forget gate and 0 for the others, in the order of the layer's `layout`."""
    layout: str = user.options["layout"] if user is not None else "iofg"
    return tuple(float(gate == "f") for gate in layout)


def fans(parameter: ParameterVertex) -> tuple[int, int]:
    """Return fan-in and fan-out of a parameter as its first layer uses it."""
    shape: Shape = parameter.features[0].sizes()
    user = parameter.user
    if user is not None and user.rules.fans is not None and parameter.role in WEIGHTS:
        return user.rules.fans(shape, user.options)
    if len(shape) < 2:
        return count(shape), count(shape)
    if user is not None and user.options.get("b_transpose"):
        shape = (*shape[:-2], shape[-1], shape[-2])
    return count(shape[:-1]), shape[-1]


def _next_activation(user: LayerVertex, users: dict[int, list[LayerVertex]]) -> AnyOperator | None:
    """Return the first operator after a layer that is not transparent to initialisation."""
    vertex = user
    for _ in range(len(users) + 1):
        following = users.get(id(vertex), [])
        if not following:
            return None
        vertex = following[0]
        if vertex.operator.traits.isdisjoint(TRANSPARENT):
            return vertex.operator
    return None


def _users(network: Network) -> dict[int, list[LayerVertex]]:
    """Return, for each vertex, the layers that take it as first operand."""
    users: dict[int, list[LayerVertex]] = {}
    for layer in network.layers:
        inputs: Sequence[Vertex] = [source.vertex for source in layer.operands[:1]]
        for vertex in inputs:
            users.setdefault(id(vertex), []).append(layer)
    return users
