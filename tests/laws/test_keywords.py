"""The keywords that editors complete are those that the calls take, and so are their words."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from webnnm.backends.base import Backend
from webnnm.backends.selection import BACKENDS
from webnnm.data.protocol import AnyDataset
from webnnm.evaluation.epoch import BatchRecord, EpochRecord
from webnnm.model.creation import SETTINGS
from webnnm.model.keywords import CreateSettings, Hyperparameters
from webnnm.trainer.progress import DISPLAYS, Progress
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import SCHEDULES
from webnnm.training.settings import HYPERPARAMETERS

NAMES = {each.__name__: each for each in (AnyDataset, Backend, BatchRecord, EpochRecord, Progress)}


def words(type: Any) -> set[str]:
    """Return the strings among the values that a type lists."""
    if get_origin(type) is Literal:
        return {value for value in get_args(type) if isinstance(value, str)}
    return {word for part in get_args(type) for word in words(part)}


CREATE = {name: words(type) for name, type in get_type_hints(CreateSettings, None, NAMES).items()}
TRAIN = {name: words(type) for name, type in get_type_hints(Hyperparameters, None, NAMES).items()}


def test_train_has_the_hyperparameters_of_the_table() -> None:
    assert list(TRAIN) == list(HYPERPARAMETERS)


def test_create_has_its_settings() -> None:
    assert list(CREATE) == list(SETTINGS)


def test_words_are_those_of_the_registries() -> None:
    assert TRAIN["optimizer"] == set(OPTIMIZERS)
    assert TRAIN["schedule"] == set(SCHEDULES)
    assert TRAIN["progress"] == {"auto", "off", *DISPLAYS}
    assert CREATE["backend"] == {"auto", *BACKENDS}


@pytest.mark.parametrize("name", [name for name, listed in TRAIN.items() if listed])
def test_words_are_those_that_training_takes(name: str) -> None:
    hyperparameter = HYPERPARAMETERS[name]
    for word in TRAIN[name]:
        hyperparameter.read(word)
    if hyperparameter.range.startswith("one of "):
        assert TRAIN[name] >= set(hyperparameter.range.removeprefix("one of ").split(", "))
