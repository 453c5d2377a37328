"""Seconds from the navigation to a page until its first result, with nothing in any cache."""

from __future__ import annotations

import asyncio
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import language_models, minilm, onnx_models, tflite
from bench.contest import DATA, LONGEST_WAIT, MODELS, Contest, Failed
from bench.training_steps import Unequal
from bench.workloads import LARGE, numbers
from tools.common import playwright_config, say
from tools.models import file_in_cache
from webnnm import load_onnx

OURS = "webnnm"
CHROMIUMS = ("webnn", playwright_config().SECOND)
"""The projects of the browsers in which pages are opened."""
SENTENCES = "all-MiniLM-L6-v2"
WEIGHTS = "efficientnet-lite0-57934424.pth"
LARGEST_DEVIATION = 1e-3
"""Largest deviation from our numbers, relative to the largest one."""


@dataclass(frozen=True)
class Subject:
    """A first result, and the pages of the folder `first` that come to it, by contestant."""

    title: str
    pages: Mapping[str, str]
    comparable: bool = True
    """Whether all come to the same result; trainings begin with weights of their own."""


def _training(until: str) -> dict[str, str]:
    return {
        OURS: f"step_webnnm.html?until={until}",
        "TensorFlow.js, wasm": f"step_tfjs.html?until={until}&backend=wasm",
        "jax-js": f"step_jaxjs.html?until={until}",
    }


SUBJECTS = {
    "step": Subject(
        "training step, MLP 784-256-128-10 on 6,400 rows", _training("step"), comparable=False
    ),
    "epoch": Subject("epoch of it, 100 steps", _training("epoch"), comparable=False),
    "picture": Subject(
        "result of EfficientNet-Lite0",
        {
            OURS: "picture_webnnm.html",
            f"{OURS}, exported": "picture_exported.html",
            "LiteRT.js, WebNN": "picture_litert.html?accelerator=webnn",
            "LiteRT.js, wasm": "picture_litert.html?accelerator=wasm",
            "ONNX Runtime Web, WebNN": "picture_onnxruntime.html?provider=webnn",
            "ONNX Runtime Web, wasm": "picture_onnxruntime.html?provider=wasm",
        },
    ),
    "sentence": Subject(
        "sentence vector of MiniLM",
        {
            OURS: "sentence_webnnm.html",
            "transformers.js, wasm": "sentence_transformers.html?device=wasm",
            "transformers.js, WebNN": "sentence_transformers.html?device=webnn-cpu",
        },
    ),
    "tokens": Subject(
        "four tokens of SmolLM2-135M",
        {OURS: "tokens_webnnm.html", "wllama": "tokens_wllama.html"},
        # Weights of four bits are rounded differently.
        comparable=False,
    ),
}


def write_files() -> None:
    """Put rows and models where pages find them."""
    DATA.mkdir(parents=True, exist_ok=True)
    arrays = numbers(LARGE)
    for name in ("x", "y"):
        (DATA / f"first_{name}.bin").write_bytes(np.ascontiguousarray(arrays[name]).tobytes())
    onnx_models.write_models()
    language_models.write_model()
    tflite.convert(file_in_cache(WEIGHTS), MODELS / "efficientnet-lite0.tflite")
    minilm.convert(file_in_cache("model.safetensors").parent, MODELS / SENTENCES)
    export_picture()


def export_picture() -> None:
    """Write the page without Python of EfficientNet-Lite0."""
    asyncio.run(_export_picture())


async def _export_picture() -> None:
    net = await load_onnx(MODELS / "efficientnet-lite0.onnx", backend="numpy")
    await net.export(MODELS / "exported", format="page")
    net.close()


async def measure(contest: Contest, rounds: int) -> dict[str, Any]:
    """Return the median seconds of all pages, by the version of the browser and the subject.

    Raises `Unequal` if pages come to different results.
    """
    seconds: dict[str, Any] = {}
    load: list[float] = []
    for number in range(rounds):
        for name, subject in SUBJECTS.items():
            pages = [*subject.pages.items()]
            results: dict[str, dict[str, Any]] = {}
            for contestant, page in pages[number % len(pages) :] + pages[: number % len(pages)]:
                for project in CHROMIUMS:
                    version, first = await visit(contest, project, f"first/{page}")
                    times = seconds.setdefault(version, {}).setdefault(name, {})
                    times.setdefault(contestant, []).append(first["at"] / 1e3)
                    results.setdefault(version, {})[contestant] = first["value"]
            for values in results.values():
                compare(values, name)
            load.append(os.getloadavg()[0])
            summary = f"round {number + 1}, load {load[-1]:.1f}: {seconds_of(seconds, name)}"
            say(f"  {subject.title}, {summary}")
    return {
        "medians": {
            version: {
                name: {who: statistics.median(visits) for who, visits in times.items()}
                for name, times in subjects.items()
            }
            for version, subjects in seconds.items()
        },
        "titles": {name: subject.title for name, subject in SUBJECTS.items()},
        "load": [min(load), max(load)],
        "rounds": seconds,
    }


def seconds_of(seconds: Mapping[str, Any], name: str) -> str:
    """Return the latest seconds of a subject in words."""
    return "; ".join(
        f"{version}: " + ", ".join(f"{who} {times[-1]:.2f}" for who, times in parts[name].items())
        for version, parts in seconds.items()
    )


async def visit(contest: Contest, project: str, address: str) -> tuple[str, dict[str, Any]]:
    """Open a page of `bench` in a new browser; return its version, and what it found and when.

    A new browser has nothing in its caches, and has started none of its services.
    """
    config = playwright_config()
    options = config.launch_options(project)
    browser = await contest.browser.browser_type.launch(**options)
    try:
        page = await browser.new_page()
        failure: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        page.on("pageerror", lambda error: failure.done() or failure.set_exception(Failed(error)))
        await page.goto(f"{contest.url}/bench/{address}")
        waiting = page.wait_for_function("globalThis.first", timeout=LONGEST_WAIT)
        first = asyncio.ensure_future(waiting)
        await asyncio.wait([first, failure], return_when=asyncio.FIRST_COMPLETED)
        if failure.done():
            first.cancel()
            failure.result()
        failure.cancel()
        return browser.version, await (await first).json_value()
    finally:
        await browser.close()


def compare(results: Mapping[str, Sequence[float] | str], name: str) -> None:
    """Raise `Unequal` if a result is no number, or is not ours although it should be."""
    if name == "tokens":
        return
    ours = np.asarray(results[OURS])
    for contestant, values in results.items():
        deviation = float(np.max(np.abs(np.asarray(values) - ours)) / np.max(np.abs(ours)))
        if SUBJECTS[name].comparable and not deviation <= LARGEST_DEVIATION:
            raise Unequal(f"{name}: the numbers of {contestant} differ by {deviation:.2g}")
        if not math.isfinite(deviation):
            raise Unequal(f"{name}: {contestant} computed no number")
