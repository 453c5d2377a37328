"""The command `test`: how well a snapshot predicts the rows of a table."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli.common import (
    FINE,
    Parsers,
    add_backend,
    add_dialect,
    add_model,
    check_table,
    command,
    opened,
    parts,
    print_json,
)
from webnnm.cli.rows import csv_table, labelled
from webnnm.data.field import SUBSETS
from webnnm.data.files.source_bytes import read_bytes
from webnnm.evaluation.result import TestResult
from webnnm.runtime.restored import Restored


def add(commands: Parsers) -> None:
    """Add the command."""
    one = command(commands, "test", "test a snapshot on the rows of a table", _test)
    add_model(one, help="path of a snapshot")
    one.add_argument("--data", required=True, metavar="CSV", help="path or URL of a table")
    one.add_argument(
        "--label", metavar="COLUMN", help="name or number from 0; default: that of the training"
    )
    add_dialect(one)
    one.add_argument(
        "--subset", choices=SUBSETS, default="testing", help="of the split; default: %(default)s"
    )
    one.add_argument(
        "--split", type=parts, metavar="PARTS", help="as in the training; default: test all rows"
    )
    one.add_argument("--batch-size", type=int, metavar="N", help="rows computed at a time")
    add_backend(one)


def _test(given: argparse.Namespace) -> int:
    result = asyncio.run(_tested(given))
    if given.json:
        print_json({"model": given.model, **result.to_dict()})
    else:
        print(result)
    return FINE


async def _tested(given: argparse.Namespace) -> TestResult:
    settings: dict[str, Any] = {"backend": given.backend, "batch_size": given.batch_size}
    check_table(given.data)
    async with await opened(given.model, learnt=True, **settings) as model:
        kept = model.state.restored or Restored()
        table = csv_table(await read_bytes(given.data), given, kept, model.inputs()[0])
        model.set_dataset(labelled(model, table, given.label, given.split))
        return await model.test(given.subset)
