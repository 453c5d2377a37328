"""What commands have in common: exit codes, options, model texts, JSON."""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, cast, get_args

from webnnm.cli.setting_meanings import setting_meanings
from webnnm.core.errors import DataError, WebNNMError
from webnnm.core.json_text import parse_json
from webnnm.data.files.references import ANYWHERE
from webnnm.data.files.source import read_text
from webnnm.data.preparation.standardize import SCALES
from webnnm.data.tables.csv_dataset import CSVDataset
from webnnm.data.tables.date_format import ORDERS
from webnnm.data.tables.endings import TABLES
from webnnm.data.tables.table_dataset import Missing, TableDataset, Task
from webnnm.data.tables.table_files import READING_OPTIONS
from webnnm.evaluation.history import plain
from webnnm.formats.onnx.text_files import with_files
from webnnm.notation import parse
from webnnm.snapshots.kinds import (
    BEGINNING_BYTES,
    COMPRESSED,
    TABLE,
    TEXT,
    Kind,
    is_safetensors,
    recognise_file,
)
from webnnm.training.settings import HYPERPARAMETERS

if TYPE_CHECKING:
    from webnnm.graph.elaboration.outline import Warning
    from webnnm.model.nnmodel import NNModel
    from webnnm.notation.syntax import Document

OK, ERROR, INTERRUPTED = 0, 1, 130
"""Exit codes besides `USAGE`: nothing is wrong, an error in model or data, Ctrl-C."""

SNAPSHOT = ".safetensors"
"""The suffixes of files with parameters."""

OWN_OPTIONS = ("silence", "progress", "on_epoch", "on_batch", "loss")
"""Hyperparameters that have their own option, or need a program."""

Parsers = Any
"""What `add_subparsers` returns; its class has no public name."""


class CommandError(DataError):
    """An error in the arguments of a command rather than in model or data."""


@contextmanager
def as_command_error(*codes: str) -> Generator[None]:
    """Treat errors with these codes as errors in the arguments of the command."""
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
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", **options
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


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


def add_table(
    parser: argparse.ArgumentParser,
    *,
    alone: bool = False,
    missing: Sequence[str] = get_args(Missing),
) -> None:
    """Add the options of a dataset from a table, which is the command's own file if `alone`.

    `missing` are the choices of what becomes of empty cells.
    """
    data = parser.add_argument_group("data")
    if not alone:
        data.add_argument("--data", metavar="CSV", help="path or URL of a table")
    help = "the column to predict: name or number from 0; default: the last"
    data.add_argument("--label", "--target", metavar="COLUMN", help=help)
    help = "to predict it from, as a,b; default: all others"
    data.add_argument("--features", metavar="COLUMNS", type=columns, help=help)
    add_dialect(data)
    help = "columns of numbers that are categories, as a,b"
    data.add_argument("--categorical", metavar="COLUMNS", type=columns, help=help)
    help = "of a column with more words, the most frequent are categories, the others share one"
    data.add_argument("--max-categories", metavar="N", type=int, help=help)
    help = "the others share so many features by their hashes: 64, or of single columns a=64,b=32; "
    help += "without --max-categories all words of such columns do"
    data.add_argument("--hash-buckets", metavar="N", type=buckets, help=help)
    help = "order of day and month, where no date of a column tells it"
    data.add_argument("--dates", choices=ORDERS[1:], help=help)
    help = "what is predicted; default: auto"
    data.add_argument("--task", choices=get_args(Task), help=help)
    help = "what becomes of empty cells; default: error"
    data.add_argument("--missing", choices=missing, help=help)
    help = "training, validation, testing; default: 0.7,0,0.3"
    data.add_argument("--split", type=parts, metavar="PARTS", help=help)
    help = "the column of what must not be in two of these parts, such as a patient"
    data.add_argument("--groups", metavar="COLUMN", help=help)
    help = "the column of dates or numbers by which the last rows are tested"
    data.add_argument("--order-by", metavar="COLUMN", help=help)
    help = "scale the columns of numbers to mean 0 and standard deviation 1"
    data.add_argument("--standardize", action="store_true", default=None, help=help)
    help = "how: standard, minmax or quantiles, or quantiles of single columns as a=quantiles"
    data.add_argument("--input-scale", type=scales, metavar="SCALE", help=help)
    help = "the same for numbers to be predicted"
    data.add_argument("--standardize-targets", action="store_true", default=None, help=help)
    help = "how these are scaled: log1p takes the logarithm of 1 + x, quantiles brings them to a "
    help += "normal distribution; default: standard"
    data.add_argument("--target-scale", choices=SCALES, help=help)


TABLE_OPTIONS = (
    *("label", "features", "categorical", "max_categories", "hash_buckets", "dates", "task"),
    *("missing", "split", "groups", "order_by"),
    *("standardize", "input_scale", "standardize_targets", "target_scale"),
)
"""The options of `add_table` that are those of a `TableDataset`."""


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_table` that were given, as those of `CSVDataset.create`."""
    values = {name: getattr(arguments, name) for name in TABLE_OPTIONS} | dialect(arguments)
    return {name: value for name, value in values.items() if value not in (None, "auto", [])}


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
    help = "of an Excel workbook, by name or number from 0; default: the first"
    parser.add_argument("--sheet", metavar="SHEET", help=help)
    help = "words for missing cells, as -,k.A."
    parser.add_argument("--missing-values", default="", metavar="WORDS", help=help)


def dialect(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_dialect` as those of `read_table`."""
    names = [name for name in READING_OPTIONS if hasattr(arguments, name)]
    values = [value for value in arguments.missing_values.split(",") if value]
    return {name: getattr(arguments, name) for name in names} | {"missing_values": values}


def _delimiter(text: str) -> str:
    return "\t" if text == "tab" else text


def parts(text: str) -> list[float]:
    """Read shares or counts: "0.7,0,0.3"."""
    try:
        return [int(part) if part.isdecimal() else float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers") from None


def buckets(text: str) -> int | dict[str, int]:
    """Read a number of hash buckets, or one for each of some columns.

    >>> buckets("64"), buckets("shop=64,b=32")
    (64, {'shop': 64, 'b': 32})
    """
    try:
        if text.isdecimal():
            return int(text)
        pairs = [pair.rpartition("=") for pair in columns(text)]
        return {column: int(number) for column, _, number in pairs}
    except ValueError:
        message = f"'{text}' is neither a number nor COLUMN=NUMBER, …"
        raise argparse.ArgumentTypeError(message) from None


def scales(text: str) -> str | dict[str, str]:
    """Read how inputs are scaled: all alike, or some columns.

    >>> scales("minmax"), scales("height=quantiles")
    ('minmax', {'height': 'quantiles'})
    """
    pairs = [name.rpartition("=") for name in columns(text)]
    return {name: scale for name, _, scale in pairs} if "=" in text else text


def columns(text: str) -> list[str]:
    """Read names of columns, or their positions, as cells of a row of CSV.

    >>> columns('a,"b, c",2')
    ['a', 'b, c', '2']
    """
    return [name for name in next(csv.reader([text]), []) if name]


def table(arguments: argparse.Namespace) -> CSVDataset:
    """Return the dataset that the options of `add_table` describe."""
    check_table(arguments.data)
    with as_command_error("NNM710"):
        dataset = asyncio.run(CSVDataset.create(arguments.data, **table_options(arguments)))
    say_how_written(arguments.data, dataset)
    return dataset


def say_how_written(path: str, dataset: TableDataset) -> None:
    """Print how a table is written, where that is not as programs do."""
    if dataset.dialect is not None and not dataset.dialect.usual:
        say(f"{path}: {dataset.dialect}")
    for report in dataset.report.columns:
        if report.written:
            say(f"{path}, column {report.name}: {report.written}")


def is_table(path: str) -> bool:
    """Return whether the name of a file is that of a table.

    >>> is_table("cars.csv"), is_table("cars.tsv.gz"), is_table("model.nnm")
    (True, True, False)
    """
    name = PurePath(path.partition("?")[0] if "://" in path else path)
    suffix = name.with_suffix("").suffix if name.suffix == ".gz" else name.suffix
    return suffix.lower() in TABLES


def add_hyperparameters(parser: argparse.ArgumentParser) -> None:
    """Add an option for each hyperparameter of a training."""
    options = parser.add_argument_group("hyperparameters of the training")
    meanings = setting_meanings()
    for name, hyperparameter in HYPERPARAMETERS.items():
        if name not in OWN_OPTIONS:
            words = {f"--{name}", f"--{name.replace('_', '-')}"}
            options.add_argument(
                *sorted(words),
                dest=f"={name}",
                metavar="VALUE",
                help=f"{meanings[name][:-1]}: {hyperparameter.range}".replace("%", "%%"),
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


def hyperparameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the hyperparameters that were given."""
    options = {name[1:]: value for name, value in vars(arguments).items() if name[0] == "="}
    texts = {name: value for name, value in options.items() if value is not None}
    for pair in arguments.set:
        name, _, value = pair.partition("=")
        texts[name.strip()] = value
    return {name: _value(text) for name, text in texts.items()}


def parse_silenced_rules(arguments: argparse.Namespace) -> list[str]:
    """Return the rules that must not report."""
    return [rule for rules in arguments.silence for rule in rules.split(",")]


def _value(text: str) -> Any:
    """Parse JSON numbers, booleans and mappings; return other texts unchanged."""
    try:
        return parse_json(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return text


def lengths(texts: Sequence[str]) -> dict[str, int] | int:
    """Read the lengths of sequences: "words=128"; a number alone is the length of each.

    >>> lengths(["words=128", "steps=7"]), lengths(["7"])
    ({'words': 128, 'steps': 7}, 7)
    """
    if len(texts) == 1 and texts[0].isdecimal():
        return int(texts[0])
    result: dict[str, int] = {}
    for text in texts:
        name, _, length = text.rpartition("=")
        if not (name and length.isdecimal()):
            raise DataError("NNM704", f"--sequence {text}", hint="give --sequence NAME=LENGTH")
        result[name] = int(length)
    return result


def add_sequence(parser: argparse.ArgumentParser) -> None:
    """Add the lengths of sequences."""
    help = "length of a sequence; without its name that of each"
    parser.add_argument("--sequence", action="append", default=[], metavar="[NAME=]N", help=help)


def read_bytes(path: str) -> bytes:
    """Return the content of a file. Raises `DataError` NNM715 if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError("NNM715", f'"{path}" cannot be read: {error.strerror or error}') from error


def read_standard_text() -> str:
    """Return the text of the standard input. Raises `DataError` NNM715 if it is not text."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise DataError("NNM715", f"the standard input is not text: {error}") from error


def read_standard_bytes() -> bytes | str:
    """Return the bytes of the standard input, whose encoding is that of a table."""
    buffer = getattr(sys.stdin, "buffer", None)
    return read_standard_text() if buffer is None else buffer.read()


def wrong_kind_error(path: str, kind: Kind, expected: str) -> DataError:
    """Return the error for a file of a different kind than a command needs."""
    return DataError("NNM715", f'"{path}" is {kind.name}, not {expected}', hint=kind.remedy)


def check_table(path: str) -> None:
    """Reject a file that is recognised as something other than a table (NNM715)."""
    if not Path(path).is_file():
        return
    with Path(path).open("rb") as file:
        begin = file.read(BEGINNING_BYTES)
    kind = recognise_file(begin, path)
    if kind == COMPRESSED and begin[:2] in (b"\x1f\x8b", b"PK"):  # the reader knows more of these
        return
    if kind is not None and kind != TABLE:
        raise wrong_kind_error(path, kind, "a table")


async def _read(path: str) -> str | bytes:
    """Return a text as `str`, a snapshot as bytes. Raises `DataError` NNM715 for anything else."""
    if path == "-":
        return read_standard_text()
    if "://" in path:
        return await read_text(path)
    data = read_bytes(path)
    if is_safetensors(data) or path.endswith(SNAPSHOT):
        return data
    kind = recognise_file(data, path)
    if kind is not None and kind != TEXT:
        raise wrong_kind_error(path, kind, "a model")
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise DataError("NNM715", f'"{path}" is neither a text nor a snapshot: {error}') from error


def model_text(path: str) -> str:
    """Return the text of a model, which may be in a snapshot."""
    content = asyncio.run(_read(path))
    return content if isinstance(content, str) else _read_snapshot(content)[0]


def model_document(path: str, references: str | None = None) -> Document:
    """Return the parsed text of a model, with the files that it names, from its folder, the
    `references` that the user allows, or a snapshot."""
    content = asyncio.run(_read(path))
    text, files = (content, None) if isinstance(content, str) else _read_snapshot(content)
    base = "" if path == "-" else path
    return asyncio.run(with_files(parse(text), files, base, references))


def _read_snapshot(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the text in a snapshot, and the files in it."""
    from webnnm.snapshots.safetensors import read
    from webnnm.snapshots.snapshot import text_and_files, verify

    return text_and_files(verify(read(data)))


async def open_model(
    path: str, *, learnt: bool = False, references: str | None = None, **settings: Any
) -> NNModel:
    """Return a model created from a text, or loaded from a snapshot; silent without `log`.

    Raises `DataError` NNM715 for a text if the model must have `learnt` something.
    """
    from webnnm.model.nnmodel import NNModel

    settings = {"log": silent, **settings}
    content = await _read(path)
    if isinstance(content, bytes):
        return await NNModel.load(content, **settings)
    # A text is in the same folder as the files that it names.
    source: dict[str, Any] = {"source": content} if path == "-" else {"path": path}
    model = await NNModel.create({**source, **settings, "references": references})
    if learnt and model.params():
        model.close()
        raise wrong_kind_error(path, TEXT, "a snapshot of a trained model")
    return model


def say(line: str) -> None:
    """Print a line to the error stream."""
    print(line, file=sys.stderr)


def silent(line: str) -> None:
    """Do not print a line."""


def print_json(value: Any) -> None:
    """Print strict JSON."""
    print(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False))


def problem(issue: WebNNMError | Warning) -> dict[str, Any]:
    """Return an error or a warning as JSON."""
    return {
        "severity": "error" if isinstance(issue, WebNNMError) else "warning",
        "code": issue.code,
        "message": issue.message,
        "hint": getattr(issue, "hint", ""),
        "line": issue.line,
        "column": issue.column,
    }


def problems(error: WebNNMError) -> list[dict[str, Any]]:
    """Return an error and those found with it."""
    return [problem(issue) for issue in cast("Sequence[WebNNMError]", (error, *error.others))]


def align(rows: Collection[Sequence[str]]) -> str:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def pairs(values: Mapping[str, str]) -> str:
    """Return names and texts as lines."""
    return align([(name, text) for name, text in values.items()])
