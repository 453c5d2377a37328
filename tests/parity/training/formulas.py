"""The optimizers that PyTorch has not, or otherwise, as formulas in NumPy (spec E.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Direction = Callable[[Any, Mapping[str, float]], Any]

DIRECTIONS: Mapping[str, Direction] = {
    "lion": lambda c, _: np.sign(c),
    "rlion": lambda c, s: s["alpha"] * c / (1 + np.abs(s["alpha"] * c)),
}
"""How far a parameter goes for c = β1·v + (1 − β1)·g: sign c, or αc/(1 + |αc|)."""


FORMULAS = frozenset((*DIRECTIONS, "adafactor"))
"""The optimizers that are formulas here."""

NARROW = 2e-6
"""With a smaller margin the signs that Lion takes are those of rounding errors."""


class Lion:
    """The updates of one parameter by "lion" or "rlion", in the type of its gradients.

    `margin` is the smallest |c| so far that is not 0, relative to the largest of its step: where
    it is no more than a rounding error the sign of c is left to chance.
    """

    def __init__(self, name: str, settings: Mapping[str, float]) -> None:
        self._direction = DIRECTIONS[name]
        self._settings = settings
        self._v: Any = None
        self.margin = float("inf")

    def step(self, w: Any, g: Any) -> Any:
        """Return w − η(u + λw), λ being 0 below rank 2; then v is β2·v + (1 − β2)·g."""
        s = self._settings
        v = np.zeros_like(g) if self._v is None else self._v
        c = s["beta1"] * v + (1 - s["beta1"]) * g
        size = np.abs(c[c != 0])
        self.margin = min(self.margin, float(np.min(size / np.max(size, initial=0), initial=1)))
        self._v = s["beta2"] * v + (1 - s["beta2"]) * g
        decay = s["weight_decay"] if w.ndim > 1 else 0.0
        return w - s["lr"] * (self._direction(c, s) + decay * w)


class Adafactor:
    """The updates of one parameter by "adafactor" (Shazeer & Stern 2018, algorithms 4 and 5)."""

    margin = float("inf")

    def __init__(self, settings: Mapping[str, float]) -> None:
        self._settings = settings
        self._t = 0
        self._means: tuple[Any, ...] = (0.0, 0.0)

    def step(self, w: Any, g: Any) -> Any:
        """Return w − η(u + λw), u being g/√v with a root mean square of at most 1."""
        s = self._settings
        self._t += 1
        beta = 1 - self._t**-0.8
        square = g * g + s["epsilon"]
        squares = (square.mean(-1), square.mean(-2)) if w.ndim > 1 else (square,)
        self._means = tuple(
            beta * before + (1 - beta) * new
            for before, new in zip(self._means, squares, strict=False)
        )
        if w.ndim > 1:
            row, column = self._means
            ratio = row / row.mean(-1, keepdims=True)
            v = ratio[..., :, None] * column[..., None, :]
        else:
            (v,) = self._means
        u = g / np.sqrt(v)
        u = u / max(1.0, float(np.sqrt(np.mean(u * u))))
        decay = s["weight_decay"] if w.ndim > 1 else 0.0
        return w - s["lr"] * (u + decay * w)


def formula(settings: Mapping[str, Any]) -> Lion | Adafactor:
    """Return the updates of one parameter by the optimizer that settings name."""
    name = settings["optimizer"]
    return Adafactor(settings) if name == "adafactor" else Lion(name, settings)
