"""Texts that models write about pictures and texts: answers in conversations with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.tasks.picture_answers import carry_out_tasks
from webnnm.tasks.picture_task import as_pictures
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.text_generation import read_sampling
from webnnm.transformers.picture_prompts import IMAGE
from webnnm.transformers.picture_tokens import FEATURES, PICTURES


class ImageTextToText(Pipeline):
    """Answers messages that have pictures in them, or continues a text about pictures.

    >>> async def describe(answer, photo):
    ...     question = {"type": "text", "text": "What is this?"}
    ...     content = [{"type": "image", "image": photo}, question]
    ...     found = await answer(text=[{"role": "user", "content": content}])
    ...     return found[0]["generated_text"][-1]["content"]

    `pipeline.model.generate` takes the same messages, and gives the pieces as they come.
    """

    inputs = frozenset({"input_ids", PICTURES, FEATURES})
    outputs = frozenset({"logits"})
    classes = (
        "Idefics3ForConditionalGeneration, SmolVLMForConditionalGeneration, "
        "Florence2ForConditionalGeneration"
    )
    uses_tokenizer = True

    async def __call__(
        self,
        images: Any = None,
        text: Any = None,
        *,
        return_full_text: bool = True,
        do_sample: bool | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Return `[{"input_text": …, "generated_text": …}]`, a list of these for conversations.

        - `images`: a picture, see `ImageClassification`, or a list of those of `text`; or messages.
        - `text`: messages, whose pictures are parts `{"type": "image", "image": …}` of their
          content; a list of conversations; or a text that has `<image>` for each of `images`. For
          Florence-2 the word for a task, such as `<OD>`, and what it is about; or a list of these,
          one for each of `images`.
        - `return_full_text`: whether the result begins with the input.
        - `do_sample`, `settings`: see `TextGeneration`.

        The results of Florence-2 also have an `answer`: by the word for the task, the text that is
        written, or a dict of boxes, corners or polygons and labels, in pixels of the picture.

        Raises `DataError` NNM702 for pictures without a place in the text, NNM704 if there is no
        text, or the last message is one of the model.
        """
        if text is None and _is_messages(images):
            images, text = None, images
        if text is None:
            hint = f"give text=, with {IMAGE} for each picture, or messages"
            raise DataError("NNM704", "there is no text", hint=hint)
        settings = read_sampling(do_sample, settings)
        if self.model.has_decoder:
            return await carry_out_tasks(self.model, images, text, return_full_text, settings)
        pictures = None if images is None else as_pictures(images)[0]
        several = _is_conversations(text)
        results: list[list[dict[str, Any]]] = []
        for prompt in text if several else [text]:
            _check_end(prompt)
            written = await self.model.generate(prompt, images=pictures, **settings)
            texts: list[str] = [written] if isinstance(written, str) else written
            results.append(
                [
                    {"input_text": prompt, "generated_text": _join(prompt, one, return_full_text)}
                    for one in texts
                ]
            )
        return results if several else results[0]


def _is_messages(value: Any) -> bool:
    is_list = isinstance(value, (list, tuple)) and bool(cast("Sequence[Any]", value))
    return is_list and (isinstance(value[0], Mapping) or _is_conversations(value))


def _is_conversations(value: Any) -> bool:
    """Return whether a value is a list of lists of messages."""
    is_list = isinstance(value, (list, tuple)) and bool(cast("Sequence[Any]", value))
    return is_list and isinstance(value[0], (list, tuple))


def _check_end(prompt: Any) -> None:
    """Raise `DataError` NNM704 if the last message is the model's own."""
    if not isinstance(prompt, str) and prompt and prompt[-1].get("role") == "assistant":
        hint = "end with a message of the user"
        raise DataError("NNM704", "the last message is one of the model", hint=hint)


def _join(prompt: Any, text: str, full: bool) -> Any:
    if not full:
        return text
    if isinstance(prompt, str):
        return prompt + text
    return [*prompt, {"role": "assistant", "content": text}]
