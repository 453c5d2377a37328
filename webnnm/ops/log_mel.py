"""The loudness of sound in mel bands, frame by frame: what networks hear."""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.mel import HOP, RATE, WINDOW, mel_powers
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

MIN_POWER = 1e-6
"""Powers below this are raised to it: 60 dB below that of a wave of amplitude 0.07."""


@declare_composite(
    "logMel",
    summary="power of sound in mel bands, as powers of ten: [length] → [frames, bands]",
    ranks=(2, 2),
    traits=("scaling",),
    checks=dict.fromkeys(("bands", "window", "hop", "rate"), checks.integer(1)),
    samples=(
        sample((2, 40), bands=3, window=16, hop=8, rate=80),
        sample((1, 30), bands=2, window=8, hop=10, rate=40),
    ),
)
def log_mel(
    b: Builder,
    x: Tensor,
    *,
    bands: int = 40,
    window: int = WINDOW,
    hop: int = HOP,
    rate: int = RATE,
) -> Any:
    """Take the logarithm of the power in each band of each frame."""
    _, length = x.shape
    if window < 4 or window % 2:
        raise OperatorError(
            "NNM301", f"window is {window}", "an even number of samples, at least 4"
        )
    if length < max(hop, window // 2 + 1):
        raise OperatorError(
            "NNM404",
            f"{show(x.shape[1:])} samples are less than a frame",
            f"window={window} and hop={hop} need {max(hop, window // 2 + 1)}",
        )
    powers = mel_powers(b, x, bands, window, hop, rate)
    return b.log(b.max(powers, MIN_POWER)) * (1 / math.log(10))
