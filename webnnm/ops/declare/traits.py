"""Traits of operators: what passes, initialisers and the expert system ask instead of names."""

from __future__ import annotations

from typing import Literal

Trait = Literal[
    "activation",
    "additive",
    "arithmetic",
    "choosing",
    "convolution",
    "copying",
    "linear",
    "lookup",
    "moving",
    "normalization",
    "passing",
    "pooling",
    "positional",
    "positive",
    "probabilistic",
    "product",
    "rearranging",
    "recurrent",
    "rectifying",
    "reduction",
    "saturating",
    "scaling",
    "sequential",
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
- `passing`: hands its operand on, at most in another shape, type or order, or with gaps; `copying`:
  in the same shape and order; `moving`: to other positions.
- `choosing`: each element of the result is one of an operand, 0, or a bound of its type;
  `rearranging`: of the only operand, and options alone say which one.
- `lookup`: rows or elements of a table, by their indices.
- `arithmetic`: one of the four operations of numbers; `additive`: the operand plus or minus
  something; `scaling`: changes the scale or the centre of numbers.
- `reduction`: combines the elements along axes.
- `positional`: tells the positions of tokens apart; `sequential`: a layer that reads several tokens
  of a sequence, whatever its options are.
- `positive`: is not defined for operands below 0.
- `linear`: linear in its first operand, where the others are parameters or constants.
"""
