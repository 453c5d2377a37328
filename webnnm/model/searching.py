"""A search for hyperparameters and widths: many short trainings, the best continued for longer."""

from __future__ import annotations

import json
import math
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, WebNNMError, suggestion
from webnnm.core.json_text import parse_json
from webnnm.core.markup import Markup, html_table, set_content
from webnnm.core.shapes import as_python
from webnnm.data.dataset import Dataset
from webnnm.data.protocol import AnyDataset
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.model.nnmodel import NNModel
from webnnm.snapshots import storage
from webnnm.trainer.progress import Reporter, display
from webnnm.training.automatic import complete_settings
from webnnm.training.settings import HYPERPARAMETERS, parse_settings

WORD = re.compile(r"\$(\w+)")
HELD_BACK = 0.2
"""The share of training rows used for validation if there are no validation rows."""
DECADE = 10
"""A number is drawn by its logarithm if its bounds are at least this factor apart."""
TRIES = 100
"""How often drawing is repeated before duplicate settings are accepted."""


@dataclass
class Trial:
    """Settings that were drawn, and the validation losses of the trainings with them.

    Attributes: `number`, from 0; `settings` by name; `losses`, one for each round that it took part
    in, infinite where a training diverged.
    """

    number: int
    settings: dict[str, Any]
    losses: list[float] = field(default_factory=list[float])

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key of trials: more rounds first, then lower loss."""
        return -len(self.losses), self.losses[-1] if self.losses else math.inf


@dataclass
class Search:
    """The result of `search`, the best trial first; shown as a table.

    Attributes: `trials`; `source`, the text with its placeholders; `rounds`, how many trials of how
    many epochs each had.
    """

    source: str
    rounds: list[tuple[int, int]]
    trials: list[Trial]

    @property
    def ranked(self) -> list[Trial]:
        """The trials, the best one first."""
        return sorted(self.trials, key=lambda trial: trial.rank)

    @property
    def best(self) -> Trial:
        """The trial with the lowest loss of those that took part in the last round."""
        return self.ranked[0]

    @property
    def text(self) -> str:
        """The text of the model with the settings of the best trial filled in."""
        return fill_placeholders(self.source, self.best.settings)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters of the best trial, for `train`."""
        return select_hyperparameters(self.best.settings)

    def rows(self) -> list[list[str]]:
        """Return the table: a line of headings, then a line for each trial."""
        names = list(self.trials[0].settings) if self.trials else []
        head = ["trial", *names, *(f"{epochs} epochs" for _, epochs in self.rounds)]
        lines = [
            [
                str(t.number),
                *(
                    f"{value:.4g}" if isinstance(value, float) else str(value)
                    for value in t.settings.values()
                ),
                *(f"{loss:.4g}" for loss in t.losses),
            ]
            for t in self.ranked
        ]
        return [head, *(line + [""] * (len(head) - len(line)) for line in lines)]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = (
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        )
        return "\n".join(line.rstrip() for line in aligned)

    def to_html(self) -> Markup:
        """Return the table as HTML, as `table` of `search` and notebooks show it."""
        return html_table(self.rows(), "search", head=True)

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values, with null for infinite losses."""
        trials = [
            {**asdict(trial), "losses": [x if math.isfinite(x) else None for x in trial.losses]}
            for trial in self.trials
        ]
        return {"source": self.source, "rounds": self.rounds, "trials": trials}


def plan_rounds(trials: int, eta: int, epochs: int) -> list[tuple[int, int]]:
    """Return the numbers of trials and epochs of each round of successive halving.

    >>> plan_rounds(27, 3, 90)
    [(27, 3), (9, 10), (3, 30), (1, 90)]
    """
    rounds = [(trials, epochs)]
    while rounds[0][1] > 1 and rounds[-1][0] >= eta:
        rounds = [(number, max(1, spent // eta)) for number, spent in rounds]
        rounds.append((rounds[-1][0] // eta, epochs))
    return rounds


def fill_placeholders(source: str, settings: Mapping[str, Any]) -> str:
    """Return a text with its placeholders filled in.

    >>> fill_placeholders("dense(shape=[$width])", {"width": 16, "lr": 0.1})
    'dense(shape=[16])'
    """
    return WORD.sub(lambda found: str(settings[found[1]]), source)


def select_hyperparameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are hyperparameters of a training."""
    return {name: value for name, value in settings.items() if name in HYPERPARAMETERS}


def draw_settings(space: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return settings drawn from a space: one of a list, or a number between two bounds.

    >>> draw_settings({"width": (8, 64), "optimizer": ["adam", "adamw"]}, random.Random(0))
    {'width': 62, 'optimizer': 'adamw'}
    """
    return {name: _value(choices, draw) for name, choices in space.items()}


def _value(choices: Any, draw: random.Random) -> Any:
    if not isinstance(choices, tuple):
        return as_python(draw.choice(choices))
    low, high = cast("tuple[Any, Any]", choices)
    low, high = as_python(low), as_python(high)
    is_integer = isinstance(low, int) and isinstance(high, int)
    if low > 0 and high / low >= DECADE:
        value = math.exp(draw.uniform(math.log(low), math.log(high)))
    elif is_integer:
        return draw.randint(low, high)
    else:
        value = draw.uniform(low, high)
    return round(value) if is_integer else float(f"{value:.3g}")


@require_await
async def search(
    source: str,
    dataset: AnyDataset,
    space: Mapping[str, Any],
    *,
    trials: int = 27,
    eta: int = 3,
    epochs: int | None = None,
    path: str | os.PathLike[str] | None = None,
    known: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Any = "auto",
    on_trial: Callable[[Search], object] | None = None,
    table: Any = None,
    log: Callable[[str], object] = print,
    backend: Any = None,
    **settings: Any,
) -> Search:
    """Search for hyperparameters and sizes by successive halving.

    >>> from webnnm import IrisDataset
    >>> text = "m:input shape=[4]; m:output shape=[3]; "
    >>> text += "m:layers matmul(w, shape=[$width]), relu(), matmul(v), add(b), softmax();"
    >>> space = {"width": (2, 32), "lr": (1e-3, 1e-1), "optimizer": ["adam", "adamw"]}
    >>> found = await search(text, await IrisDataset.create(), space)  # doctest: +SKIP
    >>> found.best.settings  # doctest: +SKIP
    {'width': 21, 'lr': 0.0132, 'optimizer': 'adamw'}

    All trials are trained for a few epochs; the best one of `eta` takes part in the next round,
    with `eta` times the epochs, until the last trials have `epochs` (Jamieson & Talwalkar 2016,
    "Non-stochastic best arm identification and hyperparameter optimization"). Every round trains
    from scratch, so that schedules are completed. The score is the lowest validation loss, on the
    validation rows, or else on a fifth of the training rows. The testing rows are not used.

    - `source`: the text of the model, with placeholders such as `$width`.
    - `space`: name → list of choices, or (low, high): integers if both are integers, drawn by their
      logarithm from a factor of ten. Names are placeholders or hyperparameters.
    - `epochs`: the epochs of the last round, by default those of `train`.
    - `path`: a JSON file that is written after each training, from which an interrupted search
      resumes, in pages "browser:name"; `known`: the same as a dict, as returned by
      `Search.to_dict`.
    - `table`: an element of the page that shows the trials so far as a table, the best first.
    - `seed`: the seed of the draws and of all trainings; `progress`: as in `train`, counting
      trainings; `on_trial` is called after each trial with the search so far; `log` receives lines.
    - `settings`: further hyperparameters of all trials.

    Raises `DataError` NNM704 for an invalid space, number or file, and what `NNModel.create` and
    `train` raise, except for trainings that diverge.
    """
    fixed = parse_settings(settings).explicit_values()
    _check(source, space, fixed, trials, eta)
    if epochs is None:
        epochs = _usual_epochs(dataset, fixed)
    draws = _draws(space, trials, seed)
    result = Search(source, plan_rounds(len(draws), eta, epochs), draws)
    if path is not None:
        saved = await _read(path)
        known = known if saved is None else saved
    if known is not None:
        _resume_search(result, known)
    if table is not None:
        set_content(table, result.to_html())
    if not dataset.size("validation"):
        fixed = {"validation_split": HELD_BACK, **fixed}
    is_silent = str(progress).lower() == "off"
    reporter = Reporter(display(progress), _ignore if is_silent else log, epochs=False)
    total, number_trained = sum(number for number, _ in result.rounds), 0
    reporter.begin(total, f"search: {len(draws)} trials, {total} trainings")
    history = History(fixed, "", stopped="error")
    try:
        for round_index, (number, round_epochs) in enumerate(result.rounds):
            for trial in result.ranked[:number]:
                number_trained += 1
                if len(trial.losses) > round_index:
                    continue
                start = time.monotonic()
                more = {
                    **fixed,
                    **select_hyperparameters(trial.settings),
                    "epochs": round_epochs,
                    "seed": seed,
                }
                loss = await _loss(
                    fill_placeholders(source, trial.settings), dataset, more, backend
                )
                trial.losses.append(loss)
                if path is not None:
                    await storage.store(path, [json.dumps(result.to_dict()).encode()])
                if table is not None:
                    set_content(table, result.to_html())
                values = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
                reporter.note(f"trial {trial.number}, {round_epochs} epochs: {loss:.4g} ({values})")
                rate = trial.settings.get("lr", 0.0)
                record = EpochRecord(
                    number_trained, total, loss, {}, rate, time.monotonic() - start
                )
                reporter.update(record)
                if on_trial is not None:
                    on_trial(result)
        history.stopped = "epochs"
    finally:
        reporter.end(history)
    return result


def _ignore(line: str) -> None:
    """Log nothing."""


async def _loss(
    source: str, dataset: AnyDataset, settings: Mapping[str, Any], backend: Any
) -> float:
    """Return the lowest validation loss of a training, infinity if it diverges."""
    chosen = {} if backend is None else {"backend": backend}
    model = await NNModel.create(
        source=source, dataset=dataset, seed=settings["seed"], log=_ignore, **chosen
    )
    async with model:
        try:
            history = await model.train({**settings, "progress": "off"})
        except WebNNMError as error:
            if error.code != "NNM708":
                raise
            return math.inf
    return history.best_loss


def _draws(space: Mapping[str, Any], trials: int, seed: int) -> list[Trial]:
    """Return the trials; the same settings occur twice only if there are no others."""
    draw = random.Random(seed)
    drawn_trials: list[Trial] = []
    for number in range(trials):
        for _ in range(TRIES):
            settings = draw_settings(space, draw)
            if all(settings != trial.settings for trial in drawn_trials):
                break
        else:
            break
        drawn_trials.append(Trial(number, settings))
    return drawn_trials


def _check(
    source: str, space: Mapping[str, Any], fixed: Mapping[str, Any], trials: int, eta: int
) -> None:
    placeholders = set(WORD.findall(source))
    problem, hint = "", ""
    for name, choices in space.items():
        if name not in placeholders and name not in HYPERPARAMETERS:
            problem = f'"{name}" is neither a hyperparameter nor ${name} in the text'
            hint = suggestion(name, (*placeholders, *HYPERPARAMETERS)) or ""
        elif name in fixed:
            problem = f'"{name}" is both fixed and searched'
        elif not _is_range(choices) and not (isinstance(choices, list) and choices):
            problem, hint = f'"{name}" has the choices {choices!r}', "a list, or (low, high)"
    for placeholder in () if problem else placeholders - space.keys():
        problem, hint = f"the text has ${placeholder}, the space does not", f"{placeholder}=(8, 64)"
    if not space or trials < 1 or eta < 2:
        problem = f"{len(space)} settings, {trials} trials, eta {eta}"
    if problem:
        raise DataError(
            "NNM704", f"search: {problem}", hint=hint or 'as in {"lr": (1e-4, 1e-1), "width": [8]}'
        )


def _is_range(choices: Any) -> bool:
    if not isinstance(choices, tuple) or len(cast("tuple[Any, ...]", choices)) != 2:
        return False
    low, high = cast("tuple[Any, Any]", choices)
    low, high = as_python(low), as_python(high)
    numbers = all(isinstance(n, (int, float)) and math.isfinite(n) for n in (low, high))
    return numbers and low < high


def _usual_epochs(dataset: AnyDataset, fixed: Mapping[str, Any]) -> int:
    settings = parse_settings(fixed).resolve()
    batch = settings.batch_size or dataset.batch_size
    rows = dataset.size("training")
    divisible = isinstance(dataset, Dataset)
    settings = complete_settings(
        settings, rows=rows, batch_size=batch, parameters=0, can_split=divisible
    )
    assert settings.epochs is not None
    return settings.epochs


async def _read(path: str | os.PathLike[str]) -> Any:
    """Return the search saved in a file, None if there is none. Raises `DataError` NNM704."""
    try:
        return parse_json(bytes(await storage.fetch(path)).decode())
    except (DataError, ValueError) as error:
        cause = error.__cause__
        gone = cause is None or isinstance(cause, FileNotFoundError)
        if isinstance(error, DataError) and gone:
            return None
        message = f"search: {path} cannot be read: {error}"
        raise DataError("NNM704", message, hint="delete it, or use another path") from error


def _resume_search(search: Search, saved: Mapping[str, Any]) -> None:
    """Take over the losses of a search that was started with the same text, space and rounds."""
    try:
        trials = cast("list[dict[str, Any]]", saved.get("trials") or [])
        is_same = saved.get("source") == search.source
        is_same &= [trial.get("settings") for trial in trials] == [
            t.settings for t in search.trials
        ]
        is_same &= [tuple(pair) for pair in saved.get("rounds", ())] == search.rounds
        losses = [
            [math.inf if x is None else float(x) for x in trial["losses"]] for trial in trials
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = "the saved search is not what Search.to_dict returned"
        hint = "leave it out, or use another path"
        raise DataError("NNM704", message, hint=hint) from error
    if not is_same:
        raise DataError(
            "NNM704",
            "the saved search has another text, space, seed or number of epochs",
            hint="use another path, or the settings that it was started with",
        )
    for trial, earlier in zip(search.trials, losses, strict=True):
        trial.losses = earlier[: len(search.rounds)]
