"""The compiled graphs of a generation: the most recently used ones are kept."""

from __future__ import annotations

from dataclasses import replace

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable
from webnnm.core.lru_cache import LruCache
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.parameters import ParameterStore
from webnnm.transformers.decoding import EMITTED, PLACE, ROUND, TOKEN, Kind, Language

MAX_GRAPHS = 6
"""How many graphs are kept, the most recently used ones."""
MIN_LENGTH = 16
"""The least length of prompts and sources in graphs; larger lengths are powers of two."""


class Graphs:
    """Graphs of a network on a backend, compiled at their first use."""

    def __init__(self, language: Language, backend: Backend, parameters: ParameterStore) -> None:
        self._language, self._backend, self._parameters = language, backend, parameters
        self._last_version: int | None = None
        self._kept = LruCache[Kind, tuple[Executable, dict[str, TensorType]]](
            MAX_GRAPHS, lambda kept: backend.release(kept[0])
        )

    def constant_version(self) -> int:
        """Return the version of the parameters that become constants of decode, 0 if none do.

        Compiling them in takes seconds, which pays off unless parameters are about to change again,
        as in a training that generates samples.
        """
        now, before = self._parameters.version, self._last_version
        self._last_version = now
        for kind in [kind for kind in self._kept if kind.version not in (0, now)]:
            self._kept.discard(kind)
        return now if before in (None, now) else 0

    async def compile(self, kind: Kind) -> Executable:
        """Return a compiled graph."""
        return (await self.compile_with_types(kind))[0]

    async def compile_with_types(self, kind: Kind) -> tuple[Executable, dict[str, TensorType]]:
        """Return a compiled graph and the types of its state."""
        entry = self._kept.get(kind)
        if entry is None:
            graph, types = self._language.graph(kind)
            if not kind.encodes:
                types |= {
                    TOKEN: TensorType("int32", (kind.batch,)),
                    PLACE: TensorType("int32", (kind.batch,)),
                    EMITTED: TensorType("int32", (kind.batch, ROUND)),
                }
            constants: Binding | None = None
            if kind.version:
                constants = self.parameters()
            entry = await self._backend.compile(graph, constants=constants), types
            self._kept[kind] = entry
        return entry

    def parameters(self) -> dict[str, DeviceTensor]:
        """Return the parameters by the names of their inputs."""
        tensors = self._parameters.readable()
        return {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}

    def bucket(self, base: Kind, needed: int) -> int:
        """Return the length of a graph for these tokens: an existing one, or a power of two."""
        there = [
            kind.tokens
            for kind in self._kept
            if replace(kind, tokens=0, version=base.version) == base
            and needed <= kind.tokens <= 4 * needed
        ]
        return min([*there, min(round_up(needed), base.length)])

    def close(self) -> None:
        """Free all graphs."""
        self._kept.clear()


def round_up(needed: int, size: int = MIN_LENGTH) -> int:
    """Return the least product of a size and a power of two that is not below what is needed."""
    while size < needed:
        size *= 2
    return size
