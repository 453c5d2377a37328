"""Slopes measured by central differences, and what they say about a computed gradient.

Rounding changes a result by ε of its size, where ε is the distance from 1 to the next number of the
data type, so that a difference over 2h is off by ε/h, and by h² due to the curvature. Their sum is
smallest at h = ε^⅓ of the scale of x; the error is then ε^⅔ of the scale of the function: 4e-11 in
float64, 2e-5 in float32, 1e-2 in float16.

Source: W. H. Press et al., "Numerical Recipes", 3rd edition, 2007, section 5.7.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.dtypes import FLOAT_INFO, DataType
from webnnm.core.shapes import Shape

OFFSETS = (-2, -1, 0, 1, 2)
"""Where a function is computed, in steps from x."""
BENDING = 0.05
"""At a kink the slopes of the two sides differ by this share of the larger one, or more."""

Verdict = Literal["agrees", "differs", "at a kink", "not measurable"]


def choose_step(x: float, dtype: DataType) -> float:
    """Return the step of differences at x, a power of two, so that x ± h is hardly rounded.

    >>> choose_step(0.5, "float32"), choose_step(-3.0, "float32")
    (0.00390625, 0.015625)
    """
    h = round(math.log2(FLOAT_INFO[dtype].eps) / 3)
    return 2.0 ** (h + max(0, math.ceil(math.log2(max(1.0, abs(x))))))


def get_tolerance(dtype: DataType) -> float:
    """Return the relative tolerance between gradients and differences: √ε, half of the digits.

    The theoretical error is smaller, but functions are seldom as smooth as its estimate assumes.

    >>> f"{get_tolerance('float32'):.1e}", f"{get_tolerance('float64'):.1e}"
    ('3.5e-04', '1.5e-08')
    """
    return FLOAT_INFO[dtype].eps ** 0.5


def sample_elements(size: int, limit: int) -> list[int]:
    """Return up to `limit` positions in an array of this size, the same ones each time."""
    return sorted(random.Random(0).sample(range(size), min(size, limit)))


def unravel_index(element: int, shape: Shape) -> tuple[int, ...]:
    """Return the index of an element from its position in row-major order."""
    index: list[int] = []
    for size in reversed(shape):
        index.append(element % size)
        element //= size
    return tuple(reversed(index))


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a function of one number, from its values at `OFFSETS`.

    `left` and `right` are the slopes of the two sides, `doubt` is how far `value` may be off.
    """

    value: float
    doubt: float
    left: float
    right: float
    kinked: bool

    @classmethod
    def of(cls, values: Sequence[float], h: float, dtype: DataType) -> Slope:
        """Measure a slope; both estimates of it have errors proportional to h².

        >>> Slope.of([4.0, 1.0, 0.0, 1.0, 4.0], 1.0, "float64").value
        0.0
        """
        lower, low, here, high, higher = values
        near, far = (high - low) / (2 * h), (higher - lower) / (4 * h)
        noise = 2 * FLOAT_INFO[dtype].eps * max(map(abs, values)) / h
        left, right = (here - low) / h, (high - here) / h
        # For a smooth function, the slopes of the two sides differ in proportion to the step.
        bend = (higher - 2 * here + lower) / (2 * h)
        kink = abs(2 * (right - left) - bend)
        larger = max(abs(left), abs(right), abs(bend))
        return cls(
            value=near,
            doubt=abs(near - far) + noise,
            left=left,
            right=right,
            kinked=kink > max(4 * noise, BENDING * larger),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A computed derivative, and the slope that was measured for the same element.

    `place` is what the derivative is taken with respect to, `index` the element of it; `scale` is
    the size of the largest derivative with respect to this `place`.
    """

    place: str
    index: tuple[int, ...]
    gradient: float
    slope: Slope
    scale: float
    tolerance: float

    @property
    def name(self) -> str:
        """The element as Python writes it."""
        return self.place + (f"[{', '.join(map(str, self.index))}]" if self.index else "")

    @property
    def error(self) -> float:
        """The difference of the two, relative to the larger one."""
        larger = max(abs(self.gradient), abs(self.slope.value))
        return abs(self.gradient - self.slope.value) / larger if larger else 0.0

    @property
    def verdict(self) -> Verdict:
        """What the difference says about the derivative."""
        slope = self.slope
        if not math.isfinite(slope.value) or not math.isfinite(slope.doubt):
            return "not measurable"
        allowed = self.tolerance * max(abs(self.gradient), abs(slope.value)) + slope.doubt
        if slope.kinked:
            low, high = sorted((slope.left, slope.right))
            return "at a kink" if low - allowed <= self.gradient <= high + allowed else "differs"
        if slope.doubt > max(self.scale, abs(slope.value)) / 4 and slope.doubt > self.tolerance:
            return "not measurable"
        return "agrees" if abs(self.gradient - slope.value) <= allowed else "differs"

    def __str__(self) -> str:
        return (
            f"{self.name}: gradient {self.gradient:.7g}, measured {self.slope.value:.7g}, "
            f"relative error {self.error:.1e}"
        )


@dataclass(frozen=True, repr=False)
class GradientReport:
    """The result of comparing gradients with differences."""

    comparisons: Sequence[Comparison]

    @property
    def faults(self) -> list[Comparison]:
        """The gradients that differ from the measured slopes, the worst one first."""
        differing = [
            comparison for comparison in self.comparisons if comparison.verdict == "differs"
        ]
        return sorted(differing, key=lambda comparison: -comparison.error)

    @property
    def ok(self) -> bool:
        """Whether gradients could be compared and none of them differs."""
        verdicts = [comparison.verdict for comparison in self.comparisons]
        return "differs" not in verdicts and "agrees" in verdicts

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest relative error; faults come first."""
        agreeing = [comparison for comparison in self.comparisons if comparison.verdict == "agrees"]
        return next(iter(self.faults), None) or max(agreeing, key=_error, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "ok": self.ok,
            "comparisons": [
                {
                    "place": comparison.place,
                    "index": list(comparison.index),
                    "gradient": comparison.gradient,
                    "measured": comparison.slope.value,
                    "error": comparison.error,
                    "verdict": comparison.verdict,
                }
                for comparison in self.comparisons
            ],
        }

    def __str__(self) -> str:
        names = dict.fromkeys(comparison.place for comparison in self.comparisons)
        lines = [self._line(name) for name in names]
        if self.faults:
            lines.append(f"worst: {self.faults[0]}")
        elif not self.ok:
            lines.append("nothing could be measured: the result is not finite, or its slopes are")
            lines.append("lost in rounding; divide it by its size, or compute in float64")
        return "\n".join(lines)

    __repr__ = __str__

    def _line(self, name: str) -> str:
        own = [comparison for comparison in self.comparisons if comparison.place == name]
        by: dict[Verdict, list[Comparison]] = {}
        for comparison in own:
            by.setdefault(comparison.verdict, []).append(comparison)
        agreeing = by.pop("agrees", [])
        text = f"{name}: {len(agreeing)} of {len(own)} agree"
        if agreeing:
            text += f", relative error up to {max(map(_error, agreeing)):.1e}"
        others = [f"{len(group)} {_describe(group[0])}" for group in by.values()]
        return ", ".join([text, *others])


def _describe(first: Comparison) -> str:
    """Return a description of several comparisons with the same verdict, given the first one."""
    if first.verdict == "at a kink":
        left, right = first.slope.left, first.slope.right
        return f"at a kink ({first.name}: slopes {left:.4g} and {right:.4g})"
    return "differ" if first.verdict == "differs" else first.verdict


def _error(comparison: Comparison) -> float:
    return comparison.error
