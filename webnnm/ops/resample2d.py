"""Images made larger or smaller: cells are copied or interpolated from the nearest ones."""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.dtypes import DataType, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare import checks
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.resample_layer import resample_rules
from webnnm.ops.declare.spatial import Pair
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

TYPES: frozenset[DataType] = frozenset({"float32", "float16", "uint8", "int8"})


def _scales(value: Any, *_: TensorType) -> tuple[float, float]:
    """Accept two numbers above 0."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise OperatorError("NNM303", f"{value!r} is not a pair of numbers")
    height, width = map(checks.positive, value)
    return height, width


def _sizes(value: Any, *_: TensorType) -> Pair | None:
    """Accept two integers from 1; None means that sizes follow from the scales."""
    sizes = None if value is None else checks.integers(1)(value)
    if sizes is not None and len(sizes) != 2:
        raise OperatorError("NNM303", f"{len(sizes)} sizes, 2 expected")
    return sizes and (sizes[0], sizes[1])


def _axes(value: Any, *types: TensorType) -> Pair:
    """Accept two distinct axes."""
    axes = checks.axes(value, *types)
    if len(axes) != 2:
        raise OperatorError("NNM303", f"{len(axes)} axes, 2 expected")
    return axes[0], axes[1]


def _targets(
    shape: tuple[int, ...], scales: tuple[float, float], sizes: Pair | None, axes: Pair
) -> dict[int, int]:
    """Return the new size of each of the two axes. Raises NNM408 if nothing would be left."""
    scaled = tuple(int(shape[axis] * scale) for axis, scale in zip(axes, scales, strict=True))
    sizes_by_axis = dict(zip(axes, sizes or scaled, strict=True))
    if min(sizes_by_axis.values()) < 1:
        raise OperatorError("NNM408", f"nothing is left of {shape} scaled by {scales}")
    return sizes_by_axis


def _infer(x: TensorType, *, mode: str, scales: Any, sizes: Any, axes: Pair) -> TensorType:
    del mode
    sizes_by_axis = _targets(x.shape, scales, sizes, axes)
    return TensorType(x.dtype, tuple(sizes_by_axis.get(axis, n) for axis, n in enumerate(x.shape)))


def nearest(size: int, target: int) -> list[int]:
    """Return the cell that each new cell shows: the one in which its centre lies.

    >>> nearest(2, 4), nearest(5, 2)
    ([0, 0, 1, 1], [1, 3])
    """
    checks.check_amount(target, f"{size} cells as {target}")
    return [(2 * cell + 1) * size // (2 * target) for cell in range(target)]


def between(size: int, target: int) -> tuple[list[int], list[int], list[float]]:
    """Return the two cells whose centres each new cell lies between, and the share of the second.

    >>> between(2, 4)
    ([0, 0, 0, 1], [0, 1, 1, 1], [0.0, 0.25, 0.75, 0.0])
    """
    checks.check_amount(target, f"{size} cells as {target}")
    positions = [(cell + 0.5) * size / target - 0.5 for cell in range(target)]
    inside = [min(max(position, 0.0), size - 1.0) for position in positions]
    first = [math.floor(position) for position in inside]
    second = [math.ceil(position) for position in inside]
    return first, second, [position - cell for position, cell in zip(inside, first, strict=True)]


def _weights(size: int, target: int, mode: str) -> list[list[float]]:
    """Return the matrix `[size, target]` with the share of each cell in each new one."""
    checks.check_amount(size * target, f"the gradient of {size} cells as {target}")
    matrix = [[0.0] * target for _ in range(size)]
    if mode == "linear":
        for cell, (first, second, share) in enumerate(zip(*between(size, target), strict=True)):
            matrix[first][cell] += 1 - share
            matrix[second][cell] += share
    else:
        for cell, source in enumerate(nearest(size, target)):
            matrix[source][cell] = 1.0
    return matrix


def _decompose(b: Builder, x: Tensor, *, mode: str, scales: Any, sizes: Any, axes: Pair) -> Tensor:
    targets = _targets(x.shape, scales, sizes, axes)
    if all(target == x.shape[axis] for axis, target in targets.items()):
        return b.identity(x)
    dtype = x.dtype
    mixed = mode == "linear" and not is_float(dtype)
    y = b.cast(x, type="float32") if mixed else x
    for axis, target in targets.items():
        size = y.shape[axis]
        if target == size:
            continue
        if mode != "linear":
            y = b.gather(y, b.constant(nearest(size, target), "int32"), axis=axis)
            continue
        first, second, share = between(size, target)
        column = (target, *(1,) * (y.rank - axis - 1))
        low, high = (b.gather(y, b.constant(c, "int32"), axis=axis) for c in (first, second))
        weight = b.constant(share, y.dtype, column)
        y = low * (1 - weight) + high * weight
    return b.cast(b.round_even(y), type=dtype) if mixed else y


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, mode: str, scales: Any, sizes: Any, axes: Pair
) -> list[Tensor]:
    for axis, target in _targets(x.shape, scales, sizes, axes).items():
        size = x.shape[axis]
        if target == size:
            continue
        lead, tail = count(g.shape[:axis]), count(g.shape[axis + 1 :])
        shape = (*g.shape[:axis], size, *g.shape[axis + 1 :])
        lines = b.reshape(g, new_shape=(lead, target, tail))
        # Every cell gets its share of the gradient of the new cells.
        sums = b.matmul(b.constant(_weights(size, target, mode), g.dtype), lines)
        g = b.reshape(sums, new_shape=shape)
    return [g]


resample2d = Composite(
    name="resample2d",
    aliases=("resample2D",),
    summary="images made larger or smaller",
    operands=(Slot(name="input", dtypes=TYPES, ranks=(4, 4)),),
    options={
        "mode": Option("nearest-neighbor", checks.choice("nearest-neighbor", "linear")),
        "scales": Option((1.0, 1.0), _scales),
        "sizes": Option(None, _sizes),
        "axes": Option((2, 3), _axes),
    },
    native="resample2d",
    infer=_infer,
    decompose=_decompose,
    gradient=_gradient,
    batch="resample",
    layer=resample_rules,
    samples=(
        sample((1, 2, 2, 3)),
        sample((1, 2, 2, 3), scales=(2, 1.5)),
        sample((1, 2, 5, 3), sizes=(4, 8), mode="linear"),
        sample((2, 4, 3, 1), sizes=(2, 5), axes=(2, 1)),
        sample((3, 4, 1, 2), scales=(0.5, 2.0), axes=(1, -1), mode="linear"),
    ),
)
