"""What a language model makes of a text: its tokens, where each of them looks, what comes next."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from webnnm.backends.base import DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, OperatorNode
from webnnm.transformers.graphs import round_up
from webnnm.transformers.pretrained_model import PretrainedModel
from webnnm.transformers.single_text import lower_for_text, pad_text
from webnnm.transformers.training_texts import check_network

ATTENTION = "attend"
"""The operator whose weights are returned."""
LAST, SCORES, WEIGHTS = "last", "scores", "weights/"
"""The number of the last token, an input; the scores of the next one, and weights by layer."""
NEXT = 10


class NextToken(NamedTuple):
    """A token that may follow: its number, its text, and how probable it is."""

    token: int
    text: str
    probability: float


@dataclass(frozen=True)
class TextInspection:
    """What a language model makes of a text.

    Attributes: `tokens`, the numbers; `texts`, the part of the text that each stands for;
    `attention`, label of a layer → weights `[heads, tokens, tokens]`: how much each token (row)
    takes from each token before it and from itself (columns).
    """

    tokens: list[int]
    texts: list[str]
    attention: dict[str, HostArray]
    scores: list[float] = field(repr=False)
    model: PretrainedModel = field(repr=False)

    def probabilities(self, temperature: float = 1.0) -> list[float]:
        """Return how probable each token of the vocabulary is as the next one.

        `temperature` divides the scores before the softmax, as in generation: below 1 the probable
        become more probable, above 1 less.

        Raises `DataError` NNM704 for a temperature that is not above 0.
        """
        if not 0 < temperature < math.inf:
            hint = "a number above 0; at 1 the probabilities are those of the model"
            raise DataError("NNM704", f"temperature is {temperature!r}", hint=hint)
        highest = max(self.scores)
        weights = [math.exp((score - highest) / temperature) for score in self.scores]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def next_tokens(self, count: int = NEXT, *, temperature: float = 1.0) -> list[NextToken]:
        """Return the most probable next tokens, the most probable first.

        Raises `DataError` NNM704 for a count below 1, and what `probabilities` raises.
        """
        if not is_integer(count) or count < 1:
            raise DataError("NNM704", f"count is {count!r}", hint="an integer from 1")
        shares = self.probabilities(temperature)
        best = heapq.nlargest(count, range(len(shares)), key=shares.__getitem__)
        decode = self.model.tokenizer.decode
        return [NextToken(token, decode([token]), shares[token]) for token in best]


class TextInspector:
    """Shows what a language model makes of texts; it keeps its graphs until it is closed.

    >>> async def show(model):
    ...     async with TextInspector(model) as inspector:
    ...         seen = await inspector.inspect("The capital of France is")
    ...     print(seen.texts, seen.next_tokens(3))
    ...     for label, weights in seen.attention.items():
    ...         print(label, weights.shape)

    `model` is what `from_pretrained` opened, of a kind that continues texts. Raises `DataError`
    NNM717 for another.
    """

    def __init__(self, model: PretrainedModel) -> None:
        check_network(model.state.network)
        self.model = model
        self._graphs: dict[int, Executable] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the graphs."""
        self.model.backend.release(*self._graphs.values())
        self._graphs.clear()

    async def inspect(self, text: str | Sequence[int]) -> TextInspection:
        """Return what the model makes of a text, or of its tokens.

        The graph is for a power of two of tokens, and is compiled with the first text of that
        length; attention weights take layers · heads · length² numbers.

        Raises `DataError` NNM711 for a text without tokens, or of more than the model has positions
        for.
        """
        model = self.model
        tokens = model.tokenizer.encode(text) if isinstance(text, str) else [*text]
        if not tokens or len(tokens) > (model.max_length or len(tokens)):
            message = f"a text of {len(tokens)} tokens"
            hint = f"the model reads 1 to {model.max_length or 'any number of'} tokens"
            raise DataError("NNM711", message, hint=hint)
        length = min(round_up(len(tokens)), model.max_length or round_up(len(tokens)))
        if length not in self._graphs:
            graph = inspection_graph(model.state.network, length)
            self._graphs[length] = await model.backend.compile(graph)
        results = await self._run(self._graphs[length], tokens, length)
        count = len(tokens)
        return TextInspection(
            tokens,
            [model.tokenizer.decode([token]) for token in tokens],
            {
                name.removeprefix(WEIGHTS): _crop(array, count)
                for name, array in results.items()
                if name != SCORES
            },
            list(results[SCORES].values()),
            model,
        )

    async def _run(
        self, executable: Executable, tokens: Sequence[int], length: int
    ) -> dict[str, HostArray]:
        """Return the outputs for some tokens, which zeros follow."""
        backend = self.model.backend
        parameters = {
            PARAMETER_PREFIX + name: tensor
            for name, tensor in self.model.state.parameters.readable().items()
        }
        values = {**pad_text(tokens, length), LAST: [len(tokens) - 1]}
        tensors: dict[str, DeviceTensor] = {}
        try:
            for name, type in executable.inputs.items():
                if name not in parameters:
                    tensors[name] = await backend.tensor(type, HostArray.of(values[name], *type))
            outputs = await backend.tensors(executable.outputs)
            tensors |= outputs
            inputs = {name: (parameters | tensors)[name] for name in executable.inputs}
            backend.dispatch(executable, inputs, outputs)
            arrays = await backend.read(*outputs.values())
        finally:
            backend.release(*tensors.values())
        return dict(zip(outputs, arrays, strict=True))


def inspection_graph(network: Network, length: int) -> Graph:
    """Return the graph of the scores of the next token, and of the attention of every layer.

    The weights are the results of the softmax in each `attend`, `[1, heads, length, length]`.
    """
    b = GraphBuilder()
    lowered = lower_for_text(network, length, b)
    (scores,) = lowered.outputs.values()
    last: Any = b.input(LAST, "int32", [1])
    scores = b.cast(b.reshape(b.gather(scores, last, axis=1), new_shape=(-1,)), type="float32")
    layers = {layer.label for layer in network.layers if layer.operator.name == ATTENTION}
    weights = {
        WEIGHTS + node.label: b.results[node.number][0]
        for node in b.nodes
        if isinstance(node, OperatorNode)
        and node.operator.name == "softmax"
        and node.label in layers
    }
    return b.build({SCORES: scores, **weights})


def _crop(weights: HostArray, count: int) -> HostArray:
    """Return the weights of the first tokens, `[heads, count, count]`."""
    _, heads, length, width = weights.shape
    values = memoryview(weights.data).cast("B").cast("f")
    rows = [
        values[(head * length + row) * width : (head * length + row) * width + count]
        for head in range(heads)
        for row in range(count)
    ]
    return HostArray("float32", (heads, count, count), b"".join(bytes(row) for row in rows))
