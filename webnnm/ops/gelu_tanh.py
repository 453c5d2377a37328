"""The tanh form of gelu, an approximation that some models were trained with.

Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units", arXiv:1606.08415 (2016).
"""

from __future__ import annotations

import math

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.operator import Composite, Slot, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor


def _gelu_tanh(b: Builder, x: Tensor) -> Tensor:
    inner = (x * x * x * 0.044715 + x) * math.sqrt(2 / math.pi)
    return x * 0.5 * (b.tanh(inner) + 1.0)


gelu_tanh = Composite(
    name="geluTanh",
    traits=frozenset({"activation", "rectifying"}),
    bounds=(-0.1701, math.inf),
    silent_below=-5.2,
    summary="x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2, close to gelu",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={},
    decompose=_gelu_tanh,
    layer=LayerRules(shape=same_shape, build=build_unary),
    samples=(sample((2, 3)), sample(())),
)
