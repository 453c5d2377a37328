"""Numbers in equal steps."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import DataType, holds
from webnnm.core.shapes import Shape, count, is_integer, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, feature_roles
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _number(value: Any, *_: TensorType) -> float:
    """Accept any number; integers stay integers."""
    return int(value) if is_integer(value) else checks.number(value)


def _decompose(b: Builder, *, type: DataType, shape: Shape, start: float, delta: float) -> Tensor:
    checks.check_amount(count(shape), f"the sequence {show(shape)}")
    numbers = [start + index * delta for index in range(count(shape))]
    for number in (numbers[0], numbers[-1], start + delta if len(numbers) > 1 else start):
        if not holds(type, number):
            raise OperatorError("NNM502", f'{number} of "fillSequence" is not a {type}')
    return b.constant(numbers, type, shape)


def _shape(layer: ShapeView) -> None:
    requested: values.Sizes | None = layer.options["shape"]
    like = layer.tensors.get("like")
    if (requested is None) == (like is None):
        layer.fail("NNM304", '"fillSequence" needs either shape= or like=')
    if like is not None:
        if like.dims is not None and like.sequence is None:
            layer.fail("NNM411", "the value that like= names has no sequence", at="like")
        _learn(layer, [], ())
        layer.result.set_sequence(like.sequence)
    elif requested is not None:
        sizes = [size for size in requested.sizes if isinstance(size, int) and size >= 1]
        if len(sizes) < len(requested.sizes):
            layer.fail("NNM109", "the sizes of a sequence must be integers from 1", at="shape")
        _learn(layer, sizes, requested.names or (None,) * len(sizes))


def _learn(layer: ShapeView, sizes: list[int], names: Any) -> None:
    try:
        layer.result.unify(sizes)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {show(sizes)}", at="shape")
    layer.result.set_names(names)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    steps = {name: layer.options[name] for name in ("start", "delta")}
    like = layer.tensors.get("like")
    if like is None:
        sizes = layer.results[0].sizes()
        return LayoutTensor(b.fill_sequence(layer.dtype, sizes, **steps), feature_roles(len(sizes)))
    length = like.size("sequence")
    tensor = b.fill_sequence(layer.dtype, (1, length), **steps)
    batch = like.size("batch") if "batch" in like.layout else 1
    return LayoutTensor(
        b.expand(tensor, new_shape=(batch, length)), ("batch", "sequence"), like.sequence
    )


fill_sequence = Composite(
    name="fillSequence",
    summary="start, start + delta, … in row-major order",
    operands=(),
    options={
        "type": Option(REQUIRED, checks.data_type, positional=True),
        "shape": Option(REQUIRED, checks.integers(1), positional=True),
        "start": Option(0, _number),
        "delta": Option(1, _number),
    },
    decompose=_decompose,
    layer=LayerRules(
        slots=(TensorSlot(name="like", option=True, optional=True, promotes=False, aside=True),),
        options={
            "shape": ValueOption(read=values.sizes),
            "start": ValueOption(read=values.number, default=0),
            "delta": ValueOption(read=values.number, default=1),
        },
        shape=_shape,
        build=_build,
        starts=True,
    ),
    traits=frozenset({"sequential"}),
    samples=(
        sample(type="float32", shape=(2, 3)),
        sample(type="int32", shape=(4,), start=5, delta=-2),
        sample(type="float16", shape=(), start=0.5),
    ),
)
