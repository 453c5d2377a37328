"""Displays the progress of a training: in a terminal, a notebook, or a custom display."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from webnnm.core.errors import DataError, suggestion
from webnnm.evaluation.history import plain
from webnnm.trainer.screen import Screen, describe_epoch

if TYPE_CHECKING:
    from webnnm.evaluation.epoch import EpochRecord
    from webnnm.evaluation.history import History

Log = Callable[[str], object]
PAUSE = 0.1
"""The minimum number of seconds between two updates."""
WINDOW = 32
"""How many groups of epochs the remaining time is estimated from."""
GROUP = 0.05
"""Epochs that arrive within this many seconds are one group: they come from one call."""
OUTLIER = 3
"""A group counts for at most this many times the median: pauses are not extrapolated."""
ALL_LOGGED_BELOW, LOG_INTERVAL = 100, 50
"""Shorter trainings log every epoch; longer ones the first, the last and every 50th (spec E.10)."""


class Progress(Protocol):
    """A display of the progress of a training; write your own and pass it as `progress`.

    >>> class Dots:
    ...     def begin(self, total, text): print(text, end=" ")
    ...     def update(self, record, eta_seconds): print(".", end="")
    ...     def note(self, text): print(f"({text})", end="")
    ...     def end(self, history): print("", history.stopped)
    """

    def begin(self, total: int, text: str) -> None:
        """Show that a training of `total` epochs begins."""
        ...

    def update(self, record: EpochRecord, eta_seconds: float | None) -> None:
        """Show an epoch, and how many seconds are left if all epochs are run."""
        ...

    def note(self, text: str) -> None:
        """Show a permanent line."""
        ...

    def end(self, history: History) -> None:
        """Close the display; also called after an error."""
        ...


class Events:
    """Reports progress to a callable, as plain dicts that JSON can represent.

    >>> seen = []
    >>> Events(seen.append).note("seed search")
    >>> seen
    [{'event': 'note', 'text': 'seed search'}]

    `event` is "begin" (with `epochs` and `text`), "epoch" (with the fields of an `EpochRecord`,
    `eta_seconds` and `text`), "note" (with `text`) or "end" (with `stopped`, `best_epoch`,
    `best_loss`, `seconds` and `text`).
    """

    def __init__(self, receive: Callable[[dict[str, Any]], object]) -> None:
        self._receive = receive

    def begin(self, total: int, text: str) -> None:
        """Report that a training begins."""
        self._receive({"event": "begin", "epochs": total, "text": text})

    def update(self, record: EpochRecord, eta_seconds: float | None) -> None:
        """Report an epoch."""
        text = describe_epoch(record, eta_seconds)
        event = {"event": "epoch", **plain(record), "eta_seconds": eta_seconds, "text": text}
        self._receive(event)

    def note(self, text: str) -> None:
        """Report a line."""
        self._receive({"event": "note", "text": text})

    def end(self, history: History) -> None:
        """Report how the training ended."""
        names = ("stopped", "best_epoch", "best_loss", "seconds")
        ending = {name: plain(getattr(history, name)) for name in names}
        self._receive({"event": "end", **ending, "text": str(history)})


DISPLAYS = {"rich": "Rich", "tqdm": "Tqdm", "line": "Line", "notebook": "Notebook"}
"""Names of screens, and their classes in `webnnm.trainer.progress_screens`."""
CHOICES = f"auto, off, {', '.join(DISPLAYS)}, a callable or a webnnm.trainer.progress.Progress"


def display(setting: Any = "auto", stream: TextIO | None = None) -> Progress | None:
    """Return the display of the progress, or None if log lines show it.

    - `setting`: "auto" uses the notebook if the program runs in one, or else, on a terminal, the
      first available of rich, tqdm and a plain line, or else None, as None does; "off" means that
      epochs are not even logged; "rich", "tqdm", "line" and "notebook" request one of these; a
      callable receives everything as dicts (`Events`), and an object with the methods of `Progress`
      is used as it is.
    - `stream`: the terminal, by default `sys.stdout`.

    Raises `DataError` NNM704 for other settings, NNM709 if the requested package is not installed.
    """
    if setting is None or _is_progress(setting):
        return setting
    if callable(setting):
        return Events(setting)
    screen: Any = stream or sys.stdout
    name = setting.lower() if isinstance(setting, str) else ""
    if name == "off":
        return None
    if name == "auto":
        return _choose_screen(screen)
    if name not in DISPLAYS:
        hint = suggestion(name, ("auto", "off", *DISPLAYS)) or f"give {CHOICES}"
        raise DataError("NNM704", f"progress is {setting!r}", hint=hint)
    try:
        return _make_screen(name, screen)
    except ImportError as error:
        raise DataError(
            "NNM709",
            f'progress="{name}" needs the package {error.name}, which is not installed',
            hint=f'pip install {error.name}, or progress="auto"',
        ) from error


def _make_screen(name: str, stream: TextIO) -> Progress:
    # Most pages show the progress with events, and need none of the screens.
    from webnnm.trainer import progress_screens

    return getattr(progress_screens, DISPLAYS[name])(stream)


def _is_progress(thing: Any) -> bool:
    methods = ("begin", "update", "note", "end")
    return not isinstance(thing, type) and all(callable(getattr(thing, n, None)) for n in methods)


def _choose_screen(stream: TextIO | None) -> Progress | None:
    # sys.stdout is None if a program has no console.
    if stream is None:
        return None
    if _is_in_notebook():
        return _make_screen("notebook", stream)
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    for name in ("rich", "tqdm"):
        try:
            return _make_screen(name, stream)
        except ImportError:
            continue
    return _make_screen("line", stream)


def _is_in_notebook() -> bool:
    """Return whether an IPython kernel runs the program, without importing IPython."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_shell() if get_shell else None
    return getattr(shell, "kernel", None) is not None


class Reporter:
    """Forwards the progress of a training to the log and the display.

    >>> from webnnm.evaluation.epoch import EpochRecord
    >>> reporter = Reporter(None, print)
    >>> reporter.begin(2, "training")
    >>> reporter.update(EpochRecord(1, 2, 0.5, {"model": 0.5}, 1e-3, 0.25))
    epoch 1/2: loss 0.5000, lr 1.00e-03

    - `shown`: what `display` returned. If it is a terminal or a notebook and the log is `print`,
      both are the same screen: the lines of epochs are left out, others are written above the bar.
    - `log`: receives lines.
    - `epochs`: whether epochs are among them.
    - `clock`: returns seconds.

    The display is called at most every 0.1 seconds, and always for the last epoch.
    """

    def __init__(
        self,
        progress: Progress | None,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
        *,
        epochs: bool = True,
    ) -> None:
        self._progress, self._log, self._clock = progress, log, clock
        self._logs_epochs = epochs
        self._shares_screen = log is print and isinstance(progress, Screen)
        self._groups: deque[tuple[float, int]] = deque(maxlen=WINDOW)
        self._is_open = False
        self._pending: EpochRecord | None = None
        self._drawn_at = -math.inf
        self._last: tuple[float, int] | None = None

    def begin(self, total: int, text: str) -> None:
        """Begin a training of `total` epochs, before anything slow, so that it is seen to run."""
        if self._progress is not None:
            self._progress.begin(total, text)
            self._is_open = True

    def update(self, record: EpochRecord) -> None:
        """Report an epoch."""
        now = self._clock()
        self._pending = record
        last_time, last_epoch = self._last or (now - record.seconds, record.epoch - 1)
        if self._last is None or now - last_time >= GROUP:
            self._groups.append((now - last_time, record.epoch - last_epoch))
            self._last = now, record.epoch
        epochs = record.epochs
        last = record.epoch == epochs
        is_logged = (
            epochs < ALL_LOGGED_BELOW
            or record.epoch == 1
            or last
            or record.epoch % LOG_INTERVAL == 0
        )
        is_logged = is_logged and self._logs_epochs
        if is_logged and not (self._shares_screen and self._is_open):
            self._log(str(record))
        if last or now - self._drawn_at >= PAUSE:
            self._draw(record)
            self._drawn_at = now

    def note(self, text: str) -> None:
        """Report a permanent line."""
        if self._progress is not None and self._is_open:
            self._progress.note(text)
            if self._shares_screen:
                return
        self._log(text)

    def end(self, history: History) -> None:
        """End the training, also after an error; later lines go to the log."""
        if self._progress is None or not self._is_open:
            return
        if self._pending is not None:
            self._draw(self._pending)
        self._is_open = False
        self._progress.end(history)

    def eta(self, record: EpochRecord) -> float | None:
        """Return the seconds that the epochs after this one will take; None before the first.

        It is based on the time per epoch of the last 32 groups of epochs, each capped at three
        times the median.
        """
        if not self._groups:
            return None
        paces = sorted(seconds / epochs for seconds, epochs in self._groups)
        limit = OUTLIER * paces[len(paces) // 2]
        seconds = sum(min(seconds, limit * epochs) for seconds, epochs in self._groups)
        mean = seconds / sum(epochs for _, epochs in self._groups)
        return mean * (record.epochs - record.epoch)

    def _draw(self, record: EpochRecord) -> None:
        self._pending = None
        if self._progress is not None and self._is_open:
            self._progress.update(record, self.eta(record))
