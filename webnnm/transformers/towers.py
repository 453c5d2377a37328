"""Models of several towers, such as CLIP: each runs separately, and their outputs are compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.part import part, vertices_before
from webnnm.graph.elaboration.vertices import InputVertex, Network, Output
from webnnm.graph.node import Operand

WEIGHTS, PICTURES = "zeroshot_weights", "image_embeds"
"""Outputs whose product measures how well texts and pictures match."""
BIASES = "zeroshot_biases"
"""An output that is added to the product, a number for each text, if a model has it."""
QUERIES, PRESENT, PATCHES = "query_embeds", "query_present", "class_embeds"
"""Vectors of texts, whether each is one, and the vectors of patches of pictures."""
SHIFTS, SCALES = "logit_shifts", "logit_scales"
"""Numbers for each patch that are added to products of these vectors, and multiplied with them."""
LOWEST = -3.4028234663852886e38
"""The logit of texts that are none: the lowest number of float32."""
FEATURES = frozenset(
    {"text_features", "image_features", WEIGHTS, BIASES, QUERIES, PRESENT, SHIFTS, SCALES}
)
"""Outputs from which other outputs are computed."""

Operands = Mapping[str, Operand]


def towers(network: Network) -> list[Network]:
    """Return the parts of a network that share no input, in the order of its outputs."""
    groups: list[tuple[set[int], list[Output]]] = []
    for output in network.outputs:
        needed = vertices_before([output])
        needs = {id(vertex) for vertex in needed if isinstance(vertex, InputVertex)}
        apart = [group for group in groups if not group[0] & needs]
        joined = [group for group in groups if group[0] & needs]
        outputs = [member for group in joined for member in group[1]]
        groups = [*apart, (needs.union(*(group[0] for group in joined)), [*outputs, output])]
    return [part(network, outputs) for _, outputs in groups]


def _compare_pictures(b: GraphBuilder, inputs: Operands) -> dict[str, Operand]:
    """Return `logits_per_image [pictures, texts]` and `logits_per_text`, its transpose."""
    weights = b.transpose(inputs[WEIGHTS], permutation=(1, 0))
    scores = b.matmul(inputs[PICTURES], weights)
    if BIASES in inputs:
        scores = b.add(scores, b.transpose(inputs[BIASES], permutation=(1, 0)))
    other = b.transpose(scores, permutation=(1, 0))
    return {"logits_per_image": scores, "logits_per_text": other}


def _compare_patches(b: GraphBuilder, inputs: Operands) -> dict[str, Operand]:
    """Return `logits [pictures, patches, queries]`: texts are divided among pictures in order."""
    pictures, _, size = inputs[PATCHES].shape
    texts = inputs[QUERIES].shape[0]
    queries, rest = divmod(texts, pictures)
    if rest:
        message = f"{texts} texts cannot be divided among {pictures} pictures"
        raise DataError("NNM702", message, hint="give as many texts for each picture, in its order")
    vectors = b.reshape(inputs[QUERIES], new_shape=(pictures, queries, size))
    scores = b.matmul(inputs[PATCHES], b.transpose(vectors, permutation=(0, 2, 1)))
    scores = b.mul(b.add(scores, inputs[SHIFTS]), inputs[SCALES])
    present = b.greater(b.reshape(inputs[PRESENT], new_shape=(pictures, 1, queries)), 0)
    return {"logits": b.where(present, scores, LOWEST)}


class _Kind(NamedTuple):
    """A comparison: the outputs that it needs, those it may use, and its graph."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    build: Callable[[GraphBuilder, Operands], dict[str, Operand]]


KINDS = (
    _Kind((WEIGHTS, PICTURES), (BIASES,), _compare_pictures),
    _Kind((QUERIES, PRESENT, PATCHES, SHIFTS, SCALES), (), _compare_patches),
)


def find_comparison(names: Collection[str]) -> _Kind | None:
    """Return how outputs of these names are compared, None if they are not."""
    return next((kind for kind in KINDS if {*kind.needed} <= {*names}), None)


class Comparison:
    """Compares each text with each picture, or with each of its patches, on a device."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: tuple[tuple[Shape, ...], Executable] | None = None

    async def of(self, outputs: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Return the logits of outputs, none if these are not compared."""
        kind = find_comparison(outputs.keys())
        if kind is None:
            return {}
        names = (*kind.needed, *kind.optional)
        features = {name: outputs[name] for name in names if name in outputs}
        shapes = tuple(array.shape for array in features.values())
        if self._kept is None or self._kept[0] != shapes:
            self.close()
            b = GraphBuilder()
            inputs = {name: b.input(name, "float32", a.shape) for name, a in features.items()}
            graph = b.build(kind.build(b, inputs))
            self._kept = shapes, await self._backend.compile(graph)
        return await self._kept[1].run_host(features)

    def close(self) -> None:
        """Free its memory on the device."""
        if self._kept is not None:
            self._backend.release(self._kept[1])
            self._kept = None
