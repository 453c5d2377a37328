"""What a graph was built from, and how it is built again on another backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.backends.base import Backend, Binding, Constants, DeviceTensor, Executable
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan

Tensors = Mapping[Any, DeviceTensor]
"""The tensors of the inner backend, by the handles that the outside has."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a graph was compiled from, to compile it again elsewhere."""

    graph: Graph | Scan
    constants: Constants | None
    recompute: bool

    async def build(self, backend: Backend, tensors: Tensors) -> Executable:
        """Compile the graph on a backend that has the tensors."""
        constants = self.constants
        if constants and tensors:
            constants = {
                name: tensors.get(value.handle, value) if isinstance(value, DeviceTensor) else value
                for name, value in constants.items()
            }
        return await backend.compile(self.graph, constants=constants, recompute=self.recompute)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A graph that was built again: `fixed` are constants that stay inputs there, `own` those of
    them that nobody else holds."""

    executable: Executable
    fixed: Binding
    own: Sequence[DeviceTensor]
