"""The backend of pages without WebNN: ONNX Runtime Web, or NumPy for small amounts of work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webnnm.backends import pyodide_host
from webnnm.backends.base import Backend
from webnnm.backends.onnxruntime_web import PROVIDERS, OnnxRuntimeWebBackend, to_fetch
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.speed import recall_seconds
from webnnm.core.errors import BackendError

WORTH = 10.0
"""Seconds of work on NumPy that are worth fetching ONNX Runtime: 14 MB take 5 s at 24 Mbit/s, and
either takes a second or two to start. NumPy itself is 3 MB."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs models: NumPy if `device` is None, else ONNX Runtime on it; and why.

    `outlook` says this for models in general, if the amount of work is not known yet.
    """

    device: str | None
    reason: str
    outlook: str = ""

    @property
    def runs_on(self) -> str:
        """The name of what runs models."""
        return "NumPy" if self.device is None else f"ONNX Runtime ({PROVIDERS[self.device]})"


async def choice(device: str | None = None, work: Callable[[], float] | None = None) -> Choice:
    """Return what runs models in this page, in which WebNN does not.

    A `device` of ONNX Runtime is accepted as it is. `work` returns the seconds that NumPy would
    take; without it, ONNX Runtime is not fetched if the page has NumPy.

    Raises `BackendError` NNM709 if the page has neither.
    """
    if device in PROVIDERS:
        return Choice(device, f"{device} was requested")
    speeds = await recall_seconds()
    faster = "webgpu" in speeds and speeds["webgpu"] < speeds.get("wasm", 0)
    if faster and await to_fetch("webgpu") == 0:
        return Choice("webgpu", "which was faster than WebAssembly in a trial")
    numpy, size = pyodide_host.offers("numpy"), await to_fetch("wasm")
    if size is None and not numpy:
        raise BackendError(
            "NNM709",
            "this page has neither ONNX Runtime Web nor NumPy",
            hint="docs/deploying.md says which files a page needs",
        )
    if size is None:
        return Choice(None, "because the page does not serve ONNX Runtime Web")
    if size == 0:
        return Choice("wasm", "which was downloaded before")
    fetched = f"{size / 1e6:.0f} MB are downloaded once"
    if not numpy:
        return Choice("wasm", f"for which {fetched}: the page has no NumPy")
    seconds = 0.0 if work is None else work()
    if seconds < WORTH:
        reason = f"because it is too small to justify fetching ONNX Runtime ({size / 1e6:.0f} MB)"
        larger = f"small models run on NumPy, larger ones on ONNX Runtime, for which {fetched}"
        return Choice(None, reason, larger)
    return Choice("wasm", f"for which {fetched}: NumPy would take {seconds:.0f} s or more")


async def open_fallback(
    why: str,
    device: str | None,
    work: Callable[[], float] | None,
    log: Callable[[str], None] | None,
) -> Backend:
    """Open the backend that runs models instead of WebNN; `why` is why WebNN does not."""
    backend, selected = await load(device, work, log)
    backend.reason = f"{why}: the model runs on {selected.runs_on}, {selected.reason}"
    if log is not None:
        log(backend.reason)
    return backend


async def load(
    device: str | None,
    work: Callable[[], float] | None,
    log: Callable[[str], None] | None,
) -> tuple[Backend, Choice]:
    """Load the backend that runs models instead of WebNN, and return the choice as well."""
    selected = await choice(device, work)
    backend: Backend | None = None
    if selected.device is not None:
        try:
            backend = await OnnxRuntimeWebBackend.load(selected.device, log)
        except BackendError as error:
            if device in PROVIDERS or not pyodide_host.offers("numpy"):
                raise
            selected = Choice(None, f"because ONNX Runtime failed: {error.message}")
    return backend or await ReferenceBackend.load(), selected


async def outlook() -> str:
    """Return what runs models instead of WebNN, as a clause of a sentence."""
    try:
        selected = await choice()
    except BackendError:
        return "models cannot run: this page has neither ONNX Runtime Web nor NumPy"
    return selected.outlook or f"models run on {selected.runs_on}, {selected.reason}"
