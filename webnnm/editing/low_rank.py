"""Texts of models with low-rank adapters: what exists is frozen, and small products are added.

Source: E. Hu et al., "LoRA", arXiv:2106.09685 (2021).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import count
from typing import NamedTuple, cast

from webnnm.core.errors import DataError, Span, suggestion
from webnnm.core.shapes import is_integer
from webnnm.editing.splitting import reparse
from webnnm.graph.elaboration.vertices import (
    LayerVertex,
    LiteralVertex,
    Network,
    ParameterVertex,
    Source,
    Vertex,
)
from webnnm.notation.syntax import (
    AnyStatement,
    Call,
    Document,
    Items,
    Layer,
    Layers,
    ModelFile,
    Number,
    Option,
    Parameters,
    Reference,
    Value,
)

BLOCK = "lora"
"""The block that adds a low-rank product to a matrix product."""

PROJECTIONS = ("q", "k", "v", "o")


class Adapter(NamedTuple):
    """The names of the parameters of x·weight + scale·(x·a)·b, and its constants."""

    weight: str
    a: str
    b: str
    scale: float
    dropout: float


@dataclass(frozen=True, slots=True)
class _Weight:
    """A matrix that can have an adapter: its name, its layer, and the slot that it fills there."""

    name: str
    layer: LayerVertex
    slot: str

    @property
    def place(self) -> tuple[Span, str]:
        """Where it is in the text; repeated layers are one place."""
        return self.layer.span, self.slot


def add_adapters(
    network: Network,
    targets: str | Iterable[str] = "attend",
    *,
    rank: int = 8,
    alpha: float = 16,
    dropout: float = 0.0,
) -> Document:
    """Return the text of a model with adapters for some of its matrices, and all else frozen.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> from webnnm.notation.formatter import format_document
    >>> network = elaborate(parse("m:input shape=[4]; m:output shape=[3]; m:layers matmul(w);"))
    >>> print(format_document(add_adapters(network, "w*", rank=2, alpha=4)), end="")
    m:input shape=[4];
    m:output shape=[3];
    m:layers
      lora(weight=w, a=w_lora_a, b=w_lora_b, size=3, trainable=false);
    lora:layers
      matmul(weight, shape=[size], name=frozen),
      matmul(a, node=input, shape=[2], init=he, trainable=true),
      mul(2),
      matmul(b, shape=[size], init=zeros, trainable=true),
      add(frozen);

    `targets` are "attend", the projections of all `attend` layers, or patterns of names such as
    "up*". What the model computes stays the same, since the second factors start with zeros.

    Raises `DataError` NNM710 for patterns that match no matrix, and NNM704 for invalid numbers,
    for texts that have adapters or compute in float16, and if only some of several repetitions are
    selected.
    """
    _check_numbers(rank, alpha, dropout)
    document = network.outline.document
    if BLOCK in network.outline.blocks:
        raise DataError(
            "NNM704",
            f'the model has a block "{BLOCK}"',
            hint="call merge_lora() or remove_lora() before another add_lora()",
        )
    if any(layer.dtype == "float16" for layer in network.layers):
        raise DataError(
            "NNM704",
            "the model computes in float16, and adapters are trained in float32",
            hint='from_pretrained(…, dtype="float32") computes in float32',
        )
    selected = _select_weights(network, [targets] if isinstance(targets, str) else [*targets])
    rewriting = _Rewriting(network, selected)
    statements = [rewriting.statement(statement) for statement in document.statements]
    blocks = [
        Layers(block=name, layers=_block(lead, rank, alpha / rank, dropout))
        for lead, name in rewriting.blocks.items()
    ]
    return reparse(replace(document, statements=(*statements, *blocks)))


def adapters(network: Network) -> list[Adapter]:
    """Return the adapters in a text, in order."""
    result: list[Adapter] = []
    names: list[str] = []
    scale, dropout = 1.0, 0.0
    for layer in network.layers:
        if len(layer.chain) < 2 or not _is_block(layer.chain[-1]):
            continue
        second = layer.operands[1].vertex if len(layer.operands) > 1 else None
        match layer.operator.name, second:
            case "matmul", ParameterVertex():
                names.append(second.name)
            case "mul", LiteralVertex():
                scale = float(second.data)
            case "dropout", _:
                dropout = float(layer.options["p"])
            case "add", _ if len(names) == 3:
                result.append(Adapter(names[0], names[1], names[2], scale, dropout))
                names = []
                scale, dropout = 1.0, 0.0
            case _:
                pass
    return result


def _is_block(name: str) -> bool:
    return name == BLOCK or (name.startswith(BLOCK) and name[len(BLOCK) :].isdigit())


def _check_numbers(rank: int, alpha: float, dropout: float) -> None:
    if not is_integer(rank) or rank < 1:
        raise DataError("NNM704", f"rank is {rank!r}", hint="an integer from 1, such as 8")
    if not 0 < alpha < float("inf"):
        raise DataError("NNM704", f"alpha is {alpha!r}", hint="a number above 0, such as 2 · rank")
    if not 0 <= dropout < 1:
        raise DataError("NNM704", f"dropout is {dropout!r}", hint="a share from 0 to below 1")


# Which matrices.


def _select_weights(
    network: Network, targets: Sequence[str]
) -> dict[tuple[Span, str], list[_Weight]]:
    """Return the matrices that will have adapters, by their places in the text."""
    candidates = list(_weights(network))
    attending = _attending(network)
    names: set[str] = set()
    for target in targets:
        if target == "attend":
            fitting = {weight.name for weight in candidates if id(weight.layer) in attending}
        else:
            fitting = {weight.name for weight in candidates if fnmatchcase(weight.name, target)}
        if not fitting:
            names_of_weights = list(dict.fromkeys(weight.name for weight in candidates))
            what = "no attend layer has projections" if target == "attend" else ""
            raise DataError(
                "NNM710",
                what or f'no matrix of a matmul or attend layer is called "{target}"',
                hint=suggestion(target, names_of_weights)
                or f"available: {', '.join(names_of_weights[:8])}",
            )
        names |= fitting
    weights_by_position: dict[tuple[Span, str], list[_Weight]] = {}
    for weight in candidates:
        weights_by_position.setdefault(weight.place, []).append(weight)
    for position, weights in list(weights_by_position.items()):
        unselected = [weight.name for weight in weights if weight.name not in names]
        if len(unselected) == len(weights):
            del weights_by_position[position]
        elif unselected:
            raise DataError(
                "NNM704",
                f'the text has "{weights[0].name}" and "{unselected[0]}" in the same place',
                hint=f'targets="{weights[0].name.rstrip("0123456789")}*" selects all of them',
            )
    return weights_by_position


def _weights(network: Network) -> Iterator[_Weight]:
    """Yield the matrices of matmul layers and of the projections of attend layers."""
    for layer in network.layers:
        slots: Mapping[str, Source] = {}
        if layer.operator.name == "attend":
            slots = dict(zip(PROJECTIONS, layer.operands[1:], strict=False))
            slots |= {"o": layer.tensors["o"]} if "o" in layer.tensors else {}
        elif layer.operator.name == "matmul":
            transposed = layer.options.get("a_transpose") or layer.options.get("b_transpose")
            slots = {} if transposed else dict(zip(("b",), layer.operands[1:], strict=False))
        for slot, source in slots.items():
            weight = source.vertex
            if isinstance(weight, ParameterVertex) and len(weight.features[0].sizes()) == 2:
                yield _Weight(weight.name, layer, slot)


def _attending(network: Network) -> set[int]:
    """Return the layers whose matrices project for attention, or are attend layers."""
    ids: set[int] = set()
    for layer in network.layers:
        if layer.operator.name == "attend":
            ids.add(id(layer))
            for source in layer.operands[1:4]:
                vertex: Vertex | None = source.vertex
                while isinstance(vertex, LayerVertex) and vertex.operator.name != "matmul":
                    vertex = vertex.operands[0].vertex if vertex.operands else None
                ids.add(id(vertex))
        elif layer.operator.name == "matmul" and layer.operands:
            before = layer.operands[0].vertex
            if isinstance(before, LayerVertex) and before.operator.name == "attend":
                ids.add(id(layer))
    return ids


# The text.


class _Rewriting:
    """Rewrites layers; `blocks` are those that it calls, by the sizes before the last one."""

    def __init__(
        self, network: Network, chosen: Mapping[tuple[Span, str], Sequence[_Weight]]
    ) -> None:
        self.blocks: dict[tuple[int, ...], str] = {}
        self._network, self._chosen = network, chosen
        self._roots = {block.name for block in network.outline.roots}
        self._vertices: dict[Span, list[LayerVertex]] = {}
        for layer in network.layers:
            self._vertices.setdefault(layer.span, []).append(layer)
        document = network.outline.document
        layers = [s for s in document.statements if isinstance(s, Layers)]
        # Words with a meaning everywhere: options of blocks, and global names.
        self._used_names = {o.name for s in layers for layer in s.layers for o in layer.options}
        self._used_names |= {*network.outline.blocks, *network.outline.constants}
        self._used_names |= {*network.outline.parameters}
        self._used_names |= {w for s in layers if s.block in self._roots for w in _words(s.layers)}

    def statement(self, statement: AnyStatement) -> AnyStatement:
        """Return a statement with adapters, and with everything in it frozen."""
        if isinstance(statement, Parameters):
            declared = tuple(
                replace(parameter, options=_freeze(parameter.options))
                for parameter in statement.parameters
            )
            return replace(statement, parameters=declared)
        if isinstance(statement, ModelFile):
            return replace(statement, options=_freeze(statement.options))
        if not isinstance(statement, Layers):
            return statement
        rows: list[Layer] = []
        names = self._used_names | set(_words(statement.layers))
        for layer in statement.layers:
            rows += self._rewrite(layer, rows, names)
        root = statement.block in self._roots
        return replace(statement, layers=tuple(self._freeze_layer(row, root) for row in rows))

    def _freeze_layer(self, layer: Layer, root: bool) -> Layer:
        """Return a layer without its own `trainable`; those of root blocks freeze everything."""
        options = tuple(o for o in layer.options if o.name != "trainable")
        vertices = self._vertices.get(layer.span, ())
        # New layers multiply, add a bias, or attend to projected values.
        new = not vertices and layer.operator != "attend"
        learns = new or any(vertex.parameters for vertex in vertices)
        return replace(layer, options=_freeze(options) if root and learns else options)

    def _rewrite(self, layer: Layer, before: list[Layer], names: set[str]) -> list[Layer]:
        vertices = self._vertices.get(layer.span, ())
        slots = [slot for slot in ("b", *PROJECTIONS) if (layer.span, slot) in self._chosen]
        if not vertices or not slots:
            return [layer]
        if slots == ["b"]:
            dropped = ("shape", "init", "lrm")
            options = [o for o in layer.options if o.name not in dropped]
            return [self._call_adapter(layer.operands[0], _sizes_of(vertices, layer), options)]
        return self._split_projections(layer, vertices, slots, before, names)

    def _call_adapter(
        self, weight: Value, sizes: tuple[int, ...], options: Iterable[Option] = ()
    ) -> Layer:
        """Return the call that multiplies by a matrix with its adapter."""
        name = str(weight)
        block = self._block_of(sizes[:-1])
        factors = [Option(k, Reference((f"{name}_{BLOCK}_{k}",))) for k in ("a", "b")]
        size = Option("size", Number(sizes[-1]))
        return Layer(block, (), (Option("weight", weight), *factors, size, *options))

    def _block_of(self, lead: tuple[int, ...]) -> str:
        number = len(self.blocks) + 1
        return self.blocks.setdefault(lead, BLOCK if number == 1 else f"{BLOCK}{number}")

    def _split_projections(
        self,
        layer: Layer,
        vertices: Sequence[LayerVertex],
        slots: Collection[str],
        before: list[Layer],
        names: set[str],
    ) -> list[Layer]:
        """Return the projections of an attend layer one by one, with their adapters."""
        vertex = vertices[0]
        biased = bool(vertex.options["bias"])
        self._check_parts(layer, vertex, before)
        input_name = self._input_name(layer, before, names)
        to = layer.option("to")
        rows: list[Layer] = []
        operands: list[Value] = []
        for slot, weight in zip("qkv", layer.operands[:3], strict=True):
            if slot not in vertex.parameters:
                operands.append(weight)
                continue
            node = to.value if to is not None and slot != "q" else input_name
            name = Reference((_fresh(slot, names),))
            options_of_projection = [Option("node", node), Option("name", name)]
            rows += self._project(vertices, slots, slot, weight, options_of_projection, biased)
            operands.append(name)
        removed = ("o", "bias", "node", "init", "lrm")
        out = next((o.value for o in layer.options if o.name == "o"), None)
        out = layer.operands[3] if len(layer.operands) > 3 else out
        out = out if "o" in vertex.tensors else None  # o=o is an unfilled placeholder
        last = [o for o in layer.options if out and o.name in ("name", "shape")]
        kept = [o for o in layer.options if o.name not in removed and o not in last]
        attend = Layer("attend", tuple(operands), (Option("node", operands[0]), *kept))
        rows.append(attend)
        if out is not None:
            name = [o for o in last if o.name == "name"]
            rows += self._project(vertices, slots, "o", out, name, biased)
        return rows

    def _check_parts(self, layer: Layer, vertex: LayerVertex, before: Iterable[Layer]) -> None:
        """Refuse an attend layer that cannot be written as its separate parts (NNM704)."""
        biased, reasons = bool(vertex.options["bias"]), list[str]()
        if biased and layer.option("bias") is None:
            reasons.append("bias=true comes from the call of its block")
        if biased and vertex.features[0].sizes()[:-1]:
            reasons.append("it has biases, and its tokens are not a sequence")
        if layer.option("repeat") or layer.option("shapes"):
            reasons.append("it is itself repeated")
        if any(option.name == "skip" for earlier in before for option in earlier.options):
            reasons.append("residual(skip=…) counts the layers of its block")
        if reasons:
            raise DataError(
                "NNM704",
                f'projections of "{vertex.label}" cannot have adapters: {", ".join(reasons)}',
                hint="write them as matmul layers, or choose other targets",
            )

    def _project(
        self,
        vertices: Sequence[LayerVertex],
        slots: Collection[str],
        slot: str,
        weight: Value,
        options: list[Option],
        biased: bool,
    ) -> list[Layer]:
        """Return a projection as a product, with its bias, named at its end."""
        source = vertices[0].tensors["o"] if slot == "o" else _operand(vertices[0], slot)
        lead = vertices[0].features[0].sizes()[:-1]
        sizes = (*lead, source.features.sizes()[-1])
        ending = [o for o in options if o.name == "name"] if biased else []
        first = [o for o in options if o not in ending]
        if slot in slots:
            product = self._call_adapter(weight, sizes, first)
        else:
            shape = Option("shape", Items(tuple(map(Number, sizes))))
            node = [o for o in first if o.name == "node"]
            rest = [o for o in first if o.name != "node"]
            product = Layer("matmul", (weight,), (*node, shape, *rest))
        bias = Layer("add", (Reference((f"{weight}_b",)),), tuple(ending))
        return [product, bias] if biased else [product]

    def _input_name(self, layer: Layer, before: list[Layer], names: set[str]) -> Value:
        """Return the name of what flows into a layer, after naming the previous layer if needed."""
        node = layer.option("node")
        if node is not None:
            return node.value
        if not before:
            return Reference(("input",))
        named = before[-1].option("name")
        if named is None:
            named = Option("name", Reference((_fresh("projected", names),)))
            before[-1] = replace(before[-1], options=(*before[-1].options, named))
        return named.value


def _operand(vertex: LayerVertex, slot: str) -> Source:
    return vertex.operands[1 + PROJECTIONS.index(slot)]


def _sizes_of(vertices: Sequence[LayerVertex], layer: Layer) -> tuple[int, ...]:
    """Return the sizes of the result of a layer, which are those of all its repetitions."""
    sizes = {vertex.features[0].sizes() for vertex in vertices}
    if len(sizes) > 1 or layer.option("shapes"):
        raise DataError(
            "NNM704",
            f'"{vertices[0].label}" has results of several sizes',
            hint="an adapter is written for one size: give each size a block of its own",
        )
    return next(iter(sizes))


def _block(lead: Sequence[int], rank: int, scale: float, dropout: float) -> tuple[Layer, ...]:
    """Return the layers of the block: x·weight + scale·(x·a)·b."""

    def word(name: str, value: str) -> Option:
        return Option(name, Reference((value,)))

    def shape(size: Value) -> Option:
        return Option("shape", Items((*map(Number, lead), size)))

    size, node, learns = Reference(("size",)), word("node", "input"), word("trainable", "true")
    dropped = [Layer("dropout", (_number(dropout),), (node,))] if dropout else []
    first = (shape(Number(rank)), word("init", "he"), learns)
    return (
        Layer("matmul", (Reference(("weight",)),), (shape(size), word("name", "frozen"))),
        *dropped,
        Layer("matmul", (Reference(("a",)),), first if dropout else (node, *first)),
        *([Layer("mul", (_number(scale),))] if scale != 1 else []),
        Layer("matmul", (Reference(("b",)),), (shape(size), word("init", "zeros"), learns)),
        Layer("add", (Reference(("frozen",)),)),
    )


def _number(value: float) -> Number:
    return Number(int(value) if float(value).is_integer() else value)


def _freeze(options: Iterable[Option]) -> tuple[Option, ...]:
    others = (option for option in options if option.name != "trainable")
    return (*others, Option("trainable", Reference(("false",))))


def _fresh(base: str, names: set[str]) -> str:
    """Return a name that is not in use yet, and reserve it."""
    name = next(w for n in count(1) if (w := base if n == 1 else f"{base}{n}") not in names)
    names.add(name)
    return name


def _words(values: object) -> Iterator[str]:
    """Yield all words in layers."""
    if isinstance(values, tuple):
        for value in cast("tuple[object, ...]", values):
            yield from _words(value)
    elif isinstance(values, Layer):
        yield from (values.operator, *_words(values.operands), *_words(values.options))
    elif isinstance(values, Option):
        yield from _words(values.value)
    elif isinstance(values, Reference):
        yield values.parts[0]
    elif isinstance(values, Items):
        yield from _words(values.items)
    elif isinstance(values, Call):
        yield from _words(values.arguments)
