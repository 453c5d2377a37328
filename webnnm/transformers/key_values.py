"""The cache of keys and values, as tensors of fixed length that graphs read and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.shapes import show
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.attention import MASKED
from webnnm.ops.declare.tensors import OperatorError, TensorType

KEYS, EARLIER = "/keys", "/earlier"
"""How the names of keys end, and those of the values of tokens just before, which are a state."""
PREFIX = "cache/"
"""Keys and values are inputs and outputs of graphs under this prefix."""
SOURCE = "source/"
"""The source of decoders is inputs of graphs under this prefix: inputs of the network other than
the text, and the keys and values of an encoder's output for them."""


class KeyValues:
    """The cache of a graph whose tokens follow those that already have keys and values.

    `start` are the positions of the first tokens: int32 `[batch]` for one token, otherwise `[1]`,
    the same in all rows. `following` are the states after the graph, by the names of its inputs;
    `source` computes the keys and values of other tokens, by the names of the inputs in their
    place. `order` are the rows whose texts are continued, int32 `[batch]`, None for each its own;
    `count`, how many tokens each row has, int32 `[batch]`, None if it has one.
    """

    def __init__(
        self,
        builder: GraphBuilder,
        sequence: str,
        length: int,
        batch: int,
        tokens: int,
        start: Any,
        order: Any = None,
        count: Any = None,
    ) -> None:
        self.sequence, self.length = sequence, length
        self._order, self._count = order, count
        self.following: dict[str, Operand] = {}
        self.source: dict[str, Operand] = {}
        self._builder, self._start = builder, start
        b = builder
        offsets = b.constant([*range(tokens)], "int32", [1, tokens])
        first = b.reshape(start, new_shape=(start.shape[0], 1))
        # Tokens past the end of the cache are padding, whatever their positions say.
        places = b.min(first + offsets, b.constant(length - 1, "int32"))
        self.positions: Any = b.expand(places, new_shape=(batch, tokens))

    def update(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return keys and values of all positions, with the new ones at theirs."""
        layer = sum(name.endswith(KEYS) for name in self.following)
        return self._put(f"{layer}{KEYS}", keys), self._put(f"{layer}/values", values)

    def keep_marks(self, marks: Any) -> Any:
        """Return the marks of all positions, with the new ones at theirs."""
        return self._put(f"{len(self.following)}/marks", marks)

    def prepend_earlier(
        self, x: Any, size: int, continue_: Callable[[Any], Any] | None = None
    ) -> Any:
        """Return values of tokens behind those of the tokens before them, of which `size` are kept.

        `continue_` computes from them what is returned and kept. Before a text there are zeros.
        """
        if len(x.shape) != 3:
            message = f"values {show(x.shape)} of tokens are not [batch, tokens, features]"
            raise OperatorError("NNM411", message, "mix tokens only along the sequence")
        batch, tokens, features = x.shape
        b = self._builder
        name = f"{PREFIX}{sum(n.endswith(EARLIER) for n in self.following)}{EARLIER}"
        before: Any = b.input(name, x.dtype, [batch, size, features])
        if self._order is not None:
            before = b.gather(before, self._order, axis=0)
        has_begun = b.greater(self._start, b.constant(0, "int32"))
        shape = (self._start.shape[0], 1, 1)
        before = before * b.reshape(b.cast(has_begun, type=x.dtype), new_shape=shape)
        history = b.concat([before, x], axis=1)
        if continue_ is not None:
            history = continue_(history)
        if self._count is None:
            after = b.slice(history, starts=(0, tokens, 0), sizes=(batch, size, features))
        else:  # rows are padded behind their tokens
            offsets = b.constant([*range(size)], "int32", [1, size, 1])
            last = b.reshape(self._count, new_shape=(batch, 1, 1)) + offsets
            places = b.constant([*range(size + tokens)], "int32", [1, 1, size + tokens])
            after = b.matmul(b.cast(b.equal(places, last), type=x.dtype), history)
        self.following[name] = after
        return history

    def read_source(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Return keys and values of other tokens, which another graph computed once."""
        name = f"{SOURCE}{len(self.source) // 2}"
        pair = {f"{name}/keys": keys, f"{name}/values": values}
        self.source |= pair
        operands = [
            self._builder.input(input_name, *operand.type) for input_name, operand in pair.items()
        ]
        return operands[0], operands[1]

    def _put(self, name: str, fresh: Any) -> Any:
        if len(fresh.shape) != 4:
            message = f"keys {show(fresh.shape)} of tokens are not [batch, heads, tokens, size]"
            raise OperatorError("NNM411", message, "attend only along the sequence")
        batch, heads, _, size = fresh.shape
        before = self.read(name, TensorType(fresh.dtype, (batch, heads, self.length, size)))
        return self.write(name, before, fresh)

    def read(self, name: str, type: TensorType) -> Any:
        """Return a state of the cache, of the rows whose texts are continued."""
        before = self._builder.input(PREFIX + name, *type)
        return before if self._order is None else self._builder.gather(before, self._order, axis=0)

    def write(self, name: str, before: Any, fresh: Any) -> Any:
        """Return a state `[batch, heads, length, size]` with that of the new tokens at theirs."""
        tokens = fresh.shape[2]
        b = self._builder
        places = b.constant([*range(self.length)], "int32")
        if tokens == 1:
            rows = b.reshape(self._start, new_shape=(self._start.shape[0], 1, 1, 1))
            here = b.equal(b.reshape(places, new_shape=(1, 1, self.length, 1)), rows)
            after = b.where(here, fresh, before)
        else:
            behind = places - self._start
            fits = b.logical_and(
                b.greater_or_equal(behind, b.constant(0, "int32")),
                b.lesser(behind, b.constant(tokens, "int32")),
            )
            rows = b.where(fits, behind + b.constant(self.length, "int32"), places)
            after = b.gather(b.concat([before, fresh], axis=2), rows, axis=2)
        self.keep(name, after)
        return after

    def keep(self, name: str, after: Any) -> None:
        """Let a value be the state of the cache after the graph."""
        self.following[PREFIX + name] = after

    def mask_scores(self, scores: Any, window: int | None = None) -> Any:
        """Mask later tokens, and those before a window."""
        b = self._builder
        batch, tokens = self.positions.shape
        own = b.reshape(self.positions, new_shape=(batch, 1, tokens, 1))
        places = b.constant([*range(self.length)], "int32", [1, 1, 1, self.length])
        hidden = b.greater(places, own)
        if window is not None and window < self.length:
            first = own - b.constant(window - 1, "int32")
            hidden = b.logical_or(hidden, b.lesser(places, first))
        return scores + b.cast(hidden, type="float32") * MASKED["float32"]
