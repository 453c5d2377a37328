"""The keywords of `NNModel.create` and `NNModel.train` with their types, for editors.

What each takes and means is said by `creation.SETTINGS` and `training.hyperparameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict


class CreateSettings(TypedDict, total=False):
    """The settings of `NNModel.create`."""

    source: str
    url: str
    path: Any
    dataset: Any
    backend: Literal["auto", "webnn", "numpy", "jax"]
    device_type: Literal["npu", "gpu", "cpu", "tpu"] | None
    optimize_for: Literal["size", "edge"]
    power_preference: Literal["default", "high-performance", "low-power"] | None
    seed: int
    batch_size: int | None
    sequence_length: int | Mapping[str, int] | None
    log: Callable[[str], None]
    strict: bool


class Hyperparameters(TypedDict, total=False):
    """The hyperparameters of `NNModel.train`."""

    epochs: int
    batch_size: int | None
    accumulate: int
    micro_steps: int | Literal["auto"]
    recompute: bool
    optimizer: str
    lr: float | None
    weight_decay: float | None
    momentum_factor: float | None
    beta1: float | None
    beta2: float | None
    alpha: float | None
    epsilon: float | None
    schedule: str
    schedule_epochs: int | None
    warmup_epochs: int
    step_epochs: int | None
    step_factor: float
    min_lr: float
    seeds: int
    patience: int
    validate_every: int
    restore_best: bool
    loss_weights: str | Mapping[str, float]
    label_smoothing: float
    freeze: float
    regularization: str
    lambda1: float
    lambda2: float
    optimize_for: str
    gradient_scaling: str | bool
    scale: float
    growth_interval: int
    gradient_clipping: str | bool
    clip_alpha: float
    clip_epsilon: float
    agc_lambda: float
    compute_type: str
    shuffle: bool
    seed: int | None
    silence: str | Sequence[str]
    progress: Any
    on_epoch: Callable[[Any], Any] | None
    on_batch: Callable[[Any], Any] | None
