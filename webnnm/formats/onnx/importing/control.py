"""Branches and loops: resolved or unrolled if their conditions are known."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.errors import DataError
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.refusals import too_large
from webnnm.formats.onnx.importing.shaping import at, reshape_to
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.messages import GraphProto
from webnnm.graph.node import Operand

MAX_ITERATIONS = 4096
"""How many iterations a loop has at most."""


@imports("If")
def if_(c: Call, condition: Operand) -> list[Operand]:
    """One branch if the condition is known, otherwise both and a choice between them."""
    array = c.b.evaluate(condition)
    if array is not None:
        values = array.values()
        branch = "then_branch" if values and values[0] else "else_branch"
        return c.importer.subgraph(c.graph(branch), c.scope)
    try:
        yes, no = (c.importer.subgraph(c.graph(f"{k}_branch"), c.scope) for k in ("then", "else"))
    except DataError:  # one of them may be valid only for other sizes
        c.require_values(condition, "its condition")
        raise
    if [x.type for x in yes] != [x.type for x in no]:
        c.require_values(condition, "its condition, whose branches differ in shape,")
    truth = reshape_to(c, condition, ())
    return [c.b.where(truth, x, y) for x, y in zip(yes, no, strict=True)]


@imports("Loop")
def loop(
    c: Call,
    trips: Operand | None = None,
    condition: Operand | None = None,
    *carried: Operand | None,
) -> list[Operand | None]:
    """A body repeated a known number of times, its iterations unrolled in the graph."""
    body = c.graph("body")
    limit = None if trips is None else c.require_scalar(trips, "its number of iterations")
    starts = condition is None or c.require_scalar(condition, "its condition")
    if starts and limit is not None and limit > MAX_ITERATIONS and _passes_condition_on(body):
        raise too_large(f'loop "{c.node.name}"', limit, MAX_ITERATIONS)
    state: list[Operand | None] = list(carried)
    rows: list[list[Operand]] = [[] for _ in body.output[1 + len(state) :]]
    iteration = 0
    while limit is None or iteration < limit:
        if condition is not None and not c.require_scalar(condition, "its condition"):
            break
        if iteration >= MAX_ITERATIONS:
            raise too_large(f'loop "{c.node.name}"', limit or iteration + 1, MAX_ITERATIONS)
        counter = c.b.constant(iteration, "int64")
        truth = c.b.constant(1, "uint8") if condition is None else condition
        results = c.importer.subgraph(body, c.scope, [counter, truth, *state])
        # Without an input condition, the output condition still ends the loop.
        condition = results[0]
        state = list(results[1 : 1 + len(state)])
        for row, value in zip(rows, results[1 + len(state) :], strict=True):
            row.append(value)
        iteration += 1
    return [*state, *(_stack(c, row, 0) for row in rows)]


def _passes_condition_on(body: GraphProto) -> bool:
    """Return whether a body returns the condition unchanged, and so never ends the loop."""
    names = {info.name for info in body.input[1:2]}
    for node in body.node:
        if node.op_type == "Identity" and names.issuperset(node.input):
            names.update(node.output)
    return all(info.name in names for info in body.output[:1])


def _stack(c: Call, row: Sequence[Operand], axis: int) -> Operand:
    """Return the values of all iterations stacked along a new axis."""
    if not row:
        raise c.not_supported("it has no iterations, so the outputs that it collects have no shape")
    shape = row[0].shape
    axis = c.axis(axis, len(shape) + 1)
    new = (*shape[:axis], 1, *shape[axis:])
    rows = [reshape_to(c, value, new) for value in row]
    return rows[0] if len(rows) == 1 else c.b.concat(rows, axis=axis)


@imports("Scan")
def scan(c: Call, *inputs: Operand | None) -> list[Operand]:
    """A body applied to the rows of its operands in turn."""
    if c.opset < 9:
        return _scan_batch(c, inputs)
    return _scan_rows(c, [x for x in inputs if x is not None])


def _scan_batch(c: Call, inputs: Sequence[Operand | None]) -> list[Operand]:
    """Return the scan of opset 8: the sequences of a batch one after the other."""
    lengths, *rest = inputs
    operands = [x for x in rest if x is not None]
    if lengths is not None:
        sizes = c.require_integers(lengths, "its lengths")
        if any(size != operands[-1].shape[1] for size in sizes):
            raise c.not_supported("sequences of different lengths")
    batch = operands[0].shape[0]
    outputs = [
        _scan_rows(c, [at(c, x, 0, k) for x in operands])
        for k in range(c.check_size(batch, "its batch"))
    ]
    return [_stack(c, row, 0) for row in zip(*outputs, strict=True)]


def _scan_rows(c: Call, inputs: Sequence[Operand]) -> list[Operand]:
    """Return the states and collected rows of a scan."""
    body, amount = c.graph("body"), c.integer("num_scan_inputs")
    first = len(inputs) - amount
    if not 0 <= first < len(inputs):
        raise c.invalid(f"{amount} of its {len(inputs)} inputs are scanned")
    state, sequences = list(inputs[:first]), inputs[first:]
    axes = [
        c.axis(axis, x.rank)
        for axis, x in zip(c.integers("scan_input_axes", [0] * amount), sequences, strict=True)
    ]
    outputs = len(body.output) - first
    backwards = c.integers("scan_input_directions", c.integers("directions", [0] * amount))
    reverse = c.integers("scan_output_directions", [0] * outputs)
    size = sequences[0].shape[axes[0]]
    if size > MAX_ITERATIONS:
        raise too_large(f'scan "{c.node.name}"', size, MAX_ITERATIONS)
    rows: list[list[Operand]] = [[] for _ in range(outputs)]
    for step in range(size):
        row_inputs = [
            at(c, x, axis, size - 1 - step if back else step)
            for x, axis, back in zip(sequences, axes, backwards, strict=True)
        ]
        results = c.importer.subgraph(body, c.scope, [*state, *row_inputs])
        state = results[:first]
        for row, value in zip(rows, results[first:], strict=True):
            row.append(value)
    out_axes = c.integers("scan_output_axes", [0] * outputs)
    ordered = [row[::-1] if back else row for row, back in zip(rows, reverse, strict=True)]
    return [*state, *(_stack(c, row, axis) for row, axis in zip(ordered, out_axes, strict=True))]
