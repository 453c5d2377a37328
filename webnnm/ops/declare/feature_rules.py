"""Layer rules of operators that move data: numbers per feature, an axis, sizes of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.errors import suggestion
from webnnm.core.shapes import show
from webnnm.ops.declare import values
from webnnm.ops.declare.features import Conflict, Dims
from webnnm.ops.declare.layer import BuildView, ShapeView
from webnnm.ops.declare.layout import Role


def per_feature(
    layer: ShapeView | BuildView,
    option: str,
    names: Sequence[str | None],
    default: int | None,
    low: int | None = None,
) -> list[Any]:
    """Return one number for each feature, from an option written as `[…]` or `{name:n, …}`.

    Features that are not written get `default`, so all do without the option. Raises NNM303 for a
    list of another length and for numbers below `low`, NNM307 for a name that is not a dimension.
    """
    requested: values.Sizes | None = layer.options[option]
    if requested is None:
        return [default] * len(names)
    if requested.names is None and len(requested.sizes) != len(names):
        layer.fail("NNM303", f"{len(requested.sizes)} numbers for rank {len(names)}", at=option)
    dimensions = [name for name in names if name is not None]
    for name in requested.names or ():
        if name not in dimensions:
            hint = suggestion(name, dimensions)
            layer.fail("NNM307", f'no dimension "{name}"', at=option, hint=hint)
    if requested.names is None:
        numbers = list(requested.sizes)
    else:
        by_name = dict[str | None, Any](zip(requested.names, requested.sizes, strict=True))
        numbers = [by_name.get(name) for name in names]
    result: list[int | None] = []
    for number in numbers:
        if number is None:
            result.append(default)
        elif isinstance(number, int) and (low is None or number >= low):
            result.append(number)
        else:
            rule = "" if low is None else f" from {low}"
            layer.fail("NNM303", f"expected integers{rule}", at=option)
    return result


def axis_or_first(layer: ShapeView | BuildView) -> Role:
    """Return the axis that `axis=` names, by default the first feature."""
    roles = layer.axes("axis")
    return roles[0] if roles else 0


def unify_result(
    layer: ShapeView, dims: Dims, names: Sequence[str | None], sequence: str | None
) -> None:
    """Give the result sizes, names and a sequence.

    Raises NNM402 if the sizes contradict the declared ones.
    """
    result = layer.result
    try:
        result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    result.set_names(names)
    result.set_sequence(sequence)
