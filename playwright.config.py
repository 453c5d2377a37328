"""The browsers of the tests and the demo: what is started, with which arguments, for how long."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import chromium

# Playwright's own Node needs libatomic, which a bare Debian lacks; the set-up needs a Node anyway.
if node := shutil.which("node"):
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", node)

ROOT = Path(__file__).resolve().parent

SITE_ROOT = ROOT / "build" / "site"
# Folders that the test server adds to the site, by the first part of their address.
EXTRA_ROOTS = {
    "jupyter": ROOT / "build" / "jupyter",
    "tests": ROOT / "tests" / "browser" / "pages",
    "pyodide-for-tests": ROOT / ".cache" / "pyodide",
}

FAKE_DEVICES = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
"""A camera and a microphone that are made up, without asking."""

VIEWPORT = {"width": 1280, "height": 800}
# For what hangs alone: a crowded machine may take a minute for what is done in a second elsewhere.
ACTION_TIMEOUT_SECONDS = 240
NAVIGATION_TIMEOUT_SECONDS = 240

COMMON_ARGUMENTS = (
    "--headless=shell",
    # Chromium's sandbox needs rights that containers and root do not give.
    "--no-sandbox",
    # The shared memory of containers is often too small for a page with a large heap.
    "--disable-dev-shm-usage",
    # A test page is never in front, and must not be slowed down for that.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    # Pages of a site in one context share a process, and with it the code that one compiled.
    "--process-per-site",
)
WEBNN_FEATURE = "WebMachineLearningNeuralNetwork"
WEBGPU_FEATURE = "Vulkan"
WEBGPU_ARGUMENTS = (
    "--enable-unsafe-webgpu",
    # A graphics card in software: right numbers, no speed.
    "--use-webgpu-adapter=swiftshader",
    "--use-vulkan=swiftshader",
)
# Without these, a device that draws on a canvas is lost.
CANVAS_ARGUMENTS = ("--use-gl=angle", "--use-angle=swiftshader")


@dataclass(frozen=True, kw_only=True)
class Project:
    """One way in which a page can meet a browser."""

    name: str
    webnn: bool
    worker: bool = False
    webgpu: bool = False
    canvas: bool = False
    """Whether WebGPU can draw on canvases."""
    chromium: str | None = None
    """The major version of a bundled Chromium; None takes the usual one."""

    @property
    def arguments(self) -> list[str]:
        """Return the command line of the browser."""
        chosen = ((self.webnn, WEBNN_FEATURE), (self.webgpu, WEBGPU_FEATURE))
        features = ",".join(feature for has_it, feature in chosen if has_it)
        return [
            *COMMON_ARGUMENTS,
            *chromium.arguments(),
            *([f"--enable-features={features}"] if features else []),
            *(WEBGPU_ARGUMENTS if self.webgpu else ()),
            *(CANVAS_ARGUMENTS if self.canvas else ()),
        ]


SECOND = f"webnn-{chromium.SECOND}"
PROJECTS = {
    project.name: project
    for project in (
        Project(name="webnn", webnn=True),
        Project(name="no-webnn", webnn=False),
        Project(name="worker", webnn=True, worker=True),
        Project(name="webgpu", webnn=False, webgpu=True),
        Project(name="webnn-webgpu", webnn=True, webgpu=True, canvas=True),
        # Tests of what differs between versions of WebNN run in this one too.
        Project(name=SECOND, webnn=True, chromium=chromium.SECOND),
    )
}
EVERYWHERE = ("webnn", "no-webnn", "worker")
"""Where tests run that do not say otherwise."""


def launch_options(project: Project | str) -> dict[str, Any]:
    """Return the keyword arguments of Playwright's `chromium.launch` for a project or its name."""
    if isinstance(project, str):
        project = PROJECTS[project]
    return {
        "executable_path": str(chromium.executable(project.chromium)),
        "args": project.arguments,
        "env": chromium.environment(project.chromium),
    }
