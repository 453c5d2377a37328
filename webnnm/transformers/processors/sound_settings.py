"""What a feature extractor does to sound: the settings of a `preprocessor_config.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.errors import DataError, suggestion
from webnnm.formats.fields import Fields, shorten
from webnnm.ops.declare.mel import RATE

FILE = "preprocessor_config.json"
CLASS = "feature_extractor_type"
KINDS: Mapping[str, Literal["samples", "bands"]] = {
    "ASTFeatureExtractor": "bands",
    "SpeechT5FeatureExtractor": "samples",
    "Wav2Vec2FeatureExtractor": "samples",
}
"""The class of a feature extractor → what the model takes: samples, or powers in mel bands."""
UNNORMALIZED = frozenset({"SpeechT5FeatureExtractor"})
"""Classes that leave samples as they are unless told otherwise."""
OF_TARGETS = ("num_mel_bins", "hop_length", "win_length", "win_function", "fmin", "fmax")
OF_TARGETS += ("mel_floor", "frame_signal_scale", "reduction_factor")
"""Keys of the spectrograms that SpeechT5 learns to speak: what it hears are samples."""
MEAN, DEVIATION = -4.2677393, 4.5689974
"""The statistics of the bands of AudioSet."""
MAX_BANDS, MAX_FRAMES, MAX_RATE = 1 << 10, 1 << 16, 1 << 20
HARMLESS = re.compile(
    r"""_.* | .*processor_class | auto_map | feature_size | padding_(side|value) | return_.*
    | transformers_version | model_input_names
    """,
    re.VERBOSE,
)
"""Keys that other programs read: a sound alone is not padded."""


@dataclass(frozen=True, kw_only=True)
class SoundSettings:
    """What is done to a sound.

    It is resampled to `rate` samples per second. With `normalize`, samples get the mean 0 and the
    variance 1. A model of `bands` gets their logarithmic powers instead, in a number of `frames`,
    with `mean` subtracted and divided by twice the `deviation` if they are normalized.
    """

    rate: int
    normalize: bool
    bands: int
    frames: int
    mean: float
    deviation: float


def read_sound_settings(
    values: Mapping[str, Any], file: str = FILE, path: str = ""
) -> SoundSettings:
    """Return the settings of a `preprocessor_config.json`; what it lacks are those of its class.

    >>> file = {"feature_extractor_type": "Wav2Vec2FeatureExtractor", "do_normalize": False}
    >>> settings = read_sound_settings(file)
    >>> settings.rate, settings.normalize, settings.bands
    (16000, False, 0)

    `file` and `path` are for messages. Raises `DataError` NNM818 for an unknown class, for invalid
    values, and for keys that are not supported.
    """
    fields = _SoundFields(values, file)
    kind = fields.kind(path)
    has_bands = kind == "bands"
    settings = SoundSettings(
        rate=fields.integer("sampling_rate", RATE, 1, MAX_RATE),
        normalize=fields.flag("do_normalize", fields.text(CLASS) not in UNNORMALIZED),
        bands=fields.integer("num_mel_bins", 128, 1, MAX_BANDS) if has_bands else 0,
        frames=fields.integer("max_length", 1024, 1, MAX_FRAMES) if has_bands else 0,
        mean=fields.number("mean", MEAN) if has_bands else 0.0,
        deviation=fields.number("std", DEVIATION, above=0) if has_bands else 1.0,
    )
    if fields.text(CLASS) == "SpeechT5FeatureExtractor":
        for key in OF_TARGETS:
            fields.get(key)
    fields.finish()
    return settings


class _SoundFields(Fields):
    """The fields of a feature extractor."""

    def kind(self, path: str) -> str:
        self._path = path
        name = self.text(CLASS)
        if name not in KINDS:
            hint = suggestion(name, KINDS) or f"known: {', '.join(KINDS)}"
            message = f'{self.file}: "{path}{CLASS}" is {shorten(name)}, which is unknown'
            raise DataError(self.code, message, hint=hint)
        return KINDS[name]

    def finish(self) -> None:
        """Raise an error for keys that were not read; only empty ones are ignored."""
        for key, value in self.given.items():
            if key not in self._read and value and not HARMLESS.fullmatch(key):
                message = f'{self.file}: "{self._path}{key}" is {shorten(value)}'
                hint = "pass input_values to predict, prepared as this key says"
                raise DataError(self.code, f"{message}, which is not supported", hint=hint)
