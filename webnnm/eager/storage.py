"""The memory of arrays: tensors of a device, returned to it when their last array goes."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.eager.errors import ArrayValueError
from webnnm.ops.declare.tensors import TensorType

MAX_SPARE_BYTES = 64 * 2**20
"""Spare tensors are kept up to this many bytes, or as many as arrays hold."""
MAX_HOST_BYTES = 4096
"""Bytes of an array up to which the host keeps what it has written to a device."""


@lru_cache(4096)
def size_of(type: TensorType) -> int:
    """Return the bytes of a tensor, which every operation asks for."""
    return type.nbytes


class TensorPool:
    """The tensors of a backend that belong to arrays, and those that wait to be reused.

    Making a tensor takes a turn of the browser's event loop; a loop whose steps need the same
    tensors makes none after the first steps.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.used_bytes = self.spare_bytes = self.used = 0
        self._spare: dict[TensorType, list[DeviceTensor]] = defaultdict(list)

    def has(self, types: list[TensorType]) -> bool:
        """Return whether there are spare tensors of these types, so that nobody has to wait."""
        spare = self._spare
        return all(len(spare.get(type, ())) >= types.count(type) for type in types)

    def take(self, type: TensorType) -> DeviceTensor:
        """Return a spare tensor; its values are those of its last use."""
        tensor = self._spare[type].pop()
        self.spare_bytes -= size_of(type)
        self._count(type, 1)
        return tensor

    async def tensor(self, type: TensorType) -> DeviceTensor:
        """Return a spare tensor or a new one."""
        if self._spare.get(type):
            return self.take(type)
        tensor = await self.backend.tensor(type)
        self._count(type, 1)
        return tensor

    def give(self, tensor: DeviceTensor, *, shared: bool) -> None:
        """Take back a tensor that no array needs any longer.

        Chromium's WebNN lets a graph write to a tensor as soon as one of two graphs that read it
        has ended: `shared` tensors are not used again.
        """
        type = tensor.type
        self._count(type, -1)
        room = max(MAX_SPARE_BYTES, self.used_bytes)
        if shared or self.spare_bytes + size_of(type) > room:
            self.backend.release(tensor)
        else:
            self._spare[type].append(tensor)
            self.spare_bytes += size_of(type)

    def clear(self) -> None:
        """Release the spare tensors."""
        self.backend.release(*(tensor for tensors in self._spare.values() for tensor in tensors))
        self._spare.clear()
        self.spare_bytes = 0

    def _count(self, type: TensorType, number: int) -> None:
        self.used += number
        self.used_bytes += number * size_of(type)


class Storage:
    """The values of an array, in the host's memory, on a device, or still to be computed there.

    `readers` counts the dispatches that read the tensor; `failure` is why values are missing.
    """

    __slots__ = ("__weakref__", "donated", "failure", "host", "pool", "readers", "tensor", "type")

    def __init__(self, type: TensorType, host: HostArray | None = None) -> None:
        self.type = type
        self.host = host
        self.tensor: DeviceTensor | None = None
        self.pool: TensorPool | None = None
        self.failure: BaseException | None = None
        self.donated = False
        self.readers = 0

    @property
    def error(self) -> BaseException | None:
        """What to raise instead of values, if anything."""
        if not self.donated:
            return self.failure
        return ArrayValueError(
            f"an array {self.type} is used after it was donated",
            "use the function's result, or remove the argument from `donate_argnames`",
        )

    def place(self, tensor: DeviceTensor, pool: TensorPool) -> None:
        """Give it a tensor of a pool, with the values that the host holds, if it does."""
        self.tensor, self.pool, self.readers = tensor, pool, 0
        if self.host is not None:
            pool.backend.write(tensor, self.host)
            if size_of(self.type) > MAX_HOST_BYTES:
                self.host = None

    def donate(self) -> None:
        """Give its memory to what is computed next; it can no longer be read."""
        self._give_back()
        self.tensor = self.host = None
        self.donated = True

    def _give_back(self) -> None:
        if self.tensor is not None and self.pool is not None:
            self.pool.give(self.tensor, shared=self.readers > 1)

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending():
            self._give_back()
