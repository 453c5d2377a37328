"""Syntax tree to canonical text (spec A.11)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from webnnm.notation.lexer import is_free_text
from webnnm.notation.numerals import write_number, write_percent
from webnnm.notation.syntax import (
    AnyStatement,
    BlockStatement,
    Call,
    Constant,
    Constants,
    Declaration,
    Dimension,
    Document,
    GlobalConstant,
    Items,
    Layer,
    Layers,
    Loss,
    LossParameter,
    ModelFile,
    Name,
    NamedShape,
    Number,
    Option,
    Parameters,
    Percent,
    Port,
    Reference,
    Text,
    Value,
    Version,
)
from webnnm.notation.words import HYPHENATED, is_number

_NOT_IN_STRING = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")


def format_document(document: Document) -> str:
    """Return the canonical text of a document; parsing it gives an equal tree.

    >>> from webnnm.notation.parser import parse
    >>> print(format_document(parse("m:input shape=[ 4, ]; m:layers add( 0x10 ),relu()")), end="")
    m:input shape=[4];
    m:layers
      add(16),
      relu();

    Raises `ValueError` for strings that the notation cannot spell: with line ends, tabs or other
    control characters. No parsed document has such a string.
    """
    lines: list[str] = []
    if document.version is not None:
        lines += [*_comments(document.version.comments), _version(document.version)]
    for statement in document.statements:
        lines += [*_comments(statement.comments), _statement(statement) + ";"]
    lines += _comments(document.trailing_comments)
    return "".join(line + "\n" for line in lines)


def format_value(value: Value) -> str:
    """Return the canonical text of a value, as it is written after `=`.

    >>> from webnnm.notation.syntax import Items, Number, Reference
    >>> format_value(Items((Number(1e-5), Reference(("model",), "input"))))
    '[1e-5, model:input]'
    """
    match value:
        case Number():
            return write_number(value.value)
        case Percent():
            return write_percent(value.value)
        case Text():
            # `1e-5` looks like a hyphenated word, but would read back as a number.
            bare = HYPHENATED.fullmatch(value.value) and not is_number(value.value)
            return value.value if bare else _quote(value.value)
        case Reference():
            return str(value)
        case Call():
            return f"{value.function}({_join(format_value(item) for item in value.arguments)})"
        case Items():
            return f"[{_join(format_value(item) for item in value.items)}]"
        case NamedShape():
            return "{" + _join(_dimension(item) for item in value.dimensions) + "}"


def _statement(statement: AnyStatement) -> str:
    if isinstance(statement, GlobalConstant):
        return _constant(statement.constant)
    match statement:
        case Name():
            text = statement.text
            return _line(statement, "name", text if is_free_text(text) else _quote(text))
        case Port():
            tensor = _tensor(statement.dtype, statement.shape, statement.options)
            return _line(statement, statement.direction, tensor)
        case Layers():
            return _lines(statement, "layers", [_layer(layer) for layer in statement.layers])
        case ModelFile():
            words = [_quote(statement.file), *map(_option, statement.options)]
            return _line(statement, "source", " ".join(words))
        case Loss():
            return _line(statement, "loss", statement.loss)
        case LossParameter():
            return _line(statement, statement.parameter, format_value(statement.value))
        case Constants():
            return _list(
                statement, "constants", [_constant(entry) for entry in statement.constants]
            )
        case Parameters():
            return _list(
                statement, "param", [_declaration(entry) for entry in statement.parameters]
            )


def _line(statement: BlockStatement, name: str, value: str) -> str:
    return f"{statement.block}:{name} {value}"


def _lines(statement: BlockStatement, name: str, entries: Sequence[str]) -> str:
    return f"{statement.block}:{name}\n" + ",\n".join(f"  {entry}" for entry in entries)


def _list(statement: BlockStatement, name: str, entries: Sequence[str]) -> str:
    if len(entries) == 1:
        return _line(statement, name, entries[0])
    return _lines(statement, name, entries)


def _version(version: Version) -> str:
    minor = "" if version.minor is None else f".{version.minor}"
    return f"webnnm {version.major}{minor};"


def _layer(layer: Layer) -> str:
    operands = (_operand(value) for value in layer.operands)
    return f"{layer.operator}({_join([*operands, *map(_option, layer.options)])})"


def _operand(value: Value) -> str:
    # A hyphenated word without quotes is a value, but not an operand.
    return _quote(value.value) if isinstance(value, Text) else format_value(value)


def _option(option: Option) -> str:
    return f"{option.name}={format_value(option.value)}"


def _dimension(dimension: Dimension) -> str:
    if dimension.size is None:
        return dimension.name
    return f"{dimension.name}:{format_value(dimension.size)}"


def _declaration(declaration: Declaration) -> str:
    tensor = _tensor(declaration.dtype, declaration.shape, declaration.options)
    return f"{declaration.name} {tensor}"


def _tensor(dtype: str | None, shape: Value, options: Iterable[Option]) -> str:
    words = [dtype] if dtype else []
    return " ".join([*words, f"shape={format_value(shape)}", *map(_option, options)])


def _constant(constant: Constant) -> str:
    words = [constant.name, constant.dtype] if constant.dtype else [constant.name]
    return " ".join([*words, format_value(constant.shape), format_value(constant.data)])


def _comments(comments: Iterable[str]) -> list[str]:
    return [_LINE_END.sub("\n", comment) for comment in comments]


def _quote(text: str) -> str:
    if _NOT_IN_STRING.search(text):
        raise ValueError(f"a string of the notation cannot hold {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _join(parts: Iterable[str]) -> str:
    return ", ".join(parts)
