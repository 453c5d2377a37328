"""A softmax without exponentials: squares divided by their sum."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.functions import in_float32
from webnnm.ops.declare.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.padding import fill_padding
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, Tensor

EPSILON = 1e-6


def _squaremax(b: Builder, x: Tensor, *, axis: int, epsilon: float) -> Tensor:
    squares = x * x + epsilon
    return squares / b.reduce_sum(squares, axes=[axis], keep_dimensions=True)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    (role,) = layer.axes("axis")
    options = {"axis": source.position(role), "epsilon": layer.options["epsilon"]}
    if role == "sequence" and source.mask is not None:
        squares = source.tensor * source.tensor + options["epsilon"]
        kept = fill_padding(builder, source, 0, squares)
        total = builder.reduce_sum(kept, axes=[options["axis"]], keep_dimensions=True)
        return source.with_tensor(kept / total)
    return source.with_tensor(builder.apply(layer.operator, [source.tensor], options))


squaremax = Composite(
    name="squaremax",
    traits=frozenset({"activation"}),
    bounds=(0.0, 1.0),
    summary="(x² + ε)/Σ(x² + ε) along an axis",
    operands=(Slot(name="input", dtypes=FLOAT, ranks=(1, None)),),
    options={"axis": Option(-1, checks.axis), "epsilon": Option(EPSILON, checks.positive)},
    decompose=in_float32(_squaremax),
    layer=LayerRules(
        options={
            "axis": ValueOption(read=values.one_axis, default=(-1,)),
            "epsilon": ValueOption(read=values.positive, default=EPSILON),
        },
        shape=same_shape,
        build=_build,
    ),
    samples=(sample((2, 3), axis=1, low=0.2), sample((3, 2), axis=0, epsilon=0.5)),
    hazards=frozenset({"overflow", "wide"}),
)
