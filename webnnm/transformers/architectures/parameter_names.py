"""The names of parameters in a file, recorded in the order in which blocks are called."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.architectures.model_text import bias_name

MakeForm = Callable[[str], str | Form]
"""Returns the form of a parameter by the name of its tensor in the file."""


class ParameterNames:
    """Numbers parameters as a text does: in the order in which their blocks are called.

    >>> parameters = ParameterNames()
    >>> parameters.matrix("up", "layers.0.fc1")
    >>> parameters.matrix("up", "layers.1.fc1", bias=False)
    >>> list(parameters.names)
    ['up1', 'up_b1', 'up2']
    """

    def __init__(self) -> None:
        self.names: dict[str, str | Form | None] = {}
        self._counts: dict[str, int] = {}

    def _next(self, parameter: str) -> int:
        number = self._counts[parameter] = self._counts.get(parameter, 0) + 1
        return number

    def weight(
        self, parameter: str, layer: str, make_form: MakeForm = str, *, bias: bool = True
    ) -> int:
        """Record the tensor of the next parameter of this name, and of its bias; return its
        number."""
        number = self._next(parameter)
        self.names[f"{parameter}{number}"] = make_form(f"{layer}.weight")
        if bias:
            self.names[bias_name(f"{parameter}{number}")] = f"{layer}.bias"
        return number

    def record(self, parameter: str, tensor: str, make_form: MakeForm = str) -> None:
        """Record a single tensor as the next parameter of this name."""
        self.names[f"{parameter}{self._next(parameter)}"] = make_form(tensor)

    def matrix(self, parameter: str, layer: str, *, bias: bool = True) -> None:
        """Record the tensors of the weight of a linear layer and its bias."""
        self.weight(parameter, layer, Transposed, bias=bias)

    def declare(self, parameter: str, tensor: str, make_form: MakeForm = str) -> None:
        """Record the tensor of a declared parameter, of which each call has its own.

        The first has no number.
        """
        number = self._next(parameter)
        self.names[parameter if number == 1 else f"{parameter}{number}"] = make_form(tensor)
