"""Texts that models with an encoder write for others: summaries, translations, answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.text_generation import read_sampling
from webnnm.tasks.text_rows import as_list

OF_CONFIG = ("num_beams", "length_penalty", "early_stopping", "no_repeat_ngram_size")
"""Settings of `generate` that the config of a task can hold."""


class TextToText(Pipeline):
    """Writes a text for each text.

    >>> async def answer(write):
    ...     return (await write("question: Who? context: I did."))[0]["generated_text"]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForConditionalGeneration, T5, BART, Marian or M2M100"
    uses_tokenizer = True
    key: ClassVar[str] = "generated_text"
    """The name of the text in a result."""

    def fits(self) -> bool:
        """Return whether there are an encoder of tokens and a decoder."""
        inputs = {*self.model.inputs()}
        return {"input_ids", "decoder_input_ids"} <= inputs and "pixel_values" not in inputs

    async def __call__(
        self, inputs: str | Sequence[str], *, do_sample: bool | None = None, **settings: Any
    ) -> list[Any]:
        """Return a dict with the text for each text, in a list.

        - `settings`: those of `PretrainedModel.generate`; what the config has for the task
          (`task_specific_params`: beams, the words that each text begins with) is the default.
        """
        texts, _ = as_list(inputs, str)
        own = self._read_config()
        settings = {**self._defaults(own), **read_sampling(do_sample, settings)}
        prefix = own.get("prefix") or self.model.config.get("prefix") or ""
        results: list[Any] = []
        for text in texts:
            if not isinstance(text, str):
                message = f"a {type(text).__name__} is not a text"
                raise DataError("NNM702", message, hint="give a str, or a list of them")
            results.append({self.key: await self.model.generate(prefix + text, **settings)})
        return results

    def _read_config(self) -> Mapping[str, Any]:
        tasks: Mapping[str, Any] = self.model.config.get("task_specific_params") or {}
        return tasks.get(self.task) or {}

    def _defaults(self, own: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: own[name] for name in OF_CONFIG if name in own}
        for name, other in (("max_length", "max_new_tokens"), ("min_length", "min_new_tokens")):
            if name in own:
                values[other] = own[name] - 1  # the start token does not count
        return values


class Summarization(TextToText):
    """Writes a summary of each text.

    >>> async def shorten(summarize, article):
    ...     return (await summarize(article, max_new_tokens=60))[0]["summary_text"]
    """

    key = "summary_text"


class Translation(TextToText):
    """Translates texts.

    >>> async def translate(to_german):
    ...     return (await to_german("Good morning"))[0]["translation_text"]
    """

    key = "translation_text"
