"""Step that builds the static site: pages, vendored runtimes and the wheel."""

from __future__ import annotations

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tools import compile_wheel, components, compress, models, pyodide, stdlib, wheel
from tools.common import DISTRIBUTION, NODE_MODULES, ROOT, SITE, fingerprint, step
from tools.docs import documents
from tools.page_parts import ADDRESS, LINK_PICTURES, write_parts
from webnnm.cli.content_coding import is_copy
from webnnm.core import service_worker
from webnnm.transformers.chat_template import ARCHIVE

PAGES = ROOT / "site"
VENDOR = SITE / "vendor"
MODELS = SITE / "models"
BRIDGE = ROOT / "js_bridge"
ONNXRUNTIME = (
    "ort-wasm-simd-threaded.mjs",
    "ort-wasm-simd-threaded.wasm",
    "ort.webgpu.min.mjs",
    "ort-wasm-simd-threaded.asyncify.mjs",
    "ort-wasm-simd-threaded.asyncify.wasm",
)
"""Files of the npm package onnxruntime-web; js_bridge/onnxruntime says what they are for."""
TYPEFACE = "atkinson-hyperlegible-next"
DIGITS = ROOT / "tests" / "data" / "digits.csv.gz"


def vendor_pyscript() -> None:
    """Copy PyScript without source maps and without the large parts that only its editor loads."""
    unused = shutil.ignore_patterns("*.map", "codemirror*", "xterm*")
    shutil.copytree(NODE_MODULES / "@pyscript/core/dist", VENDOR / "pyscript", ignore=unused)


def vendor_bridge() -> None:
    """Copy the modules that pages register if their policy forbids creating them from text."""
    shutil.copytree(BRIDGE, VENDOR / "webnnm", ignore=shutil.ignore_patterns("*.d.ts"))


def vendor_onnxruntime() -> None:
    """Copy ONNX Runtime Web for its providers wasm and webgpu; pages load it on demand."""
    target = VENDOR / "onnxruntime"
    target.mkdir(parents=True)
    for name in ONNXRUNTIME:
        shutil.copy2(NODE_MODULES / "onnxruntime-web" / "dist" / name, target / name)


def vendor_fonts() -> None:
    """Copy the typeface of the pages, the Latin letters of all weights, and its licence."""
    target, source = VENDOR / "fonts", NODE_MODULES / "@fontsource-variable" / TYPEFACE
    target.mkdir(parents=True)
    for subset in ("latin", "latin-ext"):
        name = f"{TYPEFACE}-{subset}-wght-normal.woff2"
        shutil.copy2(source / "files" / name, target / name)
    shutil.copy2(source / "LICENSE", target / "LICENSE")


def vendor_tokenizers() -> None:
    """Copy the tokenizers of Hugging Face; pages load them with a model that needs them."""
    target = VENDOR / "tokenizers"
    target.mkdir(parents=True)
    source = NODE_MODULES / "@huggingface" / "tokenizers"
    shutil.copy2(source / "dist" / "tokenizers.min.mjs", target / "tokenizers.min.mjs")
    shutil.copy2(source / "LICENSE", target / "LICENSE")
    write_jinja(target / Path(ARCHIVE).name)


def write_jinja(target: Path) -> None:
    """Write Jinja, which renders chat templates, as an archive of Python modules."""
    packages = find_spec("jinja2"), find_spec("markupsafe")
    folders = [Path(spec.origin).parent for spec in packages if spec is not None and spec.origin]
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for path in (path for folder in folders for path in sorted(folder.glob("*.py"))):
            name = f"{path.parent.name}/{path.name}"
            archive.writestr(ZipInfo(name), path.read_bytes(), ZIP_DEFLATED)


def vendor_models() -> None:
    """Copy the models that pages offer, if `make models` has fetched them."""
    MODELS.mkdir()
    for path, location in models.of_pages().items():
        (MODELS / location).parent.mkdir(exist_ok=True)
        shutil.copy2(path, MODELS / location)


def write_service_worker(site: Path) -> None:
    """Write the list of files to keep, and their version, into the service worker of a site."""
    script = site / service_worker.NAME
    skipped = {script, site / "_headers", *site.glob("webnnm-*.whl")}
    skipped |= {*site.rglob(compile_wheel.current().sources.name)}  # only for tracebacks
    files = [path for path in site.rglob("*") if path.is_file() and path not in skipped]
    files = [path for path in files if not is_copy(path)]
    # Megabytes that only some visits need: js_bridge/onnxruntime caches its files itself. No visit
    # needs the pictures of links.
    seldom = {VENDOR / "onnxruntime", MODELS, site / LINK_PICTURES}
    files = [path for path in files if not seldom & {*path.parents}]
    contents = {path.relative_to(site).as_posix(): path.read_bytes() for path in files}
    script.write_text(service_worker.fill((PAGES / script.name).read_text(), contents))


def write_explanations(site: Path) -> None:
    """Write the docstrings of the expert system's rules, which pages do not have."""
    from webnnm.cli.explain import explanation
    from webnnm.expert.rules.registry import RULES

    explanations = {rule.id: explanation(rule) for rule in RULES.values()}
    texts = {
        id: [each for each in (it.condition, *it.reasons, it.ignore) if each]
        for id, it in explanations.items()
    }
    (site / "rules.json").write_text(json.dumps(texts, ensure_ascii=False))


def build() -> None:
    """Build build/site from scratch when anything in it has changed."""
    built, desktop_wheel = compile_wheel.current(), wheel.current()
    inputs = [
        PAGES,
        BRIDGE,
        ROOT / "package-lock.json",
        *built,
        desktop_wheel,
        DISTRIBUTION / "pyodide-lock.json",
        *stdlib.build(),
        DIGITS,
        ROOT / "tools" / "build_site.py",
        ROOT / "tools" / "page_offers.py",
        ROOT / "tools" / "page_parts.py",
        ROOT / "tools" / "components.py",
        *models.of_pages(),
    ]
    version = f"{fingerprint(inputs)} {os.environ.get(ADDRESS, '')}".rstrip()
    with step("site", version, VENDOR / "pyodide") as needed:
        if needed:
            shutil.rmtree(SITE, ignore_errors=True)
            unused = shutil.ignore_patterns(components.SOURCES.name, "__pycache__")
            shutil.copytree(PAGES, SITE, ignore=unused)
            components.bundle(SITE / components.SOURCES.name)
            shutil.copy2(DIGITS, SITE / DIGITS.name)
            vendor_pyscript()
            vendor_onnxruntime()
            vendor_fonts()
            vendor_tokenizers()
            vendor_bridge()
            vendor_models()
            pyodide.write_distribution(VENDOR / "pyodide", pyodide.page_wheels(built))
            write_parts(SITE)  # it names what is there
            shutil.copy2(desktop_wheel, SITE / desktop_wheel.name)
            write_explanations(SITE)
            write_service_worker(SITE)
    # Afterwards: the service worker keeps no documents, and hashes files as pages receive them,
    # which is unpacked.
    documents.copy_to_site()
    compress.write_copies(SITE)
