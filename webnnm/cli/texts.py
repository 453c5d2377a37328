"""The commands `check` and `format`: errors of texts, and their canonical form."""

from __future__ import annotations

import argparse

from webnnm.cli.common import (
    ERROR,
    OK,
    SNAPSHOT,
    Parsers,
    add_model,
    add_references,
    command,
    model_document,
    model_text,
    print_json,
    problem,
)
from webnnm.cli.option_hints import OF_FILES, as_options
from webnnm.cli.output_paths import write
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.outline import Warning
from webnnm.model.texts import check, format_model


def add(commands: Parsers) -> None:
    """Add the commands."""
    check_parser = command(commands, "check", "list the errors and warnings of texts", _check)
    add_model(check_parser, nargs="+")
    add_references(check_parser)
    format_parser = command(commands, "format", "print a text in canonical form", _format)
    add_model(format_parser)
    format_parser.add_argument("--write", action="store_true", help="overwrite the file with it")


def _check(arguments: argparse.Namespace) -> int:
    issues_by_path = {path: _problems(path, arguments.references) for path in arguments.model}
    if arguments.json:
        entries = [
            {"model": p, "problems": [problem(e) for e in all]} for p, all in issues_by_path.items()
        ]
        print_json(entries)
    for path, issues in issues_by_path.items():
        for issue in () if arguments.json else issues:
            kind = "error" if isinstance(issue, ModelError) else "warning"
            print(f"{path}: {kind} {issue}")
    return (
        ERROR
        if any(isinstance(e, ModelError) for all in issues_by_path.values() for e in all)
        else OK
    )


def _problems(path: str, references: str | None) -> list[ModelError | Warning]:
    """Return the errors in a text, or in the files that it names."""
    try:
        document = model_document(path, references)
    except ModelError as error:
        error.hint = as_options(error.hint, OF_FILES)
        return [error]
    return check(document.source, document.files)


def _format(arguments: argparse.Namespace) -> int:
    before = model_text(arguments.model)
    text = format_model(before)
    if arguments.json:
        print_json({"model": arguments.model, "text": text, "changed": text != before})
    elif not arguments.write or arguments.model == "-":
        print(text, end="")
    if arguments.write and arguments.model != "-" and not arguments.model.endswith(SNAPSHOT):
        write(arguments.model, text)
    return OK
