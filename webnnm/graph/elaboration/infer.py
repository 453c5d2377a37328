"""Infer feature shapes in both directions until nothing changes (spec B.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from webnnm.core.errors import ModelError, Span, raise_first, suggestion
from webnnm.core.shapes import show
from webnnm.graph.builder import result_types
from webnnm.graph.elaboration.declare import sequence_option, shape_of
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.vertices import (
    LayerVertex,
    Network,
    Output,
    Vertex,
)
from webnnm.notation.syntax import NamedShape, Reference
from webnnm.ops.declare.features import Changes, Conflict, Features
from webnnm.ops.declare.layout import Role
from webnnm.ops.declare.tensors import OperatorError, TensorType
from webnnm.ops.declare.values import axis_names, one_axis


class LayerView:
    """A layer as its shape rule sees it."""

    def __init__(self, outline: Outline, vertex: LayerVertex) -> None:
        self.outline = outline
        self.vertex = vertex
        self.settled = False
        self.operands: Sequence[Features] = [source.features for source in vertex.operands]
        self.results: Sequence[Features] = vertex.features
        self.options: Mapping[str, Any] = vertex.options
        self.parameters = vertex.parameters
        self.tensors: Mapping[str, Features] = {
            name: source.features for name, source in vertex.tensors.items()
        }

    @property
    def input(self) -> Features:
        """The first operand."""
        return self.operands[0]

    @property
    def result(self) -> Features:
        """The first result."""
        return self.results[0]

    def axes(self, option: str) -> list[Role] | None:
        """Resolve an option that lists axes, or the names of a sizes option, against the input."""
        features = self.input
        if features.rank is None:
            return None
        requested = self.options[option]
        if requested is None:
            return self._default(option, features.rank)
        axes: Sequence[int | str] = requested.names if hasattr(requested, "names") else requested
        roles: list[Role] = [self._axis(axis, features, option) for axis in axes]
        if len(set(roles)) < len(roles):
            self.fail("NNM309", "an axis occurs twice", at=option)
        return roles

    def _default(self, option: str, rank: int) -> list[Role]:
        if option == "axis":
            return []
        order = range(rank)
        return list(reversed(order)) if option == "permutation" else list(order)

    def _axis(self, axis: int | str, features: Features, option: str) -> Role:
        rank = features.rank or 0
        if isinstance(axis, int):
            if not -rank <= axis < rank:
                valid = f"are 0 … {rank - 1}, or -{rank} … -1" if rank > 1 else "are 0 or -1"
                hint = (
                    f"axes of {features} {valid if rank else 'are none'}: the batch is not counted"
                )
                self.fail("NNM308", f"axis {axis}, rank {rank}", at=option, hint=hint)
            return axis % rank
        if axis in features.names:
            return features.names.index(axis)
        if axis == "sequence" or (features.sequence is not None and axis == features.sequence):
            if features.sequence is None:
                self.fail("NNM411", "there is no sequence dimension here", at=option)
            return "sequence"
        if axis == "batch":
            if option == "permutation":
                return "batch"
            if self.vertex.operator.name == "gather" and "indices" in self.tensors:
                return "batch"
            self.fail("NNM310", f'"{self.vertex.operator.name}" works per sample', at=option)
        names = [name for name in features.names if name is not None]
        self.fail("NNM307", f'no dimension "{axis}"', at=option, hint=suggestion(axis, names))

    def infer_result_types(
        self, operands: Sequence[TensorType | None], options: Mapping[str, Any]
    ) -> Sequence[TensorType]:
        """Return the result types of the tensor operator for operands of these types."""
        return result_types(self.vertex.operator, operands, options)

    def fail(self, code: str, message: str, *, at: str | None = None, hint: str = "") -> NoReturn:
        """Raise a `ModelError` at the layer, or at one of its options."""
        span = self.vertex.places.get(at or "", self.vertex.span)
        if code in ("NNM404", "NNM405", "NNM408"):
            # Only errors need remedies: pages start without them.
            from webnnm.graph.hints.remedies import shape_remedy

            hint = shape_remedy(self.vertex) or hint
        raise layer_error(self.outline, self.vertex, code, message, span, hint)


def layer_error(
    outline: Outline,
    vertex: LayerVertex,
    code: str,
    message: str,
    span: Span | None = None,
    hint: str = "",
) -> ModelError:
    """Return an error of a layer with the chain of calls that led to it."""
    if len(vertex.chain) > 1:
        message += f" (in {' > '.join(vertex.chain)})"
    return outline.error(code, message, span or vertex.span, hint)


MAX_REPORTED_SHAPES = 2_000
"""How many unknown shapes of a text are told; more take longer to list than to find."""


def infer_shapes(network: Network, changes: Changes) -> None:
    """Infer every feature shape of a network.

    Raises `ModelError`: NNM401, NNM402, NNM404, NNM407, NNM410, NNM411 if facts contradict each
    other, NNM403 if they do not suffice.
    """
    outline = network.outline
    views = [LayerView(outline, vertex) for vertex in network.order]
    for vertex in network.order:
        _declare(outline, vertex)
    _fixpoint(views, changes)
    for output in network.outputs:
        _check_output(outline, output)
    _fixpoint(views, changes)
    for output in network.outputs:
        _order_output(outline, output)
    _require_known(network)
    for view in views:
        _check_axes(view)


def _fixpoint(views: Sequence[LayerView], changes: Changes) -> None:
    """Apply all rules forward and backward until nothing more is learnt."""
    before = -1
    while before != changes.count:
        before = changes.count
        for view in views:
            _apply(view, changes)
        for view in reversed(views):
            _apply(view, changes)


def _apply(view: LayerView, changes: Changes) -> None:
    if view.settled:
        return
    before = changes.count
    try:
        view.vertex.rules.shape(view)
    except Conflict:
        declared, inferred = view.results[0], view.operands[0] if view.operands else None
        message = f"declared {declared}, inferred {inferred}"
        view.fail("NNM402", message, at="shape")
    except OperatorError as error:
        view.fail(error.code, error.message, hint=error.hint)
    # A rule that knows everything and has learnt nothing need not run again.
    view.settled = before == changes.count and all(
        features.known for features in (*view.operands, *view.results, *view.tensors.values())
    )


def _check_axes(view: LayerView) -> None:
    """Raise NNM307 … NNM310 for axes that the flow lacks, even if the shape rule ignores them."""
    for name, option in view.vertex.rules.options.items():
        if option.read in (axis_names, one_axis):
            view.axes(name)


def _declare(outline: Outline, vertex: LayerVertex) -> None:
    """Adopt the written shape of a layer's result."""
    if vertex.shape is None:
        return
    sizes, names = shape_of(outline, vertex.shape)
    result = vertex.features[0]
    if isinstance(vertex.shape, NamedShape):
        result.unify(sizes)
        result.set_names(names)
        result.renamed = True
    else:
        result.unify(sizes)
        if len(sizes) == 1:
            result.set_names(["features"])
            result.renamed = True


def _check_output(outline: Outline, output: Output) -> None:
    """Compare the declared shape with the inferred one, or let the source adopt it."""
    port = output.block.output
    assert port is not None
    sizes, names = shape_of(outline, port.shape)
    features = output.source.features
    order = _match_declared_order(features, names)
    declared: list[int] = [0] * len(sizes)
    for index, k in enumerate(order):
        declared[k] = sizes[index]
    try:
        features.unify(declared)
    except Conflict:
        message = f"declared {show(sizes)}, inferred {features}"
        from webnnm.graph.hints.remedies import output_remedy

        hint = output_remedy(output, sizes, outline.document.source)
        raise outline.error("NNM402", message, port.shape.span, hint) from None
    option = sequence_option(outline, port.options)
    if option is None:
        return
    name = option.value.word if isinstance(option.value, Reference) else None
    if isinstance(option.value, NamedShape):
        name = option.value.dimensions[0].name
    expected = {"true": features.sequence or "a sequence", "false": None}.get(str(name), name)
    if expected != features.sequence:
        actual = f'"{features.sequence}"' if features.sequence else "no sequence"
        message = f"declared {expected or 'no sequence'}, found {actual}"
        raise outline.error("NNM411", message, option.span)


def _match_declared_order(features: Features, names: Sequence[str | None]) -> list[int]:
    """Return the feature of the source for each declared dimension."""
    inferred = list(features.names)
    if None not in names and len(set(names)) == len(names) and set(names) == set(inferred):
        return [inferred.index(name) for name in names]
    return list(range(len(names)))


def _order_output(outline: Outline, output: Output) -> None:
    port = output.block.output
    assert port is not None
    _, names = shape_of(outline, port.shape)
    output.order = tuple(_match_declared_order(output.source.features, names))
    output.names = ("labels",) if list(names) == [None] else tuple(names)


def _require_known(network: Network) -> None:
    """Raise NNM403 for the first parameter, then the first layer, of unknown shape."""
    outline = network.outline
    unknown: list[tuple[Vertex, str]] = []
    for parameter in network.parameters:
        if not parameter.features[0].known and not parameter.features[0].unneeded:
            unknown.append((parameter, parameter.name))
    for layer in network.layers:
        if not all(features.known for features in layer.features):
            unknown.append((layer, layer.label))
    hint = _missing_size(network) if unknown else ""
    raise_first(
        [
            outline.error(
                "NNM403",
                f'cannot infer the shape of "{name}": {vertex.features[0]}',
                vertex.span,
                hint,
            )
            for vertex, name in unknown[:MAX_REPORTED_SHAPES]
        ]
    )


SIZES = {"filters": "8", "kernel": "3", "size": "100"}
"""Options that give the sizes of a filter or a table, with an example of each."""


def _missing_size(network: Network) -> str:
    """Return what is missing, in the first layer of an unknown filter or table or else anywhere."""
    for layer in network.order:
        options, operands = layer.options, layer.operands
        if len(operands) > 1 and not operands[1].features.known:
            allowed = layer.rules.options
            missing = [
                f"{name}={size}"
                for name, size in SIZES.items()
                if name in allowed and options.get(name) is None
            ]
            if missing:
                return f'write {", ".join(missing)} in "{layer.label}", or the size that is meant'
    return "write shape= on the layer"
