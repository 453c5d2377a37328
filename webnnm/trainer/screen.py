"""The common base of all screens that show the progress of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from webnnm.evaluation.epoch import EpochRecord
    from webnnm.evaluation.history import History


def format_duration(seconds: float) -> str:
    """Return a duration in words.

    >>> format_duration(0.2), format_duration(12.4), format_duration(125), format_duration(3725)
    ('under 1 s', '12 s', '2 min 05 s', '1 h 02 min')
    """
    if seconds < 1:
        return "under 1 s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02} min"


def describe_epoch(record: EpochRecord, eta_seconds: float | None) -> str:
    """Return the losses of an epoch and the remaining time."""
    remaining = f", {format_duration(eta_seconds)} left" if eta_seconds else ""
    return record.shown + remaining


class Screen:
    """The base of screens: each opens, shows the progress with a text, and closes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self, total: int, text: str) -> None:
        """Show an empty bar for `total` epochs."""
        self._open(total, text)

    def update(self, record: EpochRecord, eta_seconds: float | None) -> None:
        """Advance the bar."""
        self._show(record.epoch, record.epochs, describe_epoch(record, eta_seconds))

    def note(self, text: str) -> None:
        """Write a permanent line."""
        print(text, file=self._stream)

    def end(self, history: History) -> None:
        """Leave the bar as it is."""
        self._close(history)

    def _open(self, total: int, text: str) -> None:
        raise NotImplementedError

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        raise NotImplementedError

    def _close(self, history: History) -> None:
        raise NotImplementedError
