"""The course of a training in numbers that rules compare: relative losses, and skill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from webnnm.evaluation.epoch import EpochRecord
from webnnm.expert.facts.facts import Facts, HistoryFacts, PredictionFacts
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import Settings


def relative_loss(history: HistoryFacts, record: EpochRecord, *, validation: bool = False) -> float:
    """Return a loss divided by that of a constant prediction, the mean over the outputs."""
    losses = record.val_losses if validation else record.losses
    ratios = [loss / history.references.get(name, 1.0) for name, loss in losses.items()]
    return math.fsum(ratios) / len(ratios) if ratios else math.nan


def relative_losses(history: HistoryFacts, *, validation: bool = False) -> list[float]:
    """Return the relative losses of all epochs that have one."""
    losses = [relative_loss(history, record, validation=validation) for record in history.epochs]
    return [loss for loss in losses if math.isfinite(loss)]


def losses_to_monitor(history: HistoryFacts) -> list[float]:
    """Return the losses that decide on the best epoch: of validation rows if there are any."""
    return relative_losses(history, validation=True) or relative_losses(history)


def skill(predictions: PredictionFacts) -> float | None:
    """Return how much better predictions are than a constant one: 0 if no better, 1 if all right.

    R² or D² of a quantity; of C classes the mean recall, which is 1/C for a constant prediction,
    stretched to 0 … 1; None if it is unknown.

    >>> skill(PredictionFacts(support=(50, 50), predicted=(50, 50), hits=(40, 40)))
    0.6
    """
    recalls = _recalls(predictions)
    if predictions.explained is not None or len(recalls) < 2:
        return predictions.explained
    return round(_stretch(math.fsum(recalls) / len(recalls) - 1 / len(recalls), recalls), 6)


def score(predictions: PredictionFacts) -> float:
    """Return R² or D², or the share of rows whose class was found."""
    return (
        predictions.explained
        if predictions.explained is not None
        else sum(predictions.hits) / max(1, predictions.rows)
    )


def skill_margin(predictions: PredictionFacts) -> float:
    """Return by how much at most chance lowers a skill in 95% of cases: 1.64 standard errors.

    That of a recall r of n rows is √(r(1 − r)/n).
    """
    recalls = _recalls(predictions)
    rows = [rows for rows in predictions.support if rows]
    if predictions.explained is not None or len(recalls) < 2:
        return 0.0
    variance = math.fsum(r * (1 - r) / n for r, n in zip(recalls, rows, strict=True))
    return 1.64 * _stretch(math.sqrt(variance) / len(recalls), recalls)


def chance_skill(predictions: PredictionFacts) -> float:
    """Return the bound below which the skill of guesses stays in 95% of cases."""
    classes = len(_recalls(predictions))
    if predictions.explained is not None or classes < 2:
        return 0.0
    guessed = replace(predictions, hits=[rows / classes for rows in predictions.support])
    return skill_margin(guessed)


def _recalls(predictions: PredictionFacts) -> list[float]:
    if predictions.several:
        return []
    return [
        hit / rows for hit, rows in zip(predictions.hits, predictions.support, strict=True) if rows
    ]


def _stretch(value: float, recalls: Sequence[float]) -> float:
    return value / (1 - 1 / len(recalls))


def usual_rate(settings: Settings) -> float:
    """Return the default rate of the optimizer."""
    return OPTIMIZERS[settings.optimizer].rate


def percent(share: float) -> str:
    """Return a share as readable text: at most three digits, without invented zeros."""
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"


def updates(facts: Facts, history: HistoryFacts) -> int | None:
    """Return how many updates the weights had, None if the number of rows is unknown."""
    batch = history.settings.batch_size or facts.batch_size
    if not facts.data.training or not batch:
        return None
    steps = -(-facts.data.training // batch)
    return len(history.epochs) * -(-steps // history.settings.accumulate)


def highest_rate(history: HistoryFacts) -> tuple[float, int]:
    """Return the highest rate at the end of an epoch, and the number of the first such epoch."""
    record = max(history.epochs, key=lambda record: record.lr)
    return record.lr, record.epoch
