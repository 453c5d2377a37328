"""Predictions: any number of rows through the graphs of a few batch sizes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray, joined
from webnnm.core.errors import DataError
from webnnm.data.sequences import padded, padded_size
from webnnm.graph.vertices import InputVertex, Network
from webnnm.runtime.answers import predicted, scales
from webnnm.runtime.context import InferenceContext
from webnnm.runtime.entries import Entry, by_input, by_name, check_units, entered

if TYPE_CHECKING:
    from webnnm.runtime.restored import Restored

PREDICTION_BATCH = 64
"""Rows of one dispatch where nobody says otherwise."""
BUCKETS = (1, 4, 16)
"""Rows of the graphs for fewer."""
MOST_GRAPHS = 8
"""Graphs that are kept: those that were used last."""
MOST_LENGTHS = 4
"""Lengths of sequences that get a graph of their own; the rows of others are padded."""

Key = tuple[int, tuple[tuple[str, int], ...], frozenset[str]]
"""Rows, lengths of sequences, and those sequences whose rows are padded."""


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
        self._scales: tuple[Any, Mapping[str, Any]] = (None, {})
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
        inputs = {vertex.block: vertex for vertex in self._network.inputs}
        about = self._known()
        kept = None if raw else about
        rows = _Rows()
        for block, values in by_input(data, inputs, kept).items():
            if raw and block in about.inputs:
                check_units(f'input "{block}"', values, about.inputs[block])
            rows.add(inputs[block], entered(inputs[block], values, kept))
        # Calls at the same time share contexts: one after the other.
        async with self._turn:
            found, lengths = await self._computed(rows, batch_size)
        if kept is not None and self._scales[0] is not kept:
            self._scales = kept, scales(self._network, kept.answers, lengths)
        results = {name: self._answer(name, values, kept) for name, values in found.items()}
        several = by_name(data, inputs, kept)
        return results if several else results[self._network.outputs[0].name]

    def _answer(self, name: str, found: HostArray | list[HostArray], kept: Restored | None) -> Any:
        if kept is None:
            return predicted(found)
        output = next(output for output in self._network.outputs if output.name == name)
        return predicted(
            found,
            output.source.features.sizes(),
            kept.answers.get(name),
            self._scales[1].get(name),
            kept.targets.get(name),
        )

    async def _computed(
        self, rows: _Rows, batch_size: int | None
    ) -> tuple[dict[str, HostArray | list[HostArray]], Mapping[str, int]]:
        """Return the outputs, and the lengths of sequences that they were computed with."""
        size = self._size(rows.count, batch_size)
        lengths, masked = self._lengths(rows, size)
        arrays = rows.arrays(lengths)
        context = await self._context((size, tuple(sorted(lengths.items())), masked))
        context.clear_data()
        parts: dict[str, list[HostArray]] = {output.name: [] for output in self._network.outputs}
        counts: dict[str, list[int]] = {}
        for start in range(0, rows.count, size):
            # The last of several batches starts earlier, a single one repeats its last row.
            first = max(0, min(start, rows.count - size))
            taken = [min(row, rows.count - 1) for row in range(first, first + size)]
            part = range(start - first, min(size, rows.count - first))
            context.set_lengths({name: [rows.lengths[name][k] for k in taken] for name in masked})
            for name, values in arrays.items():
                context.set_data(name, values.rows(taken))
            for name, fresh in (await context.computed()).items():
                parts[name].append(fresh.rows(part))
            for name, some in (await context.read_lengths()).items():
                counts.setdefault(name, []).extend(some[row] for row in part)
        found = {name: _cut(joined(some), counts.get(name)) for name, some in parts.items()}
        return found, lengths

    def _size(self, rows: int, batch_size: int | None) -> int:
        """Return the rows of a dispatch: of the graphs for so many the smallest."""
        compiled = {key[0] for key, context in self._contexts.items() if context.compiled}
        if rows in compiled and rows <= (batch_size or rows):
            return rows
        most = batch_size or PREDICTION_BATCH
        return next((size for size in BUCKETS if rows <= size < most), most)

    def _lengths(self, rows: _Rows, size: int) -> tuple[dict[str, int], frozenset[str]]:
        """Return the lengths of sequences for these rows, and which are padded."""
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
        context = self._contexts.pop(key, None)
        if context is None:
            context = await self._create(key[0])
            if key[1]:
                context.set_sequence_length(dict(key[1]))
        self._keep(key, context)
        return context

    def _keep(self, key: Key, context: InferenceContext) -> None:
        """Keep a context as the one that was used last."""
        old = self._contexts.pop(key, None)
        if old is not None:
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
