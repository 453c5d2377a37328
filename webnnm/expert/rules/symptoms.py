"""What tells that a training went wrong, whatever the cause, by rule."""

from __future__ import annotations

STUCK = ("E901", "E902", "E904", "E910", "E911", "E922")
"""The loss hardly falls, or the model knows little of what it was trained on."""
UNSTABLE = ("E908", "E909", "E912", "E913", "E918")
"""Steps or values are so large that units die, saturate, or weights leap."""
OVERFITTING = ("E903", "E905")
"""The model is much better on training rows than on others."""
