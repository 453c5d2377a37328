"""The compiled graphs of a generation: the most recently used ones are kept."""

from __future__ import annotations

from dataclasses import replace

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable
from webnnm.core.lru_cache import LruCache
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.parameters import ParameterStore
from webnnm.transformers.decoding import EMITTED, MAX_STEPS, POSITION, TOKEN, GraphSpec, Language

MAX_GRAPHS = 6
"""How many graphs are kept, the most recently used ones."""
MIN_LENGTH = 16
"""The least length of prompts and sources in graphs; larger lengths are powers of two."""


class Graphs:
    """Graphs of a network on a backend, compiled at their first use."""

    def __init__(self, language: Language, backend: Backend, parameters: ParameterStore) -> None:
        self._language, self._backend, self._parameters = language, backend, parameters
        self._last_version: int | None = None
        self._kept = LruCache[GraphSpec, tuple[Executable, dict[str, TensorType]]](
            MAX_GRAPHS, lambda kept: backend.release(kept[0])
        )

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

    async def compile_with_types(self, spec: GraphSpec) -> tuple[Executable, dict[str, TensorType]]:
        """Return a compiled graph and the types of its state.

        Parameters that have changed since the generation began are inputs: the next generation has
        other constants.
        """
        entry = self._kept.get(spec)
        if entry is None and spec.version not in (0, self._parameters.version):
            spec = replace(spec, version=0)
            entry = self._kept.get(spec)
        if entry is None:
            graph, types = self._language.graph(spec)
            if not spec.encodes:
                types |= {
                    TOKEN: TensorType("int32", (spec.batch,)),
                    POSITION: TensorType("int32", (spec.batch,)),
                    EMITTED: TensorType("int32", (spec.batch, MAX_STEPS)),
                }
            constants: Binding | None = None
            if spec.version:
                constants = self.parameters()
            entry = await self._backend.compile(graph, constants=constants), types
            self._kept[spec] = entry
        return entry

    def parameters(self) -> dict[str, DeviceTensor]:
        """Return the parameters by the names of their inputs."""
        tensors = self._parameters.readable()
        return {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}

    def bucket(self, base: GraphSpec, needed: int) -> int:
        """Return the length of a graph for these tokens: an existing one, or a power of two."""
        lengths = [
            spec.tokens
            for spec in self._kept
            if replace(spec, tokens=0, version=base.version) == base
            and needed <= spec.tokens <= 4 * needed
        ]
        return min([*lengths, min(round_up(needed), base.length)])

    def close(self) -> None:
        """Free all graphs."""
        self._kept.clear()


def round_up(needed: int, size: int = MIN_LENGTH) -> int:
    """Return the least product of a size and a power of two that is not below what is needed."""
    while size < needed:
        size *= 2
    return size
