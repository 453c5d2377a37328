"""Writes what pages need to give visitors a page of their own that serves a model."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

from tools import pyodide
from tools.common import NODE_MODULES, ROOT, VENV
from webnnm.cli import new

SOURCES = ROOT / "npm"
"""The pages that `webnnm new` writes."""
SCRIPTS = [ROOT / "site" / name for name in new.SCRIPTS]
"""What these pages share with those of the site."""
FOLDER, LIST = "element-page", "files.json"
KIND = "element"


def write(site: Path) -> None:
    """Write the page of the kind "element" into a site, with the list of files that it needs."""
    own = {path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in _files(SOURCES)}
    own |= {f"licenses/{name}": text.encode() for name, text in licenses().items()}
    own["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    own |= {script.name: script.read_bytes() for script in SCRIPTS}
    own = {path: text for path, text in own.items() if new.is_needed(path, KIND)}
    del own["package.json"]
    addresses: dict[str, str] = {}
    for path, content in own.items():
        addresses[new.page_path(path)] = f"./{FOLDER}/{new.page_path(path)}"
        target = site / FOLDER / new.page_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    vendored = (path.relative_to(site).as_posix() for path in _files(site / "vendor"))
    addresses |= {path: f"./{path}" for path in vendored if new.is_needed(path, KIND)}
    (site / FOLDER / LIST).write_text(json.dumps(addresses, indent=2), encoding="utf-8")


def _files(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


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
