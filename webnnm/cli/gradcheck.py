"""The command `gradcheck`: the gradients of a model against central differences."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from webnnm.cli.common import (
    FINE,
    WRONG,
    Parsers,
    add_backend,
    add_model,
    add_references,
    add_sequence,
    add_table,
    command,
    lengths,
    opened,
    print_json,
    table,
)
from webnnm.data.tables.csv_dataset import CSVDataset
from webnnm.model.checking_gradients import ELEMENTS, ROWS, ModelGradients, checked_gradients


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


def _gradcheck(given: argparse.Namespace) -> int:
    data = table(given) if given.data else None
    found = asyncio.run(_checked(given, data))
    if given.json:
        print_json({"model": given.model, **found.to_dict()})
    else:
        print(found)
        print("gradients agree" if found.ok else "gradients differ")
    return FINE if found.ok else WRONG


async def _checked(given: argparse.Namespace, data: CSVDataset | None) -> ModelGradients:
    settings: dict[str, Any] = {
        "references": given.references,
        "backend": given.backend,
        "sequence_length": lengths(given.sequence) or None,
    }
    async with await opened(given.model, **settings) as model:
        if data is not None:
            model.set_dataset(data)
        return await checked_gradients(
            model.state, rows=given.rows, elements=given.elements, tolerance=given.tolerance
        )
