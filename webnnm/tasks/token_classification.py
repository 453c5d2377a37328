"""The class of each token of a text, such as names of persons and places, joined to words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import read_labels, softmax
from webnnm.tasks.text_rows import (
    Result,
    as_list,
    encode_text,
    find_tokens,
    get_tokenizer,
    run_rows,
)
from webnnm.transformers.offsets import PREFIX

STRATEGIES = ("none", "simple", "first", "average", "max")


@dataclass(frozen=True)
class _Token:
    """A token, or several that are one word: probabilities, where, and whether a word goes on.

    `parts` are the numbers of its tokens, and the text of those that the vocabulary lacks.
    """

    parts: tuple[int | str, ...]
    piece: str
    index: int
    start: int
    end: int
    scores: tuple[float, ...]
    continues: bool = False

    @property
    def best(self) -> int:
        """The most likely class."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)


class TokenClassification(Pipeline):
    """Returns the tokens, or the groups of tokens, that belong to a class.

    >>> async def find_places(recognize):
    ...     found = await recognize("I live in New York.", aggregation_strategy="simple")
    ...     return [entity["word"] for entity in found if entity["entity_group"] == "LOC"]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"logits"})
    classes = "…ForTokenClassification"
    uses_tokenizer = True

    def fits(self) -> bool:
        """Return whether there is a row of scores, of the classes of the config, for each token."""
        features = self.model.describe_output("logits")
        labels = self.model.config.get("id2label") or {}
        return features.sequence is not None and (
            len(labels) == features.sizes()[-1]
            or self.class_name.endswith("ForTokenClassification")
        )

    async def __call__(
        self,
        inputs: str | Sequence[str],
        *,
        aggregation_strategy: str = "none",
        ignore_labels: Sequence[str] = ("O",),
        batch_size: int = 1,
    ) -> list[Any]:
        """Return a list of dicts for a text, or a list of these for several.

        Without aggregation a dict has `entity`, `score`, `index`, `word`, and where it is in the
        text, `start` and `end`; with one, `entity_group` in place of `entity` and `index`.

        - `aggregation_strategy`: "simple" joins neighbouring tokens of a class; "first", "average"
          and "max" also give the tokens of a word one class: that of the first, of the mean of
          their probabilities, or of the most certain one.
        - `ignore_labels`: classes that are left out.
        """
        if aggregation_strategy not in STRATEGIES:
            hint = f"one of {', '.join(STRATEGIES)}"
            message = f'aggregation_strategy is "{aggregation_strategy}"'
            raise DataError("NNM704", message, hint=hint)
        texts, single = as_list(inputs, str)
        rows = [encode_text(self.model, text, truncation=False) for text in texts]
        results: list[list[dict[str, Any]]] = []
        async for result in run_rows(self.model, rows, batch_size):
            text = texts[len(results)]
            tokens = [*self._read(text, result)]
            results.append([*self._describe(tokens, aggregation_strategy, ignore_labels)])
        return results[0] if single else results

    def _read(self, text: str, result: Result) -> Iterator[_Token]:
        """Yield the tokens of a text, without the first and last ones."""
        offsets = get_tokenizer(self.model).offsets
        for index, token, piece, (start, end) in find_tokens(self.model, text, result.row):
            covered = text[start:end]
            part: int | str = token
            if offsets.unknown == piece:
                continues, part = False, covered
                piece = covered
            elif offsets.whole_words:
                continues = piece.startswith(PREFIX)
            else:
                continues = start > 0 and not any(map(str.isspace, text[start - 1 : start + 1]))
            scores = softmax(result.get_scores("logits", index))
            yield _Token((part,), piece, index, start, end, tuple(scores), continues)

    def _describe(
        self, tokens: Sequence[_Token], strategy: str, ignored: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        labels = read_labels(self.model.config, len(tokens[0].scores)) if tokens else []
        if strategy == "none":
            for token in tokens:
                if labels[token.best] not in ignored:
                    yield {
                        "entity": labels[token.best],
                        "score": token.scores[token.best],
                        "index": token.index,
                        "word": token.piece,
                        "start": token.start,
                        "end": token.end,
                    }
            return
        words = tokens if strategy == "simple" else [*_join_words(tokens, strategy)]
        for group in _group(words, labels):
            name = _split(labels[group[0].best])[1]
            if name not in ignored:
                yield {
                    "entity_group": name,
                    "score": sum(token.scores[token.best] for token in group) / len(group),
                    "word": self._write([part for token in group for part in token.parts]),
                    "start": group[0].start,
                    "end": group[-1].end,
                }

    def _write(self, parts: Sequence[int | str]) -> str:
        """Return the text of tokens, in which unknown words are as they were given."""
        decode = get_tokenizer(self.model).decode
        texts = [
            decode(run) if is_number else " ".join(run)
            for is_number, group in groupby(parts, lambda part: isinstance(part, int))
            for run in [cast("list[Any]", [*group])]
        ]
        return re.sub(r" ([.?!,])", r"\1", " ".join(texts))


def _join_words(tokens: Sequence[_Token], strategy: str) -> Iterator[_Token]:
    """Yield words: tokens of which one continues the other get the scores of one class."""
    words: list[list[_Token]] = []
    for token in tokens:
        if token.continues and words:
            words[-1].append(token)
        else:
            words.append([token])
    for group in words:
        match strategy:
            case "first":
                scores = group[0].scores
            case "max":
                scores = max((token.scores for token in group), key=max)
            case _:
                columns = zip(*(token.scores for token in group), strict=True)
                scores = tuple(sum(column) / len(group) for column in columns)
        parts = tuple(part for token in group for part in token.parts)
        yield replace(group[0], parts=parts, end=group[-1].end, scores=scores)


def _group(words: Sequence[_Token], labels: Sequence[str]) -> Iterator[list[_Token]]:
    """Yield neighbouring words of one class; a label that begins with "B-" begins a group."""
    group: list[_Token] = []
    for token in words:
        begins, name = _split(labels[token.best])
        if group and (begins or name != _split(labels[group[-1].best])[1]):
            yield group
            group = []
        group.append(token)
    if group:
        yield group


def _split(label: str) -> tuple[bool, str]:
    """Return whether a label begins a group, and its name without "B-" or "I-".

    >>> _split("B-LOC"), _split("LOC")
    ((True, 'LOC'), (False, 'LOC'))
    """
    return label.startswith("B-"), label[2:] if label[:2] in ("B-", "I-") else label
