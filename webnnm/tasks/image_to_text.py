"""Texts that models write about pictures: what is in them, or what is written there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.tasks.picture_task import PictureTask, as_pictures
from webnnm.tasks.text_generation import read_sampling
from webnnm.tasks.text_to_text import OF_CONFIG

MAX_NEW_TOKENS = 256
"""The tokens that a text has at most, if neither a call nor the config says."""


class ImageToText(PictureTask):
    """Writes a text for each picture: a caption, or the words in it.

    >>> async def caption(write):
    ...     return (await write("photo.jpg"))[0]["generated_text"]
    """

    outputs = frozenset({"logits"})
    classes = "VisionEncoderDecoderModel, BlipForConditionalGeneration"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether the model reads a picture, and nothing but the text that it writes."""
        inputs = {*self.model.inputs()}
        reads_own = len(inputs & {"input_ids", "decoder_input_ids"}) == 1
        has_tokens = self.model.describe_output("logits").sequence is not None
        return reads_own and has_tokens and not self.model.takes_pictures

    async def __call__(
        self,
        inputs: Any,
        *,
        prompt: str = "",
        do_sample: bool | None = None,
        batch_size: int = 1,
        **settings: Any,
    ) -> list[Any]:
        """Return a list of a dict with `generated_text` for a picture, a list of these for more.

        - `inputs`: a picture or a list, see `ImageClassification`.
        - `prompt`: how texts begin, such as the word for the task of a Donut; it is not returned.
        - `batch_size`: how many pictures are computed at once.
        - `settings`: those of `PretrainedModel.generate_ids`, such as `max_new_tokens`; what the
          generation config says is the default.
        """
        pictures, single = as_pictures(inputs)
        tokenizer = self.model.tokenizer
        start = tokenizer.encode_rendered(prompt) if prompt else None
        own = next(
            name for name in ("decoder_input_ids", "input_ids") if name in self.model.inputs()
        )
        begun: dict[str, Any] = {own: start}
        defaults = read_length(self.model.generation_config)
        settings = {**defaults, **read_sampling(do_sample, settings)}
        results: list[Any] = []
        async for processed, arrays in self.prepare_batches(pictures, batch_size):
            rows = await self.model.generate_ids(**begun, **arrays, **settings)
            returned = len(rows) // batch_size
            for k in range(len(processed)):
                texts = [tokenizer.decode(row) for row in rows[k * returned : (k + 1) * returned]]
                results.append([{"generated_text": text} for text in texts])
        return results[0] if single else results


def read_length(config: Mapping[str, Any], begun: int = 1) -> dict[str, Any]:
    """Return what a generation config says of texts that begin with some tokens.

    >>> read_length({"max_length": 20, "num_beams": 2}, 4)
    {'num_beams': 2, 'max_new_tokens': 16}
    """
    values = {name: config[name] for name in OF_CONFIG if config.get(name) is not None}
    length = config.get("max_length")
    own = config.get("max_new_tokens") or (max(1, length - begun) if length else MAX_NEW_TOKENS)
    return {**values, "max_new_tokens": own}
