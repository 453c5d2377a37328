"""The input of Whisper: the logarithm of the power of sound in mel bands, as a graph.

Source: A. Radford et al., arXiv:2212.04356, section 2.2.
"""

from __future__ import annotations

import math
from typing import Any

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.mel import mel_powers

MIN_POWER = 1e-10
"""Powers below this are raised to it."""
RANGE = 8.0
"""The dynamic range: powers of ten below the largest that are distinguished."""


def log_mel(b: GraphBuilder, samples: Any, bands: int) -> Operand:
    """Return features `[batch, bands, frames]` of samples `[batch, length]`, a frame every 160.

    >>> b = GraphBuilder()
    >>> log_mel(b, b.input("samples", "float32", [1, 1600]), 80).shape
    (1, 80, 10)
    """
    power = mel_powers(b, samples, bands)
    levels = b.log(b.max(power, MIN_POWER)) * (1 / math.log(10))
    top = b.reduce_max(levels, axes=[1, 2], keep_dimensions=True)
    levels = (b.max(levels, top - RANGE) + 4.0) * 0.25
    return b.transpose(levels, permutation=(0, 2, 1))
