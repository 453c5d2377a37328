"""Examines the rows of a dataset for causes of too good test scores or useless trainings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from webnnm.data.dataset import Dataset
from webnnm.expert.examination.augmentation import find_target_changes
from webnnm.expert.examination.averages import find_target_means
from webnnm.expert.examination.buckets import find_shared_buckets
from webnnm.expert.examination.circles import find_circle
from webnnm.expert.examination.columns import (
    find_categories,
    find_far_cells,
    find_numeric_categories,
    find_redundant_columns,
    find_rounded_columns,
    find_row_numbers,
    find_vocabulary,
)
from webnnm.expert.examination.contradictions import find_contradictions, find_equal_by_chance
from webnnm.expert.examination.dates import find_dates
from webnnm.expert.examination.displaced import find_displaced_labels
from webnnm.expert.examination.filled import find_filled_by_class, find_hidden_gaps
from webnnm.expert.examination.formulas import find_formula
from webnnm.expert.examination.future import find_future_means
from webnnm.expert.examination.groups import find_groups
from webnnm.expert.examination.interpolated import find_interpolated_rows
from webnnm.expert.examination.label_noise import find_label_noise
from webnnm.expert.examination.leaks import find_markers, find_predictors
from webnnm.expert.examination.levels import find_levels
from webnnm.expert.examination.limits import find_cut_off_targets
from webnnm.expert.examination.medians import find_common_target
from webnnm.expert.examination.neighbours import (
    adapt_to_windows,
    find_copies,
    find_windows,
)
from webnnm.expert.examination.noisy_weights import find_weights_of_noise
from webnnm.expert.examination.numbering import find_unordered_kinds
from webnnm.expert.examination.opposite import find_opposite_blocks
from webnnm.expert.examination.order import (
    find_order_effect,
    find_unrelated_labels,
    measure_neighbours,
)
from webnnm.expert.examination.picture_copies import find_changed_copies
from webnnm.expert.examination.picture_marks import find_picture_marks
from webnnm.expert.examination.picture_scales import find_two_scales
from webnnm.expert.examination.pictures import find_wrong_channels
from webnnm.expert.examination.placeholders import leave_out_frequent
from webnnm.expert.examination.positions import find_positions
from webnnm.expert.examination.rare_classes import find_overlooked_classes
from webnnm.expert.examination.recoded import find_recoded_categories
from webnnm.expert.examination.remaining_rows import find_class_weights, find_lost_rows
from webnnm.expert.examination.row_units import find_two_units
from webnnm.expert.examination.rows import Rows, collect_rows
from webnnm.expert.examination.scaled_apart import find_subsets_scaled_apart
from webnnm.expert.examination.sequences import (
    find_bag_of_words,
    find_next_values,
    find_padding,
    find_reproduction,
    find_token_ids,
)
from webnnm.expert.examination.subsets import find_shift
from webnnm.expert.examination.swaps import find_swaps
from webnnm.expert.examination.tails import find_explained_tails
from webnnm.expert.examination.texts import (
    find_cut_texts,
    find_telling_words,
    find_unknown_words,
)
from webnnm.expert.examination.time_order import find_time_order
from webnnm.expert.examination.token_order import measure_token_order
from webnnm.expert.examination.units import find_unit_mix
from webnnm.expert.examination.zeros import find_logarithms_of_zeros, measure_amounts
from webnnm.expert.facts.facts import Suspicion

CHECKS: dict[str, Callable[[Rows], Suspicion | None]] = {
    "E614": find_far_cells,
    "E615": find_predictors,
    "E616": find_row_numbers,
    "E617": find_redundant_columns,
    "E619": find_copies,
    "E620": find_windows,
    "E621": find_contradictions,
    "E622": find_shift,
    "E623": find_padding,
    "E625": find_rounded_columns,
    "E626": find_categories,
    "E629": find_numeric_categories,
    "E630": find_wrong_channels,
    "E631": find_unit_mix,
    "E632": find_formula,
    "E633": find_lost_rows,
    "E634": find_dates,
    "E635": find_target_changes,
    "E636": find_label_noise,
    "E637": find_logarithms_of_zeros,
    "E638": find_swaps,
    "E639": find_subsets_scaled_apart,
    "E640": find_recoded_categories,
    "E641": find_interpolated_rows,
    "E642": find_unknown_words,
    "E643": find_cut_texts,
    "E644": find_circle,
    "E645": find_telling_words,
    "E646": find_future_means,
    "E647": find_filled_by_class,
    "E648": find_hidden_gaps,
    "E649": find_shared_buckets,
    "E650": find_cut_off_targets,
    "E651": find_opposite_blocks,
    "E652": find_weights_of_noise,
    "E653": find_picture_marks,
    "E654": find_two_scales,
    "E655": find_two_units,
}
"""What is looked for, by the rule that reports it."""

MEASURES: dict[str, Callable[[Rows], Suspicion | None]] = {
    "E109": find_explained_tails,
    "E110": find_class_weights,
    "E115": find_unordered_kinds,
    "E123": find_common_target,
    "E319": find_bag_of_words,
    "E323": find_positions,
    "E332": measure_amounts,
    "E336": find_levels,
    "E330": find_next_values,
    "E416": find_token_ids,
    "E418": find_reproduction,
    "E606": find_equal_by_chance,
    "E608": find_overlooked_classes,
    "E903": find_vocabulary,
    "E922": measure_neighbours,
    "E923": measure_token_order,
}
"""Facts that rules compare with the network, or with the result of the training."""

CONSEQUENCES = {
    "E614": ("E617", "E622", "E631"),
    "E615": ("E632",),
    "E625": ("E617", "E626"),
    "E619": ("E636",),
    "E638": ("E622",),
    "E639": ("E622",),
    "E640": ("E622",),
    "E641": ("E619",),
    "E647": ("E648", "E615", "E614"),
    "E651": ("E627", "E636"),
    "E654": ("E655",),
}
"""Findings that follow from another one: cells far off squeeze their column, a column that float32
rounds has whole numbers, copies vote for each other. Each fact is reported once."""


def examine(
    dataset: Dataset,
    failed: Callable[[str, Exception], None] | None = None,
    equal: Sequence[Sequence[int]] | None = None,
) -> dict[str, Suspicion]:
    """Return what is suspicious about the rows of a dataset in memory, by rule.

    `failed` is told of a check that raised an error, and the others go on; without it, it is
    raised. `equal` are groups of rows with the same inputs, which are looked for if they are
    not known.

    >>> rows = [[float(row % 7), float(row)] for row in range(40)]
    >>> found = examine(Dataset(rows, [row % 2 for row in range(40)]))
    >>> found["E616"].message
    'column 1 numbers the rows, from 0 to 39'
    """
    rows = collect_rows(dataset, equal)

    def check(id: str, search: Callable[[], Suspicion | None]) -> Suspicion | None:
        try:
            return search()
        except Exception as error:
            if failed is None:
                raise
            failed(id, error)
            return None

    checks = CHECKS | MEASURES
    suspicions = {id: check(id, partial(search, rows)) for id, search in checks.items()}
    plain = suspicions["E615"]
    suspicions["E615"] = check(
        "E615",
        lambda: find_target_means(rows) or adapt_to_windows(plain, rows) or find_markers(rows),
    )
    suspicions["E627"] = check(
        "E627",
        lambda: (
            find_displaced_labels(rows)
            or find_unrelated_labels(rows, suspicions["E922"], suspicions["E903"])
        ),
    )
    suspicions["E619"] = suspicions["E619"] or check(
        "E619", lambda: find_groups(rows) or find_changed_copies(rows)
    )
    if not suspicions["E619"]:
        suspicions["E620"] = suspicions["E620"] or check(
            "E620", lambda: find_order_effect(suspicions["E922"], rows) or find_time_order(rows)
        )
    if suspicions["E614"] and suspicions["E636"]:
        suspicions["E636"] = check("E636", lambda: find_label_noise(leave_out_frequent(rows)))
    for first, others in CONSEQUENCES.items():
        if suspicions[first]:
            suspicions |= dict.fromkeys(others)
    return {id: suspicion for id, suspicion in suspicions.items() if suspicion is not None}
