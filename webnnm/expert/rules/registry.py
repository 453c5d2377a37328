"""All rules of the expert system by id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module

from webnnm.core.finding import AREAS
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.structure import tensor_bytes
from webnnm.expert.rules import capacity, data, loss, schedule
from webnnm.expert.rules.capacity import MAX_FEATURES
from webnnm.expert.rules.rule import DECLARED, Rule
from webnnm.expert.rules.schedule import MIN_UPDATES

ALWAYS_APPLIED = (loss, capacity, data, schedule)
"""The modules whose rules are applied to every model; importing one declares its rules."""

USUAL_SETTINGS = {"epochs", "optimizer", "seed", "optimize_for", "progress", "on_epoch", "on_batch"}
"""Hyperparameters that most trainings set."""

PLAIN_MODEL = re.compile(r"(matmul (add )?(relu|tanh|gelu) )?matmul( add|( add)? softmax)")
"""The layers of a model in which no single layer can be wrong."""


def _unusual_settings(facts: Facts) -> bool:
    explicit, epochs = facts.settings.explicit, facts.settings.epochs
    few = "epochs" in explicit and epochs is not None and epochs < MIN_UPDATES
    return bool(explicit - USUAL_SETTINGS) or few


def _unusual_starts(facts: Facts) -> bool:
    return any(p.init or not p.trainable or p.lrm == 0 for p in facts.network.parameters)


def _unusual_layers(facts: Facts) -> bool:
    network = facts.network
    words = " ".join(layer.operator.name for layer in network.order)
    plain = len(network.outline.roots) == 1 and PLAIN_MODEL.fullmatch(words)
    return bool(network.parameters) and not plain


def _unusual_gradients(facts: Facts) -> bool:
    lively = facts.scouting.dead or facts.scouting.loss or facts.diverged
    return bool(lively) or _unusual_layers(facts) or _unusual_settings(facts)


def _unusual_types(facts: Facts) -> bool:
    profile, device = facts.profile, facts.device
    is_edge = facts.npu or facts.settings.optimize_for == "edge"
    changed = facts.network.warnings or device.rewrites or device.unsupported
    return bool(is_edge or changed or profile.heavy_float16 or profile.risky_float16)


def _unusual_losses(facts: Facts) -> bool:
    written = any(output.block.loss_parameters for output in facts.network.outputs)
    return written or bool(facts.settings.class_weight)


def _unusual_outputs(facts: Facts) -> bool:
    return any(o.written or o.activation not in loss.SOFTMAX for o in facts.outputs)


def _suspicious_data(facts: Facts) -> bool:
    return bool(facts.data.suspicions)


def _unusual_target(facts: Facts) -> bool:
    settings, limit = facts.settings, facts.device.max_bytes
    wide = facts.profile.input_features > MAX_FEATURES or "L1" in settings.regularization
    sizes = tensor_bytes(facts.network, facts.batch_size or 1, facts.data.length)
    large = limit is not None and any(size > limit for _, size in sizes)
    return wide or large or settings.optimize_for == "edge"


APPLIED_WHEN: Mapping[str, Callable[[Facts], bool]] = {
    "stability": _unusual_gradients,
    "precision": _unusual_types,
    "outputs": lambda facts: len(facts.network.outputs) > 1,
    "rows": _suspicious_data,
    "origins": _suspicious_data,
    "subsets": _suspicious_data,
    "loss_numbers": _unusual_losses,
    "device": _unusual_target,
    "targets": _unusual_outputs,
    "sequences": _unusual_layers,
    "settings": _unusual_settings,
    "initial_values": _unusual_starts,
    "layers": _unusual_layers,
    "operands": _unusual_layers,
    "windows": _unusual_layers,
    "scores": _unusual_layers,
}
"""Modules that are imported when a model or a training has something that the rules of one of them
are about; other pages need not load them. Where the condition does not hold, none of the rules
does."""

TRAINING_MODULES = ("course", "generalisation", "learning", "units")
"""The modules on trainings and their results, imported once there is one."""


class Rules(Mapping[str, Rule]):
    """Every rule by id (spec F.2)."""

    def __getitem__(self, id: str) -> Rule:
        if id not in DECLARED:
            self.load([*APPLIED_WHEN, *TRAINING_MODULES])
        return DECLARED[id]

    def __iter__(self) -> Iterator[str]:
        self.load([*APPLIED_WHEN, *TRAINING_MODULES])
        return iter(sorted(DECLARED))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def load(self, names: Iterable[str]) -> None:
        """Import modules, which declares their rules."""
        for name in names:
            import_module(f"webnnm.expert.rules.{name}")

    def select(self, facts: Facts) -> list[Rule]:
        """Return the rules that may hold for these facts, in the order of their ids.

        Those of all modules in `APPLIED_WHEN` are applied, or none of them: what a review finds
        depends on the facts alone, not on what was imported before.
        """
        unusual = any(_holds(condition, facts) for condition in APPLIED_WHEN.values())
        names = [*APPLIED_WHEN] * unusual + [*TRAINING_MODULES] * (facts.history is not None)
        self.load(names)
        modules = {module.__name__ for module in ALWAYS_APPLIED}.union(
            f"{__package__}.{n}" for n in names
        )
        return [DECLARED[id] for id in sorted(DECLARED) if DECLARED[id].test.__module__ in modules]

    def select_for_trainings(self) -> list[Rule]:
        """Return the rules on the course of a training, in the order of their ids."""
        self.load(TRAINING_MODULES)
        return [DECLARED[id] for id in sorted(DECLARED) if DECLARED[id].area == AREAS[-1]]


def _holds(condition: Callable[[Facts], bool], facts: Facts) -> bool:
    """Return whether a condition holds or fails: the rules then report the error."""
    try:
        return condition(facts)
    except Exception:
        return True


RULES = Rules()
"""Every rule by id (spec F.2)."""
