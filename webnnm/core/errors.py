"""The hierarchy of errors, and how an error shows its position in a source text.

WebNNMError
├── ModelError              a model text without a valid meaning            NNM201 … NNM606
│   └── NotationError       a syntax error in a model text                  NNM101 … NNM119
├── DataError               data, hyperparameters, use of the Python API    NNM701 … NNM715
└── BackendError            a backend that failed or is not available       NNM409, NNM505, NNM709
    └── ContextLost         the device was lost, with its parameters        NNM716
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

from webnnm.core.spelling import nearest

CONTEXT_WINDOW = 100
"""The most columns of a source line that an error shows."""

LONGEST, SHOWN = 1200, 500
"""Messages longer than `LONGEST` show `SHOWN` characters of their beginning and of their end: texts
that they quote from files may be of any length."""


SHOWN_OTHERS = 4
"""How many of the errors that were found with one it names."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text: offsets in code points, the end excluded."""

    start: int
    end: int

    def position(self, source: str) -> tuple[int, int]:
        """Return the line and column of the start, both counted from 1."""
        starts = line_starts(source)
        line = bisect_right(starts, self.start)
        return line, self.start - starts[line - 1] + 1


@lru_cache(maxsize=2)
def line_starts(source: str) -> list[int]:
    """Return where the lines of a text begin; many findings need this for the same text."""
    return [0, *(match.end() for match in re.finditer("\n", source))]


class Edit(NamedTuple):
    """A change of a source text: what is between two offsets is replaced by `text`."""

    start: int
    end: int
    text: str

    def title(self, source: str) -> str:
        """Return what the edit does, as the label of a button.

        >>> Edit(4, 4, ";").title("relu add"), Edit(0, 1, "").title(", relu")
        ('Insert ";"', 'Delete ","')
        """
        replaced = source[self.start : self.end].strip()
        if not self.text.strip():
            return f'Delete "{replaced}"' if replaced else "Insert a space"
        return f'Change to "{self.text}"' if replaced else f'Insert "{self.text}"'

    def apply(self, source: str) -> str:
        """Return a text with the edit applied.

        >>> Edit(0, 4, "tanh").apply("relu()")
        'tanh()'
        """
        return source[: self.start] + self.text + source[self.end :]


class Remedy(str):
    """A hint that programs can apply: `text` replaces a span, or a word.

    >>> hint = Remedy('did you mean "relu"?', "relu", word="rleu")
    >>> hint, hint.edit("m:layers rleu();", Span(9, 13))
    ('did you mean "relu"?', Edit(start=9, end=13, text='relu'))
    """

    text: str
    word: str
    span: Span | None

    def __new__(cls, hint: str, text: str, *, word: str = "", span: Span | None = None) -> Remedy:
        """Return a hint; the search for `word` starts at the position of the error."""
        remedy = super().__new__(cls, hint)
        remedy.text, remedy.word, remedy.span = text, word, span
        return remedy

    def __reduce__(self) -> Any:  # as `str` would, a copy would be created without its text
        return partial(Remedy, word=self.word, span=self.span), (str(self), self.text)

    def edit(self, source: str, span: Span) -> Edit | None:
        """Return the edit for an error at a span, None if the word is not there."""
        if self.span is not None:
            return Edit(self.span.start, self.span.end, self.text)
        # Errors in options point to the option's name; the word is in its value.
        end = source.find(";", span.start)
        pattern = re.compile(rf"(?<!\w){re.escape(self.word)}(?!\w)")
        match = pattern.search(source, span.start, len(source) if end < 0 else end)
        return Edit(match.start(), match.end(), self.text) if match else None


class WebNNMError(Exception):
    """Base class of all errors that the package raises deliberately.

    Attributes: `code`, which never changes, such as "NNM204"; `message`; `hint`, what to do, or "";
    `line` and `column` in the model text, from 1, or 0 if there is no position; `others`, errors of
    the same stage that were found together with this one; `fix`, the edit of the text that applies
    the hint, or None.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        source: str | None = None,
        span: Span | None = None,
    ) -> None:
        message = _shorten(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = _shorten(hint)
        self.fix: Edit | None = None
        if isinstance(hint, Remedy) and source is not None and span is not None:
            self.fix = hint.edit(source, span)
        self.span = span
        self.source = source
        self.others: tuple[WebNNMError, ...] = ()
        self.line, self.column = (0, 0)
        if source is not None and span is not None:
            self.line, self.column = span.position(source)

    def __str__(self) -> str:
        position = f" line {self.line}, column {self.column}" if self.line else ""
        lines = [f"{self.code}{position}: {self.message}"]
        if self.source is not None and self.line:
            lines += self._excerpt(self.source)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        for other in self.others[:SHOWN_OTHERS]:
            at = f" line {other.line}, column {other.column}" if other.line else ""
            lines.append(f"also {other.code}{at}: {other.message}")
        if len(self.others) > SHOWN_OTHERS:
            lines.append(f"and {len(self.others) - SHOWN_OTHERS:,} more")
        return "\n".join(lines)

    def __reduce__(self) -> Any:  # `__init__` takes more than `args` of an exception holds
        return _new_error, (type(self), self.args), self.__dict__

    def _excerpt(self, source: str) -> list[str]:
        text = source.split("\n")[self.line - 1].rstrip("\r")
        first = max(0, self.column - 1 - CONTEXT_WINDOW // 2)
        shown = text[first : first + CONTEXT_WINDOW]
        # Tabs are kept in front of the caret so that it is below its character.
        indent = "".join("\t" if c == "\t" else " " for c in shown[: self.column - 1 - first])
        return [f"    {shown}", f"    {indent}^"]


class ModelError(WebNNMError):
    """An invalid model: the text can be parsed, but its meaning is invalid."""


class NotationError(ModelError):
    """A syntax error in a model text."""


class DataError(WebNNMError):
    """Data, hyperparameters or calls that do not fit the model."""


class BackendError(WebNNMError):
    """A backend that is not available, rejected a graph, or failed."""


class ContextLost(BackendError):
    """The device was lost; `step` is the last training step whose results are known to be valid."""

    def __init__(self, message: str, *, step: int | None = None) -> None:
        super().__init__(
            "NNM716",
            message,
            hint="create the model again; parameters that were read or saved are not lost",
        )
        self.step = step


def _new_error(cls: type[WebNNMError], args: tuple[str, ...]) -> WebNNMError:
    """Create an error whose attributes a copy or a pickle sets."""
    return cls.__new__(cls, *args)


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:SHOWN]} … {text[-SHOWN:]}"


def raise_first(errors: Sequence[WebNNMError]) -> None:
    """Raise the first of several errors with the rest in its `others`, or do nothing if none."""
    if errors:
        first, *rest = errors
        first.others = tuple(rest)
        raise first


def split_errors(error: WebNNMError) -> list[WebNNMError]:
    """Return an error and those found with it, each of which then stands for itself."""
    others, error.others = error.others, ()
    return [error, *others]


def suggestion(word: str, candidates: Iterable[str], span: Span | None = None) -> str:
    """Return `did you mean "…"?` for the best candidate, or "" if none is close (spec A.10).

    `span` is the position of the word, if that differs from the position of the error.

    >>> suggestion("sofmax", ["relu", "softmax"])
    'did you mean "softmax"?'
    """
    near = nearest(word, candidates)
    return "" if near is None else Remedy(f'did you mean "{near}"?', near, word=word, span=span)
