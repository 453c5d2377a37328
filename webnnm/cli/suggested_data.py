"""Options of commands whose only argument is data: what to do with them is suggested."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any, get_args

from webnnm.cli.common import (
    add_table,
    as_command_error,
    check_table,
    is_table,
    table_options,
)
from webnnm.data.series.steps import MISSING as OF_SERIES
from webnnm.data.tables.table_dataset import Missing
from webnnm.expert.suggesting.suggest import suggest
from webnnm.expert.suggesting.suggestion import Suggestion

OWN_OPTIONS = ("text", "horizon", "time", "id")
"""The options of data that are not those of `add_table`."""


def add_data(parser: argparse.ArgumentParser, *, alone: bool = False) -> None:
    """Add the options of data of all kinds; `alone` if they are the command's only argument."""
    add_table(parser, alone=alone, missing=[*dict.fromkeys((*get_args(Missing), *OF_SERIES))])
    kinds = parser.add_argument_group("data that are no rows of numbers and words")
    help = "the column of texts to classify"
    kinds.add_argument("--text", metavar="COLUMN", help=help)
    help = "forecast so many steps of a series, whose rows follow one another in time"
    kinds.add_argument("--horizon", metavar="STEPS", type=int, help=help)
    help = "the column of the times of a series; default: the first one of dates"
    kinds.add_argument("--time", metavar="COLUMN", help=help)
    help = "the column that tells several series apart"
    kinds.add_argument("--id", metavar="COLUMN", help=help)


def is_data(path: str) -> bool:
    """Return whether a path is that of data: a table, a folder, an archive."""
    return is_table(path) or path.endswith(".zip") or Path(path).is_dir()


def suggest_for_command(arguments: argparse.Namespace) -> Suggestion:
    """Return what is suggested for the data and the options of a command."""
    if is_table(arguments.model):
        check_table(arguments.model)
    own = {name: getattr(arguments, name) for name in OWN_OPTIONS}
    options: dict[str, Any] = table_options(arguments)
    options |= {name: value for name, value in own.items() if value is not None}
    with as_command_error("NNM710"):
        return asyncio.run(suggest(arguments.model, **options))
