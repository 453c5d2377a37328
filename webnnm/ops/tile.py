"""A tensor repeated along its axes."""

from __future__ import annotations

from webnnm.core.shapes import count
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.feature_rules import per_feature, unify_result
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType

Ints = tuple[int, ...]


def _infer(x: TensorType, *, repetitions: Ints) -> TensorType:
    return TensorType(x.dtype, tuple(n * r for n, r in zip(x.shape, repetitions, strict=True)))


def _decompose(b: Builder, x: Tensor, *, repetitions: Ints) -> Tensor:
    for axis, times in enumerate(repetitions):
        if times > 1:
            before, behind = count(x.shape[:axis]), count(x.shape[axis:])
            shape = (*x.shape[:axis], times * x.shape[axis], *x.shape[axis + 1 :])
            once = b.reshape(x, new_shape=(before, 1, behind))
            x = b.reshape(b.expand(once, new_shape=(before, times, behind)), new_shape=shape)
    return x


def _shape(layer: ShapeView) -> None:
    source = layer.input
    if layer.options["repetitions"] is None:
        layer.fail("NNM304", '"tile" needs repetitions=')
    if source.dims is not None:
        times = per_feature(layer, "repetitions", source.names, 1, low=1)
        sizes = zip(source.dims, times, strict=True)
        dims = [None if n is None else n * r for n, r in sizes]
        unify_result(layer, dims, source.names, source.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    repetitions = [1] * source.tensor.rank
    names = layer.features[0].names
    for feature, times in enumerate(per_feature(layer, "repetitions", names, 1)):
        repetitions[source.position(feature)] = times
    return source.with_tensor(b.tile(source.tensor, repetitions=repetitions))


tile = Composite(
    name="tile",
    traits=frozenset({"linear", "rearranging", "choosing"}),
    summary="repetition along every axis",
    operands=(Slot(name="input"),),
    options={"repetitions": Option(REQUIRED, checks.per_axis(1, 1), positional=True)},
    native="tile",
    infer=_infer,
    decompose=_decompose,
    batch="axes",
    layer=LayerRules(
        options={"repetitions": ValueOption(read=values.sizes, operand=True)},
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3), repetitions=(1, 2)),
        sample((2, 1, 3), repetitions=(3, 2, 2)),
        sample((), repetitions=()),
    ),
)
