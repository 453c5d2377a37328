"""Predictions: any number of rows through the graph of one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from webnnm.arrays import HostArray, joined
from webnnm.context import InferenceContext
from webnnm.data.sequences import is_ragged, padded, padded_size, positions_of
from webnnm.errors import DataError, suggestion
from webnnm.graph.vertices import InputVertex, Network

PREDICTION_BATCH = 64
"""Rows of one dispatch where nobody says otherwise."""


class Predictor:
    """Computes outputs of rows, with a context that is made by the first call and then kept.

    Rows of different lengths are padded and masked: each gives what it gives alone.
    """

    def __init__(
        self, network: Network, create: Callable[[int], Awaitable[InferenceContext]]
    ) -> None:
        self._network = network
        self._create = create
        self._context: InferenceContext | None = None
        self._kept: dict[int, InferenceContext] = {}
        self._turn = asyncio.Lock()

    def keep(self, context: InferenceContext) -> None:
        """Use a context for as many rows as it was compiled for."""
        old = self._kept.pop(context.batch_size, None)
        if old is not None:
            old.close()
        self._kept[context.batch_size] = context

    async def predict(self, data: Any, batch_size: int | None, *, raw: bool = False) -> Any:
        """Return the outputs: array in, array out; dict in, dict out.

        An output whose rows have different lengths is a list of arrays. Raises `DataError` NNM702
        for inputs that do not fit the network or one another, NNM710 for unknown ones, NNM711 for
        rows that are too long or have no position.
        """
        several = isinstance(data, Mapping)
        inputs = {vertex.block: vertex for vertex in self._network.inputs}
        given = cast("Mapping[str, Any]", data) if several else {next(iter(inputs)): data}
        rows = _Rows()
        for name, values in given.items():
            block = name.removesuffix(":input")
            if block not in inputs:
                hint = suggestion(block, inputs) or f"there are {', '.join(inputs)}"
                raise DataError("NNM710", f'there is no input "{name}"', hint=hint)
            rows.add(inputs[block], values, None if raw else inputs[block].dtype)
        # Calls at the same time share the context: one after the other.
        async with self._turn:
            size = min(batch_size or PREDICTION_BATCH, rows.count)
            results = await self._computed(rows, size, raw)
        return results if several else results[self._network.outputs[0].name]

    async def _computed(self, rows: _Rows, size: int, raw: bool) -> dict[str, Any]:
        context = await self._context_of(size)
        rows.fit(context)
        context.clear_data()
        parts: dict[str, list[HostArray]] = {output.name: [] for output in self._network.outputs}
        lengths: dict[str, list[int]] = {}
        for start in range(0, rows.count, size):
            # The last batch starts earlier, so that every batch is full.
            first = min(start, rows.count - size)
            taken = range(first, first + size)
            context.set_lengths({name: [n[k] for k in taken] for name, n in rows.lengths.items()})
            for name, values in rows.arrays.items():
                context.set_data(name, values.rows(taken), raw=raw)
            for name, fresh in (await context.computed()).items():
                parts[name].append(fresh.rows(range(start - first, size)))
            for name, counts in (await context.read_lengths()).items():
                lengths.setdefault(name, []).extend(counts[start - first :])
        return {
            name: _cut(joined(found), lengths[name]) if name in lengths else joined(found).public()
            for name, found in parts.items()
        }

    async def _context_of(self, size: int) -> InferenceContext:
        kept = self._kept.get(size)
        if kept is not None and kept.compiled:
            return kept
        if kept is not None:  # for parameters of the past
            self._kept.pop(size).close()
        if self._context is None:
            self._context = await self._create(size)
        elif self._context.batch_size != size:
            self._context.set_batch_size(size)
        return self._context


class _Rows:
    """What is to be predicted: arrays by input, the lengths of rows by sequence."""

    def __init__(self) -> None:
        self.count = 0
        self.arrays: dict[str, HostArray] = {}
        self.lengths: dict[str, list[int]] = {}
        self._exact: dict[str, int] = {}
        self._longest: dict[str, int] = {}
        self._flat: dict[str, tuple[HostArray, list[int], InputVertex]] = {}

    def add(self, vertex: InputVertex, values: Any, dtype: Any) -> None:
        """Take the rows of an input."""
        where, name = f'input "{vertex.block}"', vertex.features[0].sequence
        if name is not None and is_ragged(values):
            flat, lengths = positions_of(where, values, dtype)
            if self.lengths.setdefault(name, lengths) != lengths:
                raise DataError(
                    "NNM702", f'{where}: its rows differ in length from others of "{name}"'
                )
            self._flat[vertex.block] = flat, lengths, vertex
            self._longest[name] = padded_size(where, vertex.length or "max", lengths)
            rows = len(lengths)
        else:
            array = self.arrays[vertex.block] = HostArray.of(values, dtype)
            rows = len(array) if array.shape else 0
            if (
                name
                and not vertex.length
                and len(array.shape) == 2 + len(vertex.features[0].sizes())
            ):
                self._exact[name] = array.shape[1]
        if not rows:
            raise DataError("NNM702", f"{where} has no rows", hint="[rows, features…]")
        if self.count and rows != self.count:
            raise DataError("NNM702", f"{where} has {rows} rows, others have {self.count}")
        self.count = rows

    def fit(self, context: InferenceContext) -> None:
        """Pad rows of different lengths; give the context the lengths of sequences."""
        # Rows that are shorter than those of the call before need no other graph.
        longest = {
            name: max(n, context.sequence.get(name, 0)) for name, n in self._longest.items()
        } | self._exact
        if any(context.sequence.get(name) != n for name, n in longest.items()):
            context.set_sequence_length(longest)
        for block, (flat, lengths, vertex) in self._flat.items():
            size = vertex.length or longest[str(vertex.features[0].sequence)]
            self.arrays[block] = padded(flat, lengths, size)


def _cut(whole: HostArray, lengths: list[int]) -> list[Any]:
    """Return the positions that count of every row."""
    found: list[Any] = []
    for row, length in enumerate(lengths):
        one = whole.rows([row])
        positions = HostArray(one.dtype, one.shape[1:], one.data)
        found.append(positions.rows(range(length)).public())
    return found
