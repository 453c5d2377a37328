"""Model texts that compute in float16: token embeddings have this type, and later layers keep it.

Softmax, normalisations and losses still compute in float32 (spec B.5), and outputs are float32.
"""

from __future__ import annotations

from dataclasses import replace

from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import AnyStatement, Layer, Layers, Option, Port, Reference


def compute_in(dtype: str, source: str, problem: str = "") -> str:
    """Return the text of a model that reads tokens, changed to compute in a data type.

    >>> source = "t:input int32 shape=[] sequence=s; t:output shape=[8] sequence=s; "
    >>> source += "t:layers embedding(table, size=9);"
    >>> print(compute_in("float16", source).splitlines()[-1])
      embedding(table, size=9, dataType=float16);

    Raises `DataError` NNM704 for float16 if the model has inputs other than tokens, or a `problem`,
    see `ModelText.float16_problem`.
    """
    if dtype == "float32":
        return source
    document = parse(source)
    ports = [statement for statement in document.statements if isinstance(statement, Port)]
    others = [
        port.block
        for port in ports
        if port.direction == "input" and is_float(port.dtype or "float32")
    ]
    if others:
        why = f"the model reads {', '.join(others)}"
        raise _not_supported(f"{why}; only models that read nothing but tokens compute in float16")
    if problem:
        raise _not_supported(problem)
    statements = tuple(_change_statement(statement) for statement in document.statements)
    return format_document(replace(document, statements=statements))


def _not_supported(why: str) -> DataError:
    return DataError(
        "NNM704",
        f"dtype is 'float16', and {why}",
        hint='weights="float16" stores weights in float16',
    )


def _change_statement(statement: AnyStatement) -> AnyStatement:
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
