"""The settings of Keras, scikit-learn and PyTorch, and their equivalents here."""

from __future__ import annotations

from collections.abc import Mapping

_LOSS = "write it in the text of the model: model:loss MSE;"
_SPLIT = "split the dataset: Dataset(…, split=(0.7, 0.15, 0.15))"
_WEIGHTS = "give the dataset row weights: Dataset(…, sample_weight=[…])"
_RATE = "lr=0.001 is a hyperparameter of train()"

SETTINGS: Mapping[str, str] = {
    "callback": "on_epoch= and on_batch= of train() take functions",
    "callbacks": "on_epoch= and on_batch= of train() take functions; patience= stops early",
    "criterion": _LOSS,
    "device": "device= or backend= of NNModel.create",
    "device_type": 'device= of NNModel.create, as in device="npu"',
    "early_stopping": "patience= of train() stops early, given validation rows",
    "eta": _RATE,
    "gradient_checkpointing": "recompute=True",
    "learning_rate": _RATE,
    "learning_rate_init": _RATE,
    "loss_function": _LOSS,
    "max_iter": "epochs=",
    "metrics": "leave it out: test() reports all that fit the labels, such as accuracy or R²",
    "n_epochs": "epochs=",
    "nb_epoch": "epochs=",
    "num_epochs": "epochs=",
    "random_state": "seed=",
    "lr_scheduler": "schedule= of train(), such as cosine or plateau",
    "reduce_lr_on_plateau": 'schedule="plateau"',
    "remat": "recompute=True",
    "sample_weight": _WEIGHTS,
    "sample_weights": _WEIGHTS,
    "solver": "optimizer=",
    "steps_per_epoch": "leave it out: an epoch visits every training row; set batch_size=",
    "validation_data": _SPLIT,
    "validation_freq": "validate_every=",
    "verbose": 'progress="off" of train() silences it',
}
"""Names of settings in other frameworks, in snake_case → what to write here."""
