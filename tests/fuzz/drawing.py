"""Random graphs, drawn entry by entry: each operator is applied to what the graph has so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.fuzz.applications import (
    FIRST,
    MOST_AXES,
    TYPES,
    Want,
    application,
    factor_shape,
    make_sample,
)
from tests.fuzz.dice import Dice
from tests.fuzz.graph_case import Entry, GraphCase, Leaf, Step, apply_operator
from webnnm import ops
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.core.errors import WebNNMError
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import TensorType

LEAST_OPERATORS, MOST_OPERATORS = 3, 12
MOST_ELEMENTS = 400
STYLES = ("plain", "plain", "plain", "positive", "few", "large", "extreme")
EXTREMES = {
    "float32": (0.0, -0.0, 3.4e38, -3.4e38, 1e-38, 1e-45, 16777217.0, 0.5, 1.5, 2.5),
    "float16": (0.0, -0.0, 65504.0, -65504.0, 6e-5, 6e-8, 2049.0, 0.5, 1.5, 2.5),
}
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of graphs: which operators it has, and what these are applied to.

    Differentiable ones have tame float32 numbers alone. Chains have NaN and infinity as well, and
    apply an operator to the latest result more often than to an earlier one.
    """

    operators: Callable[[], Sequence[str]]
    differentiable: bool = False
    chains: bool = False


def _every() -> list[str]:
    return sorted(ops.registry())


def _differentiable() -> list[str]:
    return sorted(
        name
        for name, one in ops.registry().items()
        if one.operands and all("float32" in slot.dtypes for slot in one.operands[:1])
    )


ORDERING = (
    *("sort", "argsort", "topK", "argMax", "argMin", "searchSorted") * 3,
    *("gather", "gatherElements", "gatherND", "scatterElements", "scatterND") * 3,
    *("slice", "split", "reverse", "where", "triangular") * 3,
    *("cumulativeSum", "cumulativeProduct", "cumulativeMax", "cumulativeMin") * 2,
    *("cast", "cast", "cast", "reshape", "transpose", "concat", "pad", "tile", "expand"),
    *("reduceMax", "reduceMin", "reduceSum", "max", "min", "sign", "abs", "add", "sub", "mul"),
    *("equal", "greater", "lesserOrEqual", "logicalAnd", "logicalNot", "isNaN"),
)
"""Operators that order, pick and place elements, each drawn as often as it is named, and others."""

GRAPHS = Kind(operators=_every)
DIFFERENTIABLE = Kind(operators=_differentiable, differentiable=True)
CHAINS = Kind(operators=lambda: ORDERING, chains=True)


@dataclass(frozen=True)
class Value:
    """What stands for a value while a graph is drawn: its place, its type, its numbers."""

    number: int
    operand: Operand
    numbers: Any
    tame: bool


class Drawing:
    """A graph on its way."""

    def __init__(self, dice: Dice, kind: Kind) -> None:
        self._dice = dice
        self.entries: list[Entry] = []
        self.values: list[Value] = []
        self.broken = False
        self._builder = GraphBuilder()
        self._operators = kind.operators()
        self._differentiable = kind.differentiable
        self._chains = kind.chains

    def start(self) -> None:
        """Draw one to three inputs."""
        for _ in range(self._dice.number(1, 3)):
            shape = tuple(self._dice.sizes(0, MOST_AXES))
            dtype = self._dice.one(self._types())
            if count(shape) <= MOST_ELEMENTS:
                self.leaf(Want(dtype, shape), constant=False)

    def step(self) -> bool:
        """Apply a random operator; what its rules refuse leaves the graph as it was."""
        operator = ops.registry()[self._dice.one(self._operators)]
        before = len(self.entries), len(self.values)
        try:
            self._apply(operator)
        except WebNNMError:
            del self.entries[before[0] :], self.values[before[1] :]
        return len(self.entries) > before[0]

    def _types(self) -> tuple[DataType, ...]:
        return ("float32",) if self._differentiable else TYPES

    def _apply(self, operator: AnyOperator) -> None:
        slots = operator.operands
        if slots and operator.samples and self._dice.number(0, 9) == 9:
            sample = self._dice.one(operator.samples)
            wants, options = make_sample(self._dice, sample, operator)
            operands = [want and self.wanted(want) for want in wants]
        else:
            if operator.name in FIRST:
                first = [self.leaf(FIRST[operator.name](self._dice))]
            else:
                first = [self.first(slots[0].dtypes, slots[0].ranks)] if slots else []
            if operator.name == "searchSorted":
                first = [self._made("sort", first[0])]
            x = first[0].operand.type if first else TensorType("float32", ())
            found = application(self._dice, operator, x)
            operands = [*first, *(want and self.wanted(want) for want in found.others)]
            options = found.options
        self._add(operator, operands, options)

    def _add(self, operator: AnyOperator, operands: Sequence[Value | None], options: Any) -> None:
        step = Step(operator.name, tuple(o and o.number for o in operands), options)
        known = [value.operand for value in self.values]
        try:
            made = apply_operator(self._builder, step, known)
            if any(count(y.shape) > MOST_ELEMENTS or y.rank > MOST_AXES for y in made):
                return
            numbers = self._numbers(operator, operands, options)
        except WebNNMError:
            raise
        except Exception:
            # A fault, which the check of the case is going to meet again.
            self.entries.append(step)
            self.values.append(self.values[-1] if self.values else Value(0, None, None, False))  # type: ignore[arg-type]
            self.broken = True
            return
        self.entries.append(Step(step.operator, step.operands, options, len(made)))
        for operand, found in zip(made, numbers, strict=True):
            self._value(operand, found)

    def _numbers(
        self, operator: AnyOperator, operands: Sequence[Value | None], options: Any
    ) -> list[Any]:
        b = GraphBuilder()
        given = [
            v and b.input(f"x{i}", v.operand.dtype, v.operand.shape) for i, v in enumerate(operands)
        ]
        several = operator.operands and operator.operands[0].variadic
        made: Any = b.apply(operator, [given] if several else given, options)
        results = made if isinstance(made, tuple) else (made,)
        graph = b.build({f"y{i}": y for i, y in enumerate(results)})
        feeds = {f"x{i}": v.numbers for i, v in enumerate(operands) if v is not None}
        found = evaluate(graph, feeds, wide=self._differentiable)
        return [found[f"y{i}"] for i in range(len(results))]

    def _value(self, operand: Operand, numbers: Any) -> Value:
        wide = np.asarray(numbers, "float64")
        limit = 50 if self._differentiable else 1e4
        tame = self._chains or bool(np.all(np.isfinite(wide) & (np.abs(wide) <= limit)))
        found = Value(len(self.values), operand, numbers, tame)
        self.values.append(found)
        return found

    def first(self, dtypes: frozenset[DataType], ranks: tuple[int, int | None]) -> Value:
        """Return a value for a first operand: one that fits, or one that is made to fit."""
        low, high = ranks
        wild = self._dice.number(0, 9) == 9 and not self._differentiable
        known = [v for v in self.values if v.operand.dtype in dtypes and (v.tame or wild)]
        fit = [v for v in known if low <= v.operand.rank <= (high or MOST_AXES)]
        if fit and self._dice.number(0, 7) < 7:
            return self._choose(fit)
        if known and self._dice.number(0, 2) < 2:
            value = self._choose(known)
            rank = self._dice.number(low, high if high is not None else MOST_AXES)
            number = count(value.operand.shape)
            shape = factor_shape(self._dice, number, max(rank, 1 if number > 1 else 0))
            return self._made("reshape", value, new_shape=shape)
        types = [d for d in self._types() if d in dtypes]
        others = [v for v in self.values if v.tame and v.operand.dtype not in dtypes]
        if others and types and not self._differentiable and self._dice.coin():
            target = self._dice.one(types)
            value = self._made("cast", self._choose(others), type=target)
            if low <= value.operand.rank <= (high or MOST_AXES):
                return value
        rank = self._dice.number(low, high if high is not None else MOST_AXES)
        shape = tuple(self._dice.number(1, 4) for _ in range(rank))
        if not types:
            raise WebNNMError("NNM501", "no such type here")
        return self.leaf(Want(self._dice.one(types), shape))

    def _choose(self, values: Sequence[Value]) -> Value:
        if self._chains and self._dice.coin():
            return values[-1]
        return self._dice.one(values)

    def _made(self, name: str, value: Value, **options: Any) -> Value:
        self._add(ops.registry()[name], [value], options)
        return self.values[-1]

    def wanted(self, want: Want) -> Value:
        """Return a value of a type: one that is there, or a new leaf."""
        if want.fixed or self._dice.number(0, 3) == 3:
            return self.leaf(want)
        known = [v for v in self.values if v.operand.dtype == want.dtype and v.tame]
        fit = [v for v in known if v.operand.shape == want.shape]
        if fit:
            return self._choose(fit)
        alike = [v for v in known if count(v.operand.shape) == count(want.shape)]
        if alike and self._dice.coin():
            return self._made("reshape", self._choose(alike), new_shape=want.shape)
        return self.leaf(want)

    def leaf(self, want: Want, *, constant: bool | None = None) -> Value:
        """Add an input or a constant."""
        if count(want.shape) > MOST_ELEMENTS:
            raise WebNNMError("NNM409", "too large for this")
        values = want.values
        if values is None:
            values = self._draw(want)
        if constant is None:
            constant = self._dice.coin()
        constant = constant and not self._differentiable
        self.entries.append(Leaf(want.dtype, want.shape, values, constant))
        operand = self._builder.input(f"x{len(self.values)}", want.dtype, want.shape)
        narrow = "int8" if want.dtype.endswith("int4") else want.dtype
        return self._value(operand, np.asarray(values, narrow).reshape(want.shape))

    def _draw(self, want: Want) -> tuple[float, ...]:
        seed = self._dice.number(0, 2**16 - 1)
        rng, number = np.random.default_rng(seed), count(want.shape)
        if not is_float(want.dtype):
            return self._integers(rng, want, number)
        free = (want.low, want.high) == (-2.0, 2.0) and not self._differentiable
        style = self._dice.one(STYLES) if free else "plain"
        found: Any = rng.uniform(want.low, want.high, number)
        if style == "positive":
            found = np.abs(found) + 0.1
        elif style == "few":
            found = rng.integers(-2, 3, number)
        elif style == "large":
            found = found * 500
        elif style == "extreme":
            pool = EXTREMES[want.dtype]
            found = np.where(rng.random(number) < 0.5, found, rng.choice(pool, number))
        if self._differentiable:
            return tuple(found.tolist())
        if free and self._chains and self._dice.coin():
            found = np.where(rng.random(number) < 0.5, found, rng.choice(SPECIAL, number))
        return tuple(np.asarray(found).astype(want.dtype).astype("float64").tolist())

    def _integers(self, rng: Any, want: Want, number: int) -> tuple[int, ...]:
        low, high = integer_range(want.dtype)
        if (want.low, want.high) != (-2.0, 2.0):
            found = rng.integers(max(low, int(want.low)), min(high, int(want.high)) + 1, number)
        elif self._dice.number(0, 3) < 3:
            found = rng.integers(max(low, -4), min(high, 5) + 1, number)
        else:
            pool = [low, high, low + 1, high - 1, high // 3, 0, 1]
            found = [pool[place] for place in rng.integers(0, len(pool), number)]
        return tuple(int(v) for v in found)


def graph(seed: int, kind: Kind = GRAPHS) -> GraphCase:
    """Draw a graph of 3 to 12 operators; some of the intermediate values are outputs as well."""
    dice = Dice(seed)
    drawing = Drawing(dice, kind)
    drawing.start()
    wanted, made = dice.number(LEAST_OPERATORS, MOST_OPERATORS), 0
    while made < wanted and not drawing.broken:
        made += drawing.step()
    used: set[int | None] = set()
    results: list[int] = []
    place = 0
    for entry in drawing.entries:
        if isinstance(entry, Step):
            used.update(entry.operands)
            results += range(place, place + entry.results)
        place += entry.results if isinstance(entry, Step) else 1
    outputs = [n for n in results if n not in used or dice.chance(5)]
    return GraphCase(tuple(drawing.entries), tuple(outputs)).prune()


def draw_seeded(kind: Kind = GRAPHS) -> SearchStrategy[GraphCase]:
    """Draw graphs by their seeds."""
    return st.integers(0, 2**40).map(lambda seed: graph(seed, kind))
