"""The sums of an epoch as the host reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.training.forward import OutputLoss
from webnnm.training.step_settings import LOSS, ROWS


@dataclass(frozen=True)
class Totals:
    """What the device summed up over an epoch so far: name → number."""

    values: Mapping[str, float]

    def losses(self, names: Mapping[str, OutputLoss]) -> dict[str, float]:
        """Return the mean loss of every output over the rows that counted."""
        v = self.values
        return {name: v[LOSS + name] / (v[ROWS + name] or 1.0) for name in names}

    @property
    def finite(self) -> bool:
        """Whether all sums are finite."""
        return all(math.isfinite(value) for value in self.values.values())
