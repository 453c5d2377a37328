"""A mapping of bounded size that keeps the entries used most recently."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, ValuesView
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A mapping that keeps the most recently used entries and frees the values that leave it.

    >>> cache = LruCache[str, int](2, lambda value: print("freed", value))
    >>> cache["a"], cache["b"] = 1, 2
    >>> cache.get("a")
    1
    >>> cache["c"] = 3
    freed 2
    >>> list(cache)
    ['a', 'c']

    `limit` is the largest number of entries. `free` is called with each value that leaves the
    cache: the least recently used one, one that is discarded, or one that another replaces.
    """

    def __init__(self, limit: int, free: Callable[[Value], object] | None = None) -> None:
        self._limit = limit
        self._free = free
        self._entries: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, now the most recently used one; None if there is none."""
        value = self._entries.pop(key, None)
        if value is not None:
            self._entries[key] = value
        return value

    def __setitem__(self, key: Key, value: Value) -> None:
        old = self._entries.pop(key, None)
        self._entries[key] = value
        if old is not None and old is not value:
            self._let_go(old)
        if len(self._entries) > self._limit:
            self.free_oldest()

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys, the least recently used one first."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> ItemsView[Key, Value]:
        """Return keys and values; this does not count as a use."""
        return self._entries.items()

    def values(self) -> ValuesView[Value]:
        """Return the values; this does not count as a use."""
        return self._entries.values()

    def discard(self, key: Key) -> None:
        """Free the value of a key, if there is one."""
        value = self._entries.pop(key, None)
        if value is not None:
            self._let_go(value)

    def free_oldest(self) -> None:
        """Free the value that was used least recently."""
        self.discard(next(iter(self._entries)))

    def clear(self) -> None:
        """Free all values."""
        while self._entries:
            self.free_oldest()

    def _let_go(self, value: Value) -> None:
        if self._free is not None:
            self._free(value)
