"""Data that users pass for predictions, in the form that a network's inputs take."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from webnnm.core.arrays import HostArray, exact_type
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.data.binding.binding import get_complete_names
from webnnm.data.binding.form import Form, convert_numbers, is_table
from webnnm.data.binding.matching import Binding, Slot, bind_field
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import Standardization, warn_about_units
from webnnm.data.series.sequences import (
    flatten_rows,
    is_ragged,
    pad,
    resolve_length,
    restore_sequences,
)
from webnnm.data.shaped import as_rows
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from webnnm.runtime.restored import Restored


class Entry(NamedTuple):
    """The rows of an input: an array, or all positions in sequence and the length of each row.

    Attributes: `rows`, their number; `array`, `[rows, …]` or all positions; `lengths`, the number
    of positions of each row, or None; `alike`, whether the rows were given as one array.
    """

    rows: int
    array: HostArray
    lengths: list[int] | None = None
    alike: bool = True


def by_input(data: Mapping[str, Any], inputs: Mapping[str, InputVertex]) -> dict[str, Any]:
    """Return input → data.

    Raises `DataError` NNM710 for an unknown input, NNM702 for one without data.
    """
    result: dict[str, Any] = {}
    for name, values in data.items():
        block = name.removesuffix(":input")
        if block not in inputs:
            hint = suggestion(block, inputs) or f"available: {', '.join(inputs)}"
            raise DataError("NNM710", f'there is no input "{name}"', hint=hint)
        result[block] = values
    missing = next((name for name in inputs if name not in result), None)
    if missing is not None:
        entries = ", ".join(f'"{name}": …' for name in inputs)
        hint = f"give rows for every input: predict({{{entries}}})"
        raise DataError("NNM702", f'input "{missing}" has no data', hint=hint)
    return result


def by_name(data: Any, inputs: Mapping[str, Any], kept: Restored | None) -> bool:
    """Return whether data are given by input; a dict may also hold columns of the only input."""
    if type(data) in (list, HostArray) or not isinstance(data, Mapping):
        return False
    names = {str(name).removesuffix(":input") for name in cast("Mapping[Any, Any]", data)}
    form = kept.form(next(iter(inputs))) if kept and len(inputs) == 1 else None
    columns = {*form.columns} if form else set[str]()
    return names <= inputs.keys() or not columns & names


class Entrance:
    """Reads the data that users pass for an input, as rows in the network's own numbers.

    What is `kept` about the data of the model determines their form and units; without it, data
    are in the network's own. Everything that depends only on this is decided once.
    """

    def __init__(self, vertex: InputVertex, kept: Restored | None) -> None:
        self.vertex = vertex
        self._where = f'input "{vertex.block}"'
        features = vertex.features[0]
        self._sizes = sizes = features.sizes()
        self._form = form = kept.form(vertex.block) if kept else None
        self._scale = kept.inputs.get(vertex.block) if kept else None
        self._field = (
            form.field
            if form
            else Field(sizes, vertex.dtype, tuple(name or "" for name in features.names))
        )
        special = form is not None and bool(form.light or form.encoders or form.series)
        self._dtype: DataType | None = None if self._scale or special else vertex.dtype
        self._sequence = features.sequence is not None
        self._slot = Slot(
            sizes, vertex.dtype, () if self._sequence else get_complete_names(features.names, None)
        )
        by_position = self._sequence and form is not None
        self._own = self._field.of_position() if by_position else self._field
        self._binding: Binding | None = None
        # Most calls pass lists of numbers, for which no other form has to be considered.
        self._bare = not special and not (form and (form.letters or form.reader))
        self._lasting = self._bare and self._scale is None and self._field.shape == sizes
        self._as_is = False

    def __call__(self, values: Any) -> Entry:
        """Return the rows.

        Raises `DataError` NNM702, and what `Form.plain` raises, for rows that do not fit.
        """
        if self._as_is and (rows := self._same(values)) is not None:
            return Entry(rows.shape[0], rows)
        if hasattr(values, "js_id") and self._takes_as_is:
            from webnnm.core.page_arrays import read_typed_array

            page_rows = read_typed_array(values, self.vertex.dtype, self._sizes)
            if page_rows is not None:
                return Entry(len(page_rows), page_rows)
        if not (self._bare and _is_numbers(values)):
            values = self._plain(values)
        if self._sequence:
            return self._positions(values)
        dtype = self._dtype if self._scale is None else exact_type(values)
        rows = _rows(self._where, values, dtype, self._field, self._scale)
        bound = self._bind(rows)
        # If the first rows were returned unchanged, all rows are.
        self._as_is = self._lasting and bound.data.obj is rows.data.obj
        return Entry(len(rows), bound)

    @cached_property
    def _takes_as_is(self) -> bool:
        """Whether rows in the network's own type are its numbers, in its own order."""
        if self._sequence or not self._lasting:
            return False
        type = TensorType(self.vertex.dtype, (1, *self._sizes))
        row = HostArray(*type, bytes(type.nbytes))
        return self._bind(row).data.obj is row.data.obj

    def _same(self, values: Any) -> HostArray | None:
        """Return rows that are in the network's own numbers already, None for anything else."""
        dtype, sizes = self.vertex.dtype, self._sizes
        if isinstance(values, HostArray):
            same = values.dtype == dtype and values.shape[1:] == sizes and values.shape[0]
            return values if same else None
        rows = cast("list[Any]", values) if isinstance(values, list) else []
        row: Any = rows[0] if len(rows) == 1 else rows
        numbers = cast("list[Any]", row) if isinstance(row, list) else []
        if len(sizes) == 1 and len(numbers) == sizes[0] and dtype == "float32":
            try:
                return HostArray("float32", (1, *sizes), array("f", numbers))
            except (TypeError, OverflowError):
                return None  # who looks at each element reports more
        return None

    def _plain(self, values: Any) -> Any:
        if self._form is not None:
            return self._form.plain(self._where, values)
        if is_table(values):
            raise DataError(
                "NNM702",
                f"{self._where} takes arrays of numbers, not a {type(values).__name__}",
                hint="a model with a dataset accepts what its dataset accepted, unless raw=True",
            )
        return values

    def _positions(self, values: Any) -> Entry:
        """Return rows with positions."""
        where, scale = self._where, self._scale
        shape = self._sizes if self._form is None else self._field.shape[1:]
        dtype = self._dtype if scale is None else exact_type(values)
        array = _one_row_as_rows(where, values, shape, dtype)
        flat, lengths = flatten_rows(where, array, dtype)
        flat = HostArray(flat.dtype, (len(flat), *shape), flat.data) if len(flat) else flat
        if scale is not None:
            flat = _scale_positions(where, flat, lengths, self._field, scale)
        return Entry(len(lengths), self._bind(flat), lengths, isinstance(array, HostArray))

    def _bind(self, rows: HostArray) -> HostArray:
        """Return rows in the order, the shape and the type of the input."""
        if self._form is None:
            return HostArray.of(rows, self.vertex.dtype)
        if self._binding is None:
            self._binding = bind_field(self._where, "", self._own, self._slot)
        return self._binding.apply(rows)


def _is_numbers(values: Any) -> bool:
    """Return whether values are a list of numbers, or begin like lists of numbers."""
    return type(values) is list and bool(values) and type(values[0]) in (list, float, int)


def check_fits(vertex: InputVertex, form: Form | None, scale: Standardization | None) -> None:
    """Raise `DataError` NNM702 or NNM706 if rows of a form cannot be rows of an input."""
    where, features = f'input "{vertex.block}"', vertex.features[0]
    sizes = features.sizes()
    shapes = [sizes]
    if form is not None:
        field = form.field
        if features.sequence is not None:
            field = field.of_position()
        bind_field(
            where, "", field, Slot(sizes, vertex.dtype, get_complete_names(features.names, None))
        )
        shapes = [field.shape, form.field.shape, form.field.shape[1:]]
    period = 0 if scale is None else len(scale.mean) * scale.repeat
    if period and all(count(shape) % period for shape in shapes):
        raise DataError("NNM702", f"{where}: rows of {period} elements were standardised")


def check_units(where: str, values: Any, scale: Standardization) -> None:
    """Warn if values that should be standardised look like values in the dataset's units."""
    try:
        array = HostArray.of(values)
    except DataError:
        return  # rows of different lengths; what does not fit is reported elsewhere
    if scale.seems_misdeclared(array, scaled=True):
        warn_about_units(
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
        flat, lengths = flatten_rows(where, array, dtype)
        resolve_length(where, lead, lengths)
        array_of_rows = pad(HostArray(flat.dtype, (len(flat), *rest), flat.data), lengths, lead)
    else:
        array_of_rows = as_rows(
            where, convert_numbers(where, values, dtype), field.shape, field.names
        )
    if scale is None or not len(array_of_rows):
        return array_of_rows
    return restore_sequences(_scale_rows(where, array_of_rows, scale), array_of_rows)


def _one_row_as_rows(where: str, values: Any, shape: Sequence[int], dtype: Any) -> Any:
    """Return sequences as an array `[rows, length, …]`, or as lists of different lengths."""
    if is_ragged(values):
        return values
    array = convert_numbers(where, values, dtype)
    shape_of_array, rank = array.shape, len(shape)
    if shape_of_array[2:] == tuple(shape) and len(shape_of_array) == rank + 2:
        return array
    if shape_of_array[1:] == tuple(shape) and len(shape_of_array) == rank + 1:  # one row alone
        return HostArray(array.dtype, (1, *shape_of_array), array.data)
    if len(shape_of_array) > 1 and count(shape) == count(shape_of_array[2:]) == 1:
        return HostArray(array.dtype, (*shape_of_array[:2], *shape), array.data)
    rows = show((*shape,)).replace("[", "[rows, length, " if shape else "[rows, length", 1)
    raise DataError("NNM702", f"{where} takes {rows}, but {show(shape_of_array)} is given")


def _scale_positions(
    where: str, flat: HostArray, lengths: list[int], field: Field, scale: Standardization
) -> HostArray:
    """Return standardised positions: all alike, or each on its own if rows were measured whole."""
    period = len(scale.mean) * scale.repeat
    if not field.sequence and period == count(field.shape) != count(field.shape[1:]):
        wrong = next((n for n in lengths if n != field.shape[0]), None)
        if wrong is not None:
            raise DataError(
                "NNM702",
                f"{where}: a row has {wrong} positions, but the dataset's rows had "
                f"{field.shape[0]}, each standardised on its own",
                hint="a dataset with length= standardises all positions alike",
            )
    return _scale_rows(where, flat, scale)


def _scale_rows(where: str, rows: HostArray, scale: Standardization) -> HostArray:
    """Return standardised rows, with a warning if they seem to be standardised already."""
    scaled = scale.apply(rows)
    if scale.seems_misdeclared(rows, scaled=False, applied=scaled):
        warn_about_units(
            f"{where}: the rows look standardised already, but predict standardises its input: "
            "pass values in the units of the dataset, or raw=True"
        )
    return scaled
