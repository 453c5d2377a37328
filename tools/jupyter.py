"""Builds JupyterLite, which runs the notebooks of the documentation in a page; `make jupyter`.

When it runs, nothing is fetched from elsewhere: the kernel is the Pyodide of the site, and the
packages of IPython are next to it.
"""

from __future__ import annotations

import json
import shutil

from tools.common import CACHE, JUPYTER, ROOT, fingerprint, python_with, run, say, step

REQUIREMENTS = (
    "jupyterlite-core==0.8.6",
    "jupyterlite-pyodide-kernel==0.8.6",
    # Lists the notebooks.
    "jupyter-server==2.21.1",
)
"""The packages that build it, in a separate environment. The kernel is for Pyodide 314.0."""
KERNEL = ("ipython==9.12.0", "comm==0.2.3")
"""The packages that the kernel loads, for Pyodide's Python."""
PYTHON_VERSION = "3.14"
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
    python = python_with("jupyterlite-tools", REQUIREMENTS)
    key = fingerprint([NOTEBOOKS], *REQUIREMENTS, *KERNEL, json.dumps(SETTINGS))
    with step("jupyterlite", key, JUPYTER / "lab" / "index.html") as needed:
        if not needed:
            return
        for folder in (FOLDER, JUPYTER):
            shutil.rmtree(folder, ignore_errors=True)
        lite, wheels = FOLDER / "lite", FOLDER / "wheels"
        lite.mkdir(parents=True)
        (lite / "jupyter-lite.json").write_text(json.dumps(SETTINGS, indent=2))
        download = [python, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
        download += ["--python-version", PYTHON_VERSION, "--platform", "any", "--dest", wheels]
        run([*download, *KERNEL], "downloading the packages of the kernel")
        command = [python, "-m", "jupyterlite_core", "build", "--lite-dir", lite]
        command += ["--output-dir", JUPYTER, "--contents", NOTEBOOKS, "--no-sourcemaps"]
        command += [part for w in sorted(wheels.iterdir()) for part in ("--piplite-wheels", w)]
        # It leaves a database in its working directory.
        run(command, "building JupyterLite", folder=FOLDER)


if __name__ == "__main__":
    build()
    say(f"{JUPYTER.relative_to(ROOT)}: `make serve` shows it under /jupyter/lab/")
