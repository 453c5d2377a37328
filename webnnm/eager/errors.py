"""Errors of arrays, which are also subclasses of the errors that Python itself would raise."""

from __future__ import annotations

from webnnm.core.errors import DataError


class ArrayTypeError(DataError, TypeError):
    """A function does not accept the data type of an array (NNM719)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM719", message, hint=hint)


class ArrayValueError(DataError, ValueError):
    """A function does not accept a shape, an axis or another argument (NNM720)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM720", message, hint=hint)


class ArrayIndexError(DataError, IndexError):
    """An index is out of range for an array (NNM720)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM720", message, hint=hint)


class ArrayAxisError(ArrayValueError, IndexError):
    """An array has no such dimension (NNM720); a `ValueError` and an `IndexError`, as in NumPy."""


class ArrayKeyError(ArrayTypeError, IndexError):
    """An object cannot be an index (NNM719); a `TypeError` as in Python, `IndexError` in NumPy."""


class ArrayOverflowError(DataError, OverflowError):
    """A number is out of range for the data type of an array (NNM720)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM720", message, hint=hint)


class TracedValueError(DataError, TypeError):
    """Python needs a value that is known only when a traced function runs (NNM721)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM721", message, hint=hint)
