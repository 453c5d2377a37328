"""Who has a model at the moment: one training or test at a time, and nothing else changes it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from webnnm.core.errors import DataError


class Occupancy:
    """What occupies a model, such as "a training", and whether it changes the parameters.

    >>> model = Occupancy()
    >>> with model.by("a training", changes=True):
    ...     model.check()
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM712: a training of this model is in progress
    hint: await it first, as in `await model.train(…)`
    """

    def __init__(self) -> None:
        self._holder: object = None
        self._what = ""
        self._changes = False

    def take(self, holder: object, what: str, *, changes: bool = False) -> None:
        """Give the model to a holder. Raises `DataError` NNM712 if another one has it."""
        self.check()
        self._holder, self._what, self._changes = holder, what, changes

    def free(self, holder: object) -> None:
        """Take the model from a holder, if it has it."""
        if self._holder is holder:
            self._holder, self._what, self._changes = None, "", False

    def check(self) -> None:
        """Raise `DataError` NNM712 if the model is occupied."""
        if self._what:
            self._refuse()

    def check_parameters(self) -> None:
        """Raise `DataError` NNM712 if the parameters are being changed."""
        if self._changes:
            self._refuse()

    @contextmanager
    def by(self, what: str, *, changes: bool = False) -> Generator[None]:
        """Occupy the model for a while."""
        holder = object()
        self.take(holder, what, changes=changes)
        try:
            yield
        finally:
            self.free(holder)

    @contextmanager
    def resting(self) -> Generator[None]:
        """Let others compute with the parameters for a while, during which they do not change."""
        changes, self._changes = self._changes, False
        try:
            yield
        finally:
            self._changes = changes

    def _refuse(self) -> None:
        call = {"a training": "train", "a test": "test"}.get(self._what)
        raise DataError(
            "NNM712",
            f"{self._what} of this model is in progress",
            hint=f"await it first, as in `await model.{call}(…)`" if call else "await it first",
        )
