"""Builds JupyterLite, which runs the notebooks of the documentation in a page; `make jupyter`.

When it runs, nothing is fetched from elsewhere: the kernel is the Pyodide of the site, and the
packages of IPython are next to it.
"""

from __future__ import annotations

import json
import shutil

from tools import locks
from tools.common import CACHE, JUPYTER, ROOT, fingerprint, run, say, step
from tools.environment import python_with

TOOLS, KERNEL = "jupyterlite", "jupyterlite-kernel"
"""The lock files of what builds it, in a separate environment, and of what its kernel loads."""
PYTHON_VERSION = "3.14"
"""Of the Pyodide for which that kernel is."""
NOTEBOOKS = ROOT / "docs" / "notebooks"
FOLDER = CACHE / "jupyterlite"
SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {
        "litePluginSettings": {
            "@jupyterlite/pyodide-kernel-extension:kernel": {
                # As seen from jupyter/lab/.
                "pyodideUrl": "../../vendor/pyodide/pyodide.mjs",
                "disablePyPIFallback": True,
                "loadPyodideOptions": {"packages": ["webnnm", "webnnm-rest", "numpy"]},
            }
        }
    },
}


def build() -> None:
    """Build build/jupyter if a notebook or the settings have changed."""
    python = python_with(TOOLS)
    inputs = [NOTEBOOKS, locks.lock_file(TOOLS), locks.lock_file(KERNEL)]
    key = fingerprint(inputs, json.dumps(SETTINGS))
    with step("jupyterlite", key, JUPYTER / "lab" / "index.html") as needed:
        if not needed:
            return
        for folder in (FOLDER, JUPYTER):
            shutil.rmtree(folder, ignore_errors=True)
        lite, wheels = FOLDER / "lite", FOLDER / "wheels"
        lite.mkdir(parents=True)
        (lite / "jupyter-lite.json").write_text(json.dumps(SETTINGS, indent=2))
        locks.download(python, KERNEL, wheels, python_version=PYTHON_VERSION)
        command = [python, "-m", "jupyterlite_core", "build", "--lite-dir", lite]
        command += ["--output-dir", JUPYTER, "--contents", NOTEBOOKS, "--no-sourcemaps"]
        command += [part for w in sorted(wheels.iterdir()) for part in ("--piplite-wheels", w)]
        # It leaves a database in its working directory.
        run(command, "building JupyterLite", folder=FOLDER)


if __name__ == "__main__":
    build()
    say(f"{JUPYTER.relative_to(ROOT)}: `make serve` shows it under /jupyter/lab/")
