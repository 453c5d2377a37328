"""The result of a learning rate range test: the loss at every rate, and a suggestion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from webnnm.evaluation.history import WIDTH, Plot, plain
from webnnm.evaluation.history_plot import line_plot
from webnnm.evaluation.writing import write_text

WARMING = 10
"""The first tenth of the steps is left out."""
SMOOTHING = 0.9
"""The decay of the moving average of losses: each counts nine tenths of the one after it."""


def smooth(losses: Sequence[float]) -> list[float]:
    """Return exponential moving averages of losses, with bias correction.

    >>> smooth([2.0, 2.0, 2.0])
    [2.0, 2.0, 2.0]
    """
    averages: list[float] = []
    mean = weight = 0.0
    for loss in losses:
        mean, weight = SMOOTHING * mean + loss, SMOOTHING * weight + 1
        averages.append(round(mean / weight, 12))
    return averages


def valley(rates: Sequence[float], losses: Sequence[float]) -> float:
    """Return the rate in the middle of the longest fall of the smoothed loss.

    >>> valley([0.001, 0.01, 0.1, 1.0, 10.0], [1.0, 1.0, 0.5, 0.1, 20.0])
    0.1

    The longest fall is the longest decreasing subsequence, which may skip steps, because single
    batches say little. The first steps, whose averages are of few losses, are left out.
    """
    first = len(losses) // WARMING
    curve = smooth(losses)[first:]
    longest = [1] * len(curve)
    for end, loss in enumerate(curve):
        before = (longest[n] for n in range(end) if curve[n] > loss)
        longest[end] = 1 + max(before, default=0)
    end = longest.index(max(longest))
    return rates[first + end - longest[end] // 2]


@dataclass(frozen=True)
class RateRange:
    """The result of `NNModel.find_lr`.

    >>> found = RateRange((0.001, 0.01, 0.1, 1.0), (1.0, 0.99, 0.5, 2.0))
    >>> print(found)
    lr 0.01 suggested: rates 0.001 … 1 in 4 steps, lowest loss 0.812 at 0.1

    `rates` of the steps and their `losses`, each of one batch; `suggestion`, the rate in the middle
    of the fall of the loss.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def suggestion(self) -> float:
        """The rate in the middle of the longest fall of the loss."""
        return float(f"{valley(self.rates, self.losses):.2g}")

    def __str__(self) -> str:
        curve = smooth(self.losses)
        low = curve.index(min(curve))
        return (
            f"lr {self.suggestion:g} suggested: rates {self.rates[0]:g} … {self.rates[-1]:.3g} in "
            f"{len(self.rates)} steps, lowest loss {curve[low]:.3g} at {self.rates[low]:.3g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return rates, losses and the suggestion as JSON values."""
        return {**plain(self), "suggestion": self.suggestion}

    def plot(self, path: str | PathLike[str] | None = None, *, width: int = WIDTH) -> Plot:
        """Return an SVG plot of loss against rate, with the suggestion; with `path`, also write it.

        >>> RateRange((0.001, 0.01, 0.1), (1.0, 0.9, 0.5)).plot()[:4]
        '<svg'
        """
        curve = smooth(self.losses)
        points = list(zip(self.rates, curve, strict=True))
        marked = min(points, key=lambda point: abs(math.log(point[0] / self.suggestion)))
        drawing = line_plot("Range test", str(self), points, marked, width)
        return Plot(write_text(drawing, path))

    def _repr_html_(self) -> str:
        return self.plot()
