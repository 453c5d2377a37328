"""Sound programs: settings of the training that fit what is trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.teach.cases import sound
from tests.teach.programs import clusters, quantity, validated
from tests.teach.samples import blobs, lines
from tests.teach.setup import Setup, of
from tests.teach.texts import classifier, model, regressor
from webnnm import xp


def waiting_times(loss: str = "") -> Setup:
    """Return waiting times that one of three features makes longer, with a heavy tail."""
    draw = np.random.default_rng(29)
    x = draw.normal(size=(600, 3)).astype("float32")
    y = (0.5 * x[:, :1] + draw.exponential(2, (600, 1))).astype("float32")
    return Setup(regressor(3, (16,), loss=loss), of(x, y), {"epochs": 100}, score="r2")


@sound("Everything is left to train().")
def all_defaults() -> Setup:
    return clusters()


@sound("All 28 rows of a tiny table are one batch, with adam and many epochs.")
def full_batch_of_few_rows() -> Setup:
    x, y = lines(40, 0.1)
    data = of(x, y, standardize=True, standardize_targets=True)
    settings = {"batch_size": 28, "epochs": 300, "optimizer": "adam", "lr": 0.05}
    return Setup(regressor(3, ()), data, settings, score="r2")


@sound("adamw with a weight decay of 0.01.")
def low_weight_decay() -> Setup:
    return clusters(optimizer="adamw", weight_decay=0.01)


@sound("L2 with λ = 0.0001.")
def gentle_l2() -> Setup:
    return quantity(regularization="L2", lambda2=1e-4, epochs=30)


@sound("Labels smoothed by 0.1.")
def gentle_label_smoothing() -> Setup:
    return clusters(label_smoothing=0.1)


@sound("Early stopping after twenty epochs without a better one, on a fifth of the rows.")
def early_stopping() -> Setup:
    return validated(patience=20, epochs=80)


@sound("Two of forty epochs are warm-up, then a cosine.")
def warm_up_and_cosine() -> Setup:
    return quantity(optimizer="adam", warmup_epochs=2, epochs=40)


@sound("A rate of a tenth after every fifteen of forty-five epochs.")
def rate_in_steps() -> Setup:
    return clusters(
        optimizer="nesterov", schedule="step", step_epochs=15, step_factor=0.1, epochs=45
    )


@sound("The lowest rate is a hundredth of the rate.")
def lowest_rate_below_rate() -> Setup:
    return clusters(optimizer="adam", lr=0.01, min_lr=1e-4)


@sound("A constant low rate with many epochs.")
def constant_low_rate() -> Setup:
    return quantity(optimizer="adam", lr=0.003, schedule="constant", epochs=50)


@sound("One cycle to a rate of 0.1 and back, with nesterov.")
def one_cycle() -> Setup:
    return clusters(optimizer="nesterov", schedule="onecycle", lr=0.1, epochs=30)


@sound("Momentum of 0.9 with sgdm, which is usual.")
def usual_momentum() -> Setup:
    return clusters(optimizer="sgdm", momentum_factor=0.9, epochs=30)


@sound("Half precision with gradient scaling.")
def mixed_precision() -> Setup:
    return clusters(compute_type="float16", gradient_scaling="on", seeds=5)


@sound("Batches of 64 of 700 rows.")
def batches_of_64() -> Setup:
    data = of(*blobs(1000, 6, 5, 1.4), standardize=True)
    return Setup(classifier(5, (24,), 6), data, {"batch_size": 64, "epochs": 30, "seeds": 10})


@sound("Two batches of 16 make one update.")
def two_batches_an_update() -> Setup:
    return clusters(batch_size=16, accumulate=2, epochs=30)


@sound("The mean absolute error, because the median is wanted.")
def absolute_error() -> Setup:
    setup = quantity(epochs=40)
    return setup.but(text=regressor(6, (24,), loss="MAE"))


@sound("The median of waiting times, which are so skewed that it lies far below their mean.")
def median_of_waiting_times() -> Setup:
    return waiting_times("MAE")


@sound("The quantile of 0.9 of waiting times, above which one in ten lies.")
def high_quantile_of_waiting_times() -> Setup:
    return waiting_times("QUL; model:alpha 0.9")


@sound("A loss of one's own, in which answers that are too low cost three times as much.")
def loss_of_ones_own() -> Setup:
    def pinball(prediction: Any, target: Any) -> Any:
        error = target - prediction
        return xp.mean(xp.maximum(0.9 * error, -0.1 * error), axis=-1)

    return waiting_times().trained(loss=pinball)


@sound("No scouting, one seed: the training shall be the same as last week's.")
def no_scouting() -> Setup:
    return clusters(seeds=0, seed=7, optimizer="adam")


@sound("A layer that learns at half the rate.")
def layer_at_half_rate() -> Setup:
    layers = "dense(shape=[24], activation=relu, lrm=0.5), dense(shape=[6], activation=softmax)"
    return clusters().but(text=model(5, layers, 6))


@sound("Global clipping of the gradient.")
def global_clipping() -> Setup:
    return quantity(gradient_clipping="global", optimizer="sgdm", epochs=40)


@sound("The last parameters are kept, of a short training that does not overfit.")
def last_parameters_kept() -> Setup:
    return validated(restore_best=False, epochs=20)


@sound("Heavy regularisation for sixty rows: dropout, weight decay and early stopping.")
def few_rows_many_precautions() -> Setup:
    text = model(
        8,
        "dense(shape=[12], activation=relu), dropout(0.4), dense(shape=[2], activation=softmax)",
        2,
    )
    data = of(*blobs(100, 2, 8, 2.0), split=(0.5, 0.2, 0.3), standardize=True)
    settings = {"optimizer": "adamw", "weight_decay": 0.05, "patience": 25, "epochs": 100}
    return Setup(text, data, settings)
