"""Calls of array functions with arguments that need not fit, against NumPy.

Where NumPy raises an error, ours is one of the same family; where it returns values, ours are the
same, or the call is refused by name where the array API standard says nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.array_case import ArrayCase, read_case
from tests.fuzz.array_drawing import calls
from tests.fuzz.frame import Target
from webnnm import WebNNMError, backend, jit, xp
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayTypeError, ArrayValueError, TracedValueError

FAMILIES: tuple[type[Exception], ...] = (
    IndexError,
    ValueError,
    TypeError,
    OverflowError,
    ZeroDivisionError,
)
STRICT = (
    "have no common type",  # kinds are not mixed: neither are they in the standard
    "takes arrays of",  # nor do functions take all kinds
    "is not an index",
    "one of the last",  # vecdot, whose axis is negative
    "with 0 dimensions",  # a number has no axis, not even -1
    "a mask without dimensions",
    "taken from matrices",  # NumPy makes a matrix of a vector first
    "cannot be contracted",  # NumPy: negative numbers of axes are none
    "out of range for int32",  # our integers are int32 where NumPy's are int64
    "not of booleans",
    "does not fit into []",  # NumPy: vectors of one number, but only at `...`
    "to the power of",  # NumPy: if there are elements
    "cannot be repeated",
    "of integers has no",
)
"""What ours refuses by name and NumPy computes, in words of the message."""


def check(case: ArrayCase) -> str | None:
    """Compare the results of a case, or its errors, with NumPy's."""
    before, device = Device.default(), Device(partial(backend, "numpy"))
    device.make_default()
    try:
        return _check(case)
    finally:
        before.make_default()
        device.close()


def _check(case: ArrayCase) -> str | None:
    ours, theirs = case.steps(xp), case.steps(np)
    for text in case.expressions:
        expected = _outcome(partial(next, theirs))
        word = _compare(text, _outcome(partial(next, ours)), expected)
        if word != "passed" or isinstance(expected, Exception):
            return word
    arrays = [*(each.array() for each in case.leaves), *(value for _, value in case.numbers)]
    traced = _outcome(lambda: jit(case.function(xp))(*arrays))
    if isinstance(traced, TracedValueError):
        return "passed, values needed under jit"
    return _compare(case.expressions[-1], traced, expected)


def _outcome(function: Callable[[], Any]) -> Any:
    """Return what a function returns, as NumPy's array, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(function())
        except FAMILIES as error:
            return error


def _compare(text: str, found: Any, expected: Any) -> str:
    if isinstance(found, Exception):
        assert isinstance(found, WebNNMError | ValueError | TypeError), repr(found)
        return _check_refusal(text, found, expected)
    if isinstance(expected, Exception):
        if found.dtype.kind == "b" and "C long" in str(expected):
            return "passed"  # every number but 0 is true, however large
        raise AssertionError(f"{_said(expected)}; ours is {found.tolist()}")
    assert found.shape == expected.shape, f"{found.shape} instead of {expected.shape}"
    if expected.dtype.kind == "O":  # Python's integers, which arrays of devices cannot hold
        assert found.tolist() == expected.tolist()
        return "passed"
    kinds = found.dtype.kind, expected.dtype.kind
    assert kinds[0] == kinds[1] or {*kinds} == {"i", "u"}, f"{found.dtype} not {expected.dtype}"
    exact = expected.dtype.kind != "f"
    same = np.array_equal if exact else partial(np.allclose, rtol=1e-5, atol=1e-6, equal_nan=True)
    assert same(found, expected), f"{found.tolist()} instead of {expected.tolist()}"
    return "passed"


def _check_refusal(text: str, found: Exception, expected: Any) -> str:
    """Return a word for an error where NumPy raises one, or where the standard says nothing."""
    strict = any(word in str(found) for word in STRICT) or _is_lax(text, found, expected)
    if isinstance(expected, Exception):
        alike = _is_related(found, expected) or any(word in str(expected) for word in ODD)
        assert alike or strict or isinstance(found, ArrayTypeError), (
            f"{_said(found)} instead of {_said(expected)}"
        )
        return "passed, an error"
    assert strict or _is_wide(found, expected), f"{_said(found)} where NumPy returns {expected}"
    return "refused"


ODD = ("requires a 0 or 1-dimensional", "missing 1 required", "to indexing result")
"""Errors of NumPy for which ours is another one, in words of the message."""


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _is_related(found: Exception, expected: Exception) -> bool:
    """Return whether two errors are of one family."""
    if isinstance(expected, ZeroDivisionError):  # a step of 0, for which Python's range says this
        return isinstance(found, ValueError)
    return any(isinstance(found, kind) and isinstance(expected, kind) for kind in FAMILIES)


def _is_lax(text: str, found: Exception, expected: Any) -> bool:
    """Return whether NumPy is known to be lax: it wraps numbers, or does not look at indices."""
    if isinstance(found, OverflowError) and text.startswith(("xp.where", "xp.arange")):
        return True
    if isinstance(found, IndexError) and isinstance(expected, Exception):
        # Two things are wrong, and ours looks at indices first.
        return isinstance(expected, OverflowError) or "slice step" in str(expected)
    return isinstance(found, IndexError) and getattr(expected, "size", 1) == 0


def _is_wide(found: Exception, expected: Any) -> bool:
    """Return whether NumPy resorts to types that arrays of devices do not have."""
    wide = getattr(expected, "dtype", np.dtype("f4")).kind == "O"
    return wide and isinstance(found, OverflowError | ArrayValueError)


TARGET = Target(
    name="arrays",
    cases=st.integers(0, 2**40).map(calls),
    check=check,
    save=str,
    load=read_case,
    suffix=".json",
    examples=150,
)
