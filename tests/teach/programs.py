"""Sound programs that many cases on the settings of the training begin with."""

from __future__ import annotations

from tests.teach.samples import blobs, houses
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import classifier, regressor

VALIDATED = (0.5, 0.2, 0.3)


def clusters(**train: object) -> Setup:
    """Return a program for six clusters that overlap, with these settings."""
    data = of(*blobs(420, 6, 5, 1.4), standardize=True)
    return Setup(classifier(5, (24,), 6), data, train)


def quantity(**train: object) -> Setup:
    """Return a program for a quantity of six features, with these settings."""
    data = of(*houses(), standardize=True, standardize_targets=True)
    return Setup(regressor(6, (24,)), data, train, score="r2")


def validated(data: Data | None = None, **train: object) -> Setup:
    """Return a program for the clusters with a validation subset, with these settings."""
    rows = of(*blobs(420, 6, 5, 1.4), split=VALIDATED, standardize=True)
    return Setup(classifier(5, (24,), 6), data or rows, train)
