"""Settings of a training that follow from the rows of its dataset."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.core.shapes import count
from webnnm.data.dataset import Dataset
from webnnm.data.preparation.agreement import measure_agreement
from webnnm.data.protocol import AnyDataset
from webnnm.graph.elaboration.vertices import Network
from webnnm.training.automatic import (
    choose_decay,
    complete_settings,
    depends_on_rows,
    lower_decay,
)
from webnnm.training.settings import Settings


def complete_from_dataset(
    network: Network,
    dataset: AnyDataset | None,
    settings: Settings,
) -> Settings:
    """Return resolved settings, with those that the rows and parameters decide.

    Raises `DataError` NNM704 if rows shall be held out that cannot be.
    """
    rows, batch, can_split, decay, reason = 0, 1, False, None, ""
    shapes = [parameter.features[0].sizes() for parameter in network.parameters]
    size = sum(map(count, shapes))
    if dataset is not None:
        rows, batch = dataset.size("training"), settings.batch_size or dataset.batch_size
        can_split = isinstance(dataset, Dataset) and not dataset.size("validation")
        if settings.validation_split and not can_split:
            raise DataError(
                "NNM704",
                f"validation_split is {settings.validation_split:g}, and {dataset.name} "
                + ("has validation rows" if dataset.size("validation") else "is not a Dataset"),
                hint="leave it out; split= of the dataset divides its rows",
            )
        if depends_on_rows(settings):
            agreement = measure_agreement(dataset) if isinstance(dataset, Dataset) else None
            if agreement is not None:
                decay = choose_decay(rows, agreement.features, agreement.unexplained)
                reason = f"{rows:,} rows: {agreement}"
            is_linear = sum(len(shape) > 1 for shape in shapes) == len(network.outputs) == 1
            if is_linear and rows:
                usual = decay or settings.weight_decay
                assert usual is not None
                weights = -(-size // count(network.outputs[0].source.features.sizes()))
                lowered = lower_decay(usual, rows, weights)
                if lowered < usual:
                    decay, reason = lowered, f"a linear model of {rows:,} rows"
    return complete_settings(
        settings,
        rows=rows,
        batch_size=batch,
        parameters=size,
        can_split=can_split,
        decay=decay,
        reason=reason,
    )
