"""Model texts without a backend: their errors, their canonical form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webnnm.core.errors import ModelError
from webnnm.graph.elaborate import elaborate
from webnnm.graph.outline import Warning
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Document

if TYPE_CHECKING:
    from webnnm.model.nnmodel import NNModel


def check(text: str) -> list[ModelError | Warning]:
    """Return the errors of a text, or its warnings if it has no errors.

    >>> [str(found).split(": ")[0] for found in check("m:input shape=[4]; m:layers relu();")]
    ['NNM202 line 1, column 1']

    Each has `code`, `message`, `line` and `column`. A text outside the grammar gives one error,
    the first; later stages may give several.
    """
    try:
        return list(elaborate(parse(text)).warnings)
    except ModelError as error:
        return [error, *(other for other in error.others if isinstance(other, ModelError))]


def format_model(model: NNModel | Document | str) -> str:
    """Return the canonical text of a model, a syntax tree or a text (spec A.11).

    >>> print(format_model("m:input shape = [4,]; m:layers relu( );"), end="")
    m:input shape=[4];
    m:layers
      relu();

    Raises `NotationError` for a text outside the grammar.
    """
    if isinstance(model, str):
        model = parse(model)
    return format_document(model) if isinstance(model, Document) else model.serialize()
