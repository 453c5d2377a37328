"""Silu, also known as swish: each number times its own sigmoid.

Source: P. Ramachandran, B. Zoph, Q. Le, "Searching for activation functions", arXiv:1710.05941
(2017); with α = 1.702 it is the "quick gelu" of D. Hendrycks, K. Gimpel, arXiv:1606.08415 (2016).
"""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor


def _silu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return x * b.sigmoid(x if alpha == 1 else x * alpha)


silu = Composite(
    name="silu",
    traits=frozenset({"activation", "rectifying"}),
    summary="x·sigmoid(α·x)",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"alpha": Option(1.0, checks.number)},
    decompose=_silu,
    layer=LayerRules(
        options={"alpha": ValueOption(read=values.number, default=1.0)},
        shape=same_shape,
        build=build_unary,
    ),
    samples=(sample((2, 3)), sample((4,), alpha=1.702), sample(())),
)
