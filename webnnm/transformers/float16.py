"""Texts of models that compute in float16: tables of tokens are read so, and what follows keeps it.

Softmax, normalisations and losses compute in float32 all the same (spec B.5), and outputs are
float32.
"""

from __future__ import annotations

from dataclasses import replace

from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import AnyStatement, Layer, Layers, Option, Port, Reference

OVERFLOWING = frozenset({"t5"})
"""Values of `model_type` whose activations leave the range of float16."""


def computing_in(dtype: str, source: str, model_type: str) -> str:
    """Return the text of a model that reads tokens, which computes in a type.

    >>> source = "t:input int32 shape=[] sequence=s; t:output shape=[8] sequence=s; "
    >>> source += "t:layers embedding(table, size=9);"
    >>> print(computing_in("float16", source, "llama").splitlines()[-1])
      embedding(table, size=9, dataType=float16);

    Raises `DataError` NNM704 for other types than float32 and float16, and for float16 and models
    that read other numbers or whose activations it does not hold.
    """
    if dtype == "float32":
        return source
    if dtype != "float16":
        raise DataError("NNM704", f"dtype is {dtype!r}", hint='"float32" or "float16"')
    document = parse(source)
    ports = [each for each in document.statements if isinstance(each, Port)]
    others = [
        port.block
        for port in ports
        if port.direction == "input" and is_float(port.dtype or "float32")
    ]
    if others:
        why = f"the model reads {', '.join(others)}"
        raise _refused(f"{why}; only models that read tokens alone compute in float16")
    if model_type in OVERFLOWING:
        raise _refused(f"activations of {model_type} leave its range")
    statements = tuple(_changed(statement) for statement in document.statements)
    return format_document(replace(document, statements=statements))


def _refused(why: str) -> DataError:
    return DataError(
        "NNM704", f"dtype is 'float16', and {why}", hint='weights="float16" stores weights so'
    )


def _changed(statement: AnyStatement) -> AnyStatement:
    if isinstance(statement, Port) and statement.direction == "output":
        return replace(statement, dtype="float32")
    if isinstance(statement, Layers):
        return replace(statement, layers=tuple(map(_layer, statement.layers)))
    return statement


def _layer(layer: Layer) -> Layer:
    if layer.operator != "embedding":
        return layer
    half = Option("dataType", Reference(("float16",)))
    return replace(layer, options=(*layer.options, half))
