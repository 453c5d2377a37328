"""The command `describe`: what the columns of a table hold."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict

from webnnm.cli.common import (
    OK,
    Parsers,
    add_dialect,
    check_table,
    command,
    dialect,
    print_json,
)
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.tables.description import describe_table
from webnnm.data.tables.table_files import read_table


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "describe", "show what the columns of a table hold", _describe)
    one.add_argument("model", metavar="TABLE", help="path or URL of a table")
    add_dialect(one)


def _describe(arguments: argparse.Namespace) -> int:
    check_table(arguments.model)
    table = read_table(asyncio.run(read_bytes(arguments.model)), **dialect(arguments))
    described = describe_table(table)
    if arguments.json:
        columns = [asdict(column) for column in described]
        print_json({"model": arguments.model, "rows": table.row_count, "columns": columns})
        return OK
    print(f"{arguments.model}: {table.row_count:,} rows, {len(described)} columns")
    if table.dialect is not None and not table.dialect.usual:
        print(table.dialect)
    for column in described:
        print(column)
    return OK
