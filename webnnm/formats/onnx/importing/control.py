"""Branches and loops: resolved or unrolled if their conditions are known."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.errors import DataError
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.refusals import too_large
from webnnm.formats.onnx.importing.shaping import at, reshaped
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.messages import GraphProto
from webnnm.graph.node import Operand

MOST_TURNS = 4096
"""How many iterations a loop has at most."""


@imports("If")
def if_(c: Call, condition: Operand) -> list[Operand]:
    """One branch if the condition is known, otherwise both and a choice between them."""
    known = c.b.known(condition)
    if known is not None:
        values = known.values()
        branch = "then_branch" if values and values[0] else "else_branch"
        return c.importer.subgraph(c.graph(branch), c.scope)
    try:
        yes, no = (c.importer.subgraph(c.graph(f"{k}_branch"), c.scope) for k in ("then", "else"))
    except DataError:  # one of them may be valid only for other sizes
        c.known(condition, "its condition")
        raise
    if [x.type for x in yes] != [x.type for x in no]:
        c.known(condition, "its condition, whose branches differ in shape,")
    truth = reshaped(c, condition, ())
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
    most = None if trips is None else c.scalar(trips, "its number of iterations")
    starts = condition is None or c.scalar(condition, "its condition")
    if starts and most is not None and most > MOST_TURNS and _passes_condition_on(body):
        raise too_large(f'loop "{c.node.name}"', most, MOST_TURNS)
    state: list[Operand | None] = list(carried)
    rows: list[list[Operand]] = [[] for _ in body.output[1 + len(state) :]]
    turn = 0
    while most is None or turn < most:
        if condition is not None and not c.scalar(condition, "its condition"):
            break
        if turn >= MOST_TURNS:
            raise too_large(f'loop "{c.node.name}"', most or turn + 1, MOST_TURNS)
        number = c.b.constant(turn, "int64")
        truth = c.b.constant(1, "uint8") if condition is None else condition
        found = c.importer.subgraph(body, c.scope, [number, truth, *state])
        # Without an input condition, the output condition still ends the loop.
        condition = found[0]
        state = list(found[1 : 1 + len(state)])
        for row, value in zip(rows, found[1 + len(state) :], strict=True):
            row.append(value)
        turn += 1
    return [*state, *(_stacked(c, row, 0) for row in rows)]


def _passes_condition_on(body: GraphProto) -> bool:
    """Return whether a body returns the condition unchanged, and so never ends the loop."""
    names = {each.name for each in body.input[1:2]}
    for node in body.node:
        if node.op_type == "Identity" and names.issuperset(node.input):
            names.update(node.output)
    return all(each.name in names for each in body.output[:1])


def _stacked(c: Call, row: Sequence[Operand], axis: int) -> Operand:
    """Return the values of all iterations stacked along a new axis."""
    if not row:
        raise c.unsupported("it has no iterations, so the outputs that it collects have no shape")
    shape = row[0].shape
    axis = c.axis(axis, len(shape) + 1)
    new = (*shape[:axis], 1, *shape[axis:])
    rows = [reshaped(c, value, new) for value in row]
    return rows[0] if len(rows) == 1 else c.b.concat(rows, axis=axis)


@imports("Scan")
def scan(c: Call, *given: Operand | None) -> list[Operand]:
    """A body applied to the rows of its operands in turn."""
    if c.opset < 9:
        return _batched(c, given)
    return _scanned(c, [x for x in given if x is not None])


def _batched(c: Call, given: Sequence[Operand | None]) -> list[Operand]:
    """Return the scan of opset 8: the sequences of a batch one after the other."""
    lengths, *rest = given
    operands = [x for x in rest if x is not None]
    if lengths is not None:
        sizes = c.listed(lengths, "its lengths")
        if any(size != operands[-1].shape[1] for size in sizes):
            raise c.unsupported("sequences of different lengths")
    batch = operands[0].shape[0]
    found = [
        _scanned(c, [at(c, x, 0, k) for x in operands]) for k in range(c.few(batch, "its batch"))
    ]
    return [_stacked(c, row, 0) for row in zip(*found, strict=True)]


def _scanned(c: Call, given: Sequence[Operand]) -> list[Operand]:
    """Return the states and collected rows of a scan."""
    body, amount = c.graph("body"), c.integer("num_scan_inputs")
    first = len(given) - amount
    if not 0 <= first < len(given):
        raise c.invalid(f"{amount} of its {len(given)} inputs are scanned")
    state, sequences = list(given[:first]), given[first:]
    axes = [
        c.axis(axis, x.rank)
        for axis, x in zip(c.integers("scan_input_axes", [0] * amount), sequences, strict=True)
    ]
    outputs = len(body.output) - first
    backwards = c.integers("scan_input_directions", c.integers("directions", [0] * amount))
    reverse = c.integers("scan_output_directions", [0] * outputs)
    size = sequences[0].shape[axes[0]]
    if size > MOST_TURNS:
        raise too_large(f'scan "{c.node.name}"', size, MOST_TURNS)
    rows: list[list[Operand]] = [[] for _ in range(outputs)]
    for turn in range(size):
        here = [
            at(c, x, axis, size - 1 - turn if back else turn)
            for x, axis, back in zip(sequences, axes, backwards, strict=True)
        ]
        found = c.importer.subgraph(body, c.scope, [*state, *here])
        state = found[:first]
        for row, value in zip(rows, found[first:], strict=True):
            row.append(value)
    out_axes = c.integers("scan_output_axes", [0] * outputs)
    ordered = [row[::-1] if back else row for row, back in zip(rows, reverse, strict=True)]
    return [*state, *(_stacked(c, row, axis) for row, axis in zip(ordered, out_axes, strict=True))]
