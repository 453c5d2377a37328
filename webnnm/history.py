"""What a training leaves behind: a record per epoch and how it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: losses as means over valid rows, the learning rate of its last step, seconds."""

    epoch: int
    epochs: int
    loss: float
    losses: dict[str, float]
    lr: float
    seconds: float
    val_loss: float | None = None


@dataclass
class History:
    """The course of a training.

    Attributes: `epochs` (records), `best_epoch` and `best_loss` (by validation loss if there is
    one, else training loss; 0 and infinity before the first epoch), `stopped` ("epochs",
    "patience", "callback", "stop" or "error"), `settings` (hyperparameters as resolved),
    `backend`, `seconds`.
    """

    settings: dict[str, Any]
    backend: str
    epochs: list[EpochRecord] = field(default_factory=list[EpochRecord])
    best_epoch: int = 0
    best_loss: float = float("inf")
    stopped: str = ""
    seconds: float = 0.0

    @property
    def losses(self) -> list[float]:
        """The training loss of every epoch."""
        return [record.loss for record in self.epochs]

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain values, ready for JSON; no best loss before an epoch."""
        settings = {k: v for k, v in self.settings.items() if not callable(v)}
        best = self.best_loss if self.best_epoch else None
        return {**asdict(self), "settings": settings, "best_loss": best}

    def __str__(self) -> str:
        if not self.epochs:
            return "no epoch was trained"
        last = self.epochs[-1]
        return (
            f"{len(self.epochs)} epochs on {self.backend} in {self.seconds:.2f} s, "
            f"loss {self.epochs[0].loss:.4f} → {last.loss:.4f}, "
            f"best {self.best_loss:.4f} in epoch {self.best_epoch}, ended by {self.stopped}"
        )
