"""Finds out what runs graphs here: WebNN and on which device, ONNX Runtime, or NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.backends import pyodide_host
from webnnm.backends.base import DEVICES, Backend
from webnnm.backends.selection import has_onnxruntime
from webnnm.backends.webnn import WebNNBackend
from webnnm.core.awaiting import require_await
from webnnm.core.errors import BackendError


@dataclass(frozen=True, slots=True)
class DeviceProbe:
    """The result of requesting one device: `reason` says what runs, or why nothing does.

    `faults` are the known faults of what runs; graphs are rewritten around them. `seconds` is the
    time of a short trial, None where there was none; `accelerated` is whether WebNN says that it
    uses an accelerator, None where it does not say.
    """

    available: bool
    reason: str
    faults: tuple[str, ...] = ()
    seconds: float | None = None
    accelerated: bool | None = None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What this machine runs graphs on.

    `webnn` is whether a graph really ran on WebNN; `devices` has the results for npu, gpu and cpu
    of WebNN, for webgpu and wasm of ONNX Runtime, and for numpy; `sentence` says in one sentence
    what will run and why, `summary` says it to the visitors of a page.
    """

    webnn: bool
    devices: Mapping[str, DeviceProbe]
    sentence: str

    @property
    def summary(self) -> str:
        """What runs models, in words for the visitors of a page.

        >>> cpu = DeviceProbe(True, "cpu")
        >>> ProbeResult(True, dict.fromkeys(DEVICES, cpu), "models run on WebNN (cpu)").summary
        'models run on WebNN, on your CPU'
        """
        if not self.webnn:
            return self.sentence.replace(" (navigator.ml)", "")
        usual, _ = find_usual_device(self.devices)
        names = " and ".join(name.upper() for name in usual.split("+") if name in DEVICES)
        return "models run on WebNN" + (f", on your {names}" if names else "")

    def __str__(self) -> str:
        return self.sentence


@require_await
async def probe(*, trials: bool = True, fetch: bool = False) -> ProbeResult:
    """Test each device of WebNN with small graphs, the others as described below.

    With `trials`, every device that works is timed: an inference of 64 rows by four layers of 256
    units. The browser remembers the times per version, and `backend("auto")` uses them. Nothing is
    fetched for this: ONNX Runtime and NumPy are timed if the browser has them already. With `fetch`
    they are fetched: 3 MB of NumPy, 14 MB of ONNX Runtime, and 27 MB more if there is WebGPU.
    Without `trials`, only WebNN is tested.

    Missing features are reported, never raised.

    >>> (await probe()).sentence                                    # doctest: +SKIP
    'no browser: models run on NumPy'
    """
    devices: dict[str, DeviceProbe] = {}
    why = ""
    if not pyodide_host.in_browser():
        why = "no browser"
    elif not pyodide_host.has_webnn():
        why = "this browser has no WebNN (navigator.ml)"
    for device in DEVICES:
        devices[device] = DeviceProbe(False, why) if why else await _probe_device(device, trials)
    if trials:
        from webnnm.backends.speed import others

        for name, (works, reason, seconds) in (await others(fetch)).items():
            devices[name] = DeviceProbe(works, reason, (), seconds)
    if any(devices[device].available for device in DEVICES):
        return ProbeResult(True, devices, f"models run on WebNN ({describe_devices(devices)})")
    if not why:
        why = f"the browser exposes WebNN but refused every device ({devices['cpu'].reason})"
    outlook = "models run on ONNX Runtime" if has_onnxruntime() else "models run on NumPy"
    if pyodide_host.in_browser():
        from webnnm.backends import fallback

        outlook = await fallback.outlook()
    return ProbeResult(False, devices, f"{why}: {outlook}")


def describe_devices(devices: Mapping[str, DeviceProbe]) -> str:
    """Return what most devices run, then what the others do."""
    usual, results = find_usual_device(devices)
    others = [
        f"; if {name} is requested: {result}" for name, result in results.items() if result != usual
    ]
    return usual + ("".join(others) or ", whichever device is requested")


def find_usual_device(devices: Mapping[str, DeviceProbe]) -> tuple[str, dict[str, str]]:
    """Return what runs most of the requested devices, and what runs each of them."""
    results = {name: devices[name].reason.removesuffix(f" ({name} requested)") for name in DEVICES}
    return max(results.values(), key=[*results.values()].count), results


async def _probe_device(device: str, trials: bool) -> DeviceProbe:
    backend: Backend | None = None
    try:
        backend = await WebNNBackend.open(device=device)
        seconds = None
        if trials:
            from webnnm.backends.speed import measure_seconds

            seconds = await measure_seconds(device, backend)
        return DeviceProbe(True, backend.device, backend.faults, seconds, backend.accelerated)
    except BackendError as error:
        return DeviceProbe(False, error.message)
    finally:
        if backend is not None:
            backend.close()
