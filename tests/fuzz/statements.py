"""Random statements of programs: one function for each kind of expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.dice import Dice

CLEAR = 0.02
"""How far values stay from places where a function has a kink or a jump."""


@dataclass(frozen=True)
class Value:
    """An array of a program while it is drawn."""

    name: str
    numbers: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    @property
    def rank(self) -> int:
        return self.numbers.ndim


class Unfit(Exception):
    """No value fits, or it is too close to a kink."""


class Sketch:
    """The values of a program so far, from which statements choose."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.values: list[Value] = []
        self.unread: set[str] = set()

    def any(self, least: int = 0, most: int = 4) -> Value:
        """Return a value with so many dimensions, those first that nothing reads."""
        fit = [each for each in self.values if least <= each.rank <= most]
        fresh = [each for each in fit if each.name in self.unread]
        if not fit:
            raise Unfit
        return self.dice.one(fresh if fresh and self.dice.number(0, 3) else fit)

    def beside(self, x: Value) -> Value:
        """Return a value that broadcasts with another one."""
        fit = [each for each in self.values if _broadcast(x.shape, each.shape)]
        fresh = [each for each in fit if each.name in self.unread and each is not x]
        return self.dice.one(fresh or fit)

    def alike(self, x: Value) -> Value:
        """Return a value of the same shape, perhaps itself."""
        return self.dice.one([each for each in self.values if each.shape == x.shape])

    def axis(self, x: Value) -> int:
        """Return a dimension, counted from either end."""
        return self.dice.number(-x.rank, x.rank - 1)

    def axes(self, x: Value) -> str:
        """Return the argument `axis` of a reduction."""
        if not x.rank or self.dice.chance(4):
            return "axis=None"
        if x.rank > 1 and self.dice.chance(3):
            return f"axis={tuple(sorted(self.dice.shuffle(range(x.rank))[:2]))}"
        return f"axis={self.axis(x)}"

    def keep(self) -> str:
        """Return the argument `keepdims`, or nothing."""
        return self.dice.one(["", ", keepdims=True"])

    def number(self) -> str:
        """Return a number as Python writes it."""
        return str(self.dice.number(-15, 15) / 10 + 0.05)


def _broadcast(*shapes: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def _clear(distance: Any) -> None:
    if np.size(distance) and np.min(np.abs(distance)) < CLEAR:
        raise Unfit


def _apart(numbers: Any, axis: int | None = None) -> None:
    """Raise `Unfit` where two elements along a dimension are nearly the same."""
    flat = numbers.reshape(-1) if axis is None else np.moveaxis(numbers, axis, -1)
    _clear(np.diff(np.sort(flat, axis=-1), axis=-1))


Kind = Callable[[Sketch], str]
KINDS: dict[str, Kind] = {}
"""Expressions by what they show; the names are for readers of this file."""


def _kind(function: Kind) -> Kind:
    KINDS[function.__name__.strip("_")] = function
    return function


SMOOTH = (
    *("sin", "cos", "tanh", "atan", "asinh", "square", "negative", "exp", "expm1", "sinh", "cosh"),
    "positive",
)
BOUNDED = ("asin", "acos", "atanh", "tan")
POSITIVE = ("log", "sqrt", "log2", "log10", "log1p", "reciprocal")


@_kind
def _smooth(s: Sketch) -> str:
    return f"xp.{s.dice.one(SMOOTH)}({s.any().name})"


@_kind
def _clamp(s: Sketch) -> str:
    return f"xp.{s.dice.one(BOUNDED)}(xp.tanh({s.any().name}) * 0.9)"


@_kind
def _positive(s: Sketch) -> str:
    v = s.any().name
    return f"xp.{s.dice.one(POSITIVE)}({v} * {v} + 0.5)"


@_kind
def _beyond_one(s: Sketch) -> str:
    v = s.any().name
    return f"xp.acosh({v} * {v} + 1.5)"


@_kind
def _scale(s: Sketch) -> str:
    return f"{s.any().name} {s.dice.one('+-*')} {s.number()}"


@_kind
def _of_number(s: Sketch) -> str:
    return f"{s.number()} {s.dice.one('+-*')} {s.any().name}"


@_kind
def _arithmetic(s: Sketch) -> str:
    x = s.any()
    return f"{x.name} {s.dice.one('+-*')} {s.beside(x).name}"


@_kind
def _quotient(s: Sketch) -> str:
    x = s.any()
    y = s.beside(x).name
    return f"{x.name} / ({y} * {y} + 0.7)"


@_kind
def _power(s: Sketch) -> str:
    return f"{s.any().name} ** {s.dice.one([2, 3, 4])}"


@_kind
def _power_of_array(s: Sketch) -> str:
    x = s.any()
    return f"(xp.square({x.name}) + 0.3) ** xp.tanh({s.beside(x).name})"


@_kind
def _two(s: Sketch) -> str:
    x = s.any()
    y = s.beside(x)
    name = s.dice.one(["atan2", "hypot", "logaddexp"])
    if name != "logaddexp":
        _clear(np.hypot(*np.broadcast_arrays(x.numbers, y.numbers)))
    return f"xp.{name}({x.name}, {y.name})"


@_kind
def _larger(s: Sketch) -> str:
    x = s.any()
    y = s.beside(x)
    if y is x:
        raise Unfit
    _clear(x.numbers - y.numbers)
    return f"xp.{s.dice.one(['maximum', 'minimum'])}({x.name}, {y.name})"


@_kind
def _sign(s: Sketch) -> str:
    x = s.any()
    _clear(x.numbers)
    y = s.beside(x)
    _clear(y.numbers)
    name = s.dice.one(["abs", "sign", "copysign"])
    return f"xp.{name}({x.name}{f', {y.name}' if name == 'copysign' else ''})"


@_kind
def _steps(s: Sketch) -> str:
    x = s.any()
    _clear(x.numbers * 2 - np.round(x.numbers * 2))
    return f"xp.{s.dice.one(['floor', 'ceil', 'trunc', 'round'])}({x.name}) * 0.5 + {x.name}"


@_kind
def _rest(s: Sketch) -> str:
    x = s.any()
    quotient = x.numbers / 0.75
    _clear(quotient - np.round(quotient))
    return f"{x.name} % 0.75"


@_kind
def _clip(s: Sketch) -> str:
    x = s.any()
    _clear(x.numbers + 0.5)
    _clear(x.numbers - 0.7)
    return f"xp.clip({x.name}, -0.5, 0.7)"


@_kind
def _where(s: Sketch) -> str:
    x = s.any()
    a = s.beside(x)
    b = s.alike(a)
    _clear(x.numbers - 0.25)
    return f"xp.where({x.name} {s.dice.one(['>', '<='])} 0.25, {a.name}, {b.name})"


@_kind
def _reduce(s: Sketch) -> str:
    x = s.any()
    return f"xp.{s.dice.one(['sum', 'mean', 'sum', 'prod'])}({x.name}, {s.axes(x)}{s.keep()})"


@_kind
def _extremum(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    _apart(x.numbers, axis)
    return f"xp.{s.dice.one(['max', 'min'])}({x.name}, axis={axis}{s.keep()})"


@_kind
def _spread(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    name = s.dice.one(["var", "std"])
    if x.shape[axis] < 2:
        raise Unfit
    if name == "std":
        _clear(np.std(x.numbers, axis=axis))
    return f"xp.{name}({x.name}, axis={axis}, correction={s.dice.number(0, 1)}{s.keep()})"


@_kind
def _cumulative(s: Sketch) -> str:
    x = s.any(1)
    name = s.dice.one(["cumulative_sum", "cumulative_sum", "cumulative_prod"])
    initial = s.dice.one(["", ", include_initial=True"])
    return f"xp.{name}({x.name}, axis={s.axis(x)}{initial})"


@_kind
def _differences(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    if x.shape[axis] < 2:
        raise Unfit
    return f"xp.diff({x.name}, axis={axis})"


@_kind
def _matrix_product(s: Sketch) -> str:
    x = s.any(1)
    fit = [y for y in s.values if y.rank and y.shape[-min(2, y.rank)] == x.shape[-1]]
    fit = [y for y in fit if _broadcast(x.shape[:-2], y.shape[:-2])]
    if not fit:
        y = s.any(1, 2)
        if y.shape[-1] != x.shape[-1]:
            raise Unfit
        return f"{x.name} @ xp.reshape({y.name}, ({x.shape[-1]}, -1))"
    return f"xp.matmul({x.name}, {s.dice.one(fit).name})"


@_kind
def _gram(s: Sketch) -> str:
    x = s.any(2)
    return f"{x.name} @ xp.matrix_transpose({x.name})"


@_kind
def _products(s: Sketch) -> str:
    x = s.any(1)
    y = s.alike(x)
    axis = s.dice.number(-x.rank, -1)
    return s.dice.one(
        [
            f"xp.vecdot({x.name}, {y.name}, axis={axis})",
            f"xp.tensordot({x.name}, {y.name}, axes=([{axis}], [{axis}]))",
            f"xp.tensordot({x.name}, {y.name}, axes=0)",
        ]
    )


@_kind
def _norm(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    _clear(np.sqrt(np.sum(x.numbers**2, axis=axis)))
    return f"xp.linalg.vector_norm({x.name}, axis={axis}{s.keep()})"


@_kind
def _of_matrix(s: Sketch) -> str:
    x = s.any(2)
    return s.dice.one(
        [
            f"xp.linalg.trace({x.name})",
            f"xp.linalg.diagonal({x.name})",
            f"xp.{s.dice.one(['tril', 'triu'])}({x.name}, k={s.dice.number(-1, 1)})",
        ]
    )


@_kind
def _outer(s: Sketch) -> str:
    x = s.any(1, 1)
    return f"xp.linalg.outer({x.name}, {s.any(1, 1).name})"


@_kind
def _reshape(s: Sketch) -> str:
    x = s.any()
    sizes = [*x.shape]
    s.dice.shuffle(sizes)
    shape = s.dice.one([[-1], s.dice.shuffle(sizes), [*sizes, 1], [1, *sizes[::-1]]])
    return f"xp.reshape({x.name}, {tuple(shape)})"


@_kind
def _permute(s: Sketch) -> str:
    x = s.any(2)
    axes = tuple(s.dice.shuffle(range(x.rank)))
    return s.dice.one(
        [
            f"xp.permute_dims({x.name}, {axes})",
            f"{x.name}.mT",
            f"xp.moveaxis({x.name}, {s.axis(x)}, {s.axis(x)})",
        ]
    )


@_kind
def _one_more(s: Sketch) -> str:
    x = s.any(0, 3)
    place = s.dice.number(0, x.rank)
    return s.dice.one([f"xp.expand_dims({x.name}, axis={place})", f"{x.name}[{':, ' * place}None]"])


@_kind
def _squeeze(s: Sketch) -> str:
    x = s.any(1)
    ones = [at for at, size in enumerate(x.shape) if size == 1]
    if not ones:
        raise Unfit
    return f"xp.squeeze({x.name}, axis={s.dice.one(ones)})"


@_kind
def _turned(s: Sketch) -> str:
    x = s.any(1)
    by, axis = s.dice.number(-3, 3), s.axis(x)
    return s.dice.one([f"xp.flip({x.name}, axis={axis})", f"xp.roll({x.name}, {by}, axis={axis})"])


@_kind
def _concatenate(s: Sketch) -> str:
    x = s.any()
    y = s.alike(x)
    if x.rank and s.dice.coin():
        return f"xp.concat([{x.name}, {y.name}, {x.name}], axis={s.axis(x)})"
    return f"xp.stack([{x.name}, {y.name}], axis={s.dice.number(0, x.rank)})"


@_kind
def _parted(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    return f"xp.unstack({x.name}, axis={axis})[{s.dice.number(0, x.shape[axis] - 1)}]"


@_kind
def _repeat(s: Sketch) -> str:
    x = s.any(1, 3)
    times = tuple(s.dice.number(1, 2) for _ in range(s.dice.number(1, x.rank)))
    return s.dice.one(
        [
            f"xp.tile({x.name}, {times})",
            f"xp.repeat({x.name}, 2, axis={s.axis(x)})",
            f"xp.broadcast_to({x.name}, {(2, *x.shape)})",
        ]
    )


def _slices(s: Sketch, x: Value) -> str:
    """Return a key of slices, integers, new dimensions and an ellipsis that takes something."""
    parts: list[str] = []
    for size in x.shape:
        start = s.dice.number(0, size - 1)
        parts.append(
            s.dice.one(
                [
                    ":",
                    str(start),
                    str(start - size),
                    f"{start}:",
                    f":{start + 1}",
                    "::2",
                    "::-1",
                    f"{start}::-1",
                ]
            )
        )
    if s.dice.chance(4):
        parts[-1] = "..."
    if s.dice.chance(6):
        parts.insert(s.dice.number(0, len(parts)), "None")
    return ", ".join(parts)


@_kind
def _slice(s: Sketch) -> str:
    x = s.any(1)
    return f"{x.name}[{_slices(s, x)}]"


def _places(s: Sketch, size: int, number: int) -> str:
    return f"xp.asarray({[s.dice.number(-size, size - 1) for _ in range(number)]})"


@_kind
def _index(s: Sketch) -> str:
    x = s.any(1)
    axis = s.dice.number(0, x.rank - 1)
    number = s.dice.number(1, 4)
    places = _places(s, x.shape[axis], number)
    if x.rank > 1 and s.dice.coin():
        more = _places(s, x.shape[1], number)
        return f"{x.name}[{_places(s, x.shape[0], number)}, {more}]"
    positive = f"xp.asarray({[s.dice.number(0, x.shape[axis] - 1) for _ in range(number)]})"
    return s.dice.one(
        [f"{x.name}[{':, ' * axis}{places}]", f"xp.take({x.name}, {positive}, axis={axis})"]
    )


@_kind
def _put(s: Sketch) -> str:
    x = s.any(1)
    place = s.dice.number(0, x.shape[0] - 1)
    fit = [y for y in s.values if _fits(y.shape, x.shape[1:])]
    value = s.dice.one(fit).name if fit else s.number()
    key = s.dice.one([str(place), f"slice({place}, None)", f"{x.name} > 100.0"])
    return f"put({x.name}, {key}, {s.number() if '>' in key else value})"


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    return _broadcast(shape, whole) and np.broadcast_shapes(shape, whole) == whole


@_kind
def _sort(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    _apart(x.numbers, axis)
    y = s.alike(x)
    order = f"xp.argsort({x.name}, axis={axis})"
    return s.dice.one(
        [
            f"xp.sort({x.name}, axis={axis})",
            f"xp.take_along_axis({y.name}, {order}, axis={axis})",
        ]
    )


@_kind
def _best(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    _apart(x.numbers, axis)
    best = f"xp.{s.dice.one(['argmax', 'argmin'])}({x.name}, axis={axis}, keepdims=True)"
    return f"xp.take_along_axis({s.alike(x).name}, {best}, axis={axis})"


@_kind
def _one_hot(s: Sketch) -> str:
    x = s.any(1)
    _apart(x.numbers, -1)
    best = f"xp.argmax({x.name}, axis=-1, keepdims=True)"
    return f"xp.astype(xp.arange({x.shape[-1]}) == {best}, {x.name}.dtype) * {x.name}"


@_kind
def _count(s: Sketch) -> str:
    x = s.any(1)
    _clear(x.numbers)
    dtype = f"{x.name}.dtype"
    return f"{x.name} / xp.astype(1 + xp.count_nonzero({x.name} > 0.0, axis=0), {dtype})"


@_kind
def _mask(s: Sketch) -> str:
    x = s.any()
    _clear(x.numbers)
    test = s.dice.one(
        [
            f"xp.logical_and({x.name} > 0.0, {x.name} < 60.0)",
            f"~({x.name} > 0.0)",
            f"xp.isfinite({x.name}) & ({x.name} >= 0.0)",
        ]
    )
    return f"xp.where({test}, {s.beside(x).name}, xp.zeros_like({x.name}))"


@_kind
def _softmax(s: Sketch) -> str:
    x = s.any(1)
    axis = s.axis(x)
    _apart(x.numbers, axis)
    v = x.name
    e = f"xp.exp({v} - xp.max({v}, axis={axis}, keepdims=True))"
    total = f"xp.sum({e}, axis={axis}, keepdims=True)"
    largest = f"xp.max({v}, axis={axis}, keepdims=True)"
    return s.dice.one([f"{e} / {total}", f"xp.log({total}) + {largest}"])


@_kind
def _normalise(s: Sketch) -> str:
    x = s.any(1)
    v, axis = x.name, s.axis(x)
    mean = f"xp.mean({v}, axis={axis}, keepdims=True)"
    return f"({v} - {mean}) / xp.sqrt(xp.var({v}, axis={axis}, keepdims=True) + 0.1)"


@_kind
def _gate(s: Sketch) -> str:
    x = s.any()
    return f"{s.beside(x).name} / (1.0 + xp.exp(-{x.name}))"


@_kind
def _branch(s: Sketch) -> str:
    v = s.any(1).name
    return s.dice.one(
        [
            f"xp.sum({v}, axis=0) if {v}.shape[0] > 2 else xp.flip({v}) * 0.5",
            f"{v}.T if {v}.ndim == 2 else xp.tanh({v})",
            f"xp.concat([{v}, xp.ones_like({v})]) if {v}.size < 5 else {v}[1:] if "
            f"{v}.shape[0] > 1 else xp.sin({v})",
            f"sum(xp.square({v}[k]) * (k + 1.0) for k in range({v}.shape[0]))",
        ]
    )


@_kind
def _of_nothing(s: Sketch) -> str:
    x = s.any(1)
    made = s.dice.one(
        [
            f"xp.linspace(-1.0, 1.0, {x.shape[-1]}, dtype={x.name}.dtype)",
            f"xp.ones_like({x.name})",
            f"xp.full_like({x.name}, {s.number()})",
            f"xp.eye({x.shape[-1]}, dtype={x.name}.dtype)[0]",
            f"xp.astype(xp.arange({x.shape[-1]}), {x.name}.dtype)",
            f"xp.meshgrid(xp.linspace(0.0, 1.0, {x.shape[-1]}, dtype={x.name}.dtype))[0]",
        ]
    )
    return f"{made} * {x.name}"


@_kind
def _scan(s: Sketch) -> str:
    x = s.any(1)
    step = s.dice.one(
        [
            "lambda c, x: (xp.tanh(c * 0.5 + x), c * x)",
            "lambda c, x: (c + xp.sin(x), xp.sum(c))",
        ]
    )
    return f"scan({step}, xp.zeros_like({x.name}[0]), {x.name})[{s.dice.number(0, 1)}]"


@_kind
def _decided(s: Sketch) -> str:
    x = s.any()
    total = np.sum(x.numbers)
    _clear(total)
    return f"cond(xp.sum({x.name}) > 0.0, xp.sin, lambda x: x * x * 0.3, {x.name})"


@_kind
def _solve(s: Sketch) -> str:
    x = s.any(2, 3)
    size = x.shape[-2]
    if size > 3:
        raise Unfit
    v = x.name
    positive = f"({v} @ {v}.mT + 1.5 * xp.eye({size}, dtype={v}.dtype))"
    return s.dice.one(
        [
            f"xp.linalg.inv({positive})",
            f"xp.linalg.solve({positive}, {v})",
            f"xp.linalg.cholesky({positive})",
            f"xp.linalg.det({positive} * 0.3)",
        ]
    )


@_kind
def _recompute(s: Sketch) -> str:
    x = s.any()
    function = "lambda a, b: xp.sin(a) * xp.exp(-xp.square(b))"
    return f"recompute({function})({x.name}, {s.beside(x).name})"


@_kind
def _by_its_own_rule(s: Sketch) -> str:
    x = s.any()
    rule = s.dice.one(
        [
            "lambda a, b: (xp.sin(a) * b, lambda g: (g * xp.cos(a) * b, g * xp.sin(a)))",
            "lambda a, b: (a + 2.0 * b, lambda g: (g, g * 2.0))",
        ]
    )
    return f"custom_gradient({rule})({x.name}, {s.alike(x).name})"
