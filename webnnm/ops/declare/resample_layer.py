"""Layers that make images larger or smaller (spec C.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.shapes import count
from webnnm.notation.syntax import Items, NamedShape, Value
from webnnm.ops.declare import values
from webnnm.ops.declare.feature_rules import learn_result
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.tensors import Builder

MODES = {"nearest": "nearest-neighbor", "bilinear": "linear"}
MODE_WORDS = ("nearest-neighbor", "linear", *MODES)


def _mode(value: Value) -> str:
    """Read a mode in WebNN's words or the shorter ones."""
    found = values.choice(*MODE_WORDS)(value)
    return MODES.get(found, found)


def _scales(value: Value) -> tuple[float, ...] | values.Sizes:
    """Read two numbers, one number for both, or integers by name."""
    if isinstance(value, NamedShape):
        return values.sizes(value)
    items = value.items if isinstance(value, Items) else (value, value)
    if len(items) != 2:
        raise ValueError("expected a number, or two")
    return tuple(map(values.positive, items))


def _targets(layer: ShapeView | BuildView, flow: Features) -> Mapping[int, int | None]:
    """Return the new size of each feature that gets one, None while it is not known."""
    if (flow.rank or 0) < 2:
        layer.fail("NNM405", f"{flow} has {flow.rank} features, but at least two are needed")
    option = next((o for o in ("new_shape", "sizes") if layer.options[o] is not None), "scales")
    asked = layer.options[option]
    given: Sequence[Any] = asked or (1, 1)
    names = None
    if isinstance(asked, values.Sizes):
        given, names = asked.sizes, asked.names
    roles = (layer.axes(option) or []) if names else _axes(layer, flow)
    if len(roles) != len(given):
        layer.fail("NNM303", f"{len(given)} sizes for {len(roles)} dimensions", at=option)
    found: dict[int, int | None] = {}
    for role, number in zip(roles, given, strict=True):
        if not isinstance(role, int):
            layer.fail("NNM310", "only features can be resampled, not a sequence", at=option)
        if not isinstance(number, int | float | None):
            layer.fail("NNM303", "expected numbers", at=option)
        size = (flow.dims or [])[role]
        if number is None:
            found[role] = size
        elif option == "scales":
            found[role] = None if size is None else int(size * number)
        else:
            found[role] = int(number)
        if found[role] is not None and (found[role] or 0) < 1:
            layer.fail("NNM408", f"nothing is left of {size} elements", at=option)
    return found


def _axes(layer: ShapeView | BuildView, flow: Features) -> list[Role]:
    """Return height and width: the features of `axes=`, or of these names, or the last two."""
    if layer.options["axes"] is not None:
        return layer.axes("axes") or []
    if "height" in flow.names and "width" in flow.names:
        return [flow.names.index("height"), flow.names.index("width")]
    rank = flow.rank or 0
    return [rank - 2, rank - 1]


def _shape(layer: ShapeView) -> None:
    flow = layer.flow
    if flow.dims is not None:
        targets = _targets(layer, flow)
        dims = [targets.get(k, size) for k, size in enumerate(flow.dims)]
        learn_result(layer, dims, flow.names, flow.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    flow = layer.operands[0]
    targets = dict(_targets(layer, layer.features[0]))
    for k in range(flow.rank):  # for a single dimension, any other one is the second
        if len(targets) < 2 and k not in targets:
            targets[k] = flow.size(k)
    if len(targets) > 2:
        layer.fail("NNM405", f"{len(targets)} dimensions, but a layer resamples at most two")
    first, second = sorted(targets, key=flow.position)
    if flow.position(second) - flow.position(first) > 1 and flow.tensor.rank != 4:
        order: list[Role] = [role for role in flow.layout if role not in (first, second)]
        flow = flow.reorder((*order, first, second))
    x, options = flow.tensor, {"mode": layer.options["mode"]}
    sizes = [targets[first], targets[second]]
    places = [flow.position(first), flow.position(second)]
    if x.rank == 4:
        return flow.with_tensor(b.resample2d(x, sizes=sizes, axes=places, **options))
    lead, tail = x.shape[: places[0]], x.shape[places[1] + 1 :]
    image = b.reshape(x, new_shape=(count(lead), *x.shape[places[0] : places[1] + 1], count(tail)))
    image = b.resample2d(image, sizes=sizes, axes=(1, 2), **options)
    return flow.with_tensor(b.reshape(image, new_shape=(*lead, *sizes, *tail)))


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
