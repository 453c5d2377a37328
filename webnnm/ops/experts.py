"""Mixtures of experts: a router gives each token shares of a few of many parallel layers.

Source: N. Shazeer et al., "Outrageously large neural networks: The sparsely-gated
mixture-of-experts layer", arXiv:1701.06538 (2017). All experts are computed for every token: the
result is exact, and graphs are static.
"""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count as count_elements
from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


@declare_composite(
    "keepLargest",
    summary="the largest numbers along the last axis, zero for all others",
    ranks=(1, None),
    checks={"count": checks.integer(1)},
    samples=(
        sample((5,), count=2),
        sample((2, 3, 4), count=3, normalize=True, values=([[[0.5, 2.0, 1.0, 3.0]] * 3] * 2,)),
    ),
)
def keep_largest(b: Builder, x: Tensor, *, count: int, normalize: bool = False) -> Tensor:
    """Keep `count` numbers; with `normalize` they are divided by their sum."""
    *lead, size = x.shape
    if count > size:
        raise OperatorError("NNM303", f"count={count} of {size} numbers")
    if count < size:
        _, indices = b.top_k(x, k=count, axis=x.rank - 1)
        places = b.constant([*range(size)], "int32", [size])
        chosen = b.equal(b.reshape(indices, new_shape=(*lead, count, 1)), places)
        mask = b.reduce_sum(b.cast(chosen, type=x.dtype), axes=[x.rank - 1])
        x = x * mask
    if normalize:
        x = x / b.reduce_sum(x, axes=[x.rank - 1], keep_dimensions=True)
    return x


@declare_composite(
    "expertMatmul",
    summary="the products of a vector, or of one for each expert, with a matrix per expert",
    ranks={"x": (1, None), "w": (3, 3)},
    checks={"experts": checks.integer(1), "size": checks.integer(1)},
    parameters={
        "w": ("weight", lambda x, options: (options["experts"], x[-1], options["size"])),
    },
    traits=("product",),
    samples=(
        sample((2, 3), (4, 3, 5), experts=4, size=5),
        sample((2, 4, 3), (4, 3, 5), experts=4, size=5, separate=True),
    ),
)
def expert_matmul(
    b: Builder, x: Tensor, w: Tensor, *, experts: int, size: int, separate: bool = False
) -> Tensor:
    """Multiply `x […, features]` by `w [experts, features, size]`: `[…, experts, size]`.

    If `separate`, x is `[…, experts, features]`, a vector for each expert.
    """
    if w.shape[0] != experts or w.shape[2] != size:
        message = f"w {show(w.shape)} for {experts} experts and {size} features"
        raise OperatorError("NNM404", message)
    features = x.shape[-1]
    lead = x.shape[: -2 if separate else -1]
    if features != w.shape[1] or (separate and x.shape[-2] != experts):
        raise OperatorError("NNM404", f"x {show(x.shape)}, w {show(w.shape)}")
    tokens = count_elements(lead)
    rows: Any = b.reshape(x, new_shape=(tokens, experts if separate else 1, features))
    products = b.matmul(b.transpose(rows, permutation=(1, 0, 2)), w)
    by_token = b.transpose(products, permutation=(1, 0, 2))
    return b.reshape(by_token, new_shape=(*lead, experts, size))


@declare_composite(
    "expertSum",
    summary="the sum of the vectors of all experts, each times its share",
    ranks={"x": (2, None), "shares": (1, None)},
    samples=(sample((4, 3), (4,)), sample((2, 4, 3), (2, 4))),
)
def expert_sum(b: Builder, x: Tensor, shares: Tensor) -> Tensor:
    """Return Σ shares · x for `x […, experts, features]` and `shares […, experts]`."""
    *lead, experts, features = x.shape
    if shares.shape != (*lead, experts):
        raise OperatorError("NNM401", f"x {show(x.shape)}, shares {show(shares.shape)}")
    row = b.reshape(shares, new_shape=(*lead, 1, experts))
    return b.reshape(b.matmul(row, x), new_shape=(*lead, features))
