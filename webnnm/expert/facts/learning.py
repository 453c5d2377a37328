"""What a training taught a model: nothing, its training rows by heart, or more."""

from __future__ import annotations

import math
from collections.abc import Mapping

from webnnm.core.readable import show_number
from webnnm.expert.facts.course import chance_skill, score, skill, skill_margin, updates
from webnnm.expert.facts.facts import Facts, HistoryFacts, PredictionFacts
from webnnm.expert.facts.paths import pools_without_order, pools_without_positions
from webnnm.expert.rules.rule import DECLARED

MIN_LOSS_TO_LEARN = 0.3
"""Losses above this, relative to a constant prediction, leave something to learn."""
MAX_CONVERGED_LOSS = 0.03
"""Losses below this are as good as 0."""
MIN_EPOCHS = 3
"""Fewer epochs show no course."""
MIN_UPDATES = 100
"""The defaults make 300 updates for 300 rows."""
MIN_GOOD_SKILL = 0.9
"""Skill on other rows that leaves little for further epochs."""
MIN_MEMORISED_SKILL = 0.3
"""Skill on training rows from which it may be memorising."""
MIN_SKILL_GAP, MIN_ACCURACY_GAP = 0.2, 0.15
"""Skill on training rows minus skill on other rows, beyond chance; and the same of accuracies."""
MIN_LOSS_RATIO = 5
"""Ratio of validation losses to training losses, from the first epochs on."""
CAUSES_OF_NO_SKILL = (
    *("E305", "E310", "E313", "E314", "E315", "E316", "E318", "E321", "E322", "E324", "E331"),
    *("E409", "E410", "E415", "E603", "E624", "E630", "E901", "E909", "E910", "E913", "E920"),
)
"""Rules that explain why a model learns nothing, whether or not its layers know positions."""
MIN_LEAD = 0.2
"""A simple model that is better by less of the score is worth a look, not a change of the model."""
SIGNIFICANT_WORSE = 0.005
"""Equally good models differ this much, in favour of either one, in this share of trainings."""
MAX_FORGETFUL = 0.99
"""A model that is right on more of its training rows can tell them apart: it forgets too little."""
MAX_PREDICTED_SHARE = 0.2
"""A class predicted for a smaller share of its rows is as good as never predicted."""
ONE_SIDED = 1.64
"""Standard errors that chance exceeds in 5% of cases, on one side."""
TWO_DECIMALS_BELOW = 10
"""Larger shares of variance, of predictions that are far off, are rounded as other numbers are."""
MIN_ROWS_OF_CLASS = 3
"""With this many rows of a class, at least one would be predicted by chance."""


def has_learnt_nothing(history: HistoryFacts, name: str) -> bool:
    """Return whether an output is no better than a constant prediction, and memorised nothing."""
    trained = history.predictions[name]
    held = history.held_out.get(name, trained)
    training_skill, held_out_skill, bound = skill(trained), skill(held), chance_skill(held)
    if (
        training_skill is None
        or held_out_skill is None
        or rarely_predicted_classes(trained)
        or held_out_skill > bound
    ):
        return False
    by_heart = skill_if_memorised(history, name) is not None
    return not by_heart and not (
        training_skill > MIN_MEMORISED_SKILL and bound >= training_skill / 2
    )


def keeps_up_with_neighbours(facts: Facts, history: HistoryFacts) -> bool:
    """Return whether a model predicts other rows no worse than the nearest training rows do.

    Of models that are as good as them, 5% seem worse by chance (one-sided test).
    """
    look_up = facts.data.suspicions.get("E922")
    if look_up is None or len(history.predictions) != 1:
        return False
    ((name, trained),) = history.predictions.items()
    held = history.held_out.get(name, trained)
    got = score(held)
    if held.several or held.d2 is not None or (held.r2 is None and not held.rows):
        return False
    variance = 0.0 if held.r2 is not None else got * (1 - got) / held.rows
    error = math.sqrt(look_up.evidence["error"] ** 2 + variance)
    return got >= look_up.evidence["found"] - ONE_SIDED * error


def is_beaten(history: HistoryFacts) -> bool:
    """Return whether a simple model predicts an output far better than the network does."""
    return any(
        (simple := baselines.find_better(SIGNIFICANT_WORSE))
        and baselines.measure_lead(simple) >= MIN_LEAD
        for baselines in history.baselines.values()
    )


def tokens_hint(facts: Facts) -> str:
    """Return what to do about numbers that may be token ids, "" if there are none."""
    vocabulary = facts.data.suspicions.get("E903")
    if vocabulary is None:
        return ""
    return (
        "If the numbers stand for words or categories, declare int32 tokens and begin with an "
        f"embedding: embedding(table, size={vocabulary.evidence['size']}). They have no order, and "
        "products treat them as quantities."
    )


def pools_at_chance(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool without order or position, if the model is at chance."""
    return orderless_pools(facts, history) or positionless_pools(facts, history)


def orderless_pools(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool a sequence without its order, if the model is at chance, and
    its order was not found to tell nothing."""
    unordered = facts.data.suspicions.get("E923")
    if unordered is not None and not unordered.evidence["share"]:
        return []
    return pools_without_order(facts.network) if _at_chance(facts, history) else []


def positionless_pools(facts: Facts, history: HistoryFacts) -> list[str]:
    """Return the layers that pool over all positions of a picture, if the model is at chance and
    nothing else is known that would prevent learning."""
    if not _at_chance(facts, history):
        return []
    pools = pools_without_positions(facts.network)
    hits = (DECLARED[id].test(facts) for id in CAUSES_OF_NO_SKILL if id in DECLARED)
    return [] if pools and any(hit and hit.severity != "info" for hit in hits) else pools


def _at_chance(facts: Facts, history: HistoryFacts) -> bool:
    """Return whether the only output is at chance on other rows after enough training."""
    ((name, trained), *others) = [*history.predictions.items()] or [("", None)]
    if trained is None or others or (updates(facts, history) or MIN_UPDATES) < MIN_UPDATES:
        return False
    held = history.held_out.get(name, trained)
    other_skill = skill(held)
    if other_skill is None or other_skill > chance_skill(held) or score(trained) > MAX_FORGETFUL:
        return False
    return has_learnt_nothing(history, name) or skill_if_memorised(history, name) is not None


def skill_if_memorised(history: HistoryFacts, name: str) -> float | None:
    """Return the skill on other rows of an output that memorised its training rows."""
    trained, held = history.predictions[name], history.held_out.get(name)
    if held is None:
        return None
    training_skill, held_out_skill = skill(trained), skill(held)
    if training_skill is None or held_out_skill is None or training_skill < MIN_MEMORISED_SKILL:
        return None
    gap = (
        training_skill - held_out_skill - skill_margin(held) > MIN_SKILL_GAP
        and score(trained) - score(held) > MIN_ACCURACY_GAP
    )
    return held_out_skill if gap else None


def skills_of(predictions: Mapping[str, PredictionFacts]) -> list[float]:
    """Return the skills of all outputs that have one."""
    skills = [skill(prediction) for prediction in predictions.values()]
    return [value for value in skills if value is not None]


def scores_of(history: HistoryFacts, name: str) -> str:
    """Return the scores of an output on training rows and on others."""
    parts = {"training": history.predictions.get(name), history.subset: history.held_out.get(name)}
    return ", ".join(f"{_score(p)} on {part} rows" for part, p in parts.items() if p and part)


def _score(predictions: PredictionFacts) -> str:
    if predictions.explained is not None:
        name = "R²" if predictions.d2 is None else "D²"
        share = predictions.explained
        text = f"{share:.2f}" if abs(share) < TWO_DECIMALS_BELOW else show_number(share)
        return f"{name}{' as scaled' * predictions.reshaped} {text}"
    return f"{sum(predictions.hits)} of {predictions.rows} right"


def rarely_predicted_classes(predictions: PredictionFacts) -> list[str]:
    """Return the rare classes that are hardly ever predicted, with their counts."""
    largest = max(predictions.support, default=0)
    return [
        f'"{label}" ({times} times, {rows} rows have it)'
        for label, rows, times in zip(
            predictions.labels, predictions.support, predictions.predicted, strict=True
        )
        if times < MAX_PREDICTED_SHARE * rows and MIN_ROWS_OF_CLASS <= rows < largest / 2
    ]


def unlike_losses(history: HistoryFacts) -> list[tuple[float, float]]:
    """Return training and validation losses of the first quarter, if the latter are far higher."""
    pairs = [(r.loss, r.val_loss) for r in history.epochs if r.val_loss is not None]
    early = pairs[: max(1, len(pairs) // 4)]
    # Losses below 0, as some custom ones are, have no ratio.
    return early if all(val > MIN_LOSS_RATIO * loss > 0 for loss, val in early) else []
