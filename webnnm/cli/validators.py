"""Compares the validators of a conditional request with those of a file (RFC 9110, section 13)."""

from __future__ import annotations

import os
import re

TAG = re.compile(r'(?:W/)?("[^"]*")')


def entity_tag(status: os.stat_result, coding: str) -> str:
    """Return the strong entity tag of a file in a content coding.

    It changes with the file's time and size, and each coding has its own.
    """
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}-{coding}"'


def is_unchanged(if_none_match: str | None, tag: str) -> bool:
    """Return whether a client already has what a tag names, by its header If-None-Match.

    >>> is_unchanged('"a", W/"b"', '"b"'), is_unchanged("*", '"b"'), is_unchanged(None, '"b"')
    (True, True, False)
    """
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in TAG.findall(if_none_match)


def allows_range(if_range: str | None, tag: str, changed: str) -> bool:
    """Return whether a client may be sent a part, by its header If-Range: its earlier part fits.

    >>> allows_range('W/"a"', '"a"', ""), allows_range('"a"', '"a"', ""), allows_range(None, "", "")
    (False, True, True)
    """
    return if_range is None or if_range in (tag, changed)
