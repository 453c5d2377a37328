"""Windows along one axis of a tensor, as graph operations: unfolded, folded, summed."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.shapes import Shape, count
from webnnm.ops.declare.algebra import as_number, scalar_like
from webnnm.ops.declare.along import pad_axis, slice_axis
from webnnm.ops.declare.checks import check_amount
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.windows import Windows


def unfold(b: Builder, x: Tensor, axis: int, windows: Windows) -> Tensor:
    """Return the windows along an axis as `[before, count, length, behind]`.

    A cell of the padding shows the nearest real cell of its window.
    """
    lead, tail = count(x.shape[:axis]), count(x.shape[axis + 1 :])
    flat = b.reshape(x, new_shape=(lead, windows.size, tail))
    if _side_by_side(windows):
        flat = slice_axis(b, flat, 1, 0, windows.count * windows.length)
        return b.reshape(flat, new_shape=(lead, windows.count, windows.length, tail))
    return b.gather(flat, b.constant(windows.nearest, "int32"), axis=1)


def fold(b: Builder, parts: Tensor, shape: Shape, axis: int, windows: Windows) -> Tensor:
    """Add up what each cell contributed to its windows: the adjoint of `unfold`."""
    if not _side_by_side(windows):
        return _scatter_add(
            b, parts, shape, axis, [cell for row in windows.nearest for cell in row]
        )
    lead, tail = count(shape[:axis]), count(shape[axis + 1 :])
    flat = b.reshape(parts, new_shape=(lead, windows.count * windows.length, tail))
    flat = pad_axis(b, flat, 1, 0, windows.size - flat.shape[1])
    return b.reshape(flat, new_shape=shape)


def _scatter_add(
    b: Builder, parts: Tensor, shape: Shape, axis: int, indices: Sequence[int]
) -> Tensor:
    """Sum parts, each of which belongs to an index along an axis."""
    lead, tail = count(shape[:axis]), count(shape[axis + 1 :])
    flat = b.reshape(parts, new_shape=(lead, len(indices), tail))
    # WebNN has no scatter-add: a product with a 0/1 matrix replaces it.
    check_amount(shape[axis] * len(indices), f"{len(indices)} parts of {shape[axis]} cells")
    matrix = [[float(cell == index) for index in indices] for cell in range(shape[axis])]
    return b.reshape(_multiply_middle(b, matrix, flat), new_shape=shape)


def spread_sums(b: Builder, g: Tensor, shape: Shape, axis: int, windows: Windows) -> Tensor:
    """Give every real cell the sum of `g` over the windows that see it: the adjoint of sums."""
    lead, tail = count(shape[:axis]), count(shape[axis + 1 :])
    flat = b.reshape(g, new_shape=(lead, windows.count, tail))
    check_amount(windows.size * windows.count, f"{windows.count} windows over {windows.size} cells")
    counts = [[float(row.count(cell)) for row in windows.cells] for cell in range(windows.size)]
    return b.reshape(_multiply_middle(b, counts, flat), new_shape=shape)


def _multiply_middle(b: Builder, matrix: list[list[float]], x: Tensor) -> Tensor:
    """Multiply the middle dimension of a tensor of rank 3 by a constant matrix."""
    if x.shape[2] > 1:
        return b.matmul(b.constant(matrix, x.dtype), x)
    # One product instead of one per row, which takes five times as long.
    transposed = [list(column) for column in zip(*matrix, strict=True)]
    return b.matmul(b.reshape(x, new_shape=x.shape[:2]), b.constant(transposed, x.dtype))


MAX_COMPARED_CELLS = 8
"""Windows of up to this many cells are compared cell by cell, which is several times faster."""


def first_maximum(
    b: Builder, g: Tensor, x: Tensor, top: Tensor, axis: int, windows: Windows
) -> Tensor:
    """Return the gradient of the maximum `top` over windows: to the first cell that reaches it."""
    shape = count(x.shape[:axis]), windows.count, 1, count(x.shape[axis + 1 :])
    top, rest = (b.reshape(tensor, new_shape=shape) for tensor in (top, g))
    if windows.length > MAX_COMPARED_CELLS:
        parts = unfold(b, x, axis, windows)
        # In float32, whatever the type of x, because float16 only counts to 2048.
        order = b.constant([[float(k)] for k in range(windows.length)])
        reached = b.where(b.equal(parts, top), order, b.constant(float(windows.length)))
        first = b.equal(b.reduce_min(reached, axes=[2], keep_dimensions=True), order)
        return fold(b, b.where(first, rest, scalar_like(b, 0, g)), x.shape, axis, windows)
    shares: list[Tensor] = []
    for k in range(windows.length):
        reached = as_number(b, b.equal(_take_cell(b, x, shape, windows, k), top), g)
        shares.append(rest * reached)
        rest = rest - shares[-1]  # none is left for later cells
    if _side_by_side(windows):
        return fold(b, b.concat(shares, axis=2), x.shape, axis, windows)
    # Piece by piece, because interleaving them takes longer than the product.
    indices = [row[k] for k in range(windows.length) for row in windows.nearest]
    return _scatter_add(b, b.concat(shares, axis=1), x.shape, axis, indices)


def _take_cell(b: Builder, x: Tensor, shape: Shape, windows: Windows, k: int) -> Tensor:
    """Return cell k of all windows."""
    flat = b.reshape(x, new_shape=(shape[0], windows.size, shape[3]))
    cells = [row[k] for row in windows.nearest]
    if all(row[k] for row in windows.real):
        sizes = (shape[0], cells[-1] - cells[0] + 1, shape[3])
        steps = (1, windows.stride, 1)
        cell = b.slice(flat, starts=(0, cells[0], 0), sizes=sizes, strides=steps)
    else:
        cell = b.gather(flat, b.constant(cells, "int32"), axis=1)
    return b.reshape(cell, new_shape=shape)


def _side_by_side(windows: Windows) -> bool:
    """Return whether the windows follow each other without gap, overlap or padding."""
    adjacent = windows.count == 1 or windows.stride == windows.length
    return adjacent and windows.dilation == 1 and not windows.padded
