"""What tells that a training went wrong, whatever the cause, by rule."""

from __future__ import annotations

BEATEN = ("E925", "E926")
"""A model without layers to choose, and without anything to tune, predicts other rows better."""
STUCK = ("E901", "E902", "E904", "E906", "E910", "E911", "E922", *BEATEN)
"""The loss hardly falls, or the model knows little of what it was trained on, no rare class."""
UNSTABLE = ("E908", "E909", "E912", "E913", "E918", *BEATEN)
"""Steps or values are so large that units die, saturate, or weights leap."""
OVERFITTING = ("E903", "E905", *BEATEN)
"""The model is much better on training rows than on others."""
TOO_GOOD = ("E904", *BEATEN)
"""Scores on other rows are those of a look-up: more epochs, and neighbours, raise them further."""
