"""Datasets larger than memory: rows that are streamed one by one, or in blocks."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import by_javascript_name
from webnnm.core.shapes import is_integer
from webnnm.data.binding.decode import decode
from webnnm.data.field import SUBSETS, Field, Kind
from webnnm.data.intake import list_available, per_block, read_fields
from webnnm.data.preparation.row_weights import require_nonnegative
from webnnm.data.streams.stream_items import (
    SAMPLE_WEIGHT,
    concatenate_sequences,
    convert_rows,
    has_weights,
    iterate,
    slice_rows,
    stack_rows,
    unpack_item,
)

Arrays = dict[str, HostArray]
Items = Literal["rows", "blocks"]
Source = Callable[[str, int], Any]
"""`source(subset, epoch)` → iterable or async iterable of inputs, outputs, optional weights."""

MAX_DETECTION_ROWS = 1024
"""How many of the first training rows are used to detect fields."""


@require_await_of_methods("dataset")
class StreamDataset:
    """A dataset whose rows are produced by a function, epoch by epoch (spec G.1).

    >>> import asyncio
    >>> def source(subset, epoch):
    ...     for number in range(5):
    ...         yield [number, -number], [number + 0.5]
    >>> stream = asyncio.run(StreamDataset.create(source, rows={"training": 5}))
    >>> stream.inputs["model"].shape, stream.num_batches("training")
    ((2,), 1)
    >>> async def sizes():
    ...     return [len(x["model"]) async for x, y in stream.blocks("training", rows=2)]
    >>> asyncio.run(sizes())
    [2, 2, 1]

    `source(subset, epoch)` returns an iterator or async iterator over pairs of inputs and outputs,
    each a dict from block to array, or the array of the only block. A third item is the weight of
    the row, by which its losses are multiplied. The source determines the order of the rows, so it
    has to shuffle them if needed.

    Use `create` to detect the fields from the first rows, or the constructor to declare them in
    `inputs` and `outputs`, which are dicts from block to `Field`.

    - `rows`: the number of rows in each subset; subsets that are left out are empty.
    - `items`: "rows" if the source yields single rows, "blocks" if it yields several at a time as
      the first dimension.
    - `weighted`: whether the source yields weights; `create` detects it.
    - `name`, `batch_size`, `labels`: see `Dataset`.

    Raises `DataError` NNM704 for invalid options, NNM705 for unknown subsets.
    """

    def __init__(
        self,
        source: Source,
        *,
        rows: Mapping[str, int],
        inputs: Mapping[str, Field],
        outputs: Mapping[str, Field],
        items: Items = "rows",
        weighted: bool = False,
        name: str = "stream",
        batch_size: int = 20,
        labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._source = source
        self._items = _check_items(items)
        self.weighted = weighted
        self._rows = _check_rows(rows)
        self.name = name
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self._blocks = ({block: block for block in inputs}, {block: block for block in outputs})
        self._weights = {SAMPLE_WEIGHT: Field((), "float32")} if weighted else {}
        self._labels: dict[str, Sequence[str]] = per_block(labels, outputs, "labels")
        self.set_batch_size(batch_size)

    @classmethod
    async def create(
        cls,
        source: Source,
        *,
        rows: Mapping[str, int],
        items: Items = "rows",
        labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        length: int | Mapping[str, int] | None = None,
        **options: Any,
    ) -> StreamDataset:
        """Create a stream and detect its fields from the first training rows.

        The source is called once for this. `kinds`, `names` and `length` are those of `Dataset`.
        Classification outputs need `labels` or fields that give the number of classes, since later
        rows may contain further classes. Raises the errors of `Dataset`, and `DataError` NNM705 if
        there are no training rows.
        """
        _check_items(items)
        seen: list[tuple[dict[str, Any], ...]] = []
        weighted = False
        iterator = iterate(source("training", 0))
        try:
            async for item in iterator:
                weighted = weighted or (not seen and has_weights(item))
                seen.append(unpack_item(item, len(seen), weighted=weighted))
                if len(seen) == (MAX_DETECTION_ROWS if items == "rows" else 1):
                    break
        finally:
            await iterator.aclose()
        if not seen:
            raise DataError(
                "NNM705", "the source yields no training rows", hint='see source("training", 0)'
            )
        first = seen[0]
        if items == "rows":
            first = stack_rows([x for x, *_ in seen]), stack_rows([y for _, y, _ in seen])
        label_names = per_block(labels, first[1], "labels")
        for size in length.values() if isinstance(length, Mapping) else [length]:
            if size is not None and not is_integer(size):
                raise DataError("NNM704", f"length is {size!r}", hint="streams need an integer")
        options_of = {"kinds": kinds, "names": names, "length": length}
        (inputs, _), (outputs, _) = read_fields(first[0], first[1], label_names, options_of)
        options = {"labels": labels, "weighted": weighted, **options}
        return cls(source, rows=rows, inputs=inputs, outputs=outputs, items=items, **options)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{subset} {size}" for subset, size in self._rows.items())
        return f"{type(self).__name__}({self.name}: {sizes})"

    @property
    def batch_size(self) -> int:
        """The number of rows per batch."""
        return self._batch_size

    def set_batch_size(self, batch_size: int) -> None:
        """Set the number of rows per batch, at least 1 (else NNM704)."""
        if not is_integer(batch_size) or batch_size < 1:
            raise DataError("NNM704", f"batch_size is {batch_size}", hint="an integer from 1")
        self._batch_size = batch_size

    def labels(self, block: str | None = None) -> list[str] | None:
        """Return the class names of an output, by default the only one; None without names."""
        names = self._labels.get(self._resolve_output(block))
        return None if names is None else list(names)

    def size(self, subset: str = "full") -> int:
        """Return the declared number of rows in a subset; "full" is the total."""
        _check_subset(subset)
        return sum(self._rows.values()) if subset == "full" else self._rows.get(subset, 0)

    def num_batches(self, subset: str) -> int:
        """Return the number of batches in a subset: ⌈size/batch_size⌉."""
        return -(-self.size(subset) // self.batch_size)

    def map(self, to_model: Mapping[str, str]) -> StreamDataset:
        """Return the same stream with its fields renamed to the blocks of a model.

        Raises `DataError` NNM710 for unknown fields and duplicate names.
        """
        names = {*self.inputs, *self.outputs}
        for name in to_model:
            if name not in names:
                raise DataError(
                    "NNM710",
                    f'no field "{name}"',
                    hint=suggestion(name, names) or list_available(names),
                )
        other = copy.copy(self)

        def rename(members: Mapping[str, Any]) -> dict[str, Any]:
            return {to_model.get(block, block): value for block, value in members.items()}

        other.inputs, other.outputs = rename(self.inputs), rename(self.outputs)
        other._labels = rename(self._labels)
        other._blocks = (rename(self._blocks[0]), rename(self._blocks[1]))
        if len(other.inputs) < len(self.inputs) or len(other.outputs) < len(self.outputs):
            raise DataError("NNM710", "two fields would have one name")
        return other

    def decode(self, block: str | None, values: Any) -> Any:
        """Convert predictions to class names, or to class numbers if there are no names."""
        block = self._resolve_output(block)
        return decode(values, self.outputs[block], self._labels.get(block))

    async def blocks(
        self, subset: str, epoch: int = 0, rows: int | None = None
    ) -> AsyncIterator[tuple[Arrays, ...]]:
        """Yield the inputs and outputs of `rows` rows at a time, by default of one batch.

        The last block can be smaller. Sequences of different lengths are `Sequences`, which provide
        their masks. If rows have weights, the third item is {"sample_weight": float32 `[rows]`}.
        Raises `DataError` NNM702 for rows of the wrong shape and for more or fewer rows than
        declared, NNM704 for weights below 0, NNM706 for invalid classes, NNM707 for non-finite
        numbers, NNM711 for sequences that are too long.
        """
        rows = rows or self.batch_size
        expected = self.size(subset)
        if subset == "full" or not expected:
            raise DataError(
                "NNM705",
                f'subset "{subset}" of {self.name} has no rows of its own',
                hint=f"rows= declares {', '.join(self._rows)}",
            )
        waiting: list[dict[str, list[HostArray]]] = [{} for _ in range(2 + self.weighted)]
        held = seen = 0
        iterator = iterate(self._source(subset, epoch))
        try:
            async for item in iterator:
                sides = self._convert_item(item, seen)
                more = len(next(iter(sides[0].values())))
                held, seen = held + more, seen + more
                if seen > expected:
                    raise DataError(
                        "NNM702",
                        f'"{subset}" of {self.name} has more rows than the {expected} declared',
                        hint="set rows= to the number of rows that the source yields",
                    )
                for kept, side in zip(waiting, sides, strict=True):
                    for block, values in side.items():
                        kept.setdefault(block, []).append(values)
                if held < rows:
                    continue
                merged = [
                    {b: concatenate_sequences(parts) for b, parts in kept.items()}
                    for kept in waiting
                ]
                for start in range(0, held - held % rows, rows):
                    part = range(start, start + rows)
                    yield tuple(slice_rows(side, part) for side in merged)
                    await asyncio.sleep(0)  # other tasks run even if the source never waits
                rest = range(held - held % rows, held)
                held %= rows
                for kept, side in zip(waiting, merged, strict=True):
                    kept.clear()
                    kept.update({b: [v] for b, v in slice_rows(side, rest).items()} if held else {})
        finally:
            await iterator.aclose()
        if seen < expected:
            raise DataError(
                "NNM702",
                f'"{subset}" of {self.name} ended after {seen} rows, {expected} were declared',
                hint="set rows= to the number of rows that the source yields",
            )
        if held:
            yield tuple(
                {b: concatenate_sequences(parts) for b, parts in kept.items()} for kept in waiting
            )

    async def collect(self, subset: str, epoch: int = 0) -> tuple[Arrays, ...]:
        """Return what `blocks` yields of a whole subset that fits into memory."""
        (arrays,) = [arrays async for arrays in self.blocks(subset, epoch, self.size(subset))]
        return arrays

    subset_size = size

    def __getattr__(self, name: str) -> Any:
        """Return a method by its name in JavaScript (spec H)."""
        return by_javascript_name(self, name, {"mapOutputToLabels": "decode"})

    def _convert_item(self, item: Any, first: int) -> tuple[Arrays, ...]:
        """Return what the source yielded as arrays of rows, checked against the fields."""
        result: tuple[Arrays, ...] = ({}, {}, {})
        counts: dict[str, int] = {}
        sides = zip(
            ("input", "output", "weights"),
            unpack_item(item, first, weighted=self.weighted),
            (self.inputs, self.outputs, self._weights),
            (*self._blocks, {SAMPLE_WEIGHT: SAMPLE_WEIGHT}),
            result,
            strict=True,
        )
        for role, values, fields, blocks, arrays in sides:
            for block, field in fields.items():
                where = f'{role} "{blocks[block]}"'
                if blocks[block] not in values:
                    raise DataError(
                        "NNM701", f"row {first} has no {where}", hint=list_available(values)
                    )
                value = values[blocks[block]]
                if self._items == "rows":
                    value = [value]
                arrays[block] = convert_rows(where, value, field, first)
                counts[where] = len(arrays[block])
        if len(set(counts.values())) != 1:
            sizes = ", ".join(f"{where} {size}" for where, size in counts.items())
            raise DataError("NNM702", f"the block from row {first} on has unequal rows: {sizes}")
        for weights in result[2].values():
            require_nonnegative(weights, first)
        return result[: 2 + self.weighted]

    def _resolve_output(self, block: str | None) -> str:
        if block is None and len(self.outputs) == 1:
            return next(iter(self.outputs))
        if block not in self.outputs:
            hint = suggestion(str(block), self.outputs) or list_available(self.outputs)
            raise DataError("NNM710", f'no output "{block}"', hint=hint)
        return block


def _check_items(items: Items) -> Items:
    if items not in ("rows", "blocks"):
        raise DataError("NNM704", f'items is "{items}"', hint='"rows" or "blocks"')
    return items


def _check_rows(rows: Mapping[str, int]) -> dict[str, int]:
    for subset, size in rows.items():
        _check_subset(subset, SUBSETS[:3])
        if not is_integer(size) or size < 0:
            raise DataError("NNM704", f'rows of "{subset}" are {size!r}', hint="an integer")
    return dict(rows)


def _check_subset(subset: str, subsets: Sequence[str] = SUBSETS) -> None:
    if subset not in subsets:
        hint = suggestion(str(subset), subsets) or f"one of {', '.join(subsets)}"
        raise DataError("NNM705", f'unknown subset "{subset}"', hint=hint)
