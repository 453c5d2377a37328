"""The speed of backends, from a short trial of each that the browser remembers per version."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from webnnm.backends import pyodide_host
from webnnm.backends.base import Backend
from webnnm.backends.onnxruntime_web import PROVIDERS, OnnxRuntimeWebBackend, to_fetch
from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.verdicts import Verdicts
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph

ROWS, UNITS, LAYERS, RUNS = 64, 256, 4, 7
TOPIC = "seconds of a trial"


async def trial(backend: Backend) -> float:
    """Return the median seconds of an inference of 64 rows by four layers of 256 units.

    Each run uploads the rows and reads the results. Raises `BackendError` NNM709 if a result is
    wrong.
    """
    executable = await backend.compile(_network())
    inputs = await backend.tensors(executable.inputs)
    outputs = await backend.tensors(executable.outputs)
    runner = backend.runner(executable, inputs, outputs, ["rows", "weight"], ["y"])
    rows = HostArray.of([1.0] * (ROWS * UNITS), "float32", (ROWS, UNITS))
    weight = HostArray.of([1 / UNITS] * UNITS**2, "float32", (UNITS, UNITS))
    times: list[float] = []
    try:
        for _ in range(RUNS):
            began = time.perf_counter()
            (result,) = await runner.run([rows, weight])
            times.append(time.perf_counter() - began)
            if any(abs(value - 1) > 1e-3 for value in result.values()):
                raise BackendError("NNM709", f"{backend.description} computed a wrong product")
    finally:
        runner.close()
        backend.release(*inputs.values(), *outputs.values(), executable)
    return statistics.median(times[1:])


def _network() -> Graph:
    b = GraphBuilder()
    y = b.input("rows", "float32", [ROWS, UNITS])
    weight = b.input("weight", "float32", [UNITS, UNITS])
    for _ in range(LAYERS):
        y = b.relu(b.matmul(y, weight))
    return b.build({"y": y})


async def measure_seconds(device: str, backend: Backend) -> float:
    """Return the seconds of a trial, which is only made if the browser does not remember it."""
    seconds = (await recall_seconds()).get(device)
    if seconds is None:
        seconds = await trial(backend)
        await remember({device: seconds})
    return seconds


async def others(fetch: bool) -> dict[str, tuple[bool, str, float | None]]:
    """Return for ONNX Runtime and NumPy whether they work, what runs or why not, and the seconds.

    Nothing is fetched unless `fetch` is set.
    """
    results: dict[str, tuple[bool, str, float | None]] = {}
    for device, opening in _openings(fetch).items():
        backend: Backend | None = None
        try:
            backend = await opening()
            results[device] = True, backend.description, await measure_seconds(device, backend)
        except BackendError as error:
            results[device] = False, error.message, None
        finally:
            if backend is not None:
                backend.close()
    return results


def _openings(fetch: bool) -> dict[str, Callable[[], Awaitable[Backend]]]:
    """Return the functions that open the backends other than WebNN, by device."""
    if not pyodide_host.in_browser():
        from webnnm.backends.onnxruntime import OnnxRuntimeBackend

        async def wheel() -> Backend:
            return OnnxRuntimeBackend()

        return {"onnxruntime": wheel, "numpy": ReferenceBackend.load}

    async def numpy() -> Backend:
        if not fetch and pyodide_host.offers("numpy") and not pyodide_host.is_installed("numpy"):
            raise BackendError("NNM709", "NumPy would have to be fetched (3 MB)")
        return await ReferenceBackend.load()

    openings = {name: partial(_onnxruntime, name, fetch) for name in PROVIDERS}
    return {**openings, "numpy": numpy}


async def _onnxruntime(provider: str, fetch: bool) -> Backend:
    size = await to_fetch(provider)
    if size and not fetch:
        message = f"ONNX Runtime would have to be fetched ({size / 1e6:.0f} MB)"
        raise BackendError("NNM709", message)
    return await OnnxRuntimeWebBackend.load(provider)


async def recall_seconds() -> dict[str, float]:
    """Return the seconds of earlier trials in this browser by device: "npu", …, "wasm", "numpy"."""
    if not pyodide_host.in_browser():
        return {}
    text = (await _verdicts()).recall(TOPIC)
    return json.loads(text) if text else {}


async def remember(seconds: Mapping[str, float]) -> None:
    """Add the seconds of trials to those that this version of the browser remembers."""
    if pyodide_host.in_browser():
        earlier = await recall_seconds()
        (await _verdicts()).keep(json.dumps({**earlier, **seconds}), TOPIC)


async def _verdicts() -> Verdicts:
    return await Verdicts.of(await pyodide_host.load_bridge())
