"""Mistakes in the settings of the training."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import mistake
from tests.teach.programs import clusters, quantity, validated
from tests.teach.samples import blobs, houses, rings, spirals
from tests.teach.setup import Setup, of
from tests.teach.texts import classifier, regressor


def _rings(**train: object) -> Setup:
    """Return a program that is sound but for these settings: two rings."""
    return Setup(classifier(2, (16,), 2), of(*rings(), standardize=True), train)


# The learning rate and its schedule.


@mistake(
    "The learning rate is 0.0000001.",
    remedy="The default of the optimizer, 0.01.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=("E324",),
)
def rate_far_too_low() -> Setup:
    return clusters(optimizer="adam", lr=1e-7)


@mistake(
    "The learning rate of sgdm is 0.00001, for twenty epochs of a quantity.",
    remedy="The default of the optimizer, 0.02.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=("E324",),
)
def rate_too_low_for_sgdm() -> Setup:
    return quantity(optimizer="sgdm", lr=1e-5)


@mistake(
    "The learning rate of adam is 5.",
    remedy="The default of the optimizer, 0.01.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=("E305",),
)
def rate_far_too_high() -> Setup:
    return clusters(optimizer="adam", lr=5.0)


@mistake(
    "The learning rate of sgdm is 10, and the loss overflows.",
    remedy="The default of the optimizer, 0.02.",
    mended=lambda setup: setup.trained(lr=None),
    named_by=("E305",),
)
def rate_that_diverges() -> Setup:
    return quantity(optimizer="sgdm", lr=10.0, gradient_clipping="off", seeds=0)


@mistake(
    "The rate ends at min_lr=5, which is above the rate itself.",
    remedy="min_lr below lr, a hundredth of it or 0.",
    mended=lambda setup: setup.trained(min_lr=None),
    named_by=("E704",),
)
def lowest_rate_above_rate() -> Setup:
    return clusters(optimizer="adam", lr=0.01, min_lr=5.0, restore_best=False)


@mistake(
    "Nineteen of twenty epochs are warm-up.",
    remedy="Warm up for one or two epochs.",
    mended=lambda setup: setup.trained(warmup_epochs=None),
    why="the rate grows until the end, which costs time rather than accuracy",
    named_by=("E705",),
)
def all_warm_up() -> Setup:
    return quantity(optimizer="sgdm", epochs=20, warmup_epochs=19, lr=0.002)


@mistake(
    "The rate falls to a hundredth after every epoch.",
    remedy="A step after each third of the 200 epochs, to a tenth.",
    mended=lambda setup: setup.trained(step_epochs=67, step_factor=0.1),
    named_by=("E706",),
)
def rate_falls_too_soon() -> Setup:
    return clusters(optimizer="nesterov", schedule="step", step_epochs=1, step_factor=0.01)


@mistake(
    "The cosine schedule ends at 0 after two of sixty epochs.",
    remedy="schedule_epochs left out: the schedule then ends with the training.",
    mended=lambda setup: setup.trained(schedule_epochs=None),
    named_by=("E707",),
)
def schedule_ends_too_soon() -> Setup:
    return quantity(optimizer="nesterov", epochs=60, schedule_epochs=2)


# The optimizer.


@mistake(
    "Weight decay is 10.",
    remedy="About 0.01.",
    mended=lambda setup: setup.trained(weight_decay=None),
    named_by=("E414",),
)
def extreme_weight_decay() -> Setup:
    return clusters(optimizer="adamw", weight_decay=10.0)


@mistake(
    "Weight decay of 0.5 straightens the boundary between two spirals.",
    remedy="Leave weight_decay out, or about 0.02.",
    mended=lambda setup: setup.trained(weight_decay=None),
    named_by=("E927",),
)
def weight_decay_for_noise() -> Setup:
    data = of(*spirals(), standardize=True)
    return Setup(classifier(2, (32,), 2), data, {"weight_decay": 0.5, "epochs": 150})


@mistake(
    "The weights are pulled to zero by L1 with λ = 1.",
    remedy="λ around 0.0001.",
    mended=lambda setup: setup.trained(lambda1=1e-4),
    named_by=("E415",),
)
def extreme_l1() -> Setup:
    return clusters(regularization="L1", lambda1=1.0)


@mistake(
    "Momentum is 0.999: it takes a thousand steps to turn, and there are 300.",
    remedy="0.9.",
    mended=lambda setup: setup.trained(momentum_factor=None),
    named_by=("E326",),
)
def extreme_momentum() -> Setup:
    return quantity(optimizer="sgdm", momentum_factor=0.999)


@mistake(
    "ε of adam is 1, beside gradients of a hundredth: steps are tiny.",
    remedy="The default, 1e-8.",
    mended=lambda setup: setup.trained(epsilon=None),
    named_by=("E327",),
)
def epsilon_of_one() -> Setup:
    return clusters(optimizer="adam", epsilon=1.0, lr=0.002)


@mistake(
    "β₂ of adam is 0: each step has full length, whatever the gradient.",
    remedy="0.999.",
    mended=lambda setup: setup.trained(beta2=None),
    named_by=("E328",),
)
def adam_without_second_moment() -> Setup:
    return quantity(optimizer="adam", beta2=0.0, lr=0.05, schedule="constant")


@mistake(
    "Gradients are clipped to a millionth of the weights.",
    remedy="agc_lambda around 0.01.",
    mended=lambda setup: setup.trained(agc_lambda=None),
    named_by=("E325",),
)
def clipped_to_nothing() -> Setup:
    return quantity(optimizer="sgdm", gradient_clipping="agc", agc_lambda=1e-6)


@mistake(
    "Labels are smoothed by 0.95: hardly anything of them is left.",
    remedy="At most 0.1.",
    mended=lambda setup: setup.trained(label_smoothing=0.05),
    why="the largest class stays the largest: it is the probabilities that are wrong",
    named_by=("E507",),
)
def extreme_label_smoothing() -> Setup:
    return clusters(label_smoothing=0.95)


@mistake(
    "The scale of gradients is 1e30, far above what float16 holds: every batch overflows.",
    remedy='gradient_scaling="auto" with the default scale.',
    mended=lambda setup: setup.trained(scale=None),
    named_by=("E209",),
)
def gradient_scale_overflows() -> Setup:
    return clusters(compute_type="float16", gradient_scaling="on", scale=1e30, seeds=5)


# Batches and epochs.


@mistake(
    "One epoch is trained.",
    remedy="Twenty epochs and more, until the loss falls no further.",
    mended=lambda setup: setup.trained(epochs=40),
    named_by=("E709",),
)
def one_epoch() -> Setup:
    return quantity(epochs=1, optimizer="adam")


@mistake(
    "All rows make one batch, and there are ten epochs: ten updates.",
    remedy="Batches of 20 to 32 rows.",
    mended=lambda setup: setup.trained(batch_size=20),
    named_by=("E709",),
)
def full_batch_few_epochs() -> Setup:
    return quantity(batch_size=280, epochs=10, optimizer="adam")


@mistake(
    "A batch has 5,000 rows, the training subset 294.",
    remedy="Batches of 20 to 32 rows.",
    mended=lambda setup: setup.trained(batch_size=20),
    why="the batch is cut to the rows by itself, and the default epochs make up for it",
    named_by=("E609",),
)
def batch_larger_than_data() -> Setup:
    return clusters(batch_size=5000, optimizer="nesterov")


@mistake(
    "Batches of one row, with the learning rate for batches of 20.",
    remedy="Batches of 20 rows.",
    mended=lambda setup: setup.trained(batch_size=None),
    named_by=("E710",),
)
def batches_of_one_row() -> Setup:
    return clusters(batch_size=1, lr=0.1, epochs=6, schedule="constant", seeds=10)


@mistake(
    "A hundred batches make one update, and an epoch has fifteen.",
    remedy="accumulate=1.",
    mended=lambda setup: setup.trained(accumulate=None),
    why="the default epochs make up for it: there are as many updates",
    named_by=("E711",),
)
def accumulates_more_than_an_epoch() -> Setup:
    return quantity(accumulate=100, optimizer="adam")


@mistake(
    "Rows are sorted by class and not shuffled.",
    remedy="shuffle=True, which is the default.",
    mended=lambda setup: setup.trained(shuffle=None),
    named_by=("E610",),
)
def sorted_rows_not_shuffled() -> Setup:
    x, y = blobs(420, 6, 5, 1.4)
    by_class = np.argsort(y, kind="stable")
    data = of(x[by_class], y[by_class], standardize=True)
    settings = {"shuffle": False, "optimizer": "sgdm", "lr": 0.5, "schedule": "constant"}
    return Setup(classifier(5, (24,), 6), data, settings)


# Validation and stopping.


@mistake(
    "One epoch that is not better ends the training.",
    remedy="patience of 10 and more.",
    mended=lambda setup: setup.trained(patience=40),
    named_by=("E708",),
)
def patience_of_one() -> Setup:
    data = of(*spirals(300), split=(0.6, 0.1, 0.3), standardize=True)
    settings = {"patience": 1, "epochs": 60, "optimizer": "adam", "lr": 0.02, "seeds": 5}
    return Setup(classifier(2, (32,), 2), data, settings)


@mistake(
    "patience=5 is to prevent overfitting, but there are no validation rows.",
    remedy="Validation rows: split=(0.5, 0.2, 0.3).",
    mended=lambda setup: setup.but(
        data=of(*_overlapping(), split=(0.5, 0.2, 0.3), standardize=True)
    ),
    why="patience then follows the training loss; whether that costs accuracy, the data decide",
    named_by=("E714",),
)
def patience_without_validation() -> Setup:
    data = of(*_overlapping(), split=(0.7, 0, 0.3), standardize=True)
    settings = {"patience": 5, "epochs": 80, "optimizer": "adam", "seeds": 5}
    return Setup(classifier(10, (128,), 2), data, settings)


def _overlapping() -> tuple[np.ndarray, np.ndarray]:
    return blobs(160, 2, 10, 4.5)


@mistake(
    "Validation is every fiftieth epoch, and there are twenty epochs.",
    remedy="validate_every=1.",
    mended=lambda setup: setup.trained(validate_every=None),
    why="the last parameters may be as good as the best ones",
    named_by=("E712",),
)
def never_validated() -> Setup:
    return validated(validate_every=50, patience=3, epochs=20)


@mistake(
    "The last parameters are kept, not the best, at a constant rate that makes them swing.",
    remedy="restore_best=True, which is the default.",
    mended=lambda setup: setup.trained(restore_best=None),
    named_by=("E713",),
)
def best_not_restored() -> Setup:
    data = of(*houses(), split=(0.5, 0.2, 0.3), standardize=True)
    settings = {"restore_best": False, "optimizer": "lion", "lr": 0.01, "schedule": "constant"}
    return Setup(regressor(6, (24,)), data, settings, score="r2")


# Words that are not settings, and values out of range.


@mistake(
    "The number of epochs is misspelt: epoch=40.",
    remedy="epochs=40.",
    mended=lambda setup: setup.trained(epoch=None, epochs=40),
    named_by=("NNM703",),
)
def misspelt_setting() -> Setup:
    return _rings(epoch=40)


@mistake(
    "The learning rate is negative.",
    remedy="A rate above 0.",
    mended=lambda setup: setup.trained(lr=0.01),
    named_by=("NNM704",),
)
def negative_rate() -> Setup:
    return _rings(lr=-0.01)


@mistake(
    "The optimizer is one of another library, rmsprop.",
    remedy="adam.",
    mended=lambda setup: setup.trained(optimizer="adam"),
    named_by=("NNM704",),
)
def unknown_optimizer() -> Setup:
    return _rings(optimizer="rmsprop")


@mistake(
    "Labels are smoothed, and the loss is the mean squared error of a quantity.",
    remedy="No label smoothing.",
    mended=lambda setup: setup.trained(label_smoothing=None),
    named_by=("E507",),
)
def smoothed_quantities() -> Setup:
    return quantity(label_smoothing=0.1)


@mistake(
    "A small network is frozen to nine tenths, without having learnt anything before.",
    remedy="freeze=0.",
    mended=lambda setup: setup.trained(freeze=None),
    named_by=("E703",),
)
def frozen_without_having_learnt() -> Setup:
    setup = _rings(freeze=0.9, seeds=0)
    return setup.but(text=classifier(2, (6, 6), 2))


@mistake(
    "Thirty steps of a gru are trained without clipping, at a high rate.",
    remedy='gradient_clipping="global", and the default rate.',
    mended=lambda setup: setup.trained(gradient_clipping="global", lr=0.01),
    named_by=("E305",),
)
def gru_unclipped() -> Setup:
    draw = np.random.default_rng(31)
    x = draw.normal(0, 1, (160, 30, 1)).astype("float32")
    y = (x.sum(axis=(1, 2)) > 0).astype("int32")
    text = (
        "model:input shape=[1] sequence=true;\nmodel:output shape=[2];\n"
        "model:layers gru(v, r, bias=c, hiddenSize=8), matmul(w), add(b), softmax();\n"
    )
    settings = {
        "gradient_clipping": "off",
        "lr": 1.0,
        "optimizer": "adam",
        "seeds": 0,
        "epochs": 15,
        "schedule": "constant",
    }
    return Setup(text, of(x, y, length="max"), settings)
