"""Pooling of images: average, maximum and Euclidean norm of the real cells of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from webnnm.core.dtypes import ANY, FLOAT, DataType
from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.algebra import scalar_like
from webnnm.ops.declare.axis_windows import first_maximum, spread_sums, unfold
from webnnm.ops.declare.image_windows import to_first_maximum
from webnnm.ops.declare.letters import order
from webnnm.ops.declare.operator import (
    AnyOperator,
    Gradient,
    Operator,
    Option,
    Reference,
    Sample,
    Slot,
    StableHLO,
    sample,
)
from webnnm.ops.declare.pool_layer import layer_rules
from webnnm.ops.declare.spatial import (
    INPUT_LAYOUTS,
    PADDING,
    STEPS,
    Pair,
    Sides,
    automatic_padding,
    check_automatic_padding,
    height_width,
    is_image,
    pair_or_none,
    permute,
    sizes_by_letter,
)
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.declare.traits import Trait
from webnnm.ops.declare.windows import Windows, reach, unfold_array

OPTIONS = {
    "window_dimensions": Option(None, pair_or_none),
    "padding": PADDING,
    **STEPS,
    "layout": Option("nchw", checks.choice(*INPUT_LAYOUTS)),
    "output_shape_rounding": Option("floor", checks.choice("floor", "ceil")),
    "output_sizes": Option(None, pair_or_none),
}


MAX_CELLS = 16
"""Windows of up to this many cells are compared cell by cell, larger ones axis by axis."""


def pool_windows(
    shape: Sequence[int],
    *,
    window_dimensions: Pair | None,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    layout: str,
    output_shape_rounding: str,
    output_sizes: Pair | None,
) -> tuple[Windows, Windows]:
    """Return the windows along height and along width. Raises NNM303, NNM408."""
    image = height_width(sizes_by_letter(layout, shape))
    result: list[Windows] = []
    for axis, (size, length) in enumerate(zip(image, window_dimensions or image, strict=True)):
        stride, before = strides[axis], padding[2 * axis]
        room = size + before + padding[2 * axis + 1] - reach(length, dilations[axis])
        if room < 0:
            raise OperatorError(
                "NNM408",
                f"a window of {size + before + padding[2 * axis + 1] - room} over "
                f"{size} cells with padding {show(padding)}",
            )
        smallest, largest = room // stride + 1, -(-room // stride) + 1
        times = smallest if output_shape_rounding == "floor" else largest
        if output_sizes is not None:
            times = output_sizes[axis]
        if times not in (smallest, largest):
            raise OperatorError(
                "NNM303",
                f"output sizes {show(output_sizes or ())}: {times} is neither {smallest} "
                f"nor {largest}",
            )
        windows = Windows(size, length, times, stride, dilations[axis], before)
        if 0 in windows.real_counts:
            raise OperatorError(
                "NNM408",
                f"window {windows.real_counts.index(0)} of {times} lies entirely in the padding",
                "use less padding, or outputShapeRounding=floor",
            )
        result.append(windows)
    return result[0], result[1]


def axes(layout: str) -> Pair:
    """Return the axes of height and width."""
    return layout.index("h"), layout.index("w")


def _infer(x: TensorType, **options: Any) -> TensorType:
    rows, columns = pool_windows(x.shape, **options)
    sizes = {**sizes_by_letter(options["layout"], x.shape), "h": rows.count, "w": columns.count}
    return TensorType(x.dtype, tuple(sizes[letter] for letter in options["layout"]))


def real_cells(
    b: Builder, x: Tensor, layout: str, rows: Windows, columns: Windows, *, unit: float = 1.0
) -> Tensor | float:
    """Return the number of real cells of each window, in units of `unit`.

    It is a constant that broadcasts to the result, or a number if it is the same for all windows.
    """
    if not rows.padded and not columns.padded:
        return rows.length * columns.length / unit
    size = rows.count * columns.count
    if size > checks.MAX_NUMBERS:  # one constant of each axis, multiplied where they are needed
        down, across = (
            b.constant(
                [number / share for number in windows.real_counts],
                x.dtype,
                [windows.count if axis_letter == letter else 1 for axis_letter in layout],
            )
            for letter, windows, share in (("h", rows, unit), ("w", columns, 1))
        )
        return down * across
    counts = [[r * c / unit for c in columns.real_counts] for r in rows.real_counts]
    shape = {"n": 1, "c": 1, "h": rows.count, "w": columns.count}
    return b.constant(counts, x.dtype, [shape[letter] for letter in layout])


def _spread(b: Builder, g: Tensor, x: Tensor, layout: str, windows: Sequence[Windows]) -> Tensor:
    """Return, for each cell, the sum of g over all windows that see it."""
    height, width = axes(layout)
    sizes = {**sizes_by_letter(layout, g.shape), "h": windows[0].size}
    tall = tuple(sizes[letter] for letter in layout)
    return spread_sums(b, spread_sums(b, g, tall, height, windows[0]), x.shape, width, windows[1])


def _average_gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, **options: Any) -> list[Tensor]:
    windows = pool_windows(x.shape, **options)
    shared = g / real_cells(b, x, options["layout"], *windows)
    return [_spread(b, shared, x, options["layout"], windows)]


def _norm_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, **options: Any) -> list[Tensor]:
    windows = pool_windows(x.shape, **options)
    # Where y = 0 all its cells are 0, and so is their gradient: any divisor will do.
    divisor = b.where(b.equal(y, scalar_like(b, 0, y)), scalar_like(b, 1, y), y)
    return [x * _spread(b, g / divisor, x, options["layout"], windows)]


def _maximum_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, **options: Any) -> list[Tensor]:
    """Search first along the height, among the maxima of the rows, then along the row found."""
    rows, columns = pool_windows(x.shape, **options)
    if rows.length * columns.length <= MAX_CELLS:
        # Channels last, because single elements are slow to separate and interleave.
        g, y, x = (permute(b, image, options["layout"], "nhwc") for image in (g, y, x))
        gradient = to_first_maximum(b, g, x, y, (rows, columns))
        return [permute(b, gradient, "nhwc", options["layout"])]
    height, width = axes(options["layout"])
    tops = b.max_pool2d(
        x,
        window_dimensions=(1, columns.length),
        padding=(0, 0, *options["padding"][2:]),
        strides=(1, columns.stride),
        dilations=(1, columns.dilation),
        layout=options["layout"],
        output_sizes=(rows.size, columns.count),
    )
    gradient = first_maximum(b, g, tops, y, height, rows)
    return [first_maximum(b, gradient, x, tops, width, columns)]


def _result_shape(x: Tensor, axis: int, windows: Windows) -> tuple[int, ...]:
    return (*x.shape[:axis], windows.count, *x.shape[axis + 1 :])


def _maxima(b: Builder, x: Tensor, axis: int, windows: Windows) -> Tensor:
    top = b.reduce_max(unfold(b, x, axis, windows), axes=[2])
    return b.reshape(top, new_shape=_result_shape(x, axis, windows))


def _sums(b: Builder, x: Tensor, axis: int, windows: Windows) -> Tensor:
    parts = unfold(b, x, axis, windows)
    if windows.padded:
        real = b.constant(windows.real, "uint8", (windows.count, windows.length, 1))
        parts = b.where(real, parts, b.constant(0, x.dtype))
    total = b.reduce_sum(parts, axes=[2])
    return b.reshape(total, new_shape=_result_shape(x, axis, windows))


def _twice(b: Builder, x: Tensor, along: Callable[..., Tensor], options: dict[str, Any]) -> Tensor:
    windows = pool_windows(x.shape, **options)
    for axis, part in zip(axes(options["layout"]), windows, strict=True):
        x = along(b, x, axis, part)
    return x


def _average(b: Builder, x: Tensor, **options: Any) -> Tensor:
    windows = pool_windows(x.shape, **options)
    return _twice(b, x, _sums, options) / real_cells(b, x, options["layout"], *windows)


def _norm(b: Builder, x: Tensor, **options: Any) -> Tensor:
    return b.sqrt(_twice(b, x * x, _sums, options))


def _maximum(b: Builder, x: Tensor, **options: Any) -> Tensor:
    return _twice(b, x, _maxima, options)


def _kernel(reduce: Callable[[Any, Any, Any], Any], padding: float | None) -> Reference:
    """Return a kernel that reduces the windows `[n, c, rows, kh, columns, kw]` of an image."""

    def apply(np: Any, x: Any, **options: Any) -> Any:
        windows = pool_windows(x.shape, **options)
        image = np.permute_dims(x, order(options["layout"], "nchw"))
        # Squares and sums of float16 overflow where the result does not.
        wide = np.astype(image, np.float32) if x.dtype == np.float16 else image
        rows, columns = (np.asarray(w.real_counts) for w in windows)
        counts = np.astype(rows[:, None] * columns, wide.dtype)
        result = reduce(np, unfold_array(np, wide, *windows, padding), counts)
        return np.astype(np.permute_dims(result, order("nchw", options["layout"])), x.dtype)

    return apply


def _lower(kind: str, h: Any, x: Any, **options: Any) -> Any:
    """Combine the real cells of each window in StableHLO."""
    places = axes(options["layout"])
    if options["window_dimensions"] is None and not any(options["padding"]):
        return h.reduce(kind, x, places, keep=True)
    window, strides, dilations, padding = [1] * 4, [1] * 4, [1] * 4, [(0, 0)] * 4
    for k, axis in enumerate(places):
        size, length = (
            x.shape[axis],
            (options["window_dimensions"] or [x.shape[n] for n in places])[k],
        )
        stride, dilation = options["strides"][k], options["dilations"][k]
        before, after = options["padding"][2 * k : 2 * k + 2]
        span = reach(length, dilation)
        if (size + before + after - span) // stride + 1 != h.shape[axis]:
            after = (h.shape[axis] - 1) * stride + span - before - size
        window[axis], strides[axis], dilations[axis] = length, stride, dilation
        padding[axis] = before, after
    return h.reduce_window(kind, x, window, strides=strides, padding=padding, dilations=dilations)


def _lower_average(h: Any, x: Any, **options: Any) -> Any:
    wide = h.wide(x)
    one = [n if k in axes(options["layout"]) else 1 for k, n in enumerate(x.shape)]
    counts = _lower("add", h, h.constant(1, wide.dtype, tuple(one)), **options)
    return h.convert(h.divide(_lower("add", h, wide, **options), counts), x.dtype)


def _lower_norm(h: Any, x: Any, **options: Any) -> Any:
    wide = h.wide(x)
    return h.convert(h.sqrt(_lower("add", h, h.multiply(wide, wide), **options)), x.dtype)


def _earlier(
    b: Builder, operator: AnyOperator, operands: Sequence[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Turn `auto_pad` and `rounding_type` of the 2022 draft into today's options."""
    del b
    rounding = options.pop("rounding_type", None)
    if rounding is not None and options.setdefault("output_shape_rounding", rounding) != rounding:
        both = f"{rounding!r} and {options['output_shape_rounding']!r}"
        raise OperatorError("NNM303", f"rounding_type and output_shape_rounding are {both}")
    mode = check_automatic_padding(options.pop("auto_pad", "explicit"))
    if mode != "explicit" and len(operands) == 1 and is_image(operands[0]):
        call_options = {
            name: option.check(options.get(name, option.default))
            for name, option in operator.options.items()
        }
        sizes = height_width(sizes_by_letter(call_options["layout"], operands[0].shape))
        window = call_options["window_dimensions"] or sizes
        options["padding"] = automatic_padding(
            mode, sizes, window, call_options["strides"], call_options["dilations"]
        )
    return operands, options


POOLING: frozenset[Trait] = frozenset({"pooling", "windowed"})


def _pool(
    name: str,
    summary: str,
    reference: Reference,
    gradient: Gradient,
    decompose: Callable[..., Tensor],
    stablehlo: StableHLO,
    *,
    dtypes: frozenset[DataType] = FLOAT,
    hazards: frozenset[str] = frozenset(),
    traits: frozenset[Trait] = POOLING,
) -> Operator:
    return Operator(
        name=name,
        summary=summary,
        aliases=(name.replace("2d", "2D"),),
        operands=(Slot(name="input", dtypes=dtypes, ranks=(4, 4)),),
        options=OPTIONS,
        infer=_infer,
        gradient=gradient,
        reference=reference,
        stablehlo=stablehlo,
        decompose=decompose,
        earlier=_earlier,
        batch="pool",
        layer=layer_rules(pool_windows),
        samples=SAMPLES,
        hazards=hazards,
        traits=traits,
    )


SAMPLES: tuple[Sample, ...] = (
    sample((1, 2, 3, 4)),
    sample((2, 1, 4, 5), window_dimensions=(2, 2), strides=(2, 2)),
    sample((1, 2, 5, 4), window_dimensions=(3, 2), padding=(1, 1, 0, 1)),
    sample(
        (1, 5, 4, 2),
        window_dimensions=(2, 3),
        strides=(2, 1),
        padding=(1, 0, 2, 1),
        layout="nhwc",
    ),
    sample(
        (1, 1, 7, 6),
        window_dimensions=(3, 2),
        dilations=(2, 3),
        strides=(2, 1),
        padding=(1, 2, 1, 0),
    ),
    sample((1, 2, 7, 5), window_dimensions=(2, 2), strides=(3, 2), output_shape_rounding="ceil"),
    sample((1, 1, 5, 5), window_dimensions=(2, 3), strides=(2, 3), output_sizes=(3, 1)),
)

average_pool2d = _pool(
    "averagePool2d",
    "mean of the real cells of each window",
    _kernel(lambda np, cells, counts: np.sum(cells, axis=(3, 5)) / counts, 0),
    _average_gradient,
    _average,
    _lower_average,
    traits=frozenset({"pooling", "windowed", "linear"}),
)
l2_pool2d = _pool(
    "l2Pool2d",
    "√Σ x² of each window; gradient 0 at 0",
    _kernel(lambda np, cells, counts: np.sqrt(np.sum(cells * cells, axis=(3, 5))), 0),
    _norm_gradient,
    _norm,
    _lower_norm,
    hazards=frozenset({"overflow"}),
)
max_pool2d = _pool(
    "maxPool2d",
    "largest cell of each window; gradient to the first",
    _kernel(lambda np, cells, counts: np.max(cells, axis=(3, 5)), None),
    _maximum_gradient,
    _maximum,
    partial(_lower, "maximum"),
    dtypes=ANY,
    traits=frozenset({"pooling", "windowed", "choosing"}),
)
