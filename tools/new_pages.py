"""Lists what the pages that `webnnm new` writes have beside the files of the site."""

from __future__ import annotations

from zipfile import ZipFile

from tools import pyodide
from tools.common import NODE_MODULES, ROOT, VENV
from webnnm.cli import new

SOURCES = ROOT / "npm"
"""The pages that `webnnm new` writes."""
SCRIPTS = [ROOT / "site" / name for name in new.SCRIPTS]
"""What these pages share with those of the site."""


def licenses() -> dict[str, str]:
    """Return the licences of third-party files, by file name.

    The npm packages of Pyodide and ONNX Runtime have none; micropip is Pyodide's, under its
    licence, and the wheel of ONNX Runtime is of the same sources.
    """
    (micropip,) = (it for it in pyodide.wheels_of(pyodide.PAGES) if it.name.startswith("micropip-"))
    with ZipFile(micropip) as archive:
        (name,) = (it for it in archive.namelist() if it.endswith("dist-info/licenses/LICENSE"))
        mozilla = archive.read(name).decode()
    (onnxruntime,) = VENV.glob("[Ll]ib/**/site-packages/onnxruntime/LICENSE")
    third = onnxruntime.with_name("ThirdPartyNotices.txt")
    return {
        "pyodide.txt": mozilla,
        "pyscript.txt": (NODE_MODULES / "@pyscript/core/LICENSE").read_text(encoding="utf-8"),
        "onnxruntime.txt": onnxruntime.read_text(encoding="utf-8"),
        "onnxruntime-third-party.txt": third.read_text(encoding="utf-8"),
        **{
            f"tokenizers-{name}.txt": path.read_text(encoding="utf-8")
            for name in ("jinja2", "markupsafe")
            for path in VENV.glob(f"[Ll]ib/**/{name}-*.dist-info/licenses/LICENSE.txt")
        },
        "tokenizers.txt": (NODE_MODULES / "@huggingface/tokenizers/LICENSE").read_text(),
    }
