"""The commands `check` and `format`: errors of texts, and their canonical form."""

from __future__ import annotations

import argparse

from webnnm.cli.common import (
    FINE,
    SNAPSHOT,
    WRONG,
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
from webnnm.cli.places import write
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.outline import Warning
from webnnm.model.texts import check, format_model


def add(commands: Parsers) -> None:
    """Add the commands."""
    several = command(commands, "check", "list the errors and warnings of texts", _check)
    add_model(several, nargs="+")
    add_references(several)
    whole = command(commands, "format", "print a text in canonical form", _format)
    add_model(whole)
    whole.add_argument("--write", action="store_true", help="overwrite the file with it")


def _check(given: argparse.Namespace) -> int:
    found = {place: _problems(place, given.references) for place in given.model}
    if given.json:
        listed = [{"model": p, "problems": [problem(e) for e in all]} for p, all in found.items()]
        print_json(listed)
    for place, problems in found.items():
        for each in () if given.json else problems:
            kind = "error" if isinstance(each, ModelError) else "warning"
            print(f"{place}: {kind} {each}")
    return WRONG if any(isinstance(e, ModelError) for all in found.values() for e in all) else FINE


def _problems(place: str, references: str | None) -> list[ModelError | Warning]:
    """Return the errors in a text, or in the files that it names."""
    try:
        document = model_document(place, references)
    except ModelError as error:
        error.hint = as_options(error.hint, OF_FILES)
        return [error]
    return check(document.source, document.files)


def _format(given: argparse.Namespace) -> int:
    before = model_text(given.model)
    text = format_model(before)
    if given.json:
        print_json({"model": given.model, "text": text, "changed": text != before})
    elif not given.write or given.model == "-":
        print(text, end="")
    if given.write and given.model != "-" and not given.model.endswith(SNAPSHOT):
        write(given.model, text)
    return FINE
