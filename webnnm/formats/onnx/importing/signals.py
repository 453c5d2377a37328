"""Signal processing: windows, Fourier transforms by matrices, mel filters."""

from __future__ import annotations

import math

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.elementwise import cast_to_code
from webnnm.formats.onnx.importing.movement import pad_sides
from webnnm.formats.onnx.importing.shaping import move_axis, part, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

_COSINES = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""a₀ − a₁·cos(2πk/n) + a₂·cos(4πk/n)."""


@imports(*_COSINES)
def window(c: Call, size: Operand) -> Operand:
    """A window function for the frames of a signal."""
    first, second, third = _COSINES[c.node.op_type]
    n = c.check_size(int(c.require_scalar(size, "its size")), "its window")
    period = n if c.flag("periodic", 1) else max(1, n - 1)
    turns = [2 * math.pi * k / period for k in range(n)]
    values = [first - second * math.cos(t) + third * math.cos(2 * t) for t in turns]
    return cast_to_code(c, c.b.constant(values, "float32", (n,)), c.integer("output_datatype", 1))


@imports("MelWeightMatrix")
def mel_weights(
    c: Call, bins: Operand, length: Operand, rate: Operand, low: Operand, high: Operand
) -> Operand:
    """Triangular filters over the frequencies of a spectrum, evenly spaced in mel."""
    amount, size = (
        int(c.require_scalar(bins, "its bins")),
        int(c.require_scalar(length, "its length")),
    )
    rows = size // 2 + 1
    c.check_size(rows * max(amount, 0), "its result")
    first, last = (
        2595 * math.log10(1 + float(c.require_scalar(edge, "an edge")) / 700)
        for edge in (low, high)
    )
    step = (last - first) / (amount + 2)
    hertz = [700 * (10 ** ((first + k * step) / 2595) - 1) for k in range(amount + 2)]
    sampling = float(c.require_scalar(rate, "its rate"))
    edges = [math.floor((size + 1) * value / sampling) for value in hertz]
    values = [0.0] * (rows * amount)
    for k in range(amount):
        start, top, end = edges[k : k + 3]
        if top == start:
            values[top * amount + k] = 1.0
        for row in range(start, top + 1 if top > start else start):
            values[row * amount + k] = (row - start) / (top - start)
        for row in range(top, end):
            values[row * amount + k] = (end - row) / (end - top)
    weights = c.b.constant(values, "float32", (rows, amount))
    return cast_to_code(c, weights, c.integer("output_datatype", 1))


def _waves(c: Call, size: int, bins: int, sign: float) -> tuple[Operand, Operand]:
    """Return cosines and sines as matrices [size, bins]."""
    c.check_size(size * bins, "its transform")
    angles = [2 * math.pi * (row * k % size) / size for row in range(size) for k in range(bins)]
    shape = (size, bins)
    return (
        c.b.constant([math.cos(t) for t in angles], "float32", shape),
        c.b.constant([sign * math.sin(t) for t in angles], "float32", shape),
    )


def _transform(c: Call, x: Operand, size: int, bins: int, *, inverse: bool = False) -> Operand:
    """Return the Fourier transform of [rows, size, 1 or 2] as [rows, bins, 2]."""
    cosine, sine = _waves(c, size, bins, 1.0 if inverse else -1.0)
    rows = x.shape[0]
    real = reshape_to(c, part(c, x, 2, 0, 1), (rows, size))
    components = [c.b.matmul(real, cosine), c.b.matmul(real, sine)]
    if x.shape[2] == 2:
        imaginary = reshape_to(c, part(c, x, 2, 1, 1), (rows, size))
        components[0] = components[0] - c.b.matmul(imaginary, sine)
        components[1] = components[1] + c.b.matmul(imaginary, cosine)
    if inverse:
        components = [component / size for component in components]
    return c.b.concat(
        [reshape_to(c, component, (rows, bins, 1)) for component in components], axis=2
    )


def _fit_length(c: Call, x: Operand, axis: int, size: int) -> Operand:
    """Return a tensor cropped, or padded with zeros, to a size along an axis."""
    if x.shape[axis] >= size:
        return part(c, x, axis, 0, size)
    return pad_sides(
        c, x, [0] * x.rank, [size - x.shape[axis] if k == axis else 0 for k in range(x.rank)]
    )


@imports("DFT")
def dft(
    c: Call, x: Operand, length: Operand | None = None, along: Operand | None = None
) -> Operand:
    """Discrete Fourier transform along an axis; the last axis holds real and imaginary parts."""
    default = 1 if c.opset < 20 else -2
    axis = c.integer("axis", default) if along is None else int(c.require_scalar(along, "its axis"))
    axis = c.axis(axis, x.rank)
    size = x.shape[axis] if length is None else int(c.require_scalar(length, "its length"))
    inverse, one_sided = c.flag("inverse"), c.flag("onesided")
    if inverse and one_sided:
        return _real_inverse(c, x, axis, size, length is not None)
    bins = size // 2 + 1 if one_sided else size
    return _along(c, _fit_length(c, x, axis, size), axis, bins, inverse=inverse)


def _along(c: Call, x: Operand, axis: int, bins: int, *, inverse: bool = False) -> Operand:
    """Return the transform along an axis of a tensor."""
    last = move_axis(c, x, axis, x.rank - 2)
    size = last.shape[-2]
    flat = reshape_to(c, last, (count(last.shape[:-2]), size, last.shape[-1]))
    spectrum = _transform(c, flat, size, bins, inverse=inverse)
    return move_axis(c, reshape_to(c, spectrum, (*last.shape[:-2], bins, 2)), x.rank - 2, axis)


def _real_inverse(c: Call, x: Operand, axis: int, size: int, has_size: bool) -> Operand:
    """Return the real signal of half a spectrum, whose other half is its conjugate."""
    size = size if has_size else 2 * (x.shape[axis] - 1)
    half = _fit_length(c, x, axis, size // 2 + 1)
    rest = (size - 1) // 2
    mirrored = c.b.reverse(part(c, half, axis, 1, rest), axes=[axis]) if rest else None
    signs = c.b.constant([1.0, -1.0], x.dtype)
    spectrum = half if mirrored is None else c.b.concat([half, mirrored * signs], axis=axis)
    return part(c, _along(c, spectrum, axis, size, inverse=True), x.rank - 1, 0, 1)


@imports("STFT")
def stft(
    c: Call,
    x: Operand,
    step: Operand,
    weights: Operand | None = None,
    length: Operand | None = None,
) -> Operand:
    """Fourier transforms of frames of a signal."""
    hop = int(c.require_scalar(step, "frame_step"))
    if length is not None:
        size = int(c.require_scalar(length, "frame_length"))
    elif weights is not None:
        size = weights.shape[0]
    else:
        raise c.invalid("it has neither a window nor a frame length")
    signal = x if x.rank == 3 else reshape_to(c, x, (*x.shape, 1))
    frames = (signal.shape[1] - size) // hop + 1
    pieces = [part(c, signal, 1, k * hop, size) for k in range(c.check_size(frames, "its frames"))]
    stacked = c.b.concat(
        [reshape_to(c, piece, (piece.shape[0], 1, *piece.shape[1:])) for piece in pieces], axis=1
    )
    if weights is not None:
        stacked = stacked * reshape_to(c, weights, (size, 1))
    flat = reshape_to(c, stacked, (-1, size, signal.shape[2]))
    bins = size // 2 + 1 if c.flag("onesided", 1) else size
    spectrum = _transform(c, flat, size, bins)
    return reshape_to(c, spectrum, (signal.shape[0], frames, bins, 2))
