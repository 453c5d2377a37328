"""Rules on the course of losses, rates and steps (spec E913–E917).

Thresholds without another source were measured on the programs of tests/teach: sound programs stay
on the other side of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from webnnm.expert.facts.course import (
    highest_rate,
    losses_to_monitor,
    percent,
    relative_losses,
    updates,
    usual_rate,
)
from webnnm.expert.facts.facts import Facts, HistoryFacts
from webnnm.expert.facts.learning import (
    MAX_CONVERGED_LOSS,
    MIN_EPOCHS,
    MIN_LOSS_TO_LEARN,
    keeps_up_with_neighbours,
)
from webnnm.expert.rules.rule import Hit, after
from webnnm.expert.rules.symptoms import BEATEN, STUCK
from webnnm.training.optimizers import OPTIMIZERS

MIN_BATCH = 8
"""Gradients of fewer rows are noise that a rate for 20 rows does not average out."""
MAX_MOMENTUM = 0.95
"""Momentum m remembers 1/(1 − m) steps: over 20 steps or more, the loss surface has changed."""
MAX_FINAL_RATIO = 1.1
MIN_LEAP, MAX_LEAP_SHARE = 1.2, 0.15
"""A loss `MIN_LEAP` times that of the epoch before, in a share `MAX_LEAP_SHARE` of the epochs."""
LOW_RATE_RATIO, MAX_IDLE_SHARE = 0.02, 0.4
"""A rate below the first share of the highest does little; the second is a share of the epochs."""
MAX_RISING_SHARE = 0.8
"""A rate that is highest after this share of the epochs has been warming up all along."""
EARLY_SHARE, MIN_PATIENCE = 0.3, 10
"""Validation losses are noisy: a patience below 10 epochs can end a training by chance."""
MAX_OVERFLOWS = 0.1
"""Gradient scaling skips a step now and then to find its scale, but not one in ten."""


@after(
    "E913",
    "warning",
    "Lower lr, or let it fall with schedule='cosine'.",
    early=True,
    lowers=["lr"],
    explains=[*BEATEN, "E908", "E909", "E912", "E918"],
)
def unstable_loss(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The training loss repeatedly leaps up by 20% or more, or ends 10% or more above that of the
    first epoch; where the rate has fallen below half of its maximum, only leaps after that count.
    Only information where the best parameters are kept, and either have a loss below 0.3 times that
    of a constant prediction, or predict no worse than the nearest training rows.

    A step past the minimum raises the loss, and the next one turns back: above a certain rate this
    never ends. One leap is chance, one in seven epochs is not. A high rate that falls later is how
    schedules are meant: what counts then is whether the loss comes to rest.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[2]; "
    >>> text += "m:layers matmul(w, shape=[8]), add(b), tanh(), matmul(v), add(c), softmax();"
    >>> rows = [[i * 0.618 % 1, i * 0.414 % 1] for i in range(100)]
    >>> data = Dataset(rows, [int(a > b) for a, b in rows])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=30, lr=5, schedule="constant")
    >>> print(*[found for found in history.findings if found.id == "E913"])
    info E913: the training loss leapt up in 12 of 30 epochs, as from 3.78 to 8.32 in epoch 29 ...
      probably because of E305

    Ignore it where the best epoch is kept and good enough.
    """
    losses = relative_losses(history)
    high = MIN_LOSS_TO_LEARN / 2
    highest, peak = highest_rate(history)
    falls = [r.epoch for r in history.epochs if r.epoch > peak and r.lr < highest / 2]
    first = falls[0] if falls and len(losses) == len(history.epochs) else 1
    leaps = [
        k
        for k, (a, b) in enumerate(pairwise(losses), 2)
        if k >= first and b > max(MIN_LEAP * a, high)
    ]
    if len(losses) < MIN_EPOCHS:
        return None
    seen = len(losses) - first + 1
    if len(leaps) >= max(2, MAX_LEAP_SHARE * seen):
        message = (
            f"the training loss leapt up in {len(leaps)} of {seen} epochs, as from "
            f"{losses[leaps[-1] - 2]:.3g} to {losses[leaps[-1] - 1]:.3g} in epoch {leaps[-1]}"
        )
    elif losses[-1] > max(MAX_FINAL_RATIO * losses[0], MAX_CONVERGED_LOSS):
        message = f"the training loss rose from {losses[0]:.3g} to {losses[-1]:.3g}"
    else:
        return None
    rate, default = history.settings.lr, usual_rate(history.settings)
    fix: dict[str, Any] = {"lr": default if rate > default else rate / 10}
    if history.settings.schedule == "constant":
        fix["schedule"] = "cosine"
    momentum = history.settings.momentum_factor or 0.0
    optimizer = OPTIMIZERS[history.settings.optimizer]
    heavy = "momentum_factor" in optimizer.defaults and momentum > MAX_MOMENTUM
    if heavy:
        fix["momentum_factor"] = 0.9
    rows = facts.batch_size or MIN_BATCH
    return Hit(
        message=f"{message} (1 is a constant prediction), at lr {rate:g}"
        + f" and a momentum of {momentum:g}" * heavy
        + f" and batches of {rows} rows" * (rows < MIN_BATCH),
        remedy="Set momentum_factor=0.9, and lower lr." if heavy else "Lower lr." * bool(falls),
        severity="info" if _is_harmless(facts, history) else None,
        evidence={"epochs": leaps, "lr": rate},
        fix=fix,
    )


def _is_harmless(facts: Facts, history: HistoryFacts) -> bool:
    """Return whether the parameters that are kept have learnt what there is to learn."""
    if not (history.ended and history.settings.restore_best):
        return False
    lowest = min(losses_to_monitor(history), default=1.0)
    return lowest < MIN_LOSS_TO_LEARN or keeps_up_with_neighbours(facts, history)


@after(
    "E914", "warning", "Let the rate fall over all epochs: schedule='cosine' alone.", explains=STUCK
)
def early_decay(facts: Facts, history: HistoryFacts) -> Hit | None:
    """For 40% or more of the epochs the rate was below 2% of its maximum.

    Below 2% of the highest rate, parameters hardly move any more, and the epochs are wasted.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=40, schedule="step", step_epochs=4, step_factor=0.01)
    >>> print(*[found for found in history.findings if found.id == "E914"])
    info E914: from epoch 5 on lr was below 2% of its highest, 0.05: 36 of 40 epochs changed ...
      probably because of E706

    Ignore it where fine-tuning at the end is worth the time.
    """
    highest, _ = highest_rate(history)
    low = [record for record in history.epochs if record.lr < LOW_RATE_RATIO * highest]
    if len(low) < max(2, MAX_IDLE_SHARE * len(history.epochs)) or losses_to_monitor(history)[
        -1:
    ] < [MAX_CONVERGED_LOSS]:
        return None
    return Hit(
        message=f"from epoch {low[0].epoch} on lr was below {percent(LOW_RATE_RATIO)} of its "
        f"highest, {highest:.3g}: {len(low)} of {len(history.epochs)} epochs changed hardly "
        "anything",
        evidence={"from": low[0].epoch, "highest": highest},
        fix={"schedule": "cosine", "schedule_epochs": None},
    )


@after("E915", "warning", "Warm up for one or two epochs, with min_lr below lr.", explains=STUCK)
def long_warm_up(facts: Facts, history: HistoryFacts) -> Hit | None:
    """The rate was rising for 80% or more of the epochs.

    A warm-up is for the first steps, when gradients are still large and erratic. Throughout the
    training it means that the rate was too low nearly all the time, and highest when it should have
    fallen.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [1 - i / 40 for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, warmup_epochs=18)
    >>> print(*[found for found in history.findings if found.id == "E915"])
    info E915: lr rose until epoch 18 of 20, from 0.00278 to 0.05
      probably because of E705

    Ignore it where the rate is being searched, as in a range test.
    """
    highest, epoch = highest_rate(history)
    first, total = history.epochs[0], len(history.epochs)
    if (
        total < MIN_EPOCHS + 2
        or first.lr > highest / 2
        or epoch - first.epoch < MAX_RISING_SHARE * (total - 1)
    ):
        return None
    return Hit(
        message=f"lr rose until epoch {epoch} of {total}, from {first.lr:.3g} to {highest:.3g}",
        evidence={"epoch": epoch, "highest": highest},
        fix={"warmup_epochs": max(1, total // 20)},
    )


@after("E916", "warning", "Set a larger patience.", raises=["patience"], explains=STUCK)
def early_stop(facts: Facts, history: HistoryFacts) -> Hit | None:
    """A patience below 10 ended the training in its first 30%, with a training loss above 0.3
    times that of a constant prediction.

    The validation loss goes up and down by chance. A patience of a few epochs takes the first rise
    for the end.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> import math
    >>> text = "m:input shape=[1]; m:output shape=[1]; "
    >>> text += "m:layers matmul(w, shape=[16]), add(b), tanh(), matmul(v);"
    >>> rows, targets = [[i / 10] for i in range(60)], [math.sin(i / 3) for i in range(60)]
    >>> data = Dataset(rows, targets, split=(0.4, 0.4, 0.2))
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=500, patience=1)
    >>> print(*[found for found in history.findings if found.id == "E916"])
    info E916: patience 1 ended the training after 7 of 500 epochs
      probably because of E708

    Ignore it where the training is only a trial.
    """
    patience, total = history.settings.patience, history.settings.epochs
    done = history.epochs[-1].epoch
    if history.stopped != "patience" or patience >= MIN_PATIENCE or done >= EARLY_SHARE * total:
        return None
    if relative_losses(history)[-1:] < [
        MIN_LOSS_TO_LEARN
    ]:  # everything there was to learn is learnt
        return None
    return Hit(
        message=f"patience {patience} ended the training after {done} of {total} epochs",
        evidence={"patience": patience, "epochs": done},
        fix={"patience": 2 * MIN_PATIENCE},
    )


@after(
    "E917",
    "warning",
    "Lower scale, or set compute_type='float32'.",
    lowers=["scale"],
    explains=STUCK,
)
def gradient_overflow(facts: Facts, history: HistoryFacts) -> Hit | None:
    """One in ten steps or more was skipped, because its gradient left the range of float16.

    A gradient beyond 65,504 is infinite in float16, and its step is skipped. Now and then that
    serves to find the right scale; one in ten costs a tenth of the training.

    >>> from webnnm import Dataset
    >>> from webnnm.sync import NNModel
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 40] for i in range(40)], [9000.0 * i for i in range(40)])
    >>> model = NNModel.create(source=text, dataset=data, backend="numpy", log=lambda line: None)
    >>> history = model.train(epochs=20, compute_type="float16", scale=65536)
    >>> print(*[found for found in history.findings if found.id == "E917"])
    info E917: 40 of 40 steps were skipped: their gradients were not finite
      probably because of E209

    Ignore it where the loss falls as far as in float32.
    """
    skipped = sum(record.overflows for record in history.epochs)
    steps = updates(facts, history)
    if not steps or skipped <= MAX_OVERFLOWS * steps:
        return None
    return Hit(
        message=f"{skipped} of {steps} steps were skipped: their gradients were not finite",
        evidence={"skipped": skipped, "steps": steps},
        fix={"compute_type": "float32"},
    )
