"""The names of parameters in a file, recorded in the order in which blocks are called."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.architectures.written import biased

Making = Callable[[str], str | Form]
"""Returns the form of a parameter by the name of its tensor in the file."""


class Places:
    """Numbers parameters as a text does: in the order in which their blocks are called.

    >>> places = Places()
    >>> places.matrix("up", "layers.0.fc1")
    >>> places.matrix("up", "layers.1.fc1", bias=False)
    >>> list(places.names)
    ['up1', 'up_b1', 'up2']
    """

    def __init__(self) -> None:
        self.names: dict[str, str | Form | None] = {}
        self._counts: dict[str, int] = {}

    def _next(self, word: str) -> int:
        number = self._counts[word] = self._counts.get(word, 0) + 1
        return number

    def weight(self, word: str, place: str, making: Making = str, *, bias: bool = True) -> int:
        """Record the tensor of the next parameter of this name, and of its bias; return its
        number."""
        number = self._next(word)
        self.names[f"{word}{number}"] = making(f"{place}.weight")
        if bias:
            self.names[biased(f"{word}{number}")] = f"{place}.bias"
        return number

    def matrix(self, word: str, place: str, *, bias: bool = True) -> None:
        """Record the tensors of the weight of a linear layer and its bias."""
        self.weight(word, place, Transposed, bias=bias)

    def declared(self, word: str, place: str, making: Making = str) -> None:
        """Record the tensor of a declared parameter, of which each call has its own.

        The first has no number.
        """
        number = self._next(word)
        self.names[word if number == 1 else f"{word}{number}"] = making(place)
