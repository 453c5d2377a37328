"""Random numbers: drawn while a graph is built, the same in every run."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence
from random import Random

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FLOAT_INFO, DataType
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.elementwise import cast_to_code
from webnnm.formats.onnx.importing.shaping import as_type, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

MAX_RANDOM_NUMBERS = 1 << 21
"""How many numbers a node draws at most: they are drawn one by one."""
INT32 = 6


def _generator(c: Call) -> Random:
    """Return a generator for this use of a node: of its seed, or else of its name.

    A node in a loop draws other numbers in every iteration.
    """
    seed = c.number("seed", 0.0) if c.has("seed") else zlib.crc32(c.node.output[0].encode())
    return Random(f"{seed} {c.importer.uses(c.node)}")


def _sample(c: Call, draw: Callable[[], float], dtype: DataType, shape: Sequence[int]) -> Operand:
    size = c.check_size(count(shape), "its random numbers", MAX_RANDOM_NUMBERS)
    if not size:
        return c.empty(dtype, shape)
    numbers = array("d", [draw() for _ in range(size)])
    return as_type(c, c.b.constant(HostArray("float64", tuple(shape), numbers)), dtype)


def _numbers(c: Call, like: Operand | None) -> Operand:
    """Return numbers of the distribution that a node names, in the shape of an operand or its own.

    Numbers that would round to an end of the range of a uniform distribution are below it.
    """
    shape = c.integers("shape") if like is None else like.shape
    default: DataType = "float32" if like is None else like.dtype
    dtype = c.data_type(c.integer("dtype")) if c.has("dtype") else default
    draw = _generator(c)
    if c.node.op_type.startswith("RandomNormal"):
        mean, scale = c.number("mean", 0.0), c.number("scale", 1.0)
        return _sample(c, lambda: draw.gauss(mean, scale), dtype, shape)
    low, high = c.number("low", 0.0), c.number("high", 1.0)
    max_fraction = 1 - FLOAT_INFO["float16" if dtype == "float16" else "float32"].eps
    return _sample(c, lambda: low + (high - low) * min(draw.random(), max_fraction), dtype, shape)


@imports("RandomNormal", "RandomUniform")
def random_numbers(c: Call) -> Operand:
    """Normally or uniformly distributed numbers of a given shape."""
    return _numbers(c, None)


@imports("RandomNormalLike", "RandomUniformLike")
def random_numbers_like(c: Call, x: Operand) -> Operand:
    """Normally or uniformly distributed numbers in the shape of a tensor."""
    return _numbers(c, x)


@imports("Bernoulli")
def bernoulli(c: Call, x: Operand) -> Operand:
    """1 with the probabilities in a tensor, else 0."""
    draw = _generator(c)
    hit = c.b.lesser(_sample(c, draw.random, x.dtype, x.shape), x)
    code = c.integer("dtype", 0) or c.code(0)
    return cast_to_code(c, hit, code) if code else as_type(c, hit, x.dtype)


@imports("Multinomial")
def multinomial(c: Call, x: Operand) -> Operand:
    """Indices drawn with probabilities whose logarithms are in a tensor, up to a constant."""
    b, (rows, classes) = c.b, x.shape
    amount, draw = c.integer("sample_size", 1), _generator(c)
    weights = b.cumulative_sum(b.softmax(x, axis=1), axis=1)
    sums = reshape_to(c, weights, (rows, 1, classes))
    drawn = _sample(c, draw.random, x.dtype, (rows, amount, 1))
    below = as_type(c, b.lesser_or_equal(sums, drawn), "int32")
    classes_drawn = b.min(b.reduce_sum(below, axes=[2]), b.constant(classes - 1, "int32"))
    return cast_to_code(c, classes_drawn, c.integer("dtype", INT32))
