"""The JavaScript of exported pages, without comments."""

from __future__ import annotations

import re
from functools import cache

from webnnm.backends.pyodide_host import read_script

COMMENTS = re.compile(r"/\*\*.*?\*/|^\s*//[^\n]*$", re.DOTALL | re.MULTILINE)
"""Comments of scripts, in the style used here: /** … */, and // on lines of their own."""

ELEMENT = "page/model-element.js"
"""The module that defines `<webnnm-model>`."""
OFFLINE = "page/offline.js"
"""The service worker, which stands beside the page: its folder is what it serves."""
KERNELS = "inference/kernels.js"
ALWAYS = (
    ELEMENT,
    *(f"inference/{name}.js" for name in ("model", "rows", "answers", "scaling")),
)
COLUMNS = tuple(f"inference/{name}.js" for name in ("columns", "dates", "hashing"))
PREPARATION = {
    "light": ("inference/pictures.js", "page/fitting.js", "common.js"),
    "rate": ("inference/sounds.js", "page/sounds.js"),
    "series": ("inference/series.js", *COLUMNS),
    "encoders": COLUMNS,
    "tokenizer": ("inference/tokens.js",),
}
"""What prepares the rows of inputs that have a key in the manifest."""
ANSWERS = {"boxes": ("inference/boxes.js",)}
"""What makes answers of outputs of a kind."""
WEBNN = (
    *("inference/device.js", "common.js", "page/browser.js"),
    *(f"webnn/{name}.js" for name in ("bridge", "failures", "handles", "permutations", "plans")),
)
ONNXRUNTIME = tuple(f"onnxruntime/{name}.js" for name in ("onnxruntime", "webassembly", "webgpu"))
ENGINES = {
    "webnn": WEBNN,
    "onnxruntime": ("inference/onnxruntime.js", *ONNXRUNTIME, *WEBNN),
    "script": ("inference/script.js", KERNELS),
}
"""What each engine needs besides."""
TABLE = "export const KERNELS = {"
"""Where its table of operators begins."""


def slim_script(text: str) -> str:
    r"""Return a script without comments, indentation and blank lines.

    >>> slim_script("/** Add one. */\nconst f = (x) =>\n  // easily\n  x + 1;\n")
    'const f = (x) =>\nx + 1;\n'
    """
    return re.sub(r"^\s+", "", COMMENTS.sub("", text), flags=re.MULTILINE)


def read_scripts(paths: tuple[str, ...]) -> dict[str, bytes]:
    """Return the contents of scripts by their paths in js_bridge."""
    return {path: slim_script(read_script(path)).encode() for path in paths}


@cache
def find_script_operators() -> tuple[str, ...]:
    """Return the operators of WebNN that plain JavaScript computes."""
    _, table = slim_script(read_script(KERNELS)).split(TABLE)
    return tuple(re.findall(r"^(\w+)(?=[:,])", table, re.MULTILINE))


@cache
def find_tokenizer_parts() -> frozenset[str]:
    """Return the types of parts of tokenizers that pages have."""
    (path,) = PREPARATION["tokenizer"]
    return frozenset(re.findall(r"^(\w+): \(", slim_script(read_script(path)), re.MULTILINE))
