"""Augmentation: random changes to training batches, different in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import show
from webnnm.data.batch import Batch, take
from webnnm.data.field import Field
from webnnm.data.intake import require_finite
from webnnm.data.series.sequences import restore_sequences

Arrays = dict[str, HostArray]
Augmentation = Callable[[Arrays, Arrays, Stream, int], tuple[Mapping[str, Any], Mapping[str, Any]]]
"""`function(inputs, outputs, stream, epoch) -> (inputs, outputs)`, see `Dataset.augment`."""


def chain(functions: Sequence[Augmentation | None]) -> Augmentation:
    """Return a function that calls others one after the other, those that are not None.

    >>> def double(inputs, outputs, stream, epoch):
    ...     return {"x": [2 * value for value in inputs["x"].values()]}, outputs
    >>> chain([double, None, double])({"x": HostArray.of([3.0])}, {}, Stream(0, 2), 0)[0]["x"]
    [12.0]
    """

    def run(inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int) -> Any:
        sides: list[dict[str, Any]] = [{**inputs}, {**outputs}]
        for function in functions:
            if function is None:
                continue
            arrays = [
                {block: HostArray.of(value, before[block].dtype) for block, value in side.items()}
                for side, before in zip(sides, (inputs, outputs), strict=True)
            ]
            for side, changed in zip(
                sides, function(arrays[0], arrays[1], stream, epoch), strict=True
            ):
                side.update(changed)
        return tuple(sides)

    return run


def augment_batches(
    batches: Iterable[Batch],
    function: Augmentation,
    fields: tuple[Mapping[str, Field], Mapping[str, Field]],
    epoch: int,
    seed: int,
) -> Iterator[Batch]:
    """Yield the batches of an epoch as changed by a function, see `augment_batch`."""
    for number, batch in enumerate(batches):
        yield augment_batch(batch, function, fields, (seed, epoch, number))


def augment_batch(
    batch: Batch,
    function: Augmentation,
    fields: tuple[Mapping[str, Field], Mapping[str, Field]],
    key: tuple[int, int, int],
) -> Batch:
    """Return a batch as changed by a function.

    >>> def double(inputs, outputs, stream, epoch):
    ...     return {"x": [2 * value for value in inputs["x"].values()]}, outputs
    >>> batch = Batch(2, 1, {"x": HostArray.of([3, 0])}, {})
    >>> fields = {"x": Field((), "float32")}, {}
    >>> augment_batch(batch, double, fields, (0, 0, 0)).inputs["x"].tolist()
    [6.0, 0.0]

    The function gets the valid rows, without padding rows, and a stream of random numbers that
    depends only on `key`: seed, epoch and number of the batch. `fields` are the inputs and
    outputs of the dataset. Raises `DataError` NNM702 for another shape, NNM707 for a number that
    is not finite, NNM710 for an unknown block.
    """
    seed, epoch, number = key
    stream = Stream(seed, Purpose.SHUFFLING, epoch, "augment", number)
    valid = range(batch.valid_count)
    arguments = [
        {block: values.rows(valid) for block, values in side.items()}
        for side in (batch.inputs, batch.outputs)
    ]
    changed = function(arguments[0], arguments[1], stream, epoch)
    try:
        inputs, outputs = changed
    except (TypeError, ValueError) as error:
        raise DataError(
            "NNM702", "the augmentation did not return a pair", hint="return inputs, outputs"
        ) from error
    return replace(
        batch,
        inputs=_check_changes("input", inputs, batch.inputs, fields[0], batch),
        outputs=_check_changes("output", outputs, batch.outputs, fields[1], batch),
    )


def _check_changes(
    role: str,
    changed: Mapping[str, Any],
    before: Mapping[str, HostArray],
    fields: Mapping[str, Field],
    batch: Batch,
) -> Arrays:
    """Return what was changed in the form of the batch; blocks left out stay as they were."""
    for block in changed:
        if block not in before:
            hint = suggestion(block, before) or f"available: {', '.join(before)}"
            raise DataError("NNM710", f'the augmentation returned an {role} "{block}"', hint=hint)
    result = dict(before)
    for block, value in changed.items():
        where = f'augmented {role} "{block}"'
        values = HostArray.of(value, fields[block].dtype)
        expected = (batch.valid_count, *before[block].shape[1:])
        if values.shape != expected:
            raise DataError(
                "NNM702",
                f"{where} has the shape {show(values.shape)}, the batch {show(expected)}",
                hint="augmentation must not change the number of rows or their shape",
            )
        require_finite(where, values)
        valid = range(batch.valid_count)
        # Everything after the end of a sequence is zero again.
        result[block] = take(
            restore_sequences(values, before[block].rows(valid)), valid, batch.batch_size
        )
    return result
