"""Texts in the order in which they answer a query.

Source: R. Nogueira, K. Cho, "Passage re-ranking with BERT", arXiv:1901.04085 (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import rank, score
from webnnm.tasks.text_rows import encode_text, run_rows


class TextRanking(Pipeline):
    """Ranks texts by how well they answer a query, with a model that reads both together.

    >>> async def find_best(rerank, query, texts):
    ...     return texts[(await rerank(query, texts))[0]["index"]]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForSequenceClassification with a single label, that is, cross-encoders"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether there is a single score for each pair of texts."""
        features = self.model.describe_output("logits")
        return features.sequence is None and features.sizes() == (1,)

    async def __call__(
        self,
        inputs: str | Mapping[str, Any],
        texts: Sequence[str] | None = None,
        *,
        top_k: int | None = None,
        function_to_apply: str | None = None,
        return_text: bool = False,
        batch_size: int = 1,
        truncation: bool = True,
    ) -> list[dict[str, Any]]:
        """Return dicts with `index` and `score`, best first.

        - `inputs`: the query, or a dict with `query` and `texts`.
        - `texts`: those that are ranked; `index` is the place of a text among them.
        - `top_k`: how many, all for None.
        - `function_to_apply`: "sigmoid" or "none"; by default what the config says.
        - `return_text`: whether the dicts also have the `text`.
        - `batch_size`: how many texts are computed at once.
        - `truncation`: whether the query of a text that is too long loses its end, instead of
          NNM711.
        """
        if isinstance(inputs, Mapping):
            inputs, texts = inputs["query"], inputs["texts"]
        if not texts or isinstance(texts, str):
            raise DataError("NNM704", "there are no texts to rank", hint="give a query and a list")
        rows = (encode_text(self.model, (inputs, text), truncation=truncation) for text in texts)
        scores = [
            score(result.get_scores("logits"), self.model.config, function_to_apply)[0]
            async for result in run_rows(self.model, rows, batch_size)
        ]
        more = [{"text": text} if return_text else {} for text in texts]
        return [
            {"index": index, "score": scores[index], **more[index]} for index in rank(scores, top_k)
        ]
