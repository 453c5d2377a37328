"""Pictures blurred by a Gaussian before they become smaller, as one product of matrices.

The numbers are those of `gaussian_filter` and `zoom` of SciPy, with mirrored borders.
"""

from __future__ import annotations

import math
from array import array

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.transformers.processors.picture_settings import PictureSettings, Size

REACH = 4.0
"""How many standard deviations a Gaussian extends to each side."""


async def resize_blurred(
    backend: Backend, pixels: HostArray, size: Size, settings: PictureSettings
) -> HostArray:
    """Return bytes `[height, width, 3]` at another size as the numbers of a model, `[3, …]`.

    They are filled up with black to a square first if `settings` say so: weights of black vanish.
    """
    height, width, _ = pixels.shape
    sides = (max(height, width),) * 2 if settings.squared else (height, width)
    down = weigh_blurred(sides[0], size[0], height)
    across = weigh_blurred(sides[1], size[1], width)
    b = GraphBuilder()
    inputs = {"pixels": pixels, "down": down, "across": across}
    planes, rows, columns = (b.input(name, a.dtype, a.shape) for name, a in inputs.items())
    planes = b.transpose(b.cast(planes, type="float32"), permutation=(2, 0, 1))
    rows = b.reshape(rows, new_shape=(1, *down.shape))
    columns = b.transpose(columns, permutation=(1, 0))
    values = b.matmul(b.matmul(rows, planes), columns)
    slopes = [settings.factor / deviation for deviation in settings.deviation]
    shifts = [
        (settings.offset - mean) / deviation
        for mean, deviation in zip(settings.mean, settings.deviation, strict=True)
    ]
    slope, shift = (b.constant(numbers, "float32", (3, 1, 1)) for numbers in (slopes, shifts))
    executable = await backend.compile(b.build({"result": values * slope + shift}))
    try:
        return (await executable.run_host(inputs))["result"]
    finally:
        backend.release(executable)


def weigh_blurred(length: int, size: int, used: int) -> HostArray:
    """Return the weights of the first `used` numbers of a row in a row of another length.

    >>> weigh_blurred(2, 4, 2).tolist()
    [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    """
    taps = _gaussian(max(0.0, (length / size - 1) / 2))
    reach = len(taps) // 2
    values = array("f", bytes(4 * size * used))
    for index in range(size):
        middle = (index + 0.5) * length / size - 0.5
        first = math.floor(middle)
        for cell, share in ((first, first + 1 - middle), (first + 1, middle - first)):
            for step, tap in enumerate(taps):
                source = _mirror(_mirror(cell, length) + step - reach, length)
                if source < used:
                    values[index * used + source] += share * tap
    return HostArray("float32", (size, used), values)


def _gaussian(deviation: float) -> list[float]:
    """Return the weights of neighbours, the middle one among them."""
    if not deviation:
        return [1.0]
    reach = int(REACH * deviation + 0.5)
    values = [math.exp(-0.5 * (x / deviation) ** 2) for x in range(-reach, reach + 1)]
    total = math.fsum(values)
    return [value / total for value in values]


def _mirror(index: int, length: int) -> int:
    """Return a place inside a row for one beside it; the first and last number stand alone."""
    if length == 1:
        return 0
    index = abs(index) % (2 * length - 2)
    return min(index, 2 * length - 2 - index)
