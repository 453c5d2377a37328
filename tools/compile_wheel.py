"""Step that compiles the wheels of pages to bytecode, for the site's own Pyodide.

Compiling modules, and the methods that `dataclasses` writes, takes a quarter of a page's start-up,
on every visit, and a fifth of a first training. Bytecode is for one version of Python, which must
be Pyodide's own and is seldom a desktop's, so it is made inside Pyodide, in Node. It has the lines
of tracebacks but no columns, which would add over a third. The sources that tracebacks show are in
a wheel of their own, which pages fetch for the first of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tools import page_modules, page_wheel, pyodide
from tools.common import ROOT, fingerprint, run, step, without
from tools.page_wheel import PageWheels

FOLDER = ROOT / "dist" / "compiled"
PROGRAM = ROOT / "tools" / "bytecode.py"
SOON = (
    *("charts/", "compiler/infinite.py", "core/json_text.py", "core/lru_cache.py", "diagram/"),
    "evaluation/",
    *("data/pictures/pixel_scale.py", "data/tables/encoding.py", "model/report.py"),
    "data/preparation/",
    *(f"expert/facts/{name}.py" for name in ("chains", "course", "hindsight", "learning", "paths")),
    "expert/rules/",
    *("language/", "notation/", "runtime/", "snapshots/", "trainer/", "training/"),
)
"""What pages with an editor import of the second wheel, and their trainings, tests and saving."""
PRETRAINED = (
    *(f"backends/{name}.py" for name in ("shared", "webnn_runner")),
    *(f"compiler/{name}.py" for name in ("embedding", "passes/bias", "rematerialisation")),
    *("core/byte_cursor.py", "data/files/", "data/sounds/", "data/tables/endings.py"),
    *(f"formats/{name}.py" for name in ("__init__", "ctranslate2", "fields", "gguf")),
    *(
        f"formats/onnx/{name}.py"
        for name in (
            *("__init__", "described", "files", "messages", "narrowing", "onnx_model", "reader"),
            *("segments", "tensors"),
        )
    ),
    *(
        f"formats/onnx/importing/{name}.py"
        for name in (
            *("__init__", "call", "elementwise", "folding", "importer", "indexing", "kernels"),
            *("movement", "normalising", "products", "reductions", "refusals", "shaping"),
            *("short_integers", "sizes", "table", "values", "windows"),
        )
    ),
    "graph/elaboration/part.py",
    *(
        f"ops/{name}.py"
        for name in (
            *("attend", "conv2d", "dropout", "embedding", "layer_norm", "positions"),
            *("residual", "rotary", "smooth"),
        )
    ),
    "ops/declare/",
    *(
        f"transformers/{name}.py"
        for name in (
            *("__init__", "architectures/__init__", "architectures/bert", "architectures/encoder"),
            *("architectures/model_text", "architectures/rotary_rates", "beams", "beginning"),
            *("chat_template", "choice", "config", "ctranslate2_model", "decoding", "float16"),
            *("forward", "generator", "gguf_model", "gguf_tokenizer", "graphs", "hearing"),
            *("hub_model", "onnx_names", "picture_size", "picture_tokens", "piper_model"),
            *("inputs", "json_tokenizer", "key_values", "log_mel", "offsets", "pretrained"),
            *("pretrained_model", "prompts", "source", "speech_tokens", "tensor_names", "texts"),
            *("timestamps", "tokenizer", "tokenizer_growth", "towers", "transcription", "voice"),
        )
    ),
)
"""What pages import for the first result of an ONNX model, vector of a sentence, and token."""
COMPILE = """
const [core, program, wheels, made, call] = JSON.parse(process.argv[1]);
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const env = { HOME: "/home/pyodide", PYTHONNODEBUGRANGES: "1" };
  const pyodide = await loadPyodide({ indexURL: core, args: [], env });
  for (const [place, root] of Object.entries({ "/wheels": wheels, "/made": made })) {
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  pyodide.runPython(require("fs").readFileSync(program, "utf8"));
  pyodide.globals.get("compile_wheels").callKwargs(call);
})().catch((error) => { console.error(error); process.exit(1); });
"""


class CompiledWheels(NamedTuple):
    """The wheels of a page, and the sources of their bytecode."""

    first: Path
    rest: Path
    models: Path
    sources: Path


def build() -> CompiledWheels:
    """Compile the page wheels, and return the paths of webnnm…-py314-none-any.whl."""
    wheels = page_wheel.current()
    key = fingerprint([*wheels, Path(__file__), PROGRAM], pyodide.version())
    with step("compiled wheels", key, FOLDER) as needed:
        if needed:
            write(wheels, without(FOLDER, "*.whl"))
    return current()


def current() -> CompiledWheels:
    """Return the paths of the most recently compiled wheels."""
    wheels = *page_wheel.WHEELS, page_modules.SOURCES
    return CompiledWheels(*page_wheel.newest(FOLDER, wheels, "run `make setup`"))


def write(wheels: PageWheels, folder: Path) -> None:
    """Compile page wheels into a folder."""
    tag = f"py{pyodide.python_version().replace('.', '')}"  # lock files take no cp with "none"
    soon = SOON + PRETRAINED
    call = {"wheels": [wheel.name for wheel in wheels], "soon": soon, "tag": tag}
    places = [str(wheels.first.parent), str(folder)]
    arguments = json.dumps([str(pyodide.PACKAGE), str(PROGRAM), *places, call])
    run(["node", "-e", COMPILE, arguments], "compiling the wheels")
