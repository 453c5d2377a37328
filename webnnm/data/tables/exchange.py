"""Reads data frames of any library through the protocols by which libraries exchange them.

These are the Arrow PyCapsule interface (`__arrow_c_stream__`) of Polars, DuckDB, Ibis and others,
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html, and the dataframe
interchange protocol (`__dataframe__`), https://data-apis.org/dataframe-protocol/latest.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from webnnm.core.errors import BackendError, DataError

STREAM, FRAME = "__arrow_c_stream__", "__dataframe__"
READ_BY_COLUMNS = ("pandas", "polars", "pyarrow")
"""Libraries whose frames are read column by column, without pyarrow."""
LISTS = ("tolist", "to_list", "to_pylist")
"""What makes a list of an array or a column, which may have a stream too."""


def is_foreign_frame(value: Any) -> bool:
    """Return whether something is a data frame that a protocol is needed to read.

    >>> is_foreign_frame({"a": [1]})
    False
    """
    kind = type(value)
    if not (hasattr(kind, STREAM) or hasattr(kind, FRAME)):
        return False
    by_columns = hasattr(kind, "columns") and kind.__module__.partition(".")[0] in READ_BY_COLUMNS
    return not by_columns and not any(hasattr(kind, name) for name in LISTS)


def convert_frame(value: Any) -> Any:
    """Return a data frame of another library as a table of pyarrow, anything else as it is.

    Raises `BackendError` NNM709 without pyarrow, `DataError` NNM702 if it cannot be read.
    """
    if not is_foreign_frame(value):
        return value
    kind = type(value).__name__
    streams = hasattr(type(value), STREAM)
    load = _import_pyarrow if streams else _import_interchange
    module = import_package(f"a {kind}", "pyarrow", load)
    try:
        return module.table(value) if streams else module.from_dataframe(value)
    except Exception as error:  # whatever the other library raises
        hint = "give its columns: a dict, name → values"
        raise DataError("NNM702", f"a {kind} cannot be read: {error}", hint=hint) from error


def _import_pyarrow() -> Any:
    return importlib.import_module("pyarrow")


def _import_interchange() -> Any:
    return importlib.import_module("pyarrow.interchange")


def import_package(kind: str, package: str, load: Callable[[], Any]) -> Any:
    """Return the module of a package that reads a kind of tables (NNM709 if it is missing)."""
    try:
        return load()
    except (ImportError, OSError) as error:
        raise BackendError(
            "NNM709",
            f"{kind} needs the package {package}",
            hint="pip install 'webnnm[tables]', or save the table as CSV",
        ) from error
