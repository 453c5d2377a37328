"""The input of Whisper: the logarithm of the power of sound in mel bands, as a graph.

Source: A. Radford et al., arXiv:2212.04356, section 2.2; the mel scale is that of M. Slaney,
"Auditory toolbox" (1998): linear up to 1 kHz, logarithmic above.
"""

from __future__ import annotations

import math
from array import array
from functools import cache
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.data.sounds.framing import multiply_frames
from webnnm.data.sounds.sound import RATE
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

WINDOW, HOP = 400, 160
"""Samples in a frame, and from one frame to the next."""
BINS = WINDOW // 2 + 1
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
    batch, length = samples.shape
    frames, edge = length // HOP, WINDOW // 2
    padded = b.pad(samples, (0, edge), (0, edge), mode="reflection")
    spectrum = multiply_frames(b, padded, frames, _parts())
    squares = spectrum * spectrum
    cosines = b.slice(squares, (0, 0, 0), (batch, frames, BINS))
    sines = b.slice(squares, (0, 0, BINS), (batch, frames, BINS))
    power = b.matmul(cosines + sines, b.constant(mel_filters(bands)))
    levels = b.log(b.max(power, MIN_POWER)) * (1 / math.log(10))
    top = b.reduce_max(levels, axes=[1, 2], keep_dimensions=True)
    levels = (b.max(levels, top - RANGE) + 4.0) * 0.25
    return b.transpose(levels, permutation=(0, 2, 1))


@cache
def _parts() -> tuple[HostArray, ...]:
    """Return the waves, divided into hops."""
    starts = range(0, WINDOW, HOP)
    return tuple(waves().part(start, min(start + HOP, WINDOW)) for start in starts)


@cache
def waves() -> HostArray:
    """Return the windowed cosines and sines of all frequencies, `[400, 2 · 201]`.

    >>> waves().shape
    (400, 402)
    """
    turn = [2 * math.pi * index / WINDOW for index in range(WINDOW)]
    cosines, sines = [math.cos(angle) for angle in turn], [math.sin(angle) for angle in turn]
    values = array("f")
    for sample in range(WINDOW):
        weight = 0.5 - 0.5 * cosines[sample]  # Hann's window, periodic
        indices = [sample * frequency % WINDOW for frequency in range(BINS)]
        for table in (cosines, sines):
            values.extend([weight * table[index] for index in indices])
    return HostArray("float32", [WINDOW, 2 * BINS], values)


@cache
def mel_filters(bands: int) -> HostArray:
    """Return the weight of each frequency in each band, `[201, bands]`; bands have equal areas.

    >>> mel_filters(80).shape
    (201, 80)
    """
    top = _mel(RATE / 2)
    edges = [_hertz(top * index / (bands + 1)) for index in range(bands + 2)]
    values = array("f")
    for number in range(BINS):
        frequency = number * RATE / WINDOW
        for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
            rising, falling = (
                (frequency - low) / (middle - low),
                (high - frequency) / (high - middle),
            )
            values.append(max(0.0, min(rising, falling)) * 2 / (high - low))
    return HostArray("float32", [BINS, bands], values)


_BREAK, _STEP = 1000.0, 200 / 3
"""Hertz up to which the scale is linear, and the width of one mel there."""
_RATIO = math.log(6.4) / 27
"""The logarithm of the ratio between two mels above that."""


def _mel(hertz: float) -> float:
    if hertz < _BREAK:
        return hertz / _STEP
    return _BREAK / _STEP + math.log(hertz / _BREAK) / _RATIO


def _hertz(mel: float) -> float:
    linear = _BREAK / _STEP
    return mel * _STEP if mel < linear else _BREAK * math.exp((mel - linear) * _RATIO)
