"""Names of classes in the texts and the files of YAML that come with boxes of YOLO.

Of YAML (https://yaml.org/spec/1.2.2) are read: lists and mappings under `names`, in brackets and
over several lines, with quotes and comments. Everything else is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from webnnm.core.errors import DataError

YAML = (".yaml", ".yml")
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
_PLAIN = r"""[^\s"'#\[\]{}&*!|>%@`,].*?"""
_COMMENT = r"[ \t]*(?:(?<!\S)#.*)?"
_START = re.compile(rf"""(?:names|"names"|'names')[ \t]*:(?=\s|$){_COMMENT}""")
_ITEM = re.compile(rf"""[ ]*(?:-|(\d+|"\d+"|'\d+')[ ]*:)[ \t]+({_QUOTED}|{_PLAIN}){_COMMENT}$""")
"""Matches a line of a list or a mapping: "- cat" or "0: cat"."""
_WORD = r"""[^\s"'#\[\]{},:](?:[^\n,\[\]{}#:]|(?<=\S)#|:(?=\S))*"""
_TOKEN = re.compile(rf"""\s+|(?<!\S)#.*|({_QUOTED}|[][{{}},]|:(?=[\s"'])|{_WORD})""")
"""Matches a part of a list or a mapping in brackets, its first group those that count."""
_MARKS = ("[", "]", "{", "}", ",", ":")


def parse_class_names(name: str, text: str) -> list[str]:
    """Return the names of classes: one a line, or under `names` of a file of YAML.

    >>> parse_class_names("data.yaml", "nc: 2\\nnames: ['cat', 'dog']")
    ['cat', 'dog']
    >>> parse_class_names("data.yaml", "names:\\n  0: cat  # a pet\\n  1: c#\\npath: .")
    ['cat', 'c#']

    Raises `DataError` NNM706 for an empty line between names, and YAML without names or in which
    they cannot be read.
    """
    if not name.lower().endswith(YAML):
        return _read_lines(name, text)
    lines = text.splitlines()
    index = next((index for index, line in enumerate(lines) if _START.match(line)), None)
    if index is None:
        raise _refuse(f'"{name}" has no names of classes')
    start = _START.match(lines[index])
    assert start is not None
    rest = lines[index][start.end() :].strip()
    names = (
        _read_brackets(name, "\n".join([rest, *lines[index + 1 :]]))
        if rest
        else _read_block(name, lines, index + 1)
    )
    if not names:
        raise _refuse(f'"{name}" has no names of classes')
    return names


def _refuse(message: str) -> DataError:
    hint = "such as names: [cat, dog], or a line for each: 0: cat, in the order of their numbers"
    return DataError("NNM706", message, hint=hint)


def _read_lines(name: str, text: str) -> list[str]:
    """Return the lines of a text, whose number is that of the class."""
    names = [line.strip() for line in text.rstrip().splitlines()]
    if "" in names:
        raise DataError(
            "NNM706",
            f'"{name}", line {names.index("") + 1} is empty',
            hint="each line names a class, whose number is that of the line; remove empty ones",
        )
    return names


def _read_block(name: str, lines: Sequence[str], first: int) -> list[str]:
    """Return the names of lines such as "- cat" or "0: cat", up to the next key."""
    items: list[tuple[str | None, str]] = []
    for number, line in enumerate(lines[first:], first + 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] not in " -":
            break
        match = _ITEM.match(line)
        label = None if match is None else _read_scalar(match[2])
        if match is None or label is None:
            raise _refuse(f'"{name}", line {number}: {line.strip()[:60]}')
        items.append((match[1], label))
    return _order_items(name, items)


def _read_brackets(name: str, text: str) -> list[str]:
    """Return the names of a list or a mapping that begins a text: [cat, dog] or {0: cat}."""
    closing = {"[": "]", "{": "}"}.get(text[0])
    shown = text.partition("\n")[0][:60]
    tokens: list[str] = []
    position = 0
    while closing is not None and (not tokens or tokens[-1] != closing):
        match = _TOKEN.match(text, position)
        if match is None:
            closing = None
        else:
            position = match.end()
            tokens += [match[1].strip()] if match[1] else []
    rest = text[position:].partition("\n")[0].strip()
    if closing is None or (rest and not rest.startswith("#")):
        raise _refuse(f'"{name}" has names that cannot be read: {shown}')
    items: list[tuple[str | None, str]] = []
    entry: list[str] = []
    for token in tokens[1:]:
        if token not in (",", closing):
            entry.append(token)
            continue
        if token == closing and not entry:
            break
        is_pair = len(entry) == 3 and entry[1] == ":"
        label = _read_scalar(entry[-1]) if entry and entry[-1] not in _MARKS else None
        if (
            label is None
            or len(entry) != (3 if closing == "}" else 1)
            or is_pair != (closing == "}")
        ):
            raise _refuse(
                f'"{name}" has names that cannot be read: {" ".join(entry)[:60] or shown}'
            )
        items.append((entry[0] if is_pair else None, label))
        entry = []
    return _order_items(name, items)


def _read_scalar(text: str) -> str | None:
    """Return a name without its quotes, None if it cannot be read."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return None
    return None if re.search(r":(\s|$)", text) else text


def _order_items(name: str, items: Sequence[tuple[str | None, str]]) -> list[str]:
    """Return names in the order of their numbers, as they come if they have none."""
    if all(key is None for key, _ in items):
        return [label for _, label in items]
    numbers = [(key or "").strip("\"'") for key, _ in items]
    if sorted(numbers, key=lambda one: (len(one), one)) != [str(k) for k in range(len(items))]:
        shown = ", ".join(numbers[:8])
        raise _refuse(f'"{name}": classes have the numbers {shown}, not 0 … {len(items) - 1}')
    return [label for _, (_, label) in sorted(zip(map(int, numbers), items, strict=True))]
