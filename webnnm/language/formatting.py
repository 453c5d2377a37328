"""A text in canonical form that keeps every comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.lexer import END, Token, tokenize
from webnnm.notation.syntax import Document, Version


def formatted(text: str) -> str:
    """Return a text in canonical form.

    >>> print(formatted("m:input shape = [4,];  m:layers relu( ); # done"), end="")
    m:input shape=[4];
    m:layers
      relu();
    # done

    A statement with a comment inside is left unchanged, because the canonical form has no place for
    it. Raises `NotationError` for syntax errors.
    """
    document = parse(text)
    lexed = tokenize(document.source)
    version = () if document.version is None else (document.version,)
    stretches = [*_stretches(lexed.tokens)]
    inside = [any(index in lexed.comments for index in stretch[1:]) for stretch in stretches]
    if not any(inside):
        return format_document(document)
    parts: list[str] = []
    for node, stretch, kept in zip(
        (*version, *document.statements), stretches, inside, strict=True
    ):
        if kept:
            start, end = (lexed.tokens[index][2] for index in (stretch[0], stretch[-1]))
            parts.append(format_document(Document(None, (), node.comments)))
            parts.append(f"{document.source[start:end].rstrip()};\n")
        elif isinstance(node, Version):
            parts.append(format_document(Document(document.version, ())))
        else:
            parts.append(format_document(Document(None, (node,))))
    parts.append(format_document(Document(None, (), document.trailing_comments)))
    return "".join(parts)


def _stretches(tokens: Sequence[Token]) -> Iterator[range]:
    """Yield the statements as ranges of tokens, each with its end."""
    first = 0
    for index, (kind, _, _) in enumerate(tokens):
        if kind in (";", END):
            # A comment before the end of the text is kept as a comment of the document.
            if index > first:
                yield range(first, index + (kind == ";"))
            first = index + 1
