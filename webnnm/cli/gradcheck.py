"""The command `gradcheck`: the gradients of a model against central differences."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli.common import (
    ERROR,
    OK,
    Parsers,
    add_backend,
    add_model,
    add_references,
    add_sequence,
    add_table,
    command,
    lengths,
    open_model,
    print_json,
    table,
)
from webnnm.data.tables.csv_dataset import CSVDataset
from webnnm.model.checking_gradients import ELEMENTS, ROWS, ModelGradients, check_gradients


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm gradcheck MODEL [--data CSV] [--json] [options]"
    what = "compare the gradients of a model with central differences"
    one = command(commands, "gradcheck", what, _gradcheck, usage=usage)
    add_model(one)
    add_references(one)
    add_table(one)
    one.add_argument("--rows", type=int, default=ROWS, metavar="N", help="default: %(default)s")
    one.add_argument(
        "--elements",
        type=int,
        default=ELEMENTS,
        metavar="N",
        help="of each parameter and operand; default: %(default)s",
    )
    one.add_argument(
        "--tolerance", type=float, metavar="X", help="relative; default: depends on the precision"
    )
    add_sequence(one)
    add_backend(one)
    one.set_defaults(backend="numpy")


def _gradcheck(arguments: argparse.Namespace) -> int:
    data = table(arguments) if arguments.data else None
    report = asyncio.run(_check_model(arguments, data))
    if arguments.json:
        print_json({"model": arguments.model, **report.to_dict()})
    else:
        print(report)
        print("gradients agree" if report.ok else "gradients differ")
    return OK if report.ok else ERROR


async def _check_model(arguments: argparse.Namespace, data: CSVDataset | None) -> ModelGradients:
    settings: dict[str, Any] = {
        "references": arguments.references,
        "backend": arguments.backend,
        "sequence_length": lengths(arguments.sequence) or None,
    }
    async with await open_model(arguments.model, **settings) as model:
        if data is not None:
            model.set_dataset(data)
        return await check_gradients(
            model.state,
            rows=arguments.rows,
            elements=arguments.elements,
            tolerance=arguments.tolerance,
        )
