"""The work that a chat template may do: counted before it is done, so that no template is endless.

A template is a program from a file. Nothing interrupts Python within one operation, so each one
that could take long is estimated first and charged to a budget: bytes that it creates, and a
fraction of those that it reads. Budgets grow with the conversation.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from typing import Any, cast

STEP = 50
"""What a step costs: an iteration, a call, a filter."""
NODE = 15
"""What each expression in the body of a loop or a macro costs, every time."""
WORK = 20_000_000
"""The budget of a template: about as many bytes, and some 50,000 iterations."""
SHARE = 64
"""The further budget for each byte of the conversation."""
PART = 300
"""What a value costs that is inside another one, besides its bytes."""
READING = 16
"""Reading this many bytes costs as much as creating one."""
MAX_DEPTH = 100
"""The deepest nesting of values and of calls."""
MAX_BITS = 4096
"""The largest integer that arithmetic may give."""
MAX_WIDTH = 100_000
"""The greatest width, indent or count that a call may name."""
_CONTAINERS = (list, tuple, set, frozenset, range, KeysView, ValuesView, ItemsView)
_WIDE = re.compile(r"\d{4}|%[^%a-zA-Z]*\*|:[^}]*\{")
"""Widths in formats that are long, or computed."""


class TooMuch(Exception):
    """A template exceeds its budget, or does something that a template must not."""


class Budget:
    """What is left of the work that a template may do.

    >>> budget = Budget([])
    >>> budget.charge(1 << 60)
    Traceback (most recent call last):
    webnnm.transformers.template_limits.TooMuch: it takes too long or too much memory
    """

    def __init__(self, values: Any) -> None:
        self.left = 1 << 40
        self.left = WORK + SHARE * self.weight(values)
        self.depth = 0

    def charge(self, cost: float) -> None:
        """Take from what is left."""
        self.left -= int(min(cost, 1 << 60))
        if self.left < 0:
            raise TooMuch("it takes too long or too much memory")

    def read(self, *values: Any) -> None:
        """Charge for looking at all of some values."""
        for value in values:
            if type(value) is not int and type(value) is not bool and value is not None:
                self.charge(self.weight(value) / READING)

    def create(self, value: Any) -> Any:
        """Charge for a value that was created, and return it."""
        if isinstance(value, str):
            self.charge(len(value))
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            self.charge(32 * len(items) + sum(len(item) for item in items if isinstance(item, str)))
        return value

    def weight(self, value: Any) -> int:
        """Return about how many bytes a value takes, with everything in it.

        Values that are shared count each time, as writing them out does.
        """
        total, waiting = 0, [(value, 0)]
        while waiting:
            value, depth = waiting.pop()
            if isinstance(value, str):
                total += 49 + len(value)
                continue
            total += PART
            items = _items(value)
            if items is None:
                continue
            if depth >= MAX_DEPTH:
                raise TooMuch(f"its values are nested in more than {MAX_DEPTH} others")
            total += 8 * len(items)
            if total > self.left:
                raise TooMuch("its values are too large")
            waiting += [(item, depth + 1) for item in items]
        return total

    def binary(self, operator: str, left: Any, right: Any) -> None:
        """Charge for arithmetic before it is done."""
        are_integers = isinstance(left, int) and isinstance(right, int)
        if are_integers and operator in ("*", "**"):
            bits = left.bit_length()
            bits = bits * right if operator == "**" else bits + right.bit_length()
            if bits > MAX_BITS:
                raise TooMuch(f"an integer would have more than {MAX_BITS} bits")
        elif operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(times, int) and not isinstance(value, (int, float)):
                    self.charge(max(times, 0) * _size(value))
        elif operator == "+":
            self.charge(_size(left) + _size(right))
        elif operator == "%" and isinstance(left, str):
            self.formats(left, right)

    def formats(self, pattern: str, *values: Any) -> None:
        """Charge for formatting values."""
        if _WIDE.search(pattern):
            raise TooMuch("a format has a width of four digits or a computed one")
        self.charge(len(pattern) + 1000 * (pattern.count("%") + pattern.count("{")))
        for value in values:
            self.charge(self.weight(value))

    def method(self, value: Any, name: str, arguments: tuple[Any, ...], options: Any) -> None:
        """Charge for calling a method of a value, or the filter of that name."""
        self.charge(STEP)
        first = arguments[0] if arguments else None
        if name in ("format", "format_map") and isinstance(value, str):
            return self.formats(value, *arguments, *options.values())
        self.read(*arguments, *options.values())
        numbers = [n for n in (*arguments, *options.values()) if isinstance(n, (int, float))]
        width = max([abs(n) for n in numbers], default=0)
        if not width <= MAX_WIDTH:
            raise TooMuch(f"{name} has the argument {width}, more than {MAX_WIDTH:,}")
        texts = sum(len(text) for text in (*arguments, *options.values()) if isinstance(text, str))
        if name in ("get", "keys", "values", "items"):
            return None
        size = _size(value) if name in _SHALLOW else self.weight(value)
        self.charge(size / READING)
        if name in ("center", "ljust", "rjust", "zfill", "batch", "slice", "fill", "truncate"):
            self.charge(8 * width + size + texts)
        elif name in ("indent", "wordwrap", "expandtabs"):
            lines = len(value) if name != "indent" else value.count("\n") + 1
            self.charge(lines * (width + texts))
        elif name == "replace" and isinstance(first, str) and isinstance(value, str):
            self.charge((value.count(first) or 1) * (texts + 1) + size)
        elif name == "join" and isinstance(value, str):  # the method: of the separator
            self.charge(self.weight(first) + _length(first) * len(value))
        elif name == "join":
            self.charge(size + _length(value) * texts)
        elif name == "tojson":
            separators = options.get("separators") or ()
            if sum(len(str(separator)) for separator in separators) > 64 or not 0 <= width <= 16:
                raise TooMuch("tojson has long separators or a wide indent")
            self.charge(size * (1 + 2 * width + texts))
        elif name == "sum":
            self.charge(_length(value) * size / READING)
        elif name in ("select", "reject", "selectattr", "rejectattr", "map"):
            arguments_weight = sum(map(self.weight, arguments))
            self.charge(_length(value) * (STEP + arguments_weight / READING))
        elif name in ("sort", "dictsort", "unique", "groupby", "min", "max"):
            self.charge(size + _length(value) * STEP)
        elif name == "round" and width > 300:
            raise TooMuch("round has a precision of more than 300 digits")
        return None


_SHALLOW = frozenset(
    [
        *("abs", "batch", "copy", "count", "d", "default", "filesizeformat", "first", "float"),
        *("int", "last", "length", "list", "map", "reject", "rejectattr", "reverse", "round"),
        *("select", "selectattr", "slice"),
    ]
)
"""Methods and filters that do not look into what is in a value; all others may write it out."""


def _items(value: Any) -> Any:
    """Return what is in a value, None for one without parts."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, _CONTAINERS):
        return value
    if type(value).__name__ == "Namespace":
        return [*object.__getattribute__(value, "_Namespace__attrs").values()]
    return None


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _size(value: Any) -> int:
    """Return about how many bytes a value takes without what is in it."""
    if isinstance(value, str):
        return 49 + len(value)
    return 56 + 8 * _length(value)
