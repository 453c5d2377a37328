"""Operator cases of ONNX as jobs: a model, what goes in, what shall come out.

It imports webnnm only, to run in pages.
"""

from __future__ import annotations

import struct
from array import array as Numbers
from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.errors import WebNNMError
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.formats.onnx.importing.refusals import UnknownValue
from webnnm.formats.onnx.narrowing import narrow
from webnnm.formats.onnx.reader import read_model
from webnnm.graph.node import Graph


@dataclass(frozen=True)
class OnnxCase:
    """A case; `operator` is the one it is about, arrays are data type, shape and bytes.

    `relative` and `absolute` are how far results may be from the expected ones.
    """

    name: str
    operator: str
    model: bytes
    inputs: Mapping[str, tuple[str, tuple[int, ...], bytes]]
    expected: tuple[tuple[str, tuple[int, ...], bytes], ...]
    relative: float
    absolute: float

    def import_model(self) -> Imported:
        """Import the model for the sizes of its inputs, those that decide shapes as constants."""
        model = read_model(self.model)
        known: dict[str, HostArray] = {}
        shapes = {name: shape for name, (_, shape, _) in self.inputs.items()}
        while True:
            try:
                return import_model(model, shapes, constants=known)
            except UnknownValue as error:
                more = error.inputs - known.keys()
                if not more:
                    raise
                known |= {name: array(self.inputs[name]) for name in more}

    def graph(self) -> tuple[Graph, Mapping[str, HostArray]]:
        """Build the graph; return it with the values of its inputs."""
        found = self.import_model()
        feeds = {name: array(self.inputs[name]) for name in found.inputs}
        return found.graph, feeds | dict(found.parameters)


HELD_AS = {"float64": "float32", "int16": "int32", "uint16": "int32"}
"""The types of ONNX that another one holds, by name."""


def array(packed: tuple[str, tuple[int, ...], bytes]) -> HostArray:
    """Return an array of a case in the type that holds it."""
    dtype, shape, data = packed
    if dtype in ("int16", "uint16"):
        values = struct.unpack(f"<{len(data) // 2}{'h' if dtype == 'int16' else 'H'}", data)
        return HostArray("int32", shape, Numbers("i", values))
    return narrow(HostArray(dtype, shape, data))  # type: ignore[arg-type]


def refusal(error: Exception) -> str:
    """Return the code of an error that refuses a model by name, "" of any other."""
    return error.code if isinstance(error, WebNNMError) and error.code in REFUSALS else ""


REFUSALS = frozenset({"NNM812", "NNM814"})
"""What a case may be refused for: an operator, or a type that WebNN does not have."""
