"""The command line: `webnnm review`, `webnnm check`, `webnnm format`."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from webnnm.data.csv_dataset import CSVDataset
from webnnm.data.source import read_text
from webnnm.errors import DataError, ModelError, WebNNMError
from webnnm.expert.finding import SEVERITIES, Finding
from webnnm.graph.elaborate import elaborate
from webnnm.graph.outline import Warning
from webnnm.history import plain
from webnnm.notation import parse
from webnnm.reviewing import NON_FINITE, Draft, review
from webnnm.texts import check, format_model
from webnnm.training.hyperparameters import HYPERPARAMETERS

FINE, WRONG, USAGE = 0, 1, 2
"""Exit codes: nothing is wrong, an error was found, the command cannot be carried out."""

OF_THE_COMMAND = ("NNM703", "NNM704", "NNM710", "NNM715")
"""Errors in what was asked for rather than in model or data."""

CALLED = ("silence", "progress", "on_epoch", "on_batch")
"""Hyperparameters that have an option of their own, or need a program."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line, print the result, and return the exit code.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "m.nnm")
    ...     _ = path.write_text("m:input shape = [4,]; m:layers relu( );")
    ...     main(["format", str(path)])
    m:input shape=[4];
    m:layers
      relu();
    0

    - `review MODEL`: what the expert system finds in a model, with `--data FILE.csv` in its data,
      and every setting with its origin. Each hyperparameter is an option: `--epochs 100`.
    - `check MODEL …`: errors and warnings of texts.
    - `format MODEL`: the canonical text; `--write` puts it in place of the file's.

    A MODEL is a path, a URL or `-` for the standard input. With `--json` the result is JSON.

    The exit code is 0 where nothing is wrong, 1 for an error in model or data and for a finding of
    severity error, 2 for a command that cannot be carried out: wrong words or values, a file that
    cannot be read.
    """
    given = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console may lack some characters
            stream.reconfigure(errors="replace")
    try:
        return given.run(given)
    except OSError as error:
        print(error, file=sys.stderr)
        return USAGE
    except WebNNMError as error:
        if given.json:
            _print_json({"model": given.model, "errors": _problems(error)})
        else:
            for each in (error, *error.others):
                print(each, file=sys.stderr)
        return USAGE if error.code in OF_THE_COMMAND else WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="webnnm", description="Neural networks in WebNNM text.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parser.set_defaults(json=False)

    one = commands.add_parser(
        "review",
        help="say what a training of a model would meet",
        usage="webnnm review MODEL [--data CSV] [--json] [options]",
        allow_abbrev=False,
    )
    one.set_defaults(run=_review)
    one.add_argument("model", metavar="MODEL", help="path or URL of a text, or - for the input")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument(
        "--silence", action="append", default=[], metavar="RULES", help="rules to leave out: E603"
    )
    data = one.add_argument_group("data")
    data.add_argument("--data", metavar="CSV", help="path or URL of a table")
    data.add_argument("--label", metavar="COLUMN", help="name or number from 0; default: the last")
    data.add_argument("--features", metavar="COLUMNS", help="as a,b; default: all others")
    data.add_argument("--delimiter", default=",", help="between columns; default: a comma")
    data.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    data.add_argument("--missing", choices=("error", "drop", "mean"), default="error")
    data.add_argument(
        "--split", type=_parts, metavar="PARTS", default="0.7,0,0.3", help="default: %(default)s"
    )
    data.add_argument("--standardize", action="store_true")
    options = one.add_argument_group("hyperparameters of the training")
    for name, hyperparameter in HYPERPARAMETERS.items():
        if name not in CALLED:
            words = {f"--{name}", f"--{name.replace('_', '-')}"}
            options.add_argument(
                *sorted(words), dest=f"={name}", metavar="VALUE", help=hyperparameter.range
            )
    options.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="the same, any spelling"
    )

    several = commands.add_parser("check", help="list the errors and warnings of texts")
    several.set_defaults(run=_check)
    several.add_argument("model", metavar="MODEL", nargs="+")
    several.add_argument("--json", action="store_true", help="print JSON")

    whole = commands.add_parser("format", help="print a text in canonical form")
    whole.set_defaults(run=_format)
    whole.add_argument("model", metavar="MODEL")
    whole.add_argument("--write", action="store_true", help="write it in place of the file")
    return parser


def _parts(text: str) -> list[float]:
    try:
        return [int(part) if part.isdecimal() else float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers") from None


def _text(place: str) -> str:
    return sys.stdin.read() if place == "-" else asyncio.run(read_text(place))


def _review(given: argparse.Namespace) -> int:
    network = elaborate(parse(_text(given.model)))
    try:
        draft = Draft(network, _table(given) if given.data else None)
    except DataError as error:
        if error.code != NON_FINITE:
            raise
        draft = Draft(network, wrong=error)
    found = review(
        draft,
        None,
        _hyperparameters(given),
        silence=[rule for words in given.silence for rule in words.split(",")],
    )
    if given.json:
        warnings = [_problem(warning) for warning in network.warnings]
        _print_json({"model": given.model, "warnings": warnings, **found.to_dict()})
    else:
        for warning in network.warnings:
            print(f"warning {warning}")
        print(found)
        print(_tally(found.findings))
    return WRONG if any(f.severity == "error" for f in found.findings) else FINE


def _tally(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each severity."""
    severities = [finding.severity for finding in findings]
    counts = [f"{severities.count(s)} {s}" for s in SEVERITIES if s in severities]
    return f"Findings: {', '.join(counts) or 'none'}"


def _table(given: argparse.Namespace) -> CSVDataset:
    def column(word: str) -> str | int:
        return int(word) if word.lstrip("-").isdecimal() else word

    return asyncio.run(
        CSVDataset.create(
            given.data,
            features=given.features and [column(word) for word in given.features.split(",")],
            label=None if given.label is None else column(given.label),
            delimiter="\t" if given.delimiter == "tab" else given.delimiter,
            split=given.split,
            standardize=given.standardize,
            task=given.task,
            missing=given.missing,
        )
    )


def _hyperparameters(given: argparse.Namespace) -> dict[str, Any]:
    words = {name[1:]: value for name, value in vars(given).items() if name[0] == "="}
    found = {name: value for name, value in words.items() if value is not None}
    for pair in given.set:
        name, _, value = pair.partition("=")
        found[name.strip()] = value
    return {name: _value(text) for name, text in found.items()}


def _value(text: str) -> Any:
    """Return a number, true, false or a mapping as JSON writes them, else the word itself."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return text


def _check(given: argparse.Namespace) -> int:
    found = {place: check(_text(place)) for place in given.model}
    if given.json:
        listed = [{"model": p, "problems": [_problem(e) for e in all]} for p, all in found.items()]
        _print_json(listed)
    for place, problems in found.items():
        for each in () if given.json else problems:
            kind = "error" if isinstance(each, ModelError) else "warning"
            print(f"{place}: {kind} {each}")
    return WRONG if any(isinstance(e, ModelError) for all in found.values() for e in all) else FINE


def _format(given: argparse.Namespace) -> int:
    text = format_model(_text(given.model))
    if given.write and given.model != "-":
        Path(given.model).write_text(text, encoding="utf-8", newline="\n")
    else:
        print(text, end="")
    return FINE


def _problem(problem: WebNNMError | Warning) -> dict[str, Any]:
    return {
        "severity": "error" if isinstance(problem, WebNNMError) else "warning",
        "code": problem.code,
        "message": problem.message,
        "hint": getattr(problem, "hint", ""),
        "line": problem.line,
        "column": problem.column,
    }


def _problems(error: WebNNMError) -> list[dict[str, Any]]:
    return [_problem(each) for each in cast("Sequence[WebNNMError]", (error, *error.others))]


def _print_json(value: Any) -> None:
    print(json.dumps(plain(value), indent=2, allow_nan=False))
