"""Milliseconds of a call, and seconds to a first result, beside transformers.js and LiteRT.js.

Each round opens each page in a browser of its own, where a task is called again and again. The
files are the same for all. Results have to agree; what a library cannot run is told instead.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import numpy as np

from bench import onnx_models, tflite
from bench.contest import DATA, FOLDER, MODELS, Contest, Failed
from bench.pipelines import folders
from bench.start import LARGEST_DEVIATION, WEIGHTS, export_picture, visit
from bench.training_steps import Unequal
from tools.common import say
from tools.models import file_in_cache
from webnnm import backend, load_sound
from webnnm.data.sounds.resampling import resample

PROJECT = "webnn"
OURS, THEIRS = ("ours, WebNN", "ours, wasm"), ("theirs, WebNN", "theirs, wasm")
DEVICES = {
    OURS[0]: ("ours", "webnn"),
    OURS[1]: ("ours", "onnxruntime"),
    THEIRS[0]: ("transformers", "webnn-cpu"),
    THEIRS[1]: ("transformers", "wasm"),
}
"""Contestant → who it is on page.html, and its device."""
LITERT = {THEIRS[0]: "litert-webnn", THEIRS[1]: "litert-wasm"}
CALLS = {
    "picture": {OURS[0]: "ours-values", **LITERT},
    "exported": {OURS[0]: "exported", **LITERT},
}
"""Kind of page → contestant → who it is on the page of bench/calls."""


@dataclass(frozen=True)
class Subject:
    """A task, and the folder of its model; settings of a call, ours and theirs.

    Without a folder, `task` is one of `CALLS`. `comparable`: whether all find the same.
    """

    title: str
    task: str
    folder: str = ""
    ours: Mapping[str, Any] = field(default_factory=dict[str, Any])
    theirs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    comparable: bool = True

    @property
    def pages(self) -> dict[str, str]:
        """The pages below the folder of the contest, by contestant."""
        if not self.folder:
            calls = CALLS[self.task]
            return {name: f"calls/page.html?who={who}" for name, who in calls.items()}
        settings = json.dumps({"ours": self.ours, "theirs": self.theirs})
        return {
            name: "pipelines/page.html?"
            + urlencode(
                {
                    "who": who,
                    "task": self.task,
                    "folder": self.folder,
                    "device": device,
                    "settings": settings,
                }
            )
            for name, (who, device) in DEVICES.items()
        }


RECORDING, RATE = "speech.wav", 16_000
"""A recording in the cache, instead of which tones are transcribed, and the rate for Whisper."""


def has_speech() -> bool:
    """Return whether there is a recording to transcribe; what a model hears in tones is chance."""
    return (FOLDER / RECORDING).exists()


SUBJECTS = {
    "embedding": Subject("embedding, MiniLM", "feature-extraction", folders.SENTENCES),
    "classes": Subject(
        "classification of a text, BERT 6 × 384",
        "text-classification",
        folders.CLASSES,
        {"top_k": 2},
        {"top_k": 2},
    ),
    "pictures": Subject(
        "classification of a picture, ResNet-50",
        "image-classification",
        folders.PICTURES,
        {"top_k": 1000},
        {"top_k": 1000},
    ),
    "objects": Subject(
        f"detection, YOLOS-tiny, {folders.HEIGHT} × {folders.WIDTH}",
        "object-detection",
        folders.OBJECTS,
        {"threshold": 0.0},
        {"threshold": 0.0},
    ),
    "speech": Subject(
        f"transcription of {'speech' if has_speech() else 'tones'}, Whisper tiny",
        "automatic-speech-recognition",
        folders.SPEECH,
        {"temperature": 0.0},
        {"return_timestamps": True},  # as ours always reads them
        comparable=has_speech(),
    ),
    "texts": Subject(
        "32 tokens, Llama 8 × 576",
        "text-generation",
        folders.TEXTS,
        {"max_new_tokens": 32, "return_full_text": False},
        {"max_new_tokens": 32, "return_full_text": False, "do_sample": False},
    ),
    "picture": Subject("EfficientNet-Lite0; theirs is LiteRT.js", "picture"),
    "exported": Subject("the same in an exported page, without Python", "exported"),
}


def write_models() -> None:
    """Put all models where pages find them."""
    onnx_models.write_models()
    tflite.convert(file_in_cache(WEIGHTS), MODELS / "efficientnet-lite0.tflite")
    export_picture()
    folders.write_folders()
    if has_speech():
        DATA.mkdir(parents=True, exist_ok=True)
        (DATA / "speech.bin").write_bytes(asyncio.run(_read_speech()))


async def _read_speech() -> bytes:
    """Return the samples of the recording at the rate of Whisper, float32."""
    sound = await load_sound(FOLDER / RECORDING)
    device = await backend("numpy")
    samples = await resample(sound.samples, sound.rate, RATE, device)
    device.close()
    return bytes(samples.data)


async def measure(contest: Contest, rounds: int) -> dict[str, Any]:
    """Return the median milliseconds of a call and seconds to the first result, by subject.

    Raises `Unequal` if results differ.
    """
    visits: dict[str, dict[str, list[dict[str, float]]]] = {}
    failures: dict[str, dict[str, str]] = {}
    load: list[float] = []
    for number in range(rounds):
        for name, subject in SUBJECTS.items():
            failed = failures.setdefault(name, {})
            pages = [item for item in subject.pages.items() if item[0] not in failed]
            values: dict[str, Any] = {}
            for contestant, page in pages[number % len(pages) :] + pages[: number % len(pages)]:
                answer = await _open(contest, page)
                if "error" in answer:
                    failed[contestant] = _read_message(answer["error"])
                    say(f"  {subject.title}, {contestant}: {failed[contestant]}")
                    continue
                values[contestant] = answer["value"]
                seconds = {"call": statistics.median(answer["times"]), "first": answer["at"] / 1e3}
                visits.setdefault(name, {}).setdefault(contestant, []).append(seconds)
            if subject.comparable:
                compare(values, name)
            load.append(os.getloadavg()[0])
            times = visits.get(name, {})
            summary = ", ".join(
                f"{who} {times[who][-1]['call']:.1f}/{times[who][-1]['first']:.2f}"
                for who in values
            )
            say(f"  {subject.title}, round {number + 1}, load {load[-1]:.1f}: {summary} (ms/s)")
    return {
        "titles": {name: subject.title for name, subject in SUBJECTS.items()},
        "medians": {
            name: {
                who: {kind: statistics.median(visit[kind] for visit in visits_of) for kind in kinds}
                for who, visits_of in times.items()
            }
            for name, times in visits.items()
            for kinds in [("call", "first")]
        },
        "failures": failures,
        "browser": contest.facts["browser"],
        "load": [min(load), max(load)],
        "rounds": visits,
    }


async def _open(contest: Contest, page: str) -> dict[str, Any]:
    """Return what a page found, or its error."""
    try:
        return (await visit(contest, PROJECT, page))[1]
    except Failed as error:
        return {"error": str(error)}


def _read_message(error: str) -> str:
    """Return the line of an error that says what it is: the last one of a traceback of Python."""
    lines = [line for line in error.strip().splitlines() if not line.startswith("hint: ")]
    return lines[-1]


def compare(values: Mapping[str, Any], name: str) -> None:
    """Raise `Unequal` if results are not the same."""
    expected = next(iter(values.values()), None)
    for contestant, value in values.items():
        if isinstance(expected, str):
            if value != expected:
                raise Unequal(f"{name}: {contestant} found {value!r}, not {expected!r}")
            continue
        numbers = np.asarray(expected)
        deviation = float(np.max(np.abs(np.asarray(value) - numbers)) / np.max(np.abs(numbers)))
        if not deviation <= LARGEST_DEVIATION:
            raise Unequal(f"{name}: the numbers of {contestant} differ by {deviation:.2g}")
