"""What the feature extractors of `transformers` make of sounds, beside ours and for fixtures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import transformers

from tests.parity.tasks.processors import sample
from tests.parity.tasks.sounds import CASES, FILE, LENGTHS, LIMIT, RATE, draw_samples, prepare
from webnnm.core.arrays import HostArray


def compute(name: str, settings: Mapping[str, Any], length: int) -> tuple[dict[str, Any], Any]:
    """Return the file of a feature extractor, and what it makes of a sound of a length."""
    extractor = getattr(transformers, f"{name}FeatureExtractor")(**settings)
    samples = np.asarray(draw_samples(length), "float32")
    features = extractor(samples, sampling_rate=RATE, return_tensors="np")["input_values"]
    return json.loads(json.dumps(extractor.to_dict())), features


def report() -> bool:
    """Print how far the feature extractors are apart; tell whether all are close."""
    print(f"\nFeature extractors of sound, limit {LIMIT:g}")
    all_close = True
    for name, settings in CASES:
        worst = 0.0
        for length in LENGTHS:
            file, expected = compute(name, settings, length)
            actual = np.asarray(asyncio.run(prepare(file, length)))
            same = actual.shape == expected.shape
            difference = np.abs(actual - expected).max() if same else float("inf")
            worst = max(worst, float(difference / max(1.0, np.abs(expected).max())))
        all_close &= worst <= LIMIT
        print(f"{name:10} {settings}  {worst:.1e}{'' if worst <= LIMIT else '  <- differ'}")
    return all_close


def record() -> None:
    """Write the fixtures."""
    fixtures: list[dict[str, Any]] = []
    for name, settings in CASES:
        for length in LENGTHS:
            file, expected = compute(name, settings, length)
            numbers = [float(f"{value:.7g}") for value in sample(HostArray.of(expected))]
            fixtures.append(
                {"file": file, "length": length, "shape": expected.shape, "numbers": numbers}
            )
    lines = ",\n".join(json.dumps(fixture, separators=(",", ":")) for fixture in fixtures)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{FILE.name}: {len(fixtures)} cases, {FILE.stat().st_size / 1000:.0f} kB")
