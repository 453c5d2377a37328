"""The parameters of a model: where they are on the device, and their values on the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import Shape, count
from webnnm.core.waiting import to_the_end
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.elaboration.vertices import Network
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.occupancy import Occupancy
from webnnm.training.initialisation import build_initial_graph, draw_initial_bytes

KIND = "parameters"
"""The purpose of their tensors in `Backend.memory`."""
UPLOAD_BYTES = 1 << 24
"""The size of values that are copied together: waiting for each one takes longer than its copy."""


@dataclass(frozen=True)
class Parameter:
    """A parameter as users see it; `value` is a read-only array of its shape."""

    name: str
    shape: Shape
    dtype: DataType
    trainable: bool
    lrm: float | None
    init: str
    value: Any


class ReadableParameters(Protocol):
    """The parameters that a graph computes with: their types, and their tensors on the device."""

    types: dict[str, TensorType]

    @property
    def version(self) -> int:
        """Changes whenever tensors or values do."""
        ...

    def readable(self) -> Mapping[str, DeviceTensor]:
        """Return the tensors. Raises `DataError` NNM712 during a training."""
        ...


class ParameterStore:
    """Holds one device tensor per parameter, and the host values of the last read-back.

    `version` changes whenever values do. `occupancy` shows whether whoever has the model may be
    changing them on the device.
    """

    def __init__(self, network: Network, backend: Backend, occupancy: Occupancy) -> None:
        self._network = network
        self._backend = backend
        self._occupancy = occupancy
        self.initialisers = initialisers(network)
        self.types = {
            vertex.name: TensorType(vertex.dtype, vertex.features[0].sizes())
            for vertex in network.parameters
        }
        self._values_of_files = {v.name: v.value for v in network.parameters if v.value is not None}
        self.drawn = {n: type for n, type in self.types.items() if n not in self._values_of_files}
        """The parameters that an initialiser draws; the others start with values from a file."""
        self.tensors: dict[str, DeviceTensor] = {}
        self._values: dict[str, HostArray | Callable[[], HostArray]] = {}
        self.version = 0

    @property
    def count(self) -> int:
        """The number of elements of all parameters."""
        return sum(count(type.shape) for type in self.types.values())

    async def initialise(self, seed: int, *purpose: object) -> None:
        """Give every parameter its initial value for a seed, computed on the device (spec B.6)."""
        if not self.types:
            return
        for name, type in self.types.items():
            value = self._values_of_files.get(name)
            if name not in self.tensors:
                self.tensors[name] = await self._backend.tensor(type, value)
            elif value is not None:
                self._backend.write(self.tensors[name], value)
        self._backend.claim(KIND, *self.tensors.values())
        self.version += 1
        await to_the_end(self._start(seed, *purpose))

    async def _start(self, seed: int, *purpose: object) -> None:
        if self.drawn:
            await self._backend.fill(
                build_initial_graph(self.drawn, self.initialisers),
                draw_initial_bytes(seed, self.drawn, self.initialisers, *purpose),
                {name: self.tensors[name] for name in self.drawn},
            )
        await self.read_back()

    async def begin(
        self, values: Iterable[tuple[str, HostArray | Callable[[], HostArray]]]
    ) -> None:
        """Give every parameter a value, a few at a time, in place of its initial one.

        Functions read values from a file; what they return is not kept on the host. A value that
        has `parts` is packed: its parts are the tensors.
        """
        arrays: dict[str, HostArray] = {}
        # The device gets memory for some values while the next ones are read.
        upload = asyncio.ensure_future(self._upload({}))
        try:
            for name, value in values:
                parts = getattr(value, "parts", {})
                arrays |= parts or {name: value() if callable(value) else value}
                self._values[name] = value
                if sum(array.data.nbytes for array in arrays.values()) > UPLOAD_BYTES:
                    await upload
                    upload = asyncio.ensure_future(self._upload(arrays))
                    await asyncio.sleep(0)  # lets it begin
                    arrays = {}
        finally:
            await upload
        await self._upload(arrays)
        self._backend.claim(KIND, *self.tensors.values())
        self.version += 1

    async def _upload(self, arrays: Mapping[str, HostArray]) -> None:
        types = {name: TensorType(array.dtype, array.shape) for name, array in arrays.items()}
        self.tensors |= await self._backend.tensors(types, arrays)

    async def read_back(self, names: Iterable[str] | None = None) -> None:
        """Copy the values from the device to the host, of all parameters or of some."""
        names = list(self.tensors if names is None else names)
        arrays = await self._backend.read(*(self.tensors[name] for name in names))
        self._values |= zip(names, arrays, strict=True)

    def replace(self, tensors: Mapping[str, DeviceTensor]) -> None:
        """Use other device tensors for some parameters and free the ones that they replace."""
        old = [self.tensors[name] for name in tensors if self.tensors[name] is not tensors[name]]
        self.version += 1
        self.tensors |= tensors
        self._backend.claim(KIND, *tensors.values())
        self._backend.release(*old)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter from a copy of anything that `HostArray.of` takes.

        Raises `DataError` NNM710 for an unknown name, NNM702 for a wrong size, NNM712 while the
        model is trained or tested.
        """
        self._occupancy.check()
        self.put(name, value)

    def put(self, name: str, value: Any) -> None:
        """Set a parameter as `set` does, but for whoever has the model."""
        array = HostArray.of(value, *self.types[self.settable(name)], copy=True)
        self.version += 1
        self._backend.write(self.tensors[name], array)
        self._values[name] = array

    def settable(self, name: str) -> str:
        """Return the name of a parameter that can be set; errors as for `set`, NNM704 if packed."""
        if name not in self.types:
            hint = suggestion(name, self.types)
            raise DataError("NNM710", f'there is no parameter "{name}"', hint=hint)
        if refuse := getattr(self._values.get(name), "refuse", None):
            refuse()
        return name

    def readable(self) -> Mapping[str, DeviceTensor]:
        """Return the tensors to compute with. Raises `DataError` NNM712 during a training."""
        self._occupancy.check_parameters()
        return self.tensors

    def show(self, tensors: Mapping[str, DeviceTensor]) -> None:
        """Compute with these tensors from now on; the previous ones are not freed."""
        self.version += 1
        self.tensors = dict(tensors)

    def hold(self, values: Mapping[str, HostArray]) -> None:
        """Take host values, because the device may no longer hold them."""
        self.version += 1
        self._values |= values

    def follow(self, other: ParameterStore) -> None:
        """Take over the host values of another store for parameters of the same names."""
        self._values |= {n: value for n, value in other._values.items() if n in self.types}

    def values(self) -> dict[str, HostArray]:
        """Return the values of all parameters as of the last read-back."""
        return {name: self.value(name) for name in self._values}

    def get_stored(self, name: str) -> Any:
        """Return a parameter as it is kept: an array, or a callable that returns one."""
        return self._values[name]

    def value(self, name: str) -> HostArray:
        """Return the value of a parameter as of the last read-back."""
        stored = self._values[name]
        return stored() if callable(stored) else stored

    def list_parameters(self) -> list[Parameter]:
        """Return all parameters in elaboration order."""
        return [
            Parameter(
                vertex.name,
                self.types[vertex.name].shape,
                vertex.dtype,
                vertex.trainable,
                vertex.lrm,
                str(self.initialisers[vertex.name]),
                self.value(vertex.name).as_readonly().public(),
            )
            for vertex in self._network.parameters
        ]

    def close(self) -> None:
        """Free all device tensors."""
        self._backend.release(*self.tensors.values())
        self.tensors = {}
