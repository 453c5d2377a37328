"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, broadcast_to, part, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

MAX_EXACT_INTEGER = 1 << 24
"""Integers below this are exact in float32."""


@imports("MatMul")
def matmul(c: Call, x: Operand, y: Operand) -> Operand:
    """Matrix product; a vector is a row on the left, a column on the right."""
    return product(c, x, y)


def product(c: Call, x: Operand, y: Operand) -> Operand:
    """Return the product of matrices or vectors."""
    left = reshape_to(c, x, (1, *x.shape)) if x.rank == 1 else x
    right = reshape_to(c, y, (*y.shape, 1)) if y.rank == 1 else y
    result = c.b.matmul(left, right) if is_float(x.dtype) else _integers(c, left, right)
    shape = list(result.shape)
    if y.rank == 1:
        del shape[-1]
    if x.rank == 1:
        del shape[-1 if y.rank == 1 else -2]
    return reshape_to(c, result, shape)


def _integers(c: Call, x: Operand, y: Operand) -> Operand:
    """Return the product of integer matrices, as sums of products, which WebNN has."""
    left = reshape_to(c, x, (*x.shape, 1))
    right = reshape_to(c, y, (*y.shape[:-2], 1, *y.shape[-2:]))
    products = left * right
    return c.b.reduce_sum(products, axes=[products.rank - 2])


def small_product(c: Call, x: Operand, y: Operand) -> Operand:
    """Return the exact product of matrices of 9-bit integers, as int32, computed with floats.

    As many products are summed as float32 holds exactly; their sums are added as integers.
    """
    size, block_size = x.shape[-1], MAX_EXACT_INTEGER // 2**16 - 1
    total: Operand | None = None
    for first in range(0, size, block_size):
        width = min(block_size, size - first)
        partial = product(
            c, part(c, x, x.rank - 1, first, width), part(c, y, max(0, y.rank - 2), first, width)
        )
        integers = as_type(c, partial, "int32")
        total = integers if total is None else total + integers
    assert total is not None
    return total


@imports("Gemm")
def gemm(c: Call, x: Operand, y: Operand, z: Operand | None = None) -> Operand:
    """α·A·B + β·C."""
    alpha, beta = c.number("alpha", 1.0), c.number("beta", 1.0)
    if not is_float(x.dtype):
        left = c.b.transpose(x) if c.flag("transA") else x
        right = c.b.transpose(y) if c.flag("transB") else y
        if (alpha, beta) != (1, 1):
            raise c.not_supported(f"integers times {alpha} and {beta}")
        result = product(c, left, right)
        return result if z is None else result + z
    return c.b.gemm(
        x,
        y,
        z,
        alpha=alpha,
        beta=beta,
        a_transpose=c.flag("transA"),
        b_transpose=c.flag("transB"),
    )


@imports("Einsum")
def einsum(c: Call, *operands: Operand) -> Operand:
    """Sums of products in Einstein notation: "ij,jk->ik"."""
    names, output = _terms(c, operands)
    pairs = [_diagonal(c, subscripts, x) for subscripts, x in zip(names, operands, strict=True)]
    names, tensors = [subscripts for subscripts, _ in pairs], [x for _, x in pairs]
    sizes: dict[str, int] = {}
    for subscripts, x in pairs:
        for letter, size in zip(subscripts, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise c.invalid(f'"{letter}" is {sizes[letter]} and {size}')
            sizes[letter] = max(size, sizes[letter])
    letters, result = names[0], tensors[0]
    for k, (subscripts, x) in enumerate(zip(names[1:], tensors[1:], strict=True)):
        needed = {*output, *"".join(names[k + 2 :])}
        letters, result = _contract(c, letters, result, subscripts, x, needed)
    summed = [k for k, letter in enumerate(letters) if letter not in output]
    if summed:
        result = c.b.reduce_sum(result, axes=summed)
        letters = "".join(letter for letter in letters if letter in output)
    order = [letters.index(letter) for letter in output]
    return c.b.transpose(result, permutation=order) if order else result


def _terms(c: Call, operands: Sequence[Operand]) -> tuple[list[str], str]:
    """Return the indices of each operand and of the result, one letter for each dimension.

    The dimensions of an ellipsis are those that broadcast: they become digits, the last one 0.
    """
    text = c.string("equation", "").replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise c.invalid(f'the equation "{text}" is one of {len(terms)} operands')
    names: list[str] = []
    broadcast = ""
    for term, x in zip(terms, operands, strict=True):
        own = term.replace("...", "", 1)
        free = x.rank - len(own)
        digits = "".join(chr(ord("0") + k) for k in reversed(range(free)))
        letters = term.replace("...", digits, 1)
        if free < 0 or len(letters) != x.rank or not (own.isalpha() or not own):
            raise c.invalid(f'"{term}" does not name the dimensions of {x}')
        broadcast = max(broadcast, digits, key=len)
        names.append(letters)
    if arrow:
        output = right.replace("...", broadcast, 1)
    else:
        once = [k for k in sorted({*left}) if k.isalpha() and left.count(k) == 1]
        output = broadcast + "".join(once)
    if len(set(output)) < len(output) or not {*output} <= {*"".join(names)}:
        raise c.invalid(f'the result of the equation "{text}" repeats an index, or has a new one')
    return names, output


def _diagonal(c: Call, subscripts: str, x: Operand) -> tuple[str, Operand]:
    """Return a tensor without repeated indices: its elements at which these are equal."""
    for letter in dict.fromkeys(subscripts):
        while subscripts.count(letter) > 1:
            one = subscripts.index(letter)
            other = subscripts.index(letter, one + 1)
            size = x.shape[one]
            if x.shape[other] != size:
                raise c.invalid(f'"{letter}" is {size} and {x.shape[other]}')
            order = [k for k in range(x.rank) if k not in (one, other)]
            last = c.b.transpose(x, permutation=[*order, one, other])
            shape = last.shape[:-2]
            # One element of every row of a matrix, which is one longer than the row: its diagonal.
            flat = reshape_to(c, last, (*shape, size * size))
            picked = c.b.slice(
                flat,
                starts=[0] * flat.rank,
                sizes=flat.shape,
                strides=[*(1 for _ in shape), size + 1],
            )
            x, subscripts = picked, "".join(subscripts[k] for k in order) + letter
    return subscripts, x


def _contract(
    c: Call, one: str, x: Operand, other: str, y: Operand, later: set[str]
) -> tuple[str, Operand]:
    """Return the product of two tensors by letters, summed over those not needed later."""
    both = [k for k in one if k in other]
    batch = [k for k in both if k in later]
    inner = [k for k in both if k not in later]
    rows = [k for k in one if k not in both]
    columns = [k for k in other if k not in both]
    shape = dict(zip(one, x.shape, strict=True))
    for letter, size in zip(other, y.shape, strict=True):
        shape[letter] = max(size, shape.get(letter, 1))
    x, y = (
        broadcast_to(
            c,
            operand,
            [shape[k] if k in both else n for k, n in zip(subscripts, operand.shape, strict=True)],
        )
        for subscripts, operand in ((one, x), (other, y))
    )
    left = _group_axes(c, one, x, (batch, rows, inner))
    right = _group_axes(c, other, y, (batch, inner, columns))
    result = product(c, left, right)
    letters = [*batch, *rows, *columns]
    return "".join(letters), reshape_to(c, result, [shape[k] for k in letters])


def _group_axes(c: Call, subscripts: str, x: Operand, groups: tuple[list[str], ...]) -> Operand:
    """Return a tensor with its dimensions in groups, each merged into one."""
    order = [subscripts.index(k) for group in groups for k in group]
    sizes = dict(zip(subscripts, x.shape, strict=True))
    transposed = c.b.transpose(x, permutation=order)
    return reshape_to(c, transposed, [count([sizes[k] for k in group]) for group in groups])


@imports("Det")
def determinant(c: Call, x: Operand) -> Operand:
    """Determinants of matrices, by elimination with the largest element as pivot."""
    size = x.shape[-1]
    if size > MAX_DETERMINANT_SIZE:
        raise c.not_supported(
            f"determinants of {size} rows, at most {MAX_DETERMINANT_SIZE} are supported"
        )
    b, lead = c.b, x.shape[:-2]
    rows = reshape_to(c, x, (count(lead), size, size))
    result: Operand | None = None
    for rest in range(size, 0, -1):
        column = part(c, rows, 2, 0, 1)
        best = b.arg_max(b.abs(column), axis=1, keep_dimensions=True)
        pivot_index = b.expand(best, new_shape=(rows.shape[0], 1, rest))
        pivot, top = b.gather_elements(rows, pivot_index, axis=1), part(c, rows, 1, 0, 1)
        head = part(c, pivot, 2, 0, 1)
        swapped = b.where(b.equal(best, b.constant(0, "int32")), head, -head)
        result = swapped if result is None else result * swapped
        if rest > 1:
            down = reshape_to(c, b.constant(range(rest), "int32"), (1, rest, 1))
            rows = b.where(b.equal(down, best), top, rows)
            safe = b.where(b.equal(head, b.constant(0, x.dtype)), b.constant(1, x.dtype), head)
            rows = rows - part(c, rows, 2, 0, 1) / safe * pivot
            rows = part(c, part(c, rows, 1, 1, rest - 1), 2, 1, rest - 1)
    assert result is not None
    return reshape_to(c, result, lead)


MAX_DETERMINANT_SIZE = 16
