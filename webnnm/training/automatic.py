"""Hyperparameters that follow from rows and parameters if they are not given (spec E.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from webnnm.training.optimizers import OPTIMIZERS

UPDATES = 3000
"""The minimum updates of a training, limited to this many epochs:"""
LEAST_EPOCHS, MOST_EPOCHS = 20, 1000

LEAST_RATE, MOST_RATE = 1e-3, 5e-2
HELD_BACK = 0.1
"""The share of training rows for validation,"""
ENOUGH = 2000
"""if there are this many of them, and no validation rows."""

SMALL = 10_000
"""Up to this many parameters, the learning rate may also exceed the optimizer's default."""

AUTOMATIC = {
    "loss_weights": "off",
    "regularization": "off",
    "gradient_scaling": "off",
    "gradient_clipping": "off",
    "compute_type": "float32",
}
"""Settings that may be "auto", and what they are if no rule turns them on (spec F)."""

LAMBDA = {"L1": 1e-5, "L2": 1e-4}
"""λ of a regularization that is on, if none was given (spec E.7)."""

DECAY_EPOCHS = 8
"""Weight decay averages gradients over at least this many epochs (Wang & Aitchison 2024)."""


def by_rows(
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    rows: int,
    batch_size: int,
    parameters: int,
    divisible: bool = False,
) -> dict[str, Any]:
    """Return resolved hyperparameters, completed from the training rows and the network.

    >>> settings = {"epochs": None, "optimizer": "adamw", "lr": 0.01, "weight_decay": 0.25,
    ...     "accumulate": 1, "warmup_epochs": 0, "validation_split": None}
    >>> by_rows(settings, {}, rows=105, batch_size=20, parameters=27)["epochs"]
    500
    >>> found = by_rows({**settings, "epochs": 20}, {}, rows=105, batch_size=20, parameters=27)
    >>> found["lr"]
    0.05

    - `given`: what the user set, which is kept; `rows` is 0 if there are no data yet.
    - `divisible`: whether rows can be held out for validation, and none are yet.

    From 2000 rows, a tenth is for validation.

    Without `epochs`, there are as many as needed for 3000 updates, from 20 to 1000. The rate of
    adaptive optimizers falls with the square root of the number of updates, relative to 3000.
    Decoupled weight decay λ averages gradients over 1/(lr·λ) updates: it is lowered if these would
    be less than 8 epochs (Wang & Aitchison 2024, "How to set AdamW's weight decay").
    """
    found = dict(settings)
    optimizer = OPTIMIZERS[found["optimizer"]]
    if found["validation_split"] is None:
        found["validation_split"] = HELD_BACK if divisible and rows >= ENOUGH else 0.0
    rows -= int(rows * found["validation_split"])
    updates = max(1, -(-rows // batch_size) // found["accumulate"])
    if found["epochs"] is None:
        wanted = min(-(-UPDATES // updates), MOST_EPOCHS) if rows else LEAST_EPOCHS
        found["epochs"] = max(wanted, LEAST_EPOCHS, 2 * found["warmup_epochs"])
    if "lr" not in given and rows and optimizer.adaptive:
        rate = found["lr"] * math.sqrt(UPDATES / (updates * found["epochs"]))
        most = MOST_RATE if parameters <= SMALL else found["lr"]
        found["lr"] = float(f"{min(max(rate, LEAST_RATE), most):.2g}")
    if "weight_decay" not in given and optimizer.decoupled:
        most = 1 / (DECAY_EPOCHS * updates * found["lr"])
        found["weight_decay"] = min(found["weight_decay"], float(f"{most:.2g}"))
    return found


def without_rules(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which those that are "auto" are what they are if no rule decides them."""
    return {name: AUTOMATIC.get(name, v) if v == "auto" else v for name, v in settings.items()}


def default_strengths(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the λ of each regularization that is on and has none.

    >>> default_strengths({"regularization": "L1+L2", "lambda1": 0.01, "lambda2": 0.0})
    {'lambda2': 0.0001}
    """
    kinds = (("L1", "lambda1"), ("L2", "lambda2"))
    on = str(settings.get("regularization"))
    return {name: LAMBDA[kind] for kind, name in kinds if kind in on and not settings.get(name)}
