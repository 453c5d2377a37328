"""Names, spellings, ranges and defaults of hyperparameters (spec E.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.core.naming import camel_case
from webnnm.training.settings import HYPERPARAMETERS, Settings, parse_settings

NAN, INF = float("nan"), float("inf")

DEFAULTS: dict[str, Any] = {
    "epochs": None,
    "optimizer": "adamw",
    "epsilon": 1e-8,
    "alpha": None,  # of rlion
    "schedule": "cosine",
    "warmup_epochs": 0,
    "step_factor": 0.1,
    "min_lr": 0,
    "seeds": 1,
    "patience": 500,
    "validate_every": 1,
    "restore_best": True,
    "loss_weights": "auto",
    "freeze": 0,
    "regularization": "auto",
    "lambda1": 0,
    "lambda2": 0,
    "optimize_for": "size",
    "gradient_scaling": "auto",
    "scale": 1000,
    "growth_interval": 1000,
    "gradient_clipping": "auto",
    "clip_alpha": 0.95,
    "clip_epsilon": 1e-6,
    "agc_lambda": 0.01,
    "compute_type": "auto",
    "shuffle": True,
    "on_epoch": None,
    "on_batch": None,
    "beta1": 0.9,
    "beta2": 0.999,
    "weight_decay": 0.25,
}
ALIASES = {
    "batchSize": "batch_size",
    "weightDecay": "weight_decay",
    "momentumFactor": "momentum_factor",
    "mu": "momentum_factor",
    "momentum": "momentum_factor",
    "warmupEpochs": "warmup_epochs",
    "minLr": "min_lr",
    "validateEvery": "validate_every",
    "restoreBest": "restore_best",
    "lossWeights": "loss_weights",
    "regularisation": "regularization",
    "optimizeFor": "optimize_for",
    "gradientScaling": "gradient_scaling",
    "scaling": "gradient_scaling",
    "growthInterval": "growth_interval",
    "gradientClipping": "gradient_clipping",
    "clipping": "gradient_clipping",
    "computeType": "compute_type",
}
SPELLINGS = {
    spelling: name
    for name, hyperparameter in HYPERPARAMETERS.items()
    for spelling in (camel_case(name), *hyperparameter.spellings)
    if spelling != name
}
VALUES: dict[str, Any] = {
    "batch_size": 7,
    "weight_decay": 0.5,
    "momentum_factor": 0.5,
    "warmup_epochs": 3,
    "step_epochs": 4,
    "schedule_epochs": 4,
    "step_factor": 0.25,
    "min_lr": 1e-5,
    "validate_every": 2,
    "validation_split": 0.2,
    "class_weight": "balanced",
    "restore_best": False,
    "loss_weights": {"a": 2.0},
    "label_smoothing": 0.1,
    "regularization": "L1+L2",
    "optimize_for": "edge",
    "gradient_scaling": "on",
    "growth_interval": 10,
    "gradient_clipping": "agc",
    "clip_alpha": 0.5,
    "clip_epsilon": 1e-3,
    "agc_lambda": 0.1,
    "compute_type": "float16",
    "micro_steps": 4,
    "on_epoch": print,
    "on_batch": print,
}


def resolve(hyperparameters: dict[str, Any]) -> Settings:
    return parse_settings(hyperparameters).resolve()


def catch_error(code: str, **settings: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        resolve(settings)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_defaults(name: str, value: Any) -> None:
    assert getattr(resolve({}), name) == value


def test_defaults_of_other_optimizers() -> None:
    assert resolve({}).lr > 0
    found = resolve({"optimizer": "sgdm"})
    assert (found.weight_decay, found.momentum_factor) == (1e-4, 0.9)
    assert found.beta1 is None
    found = resolve({"optimizer": "adamw"})
    assert (found.weight_decay, found.beta1, found.beta2) == (0.25, 0.9, 0.999)
    assert found.epsilon == 1e-8
    assert resolve({"optimizer": "adam"}).weight_decay == 0
    assert resolve({"optimizer": "lion"}).weight_decay == 0.01


def test_given_values_win_over_the_optimizers() -> None:
    found = resolve({"optimizer": "sgdm", "lr": 0.5, "weight_decay": 0, "momentum_factor": 0})
    assert (found.lr, found.weight_decay, found.momentum_factor) == (0.5, 0, 0)
    assert resolve({"optimizer": "adam", "beta1": 0}).beta1 == 0


def test_every_alias_of_the_specification() -> None:
    assert ALIASES.items() <= SPELLINGS.items()


@pytest.mark.parametrize(("word", "name"), SPELLINGS.items())
def test_aliases(word: str, name: str) -> None:
    value = VALUES[name]
    assert getattr(resolve({word: value}), name) == value
    error = catch_error("NNM703", **{word: value, name: value})
    assert "two spellings" in error.message
    assert name in error.message


def test_two_aliases_of_one_name() -> None:
    catch_error("NNM703", mu=0.5, momentum=0.5)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("epoch", '"epochs"'),
        ("optimiser", '"optimizer"'),
        ("learningrate", ""),
        ("weight_decai", '"weight_decay"'),
        ("batchsize", '"batch'),
        ("gradient_cliping", '"gradient_clipping"'),
        ("foo", ""),
    ],
)
def test_unknown_names(word: str, hint: str) -> None:
    error = catch_error("NNM703", **{word: 1})
    assert f'"{word}"' in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("word", "bad"),
    [
        ("epochs", [0, -1, 1.5, True, "ten", NAN, 2**64]),
        ("batch_size", [0, -3, 2.0, "all", 2**31]),
        ("accumulate", [0, 1.5, True, 2**64]),
        ("micro_steps", [0, 1.5, True, "some", 2**64]),
        ("optimizer", ["adm", 3, ""]),
        ("lr", [0, -1, "high", NAN, INF, True, 10**400]),
        ("weight_decay", [-0.1, NAN, INF, "off"]),
        ("momentum_factor", [1, -0.1, 2, NAN]),
        ("beta1", [1.0, -0.1, "x"]),
        ("beta2", [1, -0.1, NAN]),
        ("alpha", [0, -1, INF]),
        ("epsilon", [0, -1e-8]),
        ("schedule", ["cosin", 1, True]),
        ("warmup_epochs", [-1, 0.5, True, 2**64]),
        ("step_epochs", [0, 1.5, 2**64]),
        ("step_factor", [0, 1.1, -0.5, NAN]),
        ("min_lr", [-1, NAN]),
        ("seeds", [-1, 1.5, True, "many", 2**64]),
        ("patience", [0, 1.5, 2**64]),
        ("validate_every", [0, "often", 2**64]),
        ("restore_best", [1, "yes"]),
        (
            "loss_weights",
            [3, "none", {"a": 0}, {"a": -1}, {"a": INF}, {"a": NAN}, {"a": "b"}, {"a": 10**400}],
        ),
        ("label_smoothing", [1, -0.1]),
        ("freeze", [-0.1, 1.1, "all", NAN]),
        ("regularization", ["L3", 2, "L2+L2", True]),
        ("lambda1", [-1e-9, NAN]),
        ("lambda2", [-1, INF]),
        ("optimize_for", ["speed", 1]),
        ("gradient_scaling", ["maybe", 1, 1000]),
        ("scale", [0.5, 0, NAN, INF, "big"]),
        ("growth_interval", [0, 2.5, 2**64]),
        ("gradient_clipping", ["norm", 5, 0.5]),
        ("clip_alpha", [1, -0.1]),
        ("clip_epsilon", [0, -1]),
        ("agc_lambda", [0, -0.01]),
        ("compute_type", ["float64", 16]),
        ("shuffle", ["yes", 0]),
        ("seed", [0.5, "a", True, 2**64, -(2**64)]),
        ("on_epoch", [3, "print"]),
        ("on_batch", [[], 0]),
    ],
)
def test_out_of_range(word: str, bad: list[Any]) -> None:
    for value in bad:
        error = catch_error("NNM704", **{word: value})
        assert word in error.message
        assert error.hint


LONG = {"hundreds": 10**400, "thousands": 10**5000, "inside": {"a": 10**5000}, "word": "x" * 5000}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_what_is_much_too_long_is_refused_in_a_line(value: Any) -> None:
    for word in ("epochs", "lr", "loss_weights", "optimizer"):
        error = catch_error("NNM704", **{word: value})
        assert len(error.message) < 150
        assert error.message.startswith(f"{word} is ")


@pytest.mark.parametrize("word", ["patience", "optimizer", "seeds", "restore_best", "freeze"])
def test_none_is_not_a_value_where_there_is_a_default(word: str) -> None:
    catch_error("NNM704", **{word: None})


@pytest.mark.parametrize(
    ("word", "edge"),
    [
        ("epochs", [1]),
        ("batch_size", [1]),
        ("lr", [1e-30, 1e30, 1]),
        ("weight_decay", [0]),
        ("momentum_factor", [0, 0.999]),
        ("beta2", [0]),
        ("step_factor", [1, 1e-6]),
        ("min_lr", [0]),
        ("seeds", [0]),
        ("freeze", [0, 1, 0.5]),
        ("scale", [1]),
        ("growth_interval", [1]),
        ("clip_alpha", [0]),
        ("seed", [-5, 0, 2**64 - 1]),
        ("patience", [1, 2**64 - 1]),
    ],
)
def test_edges_of_the_ranges(word: str, edge: list[Any]) -> None:
    assert [getattr(resolve({word: value}), word) for value in edge] == edge


@pytest.mark.parametrize(
    ("word", "flag", "expected"),
    [
        ("gradient_scaling", True, "on"),
        ("gradient_scaling", False, "off"),
        ("gradient_scaling", "ON", "on"),
        ("gradient_clipping", True, "global"),
        ("gradient_clipping", "on", "global"),
        ("gradient_clipping", False, "off"),
        ("gradient_clipping", "Off", "off"),
        ("regularization", False, "off"),
    ],
)
def test_on_and_off(word: str, flag: Any, expected: str) -> None:
    assert getattr(resolve({word: flag}), word) == expected


def test_words_are_case_insensitive() -> None:
    found = resolve(
        {
            "optimizer": "SGDM",
            "schedule": "Constant",
            "regularization": "l1+l2",
            "gradient_clipping": "AGC",
            "compute_type": "FLOAT16",
            "loss_weights": "AUTO",
            "optimize_for": "Edge",
        }
    )
    assert (found.optimizer, found.schedule) == ("sgdm", "constant")
    assert (found.regularization, found.gradient_clipping) == ("L1+L2", "agc")
    assert (found.compute_type, found.loss_weights) == ("float16", "auto")
    assert found.optimize_for == "edge"
    assert resolve({"optimizer": "Nag"}).optimizer == "nesterov"


@pytest.mark.parametrize(("warmup", "epochs"), [(5, 5), (6, 5), (1, 1)])
def test_warm_up_is_shorter_than_the_training(warmup: int, epochs: int) -> None:
    error = catch_error("NNM704", warmup_epochs=warmup, epochs=epochs)
    assert str(warmup) in error.message
    assert str(epochs) in error.message


def test_automatic_warm_up_is_always_allowed() -> None:
    assert resolve({"epochs": 1}).warmup_epochs == 0
    assert resolve({"epochs": 2, "warmup_epochs": 1}).warmup_epochs == 1


def test_explicit_values_are_what_was_written_and_no_more() -> None:
    assert parse_settings({}).explicit_values() == {}
    explicit = parse_settings({"mu": 0.5, "lr": 1}).explicit_values()
    assert explicit == {"momentum_factor": 0.5, "lr": 1}


def test_defaults_do_not_replace_what_was_written() -> None:
    settings = parse_settings({"seed": 3, "batch_size": None})
    settings = settings.with_defaults(seed=1, batch_size=8, optimize_for="edge")
    assert (settings.seed, settings.batch_size, settings.optimize_for) == (3, 8, "edge")
    assert settings.explicit == {"seed", "batch_size"}


def test_settings_are_final_once_nothing_is_unknown() -> None:
    settings = replace(resolve({}), epochs=2, batch_size=4, validation_split=0.0)
    with pytest.raises(AssertionError, match="seed"):
        settings.finish()
    final = replace(settings, seed=1).finish()
    assert replace(final, lr=0.5).to_dict() == {**final.to_dict(), "lr": 0.5}


def test_functions_and_displays_end_with_the_process() -> None:
    written = {"epochs": 3, "on_epoch": print, "loss": print, "progress": object()}
    kept = parse_settings(written).without_objects()
    assert (kept.on_epoch, kept.loss, kept.progress) == (None, None, "auto")
    assert kept.explicit == {"epochs"}
    assert parse_settings({"progress": "off"}).without_objects().progress == "off"


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_default_is_one_of_the_values(name: str) -> None:
    default = getattr(Settings(), name)
    assert HYPERPARAMETERS[name].read(default) == default
