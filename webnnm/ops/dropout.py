"""Dropout: some elements become 0 in training, the others grow to keep the mean."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.notation.syntax import Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _share(value: Any, *_: TensorType) -> float:
    """Accept a number between 0 and 1 (exclusive)."""
    share = checks.number(value)
    if not 0 < share < 1:
        raise OperatorError("NNM303", f"{share} is not between 0 and 1")
    return share


def _read_share(value: Value) -> float:
    share = values.number(value)
    if not 0 < share < 1:
        raise ValueError(f"{share} must be between 0 and 1 (exclusive)")
    return share


def _decompose(b: Builder, x: Tensor, *, p: float) -> Tensor:
    return b.identity(x)


def _shape(layer: ShapeView) -> None:
    if layer.options["p"] is None:
        layer.fail("NNM304", '"dropout" needs p=')
    same_shape(layer)


def apply_dropout(b: Builder, layer: BuildView, x: Tensor, p: float) -> Tensor:
    """Return `x` with a share `p` of its elements set to 0 in training, and unchanged otherwise."""
    if not layer.training or not p:
        return x
    numbers = layer.uniform(x.shape)
    # 1 where a number is p or more, 0 elsewhere: several times as fast as a comparison.
    kept = b.floor(numbers - p) + 1.0
    return x * b.cast(kept, type=x.dtype) * (1 / (1 - p))


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    return source.with_tensor(apply_dropout(b, layer, source.tensor, layer.options["p"]))


dropout = Composite(
    name="dropout",
    traits=frozenset({"passing", "linear"}),
    summary="the operand itself; in training, a new mask in each step keeps a share 1 − p of it",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"p": Option(REQUIRED, _share, positional=True)},
    decompose=_decompose,
    layer=LayerRules(
        options={"p": ValueOption(read=_read_share, operand=True)}, shape=_shape, build=_build
    ),
    samples=(sample((2, 3), p=0.5), sample((2, 1, 3), p=0.1)),
)
