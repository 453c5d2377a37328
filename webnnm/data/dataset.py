"""The dataset over arrays in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from webnnm.arrays import HostArray
from webnnm.data.batch import Batch, cut
from webnnm.data.classes import class_of_rows
from webnnm.data.decode import decode
from webnnm.data.field import SUBSETS, Field, Kind
from webnnm.data.intake import by_block, listed, per_block, row_count_of, take_input, take_output
from webnnm.data.split import METHODS, PARTS, Method, split_rows
from webnnm.data.standardize import apply_all, fit_all
from webnnm.data.statistics import Statistics, measure
from webnnm.errors import DataError, suggestion
from webnnm.random import Purpose, Stream

Arrays = dict[str, HostArray]


class Dataset:
    """Rows of inputs and outputs, divided into subsets and delivered in batches (spec G).

    >>> data = Dataset([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]], split=(1, 0, 0))
    >>> data.size("training"), data.inputs["model"].shape
    (4, (2,))

    `inputs` and `outputs` are block → array, or one array for the only block; the first dimension
    is the rows. An array is anything `HostArray.of` takes: nested lists, buffers, NumPy arrays.

    - `name`: text for logs.
    - `batch_size`: rows of a batch, at least 1.
    - `split`: three shares, counts or lists of row numbers: training, validation, testing.
    - `seed`: of the split; the same seed gives the same subsets.
    - `method`: "stratified" (where there are classes), "random" or "sequential";
      `stratify=False` makes the first of them the second.
    - `standardize`: True, or names of inputs or of features. Statistics come from training rows.
    - `standardize_targets`: the same for continuous outputs; `decode` undoes it.
    - `labels`: class names of the only output, or output → class names.
    - `kinds`: block → kind where the detected one is wrong (of the output if both have the name).
    - `names`: block → names of the dimensions (of the input if both have the name).
    - `features`: names of the features of the only input, or input → names.

    Raises `DataError` NNM702 (sizes), NNM704 (options), NNM705 (no rows), NNM706 (labels),
    NNM707 (numbers that are not finite), NNM710 (unknown names).

    Attributes: `name`; `inputs` and `outputs`, block → `Field`; `seed`; `method` of the split
    ("explicit" for lists of rows); `standardization` and `target_standardization`, input or
    output block → `Standardization`, empty unless asked for.
    """

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        *,
        name: str = "dataset",
        batch_size: int = 20,
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        stratify: bool = True,
        method: Method = "stratified",
        standardize: bool | Iterable[str] = False,
        standardize_targets: bool = False,
        labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        features: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        given_inputs, given_outputs = by_block(inputs), by_block(outputs)
        blocks = [*given_inputs, *given_outputs]
        kind_of = per_block(kinds, blocks, "kinds")
        names_of = per_block(names, blocks, "names")
        features_of = per_block(features, given_inputs, "features")
        self._labels = per_block(labels, given_outputs, "labels")
        self.name = name
        self.seed = seed
        self.batch_size = batch_size
        self.inputs: dict[str, Field] = {}
        self.outputs: dict[str, Field] = {}
        self._inputs: Arrays = {}
        self._outputs: Arrays = {}
        for block, value in given_inputs.items():
            self.inputs[block], self._inputs[block] = take_input(
                block,
                value,
                None if block in given_outputs else kind_of.get(block),
                names_of.get(block, ()),
                features_of.get(block, ()),
            )
        for block, value in given_outputs.items():
            self.outputs[block], self._outputs[block] = take_output(
                block,
                value,
                kind_of.get(block),
                self._labels.get(block),
                () if block in given_inputs else names_of.get(block, ()),
            )
        row_count = row_count_of(self._inputs, self._outputs)
        if method == "stratified" and not stratify:
            method = "random"
        classes = class_of_rows(self.outputs, self._outputs)
        parts = split_rows(row_count, split, method=method, classes=classes, seed=seed)
        self._rows: dict[str, Sequence[int]] = dict(zip(PARTS, parts, strict=True))
        self._rows["full"] = range(row_count)
        self.method: Method | Literal["explicit"] = method
        if not all(isinstance(part, int | float) for part in split):
            self.method = "explicit"
        elif method == METHODS[0] and classes is None:
            self.method = "random"
        self.standardization = fit_all(self.inputs, self._inputs, parts[0], standardize)
        self.target_standardization = fit_all(
            self.outputs, self._outputs, parts[0], standardize_targets
        )
        apply_all(self.standardization, self.inputs, self._inputs)
        apply_all(self.target_standardization, self.outputs, self._outputs)
        self._cursors: dict[str, Iterator[Batch]] = {}
        self._epochs: dict[str, int] = {}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part} {self.size(part)}" for part in PARTS if self.size(part))
        return f"{type(self).__name__}({self.name}: {self.size('full')} rows, {sizes})"

    @property
    def batch_size(self) -> int:
        """The rows of a batch."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:  # type: ignore[reportUnnecessaryIsInstance]
            raise DataError("NNM704", f"batch_size is {batch_size}", hint="whole and at least 1")
        self._batch_size = batch_size

    def set_batch_size(self, batch_size: int) -> None:
        """Set the rows of a batch, at least 1 (NNM704)."""
        self.batch_size = batch_size

    def labels(self, block: str | None = None) -> list[str] | None:
        """Return the class names of an output, by default the only one, or None without names."""
        names = self._labels.get(self._output_block(block))
        return None if names is None else list(names)

    def rows(self, subset: str) -> Sequence[int]:
        """Return which rows of the whole are in a subset, in the order of `arrays`."""
        if subset not in self._rows:
            hint = suggestion(str(subset), SUBSETS) or f"one of {', '.join(SUBSETS)}"
            raise DataError("NNM705", f'unknown subset "{subset}"', hint=hint)
        return self._rows[subset]

    def size(self, subset: str = "full") -> int:
        """Return the number of rows of a subset."""
        return len(self.rows(subset))

    def num_batches(self, subset: str) -> int:
        """Return how many batches hold a subset: ⌈size/batch_size⌉."""
        return -(-self.size(subset) // self.batch_size)

    def statistics(self, subset: str = "training") -> Statistics:
        """Return the figures of a subset, of the values that its batches deliver."""
        inputs, outputs = self.arrays(subset)
        return Statistics(
            {block: measure(values, self.inputs[block]) for block, values in inputs.items()},
            {block: measure(values, self.outputs[block]) for block, values in outputs.items()},
        )

    def arrays(self, subset: str) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of a whole subset, in order, as batches deliver them.

        Raises `DataError` NNM705 for a subset without rows.
        """
        rows = self._some_rows(subset)
        return (
            {block: values.rows(rows) for block, values in self._inputs.items()},
            {block: values.rows(rows) for block, values in self._outputs.items()},
        )

    def order(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> list[int]:
        """Return in which order an epoch takes the rows of `arrays(subset)` (spec G.3).

        Training rows are shuffled unless `shuffle` is False, `full` if it is True, validation
        and testing never. The order depends on seed and epoch alone.
        """
        size = self.size(subset)
        if shuffle is None:
            shuffle = subset == "training"
        if shuffle and subset not in ("validation", "testing"):
            return Stream(seed, Purpose.SHUFFLING, epoch).permutation(size)
        return list(range(size))

    def batches(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> Iterator[Batch]:
        """Return the batches of an epoch in the order of `order`, the last filled up with zeros.

        >>> data = Dataset([[1.0], [2.0], [3.0]], [2.5, 4.5, 6.5], split=(1, 0, 0), batch_size=2)
        >>> [batch.valid_count for batch in data.batches("training")]
        [2, 1]

        Every call has a cursor of its own. Raises `DataError` NNM705 for a subset without rows.
        """
        rows = self._some_rows(subset)
        indices = [rows[position] for position in self.order(subset, epoch, shuffle, seed)]
        return cut(self._inputs, self._outputs, indices, self.batch_size)

    def sample(self, index: int) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of one row of the whole, as batches deliver them."""

        def row(values: HostArray) -> HostArray:
            return HostArray.of(values.rows([index]), shape=values.shape[1:])

        return (
            {block: row(values) for block, values in self._inputs.items()},
            {block: row(values) for block, values in self._outputs.items()},
        )

    def map(self, to_model: Mapping[str, str]) -> Dataset:
        """Return the same data under other names: field → block of a model.

        >>> list(Dataset({"x": [[1.0]]}, {"y": [0.5]}).map(to_model={"x": "left"}).inputs)
        ['left']

        Raises `DataError` NNM710 for a field that is not there, or two of one name.
        """
        known = {*self.inputs, *self.outputs}
        for field in to_model:
            if field not in known:
                raise DataError(
                    "NNM710", f'no field "{field}"', hint=suggestion(field, known) or listed(known)
                )

        def renamed(members: Mapping[str, Any]) -> dict[str, Any]:
            result = {to_model.get(block, block): value for block, value in members.items()}
            if len(result) < len(members):
                raise DataError("NNM710", f"two fields would have one name: {listed(result)}")
            return result

        other = copy.copy(self)
        other.inputs, other.outputs = renamed(self.inputs), renamed(self.outputs)
        other._inputs, other._outputs = renamed(self._inputs), renamed(self._outputs)
        other._labels = renamed(self._labels)
        other.standardization = renamed(self.standardization)
        other.target_standardization = renamed(self.target_standardization)
        other._cursors, other._epochs = {}, {}
        return other

    def decode(self, block: str | None, values: Any) -> Any:
        """Return the class names, or numbers without names, that predictions stand for.

        Continuous values come back in the units of the data. See `webnnm.data.decode.decode`.
        """
        block = self._output_block(block)
        if block in self.target_standardization:
            values = self.target_standardization[block].undo(HostArray.of(values))
        return decode(values, self.outputs[block], self._labels.get(block))

    subset_size = subsetSize = size
    batchSize = batch_size
    setBatchSize = set_batch_size
    numBatches = num_batches
    mapOutputToLabels = decode

    def prepareBatches(self, subset: str) -> None:
        """Begin the next epoch of a subset for `getNextBatch`; every subset has its own cursor."""
        epoch = self._epochs.get(subset, -1) + 1
        self._cursors[subset] = self.batches(subset, epoch, seed=self.seed)
        self._epochs[subset] = epoch

    def getNextBatch(self, subset: str, model: object = None) -> Batch | None:
        """Return the next batch, None when the epoch is over; `model` is not needed any more."""
        del model
        if subset not in self._cursors:
            self.prepareBatches(subset)
        return next(self._cursors[subset], None)

    def _some_rows(self, subset: str) -> Sequence[int]:
        rows = self.rows(subset)
        if not rows:
            raise DataError(
                "NNM705",
                f'subset "{subset}" of {self.name} has no rows',
                hint="split=(training, validation, testing) decides on the sizes",
            )
        return rows

    def _output_block(self, block: str | None) -> str:
        if block is None and len(self.outputs) == 1:
            return next(iter(self.outputs))
        if block not in self.outputs:
            hint = suggestion(str(block), self.outputs) or listed(self.outputs)
            raise DataError("NNM710", f'no output "{block}"', hint=hint)
        return block
