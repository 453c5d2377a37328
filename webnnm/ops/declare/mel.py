"""The power of sound in mel bands, as constants and the products of frames with them.

Source: M. Slaney, "Auditory toolbox" (1998): the scale is linear up to 1 kHz, logarithmic above.
"""

from __future__ import annotations

import math
from array import array
from functools import cache
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.ops.declare.checks import check_amount
from webnnm.ops.declare.framing import multiply_frames
from webnnm.ops.declare.tensors import Builder

WINDOW, HOP = 400, 160
"""Samples in a frame, and from one frame to the next."""
RATE = 16_000
"""Samples per second, as speech models expect them."""


def mel_powers(
    b: Builder, samples: Any, bands: int, window: int = WINDOW, hop: int = HOP, rate: int = RATE
) -> Any:
    """Return the power in each band `[batch, frames, bands]` of samples `[batch, length]`.

    There is a frame around each sample whose number is divisible by `hop`.
    """
    batch, length = samples.shape
    check_amount(window * (window + 2 + bands), f"waves of {window} samples in {bands} bands")
    frames, edge, bins = length // hop, window // 2, window // 2 + 1
    padded = b.pad(samples, (0, edge), (0, edge), mode="reflection")
    spectrum = multiply_frames(b, padded, frames, _split_waves(window, hop))
    squares = spectrum * spectrum
    cosines = b.slice(squares, (0, 0, 0), (batch, frames, bins))
    sines = b.slice(squares, (0, 0, bins), (batch, frames, bins))
    return b.matmul(
        cosines + sines, b.constant(HostArray.of(mel_filters(bands, window, rate), samples.dtype))
    )


@cache
def _split_waves(window: int, hop: int) -> tuple[HostArray, ...]:
    """Return the waves, divided into hops."""
    starts = range(0, window, hop)
    return tuple(waves(window).part(start, min(start + hop, window)) for start in starts)


@cache
def waves(window: int = WINDOW) -> HostArray:
    """Return the windowed cosines and sines of all frequencies, for 400 samples `[400, 2 · 201]`.

    >>> waves().shape
    (400, 402)
    """
    turn = [2 * math.pi * index / window for index in range(window)]
    cosines, sines = [math.cos(angle) for angle in turn], [math.sin(angle) for angle in turn]
    values, bins = array("f"), window // 2 + 1
    for sample in range(window):
        weight = 0.5 - 0.5 * cosines[sample]  # Hann's window, periodic
        indices = [sample * frequency % window for frequency in range(bins)]
        for table in (cosines, sines):
            values.extend([weight * table[index] for index in indices])
    return HostArray("float32", [window, 2 * bins], values)


@cache
def mel_filters(bands: int, window: int = WINDOW, rate: int = RATE) -> HostArray:
    """Return the weight of each frequency in each band, `[201, bands]`; bands have equal areas.

    >>> mel_filters(80).shape
    (201, 80)
    """
    top, bins = _mel(rate / 2), window // 2 + 1
    edges = [_hertz(top * index / (bands + 1)) for index in range(bands + 2)]
    values = array("f")
    for number in range(bins):
        frequency = number * rate / window
        for low, middle, high in zip(edges, edges[1:], edges[2:], strict=False):
            rising, falling = (
                (frequency - low) / (middle - low),
                (high - frequency) / (high - middle),
            )
            values.append(max(0.0, min(rising, falling)) * 2 / (high - low))
    return HostArray("float32", [bins, bands], values)


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
