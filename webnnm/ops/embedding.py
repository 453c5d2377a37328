"""Embedding: integers select rows of a table."""

from __future__ import annotations

from typing import Any

from webnnm.ops.declare import values
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.indices import INDEX_TYPES
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, Tensor

SIZE = {"size": ValueOption(read=values.integer(1))}
"""The option of tables: the number of rows of a new one."""


def infer_table(layer: ShapeView, table: Any, columns: int | None) -> None:
    """Infer a table `[size, columns]` from the option `size` and the input."""
    size: int | None = layer.options["size"]
    try:
        table.unify([size, columns])
    except Conflict:
        expected = f"{size or 'any number of'} rows of {columns or 'any number of'} features"
        layer.fail("NNM404", f"table {table}, expected {expected}", at="size")


def _shape(layer: ShapeView) -> None:
    source, table = layer.operands
    result = layer.result
    infer_table(layer, table, result.dims[-1] if result.dims else None)
    if source.dims is None:
        source.unify(result.dims and result.dims[:-1])
        return
    assert table.dims is not None
    try:
        result.unify([*source.dims, table.dims[-1]])
    except Conflict:
        message = f"declared {result}, inferred {source} and {table.dims[-1] or '?'} features"
        layer.fail("NNM402", message, at="shape")
    result.set_names([*source.names, table.names[-1] or "features"])
    result.set_sequence(source.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, table = layer.operands
    rows = b.apply(layer.operator, [source.tensor, table.tensor], {})
    return LayoutTensor(rows, (*source.layout, source.rank), source.sequence)


@declare_composite(
    "embedding",
    summary="the rows of a table that integers select",
    types={"x": "integer"},
    ranks={"table": (2, 2)},
    layer=LayerRules(
        slots=(TensorSlot(name="table", parameter="table"),),
        options=SIZE,
        shape=_shape,
        build=_build,
        own_type=True,
    ),
    traits=("lookup",),
    samples=(
        sample((3,), (4, 2), values=([3, 0, 3],), dtypes=("int32", "float32")),
        sample((2, 2), (3, 5), values=([[0, 2], [1, 1]],), dtypes=("uint8", "float32")),
        sample((), (3, 2), values=(2,), dtypes=("int64", "float16")),
    ),
)
def embedding(b: Builder, x: Tensor, table: Tensor) -> Tensor:
    """Gather the rows; negatives count from the end, and out-of-range indices are clamped."""
    if x.dtype not in INDEX_TYPES:
        x = b.cast(x, type="int64" if x.dtype == "uint64" else "int32")
    return b.gather(table, x, axis=0)
