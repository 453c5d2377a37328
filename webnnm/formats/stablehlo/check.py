"""The structural checker: checks that the types of every operation agree with its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webnnm.formats.stablehlo.elementwise import NAMES
from webnnm.formats.stablehlo.reader import Read, Reader, Tensor, alike, every
from webnnm.formats.stablehlo.signatures import STRUCTURED, Signature

FLOATS = ("f32", "f16")
ELEMENTS = (*FLOATS, "i64", "i32", "i8", "i4", "ui64", "ui32", "ui8", "ui4", "i1")


def check_stablehlo(text: str) -> int:
    """Check the text of a module as `stablehlo_text` writes it; return its number of operations.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.formats.stablehlo.lowering import graph_text
    >>> b = GraphBuilder()
    >>> text = graph_text([b.build({"y": b.input("x", "float32", [2]) * 2})])
    >>> check_stablehlo(text)
    3

    There must be one module with one function `main`; values must be defined once, before they are
    used, and used with their types; results must follow from operands and attributes.

    Raises `ModelError` NNM904 with the line of what is wrong.
    """
    operations = list(every(Reader(text.splitlines()).module()))
    for operation in operations:
        signature = SIGNATURES.get(operation.name)
        if signature is None:
            operation.fail("there is no such operation")
        for type in (*operation.operands, *operation.results):
            if type.element not in ELEMENTS:
                operation.fail(f"{type.element} is not a data type")
        signature(operation)
    return len(operations)


def _same(operation: Read) -> None:
    """Check that the operands and the result have the same type."""
    (result,) = operation.results
    if not operation.operands:
        operation.fail("it has no operand")
    for operand in operation.operands:
        if not operand.fits(result):
            operation.fail(f"{operand} and {result} differ")


def _with_operands(count: int) -> Signature:
    def check(operation: Read) -> None:
        if len(operation.operands) != count:
            operation.fail(f"{len(operation.operands)} operands, {count} expected")
        _same(operation)

    return check


def _as_truth(operation: Read) -> None:
    """Check that the result is a boolean for each element of operands of the same type."""
    (result,), first = operation.results, operation.operands[0]
    if not all(operand.fits(first) for operand in operation.operands):
        operation.fail("the operands differ in type")
    if not result.fits(Tensor(first.shape, "i1")):
        operation.fail(f"{result} does not hold a boolean for each element of {first}")


def _convert(operation: Read) -> None:
    (x,), (result,) = operation.operands, operation.results
    if not alike(x.shape, result.shape):
        operation.fail(f"{x} and {result} differ in shape")


def _select(operation: Read) -> None:
    condition, *chosen = operation.operands
    (result,) = operation.results
    if len(chosen) != 2 or not all(value.fits(result) for value in chosen):
        operation.fail("both values have the type of the result")
    if not condition.fits(Tensor(result.shape, "i1")):
        operation.fail(f"{condition} is not a condition for {result}")


def _clamp(operation: Read) -> None:
    (result,) = operation.results
    low, x, high = operation.operands
    if not x.fits(result):
        operation.fail(f"{x} and {result} differ")
    for bound in (low, high):
        if not (bound.fits(result) or bound == Tensor((), result.element)):
            operation.fail(f"{bound} is not a bound of {result}")


def _constant(operation: Read) -> None:
    (result,) = operation.results
    value = operation.attribute("value")
    if operation.operands or not value.endswith(f" : {result}") or None in result.shape:
        operation.fail(f"its value is not of type {result}")


_BINARY = ("add", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract",
           "and", "or", "xor", "atan2", "shift_left", "shift_right_arithmetic",
           "shift_right_logical")  # fmt: skip

SIGNATURES: Mapping[str, Callable[[Read], None]] = {
    **{f"stablehlo.{name}": _with_operands(1) for name in NAMES.values()},
    **{f"stablehlo.{name}": _with_operands(2) for name in _BINARY},
    "stablehlo.is_finite": _as_truth,
    "stablehlo.compare": _as_truth,
    "chlo.erf": _with_operands(1),
    "stablehlo.convert": _convert,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.constant": _constant,
    **STRUCTURED,
}
"""The operations of modules, each with the check of its types."""
