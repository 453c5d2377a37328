"""Model texts without a backend: their errors, their canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webnnm.core.errors import ModelError, split_errors
from webnnm.core.plugins import plugin
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.outline import Warning
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Document, ModelFile

if TYPE_CHECKING:
    from webnnm.model.nnmodel import NNModel


def check(text: str, files: Mapping[str, Any] | None = None) -> list[ModelError | Warning]:
    """Return the errors in a model text, or its warnings if there are no errors.

    >>> [str(found).split(": ")[0] for found in check("m:input shape=[4]; m:layers relu();")]
    ['NNM202 line 1, column 1']

    Each item has a `code`, `message`, `line` and `column`. Syntax errors are reported one at a
    time; later stages can report several. `files` are paths or bytes of the files that the text
    names; without it they are looked for in the current folder.
    """
    try:
        return list(elaborate(local_document(text, files)).warnings)
    except ModelError as error:
        return [problem for problem in split_errors(error) if isinstance(problem, ModelError)]


def local_document(text: str, files: Mapping[str, Any] | None = None) -> Document:
    """Parse a text, with the files that it names if they are on this machine."""
    document = parse(text)
    if files or any(isinstance(statement, ModelFile) for statement in document.statements):
        return plugin("with_local_files")(document, files)
    return document


def format_model(model: NNModel | Document | str) -> str:
    """Return a model, syntax tree or text in canonical form (spec A.11).

    >>> print(format_model("m:input shape = [4,]; m:layers relu( );"), end="")
    m:input shape=[4];
    m:layers
      relu();

    Raises `NotationError` for syntax errors.
    """
    if isinstance(model, str):
        model = parse(model)
    return format_document(model) if isinstance(model, Document) else model.serialize()
