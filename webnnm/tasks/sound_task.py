"""Tasks whose inputs are sounds of any rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.sounds.sound import Sound, load_sound
from webnnm.tasks.pipeline import Pipeline
from webnnm.transformers.processors.files import read_sound_processor
from webnnm.transformers.processors.sounds import SoundProcessor

SAMPLES = ("raw", "array")
"""Keys of dicts that hold samples, with `sampling_rate` beside them."""


class SoundTask(Pipeline):
    """A pipeline for sounds: files, their bytes, addresses, samples."""

    inputs = frozenset({"input_values"})
    processor: SoundProcessor | None = None

    async def prepare(self) -> None:
        """Read how the model takes sounds."""
        settings = await read_sound_processor(self.model.read_file)
        self.processor = SoundProcessor(self.model.backend, settings)

    async def process(self, sound: Any) -> HostArray:
        """Return the input of the model for a sound."""
        assert self.processor is not None
        rate = self.processor.settings.rate
        return await self.processor.process(await read_sound(sound, rate))

    def close(self) -> None:
        """Free the device memory of the pipeline, and of the model unless it was passed to it."""
        if self.processor is not None:
            self.processor.close()
        super().close()


async def read_sound(sound: Any, rate: int) -> Sound:
    """Return a sound of a file, samples at a rate, or a dict with both.

    >>> import asyncio
    >>> asyncio.run(read_sound({"raw": [0.5, -0.5], "sampling_rate": 8000}, 16000))
    <Sound of 0.00 s, 8000 samples per second>

    Raises `DataError` NNM704 for a dict without samples or without a rate, and what `load_sound`
    and `Sound` raise.
    """
    if isinstance(sound, Sound):
        return sound
    if isinstance(sound, Mapping):
        values = cast("Mapping[str, Any]", sound)
        samples = next((values[key] for key in SAMPLES if key in values), None)
        if samples is None or "sampling_rate" not in values:
            hint = 'it has "raw" or "array", and "sampling_rate"'
            raise DataError("NNM704", f"a dict of sound has {', '.join(values)}", hint=hint)
        return Sound(samples, values["sampling_rate"])
    if isinstance(sound, (str, bytes, bytearray)) or hasattr(sound, "__fspath__"):
        return await load_sound(sound)
    return Sound(sound, rate)


def as_sounds(inputs: Any) -> tuple[list[Any], bool]:
    """Return sounds as a list, and whether there was a single one; numbers are samples.

    >>> as_sounds([0.5, 0.25])[1], as_sounds(["sound.wav"])[1]
    (True, False)
    """
    if isinstance(inputs, (list, tuple)):
        items = cast("list[Any]", [*inputs])
        if not items or not isinstance(items[0], (int, float)):
            return items, False
    return [inputs], True
