"""The keys and values, and other states, that ONNX files of decoders take and return."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import ValueInfo
from webnnm.transformers.onnx_files import OnnxFile
from webnnm.transformers.onnx_names import PAST, PRESENT

OF_ENCODER = ".encoder."
"""What the names of keys and values of an encoder's output have."""
BRANCH, LOGITS_KEPT = "use_cache_branch", "num_logits_to_keep"
GROUPED = "GroupQueryAttention"


class State(NamedTuple):
    """Keys or values, or another state, that a graph takes and returns.

    `past` and `present` are their names, `info` the type of the input; `written` tells that the
    graph writes new ones at their positions, rather than append them.
    """

    past: str
    present: str
    info: ValueInfo
    written: bool

    @property
    def dtype(self) -> DataType:
        """The type."""
        return cast("DataType", self.info.dtype)

    def shape(self, batch: int, length: int) -> tuple[int, ...]:
        """Return the sizes for a number of rows, and a number of tokens."""
        first, *others = self.info.shape or ()
        del first
        sizes = [size if isinstance(size, int) else length for size in others]
        return (batch, *sizes)


def choose_branch(file: OnnxFile, *, has_past: bool) -> OnnxFile:
    """Return a file that computes with or without a past, and the scores of all tokens.

    Files with a branch for each have an input that says which; it becomes a constant.
    """
    fixed = {BRANCH: HostArray.of([int(has_past)], "uint8"), LOGITS_KEPT: HostArray.of(0, "int64")}
    graph = file.graph
    constants = [
        tensors.tensor_proto(name, array, boolean=name == BRANCH)
        for name, array in fixed.items()
        if name in file.inputs
    ]
    inputs = [info for info in graph.input if info.name not in fixed]
    graph = replace(graph, input=inputs, initializer=[*graph.initializer, *constants])
    return file._replace(model=replace(file.model, graph=graph))


def find_states(file: OnnxFile) -> list[State]:
    """Return the keys, values and other states that a file takes and returns."""
    makers = {name: node.op_type for node in file.graph.node for name in node.output}
    states: list[State] = []
    for name, info in file.inputs.items():
        prefix = next((prefix for prefix in PAST if name.startswith(prefix)), None)
        if prefix is not None:
            present = PRESENT + name.removeprefix(prefix)
            states.append(State(name, present, info, makers.get(present) == GROUPED))
    return states


def keep_outputs(file: OnnxFile, names: Collection[str]) -> OnnxFile:
    """Return a file that computes some of its outputs."""
    outputs = [info for info in file.graph.output if info.name in names]
    return file._replace(model=replace(file.model, graph=replace(file.graph, output=outputs)))


def is_cache(state: State) -> bool:
    """Return whether a state is `[batch, heads, tokens, size]`, of which two are fixed."""
    shape = state.info.shape or ()
    return len(shape) == 4 and [isinstance(size, int) for size in shape[1:]] == [True, False, True]
