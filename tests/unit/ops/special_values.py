"""Where element-wise functions have special cases: zeros, infinities, NaN, the ends of ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from webnnm import ops
from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare.operator import Composite

NUMBERS: Sequence[float] = (
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.0000001, -1.0000001, 2.0, -2.0, 3.5, -7.25),
    *(1e-7, -1e-7, 1e-30, -1e-30, 88.5, -88.5, 1e6, -1e6, 3e38, -3e38),
    *(math.inf, -math.inf, math.nan),
)
FUNCTIONS = [
    operator
    for operator in ops.registry().values()
    if isinstance(operator, Composite)
    and operator.layer is None
    and operator.reference is not None
    and not operator.options
    and all(slot.ranks == (0, None) and slot.dtypes >= FLOAT for slot in operator.operands)
]
"""The functions of floats that WebNN lacks."""
