"""Traits of operators: what passes, initialisers and the expert system ask instead of names."""

from __future__ import annotations

from typing import Literal

Trait = Literal[
    "activation",
    "additive",
    "convolution",
    "linear",
    "normalization",
    "passing",
    "pooling",
    "probabilistic",
    "product",
    "recurrent",
    "rectifying",
    "saturating",
    "windowed",
]
"""What an operator is or does:

- `activation`: a nonlinearity between layers, or at the end of a model; `rectifying` ones grow like
  x above 0 and much less below, so that weights before them start as He proposed; `saturating` ones
  are flat at both ends; `probabilistic` ones turn scores of any size into probabilities.
- `product`: a product with weights; `convolution`: of windows of a picture or signal, or its
  transpose.
- `recurrent`: a cell of a recurrent network, or a layer of such.
- `normalization`: the result has the same scale, whatever that of the operand.
- `pooling`: combines places of a picture, channel by channel; `windowed`: takes windows of nearby
  places, as convolutions do.
- `passing`: hands its operand on, at most in another shape, type or order, or with gaps.
- `additive`: the operand plus or minus something.
- `linear`: linear in its first operand, where the others are parameters or constants.
"""
