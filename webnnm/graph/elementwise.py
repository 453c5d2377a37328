"""The operators that compute each element from the operands' elements at the same position."""

ELEMENTWISE = frozenset(
    """
    abs acos asin atan add cast ceil clamp cos div elu equal erf exp floor gelu greater
    greaterOrEqual hardSigmoid hardSwish identity isInfinite isNaN leakyRelu lesser lesserOrEqual
    linear log logicalAnd logicalNot logicalOr logicalXor max min mul neg notEqual pow prelu
    reciprocal relu roundEven sigmoid sign sin softplus softsign sqrt sub tan tanh where
    """.split()  # noqa: SIM905 (a list of that many words would take a page)
)
"""By name; operands broadcast, and no option refers to dimensions."""
