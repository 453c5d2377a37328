"""Sinusoidal positions, in tables as the models of Hugging Face have them.

Source: A. Vaswani et al., "Attention is all you need", arXiv:1706.03762 (2017), section 3.5.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

BASE = 10000.0
MAX_NUMBERS = 1 << 21
"""The largest table: NLLB-200 with 3.3 billion parameters has one of this size."""


def halves(rows: int, width: int) -> HostArray:
    """Return a table of positions from 0 on: all sines, followed by all cosines.

    >>> halves(1, 5).tolist()
    [[0.0, 0.0, 0.0, 1.0, 1.0]]

    For an odd width the last cosine is left out.
    """
    rates = [BASE ** (-2 * pair / width) for pair in range((width + 1) // 2)]
    return _table(range(rows), rates, rates[: width // 2], 0)


def halves_from(rows: int, width: int, first: int) -> HostArray:
    """Return a table of positions from `first` on, whose wavelengths end with 2π · 10000.

    >>> [round(number, 2) for number in halves_from(1, 5, 2).tolist()[0]]
    [0.91, 0.0, -0.42, 1.0, 0.0]

    For an odd width the last number is 0.
    """
    half = width // 2
    rates = [BASE ** (-pair / max(1, half - 1)) for pair in range(half)]
    return _table(range(first, first + rows), rates, rates, width % 2)


def _table(
    positions: range, sines: Sequence[float], cosines: Sequence[float], zeros: int
) -> HostArray:
    width = len(sines) + len(cosines) + zeros
    if len(positions) * width > MAX_NUMBERS:
        message = f"config.json: a table of {len(positions):,} positions of {width:,} numbers"
        raise DataError("NNM818", message, hint=f"at most {MAX_NUMBERS:,} numbers are computed")
    values = array("f")
    for position in positions:
        values.extend(math.sin(position * rate) for rate in sines)
        values.extend(math.cos(position * rate) for rate in cosines)
        values.extend([0.0] * zeros)
    return HostArray("float32", (len(positions), width), values)
