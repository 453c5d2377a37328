"""A text in canonical form that keeps every comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.lexer import END, Token, tokenize
from webnnm.notation.syntax import Document, Version


def format_text(text: str) -> str:
    """Return a text in canonical form.

    >>> print(format_text("m:input shape = [4,];  m:layers relu( ); # done"), end="")
    m:input shape=[4];
    m:layers
      relu();
    # done

    A statement with a comment inside is left unchanged, because the canonical form has no line for
    it. Raises `NotationError` for syntax errors.
    """
    document = parse(text)
    lexed = tokenize(document.source)
    version = () if document.version is None else (document.version,)
    statements = [*_split_statements(lexed.tokens)]
    inside = [
        any(index in lexed.comments for index in tokens_of_statement[1:])
        for tokens_of_statement in statements
    ]
    if not any(inside):
        return format_document(document)
    parts: list[str] = []
    for node, tokens_of_statement, has_comment in zip(
        (*version, *document.statements), statements, inside, strict=True
    ):
        if has_comment:
            start, end = (
                lexed.tokens[index][2]
                for index in (tokens_of_statement[0], tokens_of_statement[-1])
            )
            parts.append(format_document(Document(None, (), node.comments)))
            parts.append(f"{document.source[start:end].rstrip()};\n")
        elif isinstance(node, Version):
            parts.append(format_document(Document(document.version, ())))
        else:
            parts.append(format_document(Document(None, (node,))))
    parts.append(format_document(Document(None, (), document.trailing_comments)))
    return "".join(parts)


def _split_statements(tokens: Sequence[Token]) -> Iterator[range]:
    """Yield the statements as ranges of tokens, each with its end."""
    first = 0
    for index, (kind, _, _) in enumerate(tokens):
        if kind in (";", END):
            # A comment before the end of the text is kept as a comment of the document.
            if index > first:
                yield range(first, index + (kind == ";"))
            first = index + 1
