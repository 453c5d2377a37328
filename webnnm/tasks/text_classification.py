"""The class of a text, such as its sentiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import best_labels
from webnnm.tasks.text_rows import as_list, encode_text, run_rows

Text = str | Mapping[str, str]


class TextClassification(Pipeline):
    """Returns the most likely classes of texts, with their scores.

    >>> async def judge(classify):
    ...     await classify("What a day!")  # [{"label": "POSITIVE", "score": 0.99}]
    ...     return await classify(["What a day!", "My money back!"], top_k=None)
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForSequenceClassification"
    uses_tokenizer = True
    general = True

    def fits(self) -> bool:
        """Return whether there is one row of scores for each text."""
        return self.model.describe_output("logits").sequence is None

    async def __call__(
        self,
        inputs: Text | Sequence[Text],
        *,
        top_k: int | Literal["best"] | None = "best",
        function_to_apply: str | None = None,
        batch_size: int = 1,
        truncation: bool = False,
    ) -> Any:
        """Return a list of dicts with `label` and `score`, one for each text.

        With `top_k` it has a list of dicts for each text; of a single text, it is that list.

        - `inputs`: a text, a dict with `text` and `text_pair`, or a list of these.
        - `top_k`: how many classes, all for None. Without it a single one, which is not in a list
          of its own.
        - `function_to_apply`: "softmax", "sigmoid" or "none"; by default what the config says:
          sigmoid for several labels at once and for a single output, none for regression.
        - `batch_size`: how many texts are computed at once.
        - `truncation`: whether texts that are too long lose their end, instead of NNM711.
        """
        texts, single = as_list(inputs, (str, Mapping))
        rows = (encode_text(self.model, _pair(text), truncation=truncation) for text in texts)
        results: list[Any] = []
        async for result in run_rows(self.model, rows, batch_size):
            count = 1 if top_k == "best" else top_k
            logits = result.get_scores("logits")
            best = best_labels(logits, self.model.config, count, function_to_apply)
            results.append(best[0] if top_k == "best" else best)
        is_listed = isinstance(inputs, str) and top_k == "best"
        return results[0] if single and not is_listed else results


def _pair(text: Text) -> Any:
    if isinstance(text, str):
        return text
    pair = text.get("text"), text.get("text_pair")
    return pair if pair[1] is not None else pair[0]
