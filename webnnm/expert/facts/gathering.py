"""Gathers the facts for the expert system from a model, its data and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from webnnm.backends.base import Backend
from webnnm.core.errors import WebNNMError
from webnnm.core.finding import Finding
from webnnm.core.shapes import count
from webnnm.data.binding.binding import DataBinding
from webnnm.data.dataset import Dataset
from webnnm.data.examples.iris import IrisDataset
from webnnm.data.preparation.standardize import RESHAPING
from webnnm.expert.facts.facts import (
    DataFacts,
    DeviceFacts,
    Facts,
    FeatureFacts,
    OutputFacts,
    ScoutingFacts,
    Suspicion,
)
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.testing.objectives import Objective
from webnnm.training.freezing import compute_multipliers
from webnnm.training.losses import name_loss_function
from webnnm.training.settings import Settings


def gather_facts(
    network: Network,
    backend: Backend | None,
    binding: DataBinding | None,
    outputs: Mapping[str, Objective],
    *,
    settings: Settings,
    data: DataFacts | None = None,
    scouting: ScoutingFacts | None = None,
    device: str = "",
    trained: bool = False,
) -> Facts:
    """Return what is known about a model before it is trained.

    `backend` is None if nothing runs the model yet; `data` are the facts of the dataset if they
    were gathered before, because that takes a while.
    """
    learning = compute_multipliers(network, settings.freeze)
    own = {name: name_loss_function(settings.loss, name) for name in outputs}
    return Facts(
        network=network,
        settings=settings,
        outputs=[
            OutputFacts(
                name=name,
                activation=o.activation,
                loss=own[name] or o.choice.loss.name,
                written=o.written or bool(own[name]),
                reason=o.choice.reason,
                conversion=o.choice.conversion,
                labels=o.labels,
                operator=o.operator,
                standardized=(scale := _target_scale(binding, name)) is not None,
                reshaped=scale in RESHAPING,
            )
            for name, o in outputs.items()
        ],
        data=data or data_facts(binding),
        device=DeviceFacts(
            backend=backend.name if backend else "",
            name=device,
            rewrites=backend.rewrites if backend else (),
            max_bytes=backend.max_tensor_bytes if backend else None,
        ),
        scouting=scouting or ScoutingFacts(),
        learning=sum(
            count(p.features[0].sizes()) for p in network.parameters if learning.get(p.name)
        ),
        trained_before=trained,
    )


def _target_scale(binding: DataBinding | None, output: str) -> str | None:
    """Return how the targets of an output are scaled, None if they are not."""
    if binding is None:
        return None
    scaled = binding.target_standardization.get(binding.outputs[output].field)
    return None if scaled is None else scaled.scale


def data_facts(binding: DataBinding | None, non_finite: str = "") -> DataFacts:
    """Measure a dataset for the rules about data; of a stream only its sizes are known.

    Rows are not examined where it is known that one is not finite, and where.
    """
    if binding is None:
        return DataFacts(non_finite=non_finite)
    dataset = binding.dataset
    sizes = {part: dataset.size(part) for part in ("training", "validation", "testing")}
    length = max(binding.sequence.values(), default=0)
    bare = DataFacts(
        sizes=sizes, batch_size=dataset.batch_size, length=length, non_finite=non_finite
    )
    if not isinstance(dataset, Dataset) or not sizes["training"]:
        return bare
    try:
        return _measure_rows(bare, binding, dataset)
    except WebNNMError:
        raise  # as a training would
    except Exception as error:
        from webnnm.expert.rules.failing import failure

        return replace(bare, failures=[failure("E600", error)])


def _measure_rows(bare: DataFacts, binding: DataBinding, dataset: Dataset) -> DataFacts:
    """Return the facts with what takes a look at the rows."""
    from webnnm.data.preparation.quality import measure_quality

    quality = measure_quality(dataset)
    failures: list[Finding] = []
    block_of = {bound.field: block for block, bound in binding.inputs.items()}
    output_of = {bound.field: block for block, bound in binding.outputs.items()}
    features: dict[str, list[FeatureFacts]] = {}
    words = {
        name
        for encoder in getattr(dataset, "encoders", ())
        if hasattr(encoder, "categories")
        for name in encoder.features
    }
    for f in quality.features:
        fitted = dataset.standardization.get(f.block)
        raw = fitted.undo_feature(f.index, f.mean) if fitted else f.mean
        feature = FeatureFacts(
            *(f.name or str(f.index), f.mean, f.std, f.binary, f.minimum, f.maximum, raw),
            f.name in words,
        )
        features.setdefault(block_of.get(f.block, f.block), []).append(feature)
    return replace(
        bare,
        features=features,
        class_counts={output_of.get(c.output, c.output): c.counts for c in quality.classes},
        class_names={output_of.get(c.output, c.output): c.names for c in quality.classes},
        shared_rows=quality.get_repeated_share(),
        shared_validation=quality.get_repeated_share("validation"),
        coarse=quality.coarse,
        method=quality.method,
        suspicions={} if bare.non_finite else _suspicions(dataset, quality.equal, failures),
        unknown=_unknown(dataset),
        sorted=any(c.in_order for c in quality.classes),
        examined=_describe_sample(dataset),
        fitted_on="full" if quality.foreign else "training" if binding.standardization else "",
        failures=failures,
    )


def _suspicions(
    dataset: Dataset, equal: Sequence[Sequence[int]], failures: list[Finding]
) -> dict[str, Suspicion]:
    """Return what an examination finds, and add its failures; the rows of Iris are known to be
    sound."""
    if isinstance(dataset, IrisDataset):
        return {}
    from webnnm.expert.examination.examination import examine
    from webnnm.expert.rules.failing import failure

    return examine(dataset, lambda id, error: failures.append(failure(id, error)), equal)


def _describe_sample(dataset: Dataset) -> str:
    """Return how many rows are examined, "" for all of them."""
    from webnnm.data.preparation.row_sample import count_examined_rows

    total, examined = dataset.size("full"), count_examined_rows(dataset)
    if examined == total:
        return ""
    return f"examined {examined:,} of {total:,} rows, drawn by seed {dataset.seed}"


def _unknown(dataset: Dataset) -> dict[str, float]:
    """Return for columns of words how many of the other rows have none of the training words."""
    columns: Any = getattr(getattr(dataset, "report", None), "columns", ())
    others = dataset.size("full") - dataset.size("training")
    if not others:
        return {}
    return {column.name: column.unknown / others for column in columns if column.unknown}
