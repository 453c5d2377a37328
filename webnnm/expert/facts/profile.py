"""A network in numbers, for the rules (spec F.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from webnnm.core.shapes import count
from webnnm.graph.elaboration.annotate import depths
from webnnm.graph.elaboration.vertices import LayerVertex, Network

HIGH_CAPACITY = {"depth": 15, "width": 512, "heavy_ops": 8, "parameters_per_sample": 10}
"""The limits from which on a network has high capacity (spec F.1)."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The numbers of F.1; `chain` are the layers of the longest saturating chain."""

    depth: int
    width: int
    heavy_ops: int
    heavy_float16: int
    heavy_float32: int
    activations: Mapping[str, int]
    dropout_count: int
    norm_count: int
    residual_count: int
    recurrent: bool
    attention_count: int
    chain: tuple[str, ...]
    param_count: int
    trainable_count: int
    input_features: int
    risky_float16: tuple[str, ...]
    outputs: Sequence[Mapping[str, Any]] = ()
    training_samples: int | None = None
    device: str = ""

    @property
    def dropout_density(self) -> float:
        """Dropout layers per heavy operator."""
        return self.dropout_count / max(1, self.heavy_ops)

    @property
    def longest_saturating_chain(self) -> int:
        """The largest number of consecutive layers such as sigmoid and tanh."""
        return len(self.chain)

    @property
    def is_linear(self) -> bool:
        """Whether there is a single product with parameters, as in logistic regression."""
        return self.heavy_ops == 1

    @property
    def samples_per_class(self) -> float | None:
        """Training rows per class of the output with the most classes, None without classes."""
        classes = max((output["classes"] for output in self.outputs), default=0)
        has_rows = classes and self.training_samples is not None
        return (self.training_samples or 0) / classes if has_rows else None

    @property
    def mostly_float16(self) -> bool:
        """Whether more heavy operators compute in float16 than in float32."""
        return self.heavy_float16 > self.heavy_float32

    @property
    def high_capacity(self) -> bool:
        """Whether the network could memorise its training rows."""
        rows = self.training_samples
        return (
            (rows is not None and self.param_count > HIGH_CAPACITY["parameters_per_sample"] * rows)
            or self.heavy_ops >= HIGH_CAPACITY["heavy_ops"]
            or self.depth > HIGH_CAPACITY["depth"]
            or self.width >= HIGH_CAPACITY["width"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values for JSON."""
        derived = "dropout_density longest_saturating_chain samples_per_class high_capacity"
        names = [field.name for field in fields(self)] + derived.split()
        return {
            name: list(value) if isinstance(value := getattr(self, name), tuple) else value
            for name in names
            if name != "chain"
        }


def profile(
    network: Network,
    *,
    outputs: Sequence[Mapping[str, Any]] = (),
    training_samples: int | None = None,
    device: str = "",
) -> Profile:
    """Return the profile of a network; facts that are not in the network are passed on as given.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> found = profile(elaborate(parse(text)), training_samples=100)
    >>> found.depth, found.width, found.heavy_ops, found.param_count, found.high_capacity
    (4, 3, 1, 15, False)
    """
    layers = network.layers
    words = Counter(layer.operator.name for layer in layers)
    heavy = Counter[str]()
    for layer in layers:
        heavy[layer.dtype] += heavy_in(layer)
    sizes = [(count(p.features[0].sizes()), p.trainable) for p in network.parameters]

    return Profile(
        depth=max((d.from_input + d.to_output for d in depths(network).values()), default=0),
        width=max((_width(layer) for layer in layers if heavy_in(layer)), default=0),
        heavy_ops=heavy.total(),
        heavy_float16=heavy["float16"],
        heavy_float32=heavy["float32"],
        activations=Counter(v.operator.name for v in layers if v.has("activation")),
        dropout_count=words["dropout"],
        norm_count=sum(layer.has("normalization") for layer in layers),
        residual_count=words["residual"] + sum(map(joins, layers)),
        recurrent=any(layer.has("recurrent") for layer in layers),
        attention_count=words["attend"],
        chain=_saturating_chain(network),
        param_count=sum(size for size, _ in sizes),
        trainable_count=sum(size for size, trainable in sizes if trainable),
        input_features=max((count(v.features[0].sizes()) for v in network.inputs), default=0),
        risky_float16=tuple(
            layer.label for layer in layers if layer.dtype == "float16" and layer.operator.hazards
        ),
        outputs=outputs,
        training_samples=training_samples,
        device=device,
    )


def joins(layer: LayerVertex) -> bool:
    """Return whether a layer adds two values: an explicit shortcut, as in highways."""
    values = [source for source in layer.operands if isinstance(source.vertex, LayerVertex)]
    return layer.has("additive") and layer.has("arithmetic") and len(values) > 1


def heavy_in(layer: LayerVertex) -> int:
    """Return how many heavy operators are in a layer: products, recurrences, projections."""
    name = layer.operator.name
    if name == "attend":
        return len(layer.parameters & {"q", "k", "v"}) + ("o" in layer.tensors)
    if name == "residual":
        return int("projection" in layer.tensors)
    return int(layer.has("product", "recurrent"))


def _width(layer: LayerVertex) -> int:
    """Return the channels of a convolution's result, the last size of any other."""
    features = layer.features[0]
    if layer.has("convolution"):
        if "channels" in features.names:
            return features.sizes()[features.names.index("channels")]
        return features.sizes()[-1 if layer.options.get("input_layout") == "nhwc" else 0]
    return (features.sizes() or (1,))[-1]


def _saturating_chain(network: Network) -> tuple[str, ...]:
    """Return the longest run of saturating layers, such as sigmoid and tanh, along one path.

    Residuals, normalisations and other activations end a run: gradients recover there.
    """
    runs: dict[int, tuple[str, ...]] = {}
    longest: tuple[str, ...] = ()
    for layer in network.order:
        run = tuple[str, ...]()
        saturating = layer.has("saturating")
        ends = layer.has("activation", "normalization", "recurrent")
        if saturating or not (ends or layer.operator.name == "residual"):
            before = (runs.get(id(source.vertex), ()) for source in layer.operands)
            # Where values are added, gradients take the shortest path back.
            run = (min if joins(layer) else max)(before, key=len, default=())
            if saturating:
                run = (*run, layer.label)
        runs[id(layer)] = run
        longest = max(longest, run, key=len)
    return longest
