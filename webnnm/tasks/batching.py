"""Inputs in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from webnnm.core.errors import DataError

T = TypeVar("T")


def split_batches(items: Iterable[T], batch_size: Any) -> Iterator[list[T]]:
    """Yield lists of `batch_size` items; the last one may be shorter.

    >>> [*split_batches("abc", 2)]
    [['a', 'b'], ['c']]

    Raises `DataError` NNM704 for an invalid batch size.
    """
    if type(batch_size) is not int or batch_size < 1:
        raise DataError("NNM704", f"batch_size is {batch_size!r}", hint="an integer from 1")
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch


def fill_batch(batch: list[T], batch_size: int) -> list[T]:
    """Return a batch of the full size, for which a graph exists: its last item is repeated.

    >>> fill_batch(["a", "b"], 4)
    ['a', 'b', 'b', 'b']
    """
    return [*batch, *[batch[-1]] * (batch_size - len(batch))]
