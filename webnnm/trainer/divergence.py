"""Where a training diverged: the first step, and the layer, with numbers that are not finite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webnnm.core.errors import DataError
from webnnm.core.finding import Finding
from webnnm.trainer.training_run import TrainingRun
from webnnm.training.scaling import MAX_OVERFLOWS
from webnnm.training.totals import DIVERGED_REMEDY, Totals

ORDINARY_VALUE = 100.0
"""Values below this are far from 65504, the largest float16."""
SCALE_REMEDY = "Lower scale, or set compute_type='float32'."


@dataclass(frozen=True)
class Divergence:
    """What diverged, in which epoch and batch, at which learning rate, `where` ("" if unknown).

    `largest` is the largest value before it; `remedy` is what to do.
    """

    what: str
    epoch: int
    batch: int
    rate: float
    where: str
    largest: float
    remedy: str = DIVERGED_REMEDY

    @property
    def finding(self) -> Finding:
        """The finding of the expert system."""
        return Finding(
            id="E311",
            severity="error",
            message=f"{self.what} in epoch {self.epoch}, batch {self.batch}",
            remedy=self.remedy,
            evidence={"layer": self.where, "largest": self.largest, "lr": self.rate},
        )

    @property
    def error(self) -> DataError:
        """The error that ends the training."""
        location = "no layer reproduces it when the step is repeated"
        if self.where:
            location = (
                f"the first value that is not finite is in {self.where}; "
                f"the largest value before it is {self.largest:.3g}"
            )
        return DataError(
            "NNM708",
            f"{self.what} in epoch {self.epoch}, batch {self.batch}, "
            f"at learning rate {self.rate:.3g}: {location}",
            hint=self.remedy[0].lower() + self.remedy[1:-1],
        )


async def locate_divergence(
    run: TrainingRun, totals: Sequence[Totals], accumulate: int
) -> Divergence:
    """Return what went wrong in the last call of the device; `totals` are those of its epochs."""
    streak = totals[-1].values.get("streak")
    remedy = DIVERGED_REMEDY
    if streak is None:
        what = "loss or gradient is not finite"
        step, where, largest = await run.find_nonfinite(replay=True)
    else:
        what = f"{MAX_OVERFLOWS} consecutive batches overflowed"
        step, where, largest = await run.find_nonfinite(replay=False)
        if largest < ORDINARY_VALUE:  # the scale is too large, not the numbers
            remedy = SCALE_REMEDY
        # The streak has continued since, to the end of the call.
        step = max(0, step - 1 - int(streak - MAX_OVERFLOWS) * accumulate)
    epoch, batch = divmod(step, run.feed.steps)
    rate = run.schedule.at(step + 1)
    return Divergence(what, epoch + 1, batch + 1, rate, where, largest, remedy)
