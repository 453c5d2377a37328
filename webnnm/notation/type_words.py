"""What a word that is no data type may mean."""

from __future__ import annotations

from webnnm.core.dtypes import PRECEDENCE, DataType
from webnnm.core.errors import Remedy, suggestion

SYNONYMS: dict[str, DataType] = {
    "bool": "uint8",
    "boolean": "uint8",
    "byte": "uint8",
    "double": "float32",
    "f16": "float16",
    "f32": "float32",
    "fp16": "float16",
    "fp32": "float32",
    "float": "float32",
    "float64": "float32",
    "half": "float16",
    "int": "int32",
    "int16": "int32",
    "integer": "int32",
    "long": "int64",
    "uint": "uint32",
    "uint16": "uint32",
}
"""Types of NumPy and other programs, and the one that takes their numbers here."""


def suggest_type(word: str) -> str:
    """Return what an unknown data type may mean.

    >>> suggest_type("float"), suggest_type("flaot32")
    ('did you mean "float32"?', 'did you mean "float32"?')
    """
    synonym = SYNONYMS.get(word.lower())
    if synonym is not None:
        return Remedy(f'did you mean "{synonym}"?', synonym, word=word)
    return suggestion(word, PRECEDENCE) or f"data types are {', '.join(PRECEDENCE)}"
