"""Step that makes the wheels that pages load: the same modules without what only readers need.

The modules are in one text, which compresses much better than modules one by one. It is packed with
bzip2 in the first wheel, which has to be small, and deflated in the second one, which a first
training waits for: that is a fifth larger, but WebAssembly unpacks it in a tenth of the time.
tools/page_modules.py, which is also in the wheel, finds the modules there.

The first wheel holds what a first visit needs, the second one the rest, which pages fetch
automatically, the third one what only pretrained models need. The wheel on the package index keeps
everything, as it was written.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile, ZipInfo

from tools.common import ROOT, VENV_PYTHON, fail, fingerprint, step, without
from tools.page_modules import FIRST, MODELS, REST, Wheel, wheel_of
from tools.slim import outside_functions, slim_modules
from tools.wheel import record_line
from webnnm.formats.page.scripts import slim_script

FOLDER = ROOT / "dist" / "page"
PACKAGE = "webnnm/"
INIT = f"{PACKAGE}__init__.py"
LOADER = f"{PACKAGE}page_modules.py"
DESKTOP = tuple(
    PACKAGE + name
    for name in (
        *("__main__.py", "cli/"),
        *(f"backends/{name}.py" for name in ("jax", "batches", "onnxruntime")),
    )
)
"""The command line, JAX and the wheel of ONNX Runtime, which pages do not have."""
EARLY = (f"{PACKAGE}backends/", f"{PACKAGE}compiler/", f"{PACKAGE}ops/where.py")
"""What a first visit needs although a desktop, where NumPy runs the models, does not show it: steps
of several epochs in one call choose with `where`."""
LATE = (
    *(
        f"{PACKAGE}backends/_bridge/{name}.js"
        for name in (
            *("onnxruntime/onnxruntime", "onnxruntime/webassembly", "onnxruntime/webgpu"),
            *(f"inference/{name}" for name in ("answers", "boxes", "columns", "device", "kernels")),
            *(f"inference/{name}" for name in ("model", "onnxruntime", "pictures")),
            *("inference/dates", "inference/hashing", "inference/rows"),
            *("inference/scaling", "inference/script"),
            *("inference/series", "inference/sounds", "inference/tokens"),
            *("page/blocks", "page/downloads", "page/fitting", "page/model-element"),
            *("page/offline", "page/pixels", "page/sounds", "page/tokenizers"),
            *("webgpu/frames", "webgpu/shaders"),
        )
    ),
    *(f"{PACKAGE}{name}.py" for name in ("core/lru_cache", "model/graph_text", "model/report")),
    *(f"{PACKAGE}diagram/_dagre/{name}" for name in ("LICENSE", "dagre.min.js")),
    *(
        f"{PACKAGE}backends/{name}.py"
        for name in (
            "bridge_errors",
            "drawing",
            "fallback",
            "frames",
            "kernels",
            "moving",
            "onnxruntime_faults",
            "onnxruntime_web",
            "page_values",
            "preferences",
            "reference",
            "shared",
            "speed",
            "unpacking",
            "webnn_runner",
        )
    ),
    *(
        f"{PACKAGE}compiler/{name}.py"
        for name in (
            *("calls", "embedding", "four_bits", "images", "infinite", "ranks"),
            *("rematerialisation", "refusals", "scales", "stages"),
        )
    ),
    *(f"{PACKAGE}compiler/passes/{name}.py" for name in ("bias", "pool_sizes")),
    *(
        f"{PACKAGE}data/preparation/{name}.py"
        for name in (
            *("chance", "equal_rows", "features", "places", "quality"),
            "row_sample",
        )
    ),
    f"{PACKAGE}graph/transforms/integers.py",
    *(f"{PACKAGE}expert/facts/{name}.py" for name in ("chains", "paths")),
    *(
        f"{PACKAGE}expert/rules/{name}.py"
        for name in (
            "device",
            "initial_values",
            "layers",
            "loss_numbers",
            "operands",
            "origins",
            "outputs",
            "precision",
            "rows",
            "scores",
            "sequences",
            "settings",
            "stability",
            "subsets",
            "targets",
            "windows",
        )
    ),
    *(
        f"{PACKAGE}runtime/inference/{name}.py"
        for name in ("answers", "context", "entries", "painting", "prediction")
    ),
    *(
        f"{PACKAGE}runtime/testing/{name}.py"
        for name in ("evaluator", "simple_comparison", "testing", "validation")
    ),
    *(
        f"{PACKAGE}evaluation/{name}.py"
        for name in (
            "averages",
            "baselines",
            "classification_report",
            "compare",
            "explained_loss",
            "paired_tests",
            "probabilities",
            "result",
            "simple_models",
            "table",
        )
    ),
    *(f"{PACKAGE}expert/facts/{name}.py" for name in ("course", "hindsight", "learning")),
    *(
        f"{PACKAGE}expert/rules/{name}.py"
        for name in ("course", "generalisation", "learning", "units")
    ),
    *(f"{PACKAGE}trainer/{name}.py" for name in ("outcome", "sampled_rows", "scout")),
    *(f"{PACKAGE}training/{name}.py" for name in ("layer_figures", "outcome_step", "probe_step")),
)
"""Needed only by pages that use pictures, that recompute values to save memory, whose models have
unusual numbers, layers, settings, many dimensions or an explicit backend, or that have no WebNN:
the latter wait for NumPy, which takes longer. Inference and tests come after training, which takes
time as well, and so do the review of data and the
measurements of a training, of its epochs and its start."""
INSTALL = "from webnnm.page_modules import install\ninstall(__path__[0])\n"
RECIPE = ("tools/page_wheel.py", "tools/page_modules.py", "tools/slim.py", "tools/first_visit.py")
INPUTS = [ROOT / name for name in (*RECIPE, "site/trainer.py", "site/iris.nnm")]
WHEELS = FIRST, REST, MODELS


class PageWheels(NamedTuple):
    """The wheels of a page."""

    first: Path
    rest: Path
    models: Path


def current() -> PageWheels:
    """Return the paths of the most recently built page wheels."""
    return PageWheels(*newest(FOLDER, WHEELS, "run `make wheel`"))


def newest(folder: Path, wheels: Sequence[Wheel], remedy: str) -> list[Path]:
    """Return the paths of the newest wheels in a folder; end the program if there are none."""
    paths = [sorted(folder.glob(f"{project(each)}-*-none-any.whl"))[-1:] for each in wheels]
    if not all(paths):
        fail(f"there are no wheels in {folder.relative_to(ROOT)}/: {remedy}.")
    return [path for (path,) in paths]


def project(wheel: Wheel) -> str:
    """Return the name of a wheel in the name of its file."""
    return wheel.package.replace("-", "_")


def build(source: Path) -> PageWheels:
    """Build the wheels in dist/page/ from the complete one."""
    with step("page wheel", fingerprint([source, *INPUTS]), FOLDER) as needed:
        if needed:
            write(source, without(FOLDER, "*.whl"))
    return current()


def write(source: Path, folder: Path) -> PageWheels:
    """Write the wheels into a folder."""
    paths = PageWheels(
        *(folder / source.name.replace("webnnm", project(wheel), 1) for wheel in WHEELS)
    )
    with ZipFile(source) as archive:
        texts = slim_texts(archive)
        early = first_texts(texts)
        late = {name: text for name, text in texts.items() if name not in early}
        kept = {INIT: INSTALL + texts[INIT], LOADER: texts[LOADER]}
        files = {name[len(PACKAGE) :]: text for name, text in early.items() if name not in kept}
        _write_wheel(paths.first, archive, kept, FIRST, files)
        files = {name[len(PACKAGE) :]: text for name, text in late.items()}
        for path, wheel in zip(paths[1:], WHEELS[1:], strict=True):
            own = {name: text for name, text in files.items() if wheel_of(name) is wheel}
            # Pyodide's lock file requires a module in every wheel.
            _write_wheel(path, archive, {f"{project(wheel)}.py": ""}, wheel, own)
    return paths


def slim_texts(whole: ZipFile) -> dict[str, str]:
    """Return the modules without what readers need, and the package's data, by file."""
    own = [name for name in whole.namelist() if name.startswith(PACKAGE)]
    texts = {name: whole.read(name).decode() for name in own if not name.startswith(DESKTOP)}
    bridge = {name: text for name, text in texts.items() if "/_bridge/" in name}
    texts |= {name: slim_script(text) for name, text in bridge.items()}
    texts[LOADER] = (ROOT / "tools" / "page_modules.py").read_text()
    texts |= slim_modules({name: text for name, text in texts.items() if name.endswith(".py")})
    return texts


def first_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what a first visit needs, including everything that it imports."""
    command = [str(VENV_PYTHON), "-m", "tools.first_visit"]
    visit = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    names = {*json.loads(visit.stdout.splitlines()[-1]), LOADER}
    names |= {name for name in texts if name.startswith(EARLY) or not name.endswith(".py")}
    waiting = list(names.difference(LATE))
    while waiting:
        needed = _find_imports(waiting.pop(), texts) - names
        names |= needed
        waiting += needed
    return {name: text for name, text in texts.items() if name in names.difference(LATE)}


def _find_imports(file: str, texts: Mapping[str, str]) -> set[str]:
    """Return the files that a module imports while it is imported itself."""
    if not file.endswith(".py") or file == LOADER:
        return set()
    names: set[str] = set()
    for node in outside_functions(ast.parse(texts[file])):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    paths = [name.replace(".", "/") for name in names]
    return {file for path in paths for file in (f"{path}.py", f"{path}/__init__.py")} & {*texts}


def _write_wheel(
    target: Path,
    whole: ZipFile,
    kept: Mapping[str, str],
    wheel: Wheel,
    texts: Mapping[str, str],
) -> None:
    """Write a wheel: files that are kept as they are, sources in one file, and the metadata."""
    with ZipFile(target, "w") as slim:
        record: list[str] = []

        def add(name: str, data: bytes, method: int = ZIP_DEFLATED) -> None:
            record.append(record_line(name, data))
            slim.writestr(ZipInfo(name), data, method, 9)

        joined = "\0".join(part for name in sorted(texts) for part in (name, texts[name]))
        method = ZIP_BZIP2 if wheel is FIRST else ZIP_DEFLATED
        add(f"{PACKAGE}{wheel.texts}", joined.encode(), method)
        for name, text in kept.items():
            add(name, text.encode())
        for name in whole.namelist():
            path = name.replace("webnnm", project(wheel), 1)
            if name.endswith(".dist-info/METADATA"):
                head = _short_metadata(whole.read(name).decode())
                add(path, head.replace("Name: webnnm", f"Name: {project(wheel)}", 1).encode())
            elif name.endswith((".dist-info/WHEEL", "/licenses/LICENSE")):
                add(path, whole.read(name))
            elif name.endswith(".dist-info/RECORD"):
                slim.writestr(ZipInfo(path), "".join([*record, f"{path},,\n"]), ZIP_DEFLATED, 9)


def _short_metadata(text: str) -> str:
    """Return metadata without what only the package index shows, and without extras."""
    head, _, _ = text.partition("\n\n")
    shown = ("Classifier:", "Keywords:", "Provides-Extra:", "Description-")
    lines = [line for line in head.splitlines() if not line.startswith(shown)]
    return "".join(f"{line}\n" for line in lines if "; extra ==" not in line)
