"""The list of the kinds of set-ups that are generated, each sound by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.teach.setup import Setup

SET_UPS = 462
"""The number of set-ups that are generated; some of them learn less than their data allow."""
LEAST_SHARE = 0.75
"""A sound set-up learns at least this share of what the rows can teach, chance allowed for."""


@dataclass(frozen=True)
class Generated:
    """A generated set-up, and what its rows can teach.

    Attributes: `setup`; `ceiling`, the score of the function that the rows were drawn by, which no
    model exceeds but by chance; `floor`, that of a constant prediction; `tested`, the number of
    rows that are scored if the score is a share of them, else 0. Of a loss the ceiling is lower
    than the floor.
    """

    setup: Setup
    ceiling: float
    floor: float = 0.0
    tested: int = 0

    def share(self, score: float) -> float:
        """Return which share of what there is to learn a score shows."""
        return (score - self.floor) / (self.ceiling - self.floor)

    def is_reached(self, score: float) -> bool:
        """Return whether a score shows that the set-up is sound, two standard errors allowed for.

        >>> setup = Setup("", lambda seed: None)
        >>> [Generated(setup, 0.9, 0.5, n).is_reached(0.76) for n in (0, 100)]
        [False, True]
        """
        error = 0.0
        if self.tested:
            error = (self.ceiling * (1 - self.ceiling) / self.tested) ** 0.5
        return self.share(score) + 2 * error / abs(self.ceiling - self.floor) >= LEAST_SHARE


Make = Callable[[np.random.Generator], Generated]

KINDS: dict[str, Make] = {}
"""Name → what draws a set-up of this kind."""


def kind(make: Make) -> Make:
    """List a function as a kind of set-up."""
    if make.__name__ in KINDS:
        raise ValueError(f"two kinds are called {make.__name__}")
    KINDS[make.__name__] = make
    return make


def generate(seed: int) -> tuple[str, Generated]:
    """Return the kind of a seed, and the set-up that it draws; seeds of each parity have all kinds.

    Even seeds are for tuning rules, odd ones for testing them.
    """
    name = [*KINDS][seed // 2 % len(KINDS)]
    return name, KINDS[name](np.random.default_rng([seed, len(name)]))
