"""The modules that declare operators that are not words of the notation."""

from __future__ import annotations

PLACES: dict[str, str] = {}
"""Method → module. Wheels for pages have it filled; elsewhere `webnnm.ops.PLACES` has them all."""
