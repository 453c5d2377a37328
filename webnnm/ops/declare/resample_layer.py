"""Layers that make images larger or smaller (spec C.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.shapes import count
from webnnm.notation.syntax import Items, NamedShape, Value
from webnnm.ops.declare import values
from webnnm.ops.declare.feature_rules import unify_result
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.tensors import Builder

MODES = {"nearest": "nearest-neighbor", "bilinear": "linear"}
MODE_WORDS = ("nearest-neighbor", "linear", *MODES)


def _mode(value: Value) -> str:
    """Read a mode in WebNN's words or the shorter ones."""
    mode = values.choice(*MODE_WORDS)(value)
    return MODES.get(mode, mode)


def _scales(value: Value) -> tuple[float, ...] | values.Sizes:
    """Read two numbers, one number for both, or integers by name."""
    if isinstance(value, NamedShape):
        return values.sizes(value)
    items = value.items if isinstance(value, Items) else (value, value)
    if len(items) != 2:
        raise ValueError("expected a number, or two")
    return tuple(map(values.positive, items))


def _targets(layer: ShapeView | BuildView, source: Features) -> Mapping[int, int | None]:
    """Return the new size of each feature that gets one, None while it is not known."""
    if (source.rank or 0) < 2:
        layer.fail("NNM405", f"{source} has {source.rank} features, but at least two are needed")
    option = next((o for o in ("new_shape", "sizes") if layer.options[o] is not None), "scales")
    requested = layer.options[option]
    factors: Sequence[Any] = requested or (1, 1)
    names = None
    if isinstance(requested, values.Sizes):
        factors, names = requested.sizes, requested.names
    roles = (layer.axes(option) or []) if names else _axes(layer, source)
    if len(roles) != len(factors):
        layer.fail("NNM303", f"{len(factors)} sizes for {len(roles)} dimensions", at=option)
    sizes_by_axis: dict[int, int | None] = {}
    for role, number in zip(roles, factors, strict=True):
        if not isinstance(role, int):
            layer.fail("NNM310", "only features can be resampled, not a sequence", at=option)
        if not isinstance(number, int | float | None):
            layer.fail("NNM303", "expected numbers", at=option)
        size = (source.dims or [])[role]
        if number is None:
            sizes_by_axis[role] = size
        elif option == "scales":
            sizes_by_axis[role] = None if size is None else int(size * number)
        else:
            sizes_by_axis[role] = int(number)
        if sizes_by_axis[role] is not None and (sizes_by_axis[role] or 0) < 1:
            layer.fail("NNM408", f"nothing is left of {size} elements", at=option)
    return sizes_by_axis


def _axes(layer: ShapeView | BuildView, source: Features) -> list[Role]:
    """Return height and width: the features of `axes=`, or of these names, or the last two."""
    if layer.options["axes"] is not None:
        return layer.axes("axes") or []
    if "height" in source.names and "width" in source.names:
        return [source.names.index("height"), source.names.index("width")]
    rank = source.rank or 0
    return [rank - 2, rank - 1]


def _shape(layer: ShapeView) -> None:
    source = layer.input
    if source.dims is not None:
        targets = _targets(layer, source)
        dims = [targets.get(k, size) for k, size in enumerate(source.dims)]
        unify_result(layer, dims, source.names, source.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    targets = dict(_targets(layer, layer.features[0]))
    for k in range(source.rank):  # for a single dimension, any other one is the second
        if len(targets) < 2 and k not in targets:
            targets[k] = source.size(k)
    if len(targets) > 2:
        layer.fail("NNM405", f"{len(targets)} dimensions, but a layer resamples at most two")
    first, second = sorted(targets, key=source.position)
    if source.position(second) - source.position(first) > 1 and source.tensor.rank != 4:
        order: list[Role] = [role for role in source.layout if role not in (first, second)]
        source = source.reorder((*order, first, second))
    x, options = source.tensor, {"mode": layer.options["mode"]}
    sizes = [targets[first], targets[second]]
    places = [source.position(first), source.position(second)]
    if x.rank == 4:
        return source.with_tensor(b.resample2d(x, sizes=sizes, axes=places, **options))
    lead, tail = x.shape[: places[0]], x.shape[places[1] + 1 :]
    image = b.reshape(x, new_shape=(count(lead), *x.shape[places[0] : places[1] + 1], count(tail)))
    image = b.resample2d(image, sizes=sizes, axes=(1, 2), **options)
    return source.with_tensor(b.reshape(image, new_shape=(*lead, *sizes, *tail)))


resample_rules = LayerRules(
    options={
        "new_shape": ValueOption(read=values.sizes),
        "sizes": ValueOption(read=values.sizes),
        "scales": ValueOption(read=_scales),
        "axes": ValueOption(read=values.axis_names),
        "mode": ValueOption(read=_mode, default="nearest-neighbor", words=MODE_WORDS),
    },
    shape=_shape,
    build=_build,
)
