"""Classes that are only named when a text is classified, by natural language inference.

Source: W. Yin et al., "Benchmarking Zero-shot Text Classification", arXiv:1909.00161 (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.candidate_labels import fill_template
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import rank, read_labels, softmax
from webnnm.tasks.text_rows import as_list, encode_text, run_rows

TEMPLATE = "This example is {}."


class ZeroShotClassification(Pipeline):
    """Returns how well each of some labels fits a text, that is, follows from it.

    >>> async def sort(classify):
    ...     return await classify("The oven stays cold.", ["kitchen", "garden"])
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForSequenceClassification with a label “entailment”"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether one of the classes is that a text follows from another."""
        return self._entailment is not None

    @property
    def _entailment(self) -> int | None:
        labels = self.model.config.get("id2label") or {}
        return next(
            (int(n) for n, name in labels.items() if str(name).lower()[:6] == "entail"), None
        )

    async def __call__(
        self,
        sequences: str | Sequence[str],
        candidate_labels: str | Sequence[str],
        *,
        hypothesis_template: str = TEMPLATE,
        multi_label: bool = False,
        batch_size: int = 1,
        truncation: bool = True,
    ) -> Any:
        """Return a dict with `sequence`, `labels` and `scores`, best first, or a list of these.

        - `candidate_labels`: a list, or one text with commas.
        - `hypothesis_template`: the sentence that should follow, with {} for the label.
        - `multi_label`: whether several labels may fit; each then has a probability of its own.
        """
        texts, single = as_list(sequences, str)
        labels, hypotheses = fill_template(candidate_labels, hypothesis_template)
        if not texts:
            raise DataError("NNM704", "there are no texts", hint="give at least one")
        pairs = [(text, hypothesis) for text in texts for hypothesis in hypotheses]
        rows = (encode_text(self.model, pair, truncation=truncation) for pair in pairs)
        logits = [
            result.get_scores("logits") async for result in run_rows(self.model, rows, batch_size)
        ]
        results: list[dict[str, Any]] = []
        for number, text in enumerate(texts):
            of_text = logits[number * len(labels) : (number + 1) * len(labels)]
            scores = self._score(of_text, multi_label or len(labels) == 1)
            order = rank(scores, None)
            results.append(
                {
                    "sequence": text,
                    "labels": [labels[k] for k in order],
                    "scores": [scores[k] for k in order],
                }
            )
        return results[0] if single else results

    def _score(self, logits: Sequence[Sequence[float]], multi_label: bool) -> list[float]:
        follows = self._entailment
        assert follows is not None
        if not multi_label:
            return softmax([row[follows] for row in logits])
        names = [name.lower() for name in read_labels(self.model.config, len(logits[0]))]
        against = [k for k, name in enumerate(names) if name[:6] == "contra"]
        other = against[0] if against else (-1 if follows == 0 else 0)
        return [softmax([row[other], row[follows]])[1] for row in logits]
