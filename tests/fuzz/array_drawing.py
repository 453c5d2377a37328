"""Random calls of array functions, whose shapes, axes, indices and numbers need not fit."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.array_case import ArrayCase, Leaf
from tests.fuzz.dice import Dice

DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64")
INTEGERS = (0, 1, 2, -1, -2, 5, 127, 128, -129, 255, 256, 300, 2**31 - 1, 2**31, -(2**31) - 1)
LARGE = (2**32, 2**40, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 2**70)
FLOATS = ("0.0", "0.5", "-1.5", "1e10", "1e39", "1e300", "inf", "-inf", "nan")
NEAR = 8
"""Integers in arrays are smaller: what wraps around is the same in all libraries, but their types
for sums are not."""

Kind = Callable[["Sketch"], str]
KINDS: list[Kind] = []


def _kind(function: Kind) -> Kind:
    KINDS.append(function)
    return function


class Sketch:
    """What expressions are drawn from."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.leaves: list[Leaf] = []
        self.numbers: list[tuple[str, float]] = []
        self.results = 0

    def leaf(self, shape: tuple[int, ...], dtype: str = "") -> str:
        """Return the name of a new array."""
        dice, dtype = self.dice, dtype or self.dice.one(DTYPES)
        low = 0 if dtype[0] in "bu" else -NEAR
        high = 1 if dtype == "bool" else NEAR
        size = 1
        for each in shape:
            size *= each
        values = [float(dice.number(low, high)) for _ in range(size)]
        if dtype[0] == "f":
            values = [value / 2 for value in values]
        else:
            values = [int(value) for value in values]
        self.leaves.append(Leaf(f"v{len(self.leaves)}", dtype, shape, tuple(values)))
        return self.leaves[-1].name

    def any(self) -> str:
        """Return the name of an array."""
        if self.results and self.dice.coin():
            return f"r{self.dice.number(0, self.results - 1)}"
        return self.dice.one(self.leaves).name

    def first(self) -> Leaf:
        """Return an array whose shape is known."""
        return self.dice.one(self.leaves)

    def shape(self, least: int = 0) -> tuple[int, ...]:
        """Return a small shape."""
        return tuple(
            self.dice.number(0 if self.dice.chance(8) else 1, 4)
            for _ in range(self.dice.number(least, 3))
        )

    def near(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape, or one that differs from it a little."""
        dice, sizes = self.dice, [*shape]
        if sizes and dice.chance(3):
            sizes[dice.number(0, len(sizes) - 1)] = dice.number(0, 5)
        if dice.chance(6):
            sizes = sizes[1:] if dice.coin() else [*sizes, 1]
        return tuple(sizes)

    def integer(self) -> str:
        """Return a Python integer as text, or the name of a number."""
        value = self.dice.one(LARGE if self.dice.chance(4) else INTEGERS)
        if abs(value) < 2**63 and self.dice.coin():
            self.numbers.append((f"n{len(self.numbers)}", value))
            return self.numbers[-1][0]
        return f"({value})"

    def number(self) -> str:
        """Return a Python number."""
        return f"({self.dice.one(FLOATS)})" if self.dice.chance(4) else self.integer()

    def axis(self) -> str:
        """Return an axis, perhaps one that there is not."""
        return str(self.dice.number(-4, 3))

    def small(self) -> str:
        """Return a small integer."""
        return str(self.dice.number(-3, 5))

    def dtype(self) -> str:
        """Return a data type as an argument."""
        return f"xp.{self.dice.one(DTYPES)}"


def calls(seed: int) -> ArrayCase:
    """Draw one to three expressions."""
    s = Sketch(Dice(seed))
    for _ in range(s.dice.number(1, 3)):
        s.leaf(s.shape())
    expressions: list[str] = []
    for _ in range(s.dice.one((1, 1, 2, 3))):
        expressions.append(s.dice.one(KINDS)(s))
        s.results += 1
    return ArrayCase(tuple(s.leaves), tuple(s.numbers), tuple(expressions))


def _item(s: Sketch, size: int) -> str:
    """Return an index of one dimension."""
    dice = s.dice
    match dice.number(0, 6):
        case 0 | 1:
            return str(dice.number(-size - 1, size))
        case 2 | 3:
            parts = [dice.one(("", str(dice.number(-size - 2, size + 2)))) for _ in "ab"]
            step = dice.one(("", "", ":1", ":2", ":-1", ":-2", ":0"))
            return f"{parts[0]}:{parts[1]}{step}"
        case 4:
            return _indices(s, size, s.shape())
        case 5:
            return s.leaf(s.near((size,)), "bool")
        case _:
            return dice.one((":", "...", "None", "1.5", "True"))


def _indices(s: Sketch, size: int, shape: tuple[int, ...]) -> str:
    """Return an array of integers near the indices of a dimension."""
    name = s.leaf(shape, s.dice.one(("int32", "int64", "uint8")))
    old = s.leaves.pop()
    unsigned, over = old.dtype[0] == "u", int(s.dice.chance(4))
    low, high = (0 if unsigned else -size - over), max(size - 1 + over, 0)
    values = tuple(s.dice.number(low, high) for _ in old.values)
    s.leaves.append(Leaf(name, old.dtype, shape, values))
    return name


def _key(s: Sketch, shape: tuple[int, ...]) -> str:
    dice = s.dice
    if dice.chance(3):  # a mask of several dimensions
        number = dice.number(0, len(shape))
        rest = [_item(s, size) for size in shape[number:] if dice.chance(3)]
        return ", ".join([s.leaf(s.near(shape[:number]), "bool"), *rest])
    count = dice.number(0, len(shape) + int(dice.chance(5)))
    items = [_item(s, size) for size in (*shape, 2)[:count]]
    if dice.chance(3):
        items.insert(dice.number(0, len(items)), dice.one(("None", "...")))
    return ", ".join(items) + ("," if len(items) == 1 and dice.coin() else "") if items else "()"


def _keyed(s: Sketch, key: str) -> str:
    """Return a key as an argument."""
    parts = [_slice(part.strip()) for part in key.split(",") if part.strip()]
    if key == "()":
        return "()"
    return parts[0] if len(parts) == 1 and not key.endswith(",") else f"({', '.join(parts)},)"


def _slice(part: str) -> str:
    if ":" not in part:
        return part
    return f"slice({', '.join(each or 'None' for each in part.split(':'))})"


@_kind
def _taken(s: Sketch) -> str:
    x = s.first()
    return f"{x.name}[{_key(s, x.shape)}]"


@_kind
def _put(s: Sketch) -> str:
    x = s.first()
    key = _keyed(s, _key(s, x.shape))
    value = s.number() if s.dice.coin() else s.leaf(s.near(x.shape[1:]), x.dtype)
    return f"put({x.name}, {key}, {value})"


OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=")


@_kind
def _with_number(s: Sketch) -> str:
    operator, x = s.dice.one(OPERATORS), s.any()
    # The standard wants infinite quotients of infinity, where NumPy, as Python, has NaN.
    number = s.integer() if operator in ("//", "%") else s.number()
    return f"{x} {operator} {number}" if s.dice.coin() else f"{number} {operator} {x}"


KINDS += [_with_number, _taken, _put]


@_kind
def _with_array(s: Sketch) -> str:
    return f"{s.any()} {s.dice.one((*OPERATORS, '@'))} {s.leaf(s.near(s.first().shape))}"


@_kind
def _power(s: Sketch) -> str:
    return f"{s.any()} ** {s.dice.one(('0', '1', '2', '-1', '0.5', '300', str(2**40)))}"


@_kind
def _shift(s: Sketch) -> str:
    return f"{s.any()} {s.dice.one(('<<', '>>'))} {s.dice.one(('0', '1', '3', '300', '(2**40)'))}"


@_kind
def _create(s: Sketch) -> str:
    number, dtype, shape = s.number(), s.dtype(), s.dice.one((s.shape(), -1, (2, -1), 2))
    return s.dice.one(
        (
            f"xp.asarray({number}, dtype={dtype})",
            f"xp.asarray([{number}, {s.number()}], dtype={dtype})",
            f"xp.asarray([[{number}, 1], [2]])",
            f"xp.full({shape}, {s.integer()}, dtype={dtype})",
            f"xp.full({shape}, {s.integer()})",
            f"xp.full_like({s.any()}, {s.integer()})",
            f"xp.zeros({shape}, dtype={dtype})",
            f"xp.eye({s.small()}, {s.small()}, k={s.small()}, dtype={dtype})",
            f"xp.linspace({s.small()}, {s.small()}, {s.small()})",
            f"xp.linspace({s.small()}, {s.small()}, {s.small()}, dtype=xp.int32)",
        )
    )


@_kind
def _ranged(s: Sketch) -> str:
    start, step = s.dice.one((*INTEGERS, 2**32, 2**40, 2**62)), s.dice.number(-3, 3)
    dtype = s.dice.one(("", "", f", dtype={s.dtype()}"))
    return f"xp.arange({start}, {start + s.dice.number(-9, 9)}, {step}{dtype})"


@_kind
def _choose(s: Sketch) -> str:
    x = s.first()
    mask = s.leaf(s.near(x.shape), "bool")
    other = s.number() if s.dice.coin() else s.leaf(s.near(x.shape), x.dtype)
    return s.dice.one(
        (
            f"xp.where({mask}, {x.name}, {other})",
            f"xp.where({mask}, {other}, {x.name})",
            f"xp.isin({x.name}, {other})",
            f"xp.maximum({x.name}, {other})",
            f"xp.minimum({other}, {x.name})",
        )
    )


@_kind
def _clip(s: Sketch) -> str:
    low, high = (s.dice.one(("None", s.integer())) for _ in "ab")
    return f"xp.clip({s.any()}, {low}, {high})"


@_kind
def _gather(s: Sketch) -> str:
    x, axis = s.first(), s.dice.number(-3, 2)
    size = x.shape[axis] if -len(x.shape) <= axis < len(x.shape) else 2
    if s.dice.coin():
        return f"xp.take({x.name}, {_indices(s, size, s.near((3,)))}, axis={axis})"
    shape = [*s.near(x.shape)]
    return f"xp.take_along_axis({x.name}, {_indices(s, size, tuple(shape))}, axis={axis})"


@_kind
def _arrange(s: Sketch) -> str:
    v, axis, shape = s.any(), s.axis(), s.near(s.first().shape)
    return s.dice.one(
        (
            f"xp.reshape({v}, {(*shape[:1], -1)})",
            f"xp.reshape({v}, {shape})",
            f"xp.broadcast_to({v}, {shape})",
            f"xp.squeeze({v}, axis={axis})",
            f"xp.expand_dims({v}, axis={axis})",
            f"xp.flip({v}, axis={axis})",
            f"xp.roll({v}, {s.small()}, axis={axis})",
            f"xp.repeat({v}, {s.small()}, axis={axis})",
            f"xp.repeat({v}, {s.leaf(s.near(shape[:1]), 'int32')}, axis={axis})",
            f"xp.tile({v}, ({s.small()}, {s.small()}))",
            f"xp.moveaxis({v}, {axis}, {s.axis()})",
            f"xp.permute_dims({v}, {tuple(s.dice.shuffle(range(len(shape))))})",
            f"xp.permute_dims({v}, ({s.small()}, {s.small()}))",
            f"xp.concat([{v}, {s.leaf(shape)}], axis={axis})",
            f"xp.stack([{v}, {s.leaf(shape)}], axis={axis})",
            f"xp.stack(xp.unstack({v}, axis={axis}))",
            f"xp.tril({v}, k={s.small()})",
            f"xp.broadcast_arrays({v}, {s.leaf(shape)})[0]",
        )
    )


@_kind
def _reduce(s: Sketch) -> str:
    v, axis = s.any(), s.axis()
    keep = s.dice.one(("", ", keepdims=True"))
    return s.dice.one(
        (
            f"xp.{s.dice.one(('sum', 'prod', 'max', 'min', 'all', 'any'))}({v}, axis={axis}{keep})",
            f"xp.sum({v}, axis=({axis}, {s.axis()}){keep})",
            f"xp.{s.dice.one(('max', 'min', 'mean', 'sum', 'count_nonzero'))}({v})",
            f"xp.{s.dice.one(('argmax', 'argmin'))}({v}, axis={axis}{keep})",
            f"xp.cumulative_sum({v}, axis={axis})",
            f"xp.sort({v}, axis={axis})",
            f"xp.argsort({v}, axis={axis}, stable=True)",
            f"xp.diff({v}, axis={axis}, n={s.dice.one((-1, 1, 2))})",
            f"xp.nonzero({v})[0]",
            f"xp.sort(xp.unique_values({v}))",
            f"xp.searchsorted(xp.sort({s.leaf(s.near((3,)), 'int32')}), {s.integer()})",
        )
    )


@_kind
def _multiply(s: Sketch) -> str:
    x = s.first()
    other = s.leaf(s.near(x.shape[::-1]), x.dtype)
    return s.dice.one(
        (
            f"xp.matmul({x.name}, {other})",
            f"xp.tensordot({x.name}, {other}, axes={s.small()})",
            f"xp.vecdot({x.name}, {other})",
            f"xp.linalg.outer({x.name}, {other})",
            f"xp.linalg.diagonal({x.name}, offset={s.small()})",
            f"xp.linalg.trace({x.name})",
            f"xp.linalg.cross({x.name}, {other}, axis={s.axis()})",
        )
    )
