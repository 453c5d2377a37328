"""Steps of the documentation site: MkDocs builds it, the site gets a copy."""

from __future__ import annotations

import shutil

from tools.common import DOCUMENTS, ROOT, SITE, fingerprint, run, step
from tools.environment import python_with

INPUTS = (
    "docs",
    "mkdocs.yml",
    "tools/docs",
    "tools/locks/docs.txt",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
)


def build() -> None:
    """Build build/docs if a document or the theme of the site has changed."""
    python = python_with("docs")
    key = fingerprint([ROOT / name for name in INPUTS])
    with step("docs site", key, DOCUMENTS / "index.html") as needed:
        if needed:
            command = [python, "-m", "mkdocs", "build", "--strict"]
            run(command, "building the documentation site")


def copy_to_site() -> None:
    """Copy the documentation, to which pages link, into build/site."""
    target = SITE / "docs"
    with step("docs in the site", fingerprint([DOCUMENTS]), target / "index.html") as needed:
        if needed:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(DOCUMENTS, target)
