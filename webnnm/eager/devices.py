"""Devices for arrays, and how they are opened: array API standard, "Inspection"."""

from __future__ import annotations

from typing import Any

from webnnm.backends.base import Backend
from webnnm.backends.selection import backend as open_backend
from webnnm.core.awaiting import require_await
from webnnm.eager.device import Device, Memory
from webnnm.eager.dtypes import DEFAULTS, DTYPES, DType, float16, float64, isdtype, uint64
from webnnm.eager.small import HOST_ELEMENTS


@require_await
async def open_device(
    backend: str | Backend = "auto", *, host_elements: int = HOST_ELEMENTS, **options: Any
) -> Device:
    """Open a device for arrays.

    >>> import asyncio
    >>> from webnnm import xp
    >>> asyncio.run(xp.open_device("numpy"))
    Device(numpy)

    `backend` and `options` are those of `webnnm.backend`: `await xp.open_device("webnn",
    device="npu")`. Arrays of up to `host_elements` elements whose values are on the host are
    computed there if NumPy is loaded, which takes less time than a call to a device; 0 leaves
    everything to the device. The first device that is opened becomes the default, unless arrays
    have been computed before.
    """
    opened = backend if isinstance(backend, Backend) else await open_backend(backend, **options)
    device = Device.of(opened, host_elements=host_elements)
    if Device.default().backend is None:
        device.make_default()
    return device


def set_default_device(device: Device) -> None:
    """Set the device on which new arrays are created unless another is named."""
    device.make_default()


def memory(device: Device | None = None) -> Memory:
    """Return the memory that arrays hold on a device.

    >>> from webnnm import xp
    >>> xp.memory().arrays >= 0
    True
    """
    return (device or Device.default()).memory()


class Capabilities:
    """The capabilities of the package: array API standard, `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """Return whether boolean indexing and data-dependent shapes are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Device:
        """Return the device on which arrays are created by default."""
        return Device.default()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the data types that Python numbers become."""
        return {**DEFAULTS}

    def devices(self) -> list[Device]:
        """Return the devices that are open."""
        return [Device.default()]

    def dtypes(
        self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the data types of the standard that a device supports, all or those of a kind."""
        backend = (device or Device.default()).backend
        limits = getattr(backend, "limits", None)
        lacking = [float64] if backend and not backend.float64 else []
        if limits and "uint64" not in limits["add"]["a"]["dataTypes"]:
            lacking.append(uint64)
        supported = [dtype for dtype in DTYPES if dtype is not float16 and dtype not in lacking]
        return {dtype.name: dtype for dtype in supported if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> Capabilities:
    """Return the capabilities of the package."""
    return Capabilities()
