"""The command `suggest`: the text of a model for data, and how to train it."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.cli.common import (
    OK,
    Parsers,
    command,
    print_json,
    say,
)
from webnnm.cli.output_paths import write
from webnnm.cli.suggested_data import add_data, suggest_for_command
from webnnm.data.tables.table_dataset import TableDataset


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm suggest DATA [--target COLUMN] [--out FILE] [--json] [options]"
    help = "write the text of a model for data, with the reasons"
    one = command(commands, "suggest", help, _suggest, usage=usage)
    help = "a table, or a folder or .zip of pictures, sounds or texts"
    one.add_argument("model", metavar="DATA", help=help)
    one.add_argument("--out", metavar="FILE", help="write the text here; default: print it")
    add_data(one, alone=True)


def _suggest(arguments: argparse.Namespace) -> int:
    suggestion = suggest_for_command(arguments)
    how = suggestion.call
    if isinstance(suggestion.dataset, TableDataset):
        options = {**suggestion.reading, **suggestion.options}
        how = write_command(arguments.out or "MODEL.nnm", arguments.model, options)
    if arguments.out:
        write(arguments.out, suggestion.source)
    if arguments.json:
        print_json(
            {
                "model": arguments.model,
                "source": suggestion.source,
                "options": suggestion.options,
                "reasons": suggestion.reasons,
                "python": suggestion.call,
            }
        )
        return OK
    if arguments.out:
        print("\n".join([*suggestion.reasons, how]))
    else:
        print(suggestion.source, end="")
        say(how)
    return OK


def write_command(model: str, data: str, options: Mapping[str, Any]) -> str:
    """Return the command that trains a model on a table.

    >>> write_command("m.nnm", "a.csv", {"label": "y z", "standardize": True, "features": ["a"]})
    "webnnm train m.nnm --data a.csv --label 'y z' --standardize --features a --out m.safetensors"
    >>> write_command("m.nnm", "a.csv", {"hash_buckets": {"shop": 64, "product": 64}})
    'webnnm train m.nnm --data a.csv --hash-buckets shop=64,product=64 --out m.safetensors'
    """
    words = ["webnnm", "train", model, "--data", data]
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        if isinstance(value, (list, tuple)):
            words.append(_join(value))
        elif isinstance(value, Mapping):
            pairs = cast("Mapping[str, Any]", value).items()
            words.append(_join([f"{column}={number}" for column, number in pairs]))
        elif value is not True:
            words.append(str(value))
    return shlex.join([*words, "--out", f"{model.removesuffix('.nnm')}.safetensors"])


def _join(values: Sequence[Any]) -> str:
    """Return values as a row of CSV, since names may hold commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()
