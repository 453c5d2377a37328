"""Reads the file `_headers` of a folder: which headers a server sends with which pages.

The format is that of static hosts such as Netlify and Cloudflare Pages: the pattern of an address
on its own line, where `*` stands for anything, then indented lines `Name: value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from webnnm.core.errors import DataError

FILE = "_headers"


@dataclass(frozen=True)
class HeaderRule:
    """A header that is sent with every address that matches a pattern."""

    pattern: str
    name: str
    value: str

    def fits(self, path: str) -> bool:
        """Return whether the rule applies to an address.

        >>> HeaderRule("/shop/*", "Cache-Control", "no-store").fits("/shop/a.html")
        True
        """
        parts = map(re.escape, self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), path) is not None


def header_rules(folder: Path) -> list[HeaderRule]:
    """Return the rules in the `_headers` of a folder, none if there is no such file.

    Raises `DataError` NNM715 for a line that is neither an address nor a header.
    """
    file = folder / FILE
    return list(_rules(file)) if file.is_file() else []


def _rules(file: Path) -> Iterator[HeaderRule]:
    pattern = ""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith("/"):
            pattern = text
            continue
        name, colon, value = text.partition(":")
        if not (pattern and colon and line[0].isspace() and re.fullmatch(r"[\w-]+", name)):
            raise DataError(
                "NNM715",
                f'{file}, line {number}: "{text}" is neither an address nor a header',
                hint="addresses begin with / at the start of a line, followed by indented "
                'headers, "Name: value"',
            )
        yield HeaderRule(pattern, name, value.strip())


def headers_for(path: str, rules: Sequence[HeaderRule]) -> dict[str, str]:
    """Return the headers of an address; values of the same header are joined by commas.

    >>> headers_for("/a.html", [HeaderRule("/*", "X-A", "1"), HeaderRule("/a.html", "X-A", "2")])
    {'X-A': '1, 2'}
    """
    values_by_name: dict[str, list[str]] = {}
    for rule in rules:
        if rule.fits(path):
            values_by_name.setdefault(rule.name, []).append(rule.value)
    return {name: ", ".join(values) for name, values in values_by_name.items()}
