"""Predictions: any number of rows through the graphs of a few batch sizes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.lru_cache import LruCache
from webnnm.data.binding.binding import check_ids, find_embedding_tables
from webnnm.data.series.sequences import pad, resolve_length
from webnnm.evaluation.probabilities import Scale
from webnnm.graph.elaboration.position_limits import find_position_limits
from webnnm.graph.elaboration.vertices import InputVertex, Network
from webnnm.runtime.inference.answers import Answers, interpret_output, scales
from webnnm.runtime.inference.context import LENGTH, InferenceContext
from webnnm.runtime.inference.entries import Entrance, Entry, by_input, by_name, check_units
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH

if TYPE_CHECKING:
    from webnnm.runtime.inference.detections import Sizes
    from webnnm.runtime.restored import Restored

BUCKETS = (1, 4, 16)
"""Batch sizes of the graphs for fewer rows than a batch."""
MAX_GRAPHS = 8
"""The number of graphs that are kept: the most recently used ones."""
MAX_LENGTHS = 4
"""Sequence lengths that get a graph of their own; rows of further lengths are padded."""

Key = tuple[int, tuple[tuple[str, int], ...], frozenset[str]]
"""Batch size, lengths of sequences, and the sequences whose rows are padded."""
NO_LENGTHS: Mapping[str, int] = {}
Outputs = dict[str, HostArray | list[HostArray]]
"""Outputs by name, lists if their rows differ in length."""


class Predictor:
    """Computes outputs of rows, with contexts that are made on first use and then kept.

    Fewer rows than a batch are filled up to the next of a few batch sizes, and rows of different
    lengths are padded and masked: each row has the same result as it would have alone.
    """

    def __init__(
        self,
        network: Network,
        create: Callable[[int], Awaitable[InferenceContext]],
        get_facts: Callable[[], Restored],
    ) -> None:
        self._network = network
        self._create = create
        self._get_facts = get_facts
        self._contexts = LruCache[Key, InferenceContext](MAX_GRAPHS, InferenceContext.close)
        self._limits = find_position_limits(network)
        self._exact: set[tuple[tuple[str, int], ...]] = set()
        self._inputs = {vertex.block: vertex for vertex in network.inputs}
        self._latest_request: tuple[int, int | None] | None = None
        self._latest: InferenceContext
        self._readings: dict[bool, _Reading] = {}
        self._turn = asyncio.Lock()

    def keep(self, context: InferenceContext) -> None:
        """Use a context for batches of the size that it was compiled for."""
        self._contexts[context.batch_size, self._lengths_of(context), frozenset()] = context
        self._latest_request = None

    async def predict(
        self,
        data: Any,
        batch_size: int | None,
        *,
        steps: int | None = None,
        raw: bool = False,
        scaled: bool = False,
    ) -> Any:
        """Return the predictions of the outputs for rows; see `NNModel.predict`.

        `scaled` are windows that were scaled by the level of their series.

        Raises `DataError` NNM702 for inputs that do not fit the network or one another, NNM710 for
        unknown inputs, NNM711 for rows that are too long or have no position, and the errors of
        reading rows in the form of the dataset.
        """
        about = self._get_facts()
        reading = self._readings.get(raw)
        if reading is None or reading.about is not about:
            reading = self._readings[raw] = _Reading(self._network, about, raw=raw)
        series = reading.series
        if series is not None and (type(data) is int or steps or series.is_history(data)):
            from webnnm.runtime.inference.forecasting import forecast

            return await forecast(series, data, steps, partial(self._of_windows, batch_size))
        if steps is not None:
            hint = "leave it out: the dataset is no SeriesDataset"
            raise DataError("NNM704", f"steps is {steps}, but rows are no series", hint=hint)
        if series is not None and series.scaling != "all" and not scaled:
            from webnnm.runtime.inference.forecasting import forecast_windows

            assert reading.form is not None
            windows = reading.form.rows("windows", data)
            predict = partial(self._of_windows, batch_size)
            return (await forecast_windows(series, windows, predict)).public()
        is_by_name = by_name(data, self._inputs, reading.kept)
        sizes: Sizes = None
        if reading.media:
            from webnnm.runtime.inference.media import load_pictures, read_media

            if reading.picture in reading.media:
                form = reading.media[reading.picture]
                data, sizes = await load_pictures(
                    data, reading.picture, form, is_by_name=is_by_name
                )
            data = await read_media(data, reading.media, is_by_name=is_by_name)
        if reading.single is not None and not is_by_name:
            return await self._of_single(reading, reading.single(data), batch_size, sizes)
        data_by_input = (
            by_input(data, self._inputs) if is_by_name else {next(iter(self._inputs)): data}
        )
        rows = reading.rows(data_by_input)
        # Concurrent calls share contexts, one after the other.
        async with self._turn:
            outputs, lengths = await self._compute(rows, batch_size)
        results = reading.answers(outputs, lengths, sizes)
        return results if is_by_name else results[self._network.outputs[0].name]

    async def _of_windows(self, batch_size: int | None, windows: HostArray) -> Any:
        return await self.predict(windows, batch_size, scaled=True)

    async def _of_single(
        self, reading: _Reading, entry: Entry, batch_size: int | None, sizes: Sizes
    ) -> Any:
        """Return the predictions of the only output for rows of the only input.

        This is the fast path for single rows: it does nothing that they do not need.
        """
        (output,), (vertex,) = self._network.outputs, self._network.inputs
        await self._turn.acquire()
        try:
            if self._latest_request == (entry.rows, batch_size) and self._latest.ready:
                outputs, lengths = (await self._latest.begin([entry.array]))[0], NO_LENGTHS
            else:
                rows = _Rows()
                rows.add(vertex, entry)
                results, lengths = await self._compute(rows, batch_size)
                outputs = results[output.name]
        finally:
            self._turn.release()
        return reading.answer(output.name, outputs, lengths, sizes)

    async def _compute(
        self, rows: _Rows, batch_size: int | None
    ) -> tuple[Outputs, Mapping[str, int]]:
        """Return the outputs, and the sequence lengths that they were computed with."""
        total, size = rows.count, self._size(rows.count, batch_size)
        lengths, masked = self._lengths(rows, size)
        arrays = rows.arrays(lengths)
        arrays |= {LENGTH + name: HostArray.of(rows.lengths[name], "float32") for name in masked}
        context = await self._context((size, tuple(sorted(lengths.items())), masked))
        if total == size:
            self._latest_request, self._latest = (total, batch_size), context
            padded = await context.compute(arrays)
        else:
            padded = await _in_batches(context, arrays, total)
        outputs: Outputs = {}
        for output in self._network.outputs:
            outputs[output.name] = values = padded[output.name]
            if LENGTH + output.name in padded:
                counts = padded[LENGTH + output.name].values()
                outputs[output.name] = _cut(values, [int(number) for number in counts])
        return outputs, lengths

    def _size(self, rows: int, batch_size: int | None) -> int:
        """Return the batch size for so many rows.

        It is their number if a graph of that size is compiled, else the next of a few sizes, but at
        most that of a batch.
        """
        limit = batch_size or PREDICTION_BATCH
        for key, context in self._contexts.items():
            if key[0] == rows and context.compiled and rows <= (batch_size or rows):
                return rows
        return next((size for size in BUCKETS if rows <= size < limit), limit)

    def _lengths(self, rows: _Rows, size: int) -> tuple[dict[str, int], frozenset[str]]:
        """Return the sequence lengths for these rows, and the sequences that need masks."""
        if not rows.lengths:
            return {}, frozenset()
        longest = {
            name: max(lengths_of_rows) for name, lengths_of_rows in rows.lengths.items()
        } | rows.fixed
        ragged = [
            name
            for name, lengths_of_rows in rows.lengths.items()
            if {*lengths_of_rows} != {longest[name]}
        ]
        exact = tuple(sorted(longest.items()))
        if not ragged and (exact in self._exact or len(self._exact) < MAX_LENGTHS):
            self._exact.add(exact)
            return longest, frozenset()
        free = {name: n for name, n in longest.items() if name not in rows.fixed}
        masked = frozenset(rows.lengths)
        for kept_size, kept, kept_masked in self._contexts:
            lengths_of_rows = dict(kept)
            if (kept_size, kept_masked) == (size, masked) and all(
                n <= lengths_of_rows[name] <= 4 * n for name, n in free.items()
            ):
                return lengths_of_rows | rows.fixed, masked
        buckets = {name: resolve_length(name, "bucket", [n]) for name, n in free.items()}
        for name, limit in self._limits.items():
            if name in buckets and buckets[name] > limit:
                buckets[name] = max(limit, free[name])
        return longest | buckets, masked

    async def _context(self, key: Key) -> InferenceContext:
        context = self._contexts.get(key)
        if context is None:
            context = await self._create(key[0])
            if key[1]:
                context.set_sequence_length(dict(key[1]))
            context.mask(key[2])
            self._contexts[key] = context
        self._latest_request = None
        return context

    def _lengths_of(self, context: InferenceContext) -> tuple[tuple[str, int], ...]:
        names = {vertex.features[0].sequence: vertex.length for vertex in self._network.inputs}
        lengths = {
            name: length or context.sequence[name]
            for name, length in names.items()
            if name and (length or name in context.sequence)
        }
        return tuple(sorted(lengths.items()))


class _Rows:
    """The rows to predict: entries by input, and the lengths of rows by sequence."""

    def __init__(self) -> None:
        self.count = 0
        self.lengths: dict[str, list[int]] = {}
        self.fixed: dict[str, int] = {}
        self._entries: dict[str, tuple[Entry, InputVertex]] = {}

    def add(self, vertex: InputVertex, entry: Entry) -> None:
        """Take the rows of an input."""
        where, name = f'input "{vertex.block}"', vertex.features[0].sequence
        if self.count and entry.rows != self.count:
            raise DataError(
                "NNM702", f"{where} has {entry.rows} rows, but others have {self.count}"
            )
        if name is not None and entry.lengths is not None:
            if self.lengths.setdefault(name, entry.lengths) != entry.lengths:
                raise DataError(
                    "NNM702",
                    f'{where}: its rows differ in length from those of other inputs of "{name}"',
                )
            resolve_length(where, vertex.length or "max", entry.lengths)
            if vertex.length:
                self.fixed[name] = vertex.length
        self.count = entry.rows
        self._entries[vertex.block] = entry, vertex

    def arrays(self, lengths: Mapping[str, int]) -> dict[str, HostArray]:
        """Return the rows by input, sequences padded to these lengths."""
        return {
            block: entry.array
            if entry.lengths is None
            else pad(entry.array, entry.lengths, lengths[str(vertex.features[0].sequence)])
            for block, (entry, vertex) in self._entries.items()
        }


class _Reading:
    """How calls read data and present results, while what is known `about` the data is the same."""

    def __init__(self, network: Network, about: Restored, *, raw: bool) -> None:
        self.about = about
        self.kept = kept = None if raw else about
        self._network = network
        self._entrances = {vertex.block: Entrance(vertex, kept) for vertex in network.inputs}
        self._tables = find_embedding_tables(network)
        self.single = self._single()
        self.media = {} if kept is None else kept.media()
        self.form = kept.form(next(iter(self._entrances))) if kept else None
        self.series = self.form.series if self.form else None
        self._answers: dict[str, Answers | None] = {}
        for output in network.outputs:
            answers = about.answers.get(output.name)
            self._answers[output.name] = answers and answers.of(output.source.features.sizes())
        self._scales: Mapping[str, Scale | None] | None = None
        detects = any(one is not None and one.kind == "boxes" for one in self._answers.values())
        self.picture = "" if kept is None or not detects else kept.picture()

    def _single(self) -> Entrance | None:
        """Return the entrance of the only input, if its rows are all that the only output needs."""
        (block, entrance), *others = self._entrances.items()
        others += self._network.outputs[1:]
        plain = entrance.vertex.features[0].sequence is None and block not in self._tables
        checked = self.kept is None and block in self.about.inputs
        return entrance if plain and not others and not checked else None

    def rows(self, data_by_input: Mapping[str, Any]) -> _Rows:
        """Return the data that are given by input as rows."""
        rows = _Rows()
        for block, values in data_by_input.items():
            if self.kept is None and block in self.about.inputs:
                check_units(f'input "{block}"', values, self.about.inputs[block])
            entrance = self._entrances[block]
            entry = entrance(values)
            if block in self._tables:
                where = f'input "{block}"'
                check_ids(where, entry.array, *self._tables[block], entry.lengths or ())
            rows.add(entrance.vertex, entry)
        return rows

    def answers(self, outputs: Outputs, lengths: Mapping[str, int], sizes: Sizes) -> dict[str, Any]:
        """Return the predictions of the outputs; `lengths` are any that the sequences may have.

        `sizes` are those of pictures, see `find_boxes`.
        """
        return {name: self.answer(name, values, lengths, sizes) for name, values in outputs.items()}

    def answer(
        self,
        name: str,
        values: HostArray | list[HostArray],
        lengths: Mapping[str, int],
        sizes: Sizes,
    ) -> Any:
        """Return the predictions of an output."""
        if self.kept is None:
            return interpret_output(values)
        answers = self._answers[name]
        if answers is not None and answers.kind == "boxes" and isinstance(values, HostArray):
            from webnnm.runtime.inference.detections import find_boxes

            return find_boxes(values, answers, self.kept.form(self.picture), sizes)
        if self._scales is None:
            self._scales = scales(self._network, self.kept.answers, lengths)
        return interpret_output(
            values,
            answers,
            self._scales.get(name),
            self.kept.targets.get(name),
            self.kept.intervals.get(name),
        )


async def _in_batches(
    context: InferenceContext, arrays: Mapping[str, HostArray], total: int
) -> dict[str, HostArray]:
    """Return the outputs of any number of rows."""
    size, parts = context.batch_size, dict[str, list[HostArray]]()
    for start in range(0, total, size):
        # The last of several batches starts earlier, a single one repeats its last row.
        first = max(0, min(start, total - size))
        batch = {name: _batch(values, first, size) for name, values in arrays.items()}
        for name, fresh in (await context.compute(batch)).items():
            part = fresh.part(start - first, min(size, total - first))
            parts.setdefault(name, []).append(part)
    return {name: concatenate(some) for name, some in parts.items()}


def _batch(values: HostArray, first: int, size: int) -> HostArray:
    """Return `size` rows from `first` on; if there are fewer, the last one is repeated."""
    if len(values) >= size:
        return values.part(first, first + size)
    return values.rows([min(row, len(values) - 1) for row in range(size)])


def _cut(padded: HostArray, lengths: list[int] | None) -> HostArray | list[HostArray]:
    """Return the positions of every row that count: one array if all rows have equally many."""
    if lengths is None:
        return padded
    rows: list[HostArray] = []
    for row, length in enumerate(lengths):
        one = padded.rows([row])
        positions = HostArray(one.dtype, one.shape[1:], one.data)
        rows.append(positions.rows(range(length)))
    if len({*lengths}) > 1:
        return rows
    data = b"".join([one.data for one in rows])
    return HostArray(padded.dtype, (len(rows), *rows[0].shape), data)
