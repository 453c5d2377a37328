"""The compiled graphs of a generation: those that were used last are kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from webnnm.backends.base import Backend, Binding, DeviceTensor, Executable
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.parameters import ParameterStore
from webnnm.transformers.decoding import EMITTED, PLACE, ROUND, TOKEN, Kind, Language

MOST_GRAPHS = 6
"""Graphs that are kept: those that were used last."""
SHORTEST = 16
"""Tokens that graphs of prompts and sources take at least; longer ones are powers of two."""


class Graphs:
    """Graphs of a network on a backend, compiled at their first use."""

    def __init__(self, language: Language, backend: Backend, parameters: ParameterStore) -> None:
        self._language, self._backend, self._parameters = language, backend, parameters
        self._last_version: int | None = None
        self._kept: OrderedDict[Kind, tuple[Executable, dict[str, TensorType]]] = OrderedDict()

    def fixed_version(self) -> int:
        """Return the version of parameters that become constants of decode, 0 if none do.

        Building them in takes seconds, which pays unless parameters are about to change again, as
        in a training that shows texts.
        """
        now, before = self._parameters.version, self._last_version
        self._last_version = now
        for kind in [kind for kind in self._kept if kind.version not in (0, now)]:
            self._backend.release(self._kept.pop(kind)[0])
        return now if before in (None, now) else 0

    async def compiled(self, kind: Kind) -> Executable:
        """Return a compiled graph."""
        return (await self.typed(kind))[0]

    async def typed(self, kind: Kind) -> tuple[Executable, dict[str, TensorType]]:
        """Return a compiled graph and the types of its state."""
        if kind not in self._kept:
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
            self._kept[kind] = await self._backend.compile(graph, constants=constants), types
            while len(self._kept) > MOST_GRAPHS:
                _, (executable, _) = self._kept.popitem(last=False)
                self._backend.release(executable)
        self._kept.move_to_end(kind)
        return self._kept[kind]

    def parameters(self) -> dict[str, DeviceTensor]:
        """Return the parameters by the names of the inputs that take them."""
        tensors = self._parameters.readable()
        return {PARAMETER_PREFIX + name: tensor for name, tensor in tensors.items()}

    def bucket(self, base: Kind, needed: int) -> int:
        """Return the tokens of a graph that takes so many: one that is there, or a power of two."""
        there = [
            kind.tokens
            for kind in self._kept
            if replace(kind, tokens=0, version=base.version) == base
            and needed <= kind.tokens <= 4 * needed
        ]
        return min([*there, min(rounded(needed), base.length)])

    def close(self) -> None:
        """Free all graphs."""
        for executable, _ in self._kept.values():
            self._backend.release(executable)
        self._kept.clear()


def rounded(needed: int, size: int = SHORTEST) -> int:
    """Return the least power of two times a size that is not below what is needed."""
    while size < needed:
        size *= 2
    return size
