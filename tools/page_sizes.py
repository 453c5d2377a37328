"""Measures what visits download, from the files of the built site.

    python -m tools.page_sizes [SITE]

It writes the table into docs/hosting.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.common import ROOT, SITE, fail, say
from webnnm.core import service_worker

PAGE = ROOT / "docs" / "hosting.md"
TABLE = re.compile(r"(<!-- sizes: begin -->\n).*?(<!-- sizes: end -->)", re.DOTALL)
PARTS = {
    "Python, its standard library, webnnm": (
        "every visit to a page with Python",
        (
            "pyodide/pyodide.mjs",
            "pyodide/pyodide.asm.mjs",
            "pyodide/pyodide.asm.wasm",
            "pyodide/pyodide-lock.json",
            "pyodide/python_stdlib.zip",
            "pyodide/webnnm-*.whl",
        ),
    ),
    "the rest of webnnm and of the standard library": (
        "when a program imports from it, such as the expert system",
        ("pyodide/webnnm_rest-*.whl", "pyodide/python_stdlib_rest.zip"),
    ),
    "NumPy": ("browsers without WebNN", ("pyodide/numpy-*.whl",)),
    "ONNX Runtime Web on WebAssembly": (
        "larger models in browsers without WebNN, if the page has it",
        ("onnxruntime/ort-wasm-simd-threaded.mjs", "onnxruntime/ort-wasm-simd-threaded.wasm"),
    ),
    "ONNX Runtime Web on WebGPU": (
        'models with `device="webgpu"`, and where a trial found it faster',
        (
            "onnxruntime/ort.webgpu.min.mjs",
            "onnxruntime/ort-wasm-simd-threaded.asyncify.mjs",
            "onnxruntime/ort-wasm-simd-threaded.asyncify.wasm",
        ),
    ),
    "tokenizers and chat templates": (
        "Hugging Face models that have them",
        ("tokenizers/tokenizers.min.mjs", "tokenizers/jinja2.zip"),
    ),
}
"""Part of `vendor/` → who downloads it, its files."""
KEPT = "everything that the service worker keeps for visits without a network"


def find_files(site: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a part, or end with an error if one of them is not there."""
    files: list[Path] = []
    for pattern in patterns:
        matches = sorted((site / "vendor").glob(pattern))
        files += matches or fail(f"{site / 'vendor' / pattern} does not exist: run `make setup`.")
    return files


def size_of(files: Iterable[Path]) -> tuple[int, int]:
    """Return the bytes of files, and of their copies for servers that send brotli."""
    sizes = [(path.stat().st_size, _copy(path).stat().st_size) for path in files]
    return sum(size for size, _ in sizes), sum(copy for _, copy in sizes)


def _copy(path: Path) -> Path:
    copy = path.with_name(f"{path.name}.br")
    return copy if copy.exists() else path


def kept_files(site: Path) -> list[Path]:
    """Return the files that the service worker of a site keeps, in a build that had NumPy."""
    script = (site / service_worker.NAME).read_text(encoding="utf-8")
    content, _ = json.JSONDecoder().raw_decode(script[script.index("const SITE = ") + 13 :])
    listed = {site / name for name in content["files"] if not name.endswith("/")}
    return sorted(listed | {*find_files(site, PARTS["NumPy"][1])})


def table(site: Path) -> str:
    """Return the sizes as a table of Markdown."""
    rows = [
        (part, who, *size_of(find_files(site, patterns))) for part, (who, patterns) in PARTS.items()
    ]
    rows.append(("the whole site", KEPT, *size_of(kept_files(site))))
    head = "| What | Who downloads it | MB | compressed, MB |\n|---|---|--:|--:|\n"
    lines = (
        f"| {part} | {who} | {size / 1e6:.1f} | {copy / 1e6:.1f} |\n"
        for part, who, size, copy in rows
    )
    return head + "".join(lines)


def main() -> None:
    """Measure, print and write the table."""
    text = table(Path(sys.argv[1]) if sys.argv[1:] else SITE)
    say(text)
    PAGE.write_text(TABLE.sub(rf"\g<1>\n{text}\n\g<2>", PAGE.read_text()))


if __name__ == "__main__":
    main()
