"""Maps of numbers, such as a score for each pixel, brought to the size of a picture on a device.

The numbers are those of PyTorch's `interpolate` with `align_corners=False`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Literal

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

Size = tuple[int, int]
Method = Literal["linear", "cubic"]
Step = Callable[[GraphBuilder, Operand], Operand]

SHARPNESS = -0.75
"""The parameter of the cubic convolution (R. Keys, 1981) as PyTorch has it."""
SHOWN = bytes([0, 255, *[0] * 254])
"""What 0 and 1 of truth values are in masks."""
MAX_BYTES, WHITE = 256, 255
BLOCK = 1 << 22
"""About how many numbers are computed at a time."""


async def resize_maps(
    backend: Backend,
    maps: HostArray,
    size: Size,
    method: Method = "linear",
    *,
    block: int = BLOCK,
) -> HostArray:
    """Return maps, float32 `[count, height, width]`, at another size.

    About `block` numbers are computed at a time.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def enlarged(values):
    ...     return await resize_maps(await backend("numpy"), HostArray.of([values]), (1, 4))
    >>> asyncio.run(enlarged([[0.0, 1.0]])).tolist()
    [[[0.0, 0.25, 0.75, 1.0]]]
    """
    return _stack(await _run(backend, maps, size, method, block, _keep))


async def find_above(
    backend: Backend,
    maps: HostArray,
    size: Size,
    limit: float,
    *,
    scores: Sequence[float] | None = None,
    block: int = BLOCK,
) -> HostArray:
    """Return maps at another size as bytes: 255 where a number is above a limit, else 0.

    With `scores`, maps are logits: the numbers are their sigmoid times the score of their map, and
    may also equal the limit.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def drawn(values):
    ...     return await find_above(await backend("numpy"), HostArray.of([values]), (1, 4), 0.5)
    >>> asyncio.run(drawn([[0.0, 1.0]])).tolist()
    [[[0, 0, 255, 255]]]
    """

    def compare(b: GraphBuilder, values: Operand) -> Operand:
        if scores is None:
            return b.greater(values, limit)
        return b.greater_or_equal(_scale(b, values, scores), limit)

    prepare = _keep if scores is None else _share
    masks = _stack(await _run(backend, maps, size, "linear", block, compare, prepare))
    return HostArray("uint8", masks.shape, bytes(masks.data).translate(SHOWN))


async def resize_to_bytes(
    backend: Backend, maps: HostArray, size: Size, *, logits: bool = False, block: int = BLOCK
) -> HostArray:
    """Return maps of shares at another size as bytes, 255 for 1.

    With `logits`, shares are the sigmoid of the numbers.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def drawn(values):
    ...     return await resize_to_bytes(await backend("numpy"), HostArray.of([values]), (1, 2))
    >>> asyncio.run(drawn([[0.2, 1.5]])).tolist()
    [[[51, 255]]]
    """

    def scale(b: GraphBuilder, values: Operand) -> Operand:
        inside = b.clamp(values, min_value=0.0, max_value=1.0)
        return b.cast(b.round_even(inside * 255.0), type="uint8")

    prepare = _share if logits else _keep
    return _stack(await _run(backend, maps, size, "linear", block, scale, prepare))


def _keep(b: GraphBuilder, values: Operand) -> Operand:
    """Return the numbers of maps as they are."""
    del b
    return values


def _share(b: GraphBuilder, values: Operand) -> Operand:
    """Return the shares of logits."""
    return b.sigmoid(values)


def _scale(b: GraphBuilder, values: Operand, scores: Sequence[float]) -> Operand:
    """Return maps times the score of each."""
    return values * b.constant([*scores], "float32", (len(scores), 1, 1))


def _stack(blocks: Sequence[HostArray]) -> HostArray:
    """Return maps of which each block has some rows, from top to bottom."""
    first = blocks[0]
    count, width = first.shape[0], first.shape[2]
    data = bytearray()
    for number in range(count):
        for part in blocks:
            plane = part.data.nbytes // count
            data += part.data[number * plane : (number + 1) * plane]
    return HostArray(first.dtype, (count, sum(p.shape[1] for p in blocks), width), bytes(data))


async def find_largest(
    backend: Backend,
    maps: HostArray,
    size: Size,
    *,
    scores: Sequence[float] | None = None,
    block: int = BLOCK,
) -> HostArray:
    """Return which of several maps is the largest at each pixel of a size, int32 `[height, width]`.

    With `scores`, maps are logits: their sigmoid times the score of their map is compared. About
    `block` numbers are computed at a time.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def segmented(values):
    ...     return await find_largest(await backend("numpy"), HostArray.of(values), (1, 4))
    >>> asyncio.run(segmented([[[1.0, 0.0]], [[0.0, 1.0]]])).tolist()
    [[0, 0, 1, 1]]
    """

    def choose(b: GraphBuilder, values: Operand) -> Operand:
        compared = values if scores is None else _scale(b, values, scores)
        return b.arg_max(compared, axis=0)

    prepare = _keep if scores is None else _share
    blocks = await _run(backend, maps, size, "linear", block, choose, prepare)
    return HostArray("int32", size, b"".join(bytes(part.data) for part in blocks))


def split_masks(classes: HostArray) -> dict[int, HostArray]:
    """Return a mask for each number in an array, smallest first.

    >>> {n: mask.tolist() for n, mask in split_masks(HostArray.of([[7, 2]], "int32")).items()}
    {2: [[0, 255]], 7: [[255, 0]]}
    """
    values: Any = classes.values()
    present = sorted({*values})
    masks: dict[int, HostArray] = {}
    for start in range(0, len(present), MAX_BYTES - 1):
        part = present[start : start + MAX_BYTES - 1]
        places = {number: index + 1 for index, number in enumerate(part)}
        if len(part) == len(present):
            indices = bytes(map(places.__getitem__, values))
        else:
            indices = bytes(places.get(number, 0) for number in values)
        for number, index in places.items():
            table = bytearray(MAX_BYTES)
            table[index] = WHITE
            masks[number] = HostArray("uint8", classes.shape, indices.translate(table))
    return masks


async def _run(
    backend: Backend,
    maps: HostArray,
    size: Size,
    method: Method,
    block: int,
    finish: Step,
    prepare: Step = _keep,
) -> list[HostArray]:
    """Return what is made of the resized maps, for blocks of rows from top to bottom.

    What `prepare` makes of the maps is resized, what `finish` makes of that is returned.
    """
    count, height, width = maps.shape
    rows = max(1, min(size[0], block // (count * max(size[1], width))))
    down, across = weigh(height, size[0], method), weigh(width, size[1], method)
    columns = HostArray("float32", (width, size[1]), transpose(across))
    b = GraphBuilder()
    values = prepare(b, b.input("maps", "float32", maps.shape))
    wide = b.matmul(values, b.input("columns", "float32", columns.shape))
    tall = b.matmul(b.input("rows", "float32", (1, rows, height)), wide)
    executable = await backend.compile(b.build({"result": finish(b, tall)}))
    results: list[HostArray] = []
    try:
        for start in range(0, size[0], rows):
            # The last block begins earlier, so that all have one size.
            first = min(start, size[0] - rows)
            part = HostArray("float32", (1, rows, height), down.part(first, first + rows).data)
            inputs = {"maps": maps, "columns": columns, "rows": part}
            result = (await executable.run_host(inputs))["result"]
            results.append(_drop_rows(result, start - first))
    finally:
        backend.release(executable)
    return results


def _drop_rows(values: HostArray, count: int) -> HostArray:
    """Return maps, or a single one, without their first rows."""
    if not count:
        return values
    if len(values.shape) == 2:
        return values.part(count, len(values))
    planes, rows, columns = values.shape
    size = values.data.nbytes // planes
    dropped, data = size // rows * count, values.data
    kept = [data[plane * size + dropped : (plane + 1) * size] for plane in range(planes)]
    return HostArray(values.dtype, (planes, rows - count, columns), b"".join(kept))


def weigh(length: int, size: int, method: Method = "linear") -> HostArray:
    """Return the weight of each number of a row in each of a row of another length.

    >>> weigh(2, 4).tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    """
    values = array("f", bytes(4 * length * size))
    for index in range(size):
        middle = (index + 0.5) * length / size - 0.5
        if method == "linear":
            middle = max(middle, 0.0)
        first = math.floor(middle)
        for at, weight in _weights(middle - first, method):
            values[index * length + min(max(first + at, 0), length - 1)] += weight
    return HostArray("float32", (size, length), values)


def _weights(part: float, method: Method) -> list[tuple[int, float]]:
    """Return the weights of the neighbours of a position between two numbers."""
    if method == "linear":
        return [(0, 1 - part), (1, part)]
    a = SHARPNESS

    def near(x: float) -> float:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: float) -> float:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [(-1, far(part + 1)), (0, near(part)), (1, near(1 - part)), (2, far(2 - part))]


def chain_weights(first: HostArray, second: HostArray) -> HostArray:
    """Return the weights of both, one after the other; the second may read fewer than there are.

    >>> chain_weights(weigh(1, 2), weigh(1, 3)).tolist()
    [[1.0], [1.0], [1.0]]
    """
    (size, middle), length = second.shape, first.shape[1]
    near, far = array("f", second.values()), array("f", first.values())
    values = array("f", bytes(4 * size * length))
    for index in range(size):
        for between in range(middle):
            if weight := near[index * middle + between]:
                for k in range(length):
                    values[index * length + k] += weight * far[between * length + k]
    return HostArray("float32", (size, length), values)


def transpose(values: HostArray) -> array[float]:
    """Return the numbers of a matrix column by column."""
    rows, columns = values.shape
    flat, result = values.values(), array("f", bytes(4 * rows * columns))
    for row in range(rows):
        result[row::rows] = array("f", flat[row * columns : (row + 1) * columns])
    return result
