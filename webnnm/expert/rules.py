"""All rules of the expert system by id."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.expert import (
    rules_capacity,
    rules_data,
    rules_loss,
    rules_outputs,
    rules_precision,
    rules_rows,
    rules_schedule,
    rules_stability,
    rules_target,
)
from webnnm.expert.rule import FOUND, Rule

MODULES = (
    rules_loss,
    rules_precision,
    rules_stability,
    rules_capacity,
    rules_outputs,
    rules_data,
    rules_rows,
    rules_schedule,
    rules_target,
)
"""The modules whose rules these are, in the order of `AREAS`; importing one declares its rules."""

RULES: Mapping[str, Rule] = dict(sorted(FOUND.items()))
"""Every rule by id (spec F.2)."""
