"""Control of Python's garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def pause_garbage_collection() -> Generator[None]:
    """Disable the collection of cyclic garbage inside the block.

    When tens of thousands of objects are made in one go, scanning all of them again and again takes
    as long as making them.

    >>> with pause_garbage_collection():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
