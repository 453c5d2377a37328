"""The history of a training: a record per epoch and how it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.errors import DataError
from webnnm.core.finding import Finding, Findings
from webnnm.evaluation.epoch import EpochRecord, Numbers

if TYPE_CHECKING:
    from webnnm.core.markup import Markup

SINGLE: Mapping[str, Callable[[EpochRecord], Any]] = {
    name: lambda record, name=name: getattr(record, name)
    for name in ("scale", "clip_rate", "clip_threshold", "grad_norm", "overflows", "penalty")
}
"""Columns of the table between the learning rate and the times."""
WIDTH = 640
"""The width of plots in CSS pixels."""


class Plot(str):
    """The text of an SVG, which notebooks show as a picture; prompts show how long it is.

    >>> Plot("<svg/>")
    <Plot: 6 characters of SVG>
    """

    def __repr__(self) -> str:
        return f"<Plot: {len(self):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(repr=False)
class History:
    """The history of a training, epoch by epoch.

    Attributes: `epochs`, one record per epoch; `best_epoch` and `best_loss`, by validation loss if
    there is one, else by training loss (0 and infinity before the first epoch); `stopped`, why it
    ended: "epochs", "patience", "callback", "stop" or "error"; `settings`, the resolved
    hyperparameters, and `chosen`, where each value came from; `findings` of the review before the
    training and of what happened since; `scouting`, the table of the seed search; `outcome`, the
    measurements of the trained model on some training rows; `loss_settings`, for each output its
    loss, the reason for it, the loss of an uninformed prediction, δ, γ and α; `backend`; `seconds`
    in total and `phases`, the seconds of "review", "scouting", "build", "first step", "training",
    "restore" and "findings"; `resumed_after`, the number of epochs trained before this run resumed;
    `warnings`, problems that did not stop the training, such as an autosave that failed.

    In notebooks a history is displayed as a plot.
    """

    settings: dict[str, Any]
    backend: str
    epochs: list[EpochRecord] = field(default_factory=list[EpochRecord])
    best_epoch: int = 0
    best_loss: float = float("inf")
    stopped: str = ""
    seconds: float = 0.0
    findings: Findings = field(default_factory=Findings)
    scouting: dict[str, Any] | None = None
    outcome: dict[str, Any] | None = None
    chosen: dict[str, str] = field(default_factory=dict[str, str])
    loss_settings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    phases: Numbers = field(default_factory=Numbers)
    resumed_after: int = 0
    warnings: list[str] = field(default_factory=list[str])

    @property
    def finished(self) -> int:
        """The number of finished epochs, including those of earlier runs."""
        return self.resumed_after + len(self.epochs)

    @property
    def losses(self) -> list[float]:
        """The training loss of each epoch."""
        return [record.loss for record in self.epochs]

    @property
    def best(self) -> EpochRecord | None:
        """The record of the best epoch, or None before the first epoch."""
        return next((r for r in self.epochs if r.epoch == self.best_epoch), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain values that strict JSON can represent (spec H).

        >>> History({"lr": 0.1, "on_epoch": print}, "numpy").to_dict()["settings"]
        {'lr': 0.1}

        Callables are left out, tuples become lists, and non-finite numbers become None, such as the
        best loss before the first epoch.
        """
        return plain(self) | {"findings": [plain(finding.to_dict()) for finding in self.findings]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> History:
        """Return the history from what `to_dict` returned.

        >>> History.from_dict(History({"lr": 0.1}, "numpy").to_dict()).best_loss
        inf

        Unknown keys, as written by later versions, are ignored. Raises `DataError` NNM702 if a
        required key is missing.
        """
        attributes = _select_fields(cls, values)
        attributes["epochs"] = [_record(r) for r in attributes.get("epochs", ())]
        attributes["findings"] = Findings(map(Finding.from_dict, attributes.get("findings", ())))
        if attributes.get("best_loss") is None:
            attributes["best_loss"] = math.inf
        return cls(**attributes)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """Return the epochs as CSV (RFC 4180), one row each; with `path`, also write a file.

        >>> record = EpochRecord(1, 20, 0.5, {"model": 0.5}, 1e-3, 0.25)
        >>> History({}, "numpy", [record]).to_csv().splitlines()[0]
        'epoch,loss,loss:model,val_loss,lr,scale,clip_rate,clip_threshold,grad_norm,overflows,...'

        The per-output columns are `loss:` and `val_loss:` followed by the output's name; `val_` is
        followed by the name of a metric and `seconds:` by the name of a phase. Missing values are
        empty cells. Raises `DataError` NNM704 for a name that ends like files of another format.
        """
        import csv
        import io

        from webnnm.evaluation.writing import CSV, write_text

        table: dict[str, Callable[[EpochRecord], Any]] = {
            "epoch": lambda record: record.epoch,
            "loss": lambda record: record.loss,
            **self._columns("losses", "loss:"),
            "val_loss": lambda record: record.val_loss,
            **self._columns("val_losses", "val_loss:"),
            **self._columns("val_metrics", "val_"),
            "lr": lambda record: record.lr,
            **SINGLE,
            "seconds": lambda record: record.seconds,
            **self._columns("phases", "seconds:"),
        }
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(table)
        writer.writerows([cell(record) for cell in table.values()] for record in self.epochs)
        return write_text(text.getvalue(), path, CSV)

    def plot(self, path: str | PathLike[str] | None = None, *, width: int = WIDTH) -> Plot:
        """Return an SVG plot that notebooks display; with `path`, also write it to a file.

        >>> record = EpochRecord(1, 20, 0.5, {"model": 0.5}, 1e-3, 0.25)
        >>> History({}, "numpy", [record]).plot()[:4]
        '<svg'

        It shows the losses (on a logarithmic scale if they span more than two decades), the best
        epoch and the learning rate, and adapts to light and dark pages. `width` is in CSS pixels,
        at least 240; the plot shrinks to fit narrower spaces. Raises `DataError` NNM704 for a name
        that does not end in .svg.
        """
        from webnnm.evaluation.history_plot import svg
        from webnnm.evaluation.writing import write_text

        return Plot(write_text(svg(self, max(int(width), 240)), path))

    def figure(self) -> Any:
        """Return the same plot as a Matplotlib figure.

        Raises `DataError` NNM709 if Matplotlib is not installed.
        """
        from webnnm.evaluation.history_plot import figure

        return figure(self)

    def _columns(self, name: str, prefix: str) -> dict[str, Callable[[EpochRecord], Any]]:
        keys = dict.fromkeys(key for record in self.epochs for key in getattr(record, name))
        return {prefix + k: lambda record, k=k: getattr(record, name).get(k) for k in keys}

    def to_html(self) -> Markup:
        """Return the training as HTML tables and a plot, as shown in notebooks."""
        from webnnm.core.markup import html_table, join
        from webnnm.evaluation.history_plot import svg

        best = self.best
        rows = [
            ("epochs", f"{len(self.epochs)}, ended by {self.stopped or 'nothing yet'}"),
            ("best", "" if best is None else f"epoch {best.epoch}: {best.shown}"),
            ("backend", self.backend),
            ("seconds", f"{self.seconds:.2f}"),
            *(("warning", text) for text in self.warnings),
        ]
        parts = [html_table(rows, "training"), svg(self, WIDTH)]
        parts += [self.findings.to_html()] if self.findings else []
        losses = {f"{name}:loss": loss["loss"] for name, loss in self.loss_settings.items()}
        values = plain(self.settings) | losses
        parts.append(read_copy_settings(values, self.chosen))
        return join(parts)

    _repr_html_ = to_html

    def __repr__(self) -> str:
        return f"<History: {self}>"

    def __str__(self) -> str:
        if not self.epochs:
            return "no epoch was trained"
        best, last = self.best, self.epochs[-1]
        metrics: Mapping[str, float] = {} if best is None else best.val_metrics
        skipped = sum(record.overflows for record in self.epochs)
        return (
            f"{len(self.epochs)} epochs on {self.backend} in {self.seconds:.2f} s, "
            f"loss {self.epochs[0].loss:.4f} → {last.loss:.4f}, "
            f"best {self.best_loss:.4f} in epoch {self.best_epoch}"
            + "".join(f" ({name} {value:.4f})" for name, value in metrics.items())
            + (f", {skipped} steps skipped" if skipped else "")
            + f", ended by {self.stopped}"
        )


def read_copy_settings(values: Mapping[str, Any], origins: Mapping[str, str]) -> Markup:
    """Return a folded table of settings with their origins, nothing if there are none."""
    from webnnm.core.markup import html_table, join, tag

    rows = [(n, str(values[n]), origin) for n, origin in origins.items() if n in values]
    if not rows:
        return join([])
    table = html_table([("setting", "value", "origin"), *rows], head=True)
    return tag("details", tag("summary", "Settings"), table)


def plain(value: Any) -> Any:
    """Return a value in the form of strict JSON.

    >>> plain({"betas": (0.9, 0.99), "limit": float("inf"), "on_epoch": print})
    {'betas': [0.9, 0.99], 'limit': None}

    Mappings and dataclasses become dicts without their callables; arrays become lists, non-finite
    numbers become None, and values of other types become their text.
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    thing: Any = value
    if is_dataclass(thing) and not isinstance(thing, type):
        thing = {entry.name: getattr(value, entry.name) for entry in fields(thing)}
    if isinstance(thing, Mapping):
        entries = cast("Mapping[Any, Any]", thing).items()
        return {str(k): plain(v) for k, v in entries if not callable(v)}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        items = cast("Iterable[Any]", value)
        return [plain(item) for item in items if not callable(item)]
    if tolist := getattr(value, "tolist", None):  # an array or a NumPy scalar
        return plain(tolist())
    return str(value)


def _select_fields(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    entries = fields(cls)
    needed = {f.name for f in entries if f.default is f.default_factory is MISSING}
    if missing := sorted(needed - values.keys()):
        raise DataError(
            "NNM702",
            f"{cls.__name__}: {', '.join(missing)} is missing",
            hint="pass what History.to_dict returned",
        )
    return {f.name: values[f.name] for f in entries if f.name in values}


def _record(values: Mapping[str, Any]) -> EpochRecord:
    """Return a record from its dict; JSON has null for a loss that was not a number."""
    attributes = _select_fields(EpochRecord, values)
    for name in ("losses", "val_losses", "val_metrics"):
        numbers: dict[str, float | None] = attributes.get(name) or {}
        attributes[name] = {key: math.nan if n is None else n for key, n in numbers.items()}
    if attributes["loss"] is None:
        attributes["loss"] = math.nan
    return EpochRecord(**attributes)
