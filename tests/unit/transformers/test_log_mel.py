"""Log-mel features: those of `transformers`, and of the formula."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from tests.places import SHARED
from webnnm import backend
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.mel import mel_filters
from webnnm.transformers.log_mel import log_mel

np = pytest.importorskip("numpy")
FILTERS = SHARED / "models" / "mel_filters.npz"
GOLDEN = {
    8: [-0.453495, 0.725107, 0.947659, 1.41442, 1.509471, 1.154905, 0.632923, 0.210718, -0.068038],
    40: [-0.453495, 0.219003, 0.55077, -0.270568, -0.453495, -0.453495, -0.453495],
}
"""What `WhisperFeatureExtractor` of `transformers` makes of `sound`, of two bands."""


def sound(length: int = 1600) -> Any:
    """Return a tone that rises, behind silence."""
    place = np.arange(length)
    return np.where(place < 300, 0, np.sin(place**2 / 9000)).astype(np.float32)[None]


def features(samples: Any, bands: int) -> Any:
    async def compute() -> Any:
        b = GraphBuilder()
        found = log_mel(b, b.input("samples", "float32", samples.shape), bands)
        device = await backend("numpy")
        executable = await device.compile(b.build({"found": found}))
        return (await executable.run({"samples": samples}))["found"]

    return np.asarray(asyncio.run(compute()))


@pytest.mark.parametrize("bands", [80, 128])
def test_features_follow_the_formula(bands: int) -> None:
    samples = sound()
    padded = np.pad(samples[0].astype(np.float64), 200, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * math.pi * np.arange(400) / 400)
    frames = np.stack([padded[start : start + 400] * window for start in range(0, 1600, 160)])
    power = np.abs(np.fft.rfft(frames)) ** 2 @ np.asarray(mel_filters(bands).public())
    levels = np.log10(np.maximum(power, 1e-10)).T
    wanted = (np.maximum(levels, levels.max() - 8) + 4) / 4
    found = features(samples, bands)
    assert found.shape == (1, bands, 10)
    np.testing.assert_allclose(found[0], wanted, atol=1e-4)


def test_features_are_those_of_transformers() -> None:
    found = features(sound(), 80)[0]
    for band, values in GOLDEN.items():
        np.testing.assert_allclose(found[band, : len(values)], values, atol=1e-4)


def test_bands_of_a_model_are_equal_areas() -> None:
    filters = np.asarray(mel_filters(80).public())
    assert filters.shape == (201, 80)
    # The lowest bands are narrower than the distance of two frequencies.
    np.testing.assert_allclose(filters.sum(0)[40:] * 40, 1, atol=0.07)


@pytest.mark.skipif(not FILTERS.exists(), reason="WEBNNM_SHARED names the folder of the filters")
@pytest.mark.parametrize("bands", [80, 128])
def test_bands_are_those_of_whisper(bands: int) -> None:
    with np.load(FILTERS) as file:
        np.testing.assert_allclose(
            np.asarray(mel_filters(bands).public()).T, file[f"mel_{bands}"], atol=1e-7
        )
