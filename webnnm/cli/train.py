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
    OK,
    SNAPSHOT,
    Parsers,
    add_backend,
    add_hyperparameters,
    add_model,
    add_references,
    add_table,
    command,
    hyperparameters,
    open_model,
    parse_silenced_rules,
    print_json,
    problem,
    say,
    silent,
    table,
)
from webnnm.cli.option_hints import as_options, options_of
from webnnm.cli.output_paths import save_somewhere, write
from webnnm.core.errors import DataError
from webnnm.evaluation.history import History
from webnnm.runtime.state import ReviewTime
from webnnm.trainer.progress import display
from webnnm.trainer.screen import Screen

if TYPE_CHECKING:
    from webnnm.data.tables.csv_dataset import CSVDataset
    from webnnm.trainer.training import Training

HISTORY_SUFFIXES = (".csv", ".json", ".svg")

REVIEW_TIMES: dict[str, ReviewTime] = {"before": True, "after": "after", "off": False}
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
    add_table(one, required=True)
    add_hyperparameters(one)


def _train(arguments: argparse.Namespace) -> int:
    if arguments.history and Path(arguments.history).suffix not in HISTORY_SUFFIXES:
        hint = f"a name that ends in {', '.join(HISTORY_SUFFIXES)}"
        raise DataError("NNM704", f"--history {arguments.history}", hint=hint)
    if arguments.resume and not arguments.model.endswith(SNAPSHOT):
        hint = "MODEL is the snapshot that an earlier training saved"
        raise DataError("NNM704", "--resume with a text", hint=hint)
    results, failed = asyncio.run(_run_training(arguments, table(arguments)))
    if arguments.json:
        errors = {"errors": [problem(issue) for issue in failed]} if failed else {}
        print_json({"model": arguments.model, **results, **errors})
    else:
        print(results["history"])
        if results["test"] is not None:
            print(results["test"])
        say("\n".join(map(str, failed)) or f"saved {arguments.out}")
    return USAGE if failed else OK


async def _run_training(
    arguments: argparse.Namespace, dataset: CSVDataset
) -> tuple[dict[str, Any], list[DataError]]:
    """Return where the model is, the history and the test; and what could not be written."""
    settings = hyperparameters(arguments)
    screen = display("auto", sys.stderr)
    seed = settings.get("seed")
    settings_of_model: dict[str, Any] = {
        "references": arguments.references,
        "dataset": dataset,
        "backend": arguments.backend,
        "seed": seed if type(seed) is int else 0,
    }
    names = options_of(arguments.parser)

    def log(line: str) -> None:
        say(_in_options(line, names))

    async with await open_model(arguments.model, log=log, **settings_of_model) as model:
        if isinstance(screen, Screen):  # which shows what the log would report
            model.state.log = silent
        training = model.train(
            settings,
            resume=arguments.resume,
            silence=parse_silenced_rules(arguments),
            review=REVIEW_TIMES[arguments.review],
            progress="off" if screen is None else screen,
        )
        history = await _until_interrupted(training)
        path, error = await save_somewhere(model.save, arguments.out)
        failed = [] if error is None else [error]
        try:
            _write(history, arguments.history)
        except DataError as error:
            failed.append(error)
        result = None
        if dataset.size("testing"):
            result = await model.test()
        if not arguments.json:
            return {"history": history, "test": result}, failed
        test = None if result is None else result.to_dict()
        return {"saved": path, "history": history.to_dict(), "test": test}, failed


async def _until_interrupted(training: Training) -> History:
    """Wait for a training; Ctrl-C ends it after the current chunk of steps.

    So does a shutdown or the closing of the terminal.
    """
    waiting = asyncio.ensure_future(training)
    task = asyncio.current_task()
    assert task is not None
    try:
        with _cancel_on_signals(task):
            return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        task.uncancel()
        say("Ctrl-C: stopping after these steps; press again to abort")
        return await training.stop()


@contextmanager
def _cancel_on_signals(task: asyncio.Task[Any]) -> Generator[None]:
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


def _write(history: History, path: str | None) -> None:
    if path is None:
        return
    suffix = Path(path).suffix
    if suffix == ".csv":
        history.to_csv(path)
    elif suffix == ".svg":
        history.plot(path)
    else:
        write(path, json.dumps(history.to_dict(), indent=2))


def _in_options(line: str, names: Collection[str]) -> str:
    """Return a line of a training with its remedies as command-line options."""
    head, arrow, remedy = line.partition("→ ")
    return head + arrow + as_options(remedy, names)
