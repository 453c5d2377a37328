"""What is decided before a training: its settings, its losses, its initial parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, suggestion
from webnnm.core.finding import Finding
from webnnm.core.plugins import plugin
from webnnm.evaluation.history import plain
from webnnm.graph.elaboration.float16 import half_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.state import ModelState
from webnnm.trainer.feed import Feed, make_feed
from webnnm.trainer.review import Review, resolve_without_review
from webnnm.trainer.training_run import TrainingRun
from webnnm.training.forward import OutputLoss, get_label_forms
from webnnm.training.freezing import compute_multipliers
from webnnm.training.losses import name_loss_function
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import FinalSettings, Settings
from webnnm.training.step_settings import StepSettings
from webnnm.training.units import find_clipped_units
from webnnm.training.update import UpdateSettings

if TYPE_CHECKING:
    from webnnm.trainer.reviewer import Reviewer
    from webnnm.trainer.scout import Scouting

Note = Callable[[str], None]


@dataclass(frozen=True)
class TrainingPlan:
    """The decisions about a training, by the user, the expert system and seed search.

    Attributes: `settings`, hyperparameters without "auto"; `review`, and `findings`, of it and of
    later steps; `network`, whose inputs may be float16; `losses` by output; `scouting`, None if the
    parameters were not changed.
    """

    settings: FinalSettings
    review: Review
    findings: Sequence[Finding]
    network: Network
    losses: Mapping[str, OutputLoss]
    scouting: Scouting | None = None

    @property
    def loss_settings(self) -> dict[str, dict[str, Any]]:
        """The loss of every output with its numbers, as plain values.

        "reference" is the loss of an uninformed prediction.
        """
        return {
            name: plain(
                {
                    "loss": o.loss.name,
                    "reason": o.reason,
                    "reference": o.reference,
                    **asdict(o.settings),
                }
            )
            for name, o in self.losses.items()
        }


def plan_training(state: ModelState, reviewer: Reviewer | None, settings: Settings) -> TrainingPlan:
    """Review a training and decide those of its settings that are "auto"."""
    _check_weights(state, settings.loss_weights)
    if "seeds" not in settings.explicit and (
        state.trained
        or settings.freeze > 0
        or state.binding().streams
        or not state.parameters.drawn
    ):
        settings = replace(settings, seeds=0)
    if reviewer is None:
        review = resolve_without_review(settings, state.binding().dataset)
    else:
        review = reviewer.review(settings)
    final = review.settings.finish()
    is_half = final.compute_type == "float16"
    return TrainingPlan(
        settings=final,
        review=review,
        findings=review.findings,
        network=half_network(state.trained_network) if is_half else state.trained_network,
        losses=choose_losses(state, final),
    )


async def try_seeds(
    state: ModelState, reviewer: Reviewer | None, plan: TrainingPlan
) -> TrainingPlan:
    """Try other initial parameters, keep the best, and review the measurements."""
    from webnnm.trainer.scout import scout, seeds_within_budget

    seeds = seeds_within_budget(plan.settings.seeds, state.parameters.count)
    settings = replace(plan.settings, seeds=seeds)
    scouting = await scout(state, plan.losses, seeds, settings.seed)
    if reviewer is None:
        return replace(plan, settings=settings, scouting=scouting)
    new_review = reviewer.review(settings, scouting=scouting.to_dict())
    return replace(
        plan,
        settings=settings,
        findings=[*plan.findings, *new_review.new_findings(plan.review)],
        losses=choose_losses(state, settings, new_review.losses),
        scouting=scouting,
    )


async def prepare_feed(state: ModelState, plan: TrainingPlan) -> Feed:
    """Return the training rows in the form that the steps take."""
    settings = plan.settings
    dtypes: dict[str, DataType] = {v.block: v.dtype for v in plan.network.inputs}
    # Callbacks, validation and a plateau schedule run after every epoch.
    has_callback = settings.on_epoch or settings.on_batch or settings.schedule == "plateau"
    is_unwatched = not has_callback and not state.binding().dataset.size("validation")
    return await make_feed(
        state.binding(),
        get_label_forms(plan.losses),
        settings.batch_size,
        dtypes,
        settings.epochs if is_unwatched else 1,
        state.backend.budget,
    )


def choose_losses(
    state: ModelState, settings: Settings, names: Mapping[str, str] = {}
) -> dict[str, OutputLoss]:
    """Return the loss of every output; `names` are those that a review chose."""
    objectives = state.objectives()
    class_weight = settings.class_weight

    def weights(name: str) -> tuple[float, ...] | None:
        if class_weight is None:
            return None
        names: list[str] = []
        shares = None
        if state.has_dataset:
            from webnnm.runtime.testing.class_weights import shares_of_labels

            binding = state.binding()
            names = binding.dataset.labels(binding.outputs[name].field) or []
            shares = partial(shares_of_labels, binding, name)
        return objectives[name].class_weights(class_weight, names, shares)

    functions = settings.loss
    losses = {
        name: objective.loss(
            name="" if name_loss_function(functions, name) else names.get(name, ""),
            smoothing=settings.label_smoothing,
            class_weights=weights(name),
        )
        for name, objective in objectives.items()
    }
    if functions is None:
        return losses
    return plugin("own_losses")(losses, functions)


def _check_weights(state: ModelState, weights: str | Mapping[str, float]) -> None:
    """Refuse weights of unknown outputs (NNM710)."""
    if isinstance(weights, Mapping):
        names = [output.name for output in state.trained_network.outputs]
        for name in weights:
            if name not in names:
                hint = suggestion(str(name), names)
                raise DataError("NNM710", f'loss_weights: no output "{name}"', hint=hint)


def make_step_settings(state: ModelState, plan: TrainingPlan, feed: Feed) -> StepSettings:
    """Return the settings for which the step graph of a training is built."""
    settings = plan.settings
    return StepSettings(
        batch=feed.batch,
        rows=feed.resident_rows,
        steps=feed.table_steps,
        epochs=feed.epochs,
        sequence=state.sequence,
        losses=plan.losses,
        optimizer=OPTIMIZERS[settings.optimizer],
        masks=feed.masks,
        weights=resolve_loss_weights(settings),
        short=feed.short or feed.streams,
        batch_loss=settings.on_batch is not None,
        update=make_update_settings(plan.network, settings),
    )


def resolve_loss_weights(settings: Settings) -> Mapping[str, float] | None:
    """Return the weight of every output's loss; None weighs them by uncertainty."""
    weights = settings.loss_weights
    if isinstance(weights, Mapping):
        return weights
    return None if weights == "uncertainty" else {}


def make_update_settings(network: Network, settings: FinalSettings) -> UpdateSettings:
    """Return how gradients become updates, from hyperparameters without "auto"."""
    optimizer = OPTIMIZERS[settings.optimizer]
    parameters = [vertex for vertex in network.parameters if vertex.trainable]
    rates = compute_multipliers(network, settings.freeze)
    kinds = settings.regularization
    return UpdateSettings(
        multipliers=rates,
        decays={
            v.name: (v.features[0].rank or 0) >= 2 if v.decay is None else v.decay
            for v in parameters
        },
        numbers={name: getattr(settings, name) for name in optimizer.defaults},
        weight_decay=settings.weight_decay,
        accumulate=settings.accumulate,
        scaling=settings.gradient_scaling == "on",
        scale=settings.scale,
        growth_interval=settings.growth_interval,
        clipping=settings.gradient_clipping,
        clip_alpha=settings.clip_alpha,
        clip_epsilon=settings.clip_epsilon,
        agc_lambda=settings.agc_lambda,
        units={name: axes for name, axes in find_clipped_units(network).items() if rates[name] > 0},
        lambda1=settings.lambda1 if "L1" in kinds else 0.0,
        lambda2=settings.lambda2 if "L2" in kinds else 0.0,
    )


def zero_small_weights(
    state: ModelState, settings: FinalSettings, run: TrainingRun, note: Note
) -> dict[str, HostArray]:
    """Set weights that L1 left within one step of zero to zero (spec E.7), and report their share.

    Returns the parameters that were changed.
    """
    changes: dict[str, HostArray] = {}
    if settings.optimize_for != "size" or "L1" not in settings.regularization:
        return changes
    step_length = run.schedule.at(max(1, run.steps_done)) * settings.lambda1
    zeros = total = 0
    for name in run.decay_parameters:
        array: HostArray = state.parameters.value(name)
        values = [value if abs(value) > step_length else 0.0 for value in array.values()]
        zeros += values.count(0.0)
        total += len(values)
        changes[name] = HostArray.of(values, array.dtype, array.shape)
        state.parameters.put(name, changes[name])
    if total:
        note(f"{zeros / total:.1%} of {total:,} regularised weights are 0")
    return changes
