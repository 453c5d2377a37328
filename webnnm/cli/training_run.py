"""Runs the training of a command: progress, interruption, and what it writes."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webnnm.cli.arguments import USAGE
from webnnm.cli.common import (
    OK,
    hyperparameters,
    parse_silenced_rules,
    print_json,
    problem,
    say,
    silent,
)
from webnnm.cli.option_hints import as_options, options_of
from webnnm.cli.output_paths import save_somewhere, write
from webnnm.core.errors import DataError
from webnnm.core.finding import Findings
from webnnm.runtime.state import ReviewTime
from webnnm.trainer.progress import display
from webnnm.trainer.review import ALL_FINDINGS, ALL_SETTINGS
from webnnm.trainer.screen import Screen

if TYPE_CHECKING:
    from webnnm.data.dataset import Dataset
    from webnnm.evaluation.history import History
    from webnnm.evaluation.result import TestResult
    from webnnm.model.nnmodel import NNModel
    from webnnm.trainer.training import Training

WIDTH = 98
"""The settings of a training are folded into lines of so many characters."""
HISTORY_SUFFIXES = (".csv", ".json", ".svg")
"""The formats of the history of a training."""
REVIEW_TIMES: dict[str, ReviewTime] = {"before": True, "after": "after", "off": False}
"""When the expert system looks at model and data, by the words of the option."""


@dataclass
class TrainingOutcome:
    """What a training led to.

    Attributes: `saved`, the path of the snapshot; `history`; `test`, the result of the test, None
    without testing rows; `errors`, what could not be written.
    """

    saved: str
    history: History
    test: TestResult | None
    errors: list[DataError]


async def run_training(
    arguments: argparse.Namespace,
    dataset: Dataset,
    open_model: Callable[..., Awaitable[NNModel]],
    look_at: Callable[[NNModel, TrainingOutcome], Awaitable[None]] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> TrainingOutcome:
    """Train and test the model that `open_model` returns for some settings, and save it.

    `look_at` is called at the end, while the model is open; `defaults` are hyperparameters that the
    arguments override.
    """
    settings = {**(defaults or {}), **hyperparameters(arguments)}
    screen = display("auto", sys.stderr)
    seed = settings.get("seed")
    names = options_of(arguments.parser)

    def log(line: str) -> None:
        where = "the report" if arguments.report else "webnnm review --verbose"
        for name in (ALL_FINDINGS, ALL_SETTINGS):
            line = line.replace(name, name.replace(name.split()[0], where, 1))
        if line.startswith("settings: "):
            line = textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        say(_in_options(line, names))

    async with AsyncExitStack() as opened:
        model = await open_model(
            log=log,
            dataset=dataset,
            backend=arguments.backend,
            seed=seed if type(seed) is int else 0,
        )
        await opened.enter_async_context(model)
        if isinstance(screen, Screen) and arguments.members is None:
            model.state.log = silent  # the screen shows what the log would report
        settings["silence"] = parse_silenced_rules(arguments)
        model.state.review = REVIEW_TIMES[arguments.review]
        if arguments.members is not None:
            model, history = await _train_ensemble(model, arguments.members, settings)
            await opened.enter_async_context(model)
        else:
            training = model.train(settings, resume=arguments.resume, progress=screen)
            history = await _until_interrupted(training)
        saved, error = await save_somewhere(model.save, arguments.out)
        outcome = TrainingOutcome(saved, history, None, [] if error is None else [error])
        try:
            _write(history, arguments.history)
        except DataError as error:
            outcome.errors.append(error)
        outcome.history = replace(history, findings=_write_as_options(history.findings, names))
        if dataset.size("testing"):
            outcome.test = await model.test()
        if look_at is not None:
            await look_at(model, outcome)
    return outcome


async def _train_ensemble(
    model: NNModel, members: int, settings: Mapping[str, Any]
) -> tuple[NNModel, History]:
    """Return an ensemble, and the history of its first member."""
    from webnnm.editing.ensembling import train_ensemble

    histories: list[History] = []
    ensemble = await train_ensemble(model, members, settings, on_member=histories.append)
    return ensemble, histories[0]


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


def print_outcome(arguments: argparse.Namespace, outcome: TrainingOutcome, **more: Any) -> int:
    """Print what a training led to, as JSON with `more` entries, and return the exit code."""
    test = outcome.test
    if arguments.json:
        errors = [problem(error) for error in outcome.errors]
        print_json(
            {
                "model": arguments.model,
                "saved": outcome.saved,
                "history": outcome.history.to_dict(),
                "test": None if test is None else test.to_dict(),
                **more,
                **({"errors": errors} if errors else {}),
            }
        )
    else:
        print(outcome.history)
        if test is not None:
            print(test)
        say("\n".join(map(str, outcome.errors)) or f"saved {arguments.out}")
    return USAGE if outcome.errors else OK


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


def _write_as_options(findings: Findings, names: Collection[str]) -> Findings:
    """Return findings with their remedies as command-line options."""
    return Findings(
        replace(
            finding,
            remedy=as_options(finding.remedy, names),
            action=as_options(finding.action, names),
        )
        for finding in findings
    )


def _in_options(line: str, names: Collection[str]) -> str:
    """Return a line of a training with its remedies as command-line options."""
    head, arrow, remedy = line.partition("→ ")
    return head + arrow + as_options(remedy, names)
