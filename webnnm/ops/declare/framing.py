"""Products of the overlapping frames of a signal with a matrix, as matrix products of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.ops.declare.tensors import Builder


def multiply_frames(b: Builder, signal: Any, frames: int, parts: Sequence[HostArray]) -> Any:
    """Return `[batch, frames, n]`: the products of frames of a signal with a matrix.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> parts = [HostArray.of([[1.0], [1.0]]), HostArray.of([[1.0]])]  # the sums of three samples
    >>> multiply_frames(b, b.input("x", "float32", [1, 7]), 3, parts).shape
    (1, 3, 1)

    The distance between frames is the row count of the first part. The matrix is divided into parts
    of this many rows, the last of which may have fewer: their products with the parts of the
    frames, which do not overlap, are added up. The signal `[batch, length]` is padded with zeros.
    """
    batch, length = signal.shape
    hop = parts[0].shape[0]
    size = (frames + len(parts) - 1) * hop
    if length < size:
        signal = b.pad(signal, (0, 0), (0, size - length))
    elif length > size:
        signal = b.slice(signal, (0, 0), (batch, size))
    rows = b.reshape(signal, new_shape=(batch, size // hop, hop))
    total: Any = None
    for index, matrix in enumerate(parts):
        part = b.slice(rows, (0, index, 0), (batch, frames, matrix.shape[0]))
        product = b.matmul(part, b.constant(HostArray.of(matrix, signal.dtype)))
        total = product if total is None else total + product
    return total
