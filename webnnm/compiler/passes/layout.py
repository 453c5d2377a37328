"""Compute images with channels last, and delay transposes until something needs them.

Backends that prefer the layout `nhwc` transpose around every convolution in `nchw`, and transposes
cost memory traffic. This pass computes images in `nhwc` and carries the transposes through
operators that do not depend on the order (elementwise operators, reductions, slices,
concatenations), until they meet their inverses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from webnnm.compiler.passes.pending_transposes import (
    PendingTranspose,
    Permutation,
    Value,
    inverse,
    plain,
    reshaped,
    stored,
    transposed,
)
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import TensorType

LAST = order("nhwc", "nchw")
"""The permutation that turns an image with channels last into one in `nchw`."""

FILTERS = {"conv2d": FILTER_LAYOUTS, "convTranspose2d": TRANSPOSED_FILTER_LAYOUTS}
"""Convolutions, and the layouts of filters that they have for images in `nhwc`."""


def channels_last(graph: Graph) -> Graph:
    """Return the graph with images in `nhwc`, and as few transposes as possible.

    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [1, 2, 8, 8]), b.input("w", "float32", [2, 2, 3, 3])
    >>> y = b.conv2d(b.relu(b.conv2d(x, w)), w)
    >>> found = channels_last(b.build({"y": y}))
    >>> [node.operator.name for node in found.nodes() if isinstance(node, OperatorNode)]
    ['transpose', 'conv2d', 'relu', 'conv2d', 'transpose']

    Without operators on images, only the transposes are moved. Takes time linear in the
    size of the graph.
    """
    if not graph.names(is_source):
        return graph
    nodes = graph.nodes()
    walk = _Walk(_carrying(graph, nodes))
    builder, values = walk.builder, walk.values
    for node in nodes:
        with builder.place(node.label, node.span):
            values[node.number] = walk.found(node)
    outputs: dict[str, Operand] = {}
    for name, operand in graph.outputs.items():
        with builder.place(operand.node.label, operand.node.span):
            outputs[name] = plain(values[operand.number][operand.index])
    inputs = {name: builder.adopt(o.node)[0] for name, o in graph.inputs.items()}
    return Graph(outputs, inputs)


def _layout_option(operator: AnyOperator) -> str | None:
    """Return the option with the layout of images, None for other operators."""
    if operator.name in FILTERS:
        return "input_layout"
    return "layout" if operator.traits >= {"pooling", "windowed"} else None


def is_source(operator: AnyOperator) -> bool:
    """Return whether an operator is the reason to look at the order of dimensions."""
    return operator.name == "transpose" or _layout_option(operator) is not None


def _is_reduction(operator: AnyOperator) -> bool:
    return "reduction" in operator.traits


def _carrying(graph: Graph, nodes: Sequence[Node]) -> set[int]:
    """Return the operators through which to carry transposes.

    Their results reach an operator on images or a transpose, or nothing but reductions; outputs
    and operands of products are needed in the given order in the end.
    """
    leading: set[int] = set()
    given = {operand.number for operand in graph.outputs.values()}
    for node in reversed(nodes):
        if not isinstance(node, OperatorNode) or _is_reduction(node.operator):
            continue
        operands = [o.number for o in node.operands if o is not None]
        neutral = takes_any_order(node.operator)
        if is_source(node.operator) or (neutral and node.number in leading):
            leading.update(operands)
        elif not neutral or node.number in given:
            given.update(operands)
    return {node.number for node in nodes if node.number in leading or node.number not in given}


class _Walk:
    """The values of the nodes so far, with one method for each kind of operator."""

    def __init__(self, carrying: set[int]) -> None:
        self.builder = GraphBuilder()
        self.values: dict[int, tuple[Value, ...]] = {}
        self._carrying = carrying

    def found(self, node: Node) -> tuple[Value, ...]:
        """Return the results of a node."""
        if not isinstance(node, OperatorNode):
            return self.builder.adopt(node)
        given = [o and self.values[o.number][o.index] for o in node.operands]
        name = node.operator.name
        if (option := _layout_option(node.operator)) is not None:
            return self._image(node, given, option)
        if name == "transpose" and given[0] is not None:
            return (transposed(given[0], node.options["permutation"]),)
        if any(isinstance(value, PendingTranspose) for value in given):
            if name == "reshape" and isinstance(given[0], PendingTranspose):
                return self._reshaped(node, given[0])
            carries = self._carries(node)
            if carries and takes_any_order(node.operator):
                found = self._neutral(node, given)
                if found is not None:
                    return found
        return self._made(node, [None if value is None else plain(value) for value in given])

    def _carries(self, node: OperatorNode) -> bool:
        """Return whether to carry transposes through an operator: past smaller results always."""
        smaller = _is_reduction(node.operator) or node.operator.name in ("slice", "split")
        return smaller or node.number in self._carrying

    def _made(
        self,
        node: OperatorNode,
        operands: Sequence[Operand | None],
        permutations: Sequence[Permutation] = (),
        **options: Any,
    ) -> tuple[Value, ...]:
        """Return the results of a node with other operands and options.

        They are stored so that their transposes by the permutations are the node's results.
        """
        types = node.types
        if permutations:
            pairs = zip(types, permutations, strict=True)
            types = tuple(
                TensorType(type.dtype, tuple(type.shape[k] for k in inverse(p)))
                for type, p in pairs
            )
        chosen = {**node.options, **options} if options else node.options
        number = len(self.builder.nodes)
        made = self.builder.adopt(node.at(number, tuple(operands), types, chosen))
        if not permutations:
            return made
        return tuple(transposed(x, p) for x, p in zip(made, permutations, strict=True))

    def _image(
        self, node: OperatorNode, given: Sequence[Value | None], option: str
    ) -> tuple[Value, ...]:
        """An operator on images in `nchw` → the same in `nhwc`."""
        name = node.operator.name
        operands = [None if value is None else plain(value) for value in given]
        options: dict[str, Any] = {}
        permutations: tuple[Permutation, ...] = ()
        image = given[0]
        if image is not None and node.options[option] == "nchw":
            operands[0] = stored(image, LAST)
            options[option], permutations = "nhwc", (LAST,)
        if name in FILTERS and isinstance(kernel := given[1], PendingTranspose):
            places = inverse(kernel.permutation)
            letters: str = "".join(node.options["filter_layout"][k] for k in places)
            if letters in FILTERS[name]:
                operands[1], options["filter_layout"] = kernel.operand, letters
        return self._made(node, operands, permutations, **options)

    def _reshaped(self, node: OperatorNode, value: PendingTranspose) -> tuple[Value, ...]:
        """A reshape of leading dimensions that the transpose leaves in place → the same."""
        x, p, old, new = value.operand, value.permutation, value.shape, node.types[0].shape
        same = 0
        while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
            same += 1
        m, n = len(old) - same, len(new) - same
        if p[:m] != tuple(range(m)):
            return self._made(node, [plain(value)])
        moved = (*range(n), *(k - m + n for k in p[m:]))
        return (transposed(reshaped(x, (*new[:n], *x.shape[m:])), moved),)

    def _neutral(
        self, node: OperatorNode, given: Sequence[Value | None]
    ) -> tuple[Value, ...] | None:
        """An operator that does not depend on the order of dimensions; None if it does not pay."""
        options = node.options
        # Elements with a pending transpose, by permutation, and others, which would need one.
        sizes: Counter[Permutation] = Counter()
        others = 0
        for value in given:
            if isinstance(value, PendingTranspose):
                sizes[value.permutation] += count(value.shape)
            elif value is not None and sum(size > 1 for size in value.shape) > 1:
                others += count(value.shape)
        ((p, most),) = sizes.most_common(1)
        others += sizes.total() - most
        if others > most or len(p) != max(len(v.shape) for v in given if v is not None):
            return None
        after, rule = p, _options_rule(node.operator)
        new: Options | None = rule(options, p) if rule else {}
        if new is None:
            return None
        if _is_reduction(node.operator) and not options["keep_dimensions"]:
            kept = [p[k] for k in range(len(p)) if k not in options["axes"]]
            after = tuple(sorted(kept).index(k) for k in kept)
        elif len(p) != len(node.types[0].shape):
            return None
        small = "normalization" in node.operator.traits
        operands = [
            None if v is None else plain(v) if small and k else stored(v, p)
            for k, v in enumerate(given)
        ]
        return self._made(node, operands, (after,) * len(node.types), **new)


Options = Mapping[str, Any]


def _moved(axes: Iterable[int], p: Permutation) -> Permutation:
    return tuple(p[k] for k in axes)


def _axes(options: Options, p: Permutation) -> Options:
    return {"axes": tuple(sorted(_moved(options["axes"], p)))}


def _axis(options: Options, p: Permutation) -> Options:
    return {"axis": p[options["axis"]]}


def _image_axes(options: Options, p: Permutation) -> Options | None:
    axes = _moved(options["axes"], p)
    return {"axes": axes} if axes == tuple(sorted(axes)) else None


def _layout(options: Options, p: Permutation) -> Options | None:
    return {"layout": "nhwc"} if (options["layout"], p) == ("nchw", LAST) else None


def _per_dimension(*names: str) -> Callable[[Options, Permutation], Options]:
    def found(options: Options, p: Permutation) -> Options:
        places = inverse(p)
        return {name: tuple(options[name][k] for k in places) for name in names}

    return found


_OPTIONS: dict[str, Callable[[Options, Permutation], Options | None]] = {
    **dict.fromkeys(
        ("batchNormalization", "concat", "cumulativeSum", "logSoftmax", "softmax", "split"), _axis
    ),
    "expand": _per_dimension("new_shape"),
    "instanceNormalization": _layout,
    "pad": _per_dimension("beginning_padding", "ending_padding"),
    "resample2d": _image_axes,
    "reverse": _axes,
    "slice": _per_dimension("starts", "sizes", "strides"),
}
"""The options for operands that are stored in another order: `rule(options, permutation)`."""


def _options_rule(
    operator: AnyOperator,
) -> Callable[[Options, Permutation], Options | None] | None:
    return _axes if _is_reduction(operator) else _OPTIONS.get(operator.name)


def takes_any_order(operator: AnyOperator) -> bool:
    """Return whether an operator takes its operands in any order of dimensions."""
    return operator.elementwise or _options_rule(operator) is not None
