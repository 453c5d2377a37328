"""Questions about pictures, answered by models that read both.

Source: J. Li et al., "BLIP", arXiv:2201.12086 (2022), section 5.3.
"""

from __future__ import annotations

from typing import Any

from webnnm.tasks.document_questions import read_pairs
from webnnm.tasks.image_to_text import read_length
from webnnm.tasks.picture_task import PictureTask
from webnnm.tasks.text_generation import read_sampling


class VisualQuestionAnswering(PictureTask):
    """Answers questions about pictures.

    >>> async def count_cats(answer):
    ...     return (await answer("photo.jpg", "How many cats are there?"))[0]["answer"]
    """

    inputs = frozenset({"pixel_values", "input_ids", "decoder_input_ids"})
    outputs = frozenset({"logits"})
    classes = "BlipForQuestionAnswering"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether the model reads questions, rather than tasks with pictures in them."""
        return not self.model.takes_pictures

    async def __call__(
        self,
        image: Any,
        question: str | None = None,
        *,
        do_sample: bool | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Return a list of a dict with `answer`, or a list of these for a list of dicts.

        The arguments are those of `DocumentQuestionAnswering`.
        """
        pairs, single = read_pairs(image, question)
        options = {
            **read_length(self.model.generation_config),
            **read_sampling(do_sample, settings),
        }
        tokenizer = self.model.tokenizer
        results: list[Any] = []
        for picture, query in pairs:
            ids = [tokenizer.encode(query)]
            async for _, arrays in self.prepare_batches([picture], 1):
                rows = await self.model.generate_ids(ids, **arrays, **options)
                results.append([{"answer": tokenizer.decode(row).strip()} for row in rows])
        return results[0] if single else results
