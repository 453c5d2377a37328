"""The dataset over arrays in memory."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import by_javascript_name
from webnnm.core.shapes import as_python
from webnnm.data.batch import Batch, cut, row_order
from webnnm.data.classes import get_row_classes
from webnnm.data.field import SUBSETS, Field, Kind
from webnnm.data.intake import by_block, count_rows, list_available, per_block, read_fields
from webnnm.data.preparation.precision import PrecisionLoss, find_losses
from webnnm.data.preparation.standardize import (
    SCALES,
    InputScale,
    Scale,
    Unscaled,
    warn_about_units,
)
from webnnm.data.preparation.statistics import Statistics, measure
from webnnm.data.series.sequences import (
    Length,
    check_shared,
    get_lengths,
    make_mask,
    restore_sequences,
)
from webnnm.data.split import PARTS, Method, Rows, Split, fold_rows, split_rows
from webnnm.data.tables.word_labels import encode_word_labels

if TYPE_CHECKING:
    from webnnm.data.preparation.augment import Augmentation

Arrays = dict[str, HostArray]


class Dataset:
    """Rows of inputs and outputs, split into subsets and delivered in batches (spec G).

    >>> data = Dataset([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]], split=(1, 0, 0))
    >>> data.size("training"), data.inputs["model"].shape
    (4, (2,))

    `inputs` and `outputs` are dicts from block to array, or a single array for the only block. The
    first dimension is the rows. Arrays can be nested lists, buffers or NumPy arrays: anything
    `HostArray.of` accepts. Outputs can also be lists of words, which are classes. A row whose class
    is negative, or whose word is empty or None, has no label: it counts in no loss and no metric.

    - `name`: a name for logs.
    - `batch_size`: rows per batch, at least 1.
    - `split`: three fractions, counts or lists of row numbers, for training, validation and
      testing; no row may be in two of the lists.
    - `seed`: the random seed of the split; the same seed gives the same subsets.
    - `method`: how `split` assigns rows: "stratified" (if there are classes), "random" or
      "sequential".
    - `standardize`: True, or the names of inputs or features. Statistics are computed from the
      training rows.
    - `standardize_targets`: the same for continuous outputs; `decode` reverses it.
    - `scale`: how both are scaled: "standard" (mean 0, standard deviation 1), "minmax" (0 … 1) or
      "quantiles": to a normal distribution, by the quantiles of the training rows, which spreads
      numbers that crowd at one end of their range.
    - `input_scale`: how inputs are, if not alike; also a dict of features, {"height": "quantiles"},
      where the others are "standard".
    - `target_scale`: how outputs are, if not alike: also "log1p", which standardises log(1 + x),
      for prices and counts that span orders of magnitude.
    - `labels`: the class names of the only output, or a dict from output to class names.
    - `kinds`: block → kind, to override the detected one (that of the output if an input has the
      same name): "continuous", "classes" (class numbers), "onehot", "multilabel" (0 or 1 for each
      label), "distribution" (shares that sum to 1) or "boxes" (the grid of a `DetectionDataset`).
      Whole numbers from 0 without gaps are detected as classes; a model whose output is one number
      takes three and more of them as quantities.
    - `names`: block → names of its dimensions (those of the input if an output has the same name).
    - `features`: the feature names of the only input, or a dict from input to names; for data
      frames they default to the column names.
    - `length`: how to pad sequences, which are arrays `[rows, length, …]` or lists of arrays of
      different lengths: "max", "bucket" (the next power of two) or an integer; either for the only
      input and all such lists, or a dict by block. Padding is zeros (class -1) and does not count
      in statistics and metrics.
    - `sample_weight`: the weight of each row in the losses of training, validation and test: one
      non-negative number per row; all equal by default.

    Raises `DataError` NNM702 for mismatched sizes, NNM704 for invalid options, NNM705 without rows,
    NNM706 for invalid labels, NNM707 for non-finite numbers, NNM710 for unknown names, NNM711 for
    invalid lengths.

    Attributes: `name`; `inputs` and `outputs`, block → `Field`; `seed`; `method` of the split
    ("explicit" for lists of rows); `sample_weight`, float32 `[rows]` or None; `standardization` and
    `target_standardization`, block → `Standardization`, empty by default; `augmentation`, a
    function or None; `without_targets`, outputs of a model that are not trained, empty by default;
    `came_as_float32`, the inputs whose numbers were float32 before; `merged_words`, numbers
    `[rows]` that tell rows apart whose words or texts differ, though inputs have no place for that.
    """

    without_targets: Collection[str] = ()
    merged_words: Mapping[str, HostArray] = MappingProxyType({})

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        *,
        name: str = "dataset",
        batch_size: int = 20,
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        method: Method = "stratified",
        standardize: bool | Iterable[str] = False,
        standardize_targets: bool = False,
        scale: InputScale = "standard",
        input_scale: InputScale | Mapping[str, Literal["quantiles"]] | None = None,
        target_scale: Scale | None = None,
        labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        features: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        length: Length | Mapping[str, Length] | None = None,
        sample_weight: Any = None,
    ) -> None:
        given_inputs, given_outputs = by_block(inputs), by_block(outputs)
        self._labels = per_block(labels, given_outputs, "labels")
        self.name = name
        self.seed = as_python(seed)
        self.batch_size = batch_size
        options = {"kinds": kinds, "names": names, "features": features, "length": length}
        options["kinds"] = self._encode_labels(given_outputs, given_inputs, kinds)
        self.inputs: dict[str, Field]
        self.outputs: dict[str, Field]
        self._inputs: Arrays
        self._outputs: Arrays
        taken = read_fields(given_inputs, given_outputs, self._labels, options)
        (self.inputs, self._inputs), (self.outputs, self._outputs) = taken
        row_count = count_rows(self._inputs, self._outputs)
        classes = get_row_classes(self.outputs, self._outputs)
        division = Split(split, self.seed, method)
        parts = division.rows(row_count, classes)
        self.method = division.resolve_method(classes)
        self._unscaled_inputs = Unscaled.of(
            self.inputs, self._inputs, standardize, input_scale or scale
        )
        self._target_scaling = standardize_targets, target_scale or scale, SCALES
        self._unscaled_outputs = Unscaled.of(self.outputs, self._outputs, *self._target_scaling)
        if target_scale is not None and not standardize_targets:
            raise DataError(
                "NNM704",
                f'target_scale="{target_scale}", but no target is scaled',
                hint="standardize_targets=True scales targets",
            )
        if input_scale is not None and standardize is False:
            raise DataError(
                "NNM704",
                f"input_scale={input_scale!r}, but no input is scaled",
                hint="standardize=True scales inputs",
            )
        # What comes as float32 may have lost digits before.
        self.came_as_float32 = frozenset(
            block for block, values in self._inputs.items() if values.dtype == "float32"
        )
        if scale != "standard" and standardize is False and not standardize_targets:
            raise DataError(
                "NNM704",
                f'scale="{scale}", but nothing is scaled',
                hint="standardize=True scales inputs",
            )
        self._row_count = row_count
        self.sample_weight: HostArray | None = None
        if sample_weight is not None:
            from webnnm.data.preparation.row_weights import check_weights

            self.sample_weight = check_weights(sample_weight, row_count, parts[0])
        self._apply_split(parts)
        self.augmentation: Augmentation | None = None
        self._cursors: dict[str, Iterator[Batch]] = {}
        self._epochs: dict[str, int] = {}

    def _encode_labels(
        self, outputs: dict[str, Any], inputs: Mapping[str, Any], kinds: Any
    ) -> dict[str, Kind]:
        """Replace labels that are words by numbers; return the kinds of all blocks."""
        kind_by_block = per_block(kinds, [*inputs, *outputs], "kinds")
        for block, value in outputs.items():
            encoded = encode_word_labels(f'output "{block}"', value, self._labels.get(block))
            if encoded is not None and kind_by_block.get(block, "classes") == "classes":
                outputs[block], self._labels[block] = encoded
                kind_by_block[block] = "classes"
        return kind_by_block

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part} {self.size(part)}" for part in PARTS if self.size(part))
        return f"{type(self).__name__}({self.name}: {self.size('full')} rows, {sizes})"

    @property
    def batch_size(self) -> int:
        """The number of rows per batch."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        batch_size = as_python(batch_size)
        if not isinstance(batch_size, int) or not 1 <= batch_size < 2**31:
            hint = "an integer from 1 to below 2³¹"
            raise DataError("NNM704", f"batch_size is {batch_size!r}"[:60], hint=hint)
        self._batch_size = batch_size

    def set_batch_size(self, batch_size: int) -> None:
        """Set the number of rows per batch, at least 1 (else NNM704)."""
        self.batch_size = batch_size

    def labels(self, block: str | None = None) -> list[str] | None:
        """Return the class names of an output, by default the only one; None without names."""
        names = self._labels.get(self._resolve_output(block))
        return None if names is None else list(names)

    def rows(self, subset: str) -> Sequence[int]:
        """Return the row numbers of a subset, in the order of `arrays`."""
        if subset not in self._rows:
            hint = suggestion(str(subset), SUBSETS) or f"one of {', '.join(SUBSETS)}"
            raise DataError("NNM705", f'unknown subset "{subset}"', hint=hint)
        return self._rows[subset]

    def size(self, subset: str = "full") -> int:
        """Return the number of rows in a subset."""
        return len(self.rows(subset))

    def num_batches(self, subset: str) -> int:
        """Return the number of batches in a subset: ⌈size/batch_size⌉."""
        return -(-self.size(subset) // self.batch_size)

    def lost_values(self) -> dict[str, Mapping[int, PrecisionLoss]]:
        """Return the columns that lost distinct values as float32, by block and number.

        The blocks are named "input NAME" and "output NAME".
        """
        lost: dict[str, Mapping[int, PrecisionLoss]] = {}
        for role, unscaled, arrays in (
            ("input", self._unscaled_inputs, self._inputs),
            ("output", self._unscaled_outputs, self._outputs),
        ):
            lost |= {f"{role} {block}": losses for block, losses in unscaled.lost.items()}
            for block in unscaled.features:
                losses = find_losses(unscaled.arrays[block], arrays[block])
                lost |= {f"{role} {block}": losses} if losses else {}
        return lost

    def statistics(self, subset: str = "training") -> Statistics:
        """Return statistics of a subset, computed from the values that its batches contain."""
        inputs, outputs = self.arrays(subset)
        return Statistics(
            {block: measure(values, self.inputs[block]) for block, values in inputs.items()},
            {block: measure(values, self.outputs[block]) for block, values in outputs.items()},
        )

    def arrays(self, subset: str) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of a whole subset, in order, as batches contain them.

        Raises `DataError` NNM705 for a subset without rows.
        """
        return self.take(self._require_rows(subset))

    def take(self, rows: Sequence[int]) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of some rows of the dataset, as batches contain them.

        >>> data = Dataset([[1.0], [2.0], [3.0]], [2.5, 4.5, 6.5])
        >>> [values.tolist() for arrays in data.take([2, 0]) for values in arrays.values()]
        [[[3.0], [1.0]], [6.5, 2.5]]
        """
        return (
            {block: values.rows(rows) for block, values in self._inputs.items()},
            {block: values.rows(rows) for block, values in self._outputs.items()},
        )

    def output_arrays(self, subset: str) -> Arrays:
        """Return the outputs of a whole subset as `arrays` does, without a copy of its inputs.

        Raises `DataError` NNM705 for a subset without rows.
        """
        rows = self._require_rows(subset)
        return {block: values.rows(rows) for block, values in self._outputs.items()}

    def masks(self, subset: str) -> Arrays:
        """Return masks of a subset, float32 `[rows, length]`: 1 for real positions, 0 for padding.

        >>> data = Dataset([[3, 1], [2]], [0.5, 1.5], length="max", split=(1, 0, 0))
        >>> data.masks("training")["model"].tolist(), data.lengths("training")
        ([[1.0, 1.0], [1.0, 0.0]], {'model': [2, 1]})

        Only blocks whose rows have different lengths have a mask. Raises `DataError` NNM705 for a
        subset without rows.
        """
        fields = self.outputs | self.inputs
        lengths = self.lengths(subset)
        return {block: make_mask(some, fields[block].shape[0]) for block, some in lengths.items()}

    def lengths(self, subset: str) -> dict[str, list[int]]:
        """Return the length of each row for the blocks that have `masks`."""
        rows = self._require_rows(subset)
        lengths = get_lengths((self._inputs, self._outputs))
        return {block: [every[row] for row in rows] for block, every in lengths.items()}

    def order(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> list[int]:
        """Return the order in which an epoch visits the rows of `arrays(subset)` (spec G.3).

        Training rows are shuffled unless `shuffle=False`; those of "full" only with `shuffle=True`;
        validation and testing rows never are. The order depends only on the seed and the epoch.
        """
        return row_order(subset, self.size(subset), epoch, shuffle, seed)

    def batches(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> Iterator[Batch]:
        """Return an iterator over the batches of an epoch; the last one is padded with zeros.

        >>> data = Dataset([[1.0], [2.0], [3.0]], [2.5, 4.5, 6.5], split=(1, 0, 0), batch_size=2)
        >>> [batch.valid_count for batch in data.batches("training")]
        [2, 1]

        The rows come in the order of `order`. Each call returns an independent iterator. Raises
        `DataError` NNM705 for a subset without rows.
        """
        rows = self._require_rows(subset)
        indices = [rows[position] for position in self.order(subset, epoch, shuffle, seed)]
        batches = cut(self._inputs, self._outputs, indices, self.batch_size)
        if self.augmentation is None or subset != "training":
            return batches
        from webnnm.data.preparation.augment import augment_batches

        return augment_batches(batches, self.augmentation, (self.inputs, self.outputs), epoch, seed)

    def sample(self, index: int) -> tuple[Arrays, Arrays]:
        """Return the inputs and outputs of a single row of the dataset, as batches contain them."""

        def row(arrays: Arrays) -> Arrays:
            return {b: HostArray.of(values, shape=values.shape[1:]) for b, values in arrays.items()}

        inputs, outputs = self.take([index])
        return row(inputs), row(outputs)

    def held_back(self, share: float, seed: int | None = None) -> Dataset:
        """Return the same data with a share of the training rows used for validation.

        >>> data = Dataset([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], split=(1, 0, 0))
        >>> data.held_back(0.5).size("validation")
        2

        Rows are drawn with `seed` (by default that of the dataset), stratified by class.
        The standardisation remains that of all these rows.

        Raises `DataError` NNM704 for a share that is not from 0 to 1, NNM705 without training rows.
        """
        rows = self._require_rows("training")
        classes = get_row_classes(self.outputs, self._outputs) if self.method != "random" else None
        if classes is not None:
            classes = [classes[row] for row in rows]
        seed = self.seed if seed is None else seed
        parts = split_rows(len(rows), (1 - share, share, 0), classes=classes, seed=seed)
        other = self._copy()
        other._rows = dict(self._rows)
        other._rows |= {part: [rows[k] for k in parts[i]] for i, part in enumerate(PARTS[:2])}
        return other

    def map(self, to_model: Mapping[str, str]) -> Dataset:
        """Return the same data with its fields renamed to the blocks of a model.

        >>> list(Dataset({"x": [[1.0]]}, {"y": [0.5]}).map(to_model={"x": "left"}).inputs)
        ['left']

        Raises `DataError` NNM710 for unknown fields and duplicate names.
        """
        names = {*self.inputs, *self.outputs}
        for field in to_model:
            if field not in names:
                raise DataError(
                    "NNM710",
                    f'no field "{field}"',
                    hint=suggestion(field, names) or list_available(names),
                )

        def rename(members: Mapping[str, Any]) -> dict[str, Any]:
            result = {to_model.get(block, block): value for block, value in members.items()}
            if len(result) < len(members):
                raise DataError(
                    "NNM710", f"two fields would have one name: {list_available(result)}"
                )
            return result

        other = self._copy()
        other.inputs, other.outputs = rename(self.inputs), rename(self.outputs)
        other._inputs, other._outputs = rename(self._inputs), rename(self._outputs)
        check_shared(other._inputs, other._outputs)
        other._labels = rename(self._labels)
        other.standardization = rename(self.standardization)
        other.target_standardization = rename(self.target_standardization)
        other.came_as_float32 = frozenset(rename(dict.fromkeys(self.came_as_float32)))
        other._unscaled_inputs = self._unscaled_inputs.rename(rename)
        other._unscaled_outputs = self._unscaled_outputs.rename(rename)
        return other

    def as_quantities(self, outputs: Collection[str]) -> Dataset:
        """Return the same data with the class numbers of some outputs read as quantities.

        >>> data = Dataset([[1.0], [2.0], [3.0]], [0, 1, 2], split=(1, 0, 0))
        >>> data.outputs["model"].kind, data.as_quantities(["model"]).outputs["model"].kind
        ('classes', 'continuous')
        """
        other = self._copy()
        changes: Any = {"kind": "continuous", "classes": 0, "dtype": "float32"}
        fields = {name: replace(self.outputs[name], **changes) for name in outputs}
        arrays = {
            name: restore_sequences(HostArray.of(values, "float32"), values)
            for name, values in self._outputs.items()
            if name in fields
        }
        unscaled = Unscaled.of(fields, arrays, *self._target_scaling)
        fields, arrays, fitted = unscaled.fit_transform(self._rows["training"])
        other._unscaled_outputs = self._unscaled_outputs.merge(unscaled)
        other.outputs, other._outputs = self.outputs | fields, self._outputs | arrays
        other.target_standardization = {**self.target_standardization, **fitted}
        return other

    def folds(self, k: int, *, subset: str = "full", seed: int | None = None) -> Iterator[Dataset]:
        """Yield k datasets for cross-validation, each with another k-th of the rows for testing.

        >>> data = Dataset([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
        >>> [(fold.rows("training"), fold.rows("testing")) for fold in data.folds(2, seed=2)]
        [([2, 3], [0, 1]), ([0, 1], [2, 3])]

        The rows of `subset` are divided at random with `seed` (by default that of the dataset),
        stratified by class. All other rows of the subset are for training; standardisation is
        computed from these. The folds share the arrays of this dataset.

        Raises `DataError` NNM704 for fewer than two folds or more folds than rows.
        """
        rows = self._require_rows(subset)
        classes = get_row_classes(self.outputs, self._outputs) if self.method != "random" else None
        if classes is not None:
            classes = [classes[row] for row in rows]
        seed = self.seed if seed is None else seed
        tested = fold_rows(len(rows), k, classes=classes, seed=seed)
        return (self._fold(number, k, rows, test) for number, test in enumerate(tested, 1))

    def augment(self, *functions: Augmentation | None) -> Dataset:
        """Return the same data with functions that augment its training batches at random.

        >>> def jitter(inputs, outputs, stream, epoch):
        ...     x = inputs["model"].values()
        ...     return {"model": [[v + u] for v, u in zip(x, stream.uniform(len(x)))]}, outputs
        >>> data = Dataset([[1.0], [2.0]], [[0.5], [1.5]], split=(1, 0, 0)).augment(jitter)
        >>> next(data.batches("training", epoch=3)).inputs["model"].values()[0] > 1
        True

        Each function receives the inputs and outputs of a batch, as dicts from block to `HostArray`
        (without padding rows), a random `Stream` that depends only on the seed, epoch and batch,
        and the epoch. Arrays are in the form that the model gets: standardised, with pictures
        scaled and in the layout of the dataset. It returns inputs and outputs of the same shapes,
        as lists, NumPy arrays or `HostArray`; blocks that it leaves out are unchanged. Several are
        called one after the other; for pictures there are `Flip`, `Shift`, `Rotate`, `Brighten` and
        `Erase`. None removes all. A review tries them on a hundred rows, to see whether they still
        look like their class.
        """
        other = self._copy()
        if len(functions) == 1:
            (other.augmentation,) = functions
        else:
            from webnnm.data.preparation.augment import chain

            other.augmentation = chain(functions)
        return other

    def decode(self, block: str | None, values: Any) -> Any:
        """Convert predictions to class names, or to class numbers if there are no names.

        Continuous values, such as those of `predict(…, raw=True)`, are converted to the units of
        the data. See `webnnm.data.binding.decode.decode`.
        """
        from webnnm.data.binding.decode import decode

        block = self._resolve_output(block)
        if block in self.target_standardization:
            scale, values = self.target_standardization[block], HostArray.of(values)
            if scale.seems_misdeclared(values, scaled=True):
                warn_about_units(
                    f'output "{block}": the values look like predictions in units of the data, as '
                    "predict returns them; decode takes the values of predict(…, raw=True)"
                )
            values = scale.undo(values)
        return decode(values, self.outputs[block], self._labels.get(block))

    subset_size = size

    def __getattr__(self, name: str) -> Any:
        """Return a method by its name in JavaScript (spec H)."""
        return by_javascript_name(self, name, {"mapOutputToLabels": "decode"})

    def prepareBatches(self, subset: str) -> None:
        """Start the next epoch of a subset for `getNextBatch`; each subset has its own position."""
        epoch = self._epochs.get(subset, -1) + 1
        self._cursors[subset] = self.batches(subset, epoch, seed=self.seed)
        self._epochs[subset] = epoch

    def getNextBatch(self, subset: str, model: object = None) -> Batch | None:
        """Return the next batch, or None at the end of the epoch; `model` is ignored."""
        del model
        if subset not in self._cursors:
            self.prepareBatches(subset)
        return next(self._cursors[subset], None)

    def _apply_split(self, parts: Rows) -> None:
        """Use these rows for the subsets, and compute the scaling from the training rows."""
        self._rows: dict[str, Sequence[int]] = dict(zip(PARTS, parts, strict=True))
        self._rows["full"] = range(self._row_count)
        self.inputs, self._inputs, self.standardization = self._unscaled_inputs.fit_transform(
            parts[0]
        )
        self.outputs, self._outputs, self.target_standardization = (
            self._unscaled_outputs.fit_transform(parts[0])
        )

    def _fold(self, number: int, k: int, rows: Sequence[int], test: Sequence[int]) -> Dataset:
        other = self._copy()
        other.name = f"{self.name}, fold {number} of {k}"
        other.method = "explicit"
        test_indices = set(test)
        training = [row for index, row in enumerate(rows) if index not in test_indices]
        other._apply_split((training, [], [rows[index] for index in test]))
        return other

    def _copy(self) -> Dataset:
        other = copy.copy(self)
        other._cursors = {}
        other._epochs = {}
        return other

    def _require_rows(self, subset: str) -> Sequence[int]:
        rows = self.rows(subset)
        if not rows:
            raise DataError(
                "NNM705",
                f'subset "{subset}" of {self.name} has no rows',
                hint="split=(training, validation, testing) sets the sizes",
            )
        return rows

    def _resolve_output(self, block: str | None) -> str:
        if block is None and len(self.outputs) == 1:
            return next(iter(self.outputs))
        if block not in self.outputs:
            hint = suggestion(str(block), self.outputs) or list_available(self.outputs)
            raise DataError("NNM710", f'no output "{block}"', hint=hint)
        return block
