"""Resamples sound, band-limited, on a device.

Source: J. Smith, "Digital audio resampling", https://ccrma.stanford.edu/~jos/resample/.
"""

from __future__ import annotations

import math
from array import array
from fractions import Fraction
from functools import cache

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.framing import multiply_frames

MAX_DENOMINATOR = 1000
"""The largest denominator of a ratio of two rates; other ratios are rounded to the nearest such
ratio, less than a thousandth away. All usual rates have smaller denominators."""
CROSSINGS = 32
"""Zeros of the sinc function on either side."""
ROLL_OFF = 0.95
"""The part of the band up to which frequencies are kept."""
CHUNK = 160_000
"""About how many samples a graph returns per run."""


async def resample(samples: HostArray, rate: int, target_rate: int, backend: Backend) -> HostArray:
    """Return samples, float32 `[length]`, resampled from one rate to another.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def halved(values):
    ...     device = await backend("numpy")
    ...     return await resample(HostArray.of(values), 16_000, 8_000, device)
    >>> asyncio.run(halved([1.0] * 400)).shape
    (200,)
    """
    length, ratio = samples.shape[0], Fraction(target_rate, rate).limit_denominator(MAX_DENOMINATOR)
    if ratio == 1 or not length:
        return samples
    front, parts = _design_filter(ratio)
    hop, count = parts[0].shape
    blocks = -(-length // hop)
    rows = max(1, min(blocks, CHUNK // count))
    size = (rows + len(parts) - 1) * hop
    b = GraphBuilder()
    output = multiply_frames(b, b.input("samples", "float32", [1, size]), rows, parts)
    executable = await backend.compile(b.build({"output": output}))
    data, behind = memoryview(bytes(4 * front) + bytes(samples.data)), bytes(4 * size)
    pieces: list[bytes] = []
    try:
        for start in range(0, 4 * hop * blocks, 4 * hop * rows):
            part = bytes(data[start : start + 4 * size]) + behind
            chunk = HostArray("float32", [1, size], part[: 4 * size])
            result = await executable.run_host({"samples": chunk})
            pieces.append(bytes(result["output"].data))
    finally:
        backend.release(executable)
    exact = math.ceil(length * ratio)
    return HostArray("float32", [exact], b"".join(pieces)[: 4 * exact])


@cache
def _design_filter(ratio: Fraction) -> tuple[int, list[HostArray]]:
    """Return how many zeros precede the samples, and the matrices that resample blocks of them."""
    cutoff = ROLL_OFF * min(1.0, float(ratio))
    reach = math.ceil(CROSSINGS / cutoff)
    times = -(-2 * reach // ratio.denominator)
    hop, count = ratio.denominator * times, ratio.numerator * times
    length = hop + 2 * reach
    values = array("f", bytes(4 * length * count))
    for index in range(count):
        middle = reach + index * hop / count
        for sample in range(math.floor(middle) - reach + 1, math.floor(middle) + reach + 1):
            angle = math.pi * cutoff * (sample - middle)
            sinc = math.sin(angle) / angle if angle else 1.0
            window = math.cos(angle / (2 * CROSSINGS)) ** 2
            values[sample * count + index] = cutoff * sinc * window
    matrix = HostArray("float32", [length, count], values)
    starts = range(0, length, hop)
    return reach, [matrix.part(start, min(start + hop, length)) for start in starts]
