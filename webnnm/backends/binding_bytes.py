"""Bindings in the form that the bridge takes, and the bytes of their tensors."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.backends.base import Binding, Executable, check_binding
from webnnm.core.arrays import HostArray
from webnnm.ops.declare.tensors import TensorType


def get_binding_handles(
    executable: Executable, inputs: Binding, outputs: Binding
) -> tuple[dict[str, int], dict[str, int]]:
    """Check a binding against the graph, and return the handles of the tensors that it uses.

    Inputs that were simplified away are not among them: WebNN refuses to bind them.
    """
    check_binding(executable, inputs, outputs)
    return (
        {name: inputs[name].handle for name in executable.handle.built.inputs},
        {name: outputs[name].handle for name in executable.outputs},
    )


def arrays_of(data: memoryview[int], types: Sequence[TensorType]) -> list[HostArray]:
    """Split the concatenated bytes of several tensors."""
    if len(types) == 1:
        return [HostArray(*types[0], data)]
    arrays: list[HostArray] = []
    start = 0
    for type in types:
        end = start + type.nbytes
        arrays.append(HostArray(type.dtype, type.shape, data[start:end]))
        start = end
    return arrays
