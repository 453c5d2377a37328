"""A dataset over the columns of a table: numbers, categories and one label."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast, get_args

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import is_integer
from webnnm.data.classes import one_hot
from webnnm.data.dataset import Dataset
from webnnm.data.field import Kind
from webnnm.data.preparation.equal_rows import number_distinct
from webnnm.data.split import Method, Rows, Split
from webnnm.data.tables.column_reading import Column, Locate, read_column
from webnnm.data.tables.columns import MAX_LISTED, Table, as_number, as_table, find_duplicates
from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.date_format import ORDERS, Order, describe_range
from webnnm.data.tables.encoding import (
    Encoder,
    LabelEncoder,
    NumberEncoder,
    OneHotEncoder,
    encode_rows,
    stack_columns,
)
from webnnm.data.tables.number_detection import is_code
from webnnm.data.tables.number_format import parse_shape

Task = Literal["auto", "classification", "regression"]
Missing = Literal["error", "drop", "mean", "indicator"]

DETERMINED_OPTIONS = {"labels", "kinds"}
"""Options of `Dataset` that are determined by the columns of a table."""

MIN_BUCKETS, MAX_BUCKETS = 2, 1024
"""Fewer features than this are not shared by hashes; more take too long."""

MAX_INTEGER_CLASSES = 20
"""Integer labels with more distinct values than this are quantities (spec G.5)."""


ColumnKind = Literal["numbers", "categories", "dates", "target", "classes"]

_KINDS: dict[tuple[bool, bool], ColumnKind] = {
    (False, False): "numbers",
    (False, True): "categories",
    (True, False): "target",
    (True, True): "classes",
}
"""The kind of a column, by whether it is the label and whether it is read as words."""


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """What was found in a column: its `kind`, the `missing` cells, `categories`, `unknown` words.

    `unknown` counts the cells with a word that no training row has; `written` says how numbers are,
    if not as in programs; `buckets` is the number of features that words share by their hashes.
    """

    name: str
    kind: ColumnKind
    missing: int
    categories: tuple[str, ...] = ()
    unknown: int = 0
    written: str = ""
    buckets: int = 0


@dataclass(frozen=True, slots=True)
class TableReport:
    """What was found in a table: its `rows`, how many were `dropped`, and its `columns`.

    `written` says how its text is, if not as usual.
    """

    rows: int
    dropped: int
    columns: tuple[ColumnReport, ...]
    written: str = ""

    def __str__(self) -> str:
        lines = [f"{self.rows} rows, {self.dropped} of them dropped"]
        lines += [self.written] if self.written else []
        for column in self.columns:
            words = f", {len(column.categories)} values" if column.categories else ""
            words += f", hashed into {column.buckets} features" if column.buckets else ""
            missing = f", {column.missing} missing" if column.missing else ""
            unknown = f", {column.unknown} unknown in training" if column.unknown else ""
            numbers = f", {column.written}" if column.written else ""
            lines.append(f"{column.name}: {column.kind}{words}{missing}{unknown}{numbers}")
        return "\n".join(lines)


class TableDataset(Dataset):
    """A dataset from a table: feature columns become one input, a label column the output.

    >>> flowers = TableDataset({"width": [1, 2, 3, 4], "colour": ["red", "blue", "red", "blue"],
    ...     "kind": ["a", "b", "a", "b"]}, split=(1, 0, 0))
    >>> flowers.inputs["model"].features, flowers.labels()
    (('width', 'colour=blue', 'colour=red'), ['a', 'b'])
    >>> flowers.encode({"width": [2.5], "colour": ["red"]}).tolist()
    [[2.5, 0.0, 1.0]]

    - `table`: a dict from column name to values, a list of dicts from column name to cell, what
      `read_csv` returned, a pandas DataFrame, or any object with `columns` and `table[name]`.
    - `features`, `label`: column names, or positions as in a list. By default the last column is
      the label and all others are features.
    - `task`: "classification", "regression" or "auto", which selects classification if the labels
      are words, or integers with at most 20 distinct values. Classes are one-hot, or class numbers
      with `sparse=True`.
    - `missing`: what to do with empty cells, among numbers also "?", "na", "nan", "null" and
      "none": "error", "drop" (leave out their rows), "mean" (fill in the mean of the training rows,
      or the class frequencies of a category; rows without a label are left out) or "indicator" (the
      same, and a further feature that is 1 where the cell of a column was empty).
    - `categorical`: columns to treat as categories although their cells look like numbers.
    - `sample_weight`: the column of the weights, which then is not a feature; a function of a row
      (name → cell); or one number for each row of the table: see `Dataset`.
    - `unknown`: categories that do not occur in the training rows become "zeros" or raise an
      "error".
    - `max_categories`: of a column with more words than this, the most frequent ones are
      categories, and all others share one feature.
    - `hash_buckets`: these others share so many features by their hashes instead, or all words of a
      column with more of them if there is no `max_categories`; or a dict from column to number,
      whose columns are categories although their cells look like numbers.
    - `groups`: the column of what must not be in two subsets, such as a patient with several rows:
      all its rows are drawn together. `order_by`: a column of dates or numbers by which the first
      rows are for training and the last ones for testing; rows of one value stay together. Neither
      is a feature, unless `features` lists it.
    - `dates`: the order of day and month, "dmy" or "mdy", where no date of a column tells it.
    - `standardize`: True scales the columns of numbers, neither the zeros and ones of categories
      nor columns that hold only 0 and 1; or names of columns.
    - `split` (row numbers count the remaining rows) and all other options are those of `Dataset`.

    A column of words becomes a feature for each distinct word. A column of dates becomes the days
    since the first one, with season, weekday and time of day where they vary: see `DateEncoder`.
    `inputs["model"].shape` is the shape that the text of the model has to declare.

    Raises the errors of `Dataset`, and `DataError` NNM706 for labels that are not classes, NNM710
    for unknown columns, NNM713 with row and column for cells that are empty or not numbers, and for
    two features of the same name.

    Attributes: those of `Dataset`; `encoders` of the features; `label_encoder`, None for
    regression; `report`, what was detected in the columns; `kept`, the numbers of the remaining
    rows of the table, in order; `dialect`, how the text of the table was written, None if it was
    none; `label_format`, how the numbers of the label were.
    """

    def __init__(
        self,
        table: Any,
        features: Sequence[str | int] | None = None,
        label: str | int | None = None,
        *,
        task: Task = "auto",
        missing: Missing = "error",
        categorical: Sequence[str | int] = (),
        unknown: Literal["error", "zeros"] = "zeros",
        dates: Order | None = None,
        max_categories: int | None = None,
        hash_buckets: int | Mapping[str, int] | None = None,
        groups: str | int | None = None,
        order_by: str | int | None = None,
        sparse: bool = False,
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        method: Method = "stratified",
        name: str = "table",
        sample_weight: Any = None,
        **options: Any,
    ) -> None:
        _check_choice("task", task, get_args(Task))
        _check_choice("missing", missing, get_args(Missing))
        if dates is not None:
            _check_choice("dates", dates, ORDERS)
        if max_categories is not None and not (is_integer(max_categories) and max_categories > 0):
            hint = "an integer from 1, or None for all words"
            raise DataError("NNM704", f"max_categories is {max_categories!r}", hint=hint)
        for option in DETERMINED_OPTIONS & options.keys():
            hint = "Dataset takes arrays together with what they are"
            raise DataError("NNM704", f"a TableDataset determines {option} itself", hint=hint)
        table = as_table(table)
        apart = [column for column in (groups, order_by) if column is not None]
        apart += [sample_weight] if isinstance(sample_weight, (str, int)) else []
        target, chosen = _resolve_roles(table, features, label, apart)
        buckets = _resolve_buckets(table, chosen, hash_buckets)
        as_words = {table.index(column) for column in as_column_list("categorical", categorical)}
        if isinstance(hash_buckets, Mapping):
            as_words |= {table.index(column) for column in buckets}
        read = [
            read_column(table, i, False if i in as_words else None, order=dates) for i in chosen
        ]
        read.append(read_label(table, target, task))
        rows = _select_rows(table, read, [*chosen, target], missing)
        kept = read
        if len(rows) < table.row_count:
            kept = [column.take(rows) for column in read]
        *columns, goal = kept
        numbers: list[int] | None = None
        self.label_encoder: LabelEncoder | None = None
        if goal.numbers is None:
            words = goal.get_words(range(len(rows)))
            self.label_encoder = LabelEncoder.fit(goal.name, words)
            numbers = self.label_encoder.encode(words)
        if groups is not None or order_by is not None:
            from webnnm.data.tables.row_division import divide_rows

            split = divide_rows(table, rows, split, groups=groups, order_by=order_by, seed=seed)
        training = Split(split, seed, method).rows(len(rows), numbers)[0]
        locators = [partial(_locate, table, rows, index) for index in chosen]
        indicator = missing == "indicator"
        fitting = _Fitting(training, unknown, max_categories, buckets, indicator, locators)
        self.encoders: tuple[Encoder, ...]
        self.encoders, self._holes, values = _fit_and_encode(columns, fitting)
        feature_names = [name for encoder in self.encoders for name in encoder.features]
        if twice := find_duplicates(feature_names):
            message = f'two features would be called "{twice[0]}"'
            raise DataError("NNM713", message, hint="give one of the columns another name")
        reports = _make_reports(read, kept, [*self.encoders, self.label_encoder])
        self.kept: Sequence[int] = rows
        self.dialect = table.dialect
        self.label_format = goal.number_format
        written = "" if table.dialect is None or table.dialect.usual else str(table.dialect)
        self.report = TableReport(table.row_count, table.row_count - len(rows), reports, written)
        outputs, kind = _make_outputs(goal, numbers, self.label_encoder, sparse)
        weights = None
        if sample_weight is not None:
            from webnnm.data.preparation.row_weights import read_table_weights

            weights = read_table_weights(table, sample_weight, rows)
        if options.get("standardize") is True:
            options["standardize"] = _list_quantities(columns, self.encoders)
        elif isinstance(options.get("standardize"), (str, list, tuple)):
            options["standardize"] = _name_days(options["standardize"], self.encoders)
        super().__init__(
            stack_columns(values, len(rows)),
            outputs,
            name=name,
            split=split,
            seed=seed,
            method=method,
            labels=self.label_encoder and self.label_encoder.classes,
            kinds={"model": kind},
            features=feature_names,
            sample_weight=weights,
            **options,
        )
        self.merged_words = _number_merged_words(columns, self.encoders)
        # The kind follows from the task, which says nothing about what these numbers are.
        self.outputs = {b: replace(field, declared=False) for b, field in self.outputs.items()}

    def encode(self, rows: Any) -> HostArray:
        """Return new rows as float32 `[rows, features]`, encoded as `model.predict` does.

        `rows` is a table with the feature columns, or a list of rows with one cell per feature. The
        result is not standardised. Raises `DataError` NNM702 for rows of the wrong length, NNM706
        for unknown categories if `unknown="error"`, NNM710 for missing columns, NNM713 for cells
        that are empty or not numbers.
        """
        return encode_rows(self.encoders, rows)

    def _apply_split(self, parts: Rows) -> None:
        if self._holes:
            self._fill_missing(parts[0])
        super()._apply_split(parts)

    def _fill_missing(self, training: Sequence[int]) -> None:
        """Fill missing cells with the means of the training rows."""
        [(block, values)] = self._unscaled_inputs.arrays.items()
        width = values.shape[1]
        flat = array("d", values.values())
        encoders = list(self.encoders)
        for hole in self._holes:
            missing = set(hole.rows)
            present = [row for row in training if row not in missing]
            if not present:
                raise _no_value_error(encoders[hole.encoder].name)
            columns = range(hole.first, hole.first + hole.width)
            shares = [
                math.fsum([flat[row * width + column] for row in present]) / len(present)
                for column in columns
            ]
            for row in hole.rows:
                for column, share in zip(columns, shares, strict=True):
                    flat[row * width + column] = share
            encoders[hole.encoder] = encoders[hole.encoder].with_fill(shares)
        self.encoders = tuple(encoders)
        filled = HostArray("float64", values.shape, flat)
        self._unscaled_inputs = replace(self._unscaled_inputs, arrays={block: filled})


@dataclass(frozen=True, slots=True)
class _Hole:
    """Missing cells of a column: its encoder, the position of its values in a row, the rows."""

    encoder: int
    first: int
    width: int
    rows: Sequence[int]


def _resolve_roles(
    table: Table,
    features: Sequence[str | int] | None,
    label: str | int | None,
    apart: Sequence[str | int],
) -> tuple[int, list[int]]:
    """Return the label column and the feature columns; by default all except those `apart`."""
    if not table.row_count:
        raise DataError("NNM705", "the table has no rows")
    target = table.index(-1 if label is None else label)
    if features is None:
        others = {target, *map(table.index, apart)}
        chosen = [index for index in range(len(table.names)) if index not in others]
    else:
        chosen = [table.index(column) for column in as_column_list("features", features)]
    if target in chosen or len(set(chosen)) < len(chosen):
        twice = target if target in chosen else max(chosen, key=chosen.count)
        raise DataError("NNM704", f'column "{table.names[twice]}" is used twice')
    if not chosen:
        raise DataError(
            "NNM713",
            f'there are no features, only the label "{table.names[target]}"',
            hint="a table needs a label and at least one feature",
        )
    return target, chosen


def _resolve_buckets(table: Table, chosen: Sequence[int], buckets: Any) -> dict[str, int]:
    """Return how many features the words of columns share by their hashes (NNM704)."""
    names = [table.names[index] for index in chosen]
    if buckets is None:
        return {}
    if not isinstance(buckets, Mapping):
        buckets = dict.fromkeys(names, buckets)
    sizes = cast("Mapping[str | int, Any]", buckets)
    for column, size in sizes.items():
        if not (is_integer(size) and MIN_BUCKETS <= size <= MAX_BUCKETS):
            hint = f"an integer from {MIN_BUCKETS} to {MAX_BUCKETS}"
            raise DataError("NNM704", f"hash_buckets of {column} is {size!r}", hint=hint)
    result = {table.names[table.index(column)]: size for column, size in sizes.items()}
    for name in result:
        if name not in names:
            hint = f"the features are {', '.join(names[:MAX_LISTED])}"
            raise DataError("NNM704", f'hash_buckets: column "{name}" is no feature', hint=hint)
    return result


def as_column_list(option: str, columns: Any) -> list[str | int]:
    """Return the columns that an option names: a list, or a single one (NNM704).

    >>> as_column_list("features", "width"), as_column_list("features", None)
    (['width'], [])
    """
    if columns is None:
        return []
    items: list[Any] = [columns] if isinstance(columns, str) or is_integer(columns) else []
    if isinstance(columns, Iterable) and not items:
        items = list(cast("Iterable[Any]", columns))
    elif not items:
        items = [columns]
    if not all(isinstance(column, str) or is_integer(column) for column in items):
        hint = "a list of column names or positions"
        raise DataError("NNM704", f"{option} is {columns!r}", hint=hint)
    return items


def read_label(table: Table, index: int, task: Task) -> Column:
    """Read labels: as words if they are classes, as numbers if they are quantities.

    >>> read_label(as_table({"stars": [1, 5, 5]}), 0, "auto").words
    ['1', '5', '5']
    """
    if task == "regression":
        return read_column(table, index, True)
    column = read_column(table, index, False)
    distinct = {label for label in column.words if label is not None}
    values = {label: as_number(label) for label in distinct}
    if None in values.values():
        shapes = [parse_shape(label) for label in distinct]
        if task == "auto" and all(shape and shape.unit in ("", "%") for shape in shapes):
            return read_column(table, index)  # quantities, as people write them
        if len(distinct) <= MAX_INTEGER_CLASSES or task != "auto":
            return column
        # If most of many labels are numbers, however written, the others are mistakes.
        column = read_column(table, index)
        if column.date_format is not None:
            raise DataError(
                "NNM713",
                f'the label, column "{column.name}", holds dates, such as {next(iter(distinct))}',
                hint="predict a number instead, such as the days until then",
            )
        return column
    integers = all(label.lstrip("+-").isdigit() for label in distinct)
    if task == "auto" and not (integers and len(distinct) <= MAX_INTEGER_CLASSES):
        return read_column(table, index, True)
    if integers and is_code(distinct):
        return column
    names = {label: _format_number(value or 0.0) for label, value in values.items()}
    labels = [None if label is None else names[label] for label in column.words]
    missing = [row for row, label in enumerate(labels) if label is None]
    return Column(column.name, None, labels, missing)


def _format_number(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def _select_rows(
    table: Table, columns: Sequence[Column], indices: Sequence[int], missing: Missing
) -> Sequence[int]:
    """Return the rows that are left if some have missing cells."""
    lacking = [(column.missing[0], i) for i, column in enumerate(columns) if column.missing]
    if not lacking:
        return range(table.row_count)
    if missing == "error":
        row, first = min(lacking)
        counts = ", ".join(f"{len(columns[i].missing)} of {columns[i].name}" for _, i in lacking)
        raise DataError(
            "NNM713",
            f"{table.place(row, indices[first])} is empty; missing cells: {counts}, in "
            f"{table.row_count} rows",
            hint="missing='drop' leaves such rows out, missing='mean' fills the cells, "
            "missing='indicator' also tells the model which ones",
        )
    gone = set(columns[-1].missing)
    if missing == "drop":
        gone.update(*(column.missing for column in columns))
    rows = [row for row in range(table.row_count) if row not in gone]
    if not rows:
        raise DataError("NNM705", f"no rows are left: all {table.row_count} have a missing cell")
    return rows


@dataclass(frozen=True, slots=True)
class _Fitting:
    """How encoders are fitted: to which rows, and what they do with words and missing cells."""

    training: Sequence[int]
    unknown: Literal["error", "zeros"]
    max_categories: int | None
    buckets: Mapping[str, int]
    indicator: bool
    locators: Sequence[Locate]


def _locate(table: Table, rows: Sequence[int], column: int, row: int) -> str:
    """Return the position in words of a cell in one of the rows that are left."""
    return table.place(rows[row], column)


def _fit_encoder(column: Column, fitting: _Fitting) -> Encoder:
    training = fitting.training
    if column.numbers is not None and column.date_format is not None:
        days = [column.numbers[row] for row in training or range(len(column.numbers))]
        return DateEncoder.fit(column.name, days, column.date_format)
    if column.numbers is not None:
        return NumberEncoder(column.name, number_format=column.number_format)
    words = column.get_words(training)
    if training and not words:
        raise _no_value_error(column.name)
    # Without training rows there is nothing to separate: all rows determine the categories.
    words = words or column.get_words(range(len(column.words)))
    buckets = fitting.buckets.get(column.name, 1)
    return OneHotEncoder.fit(column.name, words, fitting.unknown, fitting.max_categories, buckets)


def _fit_and_encode(
    columns: Sequence[Column], fitting: _Fitting
) -> tuple[tuple[Encoder, ...], list[_Hole], list[array[float]]]:
    """Fit an encoder to each column; return them, the missing cells, and the encoded columns."""
    encoders: list[Encoder] = []
    holes: list[_Hole] = []
    values: list[array[float]] = []
    training = {*fitting.training}
    for index, column in enumerate(columns):
        encoder = _fit_encoder(column, fitting)
        if column.missing:
            width = len(encoder.features)
            holes.append(_Hole(index, len(values), width, column.missing))
            encoder = encoder.with_fill([0.0] * width)
            if fitting.indicator and not training.isdisjoint(column.missing):
                encoder = replace(encoder, indicator=True)
        values += encoder.encode(column, fitting.locators[index])
        encoders.append(encoder)
    return tuple(encoders), holes, values


def _make_reports(
    read: Sequence[Column],
    kept: Sequence[Column],
    encoders: Sequence[Encoder | LabelEncoder | None],
) -> tuple[ColumnReport, ...]:
    """Describe columns as they were read, the label last, and the words in the kept rows."""
    reports: list[ColumnReport] = []
    for column, left, encoder in zip(read, kept, encoders, strict=True):
        kind = _KINDS[column is read[-1], column.numbers is None]
        written = "" if column.number_format.plain else str(column.number_format)
        if column.date_format is not None:
            kind, written = "dates", describe_range(column.numbers or ())
        report = ColumnReport(column.name, kind, len(column.missing), written=written)
        if isinstance(encoder, LabelEncoder):
            report = replace(report, categories=encoder.classes)
        elif isinstance(encoder, OneHotEncoder):
            categories = {*encoder.categories, None}
            # Where rare words share a feature, so do those that are not known.
            unknown = 0 if encoder.others else sum([t not in categories for t in left.words])
            report = replace(report, categories=encoder.categories, unknown=unknown)
            report = replace(report, buckets=encoder.others if encoder.hashed else 0)
        reports.append(report)
    return tuple(reports)


def _number_merged_words(
    columns: Sequence[Column], encoders: Sequence[Encoder]
) -> dict[str, HostArray]:
    """Return column → a number for each word that has no feature of its own, 0 for all others."""
    result: dict[str, HostArray] = {}
    for column, encoder in zip(columns, encoders, strict=True):
        if isinstance(encoder, OneHotEncoder):
            own = {*encoder.categories, None}
            numbers = number_distinct([None if w in own else w for w in column.words])
            if any(numbers):
                result[column.name] = HostArray.of(numbers, "int32")
    return result


def _list_quantities(columns: Sequence[Column], encoders: Sequence[Encoder]) -> list[str]:
    """Return the features that are numbers other than 0 and 1, which answer yes or no."""
    return [
        encoder.features[0]
        for column, encoder in zip(columns, encoders, strict=True)
        if column.numbers is not None
        and any(n not in (0.0, 1.0) and n == n for n in column.numbers)
    ]


def _name_days(columns: str | Sequence[Any], encoders: Sequence[Encoder]) -> list[Any]:
    """Return columns that are to be scaled, with the days of dates in place of the dates."""
    days = {each.name: each.features[0] for each in encoders if isinstance(each, DateEncoder)}
    names = [columns] if isinstance(columns, str) else columns
    return [days.get(name, name) if isinstance(name, str) else name for name in names]


def _make_outputs(
    goal: Column, numbers: list[int] | None, encoder: LabelEncoder | None, sparse: bool
) -> tuple[HostArray, Kind]:
    if numbers is None or encoder is None:
        return HostArray.of(array("d", goal.numbers or ()), "float64"), "continuous"
    if sparse:
        return HostArray.of(numbers, "int32"), "classes"
    return one_hot(numbers, len(encoder.classes)), "onehot"


def _no_value_error(name: str) -> DataError:
    return DataError(
        "NNM713",
        f"column {name} has no value in any training row",
        hint="leave it out with features=[…]",
    )


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        hint = suggestion(str(value), choices) or f"one of {', '.join(choices)}"
        raise DataError("NNM704", f'{option}="{value}"', hint=hint)
