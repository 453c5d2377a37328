"""Questions about pictures of pages, answered by models that read them.

Source: G. Kim et al., "OCR-free document understanding transformer", arXiv:2111.15664 (2021).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.tasks.image_to_text import read_length
from webnnm.tasks.picture_task import PictureTask
from webnnm.tasks.text_generation import read_sampling
from webnnm.tasks.text_rows import get_tokenizer
from webnnm.transformers.config import is_donut

TASK = "<s_docvqa>"
"""The token with which texts of models for the task begin."""
PROMPT = TASK + "<s_question>{}</s_question><s_answer>"
ANSWER = re.compile("<s_answer>(.*)</s_answer>")


class DocumentQuestionAnswering(PictureTask):
    """Answers questions about pictures of pages: scans, forms, invoices.

    >>> async def ask(answer):
    ...     found = await answer("invoice.png", "What is the total?")
    ...     return found[0]["answer"]
    """

    inputs = frozenset({"pixel_values", "decoder_input_ids"})
    outputs = frozenset({"logits"})
    classes = "VisionEncoderDecoderModel, a Donut that knows the task <s_docvqa>"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether the model is a Donut that was trained on questions."""
        if not is_donut(self.model.config):
            return False
        return TASK in get_tokenizer(self.model).added

    async def __call__(
        self,
        image: Any,
        question: str | None = None,
        *,
        do_sample: bool | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Return a list of a dict with `answer`, or a list of these for a list of dicts.

        - `image`: a picture, see `ImageClassification`; or a dict with `image` and `question`, or a
          list of these.
        - `question`: the question about the picture.
        - `settings`: those of `PretrainedModel.generate_ids`, such as `max_new_tokens`; what the
          generation config says is the default.

        The answer is None if the model does not write one. Raises `DataError` NNM702 for inputs
        without a picture or a question.
        """
        pairs, single = read_pairs(image, question)
        sampling = read_sampling(do_sample, settings)
        results: list[Any] = []
        for picture, query in pairs:
            start = self.model.tokenizer.encode_rendered(PROMPT.format(query))
            options = {**read_length(self.model.generation_config, len(start)), **sampling}
            async for _, arrays in self.prepare_batches([picture], 1):
                rows = await self.model.generate_ids(decoder_input_ids=[start], **arrays, **options)
                results.append([{"answer": self._find_answer(row)} for row in rows])
        return results[0] if single else results

    def _find_answer(self, row: Sequence[int]) -> str | None:
        """Return the answer in a text, None if it has no end."""
        tokenizer = get_tokenizer(self.model)
        text = tokenizer.decode(row, special=True)
        for name in ("eos_token", "pad_token"):
            text = text.replace(tokenizer.template.special.get(name) or "\0", "")
        answer = ANSWER.search(text)
        return None if answer is None else answer[1].strip()


def read_pairs(image: Any, question: str | None) -> tuple[list[tuple[Any, str]], bool]:
    """Return pictures with their questions, and whether a single one was given.

    >>> read_pairs("photo.jpg", "What?")
    ([('photo.jpg', 'What?')], True)

    Raises `DataError` NNM702 for inputs without a picture or a question.
    """
    if question is not None:
        image = {"image": image, "question": question}
    single = not isinstance(image, (list, tuple))
    entries: list[Any] = [image] if single else [*image]
    pairs: list[tuple[Any, str]] = []
    for entry in entries:
        names: Any = cast("Any", entry).keys() if isinstance(entry, Mapping) else ()
        if {*names} != {"image", "question"}:
            message = "an input has no picture, no question, or something else"
            hint = 'an image and a question, or a dict {"image": …, "question": …}'
            raise DataError("NNM702", message, hint=hint)
        if not isinstance(entry["question"], str):
            message = f"the question is a {type(entry['question']).__name__}"
            raise DataError("NNM702", message, hint="give a str")
        pairs.append((entry["image"], entry["question"]))
    return pairs, single
