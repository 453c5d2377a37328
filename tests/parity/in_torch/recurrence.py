"""Recurrences in PyTorch: its own order of gates, directions side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tests.parity.in_torch.common import Array, Reference


def _gates(x: Array | None, given: str, wanted: str, like: Array) -> Array:
    """Bring the gates along the last but one dimension (the last of biases) into PyTorch's order.

    A bias that is absent is zeros, of as many gates as the weights `like` have.
    """
    if x is None:
        return torch.zeros(like.shape[:-1])
    axis = like.ndim - 2
    blocks = x.chunk(len(given), axis)
    return torch.cat([blocks[given.index(letter)] for letter in wanted], axis)


def _weights(
    layouts: tuple[str, str],
    weight: Array,
    recurrent: Array,
    bias: Array | None,
    recurrent_bias: Array | None,
) -> list[Array]:
    pairs = ((weight, weight), (recurrent, recurrent), (bias, weight), (recurrent_bias, weight))
    return [_gates(x, *layouts, like) for x, like in pairs]


def _run(
    method: Callable[..., Any],
    x: Array,
    weights: Sequence[Array],
    states: Sequence[Array | None],
    direction: str,
    return_sequence: bool,
) -> tuple[Array, ...]:
    """Run a recurrence of PyTorch, whose sequences have the directions side by side."""
    directions, hidden = weights[1].shape[0], weights[1].shape[-1]
    backward = direction == "backward"
    filled = [torch.zeros(directions, x.shape[1], hidden) if s is None else s for s in states]
    found, *ends = method(
        x.flip(0) if backward else x,
        tuple(filled) if len(filled) > 1 else filled[0],
        [w[k] for k in range(directions) for w in weights],
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=True,
        bidirectional=directions == 2,
        batch_first=False,
    )
    if not return_sequence:
        return tuple(ends)
    apart = found.reshape(*found.shape[:2], directions, hidden).transpose(1, 2)
    return (*ends, apart.flip(0) if backward else apart)


def _lstm(
    x: Array,
    weight: Array,
    recurrent: Array,
    bias: Array | None = None,
    recurrent_bias: Array | None = None,
    peephole: None = None,
    hidden: Array | None = None,
    cell: Array | None = None,
    *,
    direction: str = "forward",
    layout: str = "iofg",
    return_sequence: bool = False,
    steps: int | None = None,
    hidden_size: int | None = None,
) -> tuple[Array, ...]:
    assert peephole is None and steps in (None, x.shape[0])
    assert hidden_size in (None, recurrent.shape[-1])
    weights = _weights((layout, "ifgo"), weight, recurrent, bias, recurrent_bias)
    return _run(torch.lstm, x, weights, (hidden, cell), direction, return_sequence)


def _gru(
    x: Array,
    weight: Array,
    recurrent: Array,
    bias: Array | None = None,
    recurrent_bias: Array | None = None,
    hidden: Array | None = None,
    *,
    direction: str = "forward",
    layout: str = "zrn",
    return_sequence: bool = False,
    steps: int | None = None,
    hidden_size: int | None = None,
) -> tuple[Array, ...]:
    assert steps in (None, x.shape[0]) and hidden_size in (None, recurrent.shape[-1])
    weights = _weights((layout, "rzn"), weight, recurrent, bias, recurrent_bias)
    return _run(torch.gru, x, weights, (hidden,), direction, return_sequence)


def _lstm_cell(
    x: Array,
    weight: Array,
    recurrent: Array,
    hidden: Array,
    cell: Array,
    bias: Array | None = None,
    recurrent_bias: Array | None = None,
    *,
    layout: str = "iofg",
    hidden_size: int | None = None,
) -> tuple[Array, ...]:
    assert hidden_size in (None, recurrent.shape[-1])
    weights = _weights((layout, "ifgo"), weight, recurrent, bias, recurrent_bias)
    return torch.lstm_cell(x, (hidden, cell), *weights)


def _gru_cell(
    x: Array,
    weight: Array,
    recurrent: Array,
    hidden: Array,
    bias: Array | None = None,
    recurrent_bias: Array | None = None,
    *,
    layout: str = "zrn",
    hidden_size: int | None = None,
) -> Array:
    assert hidden_size in (None, recurrent.shape[-1])
    weights = _weights((layout, "rzn"), weight, recurrent, bias, recurrent_bias)
    return torch.gru_cell(x, hidden, *weights)


REFERENCES: dict[str, Reference] = {
    "lstm": _lstm,
    "gru": _gru,
    "lstmCell": _lstm_cell,
    "gruCell": _gru_cell,
}
