"""The tanh form of gelu, an approximation that some models were trained with.

Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units", arXiv:1606.08415 (2016).
"""

from __future__ import annotations

import math

from webnnm.dtypes import FLOAT
from webnnm.ops.layer import LayerRules
from webnnm.ops.operator import Builder, Composite, Slot, Tensor, sample
from webnnm.ops.rules import build_unary, same_shape


def _gelu_tanh(b: Builder, x: Tensor) -> Tensor:
    inner = (x * x * x * 0.044715 + x) * math.sqrt(2 / math.pi)
    return x * 0.5 * (b.tanh(inner) + 1.0)


gelu_tanh = Composite(
    name="geluTanh",
    summary="x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2, close to gelu",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={},
    decompose=_gelu_tanh,
    layer=LayerRules(shape=same_shape, build=build_unary),
    samples=(sample((2, 3)), sample(())),
)
