"""The compiled graphs of a generation: the most recently used ones are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable
from webnnm.core.lru_cache import LruCache
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.transformers.decoding import EMITTED, MAX_STEPS, POSITION, TOKEN, GraphSpec, Language

MAX_GRAPHS = 6
"""How many graphs are kept, the most recently used ones."""
MIN_LENGTH = 16
"""The least length of prompts and sources in graphs; larger lengths are powers of two."""
MAX_EXACT_LENGTH = 8
"""Shorter beginnings of answers, such as the language of a translation, are not padded."""
MIN_TOKENS = 8
"""After this many tokens of decode with its parameters as inputs, they are compiled in."""
PAUSE_SECONDS = 0.2
"""How long a compilation after a generation waits, so that the page shows the text first."""


class Weights(Protocol):
    """The weights of a model on a device; `version` changes whenever their values do."""

    version: int

    def readable(self) -> Mapping[str, DeviceTensor]:
        """Return the tensors by name."""
        ...


Entry = tuple[Executable, dict[str, TensorType]]
"""A graph and the types of its state."""


class Graphs:
    """Graphs of a network on a backend, compiled at their first use.

    Decode is faster if the parameters are constants, but compiling them in takes seconds. Where a
    device compiles while it runs other graphs, the first tokens come from decode with parameters as
    inputs, until the other one is compiled.
    """

    def __init__(self, language: Language, backend: Backend, parameters: Weights) -> None:
        self._language, self._backend, self._parameters = language, backend, parameters
        self._last_version: int | None = None
        self._kept = LruCache[GraphSpec, Entry](MAX_GRAPHS, lambda kept: backend.release(kept[0]))
        self.ahead: tuple[GraphSpec, asyncio.Task[Entry]] | None = None
        """What is compiled in the background, or was last."""
        self._tokens = 0

    def constant_version(self) -> int:
        """Return the version of the parameters that become constants of decode, 0 if none do.

        Compiling them in takes seconds, which pays off unless parameters are about to change again,
        as in a training that generates samples.
        """
        now, before = self._parameters.version, self._last_version
        self._last_version = now
        for spec in [spec for spec in self._kept if spec.version not in (0, now)]:
            self._kept.discard(spec)
        return now if before in (None, now) else 0

    async def compile(self, spec: GraphSpec) -> Executable:
        """Return a compiled graph."""
        return (await self.compile_with_types(spec))[0]

    async def compile_with_types(self, spec: GraphSpec) -> Entry:
        """Return a compiled graph and the types of its state."""
        spec = self._current(spec)
        if spec not in self._kept and self.ahead is not None and self.ahead[0] == spec:
            await asyncio.wait([self.ahead[1]])
        return self._kept.get(spec) or await self._compile(spec)

    async def compile_decode(self, spec: GraphSpec, count: int) -> Executable:
        """Return the graph for the next tokens: with its parameters as constants once it is there.

        `count` is the number of tokens.
        """
        decode = self._choose_decode(spec)
        if decode != spec:
            self._tokens += count
            if self._tokens > MIN_TOKENS:
                self.compile_ahead(spec)
        return await self.compile(decode)

    def compile_first_decode(self, spec: GraphSpec) -> None:
        """Begin to compile the graph of the first tokens, where the device does so meanwhile."""
        decode = self._choose_decode(spec)
        if decode != spec:
            self.compile_ahead(decode)

    def compile_ahead(self, spec: GraphSpec, pause: float = 0.0) -> None:
        """Begin to compile a graph after a pause in seconds, where the device does so meanwhile.

        If it fails, whoever needs the graph compiles it again, and gets the error.
        """
        is_busy = self.ahead is not None and not self.ahead[1].done()
        if not self._is_concurrent or is_busy or self._current(spec) in self._kept:
            return
        task = asyncio.ensure_future(self._compile_later(spec, pause))
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self.ahead = spec, task

    async def _compile_later(self, spec: GraphSpec, pause: float) -> Entry:
        await asyncio.sleep(pause)
        spec = self._current(spec)  # parameters may have changed meanwhile
        return self._kept.get(spec) or await self._compile(spec)

    @property
    def _is_concurrent(self) -> bool:
        """Whether the device compiles and runs graphs while Python goes on: WebNN."""
        return self._backend.dispatch_seconds > 0

    def _choose_decode(self, spec: GraphSpec) -> GraphSpec:
        """Return decode with parameters as inputs until the one with constants is compiled."""
        has_failed = self.ahead is not None and self.ahead[0] == spec and self.ahead[1].done()
        if not self._is_concurrent or spec in self._kept or has_failed:
            return spec
        return replace(spec, version=0)

    def _current(self, spec: GraphSpec) -> GraphSpec:
        """Return a graph that computes with the current parameters.

        Parameters that have changed since the generation began are inputs: the next generation has
        other constants.
        """
        is_kept = spec.version in (0, self._parameters.version) or spec in self._kept
        return spec if is_kept else replace(spec, version=0)

    async def _compile(self, spec: GraphSpec) -> Entry:
        graph, types = self._language.graph(spec)
        if not spec.encodes:
            types |= {
                TOKEN: TensorType("int32", (spec.batch,)),
                POSITION: TensorType("int32", (spec.batch,)),
                EMITTED: TensorType("int32", (spec.batch, MAX_STEPS)),
            }
        constants: Binding | None = None
        if spec.version:
            tensors = self.parameters()
            constants = {name: x for name, x in tensors.items() if name in graph.inputs}
        entry = await self._backend.compile(graph, constants=constants), types
        self._kept[spec] = entry
        return entry

    def parameters(self) -> dict[str, DeviceTensor]:
        """Return the parameters by the names of their inputs."""
        tensors = self._parameters.readable()
        return {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}

    def bucket(self, base: GraphSpec, needed: int) -> int:
        """Return the length of a graph for these tokens: an existing one, or a power of two.

        A model that restarts has a graph of the very length for the few tokens that answers begin
        with: padding would change the range by which quantised models round.
        """
        if self._language.restarts and self._language.source and needed <= MAX_EXACT_LENGTH:
            return needed
        lengths = [
            spec.tokens
            for spec in self._kept
            if replace(spec, tokens=0, version=base.version) == base
            and needed <= spec.tokens <= 4 * needed
        ]
        return min([*lengths, min(round_up(needed), base.length)])

    def close(self) -> None:
        """Free all graphs."""
        if self.ahead is not None:
            self.ahead[1].cancel()
        self._kept.clear()


def round_up(needed: int, size: int = MIN_LENGTH) -> int:
    """Return the least product of a size and a power of two that is not below what is needed."""
    while size < needed:
        size *= 2
    return size
