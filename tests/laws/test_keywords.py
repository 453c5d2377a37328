"""The keywords that editors complete are those that the calls take."""

from __future__ import annotations

from webnnm.model.creation import SETTINGS
from webnnm.model.keywords import CreateSettings, Hyperparameters
from webnnm.training.hyperparameters import HYPERPARAMETERS


def test_train_has_the_hyperparameters_of_the_table() -> None:
    assert list(Hyperparameters.__annotations__) == list(HYPERPARAMETERS)


def test_create_has_its_settings() -> None:
    assert list(CreateSettings.__annotations__) == list(SETTINGS)
