"""Finding out what runs graphs here: WebNN on which device, or NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.backends import pyodide_host
from webnnm.backends.webnn import DEVICES, WebNNBackend
from webnnm.core.errors import BackendError


@dataclass(frozen=True, slots=True)
class DeviceProbe:
    """What came of asking for one device: `reason` says what runs, or why nothing does.

    `faults` are the known faults of what runs; graphs are rewritten around them.
    """

    available: bool
    reason: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What this machine runs graphs on.

    `webnn` tells whether a graph really ran on WebNN, `devices` what came of asking for npu, gpu
    and cpu, and `sentence` says in one sentence what will run and why.
    """

    webnn: bool
    devices: Mapping[str, DeviceProbe]
    sentence: str

    def __str__(self) -> str:
        return self.sentence


async def probe() -> ProbeResult:
    """Test each WebNN device of the browser with small graphs, and report the results.

    Missing features are reported, never raised.

    >>> (await probe()).sentence                                    # doctest: +SKIP
    'no browser: models run on NumPy'
    """
    if not pyodide_host.in_browser():
        return _without("no browser")
    if not pyodide_host.has_webnn():
        return _without("this browser has no WebNN (navigator.ml)")
    devices = {device: await _probe_device(device) for device in DEVICES}
    if not any(found.available for found in devices.values()):
        return ProbeResult(
            False,
            devices,
            f"{_fallback()}, because the browser shows WebNN but refused every device: "
            f"{devices['cpu'].reason}",
        )
    parts = [f"{name}: {found.reason}" for name, found in devices.items()]
    same = {found.reason.removesuffix(f" ({name} asked for)") for name, found in devices.items()}
    where = f"{same.pop()}, whichever device is asked for" if len(same) == 1 else "; ".join(parts)
    return ProbeResult(True, devices, f"models run on WebNN ({where})")


async def _probe_device(device: str) -> DeviceProbe:
    try:
        backend = await WebNNBackend.open(device_type=device)
    except BackendError as error:
        return DeviceProbe(False, error.message)
    backend.close()
    return DeviceProbe(True, backend.device, backend.faults)


def _without(reason: str) -> ProbeResult:
    devices = {device: DeviceProbe(False, reason) for device in DEVICES}
    return ProbeResult(False, devices, f"{reason}: {_fallback()}")


def _fallback() -> str:
    if pyodide_host.offers("numpy"):
        return "models run on NumPy"
    return "models cannot run: this page has no NumPy either"
