"""Predictions: any number of rows through the graphs of a few batch sizes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray, joined
from webnnm.core.errors import DataError
from webnnm.data.binding import check_numbers, tables
from webnnm.data.sequences import padded, padded_size
from webnnm.evaluation.probabilities import Scale
from webnnm.graph.vertices import InputVertex, Network
from webnnm.runtime.answers import Answers, predicted, scales
from webnnm.runtime.context import LENGTH, InferenceContext
from webnnm.runtime.entries import Entrance, Entry, by_input, by_name, check_units
from webnnm.runtime.evaluator import PREDICTION_BATCH

if TYPE_CHECKING:
    from webnnm.runtime.restored import Restored

BUCKETS = (1, 4, 16)
"""Rows of the graphs for fewer."""
MOST_GRAPHS = 8
"""Graphs that are kept: those that were used last."""
MOST_LENGTHS = 4
"""Lengths of sequences that get a graph of their own; the rows of others are padded."""

Key = tuple[int, tuple[tuple[str, int], ...], frozenset[str]]
"""Rows, lengths of sequences, and those sequences whose rows are padded."""
NO_LENGTHS: Mapping[str, int] = {}
Found = dict[str, HostArray | list[HostArray]]
"""Outputs by name, lists where their rows differ in length."""


class Predictor:
    """Computes outputs of rows, with contexts that are made on first use and then kept.

    Fewer rows than a batch are filled up to the next of a few batch sizes, rows of different
    lengths are padded and masked: each row gives what it gives alone.
    """

    def __init__(
        self,
        network: Network,
        create: Callable[[int], Awaitable[InferenceContext]],
        known: Callable[[], Restored],
    ) -> None:
        self._network = network
        self._create = create
        self._known = known
        self._contexts: dict[Key, InferenceContext] = {}
        self._exact: set[tuple[tuple[str, int], ...]] = set()
        self._inputs = {vertex.block: vertex for vertex in network.inputs}
        self._asked: tuple[int, int | None] | None = None
        self._latest: InferenceContext
        self._readings: dict[bool, _Reading] = {}
        self._turn = asyncio.Lock()

    def keep(self, context: InferenceContext) -> None:
        """Use a context for as many rows as it was compiled for."""
        self._keep((context.batch_size, self._lengths_of(context), frozenset()), context)

    async def predict(self, data: Any, batch_size: int | None, *, raw: bool = False) -> Any:
        """Return what the outputs say of rows; see `NNModel.predict`.

        Raises `DataError` NNM702 for inputs that do not fit the network or one another, NNM710 for
        unknown ones, NNM711 for rows that are too long or have no position, and what reading them
        in the form of the dataset raises.
        """
        about = self._known()
        reading = self._readings.get(raw)
        if reading is None or reading.about is not about:
            reading = self._readings[raw] = _Reading(self._network, about, raw=raw)
        several = by_name(data, self._inputs, reading.kept)
        if reading.single is not None and not several:
            return await self._of_single(reading, reading.single(data), batch_size)
        given = by_input(data, self._inputs) if several else {next(iter(self._inputs)): data}
        rows = reading.rows(given)
        # Calls at the same time share contexts: one after the other.
        async with self._turn:
            found, lengths = await self._computed(rows, batch_size)
        results = reading.answers(found, lengths)
        return results if several else results[self._network.outputs[0].name]

    async def _of_single(self, reading: _Reading, entry: Entry, batch_size: int | None) -> Any:
        """Return what the only output says of rows of the only input.

        What takes no longer than this is on the way of one row: it is to cost no more than that.
        """
        (output,), (vertex,) = self._network.outputs, self._network.inputs
        await self._turn.acquire()
        try:
            if self._asked == (entry.rows, batch_size) and self._latest.ready:
                found, lengths = (await self._latest.begin([entry.array]))[0], NO_LENGTHS
            else:
                rows = _Rows()
                rows.add(vertex, entry)
                results, lengths = await self._computed(rows, batch_size)
                found = results[output.name]
        finally:
            self._turn.release()
        return reading.answer(output.name, found, lengths)

    async def _computed(
        self, rows: _Rows, batch_size: int | None
    ) -> tuple[Found, Mapping[str, int]]:
        """Return the outputs, and the lengths of sequences that they were computed with."""
        total, size = rows.count, self._size(rows.count, batch_size)
        lengths, masked = self._lengths(rows, size)
        arrays = rows.arrays(lengths)
        arrays |= {LENGTH + name: HostArray.of(rows.lengths[name], "float32") for name in masked}
        context = await self._context((size, tuple(sorted(lengths.items())), masked))
        if total == size:
            self._asked, self._latest = (total, batch_size), context
            whole = await context.computed(arrays)
        else:
            whole = await _in_batches(context, arrays, total)
        found: Found = {}
        for output in self._network.outputs:
            found[output.name] = values = whole[output.name]
            if LENGTH + output.name in whole:
                counts = whole[LENGTH + output.name].values()
                found[output.name] = _cut(values, [int(number) for number in counts])
        return found, lengths

    def _size(self, rows: int, batch_size: int | None) -> int:
        """Return the rows of a dispatch: of the graphs for so many the smallest."""
        most = batch_size or PREDICTION_BATCH
        for key, context in self._contexts.items():
            if key[0] == rows and context.compiled and rows <= (batch_size or rows):
                return rows
        return next((size for size in BUCKETS if rows <= size < most), most)

    def _lengths(self, rows: _Rows, size: int) -> tuple[dict[str, int], frozenset[str]]:
        """Return the lengths of sequences for these rows, and which are padded."""
        if not rows.lengths:
            return {}, frozenset()
        longest = {name: max(found) for name, found in rows.lengths.items()} | rows.fixed
        ragged = [name for name, found in rows.lengths.items() if {*found} != {longest[name]}]
        exact = tuple(sorted(longest.items()))
        if not ragged and (exact in self._exact or len(self._exact) < MOST_LENGTHS):
            self._exact.add(exact)
            return longest, frozenset()
        free = {name: n for name, n in longest.items() if name not in rows.fixed}
        masked = frozenset(rows.lengths)
        for kept_size, kept, kept_masked in self._contexts:
            found = dict(kept)
            if (kept_size, kept_masked) == (size, masked) and all(
                n <= found[name] <= 4 * n for name, n in free.items()
            ):
                return found | rows.fixed, masked
        return longest | {n: padded_size(n, "bucket", [most]) for n, most in free.items()}, masked

    async def _context(self, key: Key) -> InferenceContext:
        context = self._contexts.get(key)
        if context is None:
            context = await self._create(key[0])
            if key[1]:
                context.set_sequence_length(dict(key[1]))
            context.mask(key[2])
        self._keep(key, context)
        return context

    def _keep(self, key: Key, context: InferenceContext) -> None:
        """Keep a context as the one that was used last."""
        self._asked = None
        old = self._contexts.pop(key, context)
        if old is not context:
            old.close()
        self._contexts[key] = context
        while len(self._contexts) > MOST_GRAPHS:
            self._contexts.pop(next(iter(self._contexts))).close()

    def _lengths_of(self, context: InferenceContext) -> tuple[tuple[str, int], ...]:
        names = {vertex.features[0].sequence: vertex.length for vertex in self._network.inputs}
        lengths = {
            name: length or context.sequence[name]
            for name, length in names.items()
            if name and (length or name in context.sequence)
        }
        return tuple(sorted(lengths.items()))


class _Rows:
    """What is to be predicted: entries by input, the lengths of rows by sequence."""

    def __init__(self) -> None:
        self.count = 0
        self.lengths: dict[str, list[int]] = {}
        self.fixed: dict[str, int] = {}
        self._entries: dict[str, tuple[Entry, InputVertex]] = {}

    def add(self, vertex: InputVertex, entry: Entry) -> None:
        """Take the rows of an input."""
        where, name = f'input "{vertex.block}"', vertex.features[0].sequence
        if self.count and entry.rows != self.count:
            raise DataError("NNM702", f"{where} has {entry.rows} rows, others have {self.count}")
        if name is not None and entry.lengths is not None:
            if self.lengths.setdefault(name, entry.lengths) != entry.lengths:
                raise DataError(
                    "NNM702", f'{where}: its rows differ in length from others of "{name}"'
                )
            padded_size(where, vertex.length or "max", entry.lengths)
            if vertex.length:
                self.fixed[name] = vertex.length
        self.count = entry.rows
        self._entries[vertex.block] = entry, vertex

    def arrays(self, lengths: Mapping[str, int]) -> dict[str, HostArray]:
        """Return the rows by input, sequences padded to these lengths."""
        return {
            block: entry.array
            if entry.lengths is None
            else padded(entry.array, entry.lengths, lengths[str(vertex.features[0].sequence)])
            for block, (entry, vertex) in self._entries.items()
        }


class _Reading:
    """How calls read data and tell results, as long as the same is known `about` the data."""

    def __init__(self, network: Network, about: Restored, *, raw: bool) -> None:
        self.about = about
        self.kept = kept = None if raw else about
        self._network = network
        self._entrances = {vertex.block: Entrance(vertex, kept) for vertex in network.inputs}
        self._tables = tables(network)
        self.single = self._single()
        self._answers: dict[str, Answers | None] = {}
        for output in network.outputs:
            answers = about.answers.get(output.name)
            self._answers[output.name] = answers and answers.of(output.source.features.sizes())
        self._scales: Mapping[str, Scale | None] | None = None

    def _single(self) -> Entrance | None:
        """Return the way into the only input, if its rows are all that the only output needs."""
        (block, entrance), *others = self._entrances.items()
        others += self._network.outputs[1:]
        plain = entrance.vertex.features[0].sequence is None and block not in self._tables
        checked = self.kept is None and block in self.about.inputs
        return entrance if plain and not others and not checked else None

    def rows(self, given: Mapping[str, Any]) -> _Rows:
        """Return what is given by input as rows."""
        rows = _Rows()
        for block, values in given.items():
            if self.kept is None and block in self.about.inputs:
                check_units(f'input "{block}"', values, self.about.inputs[block])
            entrance = self._entrances[block]
            entry = entrance(values)
            if block in self._tables:
                where = f'input "{block}"'
                check_numbers(where, entry.array, *self._tables[block], entry.lengths or ())
            rows.add(entrance.vertex, entry)
        return rows

    def answers(self, found: Found, lengths: Mapping[str, int]) -> dict[str, Any]:
        """Return what the outputs say; `lengths` are any that the sequences may have."""
        return {name: self.answer(name, values, lengths) for name, values in found.items()}

    def answer(
        self, name: str, values: HostArray | list[HostArray], lengths: Mapping[str, int]
    ) -> Any:
        """Return what an output says."""
        if self.kept is None:
            return predicted(values)
        if self._scales is None:
            self._scales = scales(self._network, self.kept.answers, lengths)
        return predicted(
            values, self._answers[name], self._scales.get(name), self.kept.targets.get(name)
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
        for name, fresh in (await context.computed(batch)).items():
            part = fresh.part(start - first, min(size, total - first))
            parts.setdefault(name, []).append(part)
    return {name: joined(some) for name, some in parts.items()}


def _batch(values: HostArray, first: int, size: int) -> HostArray:
    """Return so many rows from the first one on; fewer are filled up with the last of them."""
    if len(values) >= size:
        return values.part(first, first + size)
    return values.rows([min(row, len(values) - 1) for row in range(size)])


def _cut(whole: HostArray, lengths: list[int] | None) -> HostArray | list[HostArray]:
    """Return the positions that count of every row: one array where these are equally many."""
    if lengths is None:
        return whole
    found: list[HostArray] = []
    for row, length in enumerate(lengths):
        one = whole.rows([row])
        positions = HostArray(one.dtype, one.shape[1:], one.data)
        found.append(positions.rows(range(length)))
    if len({*lengths}) > 1:
        return found
    data = b"".join([one.data for one in found])
    return HostArray(whole.dtype, (len(found), *found[0].shape), data)
