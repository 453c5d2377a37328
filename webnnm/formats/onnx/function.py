"""ONNX models as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from webnnm.core.shapes import Shape
from webnnm.eager.applying import Parameters, compute_graph, keep, name_inputs, only_output
from webnnm.formats.onnx.importing.importer import Imported
from webnnm.formats.onnx.importing.sizes import Shapes


class OnnxFunction:
    """An ONNX model as a function; its graphs are cached by size."""

    def __init__(self, names: Sequence[str], imported: Callable[[Shapes], Imported]) -> None:
        self._names, self._imported = names, imported
        self._kept: dict[Any, Imported] = {}

    def __call__(self, params: Parameters, inputs: Sequence[Any]) -> Any:
        """Return what `OnnxModel.apply` does."""
        operands = name_inputs(self._names, inputs)
        sizes: dict[str, Shape] = {name: x.shape for name, x in operands.items()}
        imported = keep(self._kept, (*sizes.items(),), partial(self._imported, sizes))
        return only_output(compute_graph(imported.graph, operands, params, {}, prefix=""))
