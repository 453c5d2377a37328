"""Reviews of a model: gathers the facts, applies the rules, caches expensive measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from webnnm.core.awaiting import check_awaited
from webnnm.core.errors import DataError, WebNNMError
from webnnm.core.keywords import merge_keywords
from webnnm.data.binding.binding import DataBinding, bind, with_targets
from webnnm.data.dataset import Dataset
from webnnm.data.intake import require_finite
from webnnm.data.protocol import load_subset
from webnnm.expert.causes import attribute_symptoms
from webnnm.expert.facts.facts import DataFacts, Facts, OutputFacts, ScoutingFacts
from webnnm.expert.facts.gathering import data_facts, gather_facts
from webnnm.expert.facts.profile import Profile
from webnnm.expert.review import drop_contradictions, hindsight, soften_refuted
from webnnm.expert.review import review as apply_rules
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.float16 import half_network
from webnnm.graph.elaboration.loss_words import loss_name
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse
from webnnm.notation.syntax import Document
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.objectives import Objective, objectives
from webnnm.trainer.review import Review, explicit_settings
from webnnm.trainer.row_settings import complete_from_dataset
from webnnm.training.output_activation import find_activation
from webnnm.training.settings import Settings, parse_settings

if TYPE_CHECKING:
    from webnnm.backends.base import Backend
    from webnnm.core.finding import Finding
    from webnnm.data.protocol import AnyDataset
    from webnnm.evaluation.history import History

LABEL_ERRORS = ("NNM604", "NNM706")
"""Errors that a review reports as E103."""

DEFAULT_LENGTH = 16
"""The length of sequences in a review of a text without a dataset, if none is given."""

NON_FINITE_ERROR = "NNM707"
"""The error that a review reports as E605."""

Aims = tuple[dict[str, Objective], dict[str, WebNNMError]]
"""For each output, what it is trained for, or why it cannot be trained."""


class Reviewed(Protocol):
    """The subject of a review: the state of a model, or a text with a dataset (`Draft`)."""

    @property
    def network(self) -> Network:
        """The elaborated document."""
        ...

    @property
    def backend(self) -> Backend | None:
        """The backend that runs it, None if there is none yet."""
        ...

    @property
    def device(self) -> str:
        """The device that was requested, or ""."""
        ...

    @property
    def optimize_for(self) -> str:
        """The target of a training (`optimize_for`) if no hyperparameter gives it."""
        ...

    @property
    def trained(self) -> bool:
        """Whether the parameters were trained or taken from elsewhere."""
        ...

    @property
    def batch_size(self) -> int | None:
        """The batch size if no hyperparameter gives it, None for that of the dataset."""
        ...

    @property
    def sequence(self) -> Mapping[str, int]:
        """Lengths by sequence name."""
        ...

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        ...

    def binding(self) -> DataBinding:
        """Return how the dataset is bound."""
        ...

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for."""
        ...


class Model(Protocol):
    """An object with a state: an `NNModel`."""

    @property
    def state(self) -> ModelState:
        """The state."""
        ...


class Reviewer:
    """Reviews one model; `refused` are earlier errors by output, with "" for errors of the data."""

    def __init__(self, model: Reviewed, refused: Mapping[str, WebNNMError] | None = None) -> None:
        self._model = model
        self._refused = refused or {}
        self._data: DataFacts | None = None
        self._reviewed: Facts | None = None
        self._logged: list[str] = []

    def forget(self) -> None:
        """Forget what was measured of the dataset, because another one replaces it."""
        self._data = None

    def log_structure(self, log: Callable[[str], None]) -> None:
        """Log what is wrong with the network itself, whatever the data and hyperparameters (spec
        F).

        Trainings do not repeat it. The warnings that E206 gathers count as already logged.
        """
        network, sequence = self._model.network, self._model.sequence
        aims: Aims = ({}, {})
        # At this point, findings about an output concern written losses only.
        if any(output.block.loss for output in network.outputs):
            aims = _find_aims(network, sequence, None, lambda: objectives(network, sequence, None))
        trained = self._model.trained
        facts = gather_facts(network, None, None, aims[0], settings=Settings(), trained=trained)
        for finding in apply_rules(_with_refused(facts, sequence, aims[1])).findings:
            if finding.severity in ("error", "warning"):
                self._logged.append(str(finding))
                if finding.id != "E206":
                    log(str(finding))

    def profile(self) -> Profile:
        """Return the key figures of the model (spec F.1)."""
        return self.facts(Settings().resolve()).profile

    def facts(
        self,
        settings: Settings,
        scouting: ScoutingFacts | None = None,
        network: Network | None = None,
        trained: bool | None = None,
    ) -> Facts:
        """Return all facts; the dataset is measured the first time only."""
        model = self._model
        binding = model.binding() if model.has_dataset else None
        if self._data is None:
            refused = self._refused.get("")
            error_text = refused.message if refused else _non_finite(binding)
            self._data = data_facts(binding, error_text)
        network = network or model.network
        if binding is not None:
            network = with_targets(network, binding.dataset)
        aims, problems = _find_aims(network, model.sequence, binding, model.objectives)
        problems |= {name: error for name, error in self._refused.items() if name}
        facts = gather_facts(
            network,
            model.backend,
            binding,
            {name: aim for name, aim in aims.items() if name not in problems},
            settings=settings,
            data=self._data,
            scouting=scouting,
            device=model.device,
            trained=model.trained if trained is None else trained,
        )
        return _with_refused(facts, model.sequence, problems)

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
        `scouting` is the table of a seed search, as `Scouting.to_dict` returns it. If the inputs
        become float16, the model is reviewed once more with float16 inputs.
        """
        off = settings.silence
        if settings.optimize_for == "edge":  # requested, perhaps when the model was created
            settings = replace(settings, explicit=settings.explicit | {"optimize_for"})
        table = scouting if history is None else history.scouting
        measured: ScoutingFacts | None = None
        if table:
            from webnnm.expert.facts.hindsight import scouting_facts

            measured = scouting_facts(table)
        review = apply_rules(self._gather(history, settings, measured, None, trained), off=off)
        if review.settings.compute_type == "float16":
            half = half_network(self._model.network)
            facts = self._gather(history, settings, measured, half, trained)
            review = apply_rules(facts, off=off)
        if history is not None:
            # Findings reported then may not apply to a model that is trained now.
            ids = {*off, *(finding.id for finding in review.findings)}
            earlier = [finding for finding in history.findings if finding.id not in ids]
            both = sorted([*review.findings, *earlier], key=lambda finding: finding.id)
            review = replace(review, findings=drop_contradictions(attribute_symptoms(both)))
        return replace(review, logged=self._logged)

    def _gather(self, history: History | None, *about: Any) -> Facts:
        """Return all facts, with those of a training that has ended, and remember them."""
        self._reviewed = self.facts(*about)
        return self._reviewed if history is None else with_history(self._reviewed, history)

    def hindsight(self, history: History, *, early: bool = False) -> list[Finding]:
        """Return the findings that the last reviewed training adds, the most important first.

        With `early` it is still running.
        """
        assert self._reviewed is not None
        facts = with_history(self._reviewed, history)
        off = () if facts.history is None else facts.history.settings.silence
        findings = attribute_symptoms(hindsight(facts, off=off, early=early), history.findings)
        return sorted(drop_contradictions(findings), key=lambda finding: finding.rank)

    def failure(self, error: Exception) -> Finding:
        """Return the finding that a training could not be measured."""
        from webnnm.expert.rules.failing import failure

        return failure("E900", error)

    def final_findings(self, history: History, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings of a training that has ended, including those that it adds."""
        assert self._reviewed is not None
        facts = with_history(self._reviewed, history)
        latest = {finding.id: finding for finding in (*history.findings, *findings)}
        return drop_contradictions(soften_refuted([*latest.values()], facts))


def with_history(facts: Facts, history: History) -> Facts:
    """Return the facts with the course of a training."""
    from webnnm.expert.facts.hindsight import history_facts

    try:
        return replace(facts, history=history_facts(history))
    except Exception as error:
        from webnnm.expert.rules.failing import failure

        return replace(facts, failures=[failure("E900", error)])


class Draft:
    """A network, perhaps with a dataset, that no backend runs: enough for a review.

    `wrong` is the NNM707 because of which there is no dataset. Outputs that do not fit the dataset
    (NNM706) are left out of the binding; `refused` has all of these errors.
    """

    backend = batch_size = None
    device = ""
    optimize_for = "size"
    trained = False

    def __init__(
        self,
        network: Network,
        dataset: AnyDataset | None = None,
        wrong: WebNNMError | None = None,
        *,
        length: int | None = None,
    ) -> None:
        self.network = network if dataset is None else with_targets(network, dataset)
        self._length = length
        self.refused: dict[str, WebNNMError] = {} if wrong is None else {"": wrong}
        self._binding = None if dataset is None else self._bind(dataset)

    def _bind(self, dataset: AnyDataset) -> DataBinding:
        try:
            return bind(self.network, dataset)
        except DataError as error:
            if error.code not in LABEL_ERRORS:
                raise
        fitting, self.refused = _split_outputs(self.network, lambda part: bind(part, dataset))
        return bind(fitting, dataset)

    @property
    def sequence(self) -> Mapping[str, int]:
        """Lengths by sequence name: those of the data, else the given or usual one."""
        if self._binding is not None:
            return self._binding.sequence
        names = {v.features[0].sequence: v.length for v in self.network.inputs}
        return {
            n: own or self._length or DEFAULT_LENGTH for n, own in names.items() if n is not None
        }

    @property
    def has_dataset(self) -> bool:
        """Whether a dataset is bound."""
        return self._binding is not None

    def binding(self) -> DataBinding:
        """Return how the dataset is bound."""
        assert self._binding is not None
        return self._binding

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for."""
        return self._objectives

    @cached_property
    def _objectives(self) -> dict[str, Objective]:
        return objectives(self.network, self.sequence, self._binding)


def review(
    model: str | Document | Model | Draft,
    dataset: AnyDataset | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    sequence_length: int | None = None,
    history: History | None = None,
    **more: Any,
) -> Review:
    """Check a model with the expert system, without training it (spec F).

    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers dropout(0.8), matmul(w);"
    >>> found = review(text, epochs=50, gradient_clipping="global")
    >>> [str(finding).splitlines()[0] for finding in found.findings if finding.id == "E404"]
    ['warning E404 line 1, column 49: dropout1 drops 80%']
    >>> found.settings.gradient_clipping, found.origins["gradient_clipping"]
    ('global', 'given')

    - `model`: a text, a syntax tree or an `NNModel`. For texts no backend is opened, so findings
      that depend on the device (E207, E208, E803) are skipped.
    - `dataset`: replaces the dataset of the model. Without any, the rules about data are skipped.
    - `sequence_length`: for a text with sequences and no dataset; 16 positions by default.
    - The hyperparameters are those of `NNModel.train`; `silence` lists rules to skip.
    - `history`: the history of a training of this model. The review then includes findings on its
      course (E9xx), and the hyperparameters are those that were given to it.

    Printing the result shows the findings by area, then every setting with its origin; `to_dict`
    returns it for JSON. Labels that do not fit are reported as finding E103, and non-finite numbers
    as E605, instead of raising errors.

    Raises `ModelError` if the text is invalid, `DataError` NNM701 or NNM702 if the dataset does not
    fit, NNM703 or NNM704 for invalid hyperparameters.
    """
    hint = "name them, as in review(model, epochs=20)"
    settings = parse_settings(merge_keywords(hyperparameters, more, "webnnm.review", hint))
    if history is not None:
        settings = parse_settings(explicit_settings(history) | settings.explicit_values())
    if isinstance(model, str):
        model = parse(model)
    subject: Reviewed
    if isinstance(model, Document):
        subject = Draft(elaborate(model), dataset, length=sequence_length)
    elif not isinstance(model, Draft) and not hasattr(model, "state"):
        check_awaited(model, "the model", "review(…)")
        raise DataError(
            "NNM703",
            f"webnnm.review was given {model!r:.60}",
            hint="a text in the notation, what webnnm.parse returns, or an NNModel",
        )
    else:
        subject = model if isinstance(model, Draft) else model.state
        if dataset is not None:
            subject = Draft(subject.network, dataset)
    settings = settings.with_defaults(
        optimize_for=subject.optimize_for, batch_size=subject.batch_size
    ).resolve()
    refused = subject.refused if isinstance(subject, Draft) else {}
    reviewer = Reviewer(subject, refused)
    data = subject.binding().dataset if subject.has_dataset else None
    settings = complete_from_dataset(subject.network, data, settings)
    return reviewer.review(settings, history=history)


def _find_aims(
    network: Network,
    sequence: Mapping[str, int],
    binding: DataBinding | None,
    find_all: Callable[[], Mapping[str, Objective]],
) -> Aims:
    """Return the objectives of all outputs, or if that fails, of each one separately."""
    try:
        return dict(find_all()), {}
    except WebNNMError as error:
        if error.code not in LABEL_ERRORS:
            raise
    possible, problems = _split_outputs(network, lambda one: objectives(one, sequence, binding))
    return objectives(possible, sequence, binding), problems


def _split_outputs(
    network: Network, attempt: Callable[[Network], object]
) -> tuple[Network, dict[str, WebNNMError]]:
    """Return the network with the outputs for which `attempt` succeeds, and why the others fail."""
    problems: dict[str, WebNNMError] = {}
    for output in network.outputs:
        try:
            attempt(replace(network, outputs=[output]))
        except WebNNMError as error:
            if error.code not in LABEL_ERRORS:
                raise
            problems[output.name] = error
    return replace(
        network, outputs=[o for o in network.outputs if o.name not in problems]
    ), problems


def _with_refused(
    facts: Facts, sequence: Mapping[str, int], problems: Mapping[str, WebNNMError]
) -> Facts:
    """Return facts with the outputs that cannot be trained, and why."""
    if not problems:
        return facts
    outputs = {output.name: output for output in facts.outputs}
    lowered = lower_network(facts.network, sequence=sequence)
    for output in facts.network.outputs:
        error = problems.get(output.name)
        if error is not None:
            loss = output.block.loss
            outputs[output.name] = OutputFacts(
                name=output.name,
                activation=find_activation(lowered.outputs[output.name]).kind,
                loss="" if loss is None else loss_name(loss.loss) or loss.loss,
                written=loss is not None,
                problem=error.message,
                hint=error.hint or "",
            )
    return replace(
        facts, outputs=[outputs[o.name] for o in facts.network.outputs if o.name in outputs]
    )


def _non_finite(binding: DataBinding | None) -> str:
    """Return what is not finite in rows from the user's own code; `Dataset` rejects all others."""
    if binding is None or binding.streams:
        return ""
    if getattr(type(binding.dataset), "arrays", None) is Dataset.arrays:
        return ""
    for subset in ("training", "validation", "testing"):
        if binding.dataset.size(subset):
            inputs, outputs, _ = load_subset(binding.dataset, subset)
            for role, fields in (("input", inputs), ("output", outputs)):
                for name, values in fields.items():
                    try:
                        require_finite(f'{subset} {role} "{name}"', values)
                    except DataError as error:
                        return error.message
    return ""
