"""Files of feature extractors, and sounds of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Sound, backend
from webnnm.core.arrays import HostArray
from webnnm.tasks.sound_task import as_sounds, read_sound
from webnnm.transformers.processors.sound_settings import read_sound_settings
from webnnm.transformers.processors.sounds import SoundProcessor, normalize_samples

SAMPLES = {"feature_extractor_type": "Wav2Vec2FeatureExtractor"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, 'has no "feature_extractor_type"'),
        ({"feature_extractor_type": "ASTExtractor"}, "which is unknown"),
        ({**SAMPLES, "do_ceptrals": True}, '"do_ceptrals" is true, which is not supported'),
        ({**SAMPLES, "num_mel_bins": 128}, '"num_mel_bins" is 128, which is not supported'),
        ({**SAMPLES, "sampling_rate": 0}, '"sampling_rate" is 0'),
    ],
)
def test_what_is_not_known_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"NNM818: preprocessor_config.json.*{message}"):
        read_sound_settings(values)


def test_speecht5_hears_samples_and_says_what_it_learns_to_speak() -> None:
    values = {"feature_extractor_type": "SpeechT5FeatureExtractor", "num_mel_bins": 80, "fmin": 80}
    settings = read_sound_settings(values)
    assert (settings.normalize, settings.bands) == (False, 0)
    assert read_sound_settings({**values, "do_normalize": True}).normalize


async def test_sounds_are_resampled() -> None:
    settings = read_sound_settings({**SAMPLES, "do_normalize": False})
    processor = SoundProcessor(await backend("numpy"), settings)
    assert (await processor.process(Sound([0.0] * 80, 8000))).shape == (1, 160)
    with pytest.raises(DataError, match="NNM702: the sound has no samples"):
        await processor.process(Sound(HostArray("float32", (0,), b""), 16000))


def test_silence_stays_silence() -> None:
    assert normalize_samples(HostArray.of([0.5, 0.5])).tolist() == [0, 0]


async def test_sounds_come_in_several_forms() -> None:
    for form in ({"raw": [0.5], "sampling_rate": 8}, {"array": [0.5], "sampling_rate": 8}):
        assert (await read_sound(form, 16)).rate == 8
    assert (await read_sound([0.5, 0.25], 16)).rate == 16
    sound = Sound([0.5], 9)
    assert await read_sound(sound, 16) is sound
    with pytest.raises(DataError, match="NNM704: a dict of sound has raw"):
        await read_sound({"raw": [0.5]}, 16)
    assert as_sounds([[0.5], sound]) == ([[0.5], sound], False)
    assert as_sounds(sound) == ([sound], True)
