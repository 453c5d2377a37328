"""Source text to tokens.

The one context-dependent token of the notation is the free text after `block:name`: the
lexer sees from the tokens before it that the text begins. Comments do not become tokens; they are
kept by the index of the token that they precede.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from webnnm.core.errors import NotationError, Remedy, Span

Token = tuple[str, str, int]
"""Kind, text as written, and offset of the start. Plain tuples, because there are many."""

WORD: Final[str] = "word"
"""A word of letters, digits and `_`."""
COMPOUND: Final[str] = "compound"
"""A word with `.`, `+`, `-` or `%` in it: `1e-5`, `-3`, `x.0`, `50%`, `a-b`, or a mistake."""
STRING: Final[str] = "string"
"""A quoted string, with its quotes and escapes."""
TEXT: Final[str] = "text"
"""The free text of a name statement."""
END: Final[str] = "end"
"""Follows the last token; its offset is the end of that token."""
ERROR: Final[str] = "error"
"""The last token of a text with a lexical error."""

# Marks such as "(" or ";" have themselves as kind.

CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff"
"""Characters that may not occur anywhere, not even in comments and strings."""

_IN_STRING = rf"\t\r\n{CONTROL}"
# Only single classes repeat possessively: Python before 3.11.4 loses its place after such groups.
WORDS: Final[str] = r"\w++ (?! [\w.%] | [+-][\w.] )"
COMPOUNDS: Final[str] = r"[+-]?[\w.]++ (?: [+-][\w.]++ )* %?"
COMMENT_STARTS: Final[str] = r"\# | //"
STRINGS: Final[str] = rf"""
    " [^"\\{_IN_STRING}]*+ (?: \\ [^{_IN_STRING}] [^"\\{_IN_STRING}]*+ )* "
  | ' [^'\\{_IN_STRING}]*+ (?: \\ [^{_IN_STRING}] [^'\\{_IN_STRING}]*+ )* '
"""
"""Tokens as regular expressions, in Python's verbose form."""
_TOKEN = re.compile(
    rf"""
    # Whitespace matches nothing here, so that searching for the next token skips it.
    (?P<word> {WORDS} )
  | (?P<mark> [,()\[\]{{}}=:;] )
  | (?P<compound> {COMPOUNDS} )
  | (?P<comment> (?: {COMMENT_STARTS} ) [^\r\n{CONTROL}]*+
               | /\* [^*{CONTROL}]*+ (?: \*++ [^*/{CONTROL}] [^*{CONTROL}]*+ )* \*++ / )
  | (?P<string> {STRINGS} )
  | (?P<error> [^ \t\r\n] )
    """,
    re.VERBOSE | re.ASCII,
)
_GAP = re.compile(
    rf"(?:[ \t\r\n]++|(?:\#|//)[^\r\n{CONTROL}]*+|/\*(?:[^*{CONTROL}]++|\*(?!/))*\*/)*"
)
_NAME_CHARACTER = rf"""[^ "\#'*/;{_IN_STRING}]"""
# A slash is text unless it begins a comment.
_NAME_WORD = rf"(?:/?{_NAME_CHARACTER})+(?:/(?![/*]))?"
NAME_TEXTS: Final[str] = rf"{_NAME_WORD}(?:[ \t]++{_NAME_WORD})*"
_NAME_TEXT = re.compile(NAME_TEXTS)
_STRAY = re.compile(r"""[ \t]*+(["'*]|/(?![/*]))""")
"""What may not follow a free text; a comment, `;` and the end of the line may."""

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NOT_IN_STRING = re.compile(f"[{_IN_STRING}]")
_CONTROL = re.compile(f"[{CONTROL}]")

_LOOKALIKES = {
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "`": "'",  # noqa: RUF001
    "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-",  # noqa: RUF001
    "，": ",", "；": ";", "：": ":", "（": "(", "）": ")", "＝": "=",  # noqa: RUF001
}  # fmt: skip
"""What word processors and input methods substitute for ASCII characters."""


@dataclass(slots=True)
class Lexed:
    """The tokens of a text, and the error that ended them if the last one is `ERROR`."""

    tokens: list[Token] = field(default_factory=list[Token])
    comments: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    error: NotationError | None = None


def tokenize(source: str) -> Lexed:
    """Split a text into tokens, up to its end or its first lexical error.

    >>> tokenize("b:loss MSE;  # done").tokens
    [('word', 'b', 0), (':', ':', 1), ('word', 'loss', 2), ('word', 'MSE', 7), (';', ';', 10), \
('end', '', 11)]

    The error is not raised here: a grammar mistake further up has to be reported first.
    """
    lexed = Lexed()
    tokens = lexed.tokens
    position: int | None = 0
    while position is not None:
        position = _tokenize_from(source, position, lexed)
    kind, text, start = tokens[-1] if tokens else (END, "", 0)
    if kind != ERROR:
        tokens.append((END, "", start + len(text)))
    return lexed


def unquote(string: str) -> str:
    r"""Return what a string token stands for.

    >>> unquote(r"'it\'s'")
    "it's"
    """
    content = string[1:-1]
    return _ESCAPE.sub(r"\1", content) if "\\" in content else content


def is_free_text(text: str) -> bool:
    """Return whether a name can be written without quotes.

    >>> is_free_text("and/or, 50%"), is_free_text("a; b")
    (True, False)
    """
    return _NAME_TEXT.fullmatch(text) is not None


def _tokenize_from(source: str, position: int, lexed: Lexed) -> int | None:
    """Append tokens; return where to continue after a free text, or None at the end."""
    tokens = lexed.tokens
    append = tokens.append
    for match in _TOKEN.finditer(source, position):
        kind = match.lastgroup
        text = match[0]
        if kind == "word":
            append((WORD, text, match.start()))
            if text == "name" and _begins_free_text(tokens):
                return _read_free_text(source, match.end(), lexed)
        elif kind == "mark":
            append((text, text, match.start()))
        elif kind == "comment":
            _keep_comment(lexed, text)
        elif kind == "error":
            lexed.error = _lexical_error(source, match.start())
            append((ERROR, "", match.start()))
            return None
        else:
            append((kind or ERROR, text, match.start()))
    return None


def _keep_comment(lexed: Lexed, comment: str) -> None:
    lexed.comments.setdefault(len(lexed.tokens), []).append(comment.rstrip(" \t"))


def _begins_free_text(tokens: list[Token]) -> bool:
    """Return whether the word `name`, the last token, is the property of a statement."""
    before = [kind for kind, _, _ in tokens[-4:-1]]
    return before in (["word", ":"], [";", "word", ":"])


def _read_free_text(source: str, position: int, lexed: Lexed) -> int | None:
    """Append the free text after the word `name`; return where to continue, None on an error."""
    gap = _GAP.match(source, position)
    start = end = gap.end() if gap else position
    # A string, a missing text and a text right after the word are left to the parser.
    if start == position or source.startswith(('"', "'"), start):
        return position
    text = _NAME_TEXT.match(source, start)
    if text is not None:
        lexed.tokens.append((TEXT, text[0], start))
        end = text.end()
    stray = _STRAY.match(source, end)
    if stray is None:
        return end
    offset = stray.start(1)
    hint = "write the name as a string in quotes"
    lexed.error = report_illegal_character(source, offset, "in a name without quotes", hint)
    lexed.tokens.append((ERROR, "", offset))
    return None


def _lexical_error(source: str, start: int) -> NotationError:
    """Return the error for a character that cannot begin a token."""
    character = source[start]
    if source.startswith("/*", start):
        return _report_unclosed(source, start, "comment", _CONTROL, 'write "*/" where it ends')
    if character in "\"'":
        hint = f"write {character} at its end; a string cannot span several lines"
        return _report_unclosed(source, start, "string", _NOT_IN_STRING, hint)
    return report_illegal_character(source, start)


def _report_unclosed(
    source: str, start: int, what: str, excluded: re.Pattern[str], hint: str
) -> NotationError:
    stop = excluded.search(source, start)
    if stop and stop[0] not in "\r\n":
        return report_illegal_character(source, stop.start(), f"in a {what}")
    return NotationError(
        "NNM118", f"{what} is not closed", hint=hint, source=source, span=Span(start, start + 1)
    )


def report_illegal_character(
    source: str, start: int, where: str = "here", hint: str = ""
) -> NotationError:
    """Return the error for the character at an offset.

    >>> report_illegal_character("a ! b", 2).message
    "'!' cannot occur here"
    """
    character = source[start]
    if start > 0 and where == "here" and re.match(r"\w", source[start - 1]):
        where = "in a name"
    span = Span(start, start + 1)
    shown, hint = f"'{character}'", hint or "names consist of letters, digits and _"
    if not character.isascii() or not character.isprintable():
        # The name of a character is only needed in errors; the module is large.
        import unicodedata

        name = unicodedata.name(character, "a control character")
        shown = f"U+{ord(character):04X} ({name})"
        if character.isprintable():
            shown = f"'{character}' {shown}"
        elif character.isspace():
            hint = Remedy("use an ordinary space", " ", span=span)
        else:
            hint = Remedy("delete it", "", span=span)
    if character in _LOOKALIKES:
        replacement = _LOOKALIKES[character]
        hint = Remedy(f"write {replacement}", replacement, span=span)
    message = f"{shown} cannot occur {where}"
    return NotationError("NNM101", message, hint=hint, source=source, span=span)
