"""Gathers the facts for the expert system from the history of a training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from webnnm.evaluation.baselines import Baselines
from webnnm.evaluation.history import History
from webnnm.expert.facts.facts import HistoryFacts, PredictionFacts, ScoutingFacts
from webnnm.training.losses import LOSSES
from webnnm.training.settings import HYPERPARAMETERS, FinalSettings, Settings

PREDICTION_FIELDS = {field.name for field in fields(PredictionFacts)}


def history_facts(history: History) -> HistoryFacts:
    """Return the facts of a history; while the training runs, those known so far.

    >>> history_facts(History({}, "numpy", stopped="epochs")).ended
    True
    """
    outcome: dict[str, Any] = history.outcome or {}
    losses = history.loss_settings
    return HistoryFacts(
        epochs=history.epochs,
        settings=_settings(history),
        best_epoch=history.best_epoch,
        stopped=history.stopped,
        ended=bool(history.stopped),
        references={name: _reference(loss) for name, loss in losses.items()},
        **{name: outcome.get(name, {}) for name in ("dead", "saturated", "gradients", "moved")},
        predictions=_predictions(outcome.get("outputs", {})),
        held_out=_predictions(outcome.get("held_out", {})),
        subset=outcome.get("subset", ""),
        baselines={
            name: Baselines.from_dict(saved) for name, saved in outcome.get("baselines", {}).items()
        },
    )


def _reference(loss: Mapping[str, Any]) -> float:
    """Return the loss of a constant prediction; that of a loss of one's own is unknown, NaN."""
    return (loss.get("reference") or 1.0) if loss.get("loss", "MSE") in LOSSES else math.nan


def _settings(history: History) -> FinalSettings:
    """Return the settings of a training, by defaults where another version did not record them."""
    values = {n: value for n, value in history.settings.items() if n in HYPERPARAMETERS}
    return Settings(**values).finish_without_data()


def _predictions(outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, PredictionFacts]:
    return {
        name: PredictionFacts(**{key: v for key, v in counts.items() if key in PREDICTION_FIELDS})
        for name, counts in outputs.items()
    }


def scouting_facts(table: Mapping[str, Any]) -> ScoutingFacts:
    """Return what a seed search measured, from its table: `History.scouting`."""
    best = table["candidates"][table["best"]]
    return ScoutingFacts.of(
        loss=best["loss"] / best["outputs"],
        dead=best.get("silent", {}),
        norms=table.get("batch_norms", []),
        initial_losses=table.get("initial_losses", {}),
    )
