"""What the processors of `transformers` make of pictures, beside ours and for fixtures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import transformers

from tests.parity.tasks.processors import (
    FILE,
    LIMIT,
    SIZES,
    WITHOUT_PILLOW,
    Case,
    draw_pixels,
    list_cases,
    prepare,
    sample,
)
from webnnm.core.arrays import HostArray
from webnnm.transformers.processors.picture_kinds import KINDS

SIZE_KEYS = ("size", "crop_size", "pad_size", "max_image_size")


def get_defaults() -> dict[str, dict[str, Any]]:
    """Return the default sizes of all classes."""
    defaults: dict[str, dict[str, Any]] = {}
    for name in sorted(KINDS.keys() - WITHOUT_PILLOW):
        kind = get_class(name)
        sizes = {key: getattr(kind, key, None) for key in SIZE_KEYS}
        defaults[name] = {key: size for key, size in sizes.items() if size}
    return defaults


def get_class(name: str) -> Any:
    """Return the class of transformers that uses Pillow."""
    return getattr(transformers, f"{name}ImageProcessorPil")


def compute(case: Case, size: tuple[int, int]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the file of a processor, and what it makes of a picture of a size."""
    processor = get_class(case.name)(**case.settings)
    file = json.loads(json.dumps(processor.to_dict(), default=int))
    picture = np.asarray(draw_pixels(*size))
    return file, processor(images=picture, return_tensors="np")


def compare(case: Case, size: tuple[int, int]) -> float:
    """Return how far our numbers are from theirs, relative to the largest."""
    file, expected = compute(case, size)
    actual = asyncio.run(prepare(file, size))
    worst = 0.0
    for name, values in actual.items():
        theirs = np.asarray(expected[name])
        if theirs.shape != values.shape:
            return float("inf")
        difference = np.abs(np.asarray(values, "float64") - theirs).max()
        worst = max(worst, float(difference / max(1.0, np.abs(theirs).max())))
    return worst


def report() -> bool:
    """Print how far the processors are apart; tell whether all are close."""
    print(f"\nProcessors of pictures, limit {LIMIT:g}")
    worst: dict[str, list[float]] = {}
    for case in list_cases(get_defaults()):
        for size in SIZES:
            worst.setdefault(case.name, []).append(compare(case, size))
    for name, differences in worst.items():
        mark = "" if max(differences) <= LIMIT else "  <- differ"
        print(f"{name:20} {len(differences):4} pictures  {max(differences):.1e}{mark}")
    return max(max(differences) for differences in worst.values()) <= LIMIT


def record() -> None:
    """Write the fixtures."""
    fixtures: list[dict[str, Any]] = []
    recorded = [case for case in list_cases(get_defaults()) if case.is_recorded]
    for number, case in enumerate(recorded):
        size = SIZES[number % len(SIZES)]
        file, expected = compute(case, size)
        values = HostArray.of(np.asarray(expected["pixel_values"], "float32"))
        numbers = [float(f"{value:.7g}") for value in sample(values)]
        fixtures.append({"file": file, "size": size, "shape": values.shape, "numbers": numbers})
    lines = ",\n".join(json.dumps(fixture, separators=(",", ":")) for fixture in fixtures)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{FILE.name}: {len(fixtures)} cases, {FILE.stat().st_size / 1000:.0f} kB")
