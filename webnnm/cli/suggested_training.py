"""Trains the model that data suggest, and writes a report."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from webnnm.cli.common import (
    SNAPSHOT,
    say,
    say_how_written,
)
from webnnm.cli.output_paths import check_places
from webnnm.cli.suggested_data import suggest_for_command
from webnnm.cli.training_report import write_report
from webnnm.cli.training_run import TrainingOutcome, print_outcome, run_training
from webnnm.data.tables.table_dataset import TableDataset
from webnnm.model.nnmodel import NNModel


def train_suggested(arguments: argparse.Namespace) -> int:
    """Carry out `train DATA`, and return the exit code."""
    suggestion = suggest_for_command(arguments)
    named = PurePath(arguments.out or arguments.model).name
    stem = named.removesuffix(SNAPSHOT) if arguments.out else named.partition(".")[0] or "model"
    arguments.out = arguments.out or f"{stem}{SNAPSHOT}"
    arguments.report = arguments.report or f"{stem}-report.html"
    check_places(arguments)
    for path in (arguments.out, arguments.report):
        if Path(path).exists():
            say(f"{path} will be replaced")
    if isinstance(suggestion.dataset, TableDataset):
        say_how_written(arguments.model, suggestion.dataset)
    for reason in suggestion.reasons:
        say(reason)

    async def look_at(model: NNModel, outcome: TrainingOutcome) -> None:
        await write_report(arguments.report, model, outcome, suggestion.reasons)

    create = partial(NNModel.create, source=suggestion.source)
    defaults: dict[str, Any] = {}
    if suggestion.epochs is not None:
        defaults["epochs"] = suggestion.epochs
    outcome = asyncio.run(run_training(arguments, suggestion.dataset, create, look_at, defaults))
    more: dict[str, Any] = {
        "source": suggestion.source,
        "reasons": suggestion.reasons,
        "report": arguments.report,
    }
    code = print_outcome(arguments, outcome, **more)
    if not arguments.json:
        say(f"wrote {arguments.report}")
        out, page = shlex.quote(arguments.out), shlex.quote(f"{stem}-page")
        say(f"webnnm predict {out} {suggestion.new_data} predicts new data")
        say(f"webnnm export {out} --page {page} writes a page that does")
    return code
