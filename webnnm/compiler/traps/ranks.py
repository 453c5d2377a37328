"""Traps of ranks and types: operators that fail to build with what their limits allow."""

from __future__ import annotations

from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Untried, Values, litert
from webnnm.compiler.traps.trap import Trap
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement
from webnnm.ops.declare.indices import flatten_around

MAX_RANK = 6
"""Chromium fails to build these with more dimensions, though its limits say eight."""

MAX_INDEX_RANK = 4
"""With indices of more dimensions, a gather crashes the service of Chromium 147."""

REDUCTIONS = frozenset(
    {
        "reduceL1",
        "reduceL2",
        "reduceLogSum",
        "reduceLogSumExp",
        "reduceMax",
        "reduceMean",
        "reduceMin",
        "reduceProduct",
        "reduceSum",
        "reduceSumSquare",
    }
)


def _concat_in_three(b: GraphBuilder, node: Node) -> Replacement | None:
    """A concat in too many dimensions → one in three."""
    if not isinstance(node, OperatorNode) or len(node.types[0].shape) <= MAX_RANK:
        return None
    axis = node.options["axis"]
    parts = [flatten_around(b, part, axis) for part in node.operands if part is not None]
    return b.reshape(b.concat(parts, axis=1), new_shape=node.types[0].shape)


def _refuse_uint64(b: GraphBuilder, node: Node) -> Replacement | None:
    """Refuse a concat of uint64: no other type holds its values."""
    del b
    if node.types[0].dtype != "uint64":
        return None
    raise BackendError(
        "NNM505",
        "concat: this browser's WebNN fails to build it for uint64, though its limits allow that",
        hint='use int64 if your values allow it; backend("numpy") takes uint64',
    )


def _reduce_rows(b: GraphBuilder, node: Node) -> Operand | None:
    """A reduction in too many dimensions → one of rows, with the reduced dimensions last."""
    if not isinstance(node, OperatorNode):
        return None
    (x,) = node.operands
    assert x is not None
    if x.rank <= MAX_RANK:
        return None
    axes = node.options["axes"]
    long_axes = [k for k, size in enumerate(x.shape) if size > 1]
    is_reduced = [k in axes for k in long_axes]
    order = sorted(range(len(long_axes)), key=is_reduced.__getitem__)
    flattened = b.reshape(x, new_shape=[x.shape[k] for k in long_axes])
    if order != sorted(order):
        flattened = b.transpose(flattened, permutation=order)
    row_count = count(x.shape[k] for k in long_axes if k not in axes)
    rows = b.reshape(flattened, new_shape=(row_count, count(x.shape) // row_count))
    reduced = b.apply(node.operator, [rows], {"axes": (1,)})
    return b.reshape(reduced, new_shape=node.types[0].shape)


def _gather_flat(b: GraphBuilder, node: Node) -> Operand | None:
    """A gather with indices of too many dimensions → one with the same indices, flattened."""
    if not isinstance(node, OperatorNode):
        return None
    x, indices = node.operands
    assert x is not None
    assert indices is not None
    if indices.rank <= MAX_INDEX_RANK:
        return None
    row = b.reshape(indices, new_shape=(count(indices.shape),))
    return b.reshape(b.gather(x, row, **node.options), new_shape=node.types[0].shape)


def _restore_dimension(b: GraphBuilder, node: Node) -> Operand | None:
    """The index of an extremum with the axis kept → without the axis, reshaped."""
    if not isinstance(node, OperatorNode) or not node.options["keep_dimensions"]:
        return None
    options = {**node.options, "keep_dimensions": False}
    result = b.apply(node.operator, node.operands, options)
    return b.reshape(result, new_shape=node.types[0].shape)


def _draw_seven_dimensions(g: Sketch) -> SketchTensor:
    """Return a tensor of seven dimensions that holds 1 and 2."""
    return g.tensor([1.0, 2.0], "float32", [1, 1, 1, 2, 1, 1, 1])


TRAPS = (
    Trap(
        operators=frozenset({"argMax", "argMin"}),
        reason="a dimension that is kept would be missing where the result is used; it is reshaped",
        evidence=(
            Probe(
                lambda g: [
                    g.add(
                        getattr(g, name)(g.tensor(values), 1, keepDimensions=True),
                        g.tensor([[0, 0], [0, 0]], "int32"),
                    )
                    for name, values in (
                        ("argMax", [[0.0, 1.0], [1.0, 0.0]]),
                        ("argMin", [[1.0, 0.0], [0.0, 1.0]]),
                    )
                ],
                [Values([[1, 1], [0, 0]], "int32")] * 2,
            ),
        ),
        rule=_restore_dimension,
    ),
    Trap(
        operators=frozenset({"concat"}),
        reason="uint64 fails to build, and no other type holds it",
        evidence=Untried("it can only be reported, not avoided", litert),
        rule=_refuse_uint64,
    ),
    Trap(
        operators=frozenset({"concat"}),
        reason=f"more than {MAX_RANK} dimensions fail to build; joined in three dimensions",
        evidence=(
            Probe(
                lambda g: g.concat([_draw_seven_dimensions(g), _draw_seven_dimensions(g)], 0),
                Values([1.0, 2.0, 1.0, 2.0], "float32", [2, 1, 1, 2, 1, 1, 1]),
                alone=True,
            ),
        ),
        rule=_concat_in_three,
    ),
    Trap(
        operators=frozenset({"gather"}),
        reason=f"indices of more than {MAX_INDEX_RANK} dimensions lose the device; gathered with a "
        "flat list of indices",
        evidence=Untried("where the fault shows, the device is lost", litert),
        rule=_gather_flat,
    ),
    Trap(
        operators=REDUCTIONS,
        reason=f"more than {MAX_RANK} dimensions fail to build; reduced as rows",
        evidence=(
            Probe(
                lambda g: [
                    getattr(g, name)(_draw_seven_dimensions(g), axes=[3])
                    for name in sorted(REDUCTIONS)
                ],
                [
                    Values([value], "float32", [1] * 6)
                    for value in (3.0, 5**0.5, 1.0986123, 2.3132617, 2.0, 1.5, 1.0, 2.0, 3.0, 5.0)
                ],
                alone=True,
            ),
        ),
        rule=_reduce_rows,
    ),
)
