"""What each hyperparameter means, in one sentence: the docstrings of the fields of `Settings`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache

from webnnm.training.settings import Settings


@cache
def setting_meanings() -> dict[str, str]:
    """Return the sentence on each hyperparameter by its name, read from the source.

    >>> setting_meanings()["accumulate"]
    'Batches whose gradients are added up for one update.'
    """
    (record,) = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body
    assert isinstance(record, ast.ClassDef)
    meanings: dict[str, str] = {}
    for field, text in zip(record.body, record.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(sentence))):
                    meanings[field.target.id] = " ".join(sentence.split())
    return meanings
