"""How often each number occurs among integers: bincount."""

from __future__ import annotations

import math

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, feature_roles
from webnnm.ops.declare.operator import Option, sample
from webnnm.ops.declare.padding import fill_padding
from webnnm.ops.declare.tensors import Builder, Tensor


def _shape(layer: ShapeView) -> None:
    source, size = layer.input, layer.options["size"]
    if size is None:
        layer.fail("NNM304", '"bincount" needs size=, how many numbers are counted')
    if source.dims is None:
        return
    if source.sequence is not None:
        if source.dims:
            message = f"a position has {source}, but numbers are counted along the sequence"
            layer.fail("NNM404", message, hint="bincount takes shape=[] with sequence=")
        lead: list[int | None] = []
    else:
        if not source.dims:
            layer.fail("NNM405", "there is no dimension along which numbers could be counted")
        lead = [*source.dims[:-1]]
    try:
        layer.result.unify([*lead, size])
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {[*lead, size]}", at="size")
    layer.result.set_names([*source.names[: len(lead)], "features"])


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, size = layer.operands[0].canonical(), layer.options["size"]
    x = source.tensor
    if source.mask is not None:
        x = fill_padding(b, source, -1, b.cast(x, type="int32"))
    counts = b.apply(layer.operator, [x], {"size": size})
    if layer.dtype != "float32":
        counts = b.cast(counts, type=layer.dtype)
    lead = tuple(role for role in source.lead if role != "sequence")
    return LayoutTensor(counts, (*lead, *feature_roles(counts.rank - len(lead))))


@declare_composite(
    "bincount",
    summary="how often each of 0 … size − 1 occurs among the integers of the last dimension",
    types={"x": "integer"},
    ranks={"x": (1, None)},
    options={"size": Option(0, checks.integer(1), positional=True)},
    result="float32",
    layer=LayerRules(
        options={"size": ValueOption(read=values.integer(1), operand=True)},
        shape=_shape,
        build=_build,
        own_type=True,
    ),
    samples=(
        sample((5,), values=([0, 3, 0, 2, 3],), dtypes=("int32",), size=4),
        sample((2, 3), values=([[7, 1, 1], [-1, 9, 0]],), dtypes=("int32",), size=9),
        sample((2, 1, 2), values=([[[0, 0]], [[1, 0]]],), dtypes=("uint8",), size=1),
    ),
)
def bincount(b: Builder, x: Tensor, *, size: int) -> Tensor:
    """Count each number; others are not counted.

    A number is row · width + column of a table, about as wide as high. The one-hot rows of the two
    are short, and the product of both counts all cells: no row of `size` elements is made for each
    of the numbers.
    """
    width = math.isqrt(size - 1) + 1
    height = -(-size // width)
    numbers = b.cast(x, type="float32")
    # In the middle of its interval no number is rounded into another row.
    rows = b.floor((numbers + 0.5) / float(width))
    columns = numbers - rows * float(width)
    *lead, n = x.shape
    row_hot = _one_hot(b, b.reshape(rows, new_shape=(*lead, 1, n)), (height, 1))
    column_hot = _one_hot(b, b.reshape(columns, new_shape=(*lead, n, 1)), (1, width))
    table = b.matmul(row_hot, column_hot)
    counts = b.reshape(table, new_shape=(*lead, height * width))
    return counts if height * width == size else slice_axis(b, counts, len(lead), 0, size)


def _one_hot(b: Builder, numbers: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return 1 where a number is that of the row or column, as 1 − |difference| but not below 0."""
    return b.relu(1.0 - b.abs(numbers - b.constant(range(max(shape)), "float32", shape)))
