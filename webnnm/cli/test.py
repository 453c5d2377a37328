"""The command `test`: how well a snapshot predicts the rows of a table, or files."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli.common import (
    OK,
    Parsers,
    add_backend,
    add_dialect,
    add_model,
    check_table,
    command,
    is_table,
    open_model,
    parts,
    print_json,
)
from webnnm.cli.rows import build_dataset, csv_table
from webnnm.cli.suggested_data import is_data
from webnnm.cli.tested_files import read_files
from webnnm.data.field import SUBSETS
from webnnm.data.files.source_bytes import read_bytes
from webnnm.evaluation.result import TestResult
from webnnm.model.prepared_data import find_form
from webnnm.runtime.restored import Restored


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "test", "test a snapshot on a table, or on files", _test)
    add_model(one, help="path of a snapshot")
    help = "path or URL of a table, or a folder or archive of pictures, sounds or texts"
    one.add_argument("--data", required=True, metavar="DATA", help=help)
    one.add_argument(
        "--label", metavar="COLUMN", help="name or number from 0; default: that of the training"
    )
    help = "whether rows with an empty cell are left out; those without a label always are"
    one.add_argument("--missing", choices=("error", "drop"), default="error", help=help)
    add_dialect(one)
    one.add_argument(
        "--subset", choices=SUBSETS, default="testing", help="of --split; default: %(default)s"
    )
    one.add_argument(
        "--split",
        type=parts,
        metavar="PARTS",
        help="as in the training, to test rows that it held back; default: all rows are tested, of "
        "a series the last fifth of the steps",
    )
    one.add_argument("--batch-size", type=int, metavar="N", help="rows computed at a time")
    add_backend(one)


def _test(arguments: argparse.Namespace) -> int:
    result = asyncio.run(_run_test(arguments))
    if arguments.json:
        print_json({"model": arguments.model, **result.to_dict()})
    else:
        print(result)
    return OK


async def _run_test(arguments: argparse.Namespace) -> TestResult:
    settings: dict[str, Any] = {"backend": arguments.backend, "batch_size": arguments.batch_size}
    is_files = not is_table(arguments.data) and is_data(arguments.data)
    if not is_files:
        check_table(arguments.data)
    async with await open_model(arguments.model, learnt=True, **settings) as model:
        form = find_form(model.state)
        if is_files or (form is not None and (form.fit or form.rate)):
            label, split = arguments.label, arguments.split
            model.set_dataset(await read_files(model, arguments.data, label, split))
            return await model.test(arguments.subset)
        facts = model.state.restored or Restored()
        table = csv_table(await read_bytes(arguments.data), arguments, facts, model.inputs()[0])
        label, split, missing = arguments.label, arguments.split, arguments.missing
        model.set_dataset(build_dataset(model, table, label, split, missing=missing))
        return await model.test(arguments.subset)
