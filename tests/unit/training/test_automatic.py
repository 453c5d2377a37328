"""Hyperparameters that follow from the number of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from webnnm.data.preparation.agreement import Agreement
from webnnm.training.automatic import complete_settings
from webnnm.training.settings import Settings, parse_settings


def choose(
    rows: int, parameters: int = 100, agreement: Agreement | None = None, **hyperparameters: Any
) -> Settings:
    settings = parse_settings(hyperparameters).resolve()
    return complete_settings(
        settings, rows=rows, batch_size=20, parameters=parameters, agreement=agreement
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


SMOOTH, NOISY = Agreement(2, 0.03, classes=True), Agreement(12, 0.6, classes=False)


def test_rows_decide_weight_decay() -> None:
    assert choose(210, agreement=SMOOTH).weight_decay == 0.015
    assert choose(210, agreement=NOISY).weight_decay == 0.86
    assert choose(900, agreement=NOISY).weight_decay == 0.41
    # Never less than four epochs, never more than 1, never 0.
    assert choose(60_000, agreement=NOISY, lr=0.01).weight_decay == 0.0083
    assert choose(50, agreement=replace(NOISY, features=90)).weight_decay == 1.0
    assert choose(4_000, agreement=replace(SMOOTH, unexplained=0.0)).weight_decay == 0.003


def test_only_a_default_of_an_adaptive_optimizer_is_decided() -> None:
    assert choose(210, agreement=NOISY, weight_decay=0.1).weight_decay == 0.1
    assert choose(210, agreement=NOISY, optimizer="lion").weight_decay == 0.01
    assert choose(210, agreement=NOISY, optimizer="adam").weight_decay == 0.0
    assert choose(210, agreement=NOISY, optimizer="adafactor").weight_decay == 0.0


def test_reasons_are_told() -> None:
    assert choose(210, agreement=SMOOTH).reasons == {
        "epochs": "default for 210 rows",
        "weight_decay": "default for 210 rows: the nearest neighbours agree in 97% of rows",
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
