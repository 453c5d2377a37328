"""The command `train`: trains a model on a table and saves a snapshot."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webnnm.cli.arguments import USAGE
from webnnm.cli.common import (
    FINE,
    SNAPSHOT,
    Parsers,
    add_backend,
    add_hyperparameters,
    add_model,
    add_references,
    add_table,
    command,
    hyperparameters,
    opened,
    print_json,
    problem,
    say,
    silenced,
    silent,
    table,
)
from webnnm.cli.option_hints import as_options, options_of
from webnnm.cli.places import saved, write
from webnnm.core.errors import DataError
from webnnm.evaluation.history import History
from webnnm.trainer.progress import display
from webnnm.trainer.screen import Screen

if TYPE_CHECKING:
    from webnnm.data.tables.csv_dataset import CSVDataset
    from webnnm.trainer.training import Training

COURSES = (".csv", ".json", ".svg")
"""The formats of the history of a training."""


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm train MODEL --data CSV --out FILE [--json] [options]"
    one = command(commands, "train", "train a model on a table", _train, usage=usage)
    add_model(one)
    add_references(one)
    one.add_argument("--out", required=True, metavar="FILE", help="path of the snapshot")
    one.add_argument(
        "--resume",
        action="store_true",
        help="resume the training from which the snapshot was saved",
    )
    one.add_argument(
        "--history", metavar="FILE", help=f"write the history of the training: {', '.join(COURSES)}"
    )
    add_backend(one)
    add_table(one, required=True)
    add_hyperparameters(one)


def _train(given: argparse.Namespace) -> int:
    if given.history and Path(given.history).suffix not in COURSES:
        hint = f"a name that ends in {', '.join(COURSES)}"
        raise DataError("NNM704", f"--history {given.history}", hint=hint)
    if given.resume and not given.model.endswith(SNAPSHOT):
        hint = "MODEL is the snapshot that an earlier training saved"
        raise DataError("NNM704", "--resume with a text", hint=hint)
    told, failed = asyncio.run(_trained(given, table(given)))
    if given.json:
        errors = {"errors": [problem(each) for each in failed]} if failed else {}
        print_json({"model": given.model, **told, **errors})
    else:
        print(told["history"])
        if told["test"] is not None:
            print(told["test"])
        say("\n".join(map(str, failed)) or f"saved {given.out}")
    return USAGE if failed else FINE


async def _trained(
    given: argparse.Namespace, dataset: CSVDataset
) -> tuple[dict[str, Any], list[DataError]]:
    """Return where the model is, the history and the test; and what could not be written."""
    settings = hyperparameters(given)
    shown = display("auto", sys.stderr)
    seed = settings.get("seed")
    own: dict[str, Any] = {
        "references": given.references,
        "dataset": dataset,
        "backend": given.backend,
        "seed": seed if type(seed) is int else 0,
    }
    names = options_of(given.parser)

    def log(line: str) -> None:
        say(_in_options(line, names))

    async with await opened(given.model, log=log, **own) as model:
        if isinstance(shown, Screen):  # which shows what the log would report
            model.log = silent
        training = model.train(
            settings,
            resume=given.resume,
            silence=silenced(given),
            progress="off" if shown is None else shown,
        )
        history = await _until_interrupted(training)
        place, error = await saved(model.save, given.out)
        failed = [] if error is None else [error]
        try:
            _write(history, given.history)
        except DataError as error:
            failed.append(error)
        tested = None
        if dataset.size("testing"):
            tested = await model.test()
        if not given.json:
            return {"history": history, "test": tested}, failed
        test = None if tested is None else tested.to_dict()
        return {"saved": place, "history": history.to_dict(), "test": test}, failed


async def _until_interrupted(training: Training) -> History:
    """Wait for a training; Ctrl-C ends it after the current chunk of steps.

    So does a shutdown or the closing of the terminal.
    """
    waiting = asyncio.ensure_future(training)
    task = asyncio.current_task()
    assert task is not None
    try:
        with _cancelled_by_signals(task):
            return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        task.uncancel()
        say("Ctrl-C: stopping after these steps; press again to abort")
        return await training.stop()


@contextmanager
def _cancelled_by_signals(task: asyncio.Task[Any]) -> Generator[None]:
    """Let signals that would kill the program cancel a task, as Ctrl-C does."""
    loop = asyncio.get_running_loop()
    signals = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    handled: list[int] = []
    for number in signals:
        try:
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                loop.add_signal_handler(number, task.cancel)
                handled.append(number)
        except (NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
            break
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _write(history: History, place: str | None) -> None:
    if place is None:
        return
    suffix = Path(place).suffix
    if suffix == ".csv":
        history.to_csv(place)
    elif suffix == ".svg":
        history.plot(place)
    else:
        write(place, json.dumps(history.to_dict(), indent=2))


def _in_options(line: str, names: Collection[str]) -> str:
    """Return a line of a training, whose remedies are put in the words of the command line."""
    head, arrow, remedy = line.partition("→ ")
    return head + arrow + as_options(remedy, names)
