"""Where the data are that tests read: beside them, in `tests/data`."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"

SPEC = DATA / "spec"
"""The grammar, the examples and the tables of the specification."""
CHROMIUM = DATA / "chromium"
"""What each bundled Chromium was seen to do, by major version."""
WPT = DATA / "wpt"
"""Vectors of the web-platform-tests."""
SHARED = Path(os.environ.get("WEBNNM_SHARED", DATA.parent.parent.parent / "shared"))
"""Models and sound that are too large for the repository: tests skip where they are missing."""
VALID, INVALID = (SPEC / "examples" / kind for kind in ("valid", "invalid"))
"""Examples of texts: what they mean is in the `.json` beside, or in the first line."""
