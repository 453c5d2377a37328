"""Finds pictures of two scales: bytes from 0 to 255, and shares from 0 to 1."""

from __future__ import annotations

from webnnm.core.thinning import thin
from webnnm.expert.examination.picture_grid import list_pictures
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MAX_PICTURES, MAX_PIXELS = 300, 64
MIN_PICTURES, MIN_SHARE = 5, 0.02
"""Pictures of either scale."""

MIN_BRIGHTEST = 40.0
"""The brightest of some pixels of a picture in bytes; one of shares is at most 1."""

MIN_DISTINCT = 5
MAX_SHARE_BETWEEN = 0.02
"""Pictures between both, as there are where some are just dark."""


def find_two_scales(rows: Rows) -> Suspicion | None:
    """Find pictures whose pixels are from 0 to 1 among others that go up to 255."""
    for grid in list_pictures(rows, MAX_PIXELS):
        numbers = thin(rows.subsets["full"], MAX_PICTURES)
        counts = {"shares": 0, "bytes": 0, "between": 0}
        example = 0
        for number in numbers:
            pixels = [pixel / grid.channels for pixel in grid.read(number)]
            # Standardised in float32, 1 / 255 has an error of a thousandth.
            brightest, is_varied = max(pixels), len({*pixels}) >= MIN_DISTINCT
            if brightest <= 1.01 and is_varied and min(pixels) >= -0.01:
                counts["shares"] += 1
                example = number
            elif brightest >= MIN_BRIGHTEST:
                counts["bytes"] += 1
            elif brightest > 1.01:
                counts["between"] += 1
        fewest = min(counts["shares"], counts["bytes"])
        if fewest < max(MIN_PICTURES, MIN_SHARE * len(numbers)):
            continue
        if counts["between"] > MAX_SHARE_BETWEEN * len(numbers):
            continue
        share = counts["shares"] / len(numbers)
        return Suspicion(
            f"{share:.0%} of the pictures of {grid.block} have pixels from 0 to 1, such as row "
            f"{example}, all others up to 255",
            {"share": share},
        )
    return None
