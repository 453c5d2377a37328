"""Encoders of patches: layers of attention and an MLP, each after its norm.

Source: A. Dosovitskiy et al., "An image is worth 16x16 words", arXiv:2010.11929 (2020); scales of
layers: H. Touvron et al., "Going deeper with image transformers", arXiv:2103.17239 (2021).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from webnnm.snapshots.foreign import Form, Reshaped
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.grid_distances import count_distances
from webnnm.transformers.architectures.model_text import (
    declared_bias_names,
    declared_names,
    layers,
    linear_layers,
    linear_names,
    norm_names,
)
from webnnm.transformers.architectures.patches import Picture
from webnnm.transformers.config import Config

Names = dict[str, str | Form | None]

_LAYER = r"(^|\.)(?:encoder\.)?layers?\.(\d+)\."
MODULE_NAMES = (
    (_LAYER + r"attention\.q_proj\.", r"\1encoder.layer.\2.attention.attention.query."),
    (_LAYER + r"attention\.k_proj\.", r"\1encoder.layer.\2.attention.attention.key."),
    (_LAYER + r"attention\.v_proj\.", r"\1encoder.layer.\2.attention.attention.value."),
    (_LAYER + r"attention\.o_proj\.", r"\1encoder.layer.\2.attention.output.dense."),
)
"""Names of the modules of attention in transformers 5: pattern → the published name."""
MLP_MODULE_NAMES = (
    (_LAYER + r"mlp\.fc1\.", r"\1encoder.layer.\2.intermediate.dense."),
    (_LAYER + r"mlp\.fc2\.", r"\1encoder.layer.\2.output.dense."),
    (_LAYER + r"(layernorm_(?:before|after)|lambda_[12])", r"\1encoder.layer.\2.\3"),
)
"""The same of the other modules, in files that name the layers of the MLP apart."""


class LayerNames(NamedTuple):
    """The names that the parts of a layer have in files; without scales, there are none.

    `gate` is empty where gates and values are one matrix.
    """

    attention_norm: str = "layernorm_before"
    mlp_norm: str = "layernorm_after"
    up: str = "intermediate.dense"
    down: str = "output.dense"
    attention_scale: str = ""
    mlp_scale: str = ""
    layer: str = "encoder.layer"
    query: str = "attention.attention.query"
    key: str = "attention.attention.key"
    value: str = "attention.attention.value"
    joined: str = "attention.output.dense"
    gate: str = ""


class Encoder(NamedTuple):
    """The sizes of an encoder.

    Attributes: `seen`, the picture; `tokens`, how many there are, the patches and others; `biases`,
    the letters of the projections of attention with a bias; `files`, the names in files; `prefix`,
    that of all names;
    `distances`, whether layers add a bias to scores by how far patches are apart, each its own;
    `gated`, whether the MLP multiplies its values by the activation of gates; `mlp_biases`, whether
    it has biases; `turn`, the block that turns queries and keys, if there is one.
    """

    seen: Picture
    tokens: int
    width: int
    inner: int
    heads: int
    depth: int
    activation: str
    epsilon: float
    biases: str = "qkvo"
    files: LayerNames = LayerNames()
    prefix: str = ""
    distances: Literal["", "own", "shared"] = ""
    gated: bool = False
    mlp_biases: bool = True
    turn: str = ""

    @classmethod
    def of(cls, config: Config, seen: Picture, tokens: int) -> Self:
        """Return the encoder of a config with the keys and the usual sizes of ViT."""
        return cls(
            seen=seen,
            tokens=tokens,
            width=config.size("hidden_size", 768),
            inner=config.size("intermediate_size", 3072),
            heads=config.size("num_attention_heads", 12),
            depth=config.count("num_hidden_layers", 12),
            activation=config.activation("hidden_act", "gelu"),
            epsilon=config.positive("layer_norm_eps", 1e-12),
            biases="qkvo" if config.flag("qkv_bias", True) else "o",
        )

    @property
    def shape(self) -> str:
        """The shape of the states of all tokens."""
        return f"{{tokens:{self.tokens}, features:{self.width}}}"

    def statements(self) -> list[str]:
        """Return the statements of the blocks `layer`, `attention` and `norm`."""
        scales = [f"{name}_scale" for name in ("attention", "mlp") if self.files.attention_scale]
        sizes = dict.fromkeys(scales, self.width)
        if self.mlp_biases:
            sizes |= {"up_b": self.inner, "down_b": self.width}
            sizes |= {"gate_b": self.inner} if self.gated else {}
        turned = self.biases if self.turn else ""
        rows = layers(
            "norm(weight=attention_norm, bias=attention_norm_b)",
            "attention()",
            f"mul({scales[0]})" if scales else "",
            "residual(to=input, name=attended)",
            f"norm(weight=mlp_norm, bias=mlp_norm_b{', name=ready' if self.gated else ''})",
            *self._mlp(),
            f"mul({scales[1]})" if scales else "",
            "residual(to=attended)",
        )
        return [
            *(f"layer:param {name} shape=[{size}] shared=false" for name, size in sizes.items()),
            self._declare_table("attention") if self.distances == "own" else "",
            *(f"attention:param w{n}_b shape=[{self.width}] shared=false" for n in turned),
            f"layer:layers\n{rows}",
            f"attention:layers\n{self._attention()}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={self.epsilon})",
        ]

    def _attention(self) -> str:
        if self.turn:
            turn = f"{self.turn}()"
            options = self.width, self.heads
            return attention(*options, biases=self.biases, tokens=self.tokens, turn=turn)
        biases = "bias=true" if self.biases == "qkvo" else f"bias=[{', '.join(self.biases)}]"
        attend = f"attend(wq, wk, wv, o=wo, {biases}, heads={self.heads}"
        if not self.distances:
            return layers(f"{attend})")
        return layers(
            "embedding(distance_table, node=distances)",
            "transpose([2, 0, 1], name=nearness)",
            f"{attend}, node=input, mask=nearness)",
        )

    def declare_distances(self, block: str) -> list[str]:
        """Return the statements of the parameters that all layers share for distances of tokens."""
        distances = (
            f"{block}:param distances int32 shape=[{self.tokens}, {self.tokens}] trainable=false"
        )
        table = self._declare_table(block).removesuffix(" shared=false")
        return [distances, table if self.distances == "shared" else ""] if self.distances else []

    def _declare_table(self, block: str) -> str:
        rows = count_distances(self.seen.grid, classes=True)
        return f"{block}:param distance_table shape=[{rows}, {self.heads}] shared=false"

    def _mlp(self) -> tuple[str, ...]:
        bias = self.mlp_biases
        up = linear_layers("up", f"{self.tokens}, {self.inner}", bias=bias)
        down = linear_layers("down", f"{self.tokens}, {self.width}", bias=bias)
        if not self.gated:
            return (*up, self.activation, *down)
        gate = linear_layers("gate", f"{self.tokens}, {self.inner}", bias=bias)
        product = up[0].replace("(up", "(up, node=ready")
        gates = f"{self.activation[:-1]}, name=gates)".replace("(, ", "(")
        return (*gate, gates, product, *up[1:], "mul(gates)", *down)

    def names(self) -> Names:
        """Return the names of the parameters of the layers."""
        files = self.files
        layer = f"{self.prefix}{files.layer}.{{n-1}}"
        names: Names = {
            **norm_names("attention_norm{n}", f"{layer}.{files.attention_norm}"),
            **norm_names("mlp_norm{n}", f"{layer}.{files.mlp_norm}"),
        }
        projections = zip("qkvo", (files.query, files.key, files.value, files.joined), strict=True)
        for letter, name in projections:
            biased, weight = letter in self.biases, f"w{letter}"
            file_name = f"{layer}.{name}"
            names |= linear_names(f"{weight}{{n}}", file_name, bias=biased and not self.turn)
            if biased and self.turn:
                names |= declared_bias_names(f"{weight}_b", file_name, self.depth)
        parameters = ("up", "down") if not self.gated else ("gate", "up", "down")
        for parameter in parameters if files.gate or not self.gated else ():
            file_name = f"{layer}.{getattr(files, parameter)}"
            names |= linear_names(f"{parameter}{{n}}", file_name, bias=False)
            if self.mlp_biases:
                names |= declared_bias_names(f"{parameter}_b", file_name, self.depth)
        for scale in ("attention_scale", "mlp_scale"):
            if file_name := getattr(files, scale):
                names |= declared_names(scale, f"{layer}.{file_name}", self.depth)
        return names


def select_token(number: int, node: str = "") -> tuple[str, str]:
    """Return the layers that select a token of a node, by default of the layer before.

    >>> select_token(0)
    ('slice([0, 0], [1, -1])', 'flatten()')
    """
    return f"slice({node and f'node={node}, '}[{number}, 0], [1, -1])", "flatten()"


def patch_names(encoder: Encoder) -> Names:
    """Return the names of the filters of patches, and of the table of positions."""
    tensor = f"{encoder.prefix}embeddings.position_embeddings"
    return {
        "position_embeddings": Reshaped(tensor, (encoder.tokens, encoder.width)),
        "patch1": f"{encoder.prefix}embeddings.patch_embeddings.projection.weight",
        "patch_b1": f"{encoder.prefix}embeddings.patch_embeddings.projection.bias",
    }


def read_backbone_keys(config: Config) -> None:
    """Mark the keys as read that choose features for other networks."""
    for key in ("stage_names", "out_features", "out_indices", "apply_layernorm"):
        config.get(key)
    config.get("reshape_hidden_states")
