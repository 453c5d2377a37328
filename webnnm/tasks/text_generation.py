"""Texts that a language model continues, and conversations that it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.transformers.chat_template import Message

SAMPLED = ("temperature", "top_k", "top_p", "min_p")
"""Settings that only sampling has."""


class TextGeneration(Pipeline):
    """Continues texts, or answers the messages of a conversation.

    >>> async def answer(generate):
    ...     messages = [{"role": "user", "content": "What is the capital of France?"}]
    ...     found = await generate(messages, max_new_tokens=20)
    ...     return found[0]["generated_text"][-1]["content"]

    `pipeline.model.generate` gives the pieces as they come.
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForCausalLM"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether the model continues texts, and has no encoder."""
        return self.model.continues_texts

    async def __call__(
        self,
        inputs: str | Sequence[Any],
        *,
        return_full_text: bool = True,
        do_sample: bool | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Return `[{"generated_text": …}]`, or a list of these for several texts.

        - `inputs`: a text, the messages of a conversation, or a list of texts or conversations.
        - `return_full_text`: whether the result begins with the input.
        - `do_sample`: False chooses the most likely tokens whatever the other settings are, True
          samples, with a temperature of 1 if none is given.
        - `settings`: those of `PretrainedModel.generate`, such as `max_new_tokens`.
        """
        prompts = [*inputs] if _is_several(inputs) else [inputs]
        settings = read_sampling(do_sample, settings)
        results: list[list[dict[str, Any]]] = []
        for prompt in prompts:
            text = await self.model.generate(prompt, **settings)
            results.append([{"generated_text": _join(prompt, text, return_full_text)}])
        return results if _is_several(inputs) else results[0]


def read_sampling(do_sample: bool | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of `generate` for the `do_sample` of `transformers`.

    >>> read_sampling(False, {"temperature": 0.8, "max_new_tokens": 9})
    {'max_new_tokens': 9}
    """
    if do_sample is None:
        return dict(settings)
    if do_sample:
        return {"temperature": 1.0, **settings}
    return {name: value for name, value in settings.items() if name not in SAMPLED}


def _is_several(inputs: Any) -> bool:
    if isinstance(inputs, str) or not isinstance(inputs, Sequence):
        return False
    if not inputs:
        raise DataError("NNM704", "there is no text", hint="give a text, or messages")
    return not isinstance(inputs[0], Mapping)


def _join(prompt: Any, text: str, full: bool) -> str | list[Message]:
    if isinstance(prompt, str):
        return prompt + text if full else text
    return [*prompt, {"role": "assistant", "content": text}] if full else text
