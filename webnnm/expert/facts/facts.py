"""The facts that the rules of the expert system may use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from webnnm.core.finding import Finding
from webnnm.evaluation.epoch import EpochRecord
from webnnm.expert.facts.profile import Profile, profile
from webnnm.graph.elaboration.vertices import Network
from webnnm.training.loss_choice import Conversion, LabelFacts
from webnnm.training.output_activation import OutputActivation
from webnnm.training.settings import FinalSettings, Settings

if TYPE_CHECKING:
    from webnnm.evaluation.baselines import Baselines


@dataclass(frozen=True, kw_only=True)
class OutputFacts:
    """An output: its activation, the loss chosen for it, its labels.

    - `written`: the text names the loss; `reason`: why it was chosen.
    - `conversion`: how the labels are converted; `labels`: those of the training rows, as the loss
      sees them, None without a dataset.
    - `problem`: why activation, loss and labels cannot go together (NNM604, NNM706), "" if they
      can, and `hint`, what to do about it; if they cannot, `loss` is "" unless written.
    - `operator`: the name of the last one; `standardized`: the targets are; `reshaped`: their
      logarithms or normal scores are learnt.
    """

    name: str
    activation: OutputActivation = "linear"
    loss: str = "MSE"
    written: bool = False
    reason: str = ""
    conversion: Conversion | None = None
    labels: LabelFacts | None = None
    problem: str = ""
    hint: str = ""
    operator: str = ""
    standardized: bool = False
    reshaped: bool = False

    @property
    def node(self) -> str:
        """Its name in findings."""
        return f"{self.name}:output"


@dataclass(frozen=True)
class FeatureFacts:
    """A feature of the training rows: mean, standard deviation, extent; `binary`: only 0 and 1.

    `raw`: its mean in the units of the data, before it was standardised; `category`: it stands for
    words of a column.
    """

    name: str
    mean: float
    std: float
    binary: bool = False
    low: float = -math.inf
    high: float = math.inf
    raw: float = math.nan
    category: bool = False


@dataclass(frozen=True)
class Suspicion:
    """What an examination of the rows found, with `remedy` and `confidence` if not the rule's
    own."""

    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    remedy: str = ""
    confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """The dataset, as the model receives it.

    - `sizes`: subset → rows; `batch_size`: its own; `length`: of the longest sequence, else 0.
    - `features`: input → features, of inputs that are measurements (not token ids).
    - `class_counts`: output → subset → rows of each class; `class_names`: output → names.
    - `shared_rows`: the share of testing rows that are training rows too, `shared_validation` that
      of validation rows; `coarse`: the inputs have so few values that this may be chance.
    - `method` of the split, "" if unknown; `suspicions`: rule → what an examination found.
    - `unknown`: column of words → the share of rows outside of training whose word no training
      row has.
    - `sorted`: the rows are sorted by class.
    - `fitted_on`: the subset whose statistics standardise it; "" if nothing is standardised.
    - `non_finite`: where a value is NaN or infinite: "row 3, column mass is nan".
    - `examined`: how many of many rows were examined, "" for all of them.
    - `failures`: findings that something here could not be measured, by a fault of webnnm.
    """

    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    batch_size: int = 20
    length: int = 0
    features: Mapping[str, Sequence[FeatureFacts]] = field(
        default_factory=dict[str, Sequence[FeatureFacts]]
    )
    class_counts: Mapping[str, Mapping[str, Sequence[int]]] = field(
        default_factory=dict[str, Mapping[str, Sequence[int]]]
    )
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    shared_rows: float = 0.0
    shared_validation: float = 0.0
    coarse: bool = False
    method: str = ""
    suspicions: Mapping[str, Suspicion] = field(default_factory=dict[str, Suspicion])
    unknown: Mapping[str, float] = field(default_factory=dict[str, float])
    sorted: bool = False
    fitted_on: str = ""
    non_finite: str = ""
    failures: Sequence[Finding] = ()
    examined: str = ""

    @property
    def training(self) -> int:
        """The number of training rows."""
        return self.sizes.get("training", 0)

    @property
    def knows_rare_classes(self) -> bool:
        """Whether the nearest rows were found to predict all rare classes."""
        classes = self.suspicions.get("E608")
        return classes is not None and not classes.evidence["overlooked"]


@dataclass(frozen=True)
class Unsupported:
    """What a backend lacks for a node: `what` ("float16", "operator gru"), and an alternative."""

    node: str
    what: str
    instead: str


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """The device and backend that run the model.

    `name`: the requested device, "" without a request; `float16`: it computes in float16;
    `rewrites`: how graphs were rewritten to run there; `max_bytes`: of one tensor, None without a
    limit.
    """

    backend: str = ""
    name: str = ""
    float16: bool = True
    rewrites: Sequence[str] = ()
    unsupported: Sequence[Unsupported] = ()
    max_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ScoutingFacts:
    """What the seed search measured for the chosen seed (spec E.4).

    `loss`: the mean over the outputs, each divided by the loss of a constant prediction; `dead`:
    layer → share of units that are 0 on all rows; `gradient_variation`: standard deviation of the
    gradient's norm over batches, divided by its mean; `initial_losses`: output → loss.
    """

    loss: float = 0.0
    dead: Mapping[str, float] = field(default_factory=dict[str, float])
    gradient_variation: float = 0.0
    initial_losses: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(
        cls,
        loss: float,
        dead: Mapping[str, float],
        norms: Sequence[float],
        initial_losses: Mapping[str, float],
    ) -> ScoutingFacts:
        """Return the facts; `norms` are those of the gradients of batches."""
        mean = math.fsum(norms) / len(norms) if norms else 0.0
        spread = math.fsum((norm - mean) ** 2 for norm in norms) / max(1, len(norms))
        variation = math.sqrt(spread) / mean if mean else 0.0
        return cls(
            loss=loss, dead=dead, gradient_variation=variation, initial_losses=initial_losses
        )


@dataclass(frozen=True, kw_only=True)
class PredictionFacts:
    """What the trained model predicts for an output on some rows.

    For each class: `labels`, how many rows have it; for how many it is predicted; and how many of
    these are right. `several`: a row may have several classes. `r2` of a quantity; `d2`, the same
    share of the absolute or the pinball loss, if the model minimises that; `reshaped`: R² is that
    of logarithms or normal scores, which are learnt.
    """

    labels: Sequence[str] = ()
    support: Sequence[int] = ()
    predicted: Sequence[int] = ()
    hits: Sequence[float] = ()
    several: bool = False
    r2: float | None = None
    d2: float | None = None
    reshaped: bool = False

    @property
    def explained(self) -> float | None:
        """The share of its loss, or of the variance, that a quantity explains."""
        return self.r2 if self.d2 is None else self.d2

    @property
    def rows(self) -> int:
        """How many rows, of one class each, there were."""
        return sum(self.support)


@dataclass(frozen=True, kw_only=True)
class HistoryFacts:
    """The course of a training, and what was measured of the model at its end.

    - `epochs`: a record of each; `settings`, `best_epoch` and `stopped` as in `History`.
    - `ended`: False while it runs: then nothing below is known.
    - `references`: output → the loss of a constant prediction, NaN if it is unknown.
    - `dead`, `saturated`: layer → share of its units, of its values; `gradients`: weight → root of
      the mean square; `moved`: weight → the norm of its change, divided by that of the weight.
    - `predictions`: by output, on training rows; `held_out`: on rows of `subset`, which were not
      trained on; `baselines`: by output, what simple models reach on the latter.
    """

    epochs: Sequence[EpochRecord]
    settings: FinalSettings
    best_epoch: int = 0
    stopped: str = ""
    ended: bool = True
    references: Mapping[str, float] = field(default_factory=dict[str, float])
    dead: Mapping[str, float] = field(default_factory=dict[str, float])
    saturated: Mapping[str, float] = field(default_factory=dict[str, float])
    gradients: Mapping[str, float] = field(default_factory=dict[str, float])
    moved: Mapping[str, float] = field(default_factory=dict[str, float])
    predictions: Mapping[str, PredictionFacts] = field(default_factory=dict[str, PredictionFacts])
    held_out: Mapping[str, PredictionFacts] = field(default_factory=dict[str, PredictionFacts])
    subset: str = ""
    baselines: Mapping[str, Baselines] = field(default_factory=dict[str, "Baselines"])


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The known facts; empty ones are unknown, and rules that need them do not fire.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> facts = Facts(network=elaborate(parse(text)), data=DataFacts(sizes={"training": 105}))
    >>> facts.profile.training_samples, facts.batch_size
    (105, 20)

    - `settings`: with "auto" where nothing was decided; `explicit` of them by the user.
    - `learning`: how many parameter values training changes, after `freeze`.
    - `trained_before`: the parameters were trained or loaded.
    - `diverged`: where a loss was not finite, "epoch 2, batch 7".
    - `history`: the course of the training, None before it.
    - `failures`: findings that something could not be measured, by a fault of webnnm.
    """

    network: Network
    settings: Settings = field(default_factory=Settings)
    outputs: Sequence[OutputFacts] = ()
    data: DataFacts = DataFacts()
    device: DeviceFacts = DeviceFacts()
    scouting: ScoutingFacts = ScoutingFacts()
    learning: int | None = None
    trained_before: bool = False
    diverged: str = ""
    history: HistoryFacts | None = None
    failures: Sequence[Finding] = ()

    @cached_property
    def profile(self) -> Profile:
        """The network in numbers (spec F.1)."""
        return profile(
            self.network,
            training_samples=self.data.sizes.get("training"),
            device=self.device.name or self.device.backend,
            outputs=[
                {
                    "name": output.name,
                    "activation": output.activation,
                    "loss": output.loss,
                    "label_format": output.labels.kind if output.labels else None,
                    "classes": output.labels.classes if output.labels else 0,
                    "class_counts": list(output.labels.class_counts) if output.labels else [],
                }
                for output in self.outputs
            ],
        )

    @property
    def batch_size(self) -> int | None:
        """The batch size: the user's, else the dataset's."""
        return self.settings.batch_size or (self.data.batch_size if self.data.sizes else None)

    @property
    def outputs_of_positions(self) -> set[str]:
        """The outputs for positions of sequences, where rare letters and words are natural."""
        return {o.name for o in self.network.outputs if o.source.features.sequence}

    @property
    def npu(self) -> bool:
        """Whether a neural processor is requested."""
        return self.device.name == "npu"
