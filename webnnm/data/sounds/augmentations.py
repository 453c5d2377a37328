"""Random changes to sounds, as records that datasets take by `augment`."""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from operator import add

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream

Arrays = Mapping[str, HostArray]

NOISE = 1 << 16
"""Samples of noise, of which each sound gets those from a random one on."""


class SoundChange:
    """A random change to each sound of a batch: to inputs `[rows, length]` of samples."""

    @abstractmethod
    def apply(self, samples: array[float], draws: array[float]) -> array[float]:
        """Return a sound, changed as two numbers from 0 to 1 say that were drawn."""

    def __call__(
        self, inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int
    ) -> tuple[Arrays, Arrays]:
        """Return a batch with changed sounds, see `Dataset.augment`."""
        result: dict[str, HostArray] = {}
        for block, values in inputs.items():
            if len(values.shape) != 2 or values.dtype != "float32":
                continue
            rows, length = values.shape
            draws, samples = stream.uniform(2 * rows), array("f", bytes(values.data))
            changed = array("f")
            for row in range(rows):
                own = samples[row * length : (row + 1) * length]
                changed += self.apply(own, draws[2 * row : 2 * row + 2])
            result[block] = HostArray("float32", values.shape, changed)
        if not result:
            shapes = ", ".join(str([*values.shape]) for values in inputs.values())
            raise DataError("NNM702", f"{type(self).__name__}: no input is sounds, but {shapes}")
        return result, {}


@dataclass(frozen=True)
class Delay(SoundChange):
    """Let sounds begin earlier or later, by up to a `share` of their length; the rest is silent.

    >>> from webnnm import SoundDataset
    >>> data = SoundDataset([[0.1] * 8, [0.2] * 8], ["a", "b"], split=(1, 0, 0))
    >>> data.augment(Delay(0.2), Gain(6), Noise(0.01)).size("training")
    2
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        _check("share", self.share, 1)

    def apply(self, samples: array[float], draws: array[float]) -> array[float]:
        """Return the sound, moved."""
        by = round((2 * draws[0] - 1) * self.share * len(samples))
        gap = array("f", bytes(4 * abs(by)))
        return gap + samples[: len(samples) - by] if by >= 0 else samples[-by:] + gap


@dataclass(frozen=True)
class Gain(SoundChange):
    """Make sounds louder or quieter, by up to a number of `decibels` in both directions."""

    decibels: float = 6

    def __post_init__(self) -> None:
        _check("decibels", self.decibels, 60)

    def apply(self, samples: array[float], draws: array[float]) -> array[float]:
        """Return the sound, louder or quieter."""
        factor = 10 ** ((2 * draws[0] - 1) * self.decibels / 20)
        return array("f", [factor * sample for sample in samples])


@dataclass(frozen=True)
class Noise(SoundChange):
    """Add white noise, of a standard deviation of up to a `level`."""

    level: float = 0.01

    def __post_init__(self) -> None:
        _check("level", self.level, 1)

    def apply(self, samples: array[float], draws: array[float]) -> array[float]:
        """Return the sound with noise."""
        scale = draws[0] * self.level
        noise, start = _draw_noise(), int(draws[1] * NOISE)
        parts = -(-(start + len(samples)) // NOISE)
        own = (noise * parts)[start : start + len(samples)]
        return array("f", map(add, samples, [scale * value for value in own]))


@cache
def _draw_noise() -> array[float]:
    """Return numbers of mean 0 and standard deviation 1, equally distributed."""
    uniform = Stream(0, Purpose.SHUFFLING, "noise").uniform(NOISE)
    return array("f", [math.sqrt(12) * (number - 0.5) for number in uniform])


def _check(name: str, value: float, limit: float) -> None:
    if not 0 <= value <= limit:
        raise DataError("NNM704", f"{name} is {value}", hint=f"0 … {limit}")
