"""What is published about WebNN in browsers: its state, with the source of each statement.

It cannot be recorded here, where one system and no accelerator is: look it up again from time to
time, and change `READ`.
"""

from __future__ import annotations

from tools.operators import table

READ = "29 November 2026"
"""The day on which the sources said this."""
FLAG = "`#web-machine-learning-neural-network`"

WEBNN = (
    (
        "Chrome, Edge and others based on Chromium, on Windows, macOS, Linux and ChromeOS",
        f"behind the flag {FLAG}, since version 112; webnnm needs 147 or newer",
        "[MDN's data](https://github.com/mdn/browser-compat-data/blob/main/api/ML.json)",
    ),
    (
        "the same, without a flag, for sites with an origin-trial token",
        "announced for 152 to 154; its start is not yet fixed, and was postponed several times",
        "[WebNN's documentation](https://webnn.io/en/learn/get-started/ot_registration), "
        "[blink-dev](https://groups.google.com/a/chromium.org/g/blink-dev/c/5CWKSChYo98)",
    ),
    (
        "Chrome on Android",
        "not part of the trial; CPU only",
        "[blink-dev](https://groups.google.com/a/chromium.org/g/blink-dev/c/5CWKSChYo98)",
    ),
    (
        "Firefox",
        "no; Mozilla's position on the standard is positive",
        "[Mozilla](https://github.com/mozilla/standards-positions/issues/1215)",
    ),
    (
        "Safari",
        "no; no public position",
        "[WebKit](https://github.com/WebKit/standards-positions/issues/486)",
    ),
)
DEVICES = (
    ("Windows 11 24H2 or newer", "Windows ML (ONNX Runtime)", "yes", "yes"),
    ("macOS 14.4 or newer, Apple silicon", "Core ML", "yes", "yes"),
    ("ChromeOS", "LiteRT", "depends on the build", "no: CPU"),
    ("Linux, older Windows and macOS", "LiteRT", "no: CPU", "no: CPU"),
)
"""System, what WebNN computes with there, and whether it uses GPU and NPU."""
BACKENDS = "https://webnn.io/en/api-reference/browser-compatibility/api"

ANSWER = f"""\
# What works where

<!-- Written by `make browsers` from docs/browsers.json, which it records, and from
tools/browsers/availability.py: do not change this file. -->

**Pages work in Chrome, Edge, Firefox and Safari's engine.** WebNN, the fastest way to train
and to run larger models, is in Chrome and Edge, behind a flag. Without it, models run on ONNX
Runtime or NumPy, with the same results up to rounding.

## Which browsers have WebNN

This is what the sources said on {READ} (WebNN's documentation is of July 2026):

"""
FALLBACK = f"""
[WebNN in browsers](backends.md#webnn-in-browsers) shows how to turn it on. A site with an
origin-trial token sends it in the header `Origin-Trial`.

## CPU, GPU, NPU

Which device WebNN uses depends on the system ([Chromium's backends]({BACKENDS}), read on {READ}):

"""
MEASURED = """
GPUs and NPUs need current drivers ([list](https://webnn.io/en/learn/get-started/installation)).
If you request a device that is not there, models run on the CPU, without an error:
[Choose a device](backends.md#choose-a-device-cpu-gpu-or-npu).

**What was measured, and what was not.** Every time and speed in these documents was measured on the
CPU of a Linux machine. Nothing was measured on a GPU or an NPU, on Windows, macOS, or a phone.

## What falls back to what

| | What runs models | Where it is available |
|---|---|---|
| 1 | **WebNN** | see above; it first has to compute a small graph correctly |
| 2 | **ONNX Runtime Web**, on WebAssembly or WebGPU | in every browser, if the page includes it |
| 3 | **NumPy**, on WebAssembly | in every browser |

If one of them cannot run a model, the model moves to the next one; `model.backend.description` and
`.reason` say what runs it and why ([What "auto" selects](backends.md#what-auto-selects)). A
[page without Python](exporting.md) falls back to plain JavaScript.

## What was tested

"""


def answer() -> str:
    """Return the beginning of the document: which browsers and devices, and what falls back."""
    return "".join(
        [
            ANSWER,
            table(["Browser", "WebNN", "Source"], [list(row) for row in WEBNN]),
            "\n",
            FALLBACK,
            table(["System", "WebNN runs on", "GPU", "NPU"], [list(row) for row in DEVICES]),
            "\n",
            MEASURED,
        ]
    )
