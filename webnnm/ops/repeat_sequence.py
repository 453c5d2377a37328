"""A value for every step of a sequence."""

from __future__ import annotations

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.feature_rules import unify_result
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor


def _decompose(b: Builder, x: Tensor, *, length: int) -> Tensor:
    batch, *features = x.shape
    once = b.reshape(x, new_shape=(batch, 1, *features))
    return b.expand(once, new_shape=(batch, length, *features))


def _shape(layer: ShapeView) -> None:
    source, like = layer.input, layer.tensors.get("like")
    if (layer.options["length"] is None) == (like is None):
        layer.fail("NNM304", '"repeatSequence" needs either length= or like=')
    if source.sequence is not None:
        layer.fail("NNM411", f'its input already has the sequence "{source.sequence}"')
    if like is not None and like.dims is not None and like.sequence is None:
        layer.fail("NNM411", "the value that like= names has no sequence", at="like")
    if source.dims is not None:
        sequence = "sequence" if like is None else like.sequence
        unify_result(layer, source.dims, source.names, sequence)
        source.unify(layer.result.dims)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, like = layer.operands[0].canonical(), layer.tensors.get("like")
    length = layer.options["length"] if like is None else like.size("sequence")
    x = source.tensor
    if not source.lead:  # a constant is the same for all samples
        x = b.reshape(x, new_shape=(1, *x.shape))
    repeated = b.repeat_sequence(x, length=length)
    layout: tuple[Role, ...] = ("batch", "sequence", *range(source.rank))
    return LayoutTensor(repeated, layout, "sequence" if like is None else like.sequence)


repeat_sequence = Composite(
    name="repeatSequence",
    summary="repetition along a new dimension after the first",
    operands=(Slot(name="input", ranks=(1, None)),),
    options={"length": Option(REQUIRED, checks.integer(1))},
    decompose=_decompose,
    layer=LayerRules(
        slots=(TensorSlot(name="like", option=True, optional=True, promotes=False, aside=True),),
        options={"length": ValueOption(read=values.integer(1))},
        shape=_shape,
        build=_build,
    ),
    samples=(sample((2,), length=3), sample((2, 3, 1), length=2)),
)
