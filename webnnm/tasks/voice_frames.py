"""Frames of a voice from the tokens of a text: each stands for as many as its duration says."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream

STEPS = 4
"""The lengths of graphs between one power of two and the next: at most a quarter is padding."""
LEAST = 16
MOST = 4096
"""The frames of a single token at most: about a minute."""


def count_frames(log_durations: Iterable[float], rate: float) -> list[int]:
    """Return the frames for each token, at least one, at a speaking rate.

    >>> count_frames([0.0, 1.0], 2.0), count_frames([-99.0], 1.0)
    ([1, 2], [1])

    Raises `DataError` NNM711 for durations that no speech has.
    """
    counts: list[int] = []
    for value in log_durations:
        if not value < math.log(MOST * rate):
            message = f"a duration of exp({value:.4g}) frames at a speaking rate of {rate:g}"
            hint = f"at most {MOST} are spoken: check the weights of the model"
            raise DataError("NNM711", message, hint=hint)
        counts.append(math.ceil(math.exp(value) / rate))
    return counts


def round_length(count: int) -> int:
    """Return the length of the graph for some tokens or frames.

    >>> [round_length(count) for count in (1, 17, 70, 128, 129)]
    [16, 20, 80, 128, 160]
    """
    step = max(LEAST // STEPS, 2 ** ((count - 1).bit_length() - 1) // STEPS) if count > 1 else 1
    return max(LEAST, -(-count // step) * step)


def repeat_tokens(values: HostArray, counts: Sequence[int], length: int) -> HostArray:
    """Return the rows of tokens `[1, tokens, size]`, each as often as it counts, then zeros.

    >>> repeat_tokens(HostArray.of([[[1.0], [2.0]]]), [2, 1], 4).tolist()
    [[[1.0], [1.0], [2.0], [0.0]]]
    """
    (rows,), (*_, size) = [values.part(0, 1)], values.shape
    data = memoryview(rows.data).cast("B")
    width = size * array("f").itemsize
    parts = [bytes(data[k * width : (k + 1) * width]) * n for k, n in enumerate(counts)]
    padding = bytes(width * (length - sum(counts)))
    return HostArray("float32", (1, length, size), b"".join([*parts, padding]))


def draw_noise(seed: int, name: str, rows: int, length: int, size: int, scale: float) -> HostArray:
    """Return normal noise `[1, length, size]` of a scale; it is 0 after some rows.

    The same seed gives the same noise for a row, whatever the length.
    """
    noise = array("f", bytes(4 * length * size))
    if scale:
        drawn = Stream(seed, Purpose.RANDOMIZE, "speech", name).normal(rows * size)
        noise[: rows * size] = array("f", (scale * value for value in drawn))
    return HostArray("float32", (1, length, size), noise)
