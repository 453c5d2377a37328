"""The records of an epoch and of a batch of a training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

Numbers = dict[str, float]


@dataclass(frozen=True)
class EpochRecord:
    """The results of one training epoch (spec H).

    >>> record = EpochRecord(3, 20, 0.5, {"model": 0.5}, 1e-3, 0.25, val_metrics={"accuracy": 0.9})
    >>> print(record)
    epoch 3/20: loss 0.5000, accuracy 0.9000, lr 1.00e-03

    Attributes: `epoch`, from 1, of `epochs`; `loss`, the total over all outputs, and `losses` per
    output, both averaged over the valid rows; `lr` at the last step; `seconds`; `val_loss`,
    `val_losses` and `val_metrics` (name → number) on the validation subset, None or empty in epochs
    without validation; `scale`, the gradient scale S, None without loss scaling; `clip_rate`, the
    fraction of steps whose gradient was clipped, and `clip_threshold`, the last threshold;
    `grad_norm`, the mean over the epoch, None if not measured; `overflows`, the number of steps
    skipped because of non-finite gradients; `penalty`, the regularisation term, which is not part
    of any loss; `phases`, seconds per phase ("data", "steps", "validation", …).
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
        """A summary of losses and metrics: "loss 0.5000, validation 0.6000"."""
        val = {} if self.val_loss is None else {"validation": self.val_loss}
        numbers = {"loss": self.loss, **val, **self.val_metrics}
        return ", ".join(f"{name} {value:.4f}" for name, value in numbers.items())

    def __str__(self) -> str:
        return f"epoch {self.epoch}/{self.epochs}: {self.shown}, lr {self.lr:.2e}"


@dataclass(frozen=True)
class BatchRecord:
    """One batch: its number in the epoch, from 1, its total loss, the learning rate."""

    epoch: int
    batch: int
    loss: float
    lr: float
