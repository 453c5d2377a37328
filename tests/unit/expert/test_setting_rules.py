"""Rules on settings that somebody gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.expert.cases import (
    HALF,
    IRIS,
    TWO,
    Case,
    DataFacts,
    Facts,
    OutputFacts,
    ScoutingFacts,
    facts,
)
from webnnm.expert.review import review
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES
from webnnm.training.settings import parse_settings

ROWS = {"training": 105, "validation": 20, "testing": 45}


def trained(sizes: Mapping[str, int] | None = None, /, **settings: Any) -> Facts:
    """Return facts on a training with these settings, and the rows that there are."""
    return Facts(
        network=facts(IRIS).network,
        settings=parse_settings(settings).resolve(),
        data=DataFacts(sizes=sizes or {}),
    )


def linear(loss: str = "MSE", **settings: Any) -> Facts:
    """Return facts on a training for a quantity, or for scores of another loss."""
    known = trained(**settings)
    return Facts(
        network=known.network,
        settings=known.settings,
        outputs=[OutputFacts(name="m", activation="linear", loss=loss)],
    )


def weights(given: Any, **known: Any) -> Facts:
    """Return facts on two outputs with these weights."""
    return facts(TWO.format(kind=""), {"loss_weights": given}, **known)


STEP = {"schedule": "step", "epochs": 30}
KEPT = {"restore_best": False, "epochs": 30}

CASES = [
    Case("E209", facts(HALF, {"scale": 1e30}), "scale 1e+30", facts(HALF, {"scale": 1000.0})),
    Case(
        "E324",
        trained(optimizer="adam", lr=1e-7),
        "of the default 0.01 of adam",
        trained(optimizer="adam", lr=0.001),
    ),
    Case(
        "E325",
        trained(gradient_clipping="agc", agc_lambda=1e-6),
        "agc_lambda 1e-06 clips",
        trained(gradient_clipping="agc"),
    ),
    Case(
        "E326",
        trained(optimizer="sgdm", momentum_factor=0.999),
        "averages 1,000 steps",
        trained(optimizer="sgdm", momentum_factor=0.99),
    ),
    Case(
        "E327",
        trained(optimizer="adam", epsilon=1.0),
        "epsilon 1 is as large",
        trained(optimizer="adam", epsilon=1e-4),
    ),
    Case(
        "E328",
        trained(optimizer="adam", beta2=0.0),
        "beta2 0: steps of full length",
        trained(optimizer="adam", beta2=0.9),
    ),
    Case(
        "E414",
        trained(optimizer="adamw", weight_decay=10.0),
        "weight decay 10 takes",
        trained(optimizer="adamw", weight_decay=0.1),
    ),
    Case(
        "E415",
        trained(regularization="L1+L2", lambda1=1.0, lambda2=1e-3),
        "lambda1 1 outweighs the loss",
        trained(regularization="L1", lambda1=1e-3),
    ),
    Case(
        "E503",
        weights({"a": 100.0, "b": 0.001}),
        "100,000 times the smallest",
        weights({"a": 10.0, "b": 0.1}),
    ),
    Case(
        "E507",
        trained(label_smoothing=0.95),
        "leaves 5% of each label",
        trained(label_smoothing=0.1),
    ),
    Case("E507", linear(label_smoothing=0.1), "no output has classes", linear()),
    Case("E704", trained(lr=0.01, min_lr=5.0), "min_lr 5, lr 0.01", trained(lr=0.01, min_lr=1e-4)),
    Case(
        "E705",
        trained(epochs=20, warmup_epochs=19),
        "19 of 20 epochs are warm-up",
        trained(epochs=20, warmup_epochs=2),
    ),
    Case(
        "E706",
        trained(**STEP, step_epochs=1, step_factor=0.01),
        "a third of the epochs leaves 1e-20 of the rate",
        trained(**STEP, step_epochs=10),
    ),
    Case(
        "E707",
        trained(epochs=60, schedule_epochs=2),
        "ends after 2 of 60 epochs, at a rate of 0",
        trained(epochs=60, schedule_epochs=60),
    ),
    Case("E708", trained(epochs=60, patience=1), "patience 1 ends", trained(epochs=60, patience=5)),
    Case(
        "E709",
        trained(ROWS, epochs=2, optimizer="adam"),
        "12 updates: 2 epochs of 6",
        trained(ROWS, epochs=20, optimizer="adam"),
    ),
    Case(
        "E710",
        trained(batch_size=1),
        "batches of one row at lr",
        trained(batch_size=20),
    ),
    Case(
        "E711",
        trained(ROWS, accumulate=100),
        "accumulate 100, and an epoch has 6 batches",
        trained(ROWS, accumulate=2),
    ),
    Case(
        "E712",
        trained(ROWS, epochs=20, validate_every=50),
        "validation every 50 epochs, 20 epochs",
        trained(ROWS, epochs=20, validate_every=5),
    ),
    Case(
        "E713",
        trained(**KEPT, schedule="constant"),
        "kept, and a constant rate",
        trained(**KEPT),
    ),
    Case(
        "E714",
        trained({"training": 105}, epochs=80, patience=5),
        "patience 5 follows the training loss",
        trained(ROWS, epochs=80, patience=5),
    ),
    Case(
        "E715",
        trained(optimizer="adamw", momentum_factor=0.5),
        "momentum_factor 0.5 has no effect with optimizer='adamw'",
        trained(optimizer="sgdm", momentum_factor=0.5),
    ),
    Case(
        "E715",
        trained(schedule="cosine", step_epochs=3, step_factor=0.5),
        "step_factor 0.5 has no effect with schedule='cosine'",
        trained(schedule="plateau", step_epochs=3, step_factor=0.5),
    ),
    Case(
        "E715",
        trained(regularization="L1", lambda2=0.1),
        "lambda2 0.1 has no effect with regularization='L1'",
        trained(regularization="L1+L2", lambda2=0.1),
    ),
    Case(
        "E715",
        trained(gradient_clipping="agc", clip_alpha=0.5),
        "clip_alpha 0.5 has no effect with gradient_clipping='agc'",
        trained(gradient_clipping="global", clip_alpha=0.5),
    ),
    Case(
        "E715",
        trained(gradient_clipping="off", agc_lambda=0.1),
        "agc_lambda 0.1 has no effect with gradient_clipping='off'",
        trained(gradient_clipping="agc", agc_lambda=0.1),
    ),
]

DECAYED = trained(optimizer="adamw", weight_decay=10.0)

QUIET = [
    ("E209", facts(IRIS, {"scale": 1e30})),
    ("E324", facts(IRIS, {"optimizer": "adam", "lr": 1e-5}, trained_before=True)),
    ("E325", trained(agc_lambda=1e-6)),
    ("E714", trained({"training": 105}, epochs=80, patience=5, validation_split=0.2)),
    # The first step of lion has its own β₂.
    ("E328", trained(optimizer="lion", beta2=0.3)),
    ("E414", trained(optimizer="lion", weight_decay=1.0, lr=1e-5)),
    ("E414", trained(optimizer="adamw", weight_decay=1.0, lr=0.003)),
    ("E414", replace(DECAYED, settings=replace(DECAYED.settings, explicit=frozenset()))),
    ("E415", trained(regularization="L2", lambda1=1.0)),
    # Scores without an activation may be those of classes.
    ("E507", linear("CCEL", label_smoothing=0.1)),
    ("E507", linear("BCEL", label_smoothing=0.1)),
    # What the losses of the first batch are, E502 judges.
    ("E503", weights({"a": 1e4, "b": 1.0}, scouting=ScoutingFacts(initial_losses={"a": 1}))),
    ("E705", trained(schedule="onecycle")),
    ("E707", trained(epochs=60, schedule_epochs=2, schedule="constant")),
    ("E707", trained(epochs=60, schedule_epochs=2, lr=0.01, min_lr=0.005)),
    ("E708", trained(epochs=5, patience=1)),
    ("E709", trained(ROWS, optimizer="adam")),
    ("E710", trained(batch_size=1, accumulate=20)),
    ("E712", trained({"training": 105}, epochs=20, validate_every=50)),
    ("E714", trained({"training": 105})),
    # What the optimizer does not read, E715 reports.
    ("E326", trained(optimizer="adamw", momentum_factor=0.999)),
    ("E327", trained(optimizer="sgdm", epsilon=1.0)),
    ("E715", trained(optimizer="adamw", step_factor=0.1)),
    # Another rule may still choose the penalty and the clipping.
    ("E715", trained(lambda2=0.1, agc_lambda=0.1)),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert case.words in hit.message
    assert RULES[case.id].test(case.after) is None


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_rule_that_speaks_is_among_those_that_are_asked(case: Case) -> None:
    assert APPLIED_WHEN["settings"](case.before)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_training_with_the_fix_is_not_told_the_same(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    if not hit.fix:
        assert case.id == "E714", "it takes other rows"
        return
    known = case.before
    mended = Facts(
        network=known.network,
        settings=replace(
            known.settings, **hit.fix, explicit=known.settings.explicit | hit.fix.keys()
        ),
        outputs=known.outputs,
        data=known.data,
    )
    assert RULES[case.id].test(mended) is None


@pytest.mark.parametrize(("id", "known"), QUIET)
def test_rule_is_silent(id: str, known: Facts) -> None:
    assert RULES[id].test(known) is None


def test_usual_settings_need_no_more_rules() -> None:
    usual = trained(epochs=100, optimizer="adam", seed=1)
    assert not [name for name, needed in APPLIED_WHEN.items() if needed(usual)]
    assert not [one.id for one in review(usual).findings if one.severity != "info"]
