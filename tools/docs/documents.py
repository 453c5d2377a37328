"""Step that builds the documentation site with MkDocs."""

from __future__ import annotations

from tools.common import DOCUMENTS, ROOT, fingerprint, run, step
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
