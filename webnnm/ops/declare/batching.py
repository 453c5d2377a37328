"""The rules that apply operators to batches: one application for all examples.

A batch has one more dimension than an example, the first one. Operands that are the same for all
examples do not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.shapes import Shape
from webnnm.ops.declare.indices import wrap_indices
from webnnm.ops.declare.normalising import affine, spread
from webnnm.ops.declare.operator import AnyOperator, Batch
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.matmul import transpose_matrices


@dataclass(frozen=True)
class Application:
    """An operator to be applied to `size` examples at once.

    The operands marked in `batched` have a leading batch dimension; absent ones are None. `options`
    are those of an example.
    """

    b: Builder
    operator: AnyOperator
    size: int
    operands: Sequence[Any]
    batched: Sequence[bool]
    options: Mapping[str, Any]

    def shape(self, index: int) -> Shape:
        """Return the shape that an operand has in an example."""
        return self.operands[index].shape[self.batched[index] :]

    @property
    def rank(self) -> int:
        """The rank of the operand with the most dimensions in an example."""
        present = [index for index, x in enumerate(self.operands) if x is not None]
        return max(len(self.shape(index)) for index in present)

    def align(self, index: int, rank: int) -> Any:
        """Return an operand that broadcasts against batches of examples of this rank."""
        if not self.batched[index]:
            return self.operands[index]
        shape = self.shape(index)
        return _reshape(
            self.b, self.operands[index], (self.size, *(1,) * (rank - len(shape)), *shape)
        )

    def batch(self, index: int) -> Any:
        """Return an operand as a batch: one that all examples share is repeated."""
        x = self.operands[index]
        if x is None or self.batched[index]:
            return x
        return self.b.expand(x, new_shape=(self.size, *x.shape))

    def apply(self, operands: Sequence[Any], **options: Any) -> Any:
        """Apply the operator to other operands, with some options changed."""
        return self.b.apply(self.operator, operands, {**self.options, **options})


Rule = Callable[[Application], Any]
"""From an application to its result, a tuple of results, or None if the rule does not apply."""


def _reshape(b: Builder, x: Tensor, shape: Sequence[int]) -> Tensor:
    return x if x.shape == tuple(shape) else b.reshape(x, new_shape=shape)


def _to_front(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Return a tensor with one of its axes moved to the front."""
    order = (axis, *range(axis), *range(axis + 1, x.rank))
    return b.transpose(x, permutation=order) if axis else x


def _from_front(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Return a tensor with its first axis moved to another position."""
    order = (*range(1, axis + 1), 0, *range(axis + 1, x.rank))
    return b.transpose(x, permutation=order) if axis else x


def _merge_batch(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Return a batch as one example, its examples one after the other along one of their axes."""
    x = _from_front(b, x, axis)
    size = x.shape[axis] * x.shape[axis + 1]
    return b.reshape(x, new_shape=(*x.shape[:axis], size, *x.shape[axis + 2 :]))


def _split_batch(b: Builder, x: Tensor, axis: int, size: int) -> Tensor:
    """Split what `_merge_batch` made of a batch of this size into a batch again."""
    sizes = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
    return _to_front(b, b.reshape(x, new_shape=sizes), axis)


def _shift_axes(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of an example's axes in a batch."""
    return tuple(axis + 1 for axis in axes)


# Operators that treat the batch as an additional dimension.

OPTIONS_IN_BATCHES: Mapping[str, Callable[[int, Any], Any]] = {
    "axis": lambda size, axis: axis + 1,
    "axes": lambda size, axes: _shift_axes(axes),
    "permutation": lambda size, axes: (0, *_shift_axes(axes)),
    "new_shape": lambda size, sizes: (size, *sizes),
    "sizes": lambda size, sizes: (size, *sizes),
    "starts": lambda size, starts: (0, *starts),
    "strides": lambda size, strides: (1, *strides),
    "beginning_padding": lambda size, padding: (0, *padding),
    "ending_padding": lambda size, padding: (0, *padding),
    "repetitions": lambda size, times: (1, *times),
}
"""The value in a batch of options that refer to all axes, or to some."""


def _batch_options(call: Application) -> dict[str, Any]:
    return {
        name: OPTIONS_IN_BATCHES[name](call.size, value)
        for name, value in call.options.items()
        if name in OPTIONS_IN_BATCHES
    }


def _broadcast(call: Application) -> Any:
    """Apply an operator whose operands broadcast, or the dimensions before their matrices."""
    return call.apply([call.align(index, call.rank) for index in range(len(call.operands))])


def _axes(call: Application) -> Any:
    """Apply an operator whose operands have equal rank, and whose options refer to their axes."""
    operands = [call.batch(index) for index in range(len(call.operands))]
    return call.apply(operands, **_batch_options(call))


def _expand(call: Application) -> Any:
    options = _batch_options(call)
    return call.apply([call.align(0, len(options["new_shape"]) - 1)], **options)


def _blocks(call: Application) -> Any:
    """Apply an operator with scales and zero points per block, which have the input's rank."""
    if any(call.batched[1:]):
        return call.apply([call.batch(index) for index in range(3)])
    b, (x, *parts) = call.b, call.operands
    return call.apply([x, *(b.reshape(part, new_shape=(1, *part.shape)) for part in parts)])


# Products.


def _matmul(call: Application) -> Any:
    """Multiply; dimensions before the last two broadcast, a shared matrix is multiplied once."""
    return _product(call.b, *(call.align(index, call.rank) for index in range(2)))


def _product(b: Builder, left: Tensor, right: Tensor) -> Tensor:
    if left.rank == 2 or right.rank > 2:
        return b.matmul(left, right)
    product = b.matmul(b.reshape(left, new_shape=(-1, left.shape[-1])), right)
    return b.reshape(product, new_shape=(*left.shape[:-1], right.shape[-1]))


def _gemm(call: Application) -> Any:
    b, options = call.b, call.options
    left, right, _ = call.operands
    left = transpose_matrices(b, left) if options["a_transpose"] else left
    right = transpose_matrices(b, right) if options["b_transpose"] else right
    product = _product(b, left, right)
    product = product if options["alpha"] == 1 else product * options["alpha"]
    c = call.operands[2] and call.align(2, 2)
    if c is None:
        return product
    return product + (c if options["beta"] == 1 else c * options["beta"])


# Indices.


def _example_offsets(call: Application, dtype: Any, rank: int, step: int = 1) -> Any:
    """Return the number of each example times a step, along the first of some dimensions."""
    shape = (call.size, *(1,) * rank)
    return call.b.constant(range(0, call.size * step, step), dtype, shape)


def _gather(call: Application) -> Any:
    b, axis = call.b, call.options["axis"]
    x, indices = call.operands
    if not call.batched[1]:
        return call.apply([x, indices], axis=axis + 1)
    if not call.batched[0]:
        return _to_front(b, call.apply([x, indices]), axis)
    # Along the axis, the elements of all examples one after the other.
    n, k = x.shape[axis + 1], indices.rank - 1
    first = (axis + 1, *range(1, axis + 1), *range(axis + 2, x.rank))
    rows = b.transpose(x, permutation=(0, *first)) if axis else x
    rows = _merge_batch(b, rows, 0)
    row_numbers = wrap_indices(b, indices, n) + _example_offsets(call, indices.dtype, k, n)
    gathered = call.apply([rows, row_numbers], axis=0)
    back = (
        0,
        *range(k + 1, k + 1 + axis),
        *range(1, k + 1),
        *range(k + 1 + axis, gathered.rank),
    )
    return b.transpose(gathered, permutation=back) if axis else gathered


def _scatter_nd(call: Application) -> Any:
    b, indices = call.b, call.operands[1]
    x, updates = call.batch(0), call.batch(2)
    if not call.batched[1]:
        # Coordinates that all examples share address rows with one element of each example.
        axis, last = indices.shape[-1], indices.rank - 1
        operands = [_from_front(b, x, axis), indices, _from_front(b, updates, last)]
        return _to_front(b, call.apply(operands), axis)
    # The number of the example is an additional coordinate, the first.
    numbers = _example_offsets(call, indices.dtype, indices.rank - 1)
    wide = b.expand(numbers, new_shape=(*indices.shape[:-1], 1))
    return call.apply([x, b.concat([wide, indices], axis=indices.rank - 1), updates])


# Images, sequences, statistics.


def _pool(call: Application) -> Any:
    """Apply an operator to the examples as additional images."""
    return _split_batch(
        call.b, call.apply([_merge_batch(call.b, call.operands[0], 0)]), 0, call.size
    )


def _resample(call: Application) -> Any:
    free = min({*range(4)}.difference(call.options["axes"]))
    images = call.apply([_merge_batch(call.b, call.operands[0], free)])
    return _split_batch(call.b, images, free, call.size)


def _convolution(call: Application) -> Any:
    """Convolve the examples as additional images, or as channels if each has its own filters."""
    b, options = call.b, call.options
    x, kernel, bias = call.operands
    channel = options["input_layout"].index("c")
    letters, groups = options["filter_layout"], options["groups"]
    if not call.batched[1]:
        shared_bias = None if call.batched[2] else bias
        images = _merge_batch(b, x, 0) if call.batched[0] else x
        result = call.apply([images, kernel, shared_bias])
        result = _split_batch(b, result, 0, call.size) if call.batched[0] else result
    else:
        if groups == 1 and not call.batched[0]:
            filters = "o"
        else:
            x, groups = _merge_batch(b, call.batch(0), channel), call.size * groups
            filters = "o" if call.operator.name == "conv2d" else "i"
        kernels = _merge_batch(b, kernel, letters.index(filters))
        result = call.apply([x, kernels, None], groups=groups)
        result = _split_batch(b, result, channel, call.size)
    if bias is None or not any(call.batched[1:]):
        return result
    axes, rank = ((0, channel + 1), 5) if call.batched[2] else ((channel,), 4)
    return result + spread(b, bias, axes, rank)


def _recurrence(call: Application) -> Any:
    """Treat the examples as additional sequences; the rule does not apply if weights differ."""
    b, names = call.b, call.operator.operand_names
    is_sequence = [name == "input" or name.endswith("_state") for name in names]
    if any(is_batch and not row for is_batch, row in zip(call.batched, is_sequence, strict=True)):
        return None
    operands = [
        _merge_batch(b, call.batch(index), x.rank - call.batched[index] - 2)
        if x is not None and is_sequence[index]
        else x
        for index, x in enumerate(call.operands)
    ]
    return tuple(_split_batch(b, y, y.rank - 2, call.size) for y in as_tuple(call.apply(operands)))


def _normalization(call: Application) -> Any:
    """Apply scales and biases last; the rule does not apply if statistics are batched."""
    b, options = call.b, call.options
    x, *statistics, scale, bias = call.operands
    is_own, layout = call.batched[-2:], options.get("layout")
    if any(call.batched[1:-2]):
        return None
    operands = [*statistics, *((None, None) if any(is_own) else (scale, bias))]
    if not call.batched[0]:
        result = call.apply([x, *operands])
    elif layout:
        result = _split_batch(b, call.apply([_merge_batch(b, x, 0), *operands]), 0, call.size)
    else:
        result = call.apply([x, *operands], **_batch_options(call))
    if not any(is_own):
        return result
    axes = _shift_axes(
        [layout.index("c")] if layout else options.get("axes", [options.get("axis")])
    )
    rank = len(call.shape(0)) + 1
    parts = [
        part and spread(b, part, (0, *axes) if is_batch else axes, rank)
        for part, is_batch in zip((scale, bias), is_own, strict=True)
    ]
    return affine(b, result, *parts)


RULES: Mapping[Batch, Rule] = {
    "axes": _axes,
    "blocks": _blocks,
    "convolution": _convolution,
    "elementwise": _broadcast,
    "expand": _expand,
    "gather": _gather,
    "gemm": _gemm,
    "matmul": _matmul,
    "matrices": _broadcast,
    "normalization": _normalization,
    "pool": _pool,
    "recurrence": _recurrence,
    "resample": _resample,
    "scatterND": _scatter_nd,
}


def as_tuple(results: Any) -> tuple[Any, ...]:
    """Return the results of an operator as a tuple, even a single one."""
    return tuple(results) if isinstance(results, tuple) else (results,)


def apply_one_by_one(call: Application) -> Any:
    """Apply an operator to one example after the other: right for every operator."""
    b = call.b
    results: list[tuple[Any, ...]] = []
    for number in range(call.size):
        operands = [
            _example(b, x, number) if is_batch else x
            for x, is_batch in zip(call.operands, call.batched, strict=True)
        ]
        results.append(as_tuple(call.apply(operands)))
    return tuple(
        b.concat([b.reshape(y, new_shape=(1, *y.shape)) for y in parts], axis=0)
        for parts in zip(*results, strict=True)
    )


def _example(b: Builder, x: Tensor, number: int) -> Tensor:
    """Return one example of a batch."""
    shape = x.shape[1:]
    example = b.slice(x, starts=(number, *(0,) * len(shape)), sizes=(1, *shape))
    return b.reshape(example, new_shape=shape)
