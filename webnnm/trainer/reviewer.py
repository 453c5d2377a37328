"""What a model and its trainings need of a reviewer, which the expert system provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from webnnm.core.finding import Finding
    from webnnm.evaluation.history import History
    from webnnm.trainer.review import Review
    from webnnm.training.settings import Settings


class Reviewer(Protocol):
    """Reviews one model before and after its trainings: `expert.reviewer.Reviewer`."""

    def forget(self) -> None:
        """Forget what was measured of the dataset, because another one replaces it."""
        ...

    def log_structure(self, log: Callable[[str], None]) -> None:
        """Log what is wrong with the network itself, whatever the data and hyperparameters."""
        ...

    def profile(self) -> Any:
        """Return key figures of the model."""
        ...

    def review(
        self,
        settings: Settings,
        scouting: Mapping[str, Any] | None = None,
        history: History | None = None,
        trained: bool | None = None,
    ) -> Review:
        """Return findings and resolved settings of a training; with its `history`, also on its
        course.

        `trained` is whether the parameters were trained before, by default whether they are now;
        `scouting` is the table of a seed search, as `Scouting.to_dict` returns it.
        """
        ...

    def hindsight(self, history: History, *, early: bool = False) -> list[Finding]:
        """Return the findings that the last reviewed training adds; `early`, while it runs."""
        ...

    def failure(self, error: Exception) -> Finding:
        """Return the finding that the outcome of a training could not be measured."""
        ...

    def final_findings(self, history: History, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings of a training that has ended, including those that it adds."""
        ...
