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
from webnnm.trainer.scout import pilot_rows
from webnnm.training.forward import OutputLoss, label_forms
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

    def given(self, count: int) -> dict[str, HostArray]:
        """Return the inputs of a graph for this many rows, padded with the first rows."""
        filled = [row % self.count for row in range(count)]
        every = [*self.inputs.items()]
        every += [(TARGET + name, array) for name, array in self.targets.items()]
        every += [(MASK + name, array) for name, array in self.masks.items()]
        return {name: array.rows(filled) for name, array in every}


def sampled_rows(
    state: ModelState, losses: Mapping[str, OutputLoss], subset: str, seed: int, most: int
) -> SampledRows:
    """Return up to a number of rows of a subset, stratified by class."""
    binding = state.binding()
    chosen = pilot_rows(binding, seed, most, subset)
    inputs, targets = binding.arrays(subset, label_forms(losses))
    parts = inputs, targets, binding.masks(subset)
    return SampledRows(*({name: a.rows(chosen) for name, a in arrays.items()} for arrays in parts))


async def first_rows(
    state: ModelState, losses: Mapping[str, OutputLoss], subset: str, most: int
) -> SampledRows:
    """Return the first rows of a subset of a stream; NNM705 if it yields none."""
    binding = state.binding()
    blocks = binding.blocks(subset, 0, most, label_forms(losses))
    async with aclosing(blocks):
        async for block in blocks:
            return SampledRows(*block)
    raise DataError("NNM705", f'subset "{subset}" of {binding.dataset.name} has no rows')


async def run_on(
    state: ModelState, executable: Executable, parts: Sequence[SampledRows]
) -> list[dict[str, HostArray]]:
    """Run the graph on these rows, and return its outputs; it was made for the first of them."""
    backend, count = state.backend, parts[0].count
    made: list[DeviceTensor | Executable] = [executable]
    found: list[dict[str, HostArray]] = []
    try:
        types = executable.inputs
        known = {PARAMETER_PREFIX + name: t for name, t in state.parameters.tensors.items()}
        known = {name: tensor for name, tensor in known.items() if name in types}
        rows = await backend.tensors({n: type for n, type in types.items() if n not in known})
        made += rows.values()
        results = await backend.tensors(executable.outputs)
        made += results.values()
        for part in parts:
            given = part.given(count)
            for name, tensor in rows.items():
                backend.write(tensor, given[name])
            backend.dispatch(executable, known | rows, results)
            arrays = await backend.read(*results.values())
            found.append(dict(zip(results, arrays, strict=True)))
    finally:
        backend.release(*made)
    return found


def types_of(arrays: Arrays) -> dict[str, TensorType]:
    """Return the types of arrays, as declared for inputs of graphs."""
    return {name: TensorType(array.dtype, array.shape) for name, array in arrays.items()}
