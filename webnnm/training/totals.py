"""The sums of an epoch, as read by the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webnnm.training.forward import OutputLoss
from webnnm.training.scaling import MAX_OVERFLOWS
from webnnm.training.step_settings import LOSS, ROWS

DIVERGED_REMEDY = "Lower lr, standardise the data, or clamp what goes into log, exp and pow."
"""What to do about sums that are not finite (NNM708, E311)."""


@dataclass(frozen=True)
class Totals:
    """The sums that the device has accumulated over an epoch so far: name → number."""

    values: Mapping[str, float]

    def losses(self, names: Mapping[str, OutputLoss]) -> dict[str, float]:
        """Return the mean loss of every output over the valid rows."""
        v = self.values
        return {name: v[LOSS + name] / (v[ROWS + name] or 1.0) for name in names}

    @property
    def finite(self) -> bool:
        """Whether all sums are finite."""
        return all(math.isfinite(value) for value in self.values.values())


def has_diverged(totals: Sequence[Totals]) -> bool:
    """Return whether some sum is not finite, or too many scaled gradients overflowed.

    `totals` are those of the epochs of a device call.
    """
    streak = totals[-1].values.get("streak")
    if streak is None:
        return not all(epoch.finite for epoch in totals)
    return streak >= MAX_OVERFLOWS
