"""Chooses the backend that runs a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from webnnm.backends import pyodide_host
from webnnm.backends.base import DEVICES, Backend
from webnnm.core.awaiting import check_awaited, require_await
from webnnm.core.errors import BackendError, suggestion

if TYPE_CHECKING:
    from webnnm.backends.automatic import Opening

Preferences = Mapping[str, Any]
"""`accelerated` and `power_preference` of a context."""

BACKENDS = ("webnn", "onnxruntime", "numpy", "jax")

FALLBACK_DEVICES = {"npu": ("gpu", "cpu")}
"""Devices to request if WebNN does not work on the requested one (spec F.4)."""

REQUESTS = (*DEVICES, "webgpu", "wasm")
DEVICES_OF = {"webnn": DEVICES, "jax": ("cpu", "gpu", "tpu", "npu")}
"""The devices that can be requested from a backend, if not all of `REQUESTS`."""


@require_await
async def backend(
    name: str = "auto",
    *,
    device: str | None = None,
    accelerated: bool | None = None,
    power_preference: str | None = None,
    log: Callable[[str], None] | None = None,
    work: Callable[[], float] | None = None,
) -> Backend:
    """Open a backend by name; "auto" takes WebNN in pages where it works, and on desktops ONNX
    Runtime where it is installed, else NumPy.

    In pages without WebNN, "auto" takes ONNX Runtime Web if the browser has cached it, if NumPy is
    not available, or if fetching 14 MB is worth it: `work`, which is called then, returns the
    seconds that NumPy would take. Otherwise it takes NumPy. The backend's `reason` says why.

    >>> import asyncio
    >>> asyncio.run(backend("numpy")).name
    'numpy'

    If the backend that "auto" took refuses to build a graph, it moves to the next one, in the end
    to NumPy, with all tensors and graphs; `reason` and `log` say so.

    `accelerated` asks WebNN for an accelerator (True) or the CPU (False), and `power_preference`
    for "high-performance" or "low-power"; both are preferences, and the browser chooses. `device`
    requests the "npu", "gpu" or "cpu": with today's WebNN by such preferences, from older
    implementations by name. If the NPU does not work, the GPU and then the CPU are tried, and
    without an accelerator what there is. `log` receives a message about this, and about why "auto"
    did not take WebNN. `Backend.accelerated` is what WebNN says of the context.

    "onnxruntime" runs on the CPU of a desktop (`pip install "webnnm[onnxruntime]"`). In pages it is
    ONNX Runtime Web, on "wasm" or "webgpu" as `device` says, by default "wasm".

    "jax" uses all devices that JAX finds (`pip install "webnnm[jax]"`, see docs/cloud.md); its
    `device` is "cpu", "gpu" or "tpu", and "npu" means JAX's default.

    Raises `BackendError` NNM709 for an unknown device or preference, for ones that contradict each
    other, and if the backend is not available.
    """
    _check_device(name, device)
    if accelerated is not None or power_preference is not None:
        from webnnm.backends.preferences import check_request

        check_request(device if device in DEVICES else None, accelerated, power_preference)
    preferences = {"accelerated": accelerated, "power_preference": power_preference}
    if name == "auto":
        return await _automatic(device, preferences, log, work)
    if name == "webnn":
        return await _webnn(device, preferences, log)
    if name == "onnxruntime":
        return await _onnxruntime(device, log)
    if name == "numpy":
        return await _numpy()
    if name == "jax":
        return _jax(device)
    check_awaited(name, "backend", "backend=…")
    hint = suggestion(str(name), BACKENDS) or f"one of auto, {', '.join(BACKENDS)}"
    raise BackendError("NNM709", f'there is no backend "{name}"', hint=hint)


def has_onnxruntime() -> bool:
    """Return whether the wheel of ONNX Runtime is installed, which pages do not have."""
    return not pyodide_host.in_browser() and find_spec("onnxruntime") is not None


def _check_device(name: str, device: str | None) -> None:
    devices = DEVICES_OF.get(str(name), REQUESTS)
    if device is not None and device not in devices:
        hint = suggestion(str(device), devices) or f"one of {', '.join(devices)}"
        raise BackendError("NNM709", f'there is no device "{device}" for "{name}"', hint=hint)


async def _automatic(
    device: str | None,
    preferences: Preferences,
    log: Callable[[str], None] | None,
    work: Callable[[], float] | None,
) -> Backend:
    first, others = await _candidates(device, preferences, log, work)
    if first.name == "numpy":
        return first
    from webnnm.backends.automatic import AutomaticBackend

    return AutomaticBackend(first, others, log)


async def _candidates(
    device: str | None,
    preferences: Preferences,
    log: Callable[[str], None] | None,
    work: Callable[[], float] | None,
) -> tuple[Backend, Sequence[Opening]]:
    """Return the backend that "auto" takes, and how to open those that it takes after refusals."""
    if not pyodide_host.in_browser():
        if has_onnxruntime():
            return await _onnxruntime(device, log), (_numpy,)
        return await _numpy(), ()
    why = f"{device} is not a device of WebNN"
    if device not in ("wasm", "webgpu"):
        try:
            webnn = await _webnn(device, preferences, log)
        except BackendError as error:
            why = error.message
        else:
            return webnn, (partial(_without_webnn, work, log), _numpy)
    from webnnm.backends.fallback import open_fallback

    return await open_fallback(why, device, work, log), (_numpy,)


async def _without_webnn(
    work: Callable[[], float] | None, log: Callable[[str], None] | None
) -> Backend:
    from webnnm.backends.fallback import load

    return (await load(None, work, log))[0]


async def _webnn(
    device: str | None, preferences: Preferences, log: Callable[[str], None] | None
) -> Backend:
    from webnnm.backends.webnn import WebNNBackend

    accelerated, power = preferences["accelerated"], preferences["power_preference"]
    requests: list[tuple[str | None, bool | None]] = [(device, accelerated)]
    requests += [(other, None) for other in FALLBACK_DEVICES.get(device or "", ())]
    if device is None and accelerated:
        requests.append((None, None))
    refusal: BackendError | None = None
    for requested, is_accelerated in requests:
        try:
            context = await WebNNBackend.open(
                device=requested, accelerated=is_accelerated, power_preference=power
            )
        except BackendError as error:
            refusal = refusal or error
            continue
        if refusal is not None and log is not None:
            first = device or "an accelerator"
            log(f"{refusal.message}; requested {requested or 'any device'} in place of {first}")
        return context
    assert refusal is not None
    raise refusal


async def _numpy() -> Backend:
    from webnnm.backends.reference import ReferenceBackend

    return await ReferenceBackend.load()


async def _onnxruntime(device: str | None, log: Callable[[str], None] | None) -> Backend:
    if pyodide_host.in_browser():
        from webnnm.backends.onnxruntime_web import OnnxRuntimeWebBackend

        return await OnnxRuntimeWebBackend.load(device or "wasm", log)
    from webnnm.backends.onnxruntime import OnnxRuntimeBackend

    return OnnxRuntimeBackend()


def _jax(device: str | None) -> Backend:
    if pyodide_host.in_browser():
        raise BackendError("NNM709", "JAX does not run in a browser", hint='backend="auto"')
    from webnnm.backends.jax import JaxBackend

    return JaxBackend(None if device == "npu" else device)
