"""Names, spellings, ranges and defaults of hyperparameters (spec E.1)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.errors import DataError
from webnnm.training.hyperparameters import HYPERPARAMETERS, resolve


def test_defaults() -> None:
    found = resolve({})
    assert found["epochs"] == 20
    assert found["optimizer"] == "rlion"
    assert found["schedule"] == "cosine"
    assert (found["patience"], found["validate_every"]) == (500, 1)
    assert found["restore_best"] is True
    assert (found["beta1"], found["beta2"], found["alpha"]) == (0.9, 0.99, 10)
    assert found["weight_decay"] == 0.01
    assert found["lr"] > 0


def test_defaults_of_another_optimizer() -> None:
    found = resolve({"optimizer": "sgdm"})
    assert (found["weight_decay"], found["momentum_factor"]) == (1e-4, 0.9)
    assert found["beta1"] is None


def test_given_values_win_over_the_optimizers() -> None:
    found = resolve({"optimizer": "sgdm", "lr": 0.5, "weight_decay": 0, "momentum_factor": 0})
    assert (found["lr"], found["weight_decay"], found["momentum_factor"]) == (0.5, 0, 0)


ALIASES = [(word, name) for name, h in HYPERPARAMETERS.items() for word in h.aliases]
VALUES: dict[str, Any] = {"restore_best": False, "on_epoch": print, "momentum_factor": 0.5}


@pytest.mark.parametrize(("word", "name"), ALIASES)
def test_aliases(word: str, name: str) -> None:
    value = VALUES.get(name, 7)
    assert resolve({word: value})[name] == value
    with pytest.raises(DataError, match="two spellings") as caught:
        resolve({word: value, name: value})
    assert caught.value.code == "NNM703"


@pytest.mark.parametrize(
    ("word", "hint"), [("epoch", '"epochs"'), ("optimiser", '"optimizer"'), ("foo", "")]
)
def test_unknown_names(word: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        resolve({word: 1})
    assert caught.value.code == "NNM703"
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("epochs", 0),
        ("epochs", 1.5),
        ("epochs", True),
        ("epochs", "ten"),
        ("batch_size", 0),
        ("lr", 0),
        ("lr", -1),
        ("lr", "high"),
        ("lr", float("nan")),
        ("lr", float("inf")),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("momentum_factor", 1),
        ("beta1", 1.0),
        ("beta2", -0.1),
        ("alpha", 0),
        ("optimizer", "adm"),
        ("optimizer", 3),
        ("schedule", "cosin"),
        ("warmup_epochs", -1),
        ("min_lr", -1),
        ("min_lr", float("nan")),
        ("patience", 0),
        ("validate_every", 0),
        ("restore_best", 1),
        ("shuffle", "yes"),
        ("seed", 0.5),
        ("on_epoch", 3),
    ],
)
def test_out_of_range(word: str, value: Any) -> None:
    with pytest.raises(DataError) as caught:
        resolve({word: value})
    assert caught.value.code == "NNM704"
    assert word in caught.value.message
    assert caught.value.hint


def test_words_are_case_insensitive() -> None:
    found = resolve({"optimizer": "SGDM", "schedule": "Constant"})
    assert (found["optimizer"], found["schedule"]) == ("sgdm", "constant")


@pytest.mark.parametrize(("warmup", "epochs"), [(5, 5), (6, 5), (1, 1)])
def test_warm_up_is_shorter_than_the_training(warmup: int, epochs: int) -> None:
    with pytest.raises(DataError) as caught:
        resolve({"warmup_epochs": warmup, "epochs": epochs})
    assert caught.value.code == "NNM704"


def test_automatic_warm_up_is_always_allowed() -> None:
    assert resolve({"epochs": 1})["warmup_epochs"] == 0
