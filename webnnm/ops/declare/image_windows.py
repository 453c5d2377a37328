"""Windows over images `[n, h, w, c]`, as graph operations: the cells of all windows in turn.

Cell (i, j) of every window is one tensor of the size of the result; what flows back to a cell is
put in its place again. Nothing is compared, gathered or multiplied by a matrix: slices, elementwise
arithmetic and concatenations are fast on all backends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webnnm.ops.declare.algebra import scalar_like, zeros_like
from webnnm.ops.declare.along import pad_axis, slice_axis
from webnnm.ops.declare.checks import check_amount
from webnnm.ops.declare.padding import extremes
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.windows import Windows, reach

Place = tuple[int, int]


def places(windows: Sequence[Windows]) -> list[Place]:
    """Return the cells of a window, row by row."""
    rows, columns = windows
    check_amount(
        rows.length * columns.length, f"windows of {rows.length} by {columns.length} cells"
    )
    return [(i, j) for i in range(rows.length) for j in range(columns.length)]


def cells(b: Builder, x: Tensor, windows: Sequence[Windows]) -> Iterator[Tensor]:
    """Yield one cell of all windows after the other; cells of the padding are −∞."""
    for axis, part in enumerate(windows, 1):
        sides = [part.before if k == axis else 0 for k in range(4)]
        ends = [max(part.after, 0) if k == axis else 0 for k in range(4)]
        if any(sides) or any(ends):
            infinite = float("-inf")
            x = b.pad(x, beginning_padding=sides, ending_padding=ends, value=infinite)
    steps = (1, windows[0].stride, windows[1].stride, 1)
    spans = [reach(part.count, part.stride) for part in windows]
    for cell in places(windows):
        starts = [k * part.dilation for k, part in zip(cell, windows, strict=True)]
        yield b.slice(
            x,
            starts=(0, *starts, 0),
            sizes=(x.shape[0], *spans, x.shape[3]),
            strides=steps,
        )


def put_back(b: Builder, parts: Mapping[Place, Tensor], windows: Sequence[Windows]) -> Tensor:
    """Return an image in which each cell is the sum of its parts in the windows.

    `parts` are keyed by place in the window; this is the adjoint of taking the cells.
    """
    rows, columns = windows
    margins = [(part.length - 1) * part.dilation // part.stride for part in windows]
    like = next(iter(parts.values()))
    n, _, _, channels = like.shape
    # Cells a stride apart are neighbours in one of stride × stride images.
    sums: dict[Place, Tensor] = {}
    for cell, part in parts.items():
        offsets = [k * w.dilation for k, w in zip(cell, windows, strict=True)]
        for axis in (0, 1):
            shift = offsets[axis] // windows[axis].stride
            part = pad_axis(b, part, axis + 1, shift, margins[axis] - shift)
        key = offsets[0] % rows.stride, offsets[1] % columns.stride
        sums[key] = sums[key] + part if key in sums else part
    height, width = rows.count + margins[0], columns.count + margins[1]
    check_amount(rows.stride * columns.stride, f"strides of {rows.stride} and {columns.stride}")
    if len(sums) < rows.stride * columns.stride:  # cells between the windows
        empty = zeros_like(b, like, (n, height, width, channels))
        for i in range(rows.stride):
            for j in range(columns.stride):
                sums.setdefault((i, j), empty)
    lines: list[Tensor] = []
    for i in range(rows.stride):
        line = [sums[i, j] for j in range(columns.stride)]
        joined = line[0] if len(line) == 1 else b.concat(line, axis=3)
        lines.append(
            b.reshape(joined, new_shape=(n * height, 1, -1)) if rows.stride > 1 else joined
        )
    grid = lines[0] if len(lines) == 1 else b.concat(lines, axis=1)
    image = b.reshape(grid, new_shape=(n, height * rows.stride, width * columns.stride, channels))
    for axis, part in enumerate(windows, 1):
        missing = part.before + part.size - image.shape[axis]
        image = pad_axis(b, image, axis, 0, max(missing, 0))
        image = slice_axis(b, image, axis, part.before, part.size)
    return image


def to_first_maximum(
    b: Builder, g: Tensor, x: Tensor, top: Tensor, windows: Sequence[Windows]
) -> Tensor:
    """Return the gradient of the maximum `top` of each window: to its first cell, row by row."""
    lowest, highest = extremes(x.dtype)
    # The difference of equal infinities would not be a number.
    x, top = (
        b.min(b.max(t, scalar_like(b, lowest, t)), scalar_like(b, highest, t)) for t in (x, top)
    )
    one = scalar_like(b, 1, x)
    parts: dict[Place, Tensor] = {}
    left, *_, last = g, *places(windows)
    for index, cell in zip(places(windows), cells(b, x, windows), strict=True):
        if index == last:
            parts[index] = left  # one of the cells is the maximum
            break
        # 0 where the cell is the maximum, 1 where it is less: rounded up, all differences are ≥ 1.
        kept = left * b.min(b.ceil(top - cell), one)
        parts[index] = left - kept
        left = kept
    return put_back(b, parts, windows)
