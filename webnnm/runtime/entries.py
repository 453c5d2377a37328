"""Data that users hand over for predictions, as the inputs of a network take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.data.binding import all_names
from webnnm.data.field import Field
from webnnm.data.form import Form, is_table, numbers
from webnnm.data.matching import Binding, Slot, bound
from webnnm.data.sequences import is_ragged, like, padded, padded_size, positions_of
from webnnm.data.shaped import rows_of
from webnnm.data.standardize import Standardization, warn
from webnnm.graph.vertices import InputVertex

if TYPE_CHECKING:
    from webnnm.runtime.restored import Restored


@dataclass(frozen=True, slots=True)
class Entry:
    """The rows of an input: an array, or positions one behind the other and how many each row has.

    Attributes: `rows`, how many; `array`, `[rows, …]` or of positions; `lengths`, None without
    positions; `alike`, whether the rows were given as one array.
    """

    rows: int
    array: HostArray
    lengths: list[int] | None = None
    alike: bool = True


def by_input(data: Any, inputs: Mapping[str, InputVertex], kept: Restored | None) -> dict[str, Any]:
    """Return input → data; `data` is such a dict, or what there is for the only input.

    A dict of columns goes to the only input where names of its columns are known. Raises
    `DataError` NNM710 for an unknown input.
    """
    first = next(iter(inputs))
    if not by_name(data, inputs, kept):
        return {first: data}
    found: dict[str, Any] = {}
    for name, values in cast("Mapping[str, Any]", data).items():
        block = name.removesuffix(":input")
        if block not in inputs:
            hint = suggestion(block, inputs) or f"available: {', '.join(inputs)}"
            raise DataError("NNM710", f'there is no input "{name}"', hint=hint)
        found[block] = values
    return found


def by_name(data: Any, inputs: Mapping[str, InputVertex], kept: Restored | None) -> bool:
    """Tell whether data are given by input."""
    if not isinstance(data, Mapping):
        return False
    names = {str(name).removesuffix(":input") for name in cast("Mapping[Any, Any]", data)}
    form = kept.form(next(iter(inputs))) if kept and len(inputs) == 1 else None
    columns = {*form.columns} if form else set[str]()
    return names <= inputs.keys() or not columns & names


def entered(vertex: InputVertex, values: Any, kept: Restored | None) -> Entry:
    """Return the rows of an input in the network's own numbers.

    What is `kept` of the data of the model tells their form and units; without it they are the
    network's own. Raises `DataError` NNM702, and what `Form.plain` raises, for rows that do not
    fit.
    """
    where, block = f'input "{vertex.block}"', vertex.block
    features = vertex.features[0]
    sizes = features.sizes()
    form = kept.form(block) if kept else None
    scale = kept.inputs.get(block) if kept else None
    if form is None:
        field = Field(sizes, vertex.dtype, tuple(name or "" for name in features.names))
        if is_table(values):
            raise DataError(
                "NNM702",
                f"{where} takes arrays of numbers, a {type(values).__name__} is given",
                hint="a model with a dataset takes what its dataset took, unless raw=True",
            )
    else:
        field = form.field
        values = form.plain(where, values)
    dtype = None if scale is not None else vertex.dtype
    if form is not None and (form.light or form.encoders):
        dtype = None
    if features.sequence is None:
        found = _rows(where, values, dtype, field, scale)
        slot = Slot(sizes, vertex.dtype, all_names(features.names, None))
        return Entry(len(found), _applied(where, found, field, slot) if form else found)
    shape = sizes if form is None else field.shape[1:]
    array = _one_row_as_rows(where, values, shape, dtype)
    flat, lengths = positions_of(where, array, dtype)
    flat = HostArray(flat.dtype, (len(flat), *shape), flat.data) if len(flat) else flat
    if scale is not None:
        flat = _scaled_positions(where, flat, lengths, field, scale)
    if form is not None:
        own = replace(field, shape=shape, names=field.names[1:], sequence=False)
        flat = _applied(where, flat, own, Slot(sizes, vertex.dtype))
    return Entry(len(lengths), flat, lengths, isinstance(array, HostArray))


def check_fits(vertex: InputVertex, form: Form | None, scale: Standardization | None) -> None:
    """Raise `DataError` NNM702 or NNM706 where rows of a form can be no rows of an input."""
    where, features = f'input "{vertex.block}"', vertex.features[0]
    sizes = features.sizes()
    shapes = [sizes]
    if form is not None:
        field = form.field
        if features.sequence is not None:
            field = replace(field, shape=field.shape[1:], names=field.names[1:], sequence=False)
        bound(where, "", field, Slot(sizes, vertex.dtype, all_names(features.names, None)))
        shapes = [field.shape, form.field.shape, form.field.shape[1:]]
    period = scale and len(scale.mean) * scale.repeat
    if period and all(count(shape) % period for shape in shapes):
        raise DataError("NNM702", f"{where}: rows of {period} elements were standardised")


def check_units(where: str, values: Any, scale: Standardization) -> None:
    """Warn where the network's own numbers look like numbers in the units of the dataset."""
    try:
        given = HostArray.of(values)
    except DataError:
        return  # rows of different lengths; what does not fit is told elsewhere
    if scale.doubts(given, own=True):
        warn(
            f"{where}: the rows look like values in the units of the dataset, but raw=True "
            "expects standardised values: leave raw=True out"
        )


def _rows(
    where: str, values: Any, dtype: Any, field: Field, scale: Standardization | None
) -> HostArray:
    """Return rows without positions, standardised."""
    if field.sequence:  # padded for a model that takes rows of one length
        lead, rest = field.shape[0], field.shape[1:]
        array = _one_row_as_rows(where, values, rest, dtype)
        flat, lengths = positions_of(where, array, dtype)
        padded_size(where, lead, lengths)
        found = padded(HostArray(flat.dtype, (len(flat), *rest), flat.data), lengths, lead)
    else:
        found = rows_of(where, numbers(where, values, dtype), field.shape, field.names)
    if scale is None or not len(found):
        return found
    _check_given(where, found, scale)
    return like(scale.apply(found), found)


def _one_row_as_rows(where: str, values: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Return sequences as an array `[rows, length, …]`, or as lists of different lengths."""
    if is_ragged(values):
        return values
    found = numbers(where, values, dtype)
    given, rank = found.shape, len(shape)
    if given[2:] == tuple(shape) and len(given) == rank + 2:
        return found
    if given[1:] == tuple(shape) and len(given) == rank + 1:  # one row alone
        return HostArray(found.dtype, (1, *given), found.data)
    if len(given) > 1 and count(shape) == count(given[2:]) == 1:
        return HostArray(found.dtype, (*given[:2], *shape), found.data)
    rows = show((*shape,)).replace("[", "[rows, length, " if shape else "[rows, length", 1)
    raise DataError("NNM702", f"{where} takes {rows}, {show(given)} is given")


def _scaled_positions(
    where: str, flat: HostArray, lengths: list[int], field: Field, scale: Standardization
) -> HostArray:
    """Return positions standardised, each alike or, where rows were measured whole, in place."""
    period = len(scale.mean) * scale.repeat
    if not field.sequence and period == count(field.shape) != count(field.shape[1:]):
        wrong = next((n for n in lengths if n != field.shape[0]), None)
        if wrong is not None:
            raise DataError(
                "NNM702",
                f"{where}: a row has {wrong} positions, the dataset's rows had {field.shape[0]}, "
                "each standardised on its own",
                hint="a dataset with length= standardises all positions alike",
            )
    _check_given(where, flat, scale)
    return scale.apply(flat)


def _applied(where: str, rows: HostArray, field: Field, slot: Slot) -> HostArray:
    made: Binding = bound(where, "", field, slot)
    return made.apply(rows)


def _check_given(where: str, given: HostArray, scale: Standardization) -> None:
    if scale.doubts(given, own=False):
        warn(
            f"{where}: the rows look standardised already, but predict standardises its input: "
            "give values in the units of the dataset, or raw=True"
        )
