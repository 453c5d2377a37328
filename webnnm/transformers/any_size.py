"""Networks that read pictures of any size: a text, and graphs, for each size that pictures have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.core.lru_cache import LruCache
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.parameters import ReadableParameters
from webnnm.runtime.state import ModelState
from webnnm.snapshots.name_map import assign_tensors, source_names
from webnnm.transformers.architectures.model_text import InputRules, ModelText
from webnnm.transformers.forward import Forward

Size = tuple[int, int]
"""Height and width."""
WriteText = Callable[[Size], ModelText]
"""Returns the text of a model for pictures of a size."""

PIXELS = "pixel_values"
MAX_SIZES = 4
"""How many sizes, besides that of the model's own text, have graphs at a time."""


class SizedParameters:
    """The parameters of a model, with constants for pictures of another size in place of its own.

    Constants are what depends on the size alone, such as the positions of patches.
    """

    def __init__(
        self,
        parameters: ReadableParameters,
        types: dict[str, TensorType],
        constants: Mapping[str, DeviceTensor],
        backend: Backend,
    ) -> None:
        self._parameters, self._constants, self._backend = parameters, constants, backend
        self.types = types

    @property
    def version(self) -> int:
        """Changes whenever values of parameters do."""
        return self._parameters.version

    def readable(self) -> Mapping[str, DeviceTensor]:
        """Return the tensors to compute with. Raises `DataError` NNM712 during a training."""
        return {**self._parameters.readable(), **self._constants}

    def close(self) -> None:
        """Free the constants."""
        self._backend.release(*self._constants.values())


async def open_sized_parameters(
    state: ModelState, network: Network, text: ModelText
) -> SizedParameters:
    """Return the parameters of a model for the network of another size."""
    types = {
        vertex.name: TensorType(vertex.dtype, vertex.features[0].sizes())
        for vertex in network.parameters
    }
    names = source_names(types, text.names)
    own = {name: types[name] for name, source in names.items() if source in text.constants}
    assigned = assign_tensors(text.constants, own, text.names, strict=False)
    arrays = {name: tensor.view() for name, tensor in assigned.items()}
    constants = await state.backend.tensors(own, arrays)
    state.backend.claim("parameters", *constants.values())
    return SizedParameters(state.parameters, types, constants, state.backend)


class SizedForward(Forward):
    """Computes the outputs for pictures of one size."""

    constants: SizedParameters

    def close(self) -> None:
        """Free its memory on the device."""
        super().close()
        self.constants.close()


class AnySizeForward:
    """Computes the outputs of a network for pictures of any size.

    Graphs for the sizes used most recently are kept.
    """

    def __init__(
        self, state: ModelState, config: Mapping[str, Any], rules: InputRules, write: WriteText
    ) -> None:
        self._state, self._config, self._rules, self._write = state, config, rules, write
        self._own = Forward(state, config, rules)
        self._sized = LruCache[Size, SizedForward](MAX_SIZES, SizedForward.close)
        self._turn = asyncio.Lock()

    async def outputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs by name. Raises what `PretrainedModel.predict` raises."""
        values = inputs.get(PIXELS)
        if values is None:
            return await self._own.outputs(inputs)
        pixels = HostArray.of(values, "float32")
        inputs = {**inputs, PIXELS: pixels}
        (vertex,) = (v for v in self._state.network.inputs if v.block == PIXELS)
        own = vertex.features[0].sizes()
        if len(pixels.shape) != 4 or pixels.shape[2:] == own[1:]:
            return await self._own.outputs(inputs)
        async with self._turn:  # a size that leaves the cache is not in use
            forward = await self._open((pixels.shape[2], pixels.shape[3]))
            return await forward.outputs(inputs)

    async def output(self, name: str, inputs: Mapping[str, Any]) -> Any:
        """Return one output, for pictures of the size of the model's text."""
        return await self._own.output(name, inputs)

    async def _open(self, size: Size) -> SizedForward:
        forward = self._sized.get(size)
        if forward is None:
            text = self._write(size)
            network = elaborate(parse(text.source))
            packings = {v.name: v.packing for v in self._state.network.parameters}
            for vertex in network.parameters:
                vertex.packing = packings.get(vertex.name)
            parameters = await open_sized_parameters(self._state, network, text)
            forward = SizedForward(self._state, self._config, self._rules, network, parameters)
            forward.constants = parameters
            self._sized[size] = forward
        return forward

    def close(self) -> None:
        """Free its memory on the device."""
        self._own.close()
        self._sized.clear()
