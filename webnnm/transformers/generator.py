"""Generation on a device: texts go on token by token, in memory that is taken once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.vertices import Network
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.parameters import ParameterStore
from webnnm.transformers.choice import SEEN, Sampling, generator_states
from webnnm.transformers.decoding import (
    COUNT,
    EMITTED,
    IDS,
    PLACE,
    ROUND,
    SCORES,
    START,
    TOKEN,
    Kind,
    Language,
)

Choose = Callable[[Any, list[list[int]]], Sequence[int]]
"""A choice on the host: scores `[batch, vocabulary]` and the texts so far → the next tokens."""
SHORTEST_ROOM = 128
"""Tokens that a cache has room for at least; longer ones are powers of two."""
SHORTEST_PROMPT = 16
"""Tokens that prefill takes at least; longer ones are powers of two."""
MOST_GRAPHS = 6
"""Graphs that are kept: those that were used last."""
TURN = 0.1
"""Seconds between two looks of the host at the tokens, where these come faster."""


@dataclass(kw_only=True)
class Speed:
    """What the last generation took: tokens and seconds of the prompt, and of what followed.

    Compiling is not part of it.
    """

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens that were chosen, for each row, in a second."""
        return self.tokens / self.seconds if self.seconds else 0.0


class Generator:
    """Lets a network go on with texts of token numbers.

    Keys and values of a text stay on the device: one that begins like it, such as the next turn of
    a conversation, only adds the tokens that are new. One generation runs at a time; a new one ends
    the one before.

    Raises `DataError` NNM717 for networks that are no language models.
    """

    def __init__(
        self,
        network: Network,
        backend: Backend,
        parameters: ParameterStore,
        *,
        most: int | None = None,
        constants: bool = False,
    ) -> None:
        self.language = Language(network)
        limits = [limit for limit in (most, self.language.most) if limit is not None]
        self.most = min(limits) if limits else None
        self.speed = Speed()
        self._backend, self._parameters = backend, parameters
        self._constants = constants
        self._graphs: OrderedDict[Kind, tuple[Executable, dict[str, TensorType]]] = OrderedDict()
        self._state: tuple[dict[str, DeviceTensor], dict[str, DeviceTensor]] = ({}, {})
        self._given: dict[str, DeviceTensor] = {}
        self._room = (0, 0)
        self._step = 0
        self._texts: list[list[int]] = []
        self._version = -1
        self._run: object = None
        self._turn = asyncio.Lock()

    def stop(self) -> None:
        """End the generation that is running after the tokens that are on their way."""
        self._run = None

    def close(self) -> None:
        """Free what is on the device; the generation that is running ends."""
        self.stop()
        self._free()
        for executable, _ in self._graphs.values():
            self._backend.release(executable)
        self._graphs.clear()

    async def generate(
        self,
        texts: Sequence[Sequence[int]],
        max_new_tokens: int,
        *,
        sampling: Sampling | None = None,
        seed: int = 0,
        choose: Choose | None = None,
    ) -> AsyncGenerator[list[list[int]], None]:
        """Yield the next tokens of all texts, some at a time, equally many for each.

        With `choose` the host chooses every token. Raises `DataError` NNM711 for texts without
        tokens, with tokens out of the vocabulary, or longer than positions are.
        """
        rows = [[int(token) for token in text] for text in texts]
        most = self._checked(rows, max_new_tokens)
        sampling = sampling or Sampling()
        run = self._run = object()
        base = Kind(
            batch=len(rows),
            tokens=0,
            length=self._length(len(rows), max(map(len, rows)) + most),
            sampling=() if choose else sampling.kinds(),
            on_host=choose is not None,
            version=self._parameters.version if self._constants else 0,
        )
        async with self._turn:
            fresh = await self._begin(base, rows, sampling, seed, choose)
        count, pace = 1, 0.0
        while True:
            if self._run is not run:
                return
            yield fresh
            if count >= most or self._run is not run:
                return
            size = max(1, min(ROUND, most - count, int(TURN / pace) if pace else 1))
            async with self._turn:
                if self._run is not run:
                    return
                began = time.perf_counter()
                fresh = await self._goes_on(base, 1 if choose else size, choose)
                took = time.perf_counter() - began
            self.speed.tokens += len(fresh[0])
            self.speed.seconds += took
            count, pace = count + len(fresh[0]), took / len(fresh[0])

    def _checked(self, rows: list[list[int]], wanted: int) -> int:
        """Return how many tokens there is room for behind the longest text, at most as wanted."""
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:  # type: ignore[reportUnnecessaryIsInstance]
            message = f"max_new_tokens is {wanted!r}"
            raise DataError("NNM704", message, hint="give an integer from 1")
        if not rows or not all(rows):
            raise DataError("NNM711", "a text without tokens", hint="begin with at least one token")
        size = self.language.vocabulary
        for row in rows:
            wrong = next((token for token in row if not 0 <= token < size), None)
            if wrong is not None:
                raise DataError("NNM711", f"token {wrong} is not from 0 to {size - 1}")
        longest = max(map(len, rows))
        if self.most is not None and longest >= self.most:
            message = f"{longest} tokens, the model has positions for {self.most}"
            raise DataError("NNM711", message, hint="shorten the text")
        return wanted if self.most is None else min(wanted, self.most - longest)

    def _length(self, batch: int, needed: int) -> int:
        """Return how many tokens there is to be room for."""
        if self._room[0] == batch and self._room[1] >= needed:
            return self._room[1]
        length = SHORTEST_ROOM
        while length < needed:
            length *= 2
        return length if self.most is None else min(length, self.most)

    async def _begin(
        self,
        base: Kind,
        rows: list[list[int]],
        sampling: Sampling,
        seed: int,
        choose: Choose | None,
    ) -> list[list[int]]:
        """Take the texts, and return the first token that follows each."""
        start = await self._room_for(base, rows)
        longest = max(map(len, rows)) - start
        kind = replace(base, tokens=self._bucket(base, longest))
        executable = await self._compiled(kind)
        await self._compiled(base)
        for name, array in self._first_values(base, rows, sampling, seed).items():
            await self._write(name, array)
        parts = [row[start:] + [0] * (kind.tokens - len(row) + start) for row in rows]
        began = time.perf_counter()
        await self._write(IDS, HostArray.of(parts, "int32"), kind.tokens)
        await self._write(START, HostArray.of([start], "int32"))
        await self._write(COUNT, HostArray.of([len(row) - start for row in rows], "int32"))
        self._texts = [list(row) for row in rows]
        fresh = await self._ran(executable, 1, choose)
        took = time.perf_counter() - began
        count = sum(len(row) - start for row in rows)
        self.speed = Speed(prompt_tokens=count, prompt_seconds=took)
        return fresh

    async def _goes_on(self, base: Kind, count: int, choose: Choose | None) -> list[list[int]]:
        return await self._ran(await self._compiled(base), count, choose)

    async def _ran(
        self, executable: Executable, count: int, choose: Choose | None
    ) -> list[list[int]]:
        """Run a graph so many times, and return the tokens that were chosen."""
        even, odd = self._state
        result = self._given[SCORES] if choose else None
        extra = {SCORES: result} if result else {}
        bound, texts = self._bound(executable), self._texts
        turns = ((even | bound, odd | extra), (odd | bound, even | extra))
        pair = (result, result) if result else (odd[EMITTED], even[EMITTED])
        version, self._version = self._version, -1  # until it is done, the cache is nobody's
        (found,) = await self._backend.run_steps(executable, turns, self._step, count, [pair])
        self._version, self._step = version, self._step + count
        if choose is None:
            flat = list(found.values())
            fresh = [
                flat[(row + 1) * ROUND - count : (row + 1) * ROUND] for row in range(len(texts))
            ]
        else:
            fresh = [[int(token)] for token in choose(found.public(), texts)]
            tokens = HostArray.of([row[0] for row in fresh], "int32")
            self._backend.write(self._state[self._step % 2][TOKEN], tokens)
        for text, more in zip(texts, fresh, strict=True):
            text += more
        return fresh

    def _bound(self, executable: Executable) -> dict[str, DeviceTensor]:
        """Return what a graph takes besides its state: parameters, a prompt, numbers."""
        tensors = self._parameters.readable()
        found = {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}
        found |= self._given
        tokens = executable.inputs.get(IDS)
        if tokens is not None:
            found[IDS] = self._given[f"{IDS}/{tokens.shape[1]}"]
        return {name: tensor for name, tensor in found.items() if name in executable.inputs}

    def _first_values(
        self, base: Kind, rows: list[list[int]], sampling: Sampling, seed: int
    ) -> dict[str, HostArray]:
        """Return what else the choice of tokens begins with."""
        if base.on_host:
            return {}
        found, size = sampling.values(), self.language.vocabulary
        if "temperature" in base.sampling:
            found |= generator_states(seed, len(rows), size)
        if "repetition_penalty" in base.sampling:
            seen = [0.0] * (size * len(rows))
            for place, row in enumerate(rows):
                for token in row:
                    seen[place * size + token] = 1.0
            found[SEEN] = HostArray.of(seen, "float32", [len(rows), size])
        return found

    async def _write(self, name: str, array: HostArray, size: int | None = None) -> None:
        """Write a value where the next graph reads it."""
        state = self._state[self._step % 2]
        if name in state:
            self._backend.write(state[name], array)
            return
        key = name if size is None else f"{name}/{size}"
        if key not in self._given:
            self._given[key] = await self._backend.tensor(TensorType(array.dtype, array.shape))
            self._backend.claim("generation", self._given[key])
        self._backend.write(self._given[key], array)

    async def _room_for(self, base: Kind, rows: list[list[int]]) -> int:
        """Take the memory for so many texts; return how many tokens of each it has already."""
        known = self._version == self._parameters.version
        if self._room != (base.batch, base.length):
            self._free()
            known = False
        _, types = await self._graph(base)
        missing = {name: type for name, type in types.items() if name not in self._state[0]}
        for state in self._state:
            made = await self._backend.tensors(missing)
            self._backend.claim("generation", *made.values())
            state.update(made)
        if base.on_host and SCORES not in self._given:
            type = TensorType("float32", (base.batch, self.language.vocabulary))
            self._given[SCORES] = await self._backend.tensor(type)
            self._backend.claim("generation", self._given[SCORES])
        self._room = base.batch, base.length
        self._version = self._parameters.version
        if not known or len(self._texts) != len(rows):
            return 0
        # Of what was chosen last there are no keys yet.
        return min(
            _common(before[:-1], row[:-1]) for before, row in zip(self._texts, rows, strict=True)
        )

    def _bucket(self, base: Kind, needed: int) -> int:
        """Return the tokens of a graph that takes so many: one that is there, or a power of two."""
        there = [
            kind.tokens
            for kind in self._graphs
            if replace(kind, tokens=0) == base and needed <= kind.tokens <= 4 * needed
        ]
        size = SHORTEST_PROMPT
        while size < needed:
            size *= 2
        return min([*there, min(size, base.length)])

    async def _compiled(self, kind: Kind) -> Executable:
        return (await self._graph(kind))[0]

    async def _graph(self, kind: Kind) -> tuple[Executable, dict[str, TensorType]]:
        """Return a compiled graph and the types of its state."""
        if kind not in self._graphs:
            graph, types = self.language.graph(kind)
            types |= {
                TOKEN: TensorType("int32", (kind.batch,)),
                PLACE: TensorType("int32", (kind.batch,)),
                EMITTED: TensorType("int32", (kind.batch, ROUND)),
            }
            constants: Binding | None = None
            if self._constants and not kind.tokens:
                tensors = self._parameters.readable()
                constants = {PARAMETER_PREFIX + name: each for name, each in tensors.items()}
            self._graphs[kind] = await self._backend.compile(graph, constants=constants), types
            while len(self._graphs) > MOST_GRAPHS:
                _, (executable, _) = self._graphs.popitem(last=False)
                self._backend.release(executable)
        self._graphs.move_to_end(kind)
        return self._graphs[kind]

    def _free(self) -> None:
        """Free the state, whose sizes are others from now on."""
        for tensors in (*self._state, self._given):
            self._backend.release(*tensors.values())
            tensors.clear()
        self._texts, self._room, self._step = [], (0, 0), 0


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return with how many equal items two lists begin."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
