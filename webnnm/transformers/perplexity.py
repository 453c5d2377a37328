"""How well a language model predicts a text, token by token, and its perplexity.

Source: https://huggingface.co/docs/transformers/perplexity, with its windows and strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webnnm.backends.base import DeviceTensor
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph
from webnnm.runtime.state import ModelState
from webnnm.transformers.single_text import lower_for_text, pad_text
from webnnm.transformers.training_texts import check_network

LENGTH = 512
"""The default length of a window in tokens."""
TARGETS, LOSSES = "perplexity/targets", "perplexity/losses"


class Window(NamedTuple):
    """Tokens from `start` up to but excluding `end`, of which those from `first` on count."""

    start: int
    end: int
    first: int


def windows(count: int, length: int, stride: int) -> Iterator[Window]:
    """Yield the windows of a number of tokens; each token but the first counts once.

    >>> [tuple(window) for window in windows(10, 6, 3)]
    [(0, 6, 1), (3, 9, 6), (6, 10, 9)]
    """
    end = 1
    for start in range(0, count, stride):
        first, end = end, min(start + length, count)
        yield Window(start, end, first)
        if end == count:
            return


async def log_probabilities(
    state: ModelState,
    tokens: Sequence[int],
    length: int | None = None,
    stride: int | None = None,
    max_length: int | None = None,
) -> list[float]:
    """Return log p of each token after the first, given those before it in its window.

    `max_length` is the number of positions of the model. Raises the same errors as
    `PretrainedModel.perplexity`.
    """
    check_network(state.network)
    default_length = min(LENGTH, max_length or LENGTH)
    length = default_length if length is None else length
    _check("length", length, 2, max_length)
    stride = max(1, length // 2) if stride is None else stride
    _check("stride", stride, 1, length - 1)
    if len(tokens) < 2:
        message = f"a text of {len(tokens)} tokens"
        raise DataError(
            "NNM711", message, hint="the tokens after the first are predicted; give two or more"
        )
    parameters = state.parameters.readable()
    length = min(length, len(tokens))
    backend, logs = state.backend, list[float]()
    executable = await backend.compile(_graph(state.network, length))
    parameters_bound = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
    types = {**executable.inputs, **executable.outputs}
    tensors: dict[str, DeviceTensor] = {}
    try:
        tensors = await backend.tensors(
            {n: type for n, type in types.items() if n not in parameters_bound}
        )
        states = {name: tensor for name, tensor in tensors.items() if name != LOSSES}
        for window in windows(len(tokens), length, stride):
            for name, values in _inputs(tokens, window, length).items():
                if name in states:
                    type = states[name].type
                    backend.write(states[name], HostArray.of(values, *type))
            backend.dispatch(executable, parameters_bound | states, {LOSSES: tensors[LOSSES]})
            (losses,) = await backend.read(tensors[LOSSES])
            first = window.first - window.start - 1
            logs += [-loss for loss in losses.values()[first : window.end - window.start - 1]]
    finally:
        backend.release(executable, *tensors.values())
    return logs


def perplexity(logs: Sequence[float]) -> float:
    """Return the perplexity of tokens with these log probabilities.

    >>> round(perplexity([math.log(1 / 8)] * 3), 6)
    8.0
    """
    return math.exp(-sum(logs) / len(logs))


def _check(name: str, value: Any, minimum: int, maximum: int | None) -> None:
    if not is_integer(value) or value < minimum or (maximum is not None and value > maximum):
        upper = "" if maximum is None else f" to {maximum}"
        raise DataError(
            "NNM704", f"{name} is {value!r}", hint=f"an integer from {minimum}{upper}, in tokens"
        )


def _graph(network: Network, length: int) -> Graph:
    """Return the graph of −log p of the tokens of a window, `[length]`."""
    b = GraphBuilder()
    lowered = lower_for_text(network, length, b)
    (scores,) = lowered.outputs.values()
    targets: Any = b.input(TARGETS, "int32", [1, length, 1])
    chosen = b.gather_elements(scores, targets, axis=2)
    lost = b.reduce_log_sum_exp(scores, axes=[2], keep_dimensions=True) - chosen
    return b.build({LOSSES: b.reshape(b.cast(lost, type="float32"), new_shape=(length,))})


def _inputs(tokens: Sequence[int], window: Window, length: int) -> dict[str, Sequence[float]]:
    """Return the inputs of the graph for a window, padded at its end."""
    own = tokens[window.start : window.end]
    targets = [*own[1:], *[0] * (1 + length - len(own))]
    return {**pad_text(own, length), TARGETS: targets}
