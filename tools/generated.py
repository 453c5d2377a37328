"""Writes the generated files anew: those whose text follows from the source."""

from __future__ import annotations

from pathlib import Path

from tools import (
    api,
    architecture,
    architectures_document,
    choices,
    chromium_document,
    errors,
    expert,
    grammar,
    hyperparameters,
    licences,
    onnx_document,
    operator_index,
    operators,
    optimizers,
    pipelines_document,
    portable_limits,
)
from tools.browsers import document as browsers
from tools.common import ROOT, say
from tools.docs import gallery


def files() -> dict[Path, str]:
    """Return the text of every generated file by its path."""
    by_optimizers = optimizers.files()
    training = hyperparameters.write_table(by_optimizers[hyperparameters.PAGE])
    return {
        operator_index.PAGE: operator_index.page(),  # the first: others read it
        api.PAGE: api.page(),
        architecture.PAGE: architecture.page(),
        architectures_document.PAGE: architectures_document.page(),
        browsers.PAGE: browsers.page(),
        chromium_document.PAGE: chromium_document.page(),
        errors.PAGE: errors.page(),
        expert.PAGE: expert.page(),
        expert.RULES_PAGE: expert.rules_page(),
        licences.PAGE: licences.page(),
        onnx_document.PAGE: onnx_document.page(),
        operators.PAGE: operators.page(),
        pipelines_document.PAGE: pipelines_document.page(),
        portable_limits.PAGE: portable_limits.page(),
        **choices.files(),
        **gallery.files(),
        **grammar.files(),
        **by_optimizers,
        hyperparameters.PAGE: training,
    }


def stale() -> dict[Path, str]:
    """Return those of the generated files that differ from their text."""
    return {
        path: text
        for path, text in files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> None:
    """Write the files that differ, and say which."""
    changed = stale()
    for path, text in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        say(f"wrote {path.relative_to(ROOT)}")
    if not changed:
        say("all generated files are up to date")


if __name__ == "__main__":
    main()
