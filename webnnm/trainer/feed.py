"""Feeds the training rows to a step graph: all on the device, or block by block."""

from __future__ import annotations

from array import array
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from webnnm.backends.budget import Budget
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.data.batch import take
from webnnm.data.binding.binding import DataBinding
from webnnm.data.dataset import Dataset
from webnnm.ops.declare.tensors import TensorType
from webnnm.training.losses import Labels
from webnnm.training.schedules import Schedule
from webnnm.training.settings import FinalSettings
from webnnm.training.step_settings import (
    COUNT,
    DUE,
    EPOCH,
    INPUT,
    MASK,
    ORDER,
    RATE,
    TABLE,
    TARGET,
    StepSettings,
)

TABLE_STEPS = 4096
"""The maximum number of steps of the tables, if they have several epochs."""
MAX_EPOCHS = 128
"""The maximum number of epochs whose tables are uploaded at a time."""

Arrays = Mapping[str, HostArray]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """The training rows, and how many of them are on the device at a time.

    `count`: the number of rows; `resident_rows` of them are on the device at a time; `steps` per
    epoch; `epochs`: the maximum in one device call; `table_steps`: the steps of one block; `data`:
    the arrays that are uploaded once, by the names of the step's inputs, `host_data`: those that
    are too large for that; `targets` and `masks`: the types of all rows on the device.
    """

    binding: DataBinding
    labels: Mapping[str, Labels]
    dtypes: Mapping[str, DataType]
    batch: int
    count: int
    resident_rows: int
    steps: int
    epochs: int
    table_steps: int
    data: Arrays
    host_data: Arrays
    targets: Mapping[str, TensorType]
    masks: Mapping[str, TensorType]

    @property
    def streams(self) -> bool:
        """Whether rows come block by block."""
        return self.binding.streams or bool(self.host_data)

    @property
    def short(self) -> bool:
        """Whether some batch is not full."""
        return self.count % self.batch > 0


@dataclass(frozen=True)
class Block:
    """Rows to train on: `data` to be uploaded, `orders` of the rows on the device, by epoch."""

    data: Arrays
    orders: list[array[int]]


async def make_feed(
    binding: DataBinding,
    labels: Mapping[str, Labels],
    batch: int,
    dtypes: Mapping[str, DataType],
    epochs: int,
    budget: Budget,
) -> Feed:
    """Return the feed for batches of this size, with inputs of these types.

    `epochs`: how many epochs may pass before the host has to look at one. Rows within the budget of
    the device stay there, others are uploaded block by block.

    Raises `DataError` NNM705 if there are no training rows.
    """
    count = binding.dataset.size("training")
    steps = -(-count // batch)
    resident_rows, table_steps = budget.block_steps * batch, budget.block_steps
    exceeds_memory = False
    if binding.streams:
        epochs = 1
        async with aclosing(binding.blocks("training", 0, min(count, batch), labels)) as source:
            first_block = await anext(source)
        data = _name_inputs(*first_block, dtypes)
    else:
        inputs, targets = binding.arrays("training", labels)
        data = _name_inputs(inputs, targets, binding.masks("training"), dtypes)
        exceeds_memory = sum(array.data.nbytes for array in data.values()) > budget.resident_bytes
        augments = isinstance(binding.dataset, Dataset) and binding.dataset.augmentation
        max_epochs = (
            1 if augments or exceeds_memory else min(epochs, MAX_EPOCHS, TABLE_STEPS // steps)
        )
        epochs = max(1, max_epochs)
        if not exceeds_memory:
            resident_rows, table_steps = count, epochs * steps

    def types(prefix: str) -> dict[str, TensorType]:
        return {
            name.removeprefix(prefix): TensorType(array.dtype, (resident_rows, *array.shape[1:]))
            for name, array in data.items()
            if name.startswith(prefix)
        }

    return Feed(
        binding=binding,
        labels=labels,
        dtypes=dtypes,
        batch=batch,
        count=count,
        resident_rows=resident_rows,
        steps=steps,
        epochs=epochs,
        table_steps=table_steps,
        data={} if binding.streams or exceeds_memory else data,
        host_data=data if exceeds_memory else {},
        targets=types(TARGET),
        masks=types(MASK),
    )


async def iterate_blocks(
    feed: Feed, epoch: int, settings: FinalSettings, epochs: int = 1
) -> AsyncGenerator[Block]:
    """Yield the blocks of an epoch, or the single block of several `epochs` starting with it."""
    binding, seed = feed.binding, settings.seed
    if not binding.streams:
        dataset = binding.dataset
        data: Arrays = {}
        if isinstance(dataset, Dataset) and dataset.augmentation is not None:
            from webnnm.data.preparation.epoch_arrays import epoch_arrays

            augmented = epoch_arrays(dataset, epoch, settings.shuffle, seed)
            data = _name_inputs(*binding.convert_rows(*augmented, feed.labels), {}, feed.dtypes)
        numbers = range(epoch, epoch + epochs)
        orders = binding.orders("training", numbers, settings.shuffle, seed)
        if not feed.host_data:
            yield Block(data, orders)
            return
        data = {**feed.host_data, **data}
        for start in range(0, feed.count, feed.resident_rows):
            rows = orders[0][start : start + feed.resident_rows]
            block = {name: take(array, rows, feed.resident_rows) for name, array in data.items()}
            yield Block(block, [array("i", range(len(rows)))])
        return
    async with aclosing(
        binding.blocks("training", epoch, feed.resident_rows, feed.labels)
    ) as blocks:
        async for inputs, targets, masks in blocks:
            data = _name_inputs(inputs, targets, masks, feed.dtypes)
            count = len(next(iter(targets.values())))
            block = {
                name: take(array, range(count), feed.resident_rows) for name, array in data.items()
            }
            yield Block(block, [array("i", range(count))])


def make_step_tables(
    settings: StepSettings, schedule: Schedule, orders: Sequence[array[int]], first: int
) -> dict[str, HostArray]:
    """Return the tables of a block whose first step is step `first` of the training, from 1."""
    batch, size, accumulate = settings.batch, settings.steps, settings.update.accumulate
    rows = array("i")
    counts: list[float] = []
    due: list[float] = []
    epochs: list[float] = []
    for epoch, order in enumerate(orders):
        steps = -(-len(order) // batch)
        rows += order
        rows.frombytes(bytes(4 * (steps * batch - len(order))))
        counts += [float(batch)] * (steps - 1)
        counts.append(float(len(order) - (steps - 1) * batch))
        due += [float(k % accumulate == 0 or k == steps) for k in range(1, steps + 1)]
        epochs += [float(epoch)] * steps
    columns = {RATE: schedule.rates(first, len(counts)), COUNT: counts, DUE: due, EPOCH: epochs}
    width = len(settings.columns)
    table = array("f", bytes(4 * size * width))
    for column, name in enumerate(settings.columns):
        table[column : len(counts) * width : width] = array("f", columns[name])
    rows.frombytes(bytes(4 * (size * batch - len(rows))))
    return {
        ORDER: HostArray.of(rows, "int32", (size, batch)),
        TABLE: HostArray.of(table, "float32", (size, width)),
    }


def _name_inputs(
    inputs: Arrays, targets: Arrays, masks: Arrays, dtypes: Mapping[str, DataType]
) -> dict[str, HostArray]:
    """Return arrays by the names of the step's inputs."""
    named = {
        INPUT + name: HostArray.of(array, dtypes[name], array.shape)
        for name, array in inputs.items()
    }
    named |= {TARGET + name: array for name, array in targets.items()}
    return named | {MASK + name: array for name, array in masks.items()}
