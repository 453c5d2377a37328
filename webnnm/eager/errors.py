"""Errors of arrays: they are also the errors that Python itself raises in such a place."""

from __future__ import annotations

from webnnm.core.errors import DataError


class ArrayTypeError(DataError, TypeError):
    """Arrays of data types that a function does not take (NNM719)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM719", message, hint=hint)


class ArrayValueError(DataError, ValueError):
    """Shapes, axes or other arguments that a function does not take (NNM720)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM720", message, hint=hint)


class ArrayIndexError(DataError, IndexError):
    """An index that an array does not have (NNM720)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM720", message, hint=hint)


class TracedValueError(DataError, TypeError):
    """Python asked for a value that is only known when a traced function runs (NNM721)."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("NNM721", message, hint=hint)
