"""What is written down of an epoch and of a batch of a training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

Numbers = dict[str, float]


@dataclass(frozen=True)
class EpochRecord:
    """One epoch of a training (spec H).

    >>> record = EpochRecord(3, 20, 0.5, {"model": 0.5}, 1e-3, 0.25, val_metrics={"accuracy": 0.9})
    >>> print(record)
    epoch 3/20: loss 0.5000, accuracy 0.9000, lr 1.00e-03

    Attributes: `epoch` of `epochs`, from 1; `loss` of all outputs and `losses` per output, means
    over the rows that count; `lr` of the last step; `seconds`; `val_loss`, `val_losses` and
    `val_metrics` (name → number) on the validation subset, None and empty in epochs without one.
    `scale` is the gradient scale S (None where scaling is off), `clip_rate` the share of steps
    whose gradient was clipped, `clip_threshold` the last one, `grad_norm` the mean over the epoch
    (None where nothing is measured), `overflows` the steps skipped for their gradient,
    `penalty` that of the regularisation, which no loss includes, and `phases` seconds per phase
    ("data", "steps", "validation", …).
    """

    epoch: int
    epochs: int
    loss: float
    losses: Numbers
    lr: float
    seconds: float
    val_loss: float | None = None
    _: KW_ONLY
    val_losses: Numbers = field(default_factory=Numbers)
    val_metrics: Numbers = field(default_factory=Numbers)
    scale: float | None = None
    clip_rate: float | None = None
    clip_threshold: float | None = None
    grad_norm: float | None = None
    overflows: int = 0
    penalty: float | None = None
    phases: Numbers = field(default_factory=Numbers)

    @property
    def shown(self) -> str:
        """The losses and metrics in a few words: "loss 0.5000, validation 0.6000"."""
        val = {} if self.val_loss is None else {"validation": self.val_loss}
        numbers = {"loss": self.loss, **val, **self.val_metrics}
        return ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())

    def __str__(self) -> str:
        return f"epoch {self.epoch}/{self.epochs}: {self.shown}, lr {self.lr:.2e}"


@dataclass(frozen=True)
class BatchRecord:
    """One batch: its number in the epoch, from 1, the loss of all outputs, the learning rate."""

    epoch: int
    batch: int
    loss: float
    lr: float
