"""The command `train`: a model learns a table, and becomes a snapshot."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webnnm.cli.common import (
    FINE,
    SNAPSHOT,
    Parsers,
    add_backend,
    add_hyperparameters,
    add_model,
    add_table,
    command,
    hyperparameters,
    opened,
    print_json,
    say,
    silenced,
    silent,
    table,
)
from webnnm.errors import DataError
from webnnm.history import History
from webnnm.progress import display
from webnnm.progress_screens import Screen

if TYPE_CHECKING:
    from webnnm.data.csv_dataset import CSVDataset
    from webnnm.session import Training

COURSES = (".csv", ".json", ".svg")
"""What the course of a training can be written as."""


def add(commands: Parsers) -> None:
    """Add the command."""
    usage = "webnnm train MODEL --data CSV --out FILE [--json] [options]"
    one = command(commands, "train", "train a model with a table", _train, usage=usage)
    add_model(one)
    one.add_argument("--out", required=True, metavar="FILE", help="where the snapshot goes")
    one.add_argument(
        "--resume", action="store_true", help="go on where the training of the snapshot was"
    )
    one.add_argument(
        "--history", metavar="FILE", help=f"the course of the training: {', '.join(COURSES)}"
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
    told = asyncio.run(_trained(given, table(given)))
    if given.json:
        print_json({"model": given.model, "saved": given.out, **told})
    else:
        print(told["history"])
        if told["test"] is not None:
            print(told["test"])
        say(f"saved {given.out}")
    return FINE


async def _trained(given: argparse.Namespace, dataset: CSVDataset) -> dict[str, Any]:
    settings = hyperparameters(given)
    shown = display("auto", sys.stderr)
    seed = settings.get("seed")
    own = {"dataset": dataset, "backend": given.backend, "seed": seed if type(seed) is int else 0}
    async with await opened(given.model, log=say, **own) as model:
        if isinstance(shown, Screen):  # which shows what the log would tell
            model.log = silent
        training = model.train(
            settings,
            resume=given.resume,
            silence=silenced(given),
            progress="off" if shown is None else shown,
        )
        history = await _until_interrupted(training)
        await model.save(given.out)
        _write(history, given.history)
        tested = None
        if dataset.size("testing"):
            tested = await model.test()
        if not given.json:
            return {"history": history, "test": tested}
        return {
            "history": history.to_dict(),
            "test": None if tested is None else tested.to_dict(),
        }


async def _until_interrupted(training: Training) -> History:
    """Wait for a training; Ctrl-C ends it after the present chunk of steps."""
    waiting = asyncio.ensure_future(training)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        say("Ctrl-C: the training ends after these steps; once more gives it up")
        return await training.stop()


def _write(history: History, place: str | None) -> None:
    if place is None:
        return
    suffix = Path(place).suffix
    if suffix == ".csv":
        history.to_csv(place)
    elif suffix == ".svg":
        history.plot(place)
    else:
        Path(place).write_text(json.dumps(history.to_dict(), indent=2), encoding="utf-8")
