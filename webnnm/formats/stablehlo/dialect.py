"""The interface of lowerings: the vocabulary of StableHLO as short methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.dtypes import DataType
from webnnm.formats.sizes import Dim, Dims, static
from webnnm.formats.stablehlo.elementwise import common_shape
from webnnm.formats.stablehlo.emitter import Region, Type, Value
from webnnm.formats.stablehlo.movement import Movement
from webnnm.formats.stablehlo.text import booleans, integer, integers, pairs

Pairs = Sequence[tuple[Dim, Dim]]


def refuse_graphs(*_: object) -> list[Value]:
    """Raise an error, as the default if nothing writes graphs."""
    raise NotImplementedError


@dataclass
class Dialect(Movement):
    """The emitter that every lowering gets as `h`.

    Operands are values with `dtype`, `shape` and `rank`; numbers among them take their type.
    `shape` is that of the result, as the operator's own rule infers it; `write_graph` writes what
    `inline` is given.

    >>> h = Dialect()
    >>> x = Value("float32", (2, 3))
    >>> h.add(x, 1), h.reduce("add", x, [1]).shape, h.compare("GT", x, 0).dtype
    (Value(dtype='float32', shape=(2, 3)), (2,), 'bool')
    """

    shape: Dims = ()
    write_graph: Callable[..., list[Value]] = refuse_graphs

    def reduce(self, kind: str, x: Value, axes: Sequence[int], *, keep: bool = False) -> Value:
        """Combine the elements along axes by "add", "multiply", "maximum" or "minimum"."""
        left = tuple(size for k, size in enumerate(x.shape) if k not in axes)
        kept = tuple(1 if k in axes else size for k, size in enumerate(x.shape))
        if axes:
            operands = [x, self._neutral(kind, x)]
            region = self._combining(kind, x)
            name, written = "stablehlo.reduce", integers(axes)
            x = self.one(name, operands, x.dtype, left, region, dimensions=written)
        return self.reshape(x, kept) if keep else x

    def loop(
        self,
        first: Sequence[Value],
        going: Callable[..., Value],
        step: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """Return the values after a loop, whose body is repeated while a condition holds."""
        types: list[Type] = [(value.dtype, value.shape) for value in first]
        regions = self.region(types, lambda *v: [going(*v)]), self.region(types, step)  # pyrefly: ignore[implicit-any-lambda]
        return self.emit("stablehlo.while", first, types, *regions)

    def inline(self, build: Callable[..., Any], *values: Value | None) -> list[Value]:
        """Write the graph that a function of a builder and operands builds; None stays None."""
        return self.write_graph(self, build, values)

    def count(self, x: Value, axes: Sequence[int]) -> Dim:
        """Return the number of elements that a reduction along axes combines."""
        total: Dim = 1
        for axis in axes:
            total = x.shape[axis] * total
        return total

    def first(self, x: Value, axis: int, dtype: DataType, *, largest: bool) -> Value:
        """Return the index of the largest or smallest element along an axis, the first of ties."""
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        places = self.iota(x.shape, axis, dtype)
        start = self.lowest(x.dtype) if largest else self.highest(x.dtype)
        operands = [x, places, self.constant(start, x.dtype), self.constant(0, dtype)]
        scalars: list[Type] = [(x.dtype, ()), (dtype, ())] * 2

        def body(a: Value, i: Value, b: Value, j: Value) -> list[Value]:
            # NaN comes before all numbers, as it does in NumPy.
            beats = self.compare("GT" if largest else "LT", a, b)
            beats = self.bitwise_or(beats, self.compare("NE", a, a))
            tie = self.bitwise_and(self.compare("EQ", a, b), self.compare("LT", i, j))
            chosen = self.select(self.bitwise_or(beats, tie), i, j)
            return [self.select(beats, a, b), chosen]

        types: list[Type] = [(x.dtype, shape), (dtype, shape)]
        region = self.region(scalars, body)
        return self.emit("stablehlo.reduce", operands, types, region, dimensions=integers([axis]))[
            1
        ]

    def reduce_window(
        self,
        kind: str,
        x: Value,
        window: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        padding: Pairs | None = None,
        dilations: Sequence[int] | None = None,
    ) -> Value:
        """Combine the elements of each window; padding counts as the neutral element."""
        ones = (1,) * x.rank
        steps, spread = strides or ones, dilations or ones
        sides = [
            (static(low, "a padding"), static(high, "a padding"))
            for low, high in padding or [(0, 0)] * x.rank
        ]
        shape = tuple(
            (size + low + high - (length - 1) * dilation - 1) // step + 1
            for size, (low, high), length, dilation, step in zip(
                x.shape, sides, window, spread, steps, strict=True
            )
        )
        return self.one(
            "stablehlo.reduce_window",
            [x, self._neutral(kind, x)],
            x.dtype,
            shape,
            self._combining(kind, x),
            window_dimensions=integers(window),
            window_strides=integers(steps),
            base_dilations=integers(ones),
            window_dilations=integers(spread),
            padding=pairs(sides),
        )

    def dot_general(
        self,
        x: Value,
        y: Value,
        contracting: tuple[Sequence[int], Sequence[int]],
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> Value:
        """Sum the products over contracting dimensions; batch dimensions come first."""
        shape = [x.shape[k] for k in batching[0]]
        for value, batch, inner in zip((x, y), batching, contracting, strict=True):
            shape += [n for k, n in enumerate(value.shape) if k not in (*batch, *inner)]
        listed = {
            "lhs_batching_dimensions": batching[0],
            "rhs_batching_dimensions": batching[1],
            "lhs_contracting_dimensions": contracting[0],
            "rhs_contracting_dimensions": contracting[1],
        }
        written = ", ".join(f"{name} = {list(dims)}" for name, dims in listed.items() if dims)
        return self.one(
            "stablehlo.dot_general",
            [x, y],
            x.dtype,
            tuple(shape),
            dot_dimension_numbers=f"#stablehlo.dot<{written}>",
        )

    def matmul(self, x: Value, y: Value) -> Value:
        """Multiply matrices; leading dimensions broadcast."""
        if y.rank == 2:
            return self.dot_general(x, y, ([x.rank - 1], [0]))
        lead = common_shape(x.shape[:-2], y.shape[:-2])
        x, y = (self.broadcast(value, (*lead, *value.shape[-2:])) for value in (x, y))
        batch, k = range(len(lead)), len(lead)
        return self.dot_general(x, y, ([k + 1], [k]), (tuple(batch), tuple(batch)))

    def convolution(
        self,
        x: Value,
        kernel: Value,
        *,
        layouts: tuple[str, str],
        shape: Dims,
        padding: Pairs,
        strides: Sequence[int] = (1, 1),
        spread: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        groups: int = 1,
        reverse: bool = False,
    ) -> Value:
        """Convolve images with a filter; `spread` dilates the images.

        `layouts` are the letters of the dimensions, such as "nchw" and "oihw"; the result has the
        first layout and the given shape. `reverse` flips the filter in both dimensions.
        """
        image, cells = (
            ", ".join(layout.translate(_LETTERS)) for layout in (layouts[0], layouts[1])
        )
        sides = [(static(low, "a padding"), static(high, "a padding")) for low, high in padding]
        return self.one(
            "stablehlo.convolution",
            [x, kernel],
            x.dtype,
            shape,
            batch_group_count=integer(1),
            dimension_numbers=f"#stablehlo.conv<[{image}]x[{cells}]->[{image}]>",
            feature_group_count=integer(groups),
            lhs_dilation=integers(spread),
            padding=pairs(sides),
            rhs_dilation=integers(dilations),
            window_reversal=booleans([reverse] * len(strides)),
            window_strides=integers(strides),
        )

    def running_sum(self, x: Value, axis: int) -> Value:
        """Return the cumulative sums along an axis."""
        size = x.shape[axis]
        if isinstance(size, int):
            window = [size if k == axis else 1 for k in range(x.rank)]
            padding = [(size - 1 if k == axis else 0, 0) for k in range(x.rank)]
            return self.reduce_window("add", x, window, padding=padding)
        # Windows need sizes that are known at export: otherwise a product with ones.
        rows, columns = (self.iota((size, size), k, "int32") for k in (0, 1))
        before = self.convert(self.compare("LE", rows, columns), x.dtype)
        order = [k for k in range(x.rank) if k != axis]
        sums = self.dot_general(x, before, ([axis], [0]))
        return self.transpose(sums, [*range(axis), len(order), *range(axis, len(order))])

    def _neutral(self, kind: str, x: Value) -> Value:
        """Return the neutral element of the combination."""
        if kind in ("maximum", "minimum"):
            bound = self.lowest(x.dtype) if kind == "maximum" else self.highest(x.dtype)
            return self.constant(bound, x.dtype)
        return self.constant(int(kind == "multiply"), x.dtype)

    def _combining(self, kind: str, x: Value) -> Region:
        def body(a: Value, b: Value) -> list[Value]:
            return [getattr(self, kind)(a, b)]

        return self.region([(x.dtype, ()), (x.dtype, ())], body)


_LETTERS = str.maketrans("ncoihw", "bfoi01")
