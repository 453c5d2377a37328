"""A dataset of texts with a label each: a class or a number."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.data.field import Kind
from webnnm.data.files.labelled_files import LabelledFiles, list_folder, list_names, load_file
from webnnm.data.intake import ONLY_BLOCK
from webnnm.data.preparation.equal_rows import number_distinct
from webnnm.data.split import Method, Split
from webnnm.data.tables.columns import Table, as_table
from webnnm.data.tables.encoding import LabelEncoder
from webnnm.data.tables.table_dataset import Task, read_label
from webnnm.data.texts.reading import TextReader
from webnnm.data.texts.token_choice import TokenChoice, choose_tokens
from webnnm.data.texts.token_models import MAX_NGRAM
from webnnm.data.texts.tokenizer import TextTokenizer
from webnnm.data.texts.vocabulary import MINIMUM_COUNTS, NGRAMS, SIZES, UNITS, learn_vocabulary

ENDINGS = (".txt",)
"""The endings of the names of files that are texts."""
QUANTILE = 0.95
"""So many of the training texts fit into the default length as a whole."""
MIN_LENGTH, MAX_LENGTH = 32, 256
"""The bounds of the default length, in tokens: texts to come may be longer than those there are."""
NGRAMS_OF_WORD = 4
"""The bounds are so many times as high for n-grams, of which a word has several."""


@dataclass(frozen=True, slots=True)
class TextReport:
    """What was found in texts.

    Attributes: `rows`, and how many were `dropped`; `vocabulary`, the number of tokens; `length`,
    the tokens that are read of a text, and how many texts are `cut` there; `unknown`, the share of
    tokens outside the training rows that the vocabulary does not have; `label`, its kind.
    """

    rows: int
    dropped: int
    vocabulary: int
    length: int
    cut: int
    unknown: float
    label: str

    def __str__(self) -> str:
        unknown = f", {self.unknown:.1%} of those in other rows are unknown" if self.unknown else ""
        cut = f", where {self.cut} of {self.rows - self.dropped} are cut" if self.cut else ""
        return "\n".join(
            [
                f"{self.rows} texts, {self.dropped} of them dropped",
                f"vocabulary: {self.vocabulary} tokens{unknown}",
                f"length: up to {self.length} tokens{cut}",
                f"label: {self.label}",
            ]
        )


@require_await_of_methods("dataset")
class LabeledTextDataset(Dataset):
    """A dataset of texts with a label each, for models that classify texts or judge them.

    >>> reviews = LabeledTextDataset(["so good", "so bad", "good!", "bad!"], [1, 0, 1, 0],
    ...     split=(1, 0, 0))
    >>> list(reviews.reader.tokenizer.vocabulary)
    ['[PAD]', '[UNK]', '!', 'bad', 'good', 'so']
    >>> reviews.encode("So good")
    [[5, 4]]

    - `texts`: a list of texts; or a table with a column of them, as `TableDataset` takes it.
    - `labels`: the label of each text: classes, as words or integers, or numbers.
    - `text`, `label`: the columns of a table, by name or position; by default the last one has the
      labels, and the only other one the texts.
    - `tokens`: what a token is. "words": a word, a punctuation mark or an emoji. "ngrams": every
      word, and every part of one of so many letters as `ngrams` says, which suits short texts such
      as titles and names. "letters": a character. "bytes": a part of a word, as frequent pairs of
      bytes give it, which suits every script. Or the tokenizer of another model: a model of
      `from_pretrained`, or the text or the path of a `tokenizer.json`.
    - `ngrams`: the fewest and the most letters of n-grams, with the spaces around a word.
    - `vocabulary`: the most tokens that are learnt from the training rows, by default 5000 words,
      10,000 n-grams, 1000 letters, 5000 byte pairs.
    - `minimum_count`: how often a token occurs in the training rows at least, by default once, or
      twice for n-grams and byte pairs. Others are one token, that of unknown words; n-grams of a
      word that has known ones are left out.
    - `lowercase`: whether capital letters are read as small ones.
    - `length`: the tokens that are read of a text, the first ones; by default 95% of the training
      texts fit as a whole, from 32 to at most 256 tokens, four times as many n-grams, and no more
      than the model of `tokens` has positions for. "max": as many as the longest text has.
    - `task`: "classification", "regression" or "auto", as for `TableDataset`.
    - `missing`: what to do with rows without a text or a label: "error" or "drop".
    - `split` (row numbers count the remaining rows) and all other options are those of `Dataset`.

    The input is a sequence of token numbers: `model:input int32 shape=[] sequence=true`. The
    tokenizer is kept with a model and in its snapshot: `predict` takes texts.

    Raises the errors of `Dataset`, and `DataError` NNM702 for what is not a text, NNM704 for
    options, NNM710 for unknown columns, NNM713 for rows without a text or a label, NNM715 for a
    file that cannot be read, NNM718 for one that is not a tokenizer.

    Attributes: those of `Dataset`; `reader`, which turns texts into tokens; `label_encoder`, None
    for numbers; `label`, the name of the column; `report`, what was found in the texts;
    `token_choice`, what "auto" looked at, else None; `kept`, the numbers of the remaining rows, in
    order, and `texts`, what they say.
    """

    def __init__(
        self,
        texts: Any,
        labels: Any = None,
        *,
        text: str | int | None = None,
        label: str | int | None = None,
        tokens: Any = "words",
        ngrams: tuple[int, int] = NGRAMS,
        vocabulary: int | None = None,
        minimum_count: int | None = None,
        lowercase: bool = True,
        length: int | Literal["max"] | None = None,
        task: Task = "auto",
        missing: Literal["error", "drop"] = "error",
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        method: Method = "stratified",
        name: str = "texts",
        **options: Any,
    ) -> None:
        table = _as_table(texts, labels)
        text_index, label_index = _resolve_columns(table, text, label)
        goal = read_label(table, label_index, task)
        cells = table.columns[text_index]
        rows = _select_rows(table, text_index, label_index, goal.missing, missing)
        if len(rows) < table.row_count:
            goal = goal.take(rows)
        words = [str(cells[row]) for row in rows]
        outputs: Any = list(goal.numbers or ())
        kind: Kind = "continuous"
        self.label_encoder: LabelEncoder | None = None
        if goal.numbers is None:
            names = goal.get_words(range(len(rows)))
            self.label_encoder = LabelEncoder.fit(goal.name, names)
            outputs, kind = self.label_encoder.encode(names), "classes"
        classes = outputs if self.label_encoder else None
        training = Split(split, seed, method).rows(len(rows), classes)[0] or range(len(rows))
        tokenizer = _read_tokenizer(tokens)
        self.token_choice: TokenChoice | None = None
        if tokens == "auto":
            tokens = "words"
            if self.label_encoder:
                self.token_choice = choose_tokens(
                    [words[row] for row in training],
                    [outputs[row] for row in training],
                    lowercase=lowercase,
                )
                tokens = self.token_choice.unit if self.token_choice else tokens
        if tokenizer is None:
            least = MINIMUM_COUNTS[tokens] if minimum_count is None else minimum_count
            tokenizer = learn_vocabulary(
                [words[row] for row in training],
                tokens,
                size=SIZES[tokens] if vocabulary is None else _check(vocabulary, "vocabulary", 3),
                minimum_count=_check(least, "minimum_count", 1),
                lowercase=lowercase,
                ngrams=_check_ngrams(ngrams),
            )
        ids = [tokenizer.encode(one) for one in words]
        per_word = NGRAMS_OF_WORD if tokens == "ngrams" else 1
        limit = _resolve_length(length, ids, training, per_word)
        if length is None:
            limit = min(limit, getattr(tokens, "max_length", None) or limit)
        self.reader = TextReader(tokenizer, limit, table.names[text_index])
        self.label = goal.name
        self.label_format = goal.number_format
        self.kept: Sequence[int] = rows
        self.texts: Sequence[str] = words
        self.report = TextReport(
            table.row_count,
            table.row_count - len(rows),
            tokenizer.size,
            limit,
            sum(len(one) > limit for one in ids),
            _measure_unknown(tokenizer, ids, training),
            "a number"
            if self.label_encoder is None
            else f"{len(self.label_encoder.classes)} classes",
        )
        super().__init__(
            _to_rows([one[:limit] for one in ids]),
            outputs,
            name=name,
            split=split,
            seed=seed,
            method=method,
            labels=self.label_encoder and self.label_encoder.classes,
            kinds={ONLY_BLOCK: kind},
            length=limit,
            **options,
        )
        self.merged_words = _number_merged_texts(words, ids, tokenizer, limit, lowercase=lowercase)
        # The kind follows from the task, which says nothing about what these numbers are.
        self.outputs = {b: replace(field, declared=False) for b, field in self.outputs.items()}

    @classmethod
    async def from_folder(
        cls, folder: Any, *, encoding: str = "utf-8", **options: Any
    ) -> LabeledTextDataset:
        """Read the texts `label/name.txt` of a folder or a zip archive.

        >>> async def load():
        ...     return await LabeledTextDataset.from_folder("reviews")

        - `folder`: a path; of an archive also its address, its bytes or an open file. Folders named
          train, validation and test, each with folders of labels, are the subsets. Hidden files
          and those with other endings are ignored.
        - `encoding`: how the files are written, such as "cp1252".

        All other options are those of the class. Raises its errors, and `DataError` NNM704 for an
        unknown encoding, NNM706 for a file that is in no folder, NNM713 for one in another
        encoding, NNM715, NNM801 and NNM802 for files that cannot be read.
        """
        files, texts = await read_text_files(folder, encoding)
        kept = [row for row, text in enumerate(texts) if text.strip()]
        empty = [files.names[row] for row in sorted({*range(len(texts))}.difference(kept))]
        if empty and options.get("missing") != "drop":
            raise DataError(
                "NNM713",
                f"{list_names(empty)} {'is' if len(empty) == 1 else 'are'} empty",
                hint="missing='drop' leaves such files out",
            )
        rest = files.select(kept)
        if rest.split is not None:
            options.setdefault("split", rest.split)
        dataset = cls([texts[row] for row in kept], rest.labels, **options)
        dataset.kept = kept
        dropped = len(texts) - len(kept)
        dataset.report = replace(dataset.report, rows=len(texts), dropped=dropped)
        return dataset

    def encode(self, texts: Any) -> list[list[int]]:
        """Return the numbers of the tokens of a text or of texts, as `model.predict` reads them."""
        return self.reader.encode("texts", texts)


async def read_text_files(folder: Any, encoding: str) -> tuple[LabelledFiles, list[str]]:
    """Return the files `label/name.txt` of a folder or a zip archive, and what is in them."""
    files = await list_folder(folder, ENDINGS)
    texts = [
        _decode(await load_file(source), name, encoding)
        for source, name in zip(files.sources, files.names, strict=True)
    ]
    return files, texts


def _decode(content: bytes, name: str, encoding: str) -> str:
    """Return the text of a file."""
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except LookupError as error:
        hint = "such as utf-8 or cp1252"
        raise DataError("NNM704", f"encoding is {encoding!r:.60}", hint=hint) from error
    except UnicodeError as error:
        hint = "encoding= names the encoding, such as cp1252"
        raise DataError("NNM713", f"{name} is not {encoding}: {error}", hint=hint) from error


def _as_table(texts: Any, labels: Any) -> Table:
    if isinstance(texts, str):
        hint = "give a list of texts, or the table that read_csv returns"
        raise DataError("NNM702", "one text is no dataset", hint=hint)
    return as_table(texts if labels is None else {"text": texts, "label": labels})


def _resolve_columns(
    table: Table, text: str | int | None, label: str | int | None
) -> tuple[int, int]:
    """Return the columns of the texts and of the labels."""
    if not table.row_count:
        raise DataError("NNM705", "there are no texts")
    target = table.index(-1 if label is None else label)
    others = [index for index in range(len(table.names)) if index != target]
    if text is None and len(others) != 1:
        names = ", ".join(table.names)
        raise DataError("NNM704", f"which of the columns has the texts? {names}", hint="text=…")
    source = others[0] if text is None else table.index(text)
    if source == target:
        raise DataError("NNM704", f'column "{table.names[source]}" is used twice')
    return source, target


def _select_rows(
    table: Table, text: int, label: int, unlabelled: Sequence[int], missing: str
) -> Sequence[int]:
    """Return the rows that have a text and a label."""
    if missing not in ("error", "drop"):
        raise DataError("NNM704", f"missing={missing!r}", hint='"error" or "drop"')
    gone = set(unlabelled)
    for row, cell in enumerate(table.columns[text]):
        if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
            gone.add(row)
        elif not isinstance(cell, str):
            raise DataError("NNM702", f"{table.place(row, text)} is {cell!r:.60}, not a text")
    if gone and missing == "error":
        row = min(gone)
        column = label if row in unlabelled else text
        raise DataError(
            "NNM713",
            f"{table.place(row, column)} is empty; {len(gone)} of {table.row_count} rows lack a "
            "text or a label",
            hint="missing='drop' leaves such rows out",
        )
    rows = [row for row in range(table.row_count) if row not in gone]
    if not rows:
        raise DataError("NNM705", f"no rows are left: all {table.row_count} lack a text or a label")
    return rows


def _read_tokenizer(tokens: Any) -> TextTokenizer | None:
    """Return the tokenizer of another model, None for a unit that is to be learnt."""
    if isinstance(tokens, TextTokenizer):
        return tokens
    if hasattr(tokens, "tokenizer"):  # a pretrained model
        return TextTokenizer(getattr(tokens.tokenizer, "text", ""))
    if isinstance(tokens, Path) or (isinstance(tokens, str) and tokens.endswith(".json")):
        try:
            return TextTokenizer(Path(tokens).read_text("utf-8"))
        except OSError as error:
            raise DataError("NNM715", f'"{tokens}" cannot be read: {error}') from error
        except UnicodeDecodeError as error:
            hint = "a tokenizer.json is written in UTF-8"
            raise DataError("NNM718", f'"{tokens}" is not UTF-8: {error}', hint=hint) from error
    if isinstance(tokens, str) and tokens.lstrip().startswith("{"):
        return TextTokenizer(tokens)
    if tokens not in (*UNITS, "auto"):
        names = ", ".join(f'"{unit}"' for unit in (*UNITS, "auto"))
        hint = suggestion(str(tokens), UNITS) or f"{names}, or the path of a tokenizer.json"
        raise DataError("NNM704", f"tokens is {tokens!r:.60}", hint=hint)
    return None


def _check(number: Any, name: str, least: int) -> int:
    if not is_integer(number) or number < least:
        raise DataError("NNM704", f"{name} is {number!r:.60}", hint=f"an integer from {least}")
    return number


def _check_ngrams(ngrams: Any) -> tuple[int, int]:
    """Return the fewest and the most letters of n-grams."""
    if not isinstance(ngrams, (list, tuple)) or len(cast("Sequence[Any]", ngrams)) != 2:
        hint = "the fewest and the most letters, such as (2, 4)"
        raise DataError("NNM704", f"ngrams is {ngrams!r:.60}", hint=hint)
    shortest, longest = cast("tuple[Any, Any]", ngrams)
    for size in (shortest, longest):
        if not is_integer(size) or not 1 <= shortest <= size <= MAX_NGRAM:
            hint = f"two integers from 1 to {MAX_NGRAM}, the smaller one first"
            raise DataError("NNM704", f"ngrams is {ngrams!r:.60}", hint=hint)
    return shortest, longest


def _resolve_length(
    length: Any, ids: Sequence[Sequence[int]], training: Iterable[int], per_word: int
) -> int:
    """Return the most tokens of a row, if a word has `per_word` of them."""
    if length == "max":
        return max(map(len, ids))
    if length is not None:
        return _check(length, "length", 1)
    lengths = sorted(len(ids[row]) for row in training)
    quantile = lengths[math.ceil(QUANTILE * len(lengths)) - 1]
    return min(per_word * MAX_LENGTH, max(per_word * MIN_LENGTH, quantile))


def _to_rows(ids: list[list[int]]) -> Any:
    """Return rows of integers, which are one array if they do not differ in length."""
    if len({*map(len, ids)}) == 1:
        return HostArray.of(ids, "int32")
    return [array("i", row) for row in ids]


def _number_merged_texts(
    texts: Sequence[str],
    ids: Sequence[Sequence[int]],
    tokenizer: TextTokenizer,
    limit: int,
    *,
    lowercase: bool,
) -> dict[str, HostArray]:
    """Return a number for each text with unknown words or a cut end, 0 for all others."""
    merged = number_distinct(
        (text.lower() if lowercase else text)
        if len(tokens) > limit or tokenizer.unknown in tokens
        else None
        for text, tokens in zip(texts, ids, strict=True)
    )
    return {ONLY_BLOCK: HostArray.of(merged, "int32")} if any(merged) else {}


def _measure_unknown(
    tokenizer: TextTokenizer, ids: Sequence[Sequence[int]], training: Iterable[int]
) -> float:
    """Return the share of unknown tokens in the rows that are not of the training."""
    seen = set(training)
    others = [token for row, tokens in enumerate(ids) if row not in seen for token in tokens]
    return others.count(cast(int, tokenizer.unknown)) / max(1, len(others))
