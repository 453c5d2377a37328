"""The error for an initialiser that does not exist, or takes other numbers."""

from __future__ import annotations

from webnnm.core.errors import ModelError, Span, suggestion
from webnnm.core.naming import camel_case
from webnnm.graph.elaboration.outline import Outline

FORMS = {
    "zeros": "zeros",
    "ones": "ones",
    "constant": "constant(0.5)",
    "normal": "normal(0.02)",
    "truncatedNormal": "truncatedNormal(0.02)",
    "uniform": "uniform(-0.1, 0.1)",
    "he": "he",
    "heNormal": "heNormal",
    "glorot": "glorot",
    "glorotNormal": "glorotNormal",
}
"""An example of each initialiser."""

SYNONYMS = {
    "glorotUniform": "glorot",
    "heUniform": "he",
    "kaiming": "he",
    "kaimingNormal": "heNormal",
    "kaimingUniform": "he",
    "randomNormal": "normal",
    "randomUniform": "uniform",
    "trunc": "truncatedNormal",
    "truncNormal": "truncatedNormal",
    "xavier": "glorot",
    "xavierNormal": "glorotNormal",
    "xavierUniform": "glorot",
    "zero": "zeros",
    "one": "ones",
}
"""Names in other frameworks."""


def unknown_initialiser_error(outline: Outline, name: str, numbers: int, span: Span) -> ModelError:
    """Return the error NNM303 for an initialiser with so many numbers, with what would be one."""
    written = outline.document.source[span.start : span.end]
    if name in FORMS:
        count = f"{numbers or 'no'} number{'s' * (numbers != 1)}"
        message, hint = f'"{name}" with {count} is not an initialiser', f"write {FORMS[name]}"
    else:
        message = f'"{written}" is not an initialiser'
        hint = _suggest(name, written)
    return outline.error("NNM303", message, span, hint)


def _suggest(name: str, written: str) -> str:
    """Return what an unknown initialiser may mean."""
    try:
        number = float(written)
    except ValueError:
        synonym = SYNONYMS.get(camel_case(name.rstrip("_")))
        every = f"one of {', '.join(FORMS.values())}"
        return f"write {FORMS[synonym]}" if synonym else suggestion(name, FORMS) or every
    constants = {0.0: "zeros", 1.0: "ones"}
    return f"write {constants.get(number, f'constant({written})')}"
