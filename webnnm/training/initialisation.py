"""The initial values of parameters, computed from random bytes in a graph (spec B.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.initialise import Initialiser
from webnnm.graph.node import Graph, Operand
from webnnm.ops.declare.generator import MODULI, skip_numbers
from webnnm.ops.declare.tensors import TensorType

TRUNCATION_TRIES = 4
"""Draws per element of a truncated normal; the chance that all are beyond ±2 σ is 4·10⁻⁶."""


def build_initial_graph(
    parameters: Mapping[str, TensorType], initialisers: Mapping[str, Initialiser]
) -> Graph:
    """Return the graph that turns one byte tensor per random parameter into initial values.

    Its inputs are named like the parameters that need bytes, its outputs like all parameters.
    """
    b = GraphBuilder()
    outputs: dict[str, Operand] = {}
    for name, (dtype, shape) in parameters.items():
        initialiser = initialisers[name]
        size = count_bytes(initialiser, shape)
        if size:
            raw = b.input(name, "uint8", [size])
            value = _draw(b, raw, initialiser, shape)
        elif initialiser.parts:
            value = _fill_parts(b, initialiser.parts, shape)
        else:
            value = b.constant(initialiser.a, "float32")
        outputs[name] = _cast_and_reshape(b, value, dtype, shape)
    return b.build(outputs)


def draw_initial_bytes(
    seed: int,
    parameters: Mapping[str, TensorType],
    initialisers: Mapping[str, Initialiser],
    *purpose: object,
) -> dict[str, HostArray]:
    """Return the bytes for `build_initial_graph`, each parameter from its own stream.

    `purpose` is the stream's purpose and leading parts, by default initialisation.
    """
    first, *parts = purpose or (Purpose.INITIALISATION,)
    arrays: dict[str, HostArray] = {}
    for name, (_, shape) in parameters.items():
        size = count_bytes(initialisers[name], shape)
        if size:
            data = Stream(seed, int(str(first)), *parts, name).bytes(size)
            arrays[name] = HostArray("uint8", [size], data)
    return arrays


def build_generator_graph(
    generators: Mapping[str, Sequence[str]], shapes: Mapping[str, Shape], draws: int = 0
) -> Graph:
    """Return the graph that turns bytes into initial states 1 … m − 1 of random generators.

    `generators` are the names of the states of each layer; inputs and outputs are named like them.
    The states are those after `draws` numbers were drawn from each.
    """
    b = GraphBuilder()
    outputs: dict[str, Operand] = {}
    for states in generators.values():
        for index, name in enumerate(states):
            n, largest = count(shapes[name]), MODULI[index] - 1.0
            u = _uniform(b, b.input(name, "uint8", [3 * n]), n)
            # u may round up to 1.
            first = b.min(b.floor(u * largest) + 1, largest)
            later = skip_numbers(b, first, index, draws) if draws else first
            outputs[name] = _cast_and_reshape(b, later, "float32", shapes[name])
    return b.build(outputs)


def draw_generator_bytes(
    seed: int, generators: Mapping[str, Sequence[str]], shapes: Mapping[str, Shape]
) -> dict[str, HostArray]:
    """Return the bytes for `build_generator_graph`: one stream per layer, its states in turn."""
    arrays: dict[str, HostArray] = {}
    for layer, states in generators.items():
        stream = Stream(seed, Purpose.DROPOUT, layer)
        for name in states:
            size = 3 * count(shapes[name])
            arrays[name] = HostArray("uint8", [size], stream.bytes(size))
    return arrays


def count_bytes(initialiser: Initialiser, shape: Sequence[int]) -> int:
    """Return how many bytes an initialiser draws: three per uniform number."""
    numbers = {"uniform": 1, "normal": 2, "truncatedNormal": 2 * TRUNCATION_TRIES}
    return 3 * numbers.get(initialiser.kind, 0) * count(shape)


def _cast_and_reshape(
    b: GraphBuilder, value: Operand, dtype: DataType, shape: Sequence[int]
) -> Operand:
    if value.dtype != dtype:
        value = b.cast(value, type=dtype)
    if not shape:
        return b.identity(b.reshape(value, new_shape=()))
    return (
        b.expand(value, new_shape=shape) if value.rank == 0 else b.reshape(value, new_shape=shape)
    )


def _fill_parts(b: GraphBuilder, parts: Sequence[float], shape: Sequence[int]) -> Operand:
    """Fill each of the equal parts of the last dimension with its own number."""
    numbers = b.constant([[number] for number in parts], "float32")
    split_shape = (*shape[:-1], len(parts), shape[-1] // len(parts))
    return b.reshape(b.expand(numbers, new_shape=split_shape), new_shape=shape)


def _draw(b: GraphBuilder, raw: Operand, initialiser: Initialiser, shape: Sequence[int]) -> Operand:
    n = count(shape)
    if initialiser.kind == "uniform":
        low, high = initialiser.a, initialiser.b
        return _uniform(b, raw, n) * (high - low) + low
    if initialiser.kind == "normal":
        return _normal(b, _uniform(b, raw, 2 * n), 0, n) * initialiser.a + initialiser.b
    u = _uniform(b, raw, 2 * TRUNCATION_TRIES * n)
    value = _normal(b, u, TRUNCATION_TRIES - 1, n)
    for draw in reversed(range(TRUNCATION_TRIES - 1)):
        candidate = _normal(b, u, draw, n)
        inside = b.lesser_or_equal(b.abs(candidate), b.constant(2, "float32"))
        value = b.where(inside, candidate, value)
    two = b.constant(2, "float32")
    value = b.max(b.min(value, two), -two)
    return value * initialiser.a + initialiser.b


def _uniform(b: GraphBuilder, raw: Operand, n: int) -> Operand:
    """u = (low + 256·middle + 65536·high + ½)·2⁻²⁴ from three planes of bytes."""
    low, middle, high = (
        b.cast(b.slice(raw, starts=(plane * n,), sizes=(n,)), type="float32") for plane in range(3)
    )
    return (low + middle * 256 + high * 65536 + 0.5) * 2.0**-24


def _normal(b: GraphBuilder, u: Operand, draw: int, n: int) -> Operand:
    """Box–Muller, √(−2 ln u)·cos 2πv, from draw number `draw` of pairs of uniforms."""
    first = b.slice(u, starts=(2 * draw * n,), sizes=(n,))
    second = b.slice(u, starts=((2 * draw + 1) * n,), sizes=(n,))
    return b.sqrt(b.log(first) * -2) * b.cos(second * (2 * math.pi))
