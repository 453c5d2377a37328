"""The class of a sound."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.tasks.scores import best_labels
from webnnm.tasks.sound_task import SoundTask, as_sounds


class AudioClassification(SoundTask):
    """Returns the classes of sounds with their scores, most likely first.

    >>> async def name_animal(classify):
    ...     return (await classify("sound.wav", top_k=1))[0]["label"]
    """

    outputs = frozenset({"logits"})
    classes = "…ForAudioClassification, …ForSequenceClassification with sound"

    def fits(self) -> bool:
        """Return whether there is one row of scores for each sound."""
        features = self.model.describe_output("logits")
        return features.sequence is None and len(features.sizes()) == 1

    async def __call__(
        self, inputs: Any, *, top_k: int | None = None, function_to_apply: str | None = None
    ) -> list[Any]:
        """Return a list of dicts with `label` and `score` for a sound, a list of these for more.

        - `inputs`: a sound or a list: paths, URLs, bytes of files, `Sound`, samples at the rate of
          the model, or dicts with `raw` or `array` and `sampling_rate`.
        - `top_k`: how many classes, the most likely ones; by default all.
        - `function_to_apply`: "softmax", "sigmoid" or "none"; by default what the config says.
        """
        sounds, single = as_sounds(inputs)
        results: list[Any] = []
        for sound in sounds:
            outputs = await self.model.predict(input_values=await self.process(sound))
            (logits,) = HostArray.of(outputs["logits"], "float32").tolist()
            results.append(best_labels(logits, self.model.config, top_k, function_to_apply))
        return results[0] if single else results
