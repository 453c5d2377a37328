"""Step that builds the documentation site with MkDocs."""

from __future__ import annotations

from tools.common import DOCUMENTS, ROOT, fingerprint, python_with, run, step

REQUIREMENTS = ("mkdocs==1.6.1", "mkdocs-material==9.8.1")
"""The packages that build the site, in a separate environment."""
INPUTS = (
    "docs",
    "mkdocs.yml",
    "tools/docs",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
)


def build() -> None:
    """Build build/docs if a document or the theme of the site has changed."""
    python = python_with("docs", REQUIREMENTS)
    key = fingerprint([ROOT / name for name in INPUTS], *REQUIREMENTS)
    with step("docs site", key, DOCUMENTS / "index.html") as needed:
        if needed:
            command = [python, "-m", "mkdocs", "build", "--strict"]
            run(command, "building the documentation site")
