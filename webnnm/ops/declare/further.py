"""Where operators are declared that are no words of the notation."""

from __future__ import annotations

PLACES: dict[str, str] = {}
"""Method → module. Wheels for pages have it filled; elsewhere `webnnm.ops.PLACES` has them all."""
