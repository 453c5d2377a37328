"""Rotary embedding: pairs of features rotate by an angle that grows with the token's position."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor
from webnnm.ops.declare.token_cache import TokenCache, token_cache
from webnnm.ops.declare.tokens import by_token, require_tokens
from webnnm.ops.positions import BASE, rates

Turns = float | tuple[float, ...]
"""The base of the angles of all pairs, or how far each rotates from one token to the next."""
DIGIT = 64
"""The base of the digits into which positions in a graph are split."""


class Rotary(NamedTuple):
    """How the features of a head rotate.

    Attributes: `turns`; `size`, how many of the features do, counted from the first one, None for
    all; `interleaved`, whether pairs are (2i, 2i + 1) and not (i, i + size/2); `factor`, by which
    cosines and sines are multiplied.
    """

    turns: Turns
    size: int | None = None
    interleaved: bool = False
    factor: float = 1.0

    def count(self, head_size: int) -> int:
        """Return how many features of a head rotate."""
        return head_size if self.size is None else self.size


DEFAULT = Rotary(BASE)


@lru_cache(maxsize=32)
def _wave_table(
    wave: Callable[[float], float], start: int, length: int, size: int, base: Turns, factor: float
) -> array[float]:
    checks.check_amount(length * size, f"{length} positions of {size} features")
    turns = base if isinstance(base, tuple) else rates(size, base)
    if len(turns) != size // 2:
        raise OperatorError(
            "NNM406", f"{len(turns)} rates for {size // 2} pairs of features to rotate"
        )
    positions = range(start, start + length)
    return array("d", [factor * wave(position * turn) for position in positions for turn in turns])


def rotate(b: Builder, x: Tensor, rotary: Rotary, start: int = 0) -> Any:
    """Rotate pairs of features of `x [..., tokens, size]` by position · base^(−2i/size).

    The rates themselves may be given instead of the base.
    """
    cos, sin = _waves(b, x, rotary, start, x.shape[-2])
    return _turn(b, x, cos, sin, rotary)


def rotate_by_cache(b: Builder, x: Tensor, rotary: Rotary, cache: TokenCache) -> Any:
    """Rotate the pairs of `x [batch, …, tokens, size]` by the positions of a cache."""
    batch, *middle, length, size = x.shape
    shape = (batch, *(1 for _ in middle), length, rotary.count(size) // 2)
    cos, sin = (
        b.reshape(b.gather(wave, cache.positions, axis=0), new_shape=shape)
        for wave in _waves(b, x, rotary, 0, cache.length)
    )
    return _turn(b, x, cos, sin, rotary)


def rotate_by_positions(b: Builder, x: Tensor, rotary: Rotary, positions: Tensor) -> Any:
    """Rotate the pairs of `x [..., tokens, size]` by positions `[..., tokens]` from 0 to 64³ − 1.

    Angles are sums over three digits, whose waves come from tables: products of positions and
    rates, and waves of large angles, would exceed the precision of float32.
    """
    size = rotary.count(x.shape[-1])
    turns = rotary.turns if isinstance(rotary.turns, tuple) else tuple(rates(size, rotary.turns))
    rest: Any = b.cast(positions, type="float32")
    cos: Any = None
    sin: Any = None
    for unit in (DIGIT**2, DIGIT, 1):
        digit = b.floor(rest / float(unit))
        rest = rest - digit * float(unit)
        rows = b.cast(digit, type="int32")
        scaled = tuple(unit * turn for turn in turns)
        more_cos, more_sin = (
            b.gather(b.constant(table, "float32", (DIGIT, size // 2)), rows, axis=0)
            for table in (
                _wave_table(wave, 0, DIGIT, size, scaled, rotary.factor if cos is None else 1.0)
                for wave in (math.cos, math.sin)
            )
        )
        if cos is None:
            cos, sin = more_cos, more_sin
        else:
            cos, sin = cos * more_cos - sin * more_sin, sin * more_cos + cos * more_sin
    if x.dtype != "float32":
        cos, sin = (b.cast(wave, type=x.dtype) for wave in (cos, sin))
    return _turn(b, x, cos, sin, rotary)


def _waves(b: Builder, x: Tensor, rotary: Rotary, start: int, length: int) -> list[Any]:
    """Return the cosines and sines `[length, size/2]` of the angles at positions from `start`."""
    turns, factor, size = rotary.turns, rotary.factor, rotary.count(x.shape[-1])
    tables = (
        _wave_table(wave, start, length, size, turns, factor) for wave in (math.cos, math.sin)
    )
    return [b.constant(table, x.dtype, (length, size // 2)) for table in tables]


def _turn(b: Builder, x: Tensor, cos: Any, sin: Any, rotary: Rotary) -> Any:
    """Rotate the pairs of the first features of `x [..., tokens, size]`; others pass unchanged."""
    size, last = x.shape[-1], x.rank - 1
    count = rotary.count(size)
    turning, *rest = (x,) if count == size else b.split(x, splits=(count, size - count), axis=last)
    pairs = (*x.shape[:-1], count // 2)
    if rotary.interleaved:
        by_pair = b.reshape(turning, new_shape=(*pairs, 2))
        first, second = (
            b.reshape(half, new_shape=pairs) for half in b.split(by_pair, splits=2, axis=last + 1)
        )
    else:
        first, second = (
            b.slice(turning, starts=(*(0 for _ in pairs[:-1]), begin), sizes=pairs)
            for begin in (0, count // 2)
        )
    rotated = [first * cos - second * sin, second * cos + first * sin]
    if rotary.interleaved:
        columns = [b.reshape(half, new_shape=(*pairs, 1)) for half in rotated]
        joined = b.reshape(b.concat(columns, axis=last + 1), new_shape=turning.shape)
        return b.concat([joined, *rest], axis=last) if rest else joined
    return b.concat([*rotated, *rest], axis=last)


def require_pairs(size: int, rotary: Rotary = DEFAULT) -> None:
    """Raise NNM406 for an odd number of features to rotate, more than a head has, or not one rate
    per pair."""
    count = rotary.count(size)
    if count > size:
        raise OperatorError("NNM406", f"{count} features to rotate in a head of {size}")
    if count % 2:
        raise OperatorError(
            "NNM406", f"a head of {count} features does not split into pairs to rotate"
        )
    if isinstance(rotary.turns, tuple) and len(rotary.turns) != count // 2:
        message = f"{len(rotary.turns)} rates for {count // 2} pairs of features to rotate"
        raise OperatorError("NNM406", message)


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    require_tokens(layer, layer.input)
    width = layer.input.dims[-1] if layer.input.dims else None
    heads: int = layer.options["heads"]
    if width is not None:
        if width % heads:
            layer.fail("NNM406", f"{width} features, {heads} heads", at="heads")
        require_pairs(width // heads)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    x = by_token(source)
    cache = token_cache(b, source)
    if cache is None:
        result = b.apply(layer.operator, [x.tensor], tensor_options(layer))
    else:
        rotary = Rotary(layer.options["base"])
        turn = partial(rotate_by_cache, b, rotary=rotary, cache=cache)
        result = _by_head(b, x.tensor, layer.options["heads"], turn)
    return x.with_tensor(result).reorder(source.layout)


@declare_composite(
    "rotaryEmbedding",
    summary="pairs of features rotated by an angle that grows with the token's position",
    ranks=(2, None),
    checks={"base": checks.positive, "heads": checks.integer(1)},
    layer=LayerRules(shape=_shape, build=_build),
    traits=("positional",),
    samples=(
        sample((3, 4)),
        sample((2, 3, 8), heads=2, base=100),
        sample((2, 1, 3, 2), start=5),
    ),
)
def rotary_embedding(
    b: Builder, x: Tensor, *, base: float = BASE, heads: int = 1, start: int = 0
) -> Tensor:
    """Rotate each head by itself; the first token is at position `start`."""
    width = x.shape[-1]
    if width % heads:
        raise OperatorError("NNM406", f"{width} features, {heads} heads")
    require_pairs(width // heads)
    return _by_head(b, x, heads, partial(rotate, b, rotary=Rotary(base), start=start))


def _by_head(b: Builder, x: Tensor, heads: int, turn: Callable[[Any], Any]) -> Any:
    if heads == 1:
        return turn(x)
    *lead, length, width = x.shape
    # Heads move before the tokens and back: rotated together, they share the angles.
    order = (*range(len(lead)), len(lead) + 1, len(lead), len(lead) + 2)
    parts = b.reshape(x, new_shape=(*lead, length, heads, width // heads))
    parts = turn(b.transpose(parts, permutation=order))
    return b.reshape(b.transpose(parts, permutation=order), new_shape=x.shape)
