"""Generation on a device: continues texts token by token, in memory that is allocated once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.model.nnmodel import NNModel
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.beams import INDICES, VALUES, Beams, Search, update_searches
from webnnm.transformers.choice import (
    ALLOWED,
    HISTORY,
    PROMPT,
    SCORE_RULES,
    SEEN,
    SOURCE_NGRAMS,
    Sampling,
    generator_states,
    ngram_sizes,
)
from webnnm.transformers.decoding import (
    COUNT,
    EMITTED,
    IDS,
    MAX_STEPS,
    SCORES,
    START,
    TOKEN,
    GraphSpec,
    Language,
)
from webnnm.transformers.graphs import PAUSE_SECONDS, Graphs, Weights, round_up
from webnnm.transformers.key_values import EARLIER
from webnnm.transformers.source import Source, pad_source, source_lengths

if TYPE_CHECKING:
    from webnnm.transformers.structured.output import StructuredTexts

Choose = Callable[[Any, list[list[int]]], Sequence[int]]
"""A choice on the host: scores `[batch, vocabulary]` and texts so far → the next tokens."""
MIN_CACHE_LENGTH = 128
"""The least capacity of a cache in tokens; larger ones are powers of two."""
READ_INTERVAL = 0.1
"""Seconds between two reads of the tokens by the host, if tokens come faster."""


@dataclass(kw_only=True)
class Speed:
    """The speed of the last generation: tokens and seconds of the prompt, and of what followed.

    Compilation is not included.
    """

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float:
        """The tokens chosen per second, for each row."""
        return self.tokens / self.seconds if self.seconds else 0.0


class Generator:
    """Continues texts of token numbers with a model.

    >>> from webnnm import Generator
    >>> async def continue_text(model, text):
    ...     async for tokens in Generator(model).generate([text], 20):
    ...         print(tokens[0])

    Keys and values of a text stay on the device: for a text that begins like it, such as the next
    turn of a conversation, only the new tokens are computed. One generation runs at a time; a new
    one ends the one before.

    Raises `DataError` NNM717 for networks that are not language models.
    """

    def __init__(self, model: NNModel, *, max_length: int | None = None) -> None:
        language = Language(model.state.network)
        self._set_up(language, model.backend, model.state.parameters, max_length)

    @classmethod
    def of(
        cls, language: Language, backend: Backend, weights: Weights, max_length: int | None
    ) -> Self:
        """Return a generator for graphs of other origin, with weights on a backend."""
        generator = cls.__new__(cls)
        generator._set_up(language, backend, weights, max_length)
        return generator

    def _set_up(
        self, language: Language, backend: Backend, parameters: Weights, max_length: int | None
    ) -> None:
        self.language = language
        limits = [limit for limit in (max_length, self.language.max_length) if limit is not None]
        self.max_length = min(limits) if limits else None
        self.speed = Speed()
        self._backend, self._parameters = backend, parameters
        self._graphs = Graphs(self.language, backend, parameters)
        self._source = Source(self.language, backend, self._graphs)
        self._state: tuple[dict[str, DeviceTensor], dict[str, DeviceTensor]] = ({}, {})
        self._inputs: dict[str, DeviceTensor] = {}
        self._sizes = (0, 0, 1, 0)  # batch, length of the cache, beams, ends
        self._step = 0
        self._texts: list[list[int]] = []
        self._cache_version = -1
        self._current_run: object = None
        self._lock = asyncio.Lock()

    def stop(self) -> None:
        """End the current generation after the tokens that are in progress."""
        self._current_run = None

    async def state(self, name: str) -> HostArray:
        """Return a state of the last generation, by its name in the graphs."""
        (array,) = await self._backend.read(self._state[self._step % 2][name])
        return array

    def close(self) -> None:
        """Free the memory on the device; the current generation ends."""
        self.stop()
        self._free()
        self._graphs.close()

    async def generate(
        self,
        texts: Sequence[Sequence[int]],
        max_new_tokens: int,
        *,
        sampling: Sampling | None = None,
        seed: int = 0,
        choose: Choose | None = None,
        structured: StructuredTexts | None = None,
        source: Mapping[str, Any] | None = None,
        last: int | None = None,
    ) -> AsyncGenerator[list[list[int]], None]:
        """Yield the next tokens of all texts, some at a time, the same number for each.

        A text whose positions end gets no more tokens, while others do. With `choose` the host
        chooses every token; `structured` limits the choice. `source` has arrays `[texts, …]` by
        name for the inputs other than the text, such as those of an encoder. `last` is the token
        that ends texts of `max_new_tokens`, whatever would be chosen.

        Raises `DataError` NNM711 for texts without tokens, with tokens out of the vocabulary, or
        longer than the positions of the model, NNM710 and NNM702 for a source that does not fit the
        network, NNM704 if no structured text fits in `max_new_tokens`.
        """
        rows = [[int(token) for token in text] for text in texts]
        limits = self._check_texts(rows, max_new_tokens)
        if structured is not None:  # all texts are complete within the same number of tokens
            limits = [min(limits)] * len(rows)
        limit = max(limits)
        arrays = pad_source(self.language, source, len(rows))
        sampling = sampling or Sampling()
        run = self._current_run = object()
        kinds = (*sampling.kinds(), *([ALLOWED] if structured else []))
        base = replace(
            self._spec(rows, limits, arrays),
            sampling=() if choose else kinds,
            on_host=choose is not None,
        )
        async with self._lock:
            states = self._initial_states(base, rows, sampling, seed)
            if structured is not None:
                structured.begin(limit)
                biases = structured.new_biases()
                states |= {} if biases is None else {ALLOWED: biases}
            outputs = await self._begin(base, rows, arrays, states, limit)
            new_tokens = self._choose(outputs[0], 1, choose)
        count, size, step_seconds = 1, 1, 0.0
        try:
            while True:
                if self._current_run is not run:
                    return
                if last is not None and count == max_new_tokens:
                    new_tokens = [[*row[:-1], last] for row in new_tokens]
                before = count - size
                yield [
                    row[: max(0, own - before)] for row, own in zip(new_tokens, limits, strict=True)
                ]
                if count >= limit or self._current_run is not run:
                    return
                size = _steps_until_read(limit - count, step_seconds)
                if choose is not None or structured is not None:
                    size = 1  # the host decides before each token
                if structured is not None:
                    structured.advance(new_tokens)
                    if structured.done:
                        return
                async with self._lock:
                    if self._current_run is not run:
                        return
                    if structured is not None and (biases := structured.new_biases()) is not None:
                        await self._write(ALLOWED, biases)
                    outputs, step_seconds = await self._advance(base, size)
                    new_tokens = self._choose(outputs[0], size, choose)
                count += size
        finally:
            if self._current_run is run and count > 1:  # the device has nothing else to do
                self._graphs.compile_ahead(base, PAUSE_SECONDS)

    async def search(
        self,
        texts: Sequence[Sequence[int]],
        max_new_tokens: int,
        beams: Beams,
        *,
        sampling: Sampling | None = None,
        source: Mapping[str, Any] | None = None,
        last: int | None = None,
        returned: int = 1,
        forced: int = 0,
    ) -> list[list[int]]:
        """Return the continuation of each text by beam search, up to a token that ends it.

        `returned` is how many of the best continuations each text has, one after the other.
        `forced` tokens at the end of each text count as written. After `stop`, the best texts so
        far are returned. Raises `DataError` like `generate`, and NNM704 if tokens are to be drawn.
        """
        rows = [[int(token) for token in text] for text in texts]
        limits = self._check_texts(rows, max_new_tokens)
        limit = max(limits)
        arrays = pad_source(self.language, source, len(rows))
        sampling = sampling or Sampling()
        for name in sampling.kinds():
            if name.partition("=")[0] not in SCORE_RULES:
                message = f"num_beams is {beams.count}, {name} is {getattr(sampling, name)}"
                raise DataError("NNM704", message, hint="leave one of them out")
        run = self._current_run = object()
        beam_rows = [row for row in rows for _ in range(beams.count)]
        base = replace(
            self._spec(rows, limits, arrays, beams.count),
            sampling=sampling.kinds(),
            beams=beams.count,
            ends=beams.ends,
        )
        first = self._initial_states(base, beam_rows, sampling, 0) | beams.initial_states(len(rows))
        size = self.language.vocabulary
        searches = [
            Search(beams, size, own + forced, forced, last if own == max_new_tokens else None)
            for own in limits
        ]
        count, step_seconds = 1, 0.0
        async with self._lock:
            outputs = await self._begin(base, beam_rows, arrays, first, limit)
            self._texts = []  # beams move from row to row: no row has the keys of its text
        update_searches(searches, outputs, count)
        while not all(search.done for search in searches) and self._current_run is run:
            size = _steps_until_read(limit - count, step_seconds)
            async with self._lock:
                if self._current_run is not run:
                    break
                outputs, step_seconds = await self._advance(base, size)
            update_searches(searches, outputs, size)
            count += size
        return [tokens for search in searches for tokens in search.best(returned)]

    def _spec(
        self,
        rows: list[list[int]],
        limits: list[int],
        source: Mapping[str, HostArray],
        beams: int = 1,
    ) -> GraphSpec:
        """Return what all graphs that continue these rows by some tokens have in common."""
        longest = max(len(row) + limit for row, limit in zip(rows, limits, strict=True))
        batch = len(rows) * beams
        return GraphSpec(
            batch=batch,
            tokens=0,
            length=self._cache_length(batch, longest),
            source=(*source_lengths(self.language, source).items(),),
            version=self._graphs.constant_version(),
            ragged=self.language.restarts and len({*map(len, rows)}) > 1,
        )

    def _check_texts(self, rows: list[list[int]], max_new_tokens: int) -> list[int]:
        """Return how many tokens may follow each text: fewer than asked for where positions end."""
        if not is_integer(max_new_tokens) or max_new_tokens < 1:
            message = f"max_new_tokens is {max_new_tokens!r}"
            raise DataError("NNM704", message, hint="give an integer from 1")
        if not rows or not all(rows):
            raise DataError("NNM711", "a text without tokens", hint="start with at least one token")
        size = self.language.vocabulary
        for row in rows:
            wrong = next((token for token in row if not 0 <= token < size), None)
            if wrong is not None:
                raise DataError("NNM711", f"token {wrong} is not from 0 to {size - 1}")
        longest = max(map(len, rows))
        if self.max_length is not None and longest >= self.max_length:
            message = f"{longest} tokens, the model has positions for {self.max_length}"
            raise DataError("NNM711", message, hint="shorten the text")
        if self.max_length is None:
            return [max_new_tokens] * len(rows)
        return [min(max_new_tokens, self.max_length - len(row)) for row in rows]

    def _cache_length(self, batch: int, needed: int) -> int:
        """Return the capacity of the cache in tokens."""
        if self._sizes[0] == batch and self._sizes[1] >= needed:
            return self._sizes[1]
        length = round_up(needed, MIN_CACHE_LENGTH)
        return length if self.max_length is None else min(length, self.max_length)

    async def _begin(
        self,
        base: GraphSpec,
        rows: list[list[int]],
        source: Mapping[str, HostArray],
        first: Mapping[str, HostArray],
        limit: int,
    ) -> list[HostArray]:
        """Run the prompts, and return the outputs for the token that follows each.

        If more tokens follow, their graph is compiled meanwhile; `limit` is their number.
        """
        start = self._count_cached(base, rows)
        if await self._source.encode(base, source, self._parameters.version):
            start = 0
        longest = max(map(len, rows)) - start
        spec = replace(base, tokens=self._graphs.bucket(base, longest), version=0)
        executable, types = await self._graphs.compile_with_types(spec)
        await self._allocate(base, types)
        for name, array in first.items():
            await self._write(name, array)
        padded_rows = [row[start:] + [0] * (spec.tokens - len(row) + start) for row in rows]
        started = time.perf_counter()
        await self._write(IDS, HostArray.of(padded_rows, "int32"), spec.tokens)
        await self._write(START, HostArray.of([start], "int32"))
        await self._write(COUNT, HostArray.of([len(row) - start for row in rows], "int32"))
        self._texts = [list(row) for row in rows]
        if limit > 1:
            self._graphs.compile_first_decode(base)
        outputs = await self._run_steps(executable, base, 1)
        seconds = time.perf_counter() - started
        count = sum(len(row) - start for row in rows)
        self.speed = Speed(prompt_tokens=count, prompt_seconds=seconds)
        return outputs

    async def _advance(self, base: GraphSpec, count: int) -> tuple[list[HostArray], float]:
        """Return the outputs for a number of tokens, and the seconds that each took."""
        executable = await self._graphs.compile_decode(base, count)
        started = time.perf_counter()
        outputs = await self._run_steps(executable, base, count)
        seconds = time.perf_counter() - started
        self.speed.tokens += count
        self.speed.seconds += seconds
        return outputs, seconds / count

    async def _run_steps(
        self, executable: Executable, base: GraphSpec, count: int
    ) -> list[HostArray]:
        """Run a graph a number of times, and return its outputs for the choice."""
        even, odd = self._state
        result = self._inputs[SCORES] if base.on_host else None
        extra = {SCORES: result} if result else {}
        inputs = self._bind_inputs(executable)
        bindings = ((even | inputs, odd | extra), (odd | inputs, even | extra))
        names = (VALUES, INDICES) if base.beams > 1 else (EMITTED,)
        pairs = [(result, result)] if result else [(odd[name], even[name]) for name in names]
        version = self._cache_version
        self._cache_version = -1  # until the steps are done, the cache belongs to no text
        outputs = await self._backend.run_steps(executable, bindings, self._step, count, pairs)
        self._cache_version, self._step = version, self._step + count
        return outputs

    def _choose(self, emitted: HostArray, count: int, choose: Choose | None) -> list[list[int]]:
        """Return the last tokens that the device chose, or that the host chooses now."""
        texts = self._texts
        if choose is None:
            flat = list(emitted.values())
            ends = [(row + 1) * MAX_STEPS for row in range(len(texts))]
            new_tokens = [flat[end - count : end] for end in ends]
        else:
            new_tokens = [[int(token)] for token in choose(emitted.public(), texts)]
            tokens = HostArray.of([row[0] for row in new_tokens], "int32")
            self._backend.write(self._state[self._step % 2][TOKEN], tokens)
        for text, more in zip(texts, new_tokens, strict=True):
            text += more
        return new_tokens

    def _bind_inputs(self, executable: Executable) -> dict[str, DeviceTensor]:
        """Return the inputs of a graph besides its state: parameters, source, prompt, numbers."""
        tensors = {**self._graphs.parameters(), **self._inputs, **self._source.tensors}
        tokens = executable.inputs.get(IDS)
        if tokens is not None:
            tensors[IDS] = self._inputs[f"{IDS}/{tokens.shape[1]}"]
        return {name: tensor for name, tensor in tensors.items() if name in executable.inputs}

    def _initial_states(
        self, base: GraphSpec, rows: list[list[int]], sampling: Sampling, seed: int
    ) -> dict[str, HostArray]:
        """Return the states that the choice of tokens begins with."""
        if base.on_host:
            return {}
        size = self.language.vocabulary
        states = sampling.values(size) | sampling.history(rows, base.length)
        if ngram_sizes(base.sampling, SOURCE_NGRAMS) and not self.language.source:
            states[PROMPT] = states[HISTORY]
        if sampling.timestamps is not None:
            states |= sampling.timestamps.values(len(rows))
        if "temperature" in base.sampling:
            states |= generator_states(seed, len(rows), size)
        if "repetition_penalty" in base.sampling:
            seen = [0.0] * (size * len(rows))
            for row_index, row in enumerate(rows):
                for token in row:
                    seen[row_index * size + token] = 1.0
            states[SEEN] = HostArray.of(seen, "float32", [len(rows), size])
        return states

    async def _write(self, name: str, array: HostArray, size: int | None = None) -> None:
        """Write an array to the state or the input that the next graph reads."""
        state = self._state[self._step % 2]
        if name in state:
            self._backend.write(state[name], array)
            return
        key = name if size is None else f"{name}/{size}"
        if key not in self._inputs:
            self._inputs[key] = await self._backend.tensor(TensorType(array.dtype, array.shape))
            self._backend.claim("generation", self._inputs[key])
        self._backend.write(self._inputs[key], array)

    def _count_cached(self, base: GraphSpec, rows: list[list[int]]) -> int:
        """Return how many tokens of each text are in the cache; free one of other sizes."""
        sizes = base.batch, base.length, base.beams, len(base.ends)
        if self._sizes != sizes:
            self._free()
        is_valid = self._cache_version == self._parameters.version
        if not is_valid or self.language.restarts or len(self._texts) != len(rows):
            return 0
        # The tokens that were chosen last have no keys yet.
        earlier = [before[:-1] for before in self._texts]
        prefixes = [
            _common_prefix(before, row[:-1]) for before, row in zip(earlier, rows, strict=True)
        ]
        lengths = [len(before) for before in earlier]
        has_state = any(name.endswith(EARLIER) for name in self._state[0])
        if has_state and (prefixes != lengths or len({*lengths}) > 1):
            return 0  # a state is that after all tokens
        return min(prefixes)

    async def _allocate(self, base: GraphSpec, types: Mapping[str, TensorType]) -> None:
        """Allocate the memory for the state of graphs, unless it is there."""
        for state in self._state:
            missing = {name: type for name, type in types.items() if name not in state}
            tensors = await self._backend.tensors(missing)
            self._backend.claim("generation", *tensors.values())
            state.update(tensors)
        if base.on_host and SCORES not in self._inputs:
            type = TensorType("float32", (base.batch, self.language.vocabulary))
            self._inputs[SCORES] = await self._backend.tensor(type)
            self._backend.claim("generation", self._inputs[SCORES])
        self._sizes = base.batch, base.length, base.beams, len(base.ends)
        self._cache_version = self._parameters.version

    def _free(self) -> None:
        """Free the state, because its sizes change."""
        for tensors in (*self._state, self._inputs):
            self._backend.release(*tensors.values())
            tensors.clear()
        self._source.free()
        self._texts = []
        self._sizes, self._step = (0, 0, 1, 0), 0


def _steps_until_read(remaining: int, step_seconds: float) -> int:
    """Return how many tokens are chosen before the host reads them, by the seconds per token."""
    steps = int(READ_INTERVAL / step_seconds) if step_seconds else 1
    return max(1, min(MAX_STEPS, remaining, steps))


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix of two lists."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
