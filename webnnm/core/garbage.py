"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Leave cyclic garbage alone inside the block.

    Where tens of thousands of objects are made at once, looking through all of them again and again
    takes as long as making them.

    >>> with uncollected():
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
