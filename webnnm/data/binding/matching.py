"""Which field of a dataset feeds which block of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, ModelError, suggestion
from webnnm.core.shapes import Shape, count, show, strides_of
from webnnm.data.classes import argmax, one_hot
from webnnm.data.field import Field, Kind
from webnnm.data.shaped import drop_ones

if TYPE_CHECKING:
    from webnnm.training.losses import Labels

MAX_FEATURES = 6
"""Features that a hint lists."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What a model expects one row of an input or output to be.

    Attributes: `shape` of the row, `dtype`, `names` of its dimensions (or none).
    """

    shape: Shape
    dtype: DataType = "float32"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """How the rows of a field become what a model expects (spec G.2).

    Attributes: `field`, its name in the dataset; `slot`, what the model expects; `axes`, the
    permutation of its dimensions, () if they stay; `classes`, for fields of class numbers;
    `kind` of the field.
    """

    field: str
    slot: Slot
    axes: tuple[int, ...] = ()
    classes: int = 0
    kind: Kind = "continuous"

    def apply(self, values: HostArray, *, expand: bool = True) -> HostArray:
        """Return `[rows, …]` in the model's shape, order and type.

        >>> Binding("x", Slot((2,)), classes=2).apply(HostArray.of([1, 0], "int32")).tolist()
        [[0.0, 1.0], [1.0, 0.0]]

        Class numbers become one-hot, or stay integers with `expand=False`.
        """
        rows = len(values)
        if self.classes and count(self.slot.shape) > 1:
            if not expand:
                return HostArray.of(values, "int32", (rows, *self.slot.shape[:-1]))
            flat = one_hot([int(number) for number in values.values()], self.classes)
            return HostArray.of(flat, self.slot.dtype, (rows, *self.slot.shape))
        if self.axes:
            values = _transpose(values, self.axes)
        return HostArray.of(values, self.slot.dtype, (rows, *self.slot.shape))

    def targets(self, values: HostArray, labels: Labels = "same") -> HostArray:
        """Return the rows of an output as the targets of a loss that takes `labels` (spec D.4).

        "classes" are int32 numbers `[rows, positions…]`, -1 where a position does not count;
        "signs" are -1 and 1 instead of 0 and 1; otherwise targets are like the output, with
        classes one-hot.

        >>> scores = Binding("y", Slot((2,)), kind="onehot")
        >>> scores.targets(HostArray.of([[0, 1], [1, 0]]), "classes").tolist()
        [1, 0]

        Raises `ModelError` NNM604 if class numbers are requested and there are no classes.
        """
        if labels == "classes":
            if self.classes:
                return self.apply(values, expand=False)
            if self.kind != "onehot":
                raise ModelError(
                    "NNM604",
                    f'output "{self.field}": the loss needs classes, the data are {self.kind}',
                    hint='kinds={"' + self.field + '": "classes"}, or another loss',
                )
            rows = self.apply(values)
            flat, width = rows.values(), rows.shape[-1]
            numbers = [
                number if flat[row * width + number] else -1
                for row, number in enumerate(argmax(rows))
            ]
            return HostArray.of(numbers, "int32", rows.shape[:-1])
        targets = self.apply(values)
        if labels == "signs":
            signs = [value or -1.0 for value in targets.values()]
            return HostArray.of(signs, targets.dtype, targets.shape)
        return targets


def find_field(block: str, fields: Mapping[str, Field], *, alone: bool) -> str:
    """Return the field that feeds a block: the one of its name, or the only one for an only block.

    >>> find_field("model", {"x": Field((4,), "float32")}, alone=True)
    'x'
    """
    return next(iter(fields)) if alone and len(fields) == 1 else block


def bind(
    fields: Mapping[str, Field], slots: Mapping[str, Slot], role: Literal["input", "output"]
) -> dict[str, Binding]:
    """Return block → binding for all inputs, or all outputs, of a model.

    >>> bind({"x": Field((4,), "float32")}, {"model": Slot((4,))}, "input")["model"].field
    'x'

    A field binds to the block of its name; a single field binds to the only block. Dimensions that
    both sides name are transposed to the model's order. Raises `DataError` NNM701 for a block that
    no field feeds, NNM702 if the sizes differ, NNM706 for more classes than scores.
    """
    bindings: dict[str, Binding] = {}
    for block, slot in slots.items():
        name = find_field(block, fields, alone=len(slots) == 1)
        if name not in fields:
            have = ", ".join(f'"{field}"' for field in fields)
            raise DataError(
                "NNM701",
                f'the dataset has no {role} "{block}", it has {have}',
                hint=suggestion(block, fields) or f'map(to_model={{field: "{block}"}}) renames',
            )
        bindings[block] = bind_field(f'{role} "{block}"', name, fields[name], slot)
    return bindings


def bind_field(where: str, name: str, field: Field, slot: Slot) -> Binding:
    """Return how the rows of one field, called `name`, become what a model expects.

    Raises `DataError` NNM702 if the sizes differ, NNM706 for more classes than scores.
    """
    if field.kind == "classes" and slot.shape and slot.shape[-1] > 1:
        classes, positions = slot.shape[-1], slot.shape[:-1]
        if field.classes > classes:
            raise DataError(
                "NNM706", f"{where}: {field.classes} classes, the model has {classes} scores"
            )
        if count(positions) != count(field.shape):
            raise DataError(
                "NNM702",
                f"{where}: the model takes {show(slot.shape)}, classes {show(field.shape)}",
            )
        return Binding(name, slot, classes=classes, kind=field.kind)
    if count(field.shape) != count(slot.shape):
        raise DataError(
            "NNM702",
            f"{where}: the model takes {show(slot.shape)}, rows are {show(field.shape)}",
            hint=_list_features(field),
        )
    axes: tuple[int, ...] = ()
    if field.names != slot.names and sorted(field.names) == sorted(slot.names):
        axes = tuple(field.names.index(dimension) for dimension in slot.names)
    elif _is_permuted(field.shape, slot.shape):
        raise DataError(
            "NNM702",
            f"{where}: the model takes {show(slot.shape)}, rows are {show(field.shape)}, which has "
            "as many elements in another order",
            hint=f'transpose the rows, or name their dimensions: names={{"{name}": [...]}}',
        )
    return Binding(name, slot, axes, kind=field.kind)


def _is_permuted(shape: Shape, other: Shape) -> bool:
    """Return whether two shapes have the same sizes in another order, besides sizes of 1."""
    sizes, others = drop_ones(shape), drop_ones(other)
    return sizes != others and sorted(sizes) == sorted(others)


def _list_features(field: Field) -> str:
    """Return what a model has to declare for rows of named features, "" for other rows."""
    if not field.features:
        return ""
    shown = ", ".join(field.features[:MAX_FEATURES])
    more = f" … {field.features[-1]}" if len(field.features) > MAX_FEATURES else ""
    return f"write shape={show(field.shape)}: the columns became {shown}{more}"


def _transpose(values: HostArray, axes: tuple[int, ...]) -> HostArray:
    """Return rows with their dimensions in another order."""
    shape = values.shape[1:]
    strides = strides_of(shape)
    offsets = [0]
    for axis in axes:
        offsets = [offset + i * strides[axis] for offset in offsets for i in range(shape[axis])]
    width = len(offsets)
    flat = values.values()
    result: list[Any] = list(flat)
    for target, offset in enumerate(offsets):
        result[target::width] = flat[offset::width]
    return HostArray.of(result, values.dtype, (len(values), *(shape[axis] for axis in axes)))
