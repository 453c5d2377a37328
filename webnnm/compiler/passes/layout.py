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
    reshape,
    to_operand,
    to_stored_order,
    transpose,
)
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.ops.declare.letters import FILTER_LAYOUTS, TRANSPOSED_FILTER_LAYOUTS, order
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import TensorType

NHWC_TO_NCHW = order("nhwc", "nchw")
"""The permutation that turns an image with channels last into one in `nchw`."""

CONVOLUTIONS = {"conv2d": FILTER_LAYOUTS, "convTranspose2d": TRANSPOSED_FILTER_LAYOUTS}
"""Convolutions, and the layouts of filters that they have for images in `nhwc`."""


def use_channels_last(graph: Graph) -> Graph:
    """Return the graph with images in `nhwc`, and as few transposes as possible.

    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [1, 2, 8, 8]), b.input("w", "float32", [2, 2, 3, 3])
    >>> y = b.conv2d(b.relu(b.conv2d(x, w)), w)
    >>> graph = use_channels_last(b.build({"y": y}))
    >>> [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]
    ['transpose', 'conv2d', 'relu', 'conv2d', 'transpose']

    Without operators on images, only the transposes are moved. Takes time linear in the
    size of the graph.
    """
    if not graph.names(is_source):
        return graph
    nodes = graph.nodes()
    rewriter = _LayoutRewriter(_find_carriers(graph, nodes))
    builder, values = rewriter.builder, rewriter.values
    for node in nodes:
        with builder.place(node.label, node.span):
            values[node.number] = rewriter.rewrite(node)
    outputs: dict[str, Operand] = {}
    for name, operand in graph.outputs.items():
        with builder.place(operand.node.label, operand.node.span):
            outputs[name] = to_operand(values[operand.number][operand.index])
    inputs = {name: builder.adopt(o.node)[0] for name, o in graph.inputs.items()}
    return Graph(outputs, inputs)


def _layout_option(operator: AnyOperator) -> str | None:
    """Return the option with the layout of images, None for other operators."""
    if operator.name in CONVOLUTIONS:
        return "input_layout"
    return "layout" if operator.traits >= {"pooling", "windowed"} else None


def is_source(operator: AnyOperator) -> bool:
    """Return whether an operator is the reason to look at the order of dimensions."""
    return operator.name == "transpose" or _layout_option(operator) is not None


def _is_reduction(operator: AnyOperator) -> bool:
    return "reduction" in operator.traits


def _find_carriers(graph: Graph, nodes: Sequence[Node]) -> set[int]:
    """Return the operators through which to carry transposes.

    Their results reach an operator on images or a transpose, or nothing but reductions; outputs
    and operands of products are needed in the given order in the end.
    """
    before_transposes: set[int] = set()
    order_is_fixed = {operand.number for operand in graph.outputs.values()}
    for node in reversed(nodes):
        if not isinstance(node, OperatorNode) or _is_reduction(node.operator):
            continue
        operands = [o.number for o in node.operands if o is not None]
        neutral = takes_any_order(node.operator)
        if is_source(node.operator) or (neutral and node.number in before_transposes):
            before_transposes.update(operands)
        elif not neutral or node.number in order_is_fixed:
            order_is_fixed.update(operands)
    return {
        node.number
        for node in nodes
        if node.number in before_transposes or node.number not in order_is_fixed
    }


class _LayoutRewriter:
    """The values of the nodes so far, with one method for each kind of operator."""

    def __init__(self, carriers: set[int]) -> None:
        self.builder = GraphBuilder()
        self.values: dict[int, tuple[Value, ...]] = {}
        self._carriers = carriers

    def rewrite(self, node: Node) -> tuple[Value, ...]:
        """Return the results of a node."""
        if not isinstance(node, OperatorNode):
            return self.builder.adopt(node)
        values = [o and self.values[o.number][o.index] for o in node.operands]
        name = node.operator.name
        if (option := _layout_option(node.operator)) is not None:
            return self._use_nhwc(node, values, option)
        if name == "transpose" and values[0] is not None:
            return (transpose(values[0], node.options["permutation"]),)
        if any(isinstance(value, PendingTranspose) for value in values):
            if name == "reshape" and isinstance(values[0], PendingTranspose):
                return self._reshape(node, values[0])
            if self._is_carrier(node) and takes_any_order(node.operator):
                results = self._pass_transpose(node, values)
                if results is not None:
                    return results
        return self._adopt(node, [None if value is None else to_operand(value) for value in values])

    def _is_carrier(self, node: OperatorNode) -> bool:
        """Return whether to carry transposes through an operator: past smaller results always."""
        smaller = _is_reduction(node.operator) or node.operator.name in ("slice", "split")
        return smaller or node.number in self._carriers

    def _adopt(
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
        new_options = {**node.options, **options} if options else node.options
        number = len(self.builder.nodes)
        results = self.builder.adopt(node.at(number, tuple(operands), types, new_options))
        if not permutations:
            return results
        return tuple(transpose(x, p) for x, p in zip(results, permutations, strict=True))

    def _use_nhwc(
        self, node: OperatorNode, values: Sequence[Value | None], option: str
    ) -> tuple[Value, ...]:
        """An operator on images in `nchw` → the same in `nhwc`."""
        name = node.operator.name
        operands = [None if value is None else to_operand(value) for value in values]
        options: dict[str, Any] = {}
        permutations: tuple[Permutation, ...] = ()
        image = values[0]
        if image is not None and node.options[option] == "nchw":
            operands[0] = to_stored_order(image, NHWC_TO_NCHW)
            options[option], permutations = "nhwc", (NHWC_TO_NCHW,)
        if name in CONVOLUTIONS and isinstance(kernel := values[1], PendingTranspose):
            axes = inverse(kernel.permutation)
            letters: str = "".join(node.options["filter_layout"][k] for k in axes)
            if letters in CONVOLUTIONS[name]:
                operands[1], options["filter_layout"] = kernel.operand, letters
        return self._adopt(node, operands, permutations, **options)

    def _reshape(self, node: OperatorNode, value: PendingTranspose) -> tuple[Value, ...]:
        """A reshape of leading dimensions that the transpose leaves in place → the same."""
        x, p, old, new = value.operand, value.permutation, value.shape, node.types[0].shape
        unchanged = 0
        while unchanged < min(len(old), len(new)) and old[-1 - unchanged] == new[-1 - unchanged]:
            unchanged += 1
        m, n = len(old) - unchanged, len(new) - unchanged
        if p[:m] != tuple(range(m)):
            return self._adopt(node, [to_operand(value)])
        permutation = (*range(n), *(k - m + n for k in p[m:]))
        return (transpose(reshape(x, (*new[:n], *x.shape[m:])), permutation),)

    def _pass_transpose(
        self, node: OperatorNode, values: Sequence[Value | None]
    ) -> tuple[Value, ...] | None:
        """An operator that does not depend on the order of dimensions; None if it does not pay."""
        options = node.options
        # Elements with a pending transpose, by permutation, and others, which would need one.
        sizes: Counter[Permutation] = Counter()
        without_transpose = 0
        for value in values:
            if isinstance(value, PendingTranspose):
                sizes[value.permutation] += count(value.shape)
            elif value is not None and sum(size > 1 for size in value.shape) > 1:
                without_transpose += count(value.shape)
        ((p, with_transpose),) = sizes.most_common(1)
        without_transpose += sizes.total() - with_transpose
        if without_transpose > with_transpose or len(p) != max(
            len(v.shape) for v in values if v is not None
        ):
            return None
        after, rule = p, _options_rule(node.operator)
        new_options: Options | None = rule(options, p) if rule else {}
        if new_options is None:
            return None
        if _is_reduction(node.operator) and not options["keep_dimensions"]:
            kept_axes = [p[k] for k in range(len(p)) if k not in options["axes"]]
            after = tuple(sorted(kept_axes).index(k) for k in kept_axes)
        elif len(p) != len(node.types[0].shape):
            return None
        is_normalization = "normalization" in node.operator.traits
        operands = [
            None
            if v is None
            else to_operand(v)
            if is_normalization and k
            else to_stored_order(v, p)
            for k, v in enumerate(values)
        ]
        return self._adopt(node, operands, (after,) * len(node.types), **new_options)


Options = Mapping[str, Any]


def _permute_axes(axes: Iterable[int], p: Permutation) -> Permutation:
    return tuple(p[k] for k in axes)


def _permute_axes_option(options: Options, p: Permutation) -> Options:
    return {"axes": tuple(sorted(_permute_axes(options["axes"], p)))}


def _permute_axis_option(options: Options, p: Permutation) -> Options:
    return {"axis": p[options["axis"]]}


def _permute_image_axes(options: Options, p: Permutation) -> Options | None:
    axes = _permute_axes(options["axes"], p)
    return {"axes": axes} if axes == tuple(sorted(axes)) else None


def _permute_layout(options: Options, p: Permutation) -> Options | None:
    return {"layout": "nhwc"} if (options["layout"], p) == ("nchw", NHWC_TO_NCHW) else None


def _permute_lists(*names: str) -> Callable[[Options, Permutation], Options]:
    def permute(options: Options, p: Permutation) -> Options:
        axes = inverse(p)
        return {name: tuple(options[name][k] for k in axes) for name in names}

    return permute


_OPTIONS: dict[str, Callable[[Options, Permutation], Options | None]] = {
    **dict.fromkeys(
        ("batchNormalization", "concat", "cumulativeSum", "logSoftmax", "softmax", "split"),
        _permute_axis_option,
    ),
    "expand": _permute_lists("new_shape"),
    "instanceNormalization": _permute_layout,
    "pad": _permute_lists("beginning_padding", "ending_padding"),
    "resample2d": _permute_image_axes,
    "reverse": _permute_axes_option,
    "slice": _permute_lists("starts", "sizes", "strides"),
}
"""The options for operands that are stored in another order: `rule(options, permutation)`."""


def _options_rule(
    operator: AnyOperator,
) -> Callable[[Options, Permutation], Options | None] | None:
    return _permute_axes_option if _is_reduction(operator) else _OPTIONS.get(operator.name)


def takes_any_order(operator: AnyOperator) -> bool:
    """Return whether an operator takes its operands in any order of dimensions."""
    return operator.elementwise or _options_rule(operator) is not None
