"""Samples rows of a subset, and runs a graph on them and the parameters on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from webnnm.backends.base import DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.state import ModelState
from webnnm.trainer.scout import sample_pilot_rows
from webnnm.training.forward import OutputLoss, get_label_forms
from webnnm.training.step_settings import MASK, TARGET

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a subset, in the form that graphs take."""

    inputs: Arrays
    targets: Arrays
    masks: Arrays

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(next(iter(self.targets.values())))

    def make_inputs(self, count: int) -> dict[str, HostArray]:
        """Return the inputs of a graph for this many rows, padded with the first rows."""
        rows = [row % self.count for row in range(count)]
        arrays = [*self.inputs.items()]
        arrays += [(TARGET + name, array) for name, array in self.targets.items()]
        arrays += [(MASK + name, array) for name, array in self.masks.items()]
        return {name: array.rows(rows) for name, array in arrays}


def sample_rows(
    state: ModelState, losses: Mapping[str, OutputLoss], subset: str, seed: int, max_rows: int
) -> SampledRows:
    """Return up to a number of rows of a subset, stratified by class."""
    binding = state.binding()
    rows = sample_pilot_rows(binding, seed, max_rows, subset)
    inputs, targets = binding.arrays(subset, get_label_forms(losses))
    sources = inputs, targets, binding.masks(subset)
    return SampledRows(*({name: a.rows(rows) for name, a in arrays.items()} for arrays in sources))


async def read_first_rows(
    state: ModelState, losses: Mapping[str, OutputLoss], subset: str, max_rows: int
) -> SampledRows:
    """Return the first rows of a subset of a stream; NNM705 if it yields none."""
    binding = state.binding()
    blocks = binding.blocks(subset, 0, max_rows, get_label_forms(losses))
    async with aclosing(blocks):
        async for block in blocks:
            return SampledRows(*block)
    raise DataError("NNM705", f'subset "{subset}" of {binding.dataset.name} has no rows')


async def run_on_rows(
    state: ModelState, executable: Executable, parts: Sequence[SampledRows]
) -> list[dict[str, HostArray]]:
    """Run the graph on these rows, and return its outputs; it was made for the first of them."""
    backend, count = state.backend, parts[0].count
    owned: list[DeviceTensor | Executable] = [executable]
    outputs: list[dict[str, HostArray]] = []
    try:
        types = executable.inputs
        parameters = {PARAMETER_PREFIX + name: t for name, t in state.parameters.tensors.items()}
        parameters = {name: tensor for name, tensor in parameters.items() if name in types}
        rows = await backend.tensors({n: type for n, type in types.items() if n not in parameters})
        owned += rows.values()
        results = await backend.tensors(executable.outputs)
        owned += results.values()
        for part in parts:
            inputs = part.make_inputs(count)
            for name, tensor in rows.items():
                backend.write(tensor, inputs[name])
            backend.dispatch(executable, parameters | rows, results)
            arrays = await backend.read(*results.values())
            outputs.append(dict(zip(results, arrays, strict=True)))
    finally:
        backend.release(*owned)
    return outputs


def get_types(arrays: Arrays) -> dict[str, TensorType]:
    """Return the types of arrays, as declared for inputs of graphs."""
    return {name: TensorType(array.dtype, array.shape) for name, array in arrays.items()}
