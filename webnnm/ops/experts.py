"""Mixtures of experts: a router gives each token shares of a few of many parallel layers.

Sources: N. Shazeer et al., "Outrageously large neural networks: The sparsely-gated
mixture-of-experts layer", arXiv:1701.06538 (2017); groups as in DeepSeek-V3, arXiv:2412.19437
(2024). All experts are computed for every token: the result is exact, and graphs are static.
"""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count as count_elements
from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.padding import extremes
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

GROUP_OPTIONS = ("groups", "kept_groups", "best")


@declare_composite(
    "keepLargest",
    summary="the largest numbers along the last axis, zero for all others",
    ranks=(1, None),
    checks={"count": checks.integer(1), **dict.fromkeys(GROUP_OPTIONS, checks.integer(1))},
    samples=(
        sample((5,), count=2),
        sample(
            (2, 6),
            (2, 6),
            count=2,
            groups=3,
            kept_groups=2,
            best=2,
            values=(None, [[0.5, 2.0, 1.0, 3.0, -1.0, 0.0], [4.0, -2.0, 1.5, 0.0, 3.0, 2.0]]),
        ),
        sample((2, 3, 4), count=3, normalize=True, values=([[[0.5, 2.0, 1.0, 3.0]] * 3] * 2,)),
    ),
)
def keep_largest(
    b: Builder,
    x: Tensor,
    by: Tensor | None = None,
    *,
    count: int,
    normalize: bool = False,
    groups: int = 1,
    kept_groups: int = 1,
    best: int = 1,
) -> Tensor:
    """Keep `count` numbers; with `normalize` they are divided by their sum.

    If there is a `by`, of the shape of x, numbers stay where those of `by` are the largest. Of
    several `groups` of consecutive numbers, all are from the `kept_groups` whose `best` largest
    numbers have the largest sum.
    """
    *lead, size = x.shape
    if by is not None and by.shape != x.shape:
        raise OperatorError("NNM401", f"x {show(x.shape)}, by {show(by.shape)}")
    members, rest = divmod(size, groups)
    if rest or kept_groups > groups or best > members:
        message = f"groups={groups}, kept_groups={kept_groups}, best={best} for {size} numbers"
        raise OperatorError("NNM303", message)
    if count > members * kept_groups:
        raise OperatorError("NNM303", f"count={count} of {members * kept_groups} numbers")
    ranks: Any = x if by is None else by
    if kept_groups < groups:
        by_group = b.reshape(ranks, new_shape=(*lead, groups, members))
        largest, _ = b.top_k(by_group, k=best, axis=x.rank)
        kept = _mark_largest(b, b.reduce_sum(largest, axes=[x.rank]), kept_groups)
        counts = b.greater(b.reshape(kept, new_shape=(*lead, groups, 1)), 0.0)
        lowest = b.constant(extremes(x.dtype)[0], x.dtype)
        ranks = b.reshape(b.where(counts, by_group, lowest), new_shape=x.shape)
    if count < size:
        x = x * _mark_largest(b, ranks, count)
    if normalize:
        x = x / b.reduce_sum(x, axes=[x.rank - 1], keep_dimensions=True)
    return x


def _mark_largest(b: Builder, x: Tensor, count: int) -> Any:
    """Return 1 for the `count` largest numbers along the last axis, 0 for all others."""
    *lead, size = x.shape
    _, indices = b.top_k(x, k=count, axis=x.rank - 1)
    places = b.constant([*range(size)], "int32", [size])
    chosen = b.equal(b.reshape(indices, new_shape=(*lead, count, 1)), places)
    return b.reduce_sum(b.cast(chosen, type=x.dtype), axes=[x.rank - 1])


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
