"""The part of a text that answers a question.

Source: J. Devlin et al., "BERT", arXiv:1810.04805 (2018), section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.scores import softmax
from webnnm.tasks.text_rows import Row, as_list, encode_text, get_limit, get_tokenizer, run_rows

MASKED = -10000.0
"""The score of tokens that are not of the text."""


class _Window(NamedTuple):
    """A part of a text with the question in front: the row, and where the text is in it.

    `first` and `last` are positions in the row, `skipped` tokens of the text are before the window.
    """

    row: Row
    first: int
    last: int
    skipped: int


class QuestionAnswering(Pipeline):
    """Finds the part of a text that answers a question.

    >>> async def ask(answer):
    ...     found = await answer(question="Where do I live?", context="I live in Berlin.")
    ...     return found["answer"], found["score"]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"start_logits"})
    classes = "…ForQuestionAnswering"
    uses_tokenizer = True

    async def __call__(
        self,
        inputs: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
        *,
        question: str | Sequence[str] | None = None,
        context: str | Sequence[str] | None = None,
        top_k: int = 1,
        max_answer_len: int = 15,
        max_seq_len: int = 384,
        doc_stride: int = 128,
        handle_impossible_answer: bool = False,
        batch_size: int = 1,
    ) -> Any:
        """Return a dict with `score`, `start`, `end` and `answer`, or a list of them.

        - `inputs`: a dict with `question` and `context`, or a list of these; or `question` and
          `context` by name, one context serving several questions.
        - `top_k`: how many answers; above 1 they are a list.
        - `max_answer_len`: the most tokens of an answer.
        - `max_seq_len`, `doc_stride`: longer texts are read in windows of so many tokens, question
          included, which overlap by so many.
        - `handle_impossible_answer`: whether "" is an answer, for models that learnt it.
        """
        pairs, single = _read_inputs(inputs, question, context)
        limit = min(max_seq_len, get_limit(self.model) or max_seq_len)
        results: list[Any] = []
        for query, text in pairs:
            windows = self._cut(query, text, limit, doc_stride)
            rows = [window.row for window in windows]
            answers: list[dict[str, Any]] = []
            null = 1.0
            number = 0
            spans = self._find_spans(text)
            async for result in run_rows(self.model, rows, batch_size):
                starts, ends = map(result.get_scores, ("start_logits", "end_logits"))
                best, impossible = _select(starts, ends, windows[number], top_k, max_answer_len)
                null = min(null, impossible)
                answers += [self._describe(text, spans, windows[number], *one) for one in best]
                number += 1
            if handle_impossible_answer:
                answers.append({"score": null, "start": 0, "end": 0, "answer": ""})
            answers = sorted(answers, key=lambda answer: -answer["score"])[:top_k]
            results.append(answers[0] if top_k == 1 else answers)
        return results[0] if single else results

    def _find_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each token of a text is."""
        tokenizer = get_tokenizer(self.model)
        return tokenizer.offsets.find(text, tokenizer.get_pieces(tokenizer.encode_rendered(text)))

    def _cut(self, question: str, text: str, limit: int, stride: int) -> list[_Window]:
        """Return windows over the tokens of a text, each after the question."""
        row = encode_text(self.model, (question, text), truncation=None)
        own = get_tokenizer(self.model).encode_rendered(text)
        size, ids, tail = len(own), row.ids, 0
        if not size:
            raise DataError("NNM704", "the context is empty", hint="give a text")
        while ids[len(ids) - size - tail : len(ids) - tail] != own:
            tail += 1  # a last token of the file, such as [SEP]
        first = len(ids) - size - tail
        room = limit - first - tail
        if room <= min(stride, size - 1):
            message = f"the question has {first} tokens, and the windows {limit}"
            raise DataError("NNM704", message, hint="raise max_seq_len, or lower doc_stride")
        windows: list[_Window] = []
        start = 0
        while True:
            end = min(size, start + room)
            parts = [
                values[:first] + values[first + start : first + end] + values[first + size :]
                for values in row
            ]
            windows.append(_Window(Row(*parts), first, first + end - start, start))
            if end == size:
                return windows
            start += room - stride

    def _describe(
        self,
        text: str,
        spans: Sequence[tuple[int, int]],
        window: _Window,
        score: float,
        first: int,
        last: int,
    ) -> dict[str, Any]:
        shift = window.skipped - window.first
        start, end = spans[first + shift][0], spans[last + shift][1]
        while start > 0 and _is_letter(text, start - 1) and _is_letter(text, start):
            start -= 1
        while end < len(text) and _is_letter(text, end - 1) and _is_letter(text, end):
            end += 1
        return {"score": score, "start": start, "end": end, "answer": text[start:end]}


def _is_letter(text: str, position: int) -> bool:
    return text[position].isalnum()


def _select(
    starts: Sequence[float], ends: Sequence[float], window: _Window, top_k: int, longest: int
) -> tuple[list[tuple[float, int, int]], float]:
    """Return the best answers in a window, and the score of none.

    The first token of the row stands for no answer.
    """
    inside = range(window.first, window.last)
    begin, finish = (
        softmax(
            [
                value if k in inside or k == 0 else MASKED
                for k, value in enumerate(side[: len(window.row.ids)])
            ]
        )
        for side in (starts, ends)
    )
    pairs = [
        (begin[first] * finish[last], first, last)
        for first in inside
        for last in range(first, min(window.last, first + longest))
    ]
    pairs.sort(key=lambda pair: -pair[0])
    return pairs[:top_k], begin[0] * finish[0]


def _read_inputs(inputs: Any, question: Any, context: Any) -> tuple[list[tuple[str, str]], bool]:
    """Return pairs of a question and a text, and whether a single one was given."""
    if inputs is not None:
        entries, single = as_list(inputs, Mapping)
        try:
            return [(entry["question"], entry["context"]) for entry in entries], single
        except (KeyError, TypeError) as error:
            message = 'an input has no "question" and "context"'
            hint = '{"question": …, "context": …}, or question= and context='
            raise DataError("NNM702", message, hint=hint) from error
    if question is None or context is None:
        hint = "question= and context=, or a dict of both"
        raise DataError("NNM702", "there is no question or no context", hint=hint)
    questions, single = as_list(question, str)
    texts, one = as_list(context, str)
    if one:
        texts = texts * len(questions)
    if len(texts) != len(questions):
        message = f"there are {len(questions)} questions and {len(texts)} contexts"
        raise DataError("NNM702", message, hint="give one context for each, or a single one")
    return [*zip(questions, texts, strict=True)], single
