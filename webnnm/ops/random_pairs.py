"""Random integers by keys and counters: randomPairs.

A Feistel network (H. Feistel, "Cryptography and Computer Privacy", Scientific American 228, 1973)
on pairs of integers modulo the prime 46337, whose round function is the cube, a permutation there.
All products stay below 2³¹, so that int32 holds them everywhere.
"""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.operator import Composite, Option, Slot, no_gradient, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

PRIME = 46337
"""The largest prime whose square is below 2³¹; 3 does not divide PRIME − 1."""
ROUNDS = 8
WORDS = 4
"""Integers of a key."""
SIDE = 15_485
"""What tells the counters of one side from those of the next."""


def _infer(key: TensorType, counters: TensorType, *, side: int) -> tuple[TensorType, TensorType]:
    del side
    lead = broadcast(key.shape[:-1], counters.shape[:-1])
    if key.shape[-1] != WORDS or lead is None:
        raise OperatorError("NNM401", f"{show(key.shape)} is no key for {show(counters.shape)}")
    one = TensorType("int32", (*lead, counters.shape[-1]))
    return one, one


def _round_constant(round: int) -> int:
    return 7919 * round * round + 104 * round + 1


def _decompose(b: Builder, key: Tensor, counters: Tensor, *, side: int) -> tuple[Tensor, Tensor]:
    words = [slice_axis(b, key, key.rank - 1, at, 1) for at in range(WORDS)]
    high = b.div(counters, PRIME)
    left = _modulo(b, counters - high * PRIME + words[2])
    right = _modulo(b, _modulo(b, high + words[3]) + side * SIDE)
    for at in range(ROUNDS):
        inner = _modulo(b, left + words[at % 2] + _round_constant(at))
        cube = _modulo(b, _modulo(b, inner * inner) * inner)
        left, right = _modulo(b, right + cube), left
    return left, right


def _modulo(b: Builder, x: Tensor) -> Tensor:
    """Return the rest of integers from 0 on."""
    return x - b.div(x, PRIME) * PRIME


def _reference(np: Any, key: Any, counters: Any, *, side: int) -> tuple[Any, Any]:
    # In 64 bits the cube has room, so that one rest is enough in each round.
    key, counters = np.astype(key, np.int64), np.astype(counters, np.int64)
    words = [key[..., at : at + 1] for at in range(WORDS)]
    high = counters // PRIME
    left = (counters - high * PRIME + words[2]) % PRIME
    right = (high + words[3] + side * SIDE) % PRIME
    for at in range(ROUNDS):
        inner = left + (words[at % 2] + _round_constant(at))
        left, right = (right + inner * inner * inner) % PRIME, left
    return np.astype(left, np.int32), np.astype(right, np.int32)


random_pairs = Composite(
    name="randomPairs",
    summary="two random integers below 46337 for each counter from 0 on, by a key of 4 integers "
    "below 46337; each `side` gives others",
    operands=(
        Slot(name="key", dtypes=frozenset({"int32"}), ranks=(1, None)),
        Slot(name="counters", dtypes=frozenset({"int32"}), ranks=(1, None)),
    ),
    options={"side": Option(0, checks.integer(0))},
    decompose=_decompose,
    infer=_infer,
    gradient=no_gradient,
    reference=_reference,
    native="randomPairs",  # WebNN has no such method: backends detect that and decompose it
    layer=None,
    batch="axes",
    samples=(
        sample((4,), (3,), dtypes=("int32", "int32"), values=([5, 46336, 0, 7], [0, 1, 46337])),
        sample(
            (2, 4),
            (1, 2),
            dtypes=("int32", "int32"),
            values=([[1, 2, 3, 4], [46336, 46336, 46336, 46336]], [[2147483647, 3]]),
            side=2,
        ),
    ),
)
