"""Matrices of ONNX Runtime (com.microsoft) whose numbers have 4 or 8 bits, scaled in blocks."""

from __future__ import annotations

from webnnm.core.arrays import HostArray, pack
from webnnm.core.shapes import Shape, count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.contrib import MICROSOFT
from webnnm.formats.onnx.importing.products import product
from webnnm.formats.onnx.importing.shaping import as_type, part, reshape_to, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

NORMAL_LEVELS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""The numbers of NF4: T. Dettmers et al., "QLoRA", arXiv:2305.14314 (2023), appendix E."""
FLOAT_LEVELS = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
"""The numbers of FP4 without a sign, as bitsandbytes has them: (1 + m / 2) · 2ᵉ, scaled to 1."""


@imports("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(
    c: Call,
    x: Operand,
    weights: Operand,
    scales: Operand,
    zeros: Operand | None = None,
    order: Operand | None = None,
    bias: Operand | None = None,
) -> Operand:
    """Product with an integer matrix in blocks, each with a scale and a zero point."""
    bits, rows, size = c.integer("bits", 4), c.integer("N"), c.integer("K")
    block = c.integer("block_size")
    if bits not in (4, 8) or order is not None or block < 16:
        raise c.not_supported(f"{bits} bits in blocks of {block}, or a custom order")
    blocks = -(-size // block)
    dtype = "uint4" if bits == 4 else "uint8"
    matrix = c.b.constant(
        HostArray(dtype, (rows, blocks, block), c.require_values(weights, "its weights").data)
    )
    scale = reshape_to(c, scales, (rows, blocks, 1))
    shape = (rows, blocks, 1)
    if zeros is not None and zeros.dtype != "uint8":
        points = reshape_to(c, zeros, shape)
        real = (as_type(c, matrix, scale.dtype) - points) * scale
    else:
        points = _zero_points(c, zeros, bits, rows, blocks)
        real = c.b.dequantize_linear(matrix, scale, c.b.constant(HostArray(dtype, shape, points)))
    flat = reshape_to(c, real, (rows, blocks * block))
    output = product(c, x, c.b.transpose(as_type(c, part(c, flat, 1, 0, size), x.dtype)))
    return output if bias is None else output + bias


def _zero_points(c: Call, zeros: Operand | None, bits: int, rows: int, blocks: int) -> bytes:
    """Return the zero points without the padding of each row to whole bytes."""
    if bits == 8:
        if zeros is None:
            return bytes([128]) * (rows * blocks)
        return bytes(c.require_values(zeros, "its zero points").data)
    if zeros is None:
        nibbles = [8] * (rows * blocks)
    else:
        packed = c.require_values(zeros, "its zero points").data
        width = -(-blocks // 2)
        nibbles = [
            packed[row * width + k // 2] >> 4 * (k % 2) & 15
            for row in range(rows)
            for k in range(blocks)
        ]
    return bytes(pack(nibbles, "uint4"))


@imports("MatMulBnb4", domain=MICROSOFT)
def matmul_bnb4(c: Call, x: Operand, weights: Operand, scales: Operand) -> Operand:
    """Product with a matrix of NF4 or FP4, each block with a scale."""
    rows, size, block = c.integer("N"), c.integer("K"), c.integer("block_size")
    if rows * size % block:
        raise c.not_supported(f"{rows} x {size} numbers in blocks of {block}")
    levels = NORMAL_LEVELS
    if not c.integer("quant_type"):
        levels = (*FLOAT_LEVELS, *(-level for level in FLOAT_LEVELS))
    packed = reshape_to(c, weights, (count(weights.shape),))
    indices = part(c, _unpack(c, packed, high_first=True), 0, 0, rows * size)
    blocks = reshape_to(c, c.b.gather(c.b.constant([*levels]), indices, axis=0), (-1, block))
    factors = reshape_to(c, as_type(c, scales, "float32"), (-1, 1))
    matrix = reshape_to(c, blocks * factors, (rows, size))
    return product(c, x, c.b.transpose(as_type(c, matrix, x.dtype)))


@imports("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(
    c: Call, table: Operand, indices: Operand, scales: Operand, zeros: Operand | None = None
) -> Operand:
    """Rows of a table of integers in blocks, each with a scale and a zero point, as floats."""
    block, rank = c.integer("block_size", 128), table.rank
    if c.axis(c.integer("gather_axis", 0), rank) or rank != 2:
        raise c.not_supported("other axes than the first of two")
    if c.axis(c.integer("quantize_axis", 1), rank) != 1:
        raise c.not_supported("blocks along the first axis")
    bits = c.integer("bits", 4) if table.dtype in ("uint8", "int8") else 4
    signed = table.dtype.startswith("int")
    numbers = _gather(c, table, indices, bits, signed=signed)
    size = numbers.shape[-1]
    factors = c.b.gather(scales, indices, axis=0)
    blocks = factors.shape[-1]
    if blocks * block != size:
        raise c.not_supported(f"rows of {size} in blocks of {block}")
    grid = reshape_to(c, as_type(c, numbers, factors.dtype), (*indices.shape, blocks, block))
    column = (*indices.shape, blocks, 1)
    if zeros is not None:
        points = part(c, _gather(c, zeros, indices, bits, signed=signed), -1, 0, blocks)
        grid = grid - reshape_to(c, as_type(c, points, grid.dtype), column)
    elif table.dtype == "uint8":  # only packed numbers have a default in the middle
        grid = grid - scalar_like(c, 1 << (bits - 1), grid)
    return reshape_to(c, grid * reshape_to(c, factors, column), (*indices.shape, size))


def _gather(c: Call, table: Operand, indices: Operand, bits: int, *, signed: bool) -> Operand:
    """Return rows of integers of a table, of which a byte may hold two."""
    if bits == 8:
        return as_type(c, c.b.gather(table, indices, axis=0), "int32")
    if table.dtype != "uint8":
        data = c.require_values(table, "its integers").data
        rows, columns = table.shape
        if columns % 2:
            raise c.not_supported(f"rows of {columns} integers")
        table = c.b.constant(HostArray("uint8", (rows, columns // 2), data))
    numbers = _unpack(c, c.b.gather(table, indices, axis=0))
    if not signed:
        return numbers
    is_negative = c.b.greater(numbers, scalar_like(c, 7, numbers))
    return c.b.where(is_negative, numbers - 16, numbers)


def _unpack(c: Call, packed: Operand, *, high_first: bool = False) -> Operand:
    """Return the two halves of each byte, as int32, along the last axis."""
    numbers = as_type(c, packed, "int32")
    high = c.b.div(numbers, scalar_like(c, 16, numbers))
    low = numbers - high * 16
    column: Shape = (*packed.shape, 1)
    pair = [high, low] if high_first else [low, high]
    both = c.b.concat([reshape_to(c, half, column) for half in pair], axis=packed.rank)
    return reshape_to(c, both, (*packed.shape[:-1], 2 * packed.shape[-1]))
