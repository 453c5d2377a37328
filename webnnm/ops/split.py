"""A tensor split along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from webnnm.core.shapes import is_integer, show
from webnnm.notation.syntax import Items, Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.feature_rules import axis_or_first
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

Splits = int | tuple[int, ...]


def _check(value: Any, *_: TensorType) -> Splits:
    """Accept a number of equal parts, or their sizes."""
    if is_integer(value):
        return checks.integer(1)(value)
    sizes = checks.integers(1)(value)
    if not sizes:
        raise OperatorError("NNM303", "a tensor is split into at least one part")
    return sizes


def _sizes(size: int, splits: Splits) -> tuple[int, ...]:
    """Return the sizes of the parts. Raises NNM406 if they do not add up."""
    if isinstance(splits, int):
        if size % splits:
            raise OperatorError("NNM406", f"{size} elements do not split into {splits} equal parts")
        return (size // splits,) * splits
    if sum(splits) != size:
        raise OperatorError("NNM406", f"{size} elements do not split into parts of {show(splits)}")
    return splits


def _infer(x: TensorType, *, splits: Splits, axis: int) -> tuple[TensorType, ...]:
    sizes = _sizes(x.shape[axis], splits)
    return tuple(
        TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes
    )


def _decompose(b: Builder, x: Tensor, *, splits: Splits, axis: int) -> tuple[Tensor, ...]:
    sizes = _sizes(x.shape[axis], splits)
    starts = accumulate(sizes, initial=0)
    return tuple(slice_axis(b, x, axis, start, n) for start, n in zip(starts, sizes, strict=False))


def _gradient(b: Builder, g: Any, _y: Any, x: Tensor, *, splits: Splits, axis: int) -> list[Any]:
    single = len(_sizes(x.shape[axis], splits)) == 1  # its gradient comes without a tuple
    return [g if single else b.concat(list(g), axis=axis)]


MAX_PARTS = 2**16
"""Most equal parts of a layer; every part is a tensor of its own."""


def _read(value: Value) -> Splits:
    """Read a number of equal parts, or a list of sizes."""
    sizes = values.integers(value)
    if not sizes or min(sizes) < 1:
        raise ValueError("expected a number of parts, or their sizes, from 1")
    if isinstance(value, Items):
        return sizes
    if sizes[0] > MAX_PARTS:
        raise ValueError(f"{sizes[0]} parts, at most {MAX_PARTS} are allowed")
    return sizes[0]


def _results(options: Mapping[str, Any]) -> int:
    splits: Splits | None = options["splits"]
    return splits if isinstance(splits, int) else len(splits or (1,))


def _shape(layer: ShapeView) -> None:
    source, splits = layer.input, layer.options["splits"]
    if splits is None:
        layer.fail("NNM304", '"split" needs a number of parts, or their sizes')
    if source.rank == 0:
        layer.fail("NNM405", f"{source} has no dimension to split")
    if source.dims is None:
        return
    axis = axis_or_first(layer)
    try:
        for result in layer.results:
            result.unify([None] * len(source.dims))
            for k, size in enumerate(source.dims):
                if k != axis:
                    result.unify_size(k, size)
                    source.unify_size(k, (result.dims or [])[k])
            result.set_names(source.names)
            result.set_sequence(source.sequence)
        if isinstance(axis, int):
            _share(layer, axis, splits)
    except Conflict:
        parts = " and ".join(map(str, layer.results))
        layer.fail("NNM402", f"{source} does not split into {parts}", at="shape")


def _share(layer: ShapeView, axis: int, splits: Splits) -> None:
    """Exchange sizes along the axis: the whole is the sum of its parts."""
    source, results = layer.input, layer.results
    assert source.dims is not None
    if source.dims[axis] is None:
        parts = splits
        if isinstance(parts, int):  # parts of the same size: one determines all
            size_of_part = next((r.dims[axis] for r in results if r.dims and r.dims[axis]), None)
            parts = () if size_of_part is None else (size_of_part,) * parts
        source.unify_size(axis, sum(parts) or None)
    total = source.dims[axis]
    if total is not None:
        try:
            sizes = _sizes(total, splits)
        except OperatorError as error:
            layer.fail(error.code, error.message, at="splits")
        for result, size in zip(results, sizes, strict=True):
            result.unify_size(axis, size)


def _build(b: Builder, layer: BuildView) -> tuple[LayoutTensor, ...]:
    source = layer.operands[0]
    role = axis_or_first(layer)
    if role == "sequence" and source.mask is not None:
        message = "rows of different lengths cannot be split along the sequence"
        layer.fail("NNM411", message, at="axis", hint="pick positions with gather")
    axis = source.position(role)
    parts = b.split(source.tensor, splits=layer.options["splits"], axis=axis)
    return tuple(source.with_tensor(part) for part in parts)


split = Composite(
    name="split",
    traits=frozenset({"linear", "rearranging", "choosing"}),
    summary="a tensor split along an axis, into equal parts or parts of given sizes",
    operands=(Slot(name="input", ranks=(1, None)),),
    options={
        "splits": Option(REQUIRED, _check, positional=True),
        "axis": Option(0, checks.axis),
    },
    native="split",
    infer=_infer,
    decompose=_decompose,
    gradient=_gradient,
    batch="axes",
    layer=LayerRules(
        options={
            "splits": ValueOption(read=_read, operand=True),
            "axis": ValueOption(read=values.one_axis),
        },
        shape=_shape,
        build=_build,
        results=_results,
    ),
    samples=(
        sample((4, 3), splits=2),
        sample((2, 6, 2), splits=(1, 3, 2), axis=1),
        sample((3, 2), splits=(2,), axis=-1),
    ),
)
