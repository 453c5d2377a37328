"""Models of several towers, such as CLIP: each runs separately, and their outputs are compared."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.part import part, vertices_before
from webnnm.graph.elaboration.vertices import InputVertex, Network, Output

WEIGHTS, PICTURES = "zeroshot_weights", "image_embeds"
"""Outputs whose product measures how well texts and pictures match."""
BIASES = "zeroshot_biases"
"""An output that is added to the product, a number for each text, if a model has it."""
FEATURES = frozenset({"text_features", "image_features", WEIGHTS, BIASES})
"""Outputs from which other outputs are computed."""


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


class Comparison:
    """Compares each text with each picture, on a device."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._kept: tuple[tuple[Shape, Shape], Executable] | None = None

    async def of(self, outputs: Mapping[str, HostArray]) -> dict[str, HostArray]:
        """Return `logits_per_image [pictures, texts]` and `logits_per_text`, its transpose."""
        names = (WEIGHTS, PICTURES, BIASES)
        features = {name: outputs[name] for name in names if name in outputs}
        shapes = features[WEIGHTS].shape, features[PICTURES].shape
        if self._kept is None or self._kept[0] != shapes:
            self.close()
            b = GraphBuilder()
            inputs = {name: b.input(name, "float32", a.shape) for name, a in features.items()}
            weights = b.transpose(inputs[WEIGHTS], permutation=(1, 0))
            scores = b.matmul(inputs[PICTURES], weights)
            if BIASES in inputs:
                scores = b.add(scores, b.transpose(inputs[BIASES], permutation=(1, 0)))
            other = b.transpose(scores, permutation=(1, 0))
            graph = b.build({"logits_per_image": scores, "logits_per_text": other})
            self._kept = shapes, await self._backend.compile(graph)
        return await self._kept[1].run_host(features)

    def close(self) -> None:
        """Free its memory on the device."""
        if self._kept is not None:
            self._backend.release(self._kept[1])
            self._kept = None
