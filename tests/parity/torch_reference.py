"""The cases computed by PyTorch: results and gradients are its own.

This module and the folder in_torch are the only ones that import PyTorch.
"""

from __future__ import annotations

import torch

from tests.parity.cases import Case
from tests.parity.in_torch import (
    activation,
    attention,
    convolution,
    normalisation,
    pooling,
    recurrence,
)
from tests.parity.in_torch.common import Reference
from tests.parity.outcome import Arrays, Outcome, draw_operands, draw_weights

MODULES = (activation, attention, convolution, normalisation, pooling, recurrence)
REFERENCES: dict[str, Reference] = {
    name: function for module in MODULES for name, function in module.REFERENCES.items()
}
"""By operator, or by operator and the reference that a case names: "operator:reference"."""


def expected(case: Case, seed: int) -> tuple[Arrays, Arrays, Outcome]:
    """Draw operands and weights of a case; return them with what PyTorch makes of them."""
    operands = draw_operands(case, seed)
    xs = {i: torch.from_numpy(x) for i, x in operands.items()}
    floats = {i: x.requires_grad_() for i, x in xs.items() if x.is_floating_point()}
    given = [xs.get(i) for i in range(len(case.shapes))]
    name = f"{case.operator}:{case.reference}" if case.reference else case.operator
    made = REFERENCES[name](*given, **case.options)
    results = dict(enumerate(made if isinstance(made, tuple) else (made,)))
    weights = draw_weights(case, [tuple(y.shape) for y in results.values()], seed)
    loss = sum((y * torch.from_numpy(weights[i])).sum() for i, y in results.items())
    found = torch.autograd.grad(loss, list(floats.values()))
    outcome = Outcome(
        {i: y.detach().contiguous().numpy() for i, y in results.items()},
        {i: g.contiguous().numpy() for i, g in zip(floats, found, strict=True)},
    )
    return operands, weights, outcome
