"""Texts of decoders: blocks with norms in several orders, and models whose MLP has no gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from webnnm.core.errors import DataError
from webnnm.snapshots.foreign import Form, Part, Transposed
from webnnm.transformers.architectures.model_text import (
    bias_name,
    layers,
    linear_layers,
    linear_names,
    output,
    statements,
)

Order = Literal["before", "after", "both", "parallel", "separate"]
"""Where the norms of a block stand: before attention and MLP, after them, or both; or, if the two
run in parallel, one before both of them or one before each."""


def block_layers(order: Order, norm: Callable[[str, str, str], str], scaled: str = "") -> str:
    """Return the layers of a block.

    `norm` returns the call of a norm by its part, the option that names its operand and its name;
    `scaled` is a layer that scales what is added to the residual stream.
    """
    if order in ("parallel", "separate"):
        one = order == "parallel"
        return layers(
            norm("attention", "", "normed" if one else ""),
            "attention(name=attended)",
            "" if one else norm("mlp", "node=input", ""),
            "mlp(node=normed)" if one else "mlp()",
            "add(attended)",
            scaled,
            "residual(to=input)",
        )
    return layers(
        norm("attention", "", "") if order != "after" else "",
        "attention()",
        norm("attended", "", "") if order != "before" else "",
        scaled,
        "residual(to=input, name=attended)",
        norm("mlp", "", "") if order != "after" else "",
        "mlp()",
        norm("transformed", "", "") if order != "before" else "",
        scaled,
        "residual(to=attended)",
    )


def call_norm(part: str, operand: str = "", name: str = "", *, bias: bool = True) -> str:
    """Return the call of a norm.

    >>> call_norm("mlp", "node=input")
    'norm(weight=mlp_norm, bias=mlp_norm_b, node=input)'
    """
    arguments = [f"weight={part}_norm", *([f"bias={part}_norm_b"] if bias else [])]
    arguments += [operand] if operand else []
    return f"norm({', '.join([*arguments, *([f'name={name}'] if name else [])])})"


def mlp_layers(
    inner: int, width: int, activation: str, *, bias: bool = False, prefix: str = ""
) -> str:
    """Return the layers of an MLP in which one product gates the other.

    `prefix` is that of parameter names.
    """
    return layers(
        f"matmul({prefix}up, node=input, shape=[{inner}]{'' if bias else ', name=value'})",
        f"add({prefix}up_b, name=value)" if bias else "",
        f"matmul({prefix}gate, node=input, shape=[{inner}])",
        f"add({prefix}gate_b)" if bias else "",
        activation,
        "mul(value)",
        f"matmul({prefix}down, shape=[{width}])",
        f"add({prefix}down_b)" if bias else "",
    )


def head_size(width: int, heads: int) -> int:
    """Return the size of a head. Raises `DataError` NNM818 unless heads divide the width.

    >>> head_size(12, 3)
    4
    """
    if width % heads:
        message = f"config.json: {width} features cannot be divided among {heads} heads"
        raise DataError("NNM818", message)
    return width // heads


def projection_parts(
    layer: str, widths: tuple[int, int, int], *, heads: int = 1, bias: bool = False
) -> dict[str, str | Form]:
    """Return the names of queries, keys and values that are stored as one linear layer.

    `widths` are theirs; `heads` is the number of groups of heads by which they are interleaved.
    """
    names: dict[str, str | Form] = {}
    for index, letter in enumerate("qkv"):
        parameter = f"w{letter}{{n}}"
        names[parameter] = Transposed(Part(f"{layer}.weight", index, widths, heads=heads))
        if bias:
            names[bias_name(parameter)] = Part(f"{layer}.bias", index, widths, heads=heads)
    return names


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A decoder whose MLP has no gate, with layer normalisations.

    Attributes: `name`; `in_logits`, whether its output are logits; `vocabulary`, `width` and
    `inner`, its sizes; `calls`, those of its layers; `attention`, block → layers; `order`, that of
    norms; `norm_bias` and `mlp_bias`, which layers have a bias; `head`, the last product: that of
    the embeddings, one of its own, or with a bias; `table`, the rows of learned positions;
    `positions`, whether positions are an input; `embedded`, layers after the embedding.
    """

    name: str
    in_logits: bool
    vocabulary: int
    width: int
    inner: int
    calls: Sequence[str]
    attention: Mapping[str, str]
    activation: str
    epsilon: float
    order: Order = "before"
    norm_bias: bool = True
    mlp_bias: bool = True
    head: Literal["tied", "own", "biased"] = "own"
    table: int = 0
    positions: bool = True
    embedded: Sequence[str] = ()

    def source(self) -> str:
        """Return the text."""
        name, size = (
            ("logits", self.vocabulary) if self.in_logits else ("last_hidden_state", self.width)
        )
        body = (
            "embedding(embed_positions, node=position_ids, name=positions)" if self.table else "",
            "embedding(embed_tokens, node=input_ids)",
            "add(positions)" if self.table else "",
            *self.embedded,
            *self.calls,
            self._norm("final"),
            *self._head(),
        )
        up = linear_layers("up", self.inner, bias=self.mlp_bias)
        down = linear_layers("down", self.width, bias=self.mlp_bias)
        bias = ", bias=bias" if self.norm_bias else ""
        table = f"{name}:param embed_positions shape=[{self.table}, {self.width}]"
        return statements(
            [
                f"model:name {self.name}",
                "input_ids:input int32 shape=[] sequence=tokens",
                "attention_mask:input int32 shape=[] sequence=tokens",
                "position_ids:input int32 shape=[] sequence=tokens" if self.positions else "",
                f"{name}:param embed_tokens shape=[{self.vocabulary}, {self.width}]",
                table if self.table else "",
                *output(name, size, *body),
                f"layer:layers\n{block_layers(self.order, self._norm)}",
                *(f"{block}:layers\n{text}" for block, text in self.attention.items()),
                f"mlp:layers\n{layers(*up, self.activation, *down)}",
                f"norm:layers layerNorm(scale=weight{bias}, epsilon={self.epsilon})",
            ]
        )

    def _norm(self, part: str, operand: str = "", name: str = "") -> str:
        return call_norm(part, operand, name, bias=self.norm_bias)

    def _head(self) -> tuple[str, ...]:
        if not self.in_logits:
            return ()
        if self.head == "tied":
            return ("matmul(embed_tokens, bTranspose=true)",)
        return linear_layers("lm_head", self.vocabulary, bias=self.head == "biased")

    def head_names(self, file: str = "lm_head") -> dict[str, str | Form | None]:
        """Return the names of the last product."""
        names: dict[str, str | Form | None] = {}
        if not self.in_logits or self.head == "tied":
            names[f"{file}.weight"] = None
            if self.head == "biased":
                names[f"{file}.bias"] = None
        else:
            names |= linear_names("lm_head1", file, bias=self.head == "biased")
        return names
