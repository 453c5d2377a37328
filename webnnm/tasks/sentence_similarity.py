"""How alike a sentence and others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.feature_extraction import FeatureExtraction
from webnnm.transformers.config import read_object

POOLING_FILE = "1_Pooling/config.json"
"""The file of models of `sentence-transformers` that says how tokens become a vector."""
MODES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


class SentenceSimilarity(FeatureExtraction):
    """Returns how alike sentences are: the cosine of the angle between their vectors.

    >>> async def find_answer(compare, question, sentences):
    ...     scores = await compare(question, sentences)
    ...     return sentences[scores.index(max(scores))]
    """

    general = False
    pooling = "mean"

    async def prepare(self) -> None:
        """Read how tokens become a vector; by default it is their mean."""
        try:
            text = await self.model.read_file(POOLING_FILE)
        except DataError as error:
            if error.code != "NNM715":
                raise
            return
        fields = read_object(text, POOLING_FILE)
        modes = [key for key, value in fields.given.items() if key[:12] == "pooling_mode" and value]
        if len(modes) != 1 or modes[0] not in MODES:
            message = f"{POOLING_FILE}: {', '.join(modes) or 'no pooling'}"
            hint = f"one of {', '.join(MODES)} is supported"
            raise DataError("NNM818", f"{message}, which is not supported", hint=hint)
        self.pooling = MODES[modes[0]]

    async def __call__(
        self,
        inputs: str | Mapping[str, Any],
        sentences: Sequence[str] | None = None,
        *,
        batch_size: int = 1,
        truncation: bool = True,
    ) -> list[float]:
        """Return a number from -1 to 1 for each sentence: 1 for the same meaning.

        - `inputs`: a sentence, or a dict with `source_sentence` and `sentences`.
        - `sentences`: those that are compared with it.
        - `batch_size`: how many texts are computed at once.
        - `truncation`: whether texts that are too long lose their end, instead of NNM711.
        """
        if isinstance(inputs, Mapping):
            inputs, sentences = inputs["source_sentence"], inputs["sentences"]
        if not sentences or isinstance(sentences, str):
            hint = "give a sentence, and a list of others"
            raise DataError("NNM704", "there are no sentences to compare with", hint=hint)
        source, *others = await self.embed(
            [inputs, *sentences],
            self.pooling,
            normalize=True,
            batch_size=batch_size,
            truncation=truncation,
        )
        return [sum(a * b for a, b in zip(source, other, strict=True)) for other in others]
