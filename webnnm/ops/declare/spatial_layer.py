"""Layers on images in the notation: which feature is height, width or channel (spec C.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webnnm.core.shapes import count, show
from webnnm.notation.syntax import Items, NamedShape, Value
from webnnm.ops.declare import values
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.layer import BuildView, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.spatial import INPUT_LAYOUTS, Pair, Sides, automatic_padding
from webnnm.ops.declare.tensors import Builder, Tensor

NAMES = {"c": "channels", "h": "height", "w": "width"}


def pair(low: int) -> Callable[[Value], Pair]:
    """Return a reader of `[h, w]`, `{height:h, width:w}`, or one number for both."""

    def read(value: Value) -> Pair:
        if isinstance(value, NamedShape):
            numbers = _by_name(value)
        else:
            numbers = values.integers(value)
            numbers = numbers * 2 if not isinstance(value, Items) else numbers
        if len(numbers) != 2:
            raise ValueError("expected a number, [height, width] or {height:…, width:…}")
        if min(numbers) < low:
            raise ValueError(f"{min(numbers)} is less than {low}")
        return numbers[0], numbers[1]

    return read


def _by_name(value: NamedShape) -> tuple[int, ...]:
    sizes = values.sizes(value)
    sizes_by_name = dict(zip(sizes.names or (), sizes.sizes, strict=True))
    if sizes_by_name.keys() != {"height", "width"}:
        raise ValueError("expected {height:…, width:…}")
    return tuple(n for n in (sizes_by_name["height"], sizes_by_name["width"]) if isinstance(n, int))


PADDINGS = ("same", "valid")


def padding(value: Value) -> Sides | str:
    """Read a number, `[top, bottom, left, right]`, `{height, width}`, `same` or `valid`."""
    if isinstance(value, NamedShape):
        height, width = pair(0)(value)
        return height, height, width, width
    try:
        mode = values.choice(*PADDINGS)(value)
    except ValueError:
        numbers = values.integers(value)
    else:
        return (0, 0, 0, 0) if mode == "valid" else mode
    numbers = numbers * 4 if not isinstance(value, Items) else numbers
    if len(numbers) != 4 or min(numbers) < 0:
        raise ValueError("expected four non-negative numbers: [top, bottom, left, right]") from None
    return numbers[0], numbers[1], numbers[2], numbers[3]


STEPS = {
    "strides": ValueOption(read=pair(1), default=(1, 1)),
    "dilations": ValueOption(read=pair(1), default=(1, 1)),
}
LAYOUT = ValueOption(read=values.choice(*INPUT_LAYOUTS))


@dataclass(frozen=True)
class Places:
    """The features of an image: where each letter of "chw" is, and where it is in the result."""

    source: Mapping[str, int]
    target: Mapping[str, int]


def places(layer: ShapeView | BuildView, source: Features, layout: str | None) -> Places:
    """Find height, width and channels among three features, by name or by the layout.

    A written layout that disagrees with the names is the layout of the result. Raises NNM405
    for another number of features.
    """
    if source.rank != 3:
        layer.fail(
            "NNM405",
            f"an image has 3 feature dimensions, but {source} has {source.rank}",
            hint="channels, height and width",
        )
    written = _indices((layout or "nchw").replace("n", ""))
    names = source.names
    if "height" not in names or "width" not in names:
        return Places(written, written)
    height, width = names.index("height"), names.index("width")
    axes = {"c": 3 - height - width, "h": height, "w": width}
    return Places(axes, written if layout else axes)


def _indices(letters: str) -> dict[str, int]:
    return {letter: k for k, letter in enumerate(letters)}


def sides(
    padding: Sides | str, sizes: Pair, kernel: Pair, strides: Pair, dilations: Pair, *, grown: bool
) -> Sides:
    """Return four paddings; `same` depends on sizes, except for transposed ones (`grown`)."""
    if not isinstance(padding, str):
        return padding
    return automatic_padding("same-upper", sizes, kernel, strides, dilations, transposed=grown)


def infer_image(layer: ShapeView, at: Places, sizes: Mapping[str, int | None]) -> None:
    """Take over the sizes of the result by their letters. Raises NNM402."""
    dims: list[int | None] = [None] * 3
    names: list[str | None] = [None] * 3
    for letter, k in at.target.items():
        dims[k], names[k] = sizes[letter], NAMES[letter]
    try:
        layer.result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {show(dims)}", at="shape")
    layer.result.set_names(names)
    layer.result.set_sequence(layer.input.sequence)


def sizes_of(features: Features, at: Mapping[str, int]) -> dict[str, int | None]:
    """Return the sizes of an image by their letters, None if it is not an image.

    If a result of another rank was declared, `infer_image` raises.
    """
    dims = features.dims if features.dims and len(features.dims) == 3 else [None] * 3
    return {letter: dims[k] for letter, k in at.items()}


def build_image(
    b: Builder,
    source: LayoutTensor,
    at: Places,
    written: str | None,
    apply: Callable[[Tensor, str], Tensor],
) -> LayoutTensor:
    """Apply an operator on images to the input, in the run-time layout that it has if possible.

    `apply(tensor, layout)` gets a tensor of rank 4; batch and sequence are one dimension there.
    """
    lead: tuple[Role, ...] = tuple(role for role in source.layout if not isinstance(role, int))
    layouts = {
        tuple(at.source[x] for x in letters if x != "n"): letters for letters in INPUT_LAYOUTS
    }
    physical = tuple(role for role in source.layout if isinstance(role, int))
    layout = written or layouts.get(physical, INPUT_LAYOUTS[0])
    letters = layout.replace("n", "")
    tensor = source.reorder((*lead, *(at.source[x] for x in letters))).tensor
    rows = tensor.shape[: len(lead)]
    if len(rows) != 1:
        tensor = b.reshape(tensor, new_shape=(count(rows), *tensor.shape[len(rows) :]))
    result = apply(tensor, layout)
    if len(rows) != 1:
        result = b.reshape(result, new_shape=(*rows, *result.shape[1:]))
    roles: tuple[Role, ...] = tuple(at.target[x] for x in letters)
    return LayoutTensor(result, (*lead, *roles), source.sequence)
