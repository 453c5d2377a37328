"""Budgets of devices whose calls do not depend on measured times."""

from __future__ import annotations

import math
from typing import Any

from webnnm.backends.budget import Budget

USUAL = Budget()


def exactly(steps: int, **limits: Any) -> Budget:
    """Return a budget whose calls have this many steps, as far as there are so many."""
    return Budget(first_steps=steps, call_steps=steps, call_seconds=math.inf, **limits)
