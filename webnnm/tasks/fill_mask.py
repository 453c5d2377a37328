"""The words that fit into a gap of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import rank, softmax
from webnnm.tasks.text_rows import Result, as_list, encode_text, get_tokenizer, run_rows

USUAL = ("[MASK]", "<mask>")
"""The mask token where a folder does not name it."""


class FillMask(Pipeline):
    """Returns the most likely tokens at a mask.

    >>> async def complete(fill):
    ...     return (await fill("Paris is the [MASK] of France."))[0]["token_str"]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForMaskedLM"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether there are scores of all tokens at each position."""
        features = self.model.describe_output("logits")
        if features.sequence is None or self.model.continues_texts:
            return False
        return not self.class_name or self.class_name.endswith("ForMaskedLM")

    @property
    def mask_token(self) -> str:
        """The text of the mask, such as "[MASK]". Raises `DataError` NNM718 if there is none."""
        special = self.model.tokenizer.template.special
        added = get_tokenizer(self.model).added
        mask = special.get("mask_token") or next((text for text in USUAL if text in added), None)
        if mask is None:
            message = "the tokenizer has no mask token"
            raise DataError("NNM718", message, hint="load a folder with tokenizer_config.json")
        return mask

    async def __call__(
        self,
        inputs: str | Sequence[str],
        *,
        top_k: int = 5,
        targets: str | Sequence[str] | None = None,
        batch_size: int = 1,
    ) -> list[Any]:
        """Return dicts with `score`, `token`, `token_str` and `sequence`, best first.

        They are in a list, in one for each mask if a text has several, and for several texts in one
        for each. With several masks, sequences show control tokens.

        - `targets`: words that alone are considered; each must be a single token.

        Raises `DataError` NNM704 for a text without a mask, and for targets of several tokens.
        """
        texts, single = as_list(inputs, str)
        (mask,) = self._tokens_of(self.mask_token)
        for text in texts:
            if self.mask_token not in text:
                hint = f"write {self.mask_token} where a word is missing"
                raise DataError("NNM704", f'"{text[:60]}" has no mask', hint=hint)
        allowed = None if targets is None else self._read_targets(targets)
        rows = [encode_text(self.model, text, truncation=False) for text in texts]
        results = [
            self._fill(result, mask, top_k, allowed)
            async for result in run_rows(self.model, rows, batch_size)
        ]
        return results[0] if single else results

    def _fill(
        self, result: Result, mask: int, top_k: int, allowed: Sequence[int] | None
    ) -> list[Any]:
        ids, decode = result.row.ids, get_tokenizer(self.model).decode
        of_masks: list[list[dict[str, Any]]] = []
        places = [k for k, token in enumerate(ids) if token == mask]
        for position in places:
            scores = softmax(result.get_scores("logits", position))
            candidates = allowed or range(len(scores))
            order = rank([scores[token] for token in candidates], top_k)
            of_masks.append(
                [
                    {
                        "score": scores[token],
                        "token": token,
                        "token_str": decode([token]),
                        "sequence": decode(
                            [*ids[:position], token, *ids[position + 1 :]], special=len(places) > 1
                        ),
                    }
                    for token in (candidates[k] for k in order)
                ]
            )
        return of_masks[0] if len(places) == 1 else of_masks

    def _tokens_of(self, text: str) -> list[int]:
        return self.model.tokenizer.encode_rendered(text)

    def _read_targets(self, targets: str | Sequence[str]) -> list[int]:
        tokens: list[int] = []
        for target in as_list(targets, str)[0]:
            tokens_of_target = self._tokens_of(target)
            if len(tokens_of_target) != 1:
                message = f'target "{target}" is {len(tokens_of_target)} tokens'
                raise DataError("NNM704", message, hint="give words that are one token each")
            tokens += tokens_of_target
        return tokens
