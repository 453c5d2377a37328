"""Hyperparameters that follow from the number of rows."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.training.automatic import (
    choose_decay,
    complete_settings,
    depends_on_rows,
    lower_decay,
)
from webnnm.training.settings import Settings, parse_settings


def choose(
    rows: int,
    parameters: int = 100,
    decay: float | None = None,
    reason: str = "",
    **hyperparameters: Any,
) -> Settings:
    settings = parse_settings(hyperparameters).resolve()
    return complete_settings(
        settings, rows=rows, batch_size=20, parameters=parameters, decay=decay, reason=reason
    )


@pytest.mark.parametrize(
    ("rows", "epochs"),
    [(0, 20), (4, 1000), (105, 500), (1257, 48), (2_980, 21), (3_000, 20), (60_000, 20)],
)
def test_epochs_make_a_number_of_updates(rows: int, epochs: int) -> None:
    assert choose(rows).epochs == epochs
    assert choose(rows, epochs=7).epochs == 7


def test_updates_over_several_batches_are_counted_once() -> None:
    assert choose(100, accumulate=5).epochs == 1000
    assert choose(1000, accumulate=5).epochs == 300


def test_a_warm_up_that_is_given_fits_in() -> None:
    assert choose(60_000, warmup_epochs=30).epochs == 60


def test_weight_decay_averages_over_four_epochs_at_least() -> None:
    assert choose(1000).weight_decay == 0.25
    assert choose(60_000, lr=0.01).weight_decay == 0.0083
    assert choose(60_000, lr=0.001).weight_decay == 0.083
    assert choose(60_000, weight_decay=0.1).weight_decay == 0.1
    # Decay that is a part of the gradient is not an average of gradients.
    assert choose(60_000, optimizer="sgdm").weight_decay == 1e-4


def test_rows_decide_weight_decay() -> None:
    # Few features and agreeing neighbours, then many features that say little.
    assert choose_decay(210, 2, 0.03) == 0.015
    assert choose_decay(210, 12, 0.6) == 0.86
    assert choose_decay(900, 12, 0.6) == 0.41
    assert choose_decay(50, 90, 0.6) == 1.0
    assert choose_decay(4_000, 2, 0.0) == 0.003
    assert choose(210, decay=0.86).weight_decay == 0.86
    assert choose(60_000, decay=0.86, lr=0.01).weight_decay == 0.0083


def test_weight_decay_of_linear_models_is_lower_where_rows_outnumber_weights() -> None:
    assert lower_decay(0.25, 42, 2) == 0.012
    assert lower_decay(0.25, 10, 20) == 0.25
    assert lower_decay(0.25, 10_000, 2) == 0.003
    assert lower_decay(0.001, 10, 2) == 0.001


def test_only_a_default_of_an_adaptive_optimizer_depends_on_rows() -> None:
    assert depends_on_rows(parse_settings({}))
    assert not depends_on_rows(parse_settings({"weight_decay": 0.1}))
    for optimizer in ("lion", "adam", "adafactor", "sgdm"):
        assert not depends_on_rows(parse_settings({"optimizer": optimizer}))


def test_reasons_are_told() -> None:
    assert choose(210, decay=0.2, reason="210 rows: …").reasons == {
        "epochs": "default for 210 rows",
        "weight_decay": "default for 210 rows: …",
    }
    limited = choose(60_000, lr=0.01).reasons["weight_decay"]
    assert limited == "default for 60,000 rows: averages 4 epochs"
    assert choose(0).reasons == {}


@pytest.mark.parametrize(
    ("rows", "epochs", "rate"),
    [(105, 500, 0.01), (105, 50, 0.032), (105, 10, 0.05), (60_000, 20, 0.0022), (10**6, 99, 0.001)],
)
def test_short_trainings_learn_faster(rows: int, epochs: int, rate: float) -> None:
    assert choose(rows, epochs=epochs).lr == rate
    assert choose(rows, epochs=epochs, optimizer="adam").lr == rate
    assert choose(rows, epochs=epochs, lr=0.3).lr == 0.3
    # Others keep theirs, and so do large networks unless they train for long.
    assert choose(rows, epochs=epochs, optimizer="sgdm").lr == 0.02
    assert choose(rows, 20_000, epochs=epochs).lr == min(rate, 0.01)
