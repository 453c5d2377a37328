"""The command `train`: trains a model on a table and saves a snapshot."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from webnnm.cli.common import (
    SNAPSHOT,
    Parsers,
    add_backend,
    add_hyperparameters,
    add_model,
    add_references,
    check_table,
    command,
    dialect,
    open_model,
    table,
    table_options,
)
from webnnm.cli.rows import build_dataset, csv_table
from webnnm.cli.suggested_data import add_data, is_data
from webnnm.cli.suggested_training import train_suggested
from webnnm.cli.training_report import write_report
from webnnm.cli.training_run import (
    HISTORY_SUFFIXES,
    REVIEW_TIMES,
    TrainingOutcome,
    print_outcome,
    run_training,
)
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.files.source_bytes import read_bytes
from webnnm.model.nnmodel import NNModel
from webnnm.model.prepared_data import MISSING, find_form

KEPT_OPTIONS = frozenset({"label", "missing", "split"})
"""Options that do not change how a table is prepared."""
PREPARE = "model.prepare_dataset"
"""What hints name that this command calls by itself."""
SPLIT = (0.7, 0, 0.3)
"""How rows are divided by default, as in `Dataset`."""


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = (
        "webnnm train DATA [--target COLUMN] [--json] [options]\n"
        "       webnnm train MODEL --data CSV --out FILE [--json] [options]"
    )
    help = "train a model on a table, or the model that data suggest"
    one = command(commands, "train", help, _train, usage=usage)
    add_model(one, help="path or URL of a text or a snapshot, - for the standard input, or data")
    add_references(one)
    help = "path of the snapshot; default with data alone: their name with .safetensors"
    one.add_argument("--out", metavar="FILE", help=help)
    help = "write a page about table, model, training and test; default with data alone: their "
    one.add_argument("--report", metavar="FILE", help=help + "name with .html")
    one.add_argument(
        "--resume",
        action="store_true",
        help="resume the training from which the snapshot was saved",
    )
    one.add_argument(
        "--members",
        type=int,
        metavar="N",
        help="train N times from different seeds, and save one model that averages them",
    )
    one.add_argument(
        "--history",
        metavar="FILE",
        help=f"write the history of the training: {', '.join(HISTORY_SUFFIXES)}",
    )
    one.add_argument(
        "--review",
        choices=tuple(REVIEW_TIMES),
        default="before",
        help="when the expert system looks at model and data: before the training, after it, which "
        "begins sooner, or never; after and off decide no setting. Default: %(default)s",
    )
    add_backend(one)
    add_data(one)
    add_hyperparameters(one)


def _train(arguments: argparse.Namespace) -> int:
    if arguments.history and Path(arguments.history).suffix not in HISTORY_SUFFIXES:
        hint = f"a name that ends in {', '.join(HISTORY_SUFFIXES)}"
        raise DataError("NNM704", f"--history {arguments.history}", hint=hint)
    if arguments.resume and not arguments.model.endswith(SNAPSHOT):
        hint = "MODEL is the snapshot that an earlier training saved"
        raise DataError("NNM704", "--resume with a text", hint=hint)
    if arguments.resume and arguments.members is not None:
        raise DataError("NNM704", "--resume with --members", hint="leave one of them out")
    if arguments.data is None and is_data(arguments.model):
        return train_suggested(arguments)
    lacking = [name for name in ("data", "out") if getattr(arguments, name) is None]
    if lacking:
        options = ", ".join(f"--{name}" for name in lacking)
        arguments.parser.error(f"the following arguments are required: {options}")
    opened = partial(open_model, arguments.model, references=arguments.references)

    async def look_at(model: NNModel, outcome: TrainingOutcome) -> None:
        if arguments.report:
            await write_report(arguments.report, model, outcome)

    dataset = asyncio.run(_prepare_table(arguments))
    if dataset is None:
        dataset = table(arguments)
    try:
        outcome = asyncio.run(run_training(arguments, dataset, opened, look_at))
    except DataError as error:
        if PREPARE in error.hint:
            error.hint = "leave out the options that prepare the table: the snapshot has them"
        raise
    return print_outcome(arguments, outcome)


async def _prepare_table(arguments: argparse.Namespace) -> Dataset | None:
    """Return the table of a snapshot that is trained further, prepared as in its training.

    None if options say how the table is prepared, or if the snapshot does not.
    """
    options = table_options(arguments).keys() - dialect(arguments).keys() - KEPT_OPTIONS
    if not arguments.model.endswith(SNAPSHOT) or arguments.resume or options:
        return None
    check_table(arguments.data)
    async with await open_model(arguments.model, learnt=True, backend="numpy") as model:
        facts, form = model.state.data_facts(), find_form(model.state)
        if form is None or arguments.missing not in (None, *MISSING):
            return None
        rows = csv_table(await read_bytes(arguments.data), arguments, facts, model.inputs()[0])
        split = arguments.split or (SPLIT if form.series is None else None)
        missing = arguments.missing or "error"
        return build_dataset(model, rows, arguments.label, split, missing=missing)
