"""Records that are immutable to type checkers and cheap to create."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(eq_default=False, frozen_default=True)
def record(kind: type[Class]) -> type[Class]:
    """Make a class a dataclass with slots, whose objects are equal only to themselves.

    Type checkers reject assignments to fields, as for `frozen=True`. At run time nothing does: a
    frozen dataclass sets each field by a call, which makes creating an object six times as slow.
    Use it for objects that are created by the thousand, and pass fields by position, which is
    twice as fast as by name.

    >>> @record
    ... class Place:
    ...     number: int
    >>> Place(1), Place(1) == Place(1)
    (Place(number=1), False)
    """
    return dataclass(eq=False, slots=True)(kind)
