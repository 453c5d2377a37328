"""What commands have in common: exit codes, options, model texts, JSON."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.errors import DataError, WebNNMError
from webnnm.data.files.references import ANYWHERE
from webnnm.data.files.source import read_text
from webnnm.data.tables.csv_dataset import CSVDataset
from webnnm.evaluation.history import plain
from webnnm.formats.kinds import (
    BEGINNING_BYTES,
    COMPRESSED,
    TABLE,
    TEXT,
    Kind,
    is_safetensors,
    recognise_file,
)
from webnnm.formats.safetensors import parse_json
from webnnm.model.text_files import with_files
from webnnm.notation import parse
from webnnm.training.hyperparameters import HYPERPARAMETERS

if TYPE_CHECKING:
    from webnnm.graph.elaboration.outline import Warning
    from webnnm.model.nnmodel import NNModel
    from webnnm.notation.syntax import Document

FINE, WRONG, INTERRUPTED = 0, 1, 130
"""Exit codes besides `USAGE`: nothing is wrong, an error in model or data, Ctrl-C."""

SNAPSHOT = ".safetensors"
"""The suffixes of files with parameters."""

CALLED = ("silence", "progress", "on_epoch", "on_batch", "loss")
"""Hyperparameters that have their own option, or need a program."""

Parsers = Any
"""What `add_subparsers` returns; its class has no public name."""


class CommandError(DataError):
    """An error in the words of a command rather than in model or data."""


@contextmanager
def asked_for(*codes: str) -> Generator[None]:
    """Treat errors with these codes as errors in the words of the command."""
    try:
        yield
    except DataError as error:
        if error.code not in codes:
            raise
        raise CommandError(error.code, error.message, hint=error.hint) from error


def command(
    commands: Parsers, name: str, help: str, run: Any, **options: Any
) -> argparse.ArgumentParser:
    """Add a command that `run` carries out and that has `--json`; `run` returns the exit code."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", **options
    )
    made.set_defaults(run=run)
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def add_model(
    parser: argparse.ArgumentParser,
    help: str = "path or URL of a text or a snapshot, or - for the standard input",
    **options: Any,
) -> None:
    """Add the argument MODEL."""
    parser.add_argument("model", metavar="MODEL", help=help, **options)


def add_references(parser: argparse.ArgumentParser) -> None:
    """Add what the files that a model names may be besides those below its folder."""
    help = f"other files that the model may name: {ANYWHERE}, or those below a folder or an address"
    parser.add_argument("--references", metavar="PLACE", help=help)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Add the choice of the backend."""
    parser.add_argument("--backend", default="auto", metavar="NAME", help="default: auto")


def add_table(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the options of a dataset from a table."""
    data = parser.add_argument_group("data")
    data.add_argument("--data", metavar="CSV", required=required, help="path or URL of a table")
    data.add_argument("--label", metavar="COLUMN", help="name or number from 0; default: the last")
    data.add_argument("--features", metavar="COLUMNS", help="as a,b; default: all others")
    add_dialect(data)
    help = "columns of numbers that are categories, as a,b"
    data.add_argument("--categorical", default="", metavar="COLUMNS", help=help)
    data.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    data.add_argument("--missing", choices=("error", "drop", "mean"), default="error")
    data.add_argument(
        "--split", type=parts, metavar="PARTS", default="0.7,0,0.3", help="default: %(default)s"
    )
    help = "scale the columns of numbers to mean 0 and standard deviation 1"
    data.add_argument("--standardize", action="store_true", help=help)


def add_dialect(parser: Any) -> None:
    """Add the options that say how the text of a table is written."""
    detected = "default: detected, and remembered by the snapshot"
    parser.add_argument(
        "--delimiter",
        default="auto",
        metavar="C",
        type=_delimiter,
        help=f'between columns, such as ";" or "tab"; {detected}',
    )
    header = argparse.BooleanOptionalAction
    help = "whether the first row names the columns; default: detected"
    parser.add_argument("--header", action=header, default="auto", help=help)
    help = "of the file, such as cp1252; default: detected"
    parser.add_argument("--encoding", default="auto", metavar="NAME", help=help)
    help = f'decimal mark, "." or ","; {detected}, by column'
    parser.add_argument("--decimal", default="auto", metavar="C", help=help)
    help = f'beginning of lines that are no rows, "" for none; {detected}'
    parser.add_argument("--comment", default="auto", metavar="C", help=help)
    help = "words for missing cells, as -,k.A."
    parser.add_argument("--missing-values", default="", metavar="WORDS", help=help)


def dialect(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_dialect` as those of `read_csv`."""
    names = ("delimiter", "header", "encoding", "decimal", "comment")
    words = [word for word in arguments.missing_values.split(",") if word]
    return {name: getattr(arguments, name) for name in names} | {"missing_values": words}


def _delimiter(text: str) -> str:
    return "\t" if text == "tab" else text


def parts(text: str) -> list[float]:
    """Read shares or counts: "0.7,0,0.3"."""
    try:
        return [int(part) if part.isdecimal() else float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers") from None


def column(word: str) -> str | int:
    """Read the name of a column, or its position."""
    return int(word) if word.lstrip("-").isdecimal() else word


def table(given: argparse.Namespace) -> CSVDataset:
    """Return the dataset that the options of `add_table` describe."""
    check_table(given.data)
    with asked_for("NNM710"):
        dataset = asyncio.run(
            CSVDataset.create(
                given.data,
                features=given.features and [column(word) for word in given.features.split(",")],
                label=None if given.label is None else column(given.label),
                **dialect(given),
                split=given.split,
                standardize=given.standardize,
                task=given.task,
                missing=given.missing,
                categorical=[column(word) for word in given.categorical.split(",") if word],
            )
        )
    if dataset.dialect is not None and not dataset.dialect.usual:
        say(f"{given.data}: {dataset.dialect}")
    for report in dataset.report.columns:
        if report.written:
            say(f"{given.data}, column {report.name}: {report.written}")
    return dataset


def add_hyperparameters(parser: argparse.ArgumentParser) -> None:
    """Add an option for each hyperparameter of a training."""
    options = parser.add_argument_group("hyperparameters of the training")
    for name, hyperparameter in HYPERPARAMETERS.items():
        if name not in CALLED:
            words = {f"--{name}", f"--{name.replace('_', '-')}"}
            options.add_argument(
                *sorted(words), dest=f"={name}", metavar="VALUE", help=hyperparameter.range
            )
    options.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="the same, any spelling"
    )
    parser.add_argument(
        "--silence",
        action="append",
        default=[],
        metavar="RULES",
        help="rules to skip, such as E603",
    )


def hyperparameters(given: argparse.Namespace) -> dict[str, Any]:
    """Return the hyperparameters that were given."""
    words = {name[1:]: value for name, value in vars(given).items() if name[0] == "="}
    found = {name: value for name, value in words.items() if value is not None}
    for pair in given.set:
        name, _, value = pair.partition("=")
        found[name.strip()] = value
    return {name: _value(text) for name, text in found.items()}


def silenced(given: argparse.Namespace) -> list[str]:
    """Return the rules that must not report."""
    return [rule for words in given.silence for rule in words.split(",")]


def _value(text: str) -> Any:
    """Return a number, boolean or mapping if the word is one in JSON, else the word itself."""
    try:
        return parse_json(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return text


def lengths(words: Sequence[str]) -> dict[str, int]:
    """Read the lengths of sequences: "words=128"; a number alone is the length of `sequence`."""
    found: dict[str, int] = {}
    for word in words:
        name, equals, length = word.rpartition("=")
        if not length.isdecimal():
            raise DataError("NNM704", f"--sequence {word}", hint="give --sequence NAME=LENGTH")
        found[name if equals else "sequence"] = int(length)
    return found


def add_sequence(parser: argparse.ArgumentParser) -> None:
    """Add the lengths of sequences."""
    help = "length of a sequence"
    parser.add_argument("--sequence", action="append", default=[], metavar="NAME=N", help=help)


def read_bytes(place: str) -> bytes:
    """Return the content of a file. Raises `DataError` NNM715 if it cannot be read."""
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise DataError("NNM715", f'"{place}" cannot be read: {error.strerror or error}') from error


def typed() -> str:
    """Return the text of the standard input. Raises `DataError` NNM715 if it is not text."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise DataError("NNM715", f"the standard input is not text: {error}") from error


def piped() -> bytes | str:
    """Return the bytes of the standard input, whose encoding is that of a table."""
    buffer = getattr(sys.stdin, "buffer", None)
    return typed() if buffer is None else buffer.read()


def mistaken(place: str, kind: Kind, wanted: str) -> DataError:
    """Return the error for a file of a different kind than a command needs."""
    return DataError("NNM715", f'"{place}" is {kind.name}, not {wanted}', hint=kind.remedy)


def check_table(place: str) -> None:
    """Reject a file that is recognised as something other than a table (NNM715)."""
    if not Path(place).is_file():
        return
    with Path(place).open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    kind = recognise_file(begin, place)
    if kind == COMPRESSED and begin[:2] in (b"\x1f\x8b", b"PK"):  # the reader knows more of these
        return
    if kind is not None and kind != TABLE:
        raise mistaken(place, kind, "a table")


async def _read(place: str) -> str | bytes:
    """Return a text as `str`, a snapshot as bytes. Raises `DataError` NNM715 for anything else."""
    if place == "-":
        return typed()
    if "://" in place:
        return await read_text(place)
    data = read_bytes(place)
    if is_safetensors(data) or place.endswith(SNAPSHOT):
        return data
    kind = recognise_file(data, place)
    if kind is not None and kind != TEXT:
        raise mistaken(place, kind, "a model")
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise DataError("NNM715", f'"{place}" is neither a text nor a snapshot: {error}') from error


def model_text(place: str) -> str:
    """Return the text of a model, which may be in a snapshot."""
    found = asyncio.run(_read(place))
    return found if isinstance(found, str) else _kept(found)[0]


def model_document(place: str, references: str | None = None) -> Document:
    """Return the parsed text of a model, with the files that it names, from its folder, the
    `references` that the user allows, or a snapshot."""
    found = asyncio.run(_read(place))
    text, files = (found, None) if isinstance(found, str) else _kept(found)
    base = "" if place == "-" else place
    return asyncio.run(with_files(parse(text), files, base, references))


def _kept(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the text in a snapshot, and the files in it."""
    from webnnm.formats.safetensors import read
    from webnnm.snapshots.snapshot import text_and_files, verify

    return text_and_files(verify(read(data)))


async def opened(
    place: str, *, learnt: bool = False, references: str | None = None, **settings: Any
) -> NNModel:
    """Return a model created from a text, or loaded from a snapshot; silent without `log`.

    Raises `DataError` NNM715 for a text if the model must have `learnt` something.
    """
    from webnnm.model.nnmodel import NNModel

    settings = {"log": silent, **settings}
    found = await _read(place)
    if isinstance(found, bytes):
        return await NNModel.load(found, **settings)
    # A text is in the same folder as the files that it names.
    given: dict[str, Any] = {"source": found} if place == "-" else {"path": place}
    model = await NNModel.create({**given, **settings, "references": references})
    if learnt and model.params():
        model.close()
        raise mistaken(place, TEXT, "a snapshot of a trained model")
    return model


def say(line: str) -> None:
    """Print a line to the error stream."""
    print(line, file=sys.stderr)


def silent(line: str) -> None:
    """Do not print a line."""


def print_json(value: Any) -> None:
    """Print strict JSON."""
    print(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def problem(found: WebNNMError | Warning) -> dict[str, Any]:
    """Return an error or a warning as JSON."""
    return {
        "severity": "error" if isinstance(found, WebNNMError) else "warning",
        "code": found.code,
        "message": found.message,
        "hint": getattr(found, "hint", ""),
        "line": found.line,
        "column": found.column,
    }


def problems(error: WebNNMError) -> list[dict[str, Any]]:
    """Return an error and those found with it."""
    return [problem(each) for each in cast("Sequence[WebNNMError]", (error, *error.others))]


def aligned(rows: Collection[Sequence[str]]) -> str:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def pairs(values: Mapping[str, str]) -> str:
    """Return names and texts as lines."""
    return aligned([(name, text) for name, text in values.items()])
