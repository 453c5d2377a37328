"""Writes docs/licences.md from what is shipped and what pages offer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tools.common import ROOT
from tools.operators import table

PAGE = ROOT / "docs" / "licences.md"
COMPONENTS = ROOT / "site" / "components"
IMPORT = re.compile(r"""(?:from|import)\s*\(?["'](@[\w-]+/[\w-]+|[\w-]+)["']""")
FACT = re.compile(r"<dt>(.*?)</dt>\s*<dd[^>]*>(.*?)</dd>", re.DOTALL)
LAYOUT = "@dagrejs/dagre"
"""Lies in webnnm/diagram, which runs it in a browser or in V8."""
LINK = re.compile(r'<a href="([^"]+)">(.*?)</a>')
INTRODUCTION = """\
# Licences

<!-- Written by `make documents` from npm/README.md, package-lock.json and site/*.html. -->

webnnm has the [MIT licence](../LICENSE): you may use it, change it and sell what you build, as long
as you keep its notice. A page that `webnnm new` writes includes files of other projects; their
licences are in the folder `vendor/licenses`, which you deploy with the page.

## In every page that `webnnm new` writes

"""
EXPORTED = """
A page that `webnnm export … --page` writes contains only webnnm's JavaScript (MIT) and, with
`--with onnxruntime`, ONNX Runtime Web (MIT).

## Bundled into pages of the site

The editor, the charts and the Parquet reader of the site are built from these npm packages and
their dependencies; the texts of their licences are in the site's `components/licences.txt`.
`webnnm new` copies none of them. The Python package contains one of them,
dagre, which lays out diagrams.

"""
MODELS = """
## Trained models that pages of the site offer

They are downloaded on request, and are not part of the Python package or of what `webnnm new`
writes. A model that you load yourself has the licence of its publisher.

"""
REST = """
## Data, fonts, documentation

- The Iris flowers (Fisher 1936, [doi.org/10.24432/C56C76](https://doi.org/10.24432/C56C76)) and the
  handwritten digits ([doi.org/10.24432/C50P49](https://doi.org/10.24432/C50P49)) come from the UCI
  Machine Learning Repository, under [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/).
- The pages and documents of the site are set in Atkinson Hyperlegible Next by the Braille
  Institute, under the [SIL Open Font License 1.1](https://openfontlicense.org); its licence is in
  `vendor/fonts` of the site. Pages that `webnnm new` or `webnnm export` write use system
  fonts.
- The speech sample is five seconds of John F. Kennedy's inaugural address (1961), recorded by the
  United States government and in the public domain.
- The documentation site is built by MkDocs (BSD-2-Clause) with the theme Material (MIT), whose
  scripts and icons it contains.
- On desktops, pip installs NumPy and the extras that you choose, which have their own licences.
"""


def page() -> str:
    """Return the text of docs/licences.md."""
    return "".join(
        [
            INTRODUCTION,
            shipped_files(),
            EXPORTED,
            table(["Package", "Version", "Licence"], bundled_packages()),
            "\n",
            MODELS,
            table(["Page", "Model", "Size", "Licence"], offered_models()),
            "\n",
            REST,
        ]
    )


def shipped_files() -> str:
    """Return the table of the npm package's README."""
    text = (ROOT / "npm" / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return "\n".join(lines) + "\n"


def bundled_packages() -> list[list[str]]:
    """Return name, version and licence of each npm package inside the components of pages."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    packages: Mapping[str, Any] = lock["packages"]
    sources = [path.read_text(encoding="utf-8") for path in COMPONENTS.rglob("*.js")]
    imported = {name for text in sources for name in IMPORT.findall(text)} | {LAYOUT}
    return [
        [name, facts["version"], facts["license"]]
        for name in dependencies(imported, packages)
        if (facts := packages[f"node_modules/{name}"])
    ]


def dependencies(names: Iterable[str], packages: Mapping[str, Any]) -> list[str]:
    """Return packages and those that they need, by name.

    >>> dependencies(["a"], {"node_modules/a": {"dependencies": {"b": "1"}}, "node_modules/b": {}})
    ['a', 'b']
    """
    waiting, seen = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += packages[f"node_modules/{name}"].get("dependencies", ())
    return sorted(seen)


def offered_models() -> list[list[str]]:
    """Return what pages say of the models that they offer: page, model, size and licence."""
    rows: list[list[str]] = []
    for path in sorted((ROOT / "site").glob("*.html")):
        facts = {name.removesuffix("s"): text for name, text in FACT.findall(path.read_text())}
        if "Licence" in facts:
            named = [_markdown(facts[name]) for name in ("Model", "Size", "Licence")]
            rows.append([f"`{path.name}`", *named])
    return rows


def _markdown(text: str) -> str:
    return LINK.sub(r"[\2](\1)", text)
