"""Chooses the content coding of a file, which may have compressed copies (RFC 9110, 12.5.3)."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

SUFFIXES = {"br": ".br", "gzip": ".gz"}
"""Coding → the suffix that its copy adds to the name of a file, the smaller copy first."""
IDENTITY = "identity"
"""A file as it is."""
WEIGHT = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
ALIASES = {"x-gzip": "gzip"}
WRITTEN_WITHIN_NS = 60 * 10**9
"""A copy that is older than its file, or newer by more than this, is one of another content."""


def is_copy(path: Path) -> bool:
    """Return whether a file is the compressed copy of one beside it."""
    return path.suffix in SUFFIXES.values() and path.with_suffix("").is_file()


def find_copies(path: Path) -> dict[str, Path]:
    """Return the compressed copies of a file by coding: those that were written right after it."""
    changed = path.stat().st_mtime_ns
    copies = {coding: path.with_name(path.name + end) for coding, end in SUFFIXES.items()}
    return {
        coding: copy
        for coding, copy in copies.items()
        if copy.is_file() and 0 <= copy.stat().st_mtime_ns - changed <= WRITTEN_WITHIN_NS
    }


def choose_coding(header: str | None, available: Collection[str]) -> str:
    """Return the coding for a request with this Accept-Encoding, by default that of the file.

    >>> choose_coding("gzip, br;q=0.9", ["br", "gzip"]), choose_coding(None, ["br"])
    ('gzip', 'identity')

    Among codings of the same weight the one that compresses better is taken. A client that refuses
    everything is sent the file as it is.
    """
    if header is None:
        return IDENTITY
    weights = parse_weights(header)
    others = weights.get("*", 0.0)
    ranked = [(weights.get(coding, others), coding) for coding in SUFFIXES if coding in available]
    # A client that does not mention the file as it is prefers any coding that it mentions.
    ranked.append((weights.get(IDENTITY, 0.0), IDENTITY))
    weight, coding = max(ranked, key=lambda pair: pair[0])
    return coding if weight > 0 else IDENTITY


def parse_weights(header: str) -> dict[str, float]:
    """Return the weight of each coding of an Accept-Encoding; 0 for one with a malformed weight.

    >>> parse_weights("GZIP;q=0.5, br, *;q=0")
    {'gzip': 0.5, 'br': 1.0, '*': 0.0}
    """
    weights: dict[str, float] = {}
    for member in header.lower().split(","):
        coding, *parameters = (part.strip() for part in member.split(";"))
        if not coding:
            continue
        match = WEIGHT.fullmatch(parameters[0]) if len(parameters) == 1 else None
        weight = float(match[1]) if match else 0.0 if parameters else 1.0
        weights[ALIASES.get(coding, coding)] = weight
    return weights
