"""The keyword arguments of `NNModel.create` and `NNModel.train` with their types, for editors.

`creation.SETTINGS` and `training.settings.Settings` define the values and meaning of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from webnnm.core.keywords import merge_keywords
from webnnm.training.settings import Settings, parse_settings

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation.epoch import BatchRecord, EpochRecord
    from webnnm.trainer.progress import Progress

Flag = Literal["on", "off"] | bool
"""What is on or off; a bool stands for the word."""

OptimizerName = Literal[
    "rlion",
    "lion",
    "nesterov",
    "nag",
    "sgdm",
    "adam",
    "adamw",
    "sgd",
    "adafactor",
]
"""The optimizers and their aliases: written by `make documents`."""


class CreateSettings(TypedDict, total=False):
    """The settings of `NNModel.create`."""

    source: str
    url: str
    path: str | os.PathLike[str]
    files: Mapping[str, Any] | None
    references: str | os.PathLike[str] | None
    dataset: AnyDataset | None
    backend: Literal["auto", "webnn", "onnxruntime", "numpy", "jax"] | Backend
    device: Literal["npu", "gpu", "cpu", "webgpu", "wasm", "tpu"] | None
    optimize_for: Literal["size", "edge"]
    review: bool | Literal["after"]
    accelerated: bool | None
    power_preference: Literal["default", "high-performance", "low-power"] | None
    seed: int
    batch_size: int | None
    sequence_length: int | Mapping[str, int] | None
    log: Callable[[str], Any]
    strict: bool


class Hyperparameters(TypedDict, total=False):
    """The hyperparameters of `NNModel.train`."""

    epochs: int | None
    batch_size: int | None
    accumulate: int
    micro_steps: int | Literal["auto"]
    recompute: bool
    optimizer: OptimizerName
    lr: float | None
    weight_decay: float | None
    momentum_factor: float | None
    beta1: float | None
    beta2: float | None
    alpha: float | None
    epsilon: float | None
    schedule: Literal["cosine", "constant", "linear", "step", "exponential", "onecycle", "plateau"]
    schedule_epochs: int | None
    warmup_epochs: int
    step_epochs: int | None
    step_factor: float
    min_lr: float
    seeds: int
    patience: int
    validate_every: int
    validation_split: float | None
    restore_best: bool
    loss: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None
    loss_weights: Literal["auto", "off"] | Mapping[str, float]
    class_weight: Literal["balanced"] | Mapping[str, float] | Mapping[int, float] | None
    label_smoothing: float
    freeze: float
    regularization: Literal["auto", "L1", "L2", "L1+L2", "off"]
    lambda1: float
    lambda2: float
    optimize_for: Literal["size", "edge"]
    gradient_scaling: Literal["auto"] | Flag
    scale: float
    growth_interval: int
    gradient_clipping: Literal["auto", "global", "agc"] | Flag
    clip_alpha: float
    clip_epsilon: float
    agc_lambda: float
    compute_type: Literal["auto", "float32", "float16"]
    shuffle: bool
    seed: int | None
    silence: str | Sequence[str]
    progress: (
        Literal["auto", "off", "notebook", "rich", "tqdm", "line"]
        | Progress
        | Callable[[dict[str, Any]], Any]
        | None
    )
    on_epoch: Callable[[EpochRecord], Any] | None
    on_batch: Callable[[BatchRecord], Any] | None


def read_hyperparameters(
    config: Mapping[str, Any] | None, more: Mapping[str, Any], call: str, example: str
) -> Settings:
    """Return the settings that a call has, as a dict or by keyword.

    `example` is a call with a keyword argument.
    """
    hint = f"pass keyword arguments, as in {example}"
    return parse_settings(merge_keywords(config, more, call, hint))
