"""Logarithmic powers in mel bands as Kaldi computes them, as a graph.

Source: D. Povey et al., "The Kaldi speech recognition toolkit" (2011), whose `compute-fbank-feats`
this is: frames of 25 ms without their mean, pre-emphasis, Hann's window, 512 frequencies.
"""

from __future__ import annotations

import math
from array import array
from functools import cache
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.framing import multiply_frames
from webnnm.ops.declare.mel import HOP, WINDOW

TRANSFORM = 512
"""The length of the Fourier transform: frames are filled up with zeros."""
BINS = TRANSFORM // 2 + 1
EMPHASIS = 0.97
LEAST_HERTZ = 20.0
MIN_POWER = 1.192092955078125e-07
"""Powers below this are raised to it: the resolution of float32 at 1."""


def count_frames(length: int) -> int:
    """Return how many frames a number of samples has; what is left at the end is dropped.

    >>> count_frames(400), count_frames(399)
    (1, 0)
    """
    return max(0, 1 + (length - WINDOW) // HOP)


def kaldi_bands(b: GraphBuilder, samples: Any, frames: int, bands: int, rate: int) -> Operand:
    """Return log-powers `[batch, frames, bands]` of samples `[batch, length]`.

    >>> b = GraphBuilder()
    >>> kaldi_bands(b, b.input("samples", "float32", [1, 720]), 3, 40, 16000).shape
    (1, 3, 40)
    """
    batch = samples.shape[0]
    spectrum = multiply_frames(b, samples, frames, _split_waves())
    squares = spectrum * spectrum
    cosines = b.slice(squares, (0, 0, 0), (batch, frames, BINS))
    sines = b.slice(squares, (0, 0, BINS), (batch, frames, BINS))
    powers = b.matmul(cosines + sines, b.constant(mel_triangles(bands, rate)))
    return b.log(b.max(powers, MIN_POWER))


@cache
def _split_waves() -> tuple[HostArray, ...]:
    """Return the matrix of frames to frequencies, divided into hops."""
    starts = range(0, WINDOW, HOP)
    matrix = kaldi_waves()
    return tuple(matrix.part(start, min(start + HOP, WINDOW)) for start in starts)


@cache
def kaldi_waves() -> HostArray:
    """Return what a frame is multiplied with, `[400, 2 · 257]`: cosines, then sines.

    The subtraction of the mean, the pre-emphasis and the window are part of it.

    >>> kaldi_waves().shape
    (400, 514)
    """
    turn = [2 * math.pi * index / TRANSFORM for index in range(TRANSFORM)]
    tables = [math.cos(angle) for angle in turn], [math.sin(angle) for angle in turn]
    window = [0.5 - 0.5 * math.cos(2 * math.pi * n / (WINDOW - 1)) for n in range(WINDOW)]
    values, columns = array("f", bytes(4 * WINDOW * 2 * BINS)), 2 * BINS
    for column in range(columns):
        half, frequency = divmod(column, BINS)
        table = tables[half]
        wave = [
            weight * table[sample * frequency % TRANSFORM] for sample, weight in enumerate(window)
        ]
        emphasized = [x - EMPHASIS * after for x, after in zip(wave, [*wave[1:], 0.0], strict=True)]
        emphasized[0] -= EMPHASIS * wave[0]
        mean = math.fsum(emphasized) / WINDOW
        values[column::columns] = array("f", [x - mean for x in emphasized])
    return HostArray("float32", (WINDOW, columns), values)


@cache
def mel_triangles(bands: int, rate: int) -> HostArray:
    """Return the weight of each frequency in each band, `[257, bands]`: triangles on the mel scale.

    >>> mel_triangles(40, 16000).shape
    (257, 40)
    """
    low, high = _mel(LEAST_HERTZ), _mel(rate // 2)
    edges = [low + (high - low) * index / (bands + 1) for index in range(bands + 2)]
    values = array("f")
    for number in range(BINS):
        mel = _mel(number * rate / TRANSFORM)
        for left, middle, right in zip(edges, edges[1:], edges[2:], strict=False):
            rising, falling = (mel - left) / (middle - left), (right - mel) / (right - middle)
            values.append(max(0.0, min(rising, falling)))
    return HostArray("float32", (BINS, bands), values)


def _mel(hertz: float) -> float:
    return 1127.0 * math.log(1.0 + hertz / 700.0)
