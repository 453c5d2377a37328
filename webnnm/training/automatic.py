"""Hyperparameters that follow from rows and parameters if they are not given (spec E.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import Settings

MIN_UPDATES = 3000
"""The minimum updates of a training, limited to this many epochs:"""
MIN_EPOCHS, MAX_EPOCHS = 20, 1000

MIN_RATE, MAX_RATE = 1e-3, 5e-2
VALIDATION_SHARE = 0.1
"""The share of training rows for validation,"""
MIN_ROWS = 2000
"""if there are this many of them, and no validation rows."""

SMALL_MODEL = 10_000
"""Up to this many parameters, the learning rate may also exceed the optimizer's default."""

OFF_VALUES = {
    "loss_weights": "off",
    "regularization": "off",
    "gradient_scaling": "off",
    "gradient_clipping": "off",
    "compute_type": "float32",
}
"""Settings that may be "auto", and what they are if no rule turns them on (spec F)."""

LAMBDA = {"L1": 1e-5, "L2": 1e-4}
"""λ of a regularization that is on, if none was given (spec E.7)."""

DECAY_EPOCHS = 4
"""Weight decay averages gradients over at least this many epochs (after Wang & Aitchison 2024)."""
MIN_DECAY, MAX_DECAY = 0.003, 1.0
MIN_UNEXPLAINED = 0.01
"""The smallest share of rows that neighbours leave unexplained: fewer are not counted reliably."""


def complete_settings(
    settings: Settings,
    *,
    rows: int,
    batch_size: int,
    parameters: int,
    can_split: bool = False,
    decay: float | None = None,
    reason: str = "",
) -> Settings:
    """Return settings completed from the training rows and the network.

    >>> settings = Settings().resolve()
    >>> complete_settings(settings, rows=105, batch_size=20, parameters=27).epochs
    500
    >>> complete_settings(replace(settings, epochs=20), rows=105, batch_size=20, parameters=27).lr
    0.05

    - `settings`: resolved; what the user set is kept. `rows` is 0 if there are no data yet.
    - `can_split`: whether rows can be held out for validation, and none are yet.
    - `decay`: weight decay that follows from the rows, where it `depends_on_rows`, and the `reason`
      for it.

    From 2000 rows, a tenth is for validation.

    Without `epochs`, there are as many as needed for 3000 updates, from 20 to 1000. The rate of
    adaptive optimizers falls with the square root of the number of updates, relative to 3000.
    Decoupled weight decay λ averages gradients over 1/(lr·λ) updates: it is lowered if these would
    be less than 4 epochs (after Wang & Aitchison 2024, "How to set AdamW's weight decay").
    """
    optimizer, epochs, lr = OPTIMIZERS[settings.optimizer], settings.epochs, settings.lr
    strength, share = settings.weight_decay, settings.validation_split
    assert lr is not None and strength is not None
    reasons: dict[str, str] = {}
    if share is None:
        share = VALIDATION_SHARE if can_split and rows >= MIN_ROWS else 0.0
    if rows:
        reasons["epochs"] = f"default for {rows:,} rows"
    rows -= int(rows * share)
    updates = max(1, -(-rows // batch_size) // settings.accumulate)
    if epochs is None:
        needed = min(-(-MIN_UPDATES // updates), MAX_EPOCHS) if rows else MIN_EPOCHS
        epochs = max(needed, MIN_EPOCHS, 2 * settings.warmup_epochs)
    if "lr" not in settings.explicit and rows and optimizer.adaptive:
        rate = lr * math.sqrt(MIN_UPDATES / (updates * epochs))
        limit = MAX_RATE if parameters <= SMALL_MODEL else lr
        lr = float(f"{min(max(rate, MIN_RATE), limit):.2g}")
    if "weight_decay" not in settings.explicit and optimizer.decoupled:
        if decay is not None:
            strength, reasons["weight_decay"] = decay, f"default for {reason}"
        longest = float(f"{1 / (DECAY_EPOCHS * updates * lr):.2g}")
        if longest < strength:
            strength = longest
            reasons["weight_decay"] = f"default for {rows:,} rows: averages {DECAY_EPOCHS} epochs"
    return replace(
        settings,
        epochs=epochs,
        lr=lr,
        weight_decay=strength,
        validation_split=share,
        reasons=reasons,
    )


def depends_on_rows(settings: Settings) -> bool:
    """Return whether rows decide weight decay: a default, of an adaptive optimizer, decoupled.

    >>> depends_on_rows(Settings()), depends_on_rows(Settings(optimizer="sgdm"))
    (True, False)
    """
    optimizer = OPTIMIZERS[settings.optimizer]
    is_decoupled = optimizer.decoupled and optimizer.weight_decay > 0
    return is_decoupled and optimizer.adaptive and "weight_decay" not in settings.explicit


def choose_decay(rows: int, features: int, unexplained: float) -> float:
    """Return λ = 0.7 · √(300/rows) · features/8 · unexplained^¾, from 0.003 to 1.

    >>> choose_decay(rows=210, features=2, unexplained=0.03), choose_decay(300, 12, 0.4)
    (0.015, 0.53)

    The more features there are, and the less the nearest rows predict the target, the more a
    network follows what is chance in its rows; the more rows, the less. The formula was fitted on
    the tuning sets of docs/defaults.md.
    """
    decay = 0.7 * math.sqrt(300 / rows) * features / 8 * max(unexplained, MIN_UNEXPLAINED) ** 0.75
    return float(f"{min(max(decay, MIN_DECAY), MAX_DECAY):.2g}")


def lower_decay(decay: float, rows: int, weights: int) -> float:
    """Return λ of a linear model: λ · weights/rows, at least 0.003, where rows outnumber weights.

    >>> lower_decay(0.25, rows=20, weights=2), lower_decay(0.25, rows=20, weights=30)
    (0.025, 0.25)

    A linear model follows chance no further than its `weights` for each predicted number let it,
    and as AdamW keeps weights below about 1/λ, it could not reach targets in units of their own.
    """
    return float(f"{min(max(decay * weights / rows, MIN_DECAY), decay):.2g}")


def turn_off_auto(settings: Settings) -> Settings:
    """Return settings in which those that are "auto" are what they are if no rule decides them.

    What the user left to be decided is no longer explicit.
    """
    values = settings.to_dict()
    auto_names = {name for name, value in values.items() if value == "auto"}
    off_values: dict[str, Any] = {
        name: off for name, off in OFF_VALUES.items() if name in auto_names
    }
    return replace(settings, **off_values, explicit=settings.explicit - auto_names)


def default_strengths(settings: Settings) -> dict[str, Any]:
    """Return the λ of each regularization that is on and has none.

    >>> default_strengths(Settings(regularization="L1+L2", lambda1=0.01))
    {'lambda2': 0.0001}
    """
    strengths: dict[str, Any] = {}
    if "L1" in settings.regularization and not settings.lambda1:
        strengths["lambda1"] = LAMBDA["L1"]
    if "L2" in settings.regularization and not settings.lambda2:
        strengths["lambda2"] = LAMBDA["L2"]
    return strengths
