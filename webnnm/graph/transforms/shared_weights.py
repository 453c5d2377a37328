"""The gradient of a matrix that is used several times: one product instead of a sum of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from webnnm.core.shapes import count
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.matmul import transpose_matrices


def merge_shared_products(gradients: Sequence[Operand]) -> Sequence[Operand]:
    """Return gradients with the same sum, with those of a matrix combined into one product.

    Each use of a matrix, as in every step of a recurrence, contributes a product, and
    xᵀg + yᵀh = [x; y]ᵀ[g; h]. Factors that are larger than their product are left alone:
    concatenating them, which copies them, would take longer than adding the products.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> pairs = [(b.input(f"x{k}", "float32", [2, 8]), b.input(f"g{k}", "float32", [2, 9]))
    ...          for k in range(3)]
    >>> (product,) = merge_shared_products([b.matmul(b.transpose(x), g) for x, g in pairs])
    >>> product, product.node.operands
    (float32[8, 9], (float32[8, 6], float32[6, 9]))
    """
    pairs = {k: pair for k, g in enumerate(gradients) if (pair := _factors(g))}
    if len(pairs) < 2:
        return gradients
    b, first = gradients[0].builder, gradients[0].node
    with b.place(first.label, first.span):
        x, g = (b.concat(list(half), 0) for half in zip(*pairs.values(), strict=True))
        product = b.matmul(transpose_matrices(b, x), g)
    return [product, *(other for k, other in enumerate(gradients) if k not in pairs)]


def _factors(product: Operand) -> tuple[Operand, Operand] | None:
    """Return x and g of a product xᵀg of matrices, if they are smaller than it."""
    node = product.node
    if not isinstance(node, OperatorNode) or node.operator.name != "matmul" or product.rank > 2:
        return None
    left, g = cast("tuple[Operand, Operand]", node.operands)
    transpose = left.node
    if not isinstance(transpose, OperatorNode) or transpose.options.get("permutation") != (1, 0):
        return None
    x = cast("Operand", transpose.operands[0])
    return (x, g) if count(x.shape) + count(g.shape) < count(product.shape) else None
