"""Reviews the model, data and settings of a training that has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webnnm.core.finding import Findings

if TYPE_CHECKING:
    from webnnm.evaluation.history import History
    from webnnm.trainer.reviewer import Reviewer
    from webnnm.training.settings import Settings


def review_afterwards(
    reviewer: Reviewer, settings: Settings, history: History, *, trained_before: bool
) -> list[str]:
    """Add to a history what a review before the training would have found; return it as lines.

    The settings of the training remain those that it had: the review decides none.
    """
    review = reviewer.review(settings, history.scouting, trained=trained_before)
    review = replace(review, findings=[replace(each, action="") for each in review.findings])
    history.findings = Findings(review.findings)
    return review.summarize()
