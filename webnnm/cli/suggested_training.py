"""Trains the model that data suggest, compares it with simpler ones, and writes a report."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from webnnm.cli.common import (
    SNAPSHOT,
    hyperparameters,
    say,
    say_how_written,
    silent,
)
from webnnm.cli.output_paths import check_places
from webnnm.cli.suggested_data import suggest_for_command
from webnnm.cli.training_report import find_better, list_scores, write_report
from webnnm.cli.training_run import TrainingOutcome, print_outcome, run_training
from webnnm.data.pictures.detection_dataset import DetectionDataset
from webnnm.data.series.series_dataset import SeriesDataset
from webnnm.data.tables.table_dataset import TableDataset
from webnnm.evaluation.baselines import Scores, get_scores, score_constant
from webnnm.evaluation.result import TestResult
from webnnm.evaluation.table import table as align_table
from webnnm.expert.suggesting.suggestion import Suggestion
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
    rivals: dict[str, Scores] = {}

    async def look_at(model: NNModel, outcome: TrainingOutcome) -> None:
        if outcome.test is not None:
            rivals.update(await _score_rivals(arguments, suggestion, outcome.test))
        await write_report(arguments.report, model, outcome, suggestion.reasons, rivals)

    create = partial(NNModel.create, source=suggestion.source)
    defaults: dict[str, Any] = {}
    if suggestion.epochs is not None:
        defaults["epochs"] = suggestion.epochs
    outcome = asyncio.run(run_training(arguments, suggestion.dataset, create, look_at, defaults))
    more: dict[str, Any] = {
        "source": suggestion.source,
        "reasons": suggestion.reasons,
        "baselines": rivals,
        "report": arguments.report,
    }
    code = print_outcome(arguments, outcome, **more)
    if not arguments.json:
        if rivals:
            print(align_table(list_scores(rivals)))
            assert outcome.test is not None
            if better := find_better(rivals, outcome.test.samples):
                print(f"{better} does better: this model learns too little, or by heart")
        say(f"wrote {arguments.report}")
        out, page = shlex.quote(arguments.out), shlex.quote(f"{stem}-page")
        say(f"webnnm predict {out} {suggestion.new_data} predicts new data")
        say(f"webnnm export {out} --page {page} writes a page that does")
    return code


async def _score_rivals(
    arguments: argparse.Namespace, suggestion: Suggestion, test: TestResult
) -> dict[str, Scores]:
    """Return the scores of the model and of simpler ones; tests of series have their own.

    No simple model finds boxes.
    """
    if isinstance(suggestion.dataset, (SeriesDataset, DetectionDataset)):
        return {}
    rivals = {"this model": get_scores(test)}
    if suggestion.linear_source:
        rivals["a linear model"] = await _score_linear_model(arguments, suggestion)
    return {**rivals, "one answer for all rows": score_constant(suggestion.dataset)}


async def _score_linear_model(arguments: argparse.Namespace, suggestion: Suggestion) -> Scores:
    """Train a linear model on the same rows, and return the scores of its test."""
    source = suggestion.linear_source
    model = await NNModel.create(
        source=source, dataset=suggestion.dataset, backend=arguments.backend, log=silent
    )
    async with model:
        await model.train(hyperparameters(arguments), review=False, progress="off")
        return get_scores(await model.test())
