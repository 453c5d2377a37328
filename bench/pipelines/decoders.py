"""Decoders as ONNX files with keys and values: a Whisper with its weights, a Llama with drawn ones.

Inputs and outputs have the names of the files that are published for transformers.js.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
OPSET = 17


class Graph:
    """Nodes of a graph; its constants are those of `weights`, which several graphs share."""

    def __init__(self, weights: dict[str, Array], prefix: str = "") -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._weights, self._prefix = weights, prefix

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operator of one result and return that, by `name` if it is given."""
        result = name or f"{self._prefix}{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [*inputs], [result], **attributes))
        return result

    def constant(self, values: Any, dtype: str = "int64") -> str:
        """Return a small constant."""
        array = np.asarray(values, dtype)
        name = f"{dtype}_{array.shape}_{array.ravel().tolist()}"
        self._weights[name] = array
        return name

    def linear(self, x: str, name: str, *, bias: bool = True, result: str = "") -> str:
        """Return x·W (+ b), the weights of a file transposed; without b, by the name `result`."""
        stored = f"{name}.weight.T"
        if stored not in self._weights:
            self._weights[stored] = np.ascontiguousarray(self._weights[f"{name}.weight"].T)
        product = self.op("MatMul", x, stored, name=result)
        return self.op("Add", product, f"{name}.bias") if bias else product

    def layer_norm(self, x: str, name: str) -> str:
        """Return a layer normalisation over the last axis."""
        names = f"{name}.weight", f"{name}.bias"
        return self.op("LayerNormalization", x, *names, axis=-1, epsilon=1e-5)

    def rms_norm(self, x: str, name: str) -> str:
        """Return x divided by its root mean square, scaled."""
        square = self.op("Mul", x, x)
        mean = self.op("ReduceMean", square, axes=[-1])
        root = self.op("Sqrt", self.op("Add", mean, self.constant(1e-5, "float32")))
        return self.op("Mul", self.op("Div", x, root), f"{name}.weight")

    def gelu(self, x: str) -> str:
        """Return x·Φ(x)."""
        inner = self.op("Erf", self.op("Mul", x, self.constant(0.5**0.5, "float32")))
        share = self.op("Mul", x, self.op("Add", inner, self.constant(1.0, "float32")))
        return self.op("Mul", share, self.constant(0.5, "float32"))

    def silu(self, x: str) -> str:
        """Return x·sigmoid(x)."""
        return self.op("Mul", x, self.op("Sigmoid", x))

    def split_heads(self, x: str, heads: int, size: int) -> str:
        """Return [batch, heads, tokens, size]."""
        split = self.op("Reshape", x, self.constant([0, 0, heads, size]))
        return self.op("Transpose", split, perm=[0, 2, 1, 3])

    def attend(self, q: str, k: str, v: str, size: int, mask: str = "") -> str:
        """Return softmax(q·kᵀ/√size + mask)·v, with the heads joined."""
        scaled = self.op("Mul", q, self.constant(size**-0.5, "float32"))
        scores = self.op("MatMul", scaled, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        if mask:
            scores = self.op("Add", scores, mask)
        values = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        rows = self.op("Transpose", values, perm=[0, 2, 1, 3])
        return self.op("Reshape", rows, self.constant([0, 0, -1]))

    def size(self, x: str, axis: int) -> str:
        """Return a size of a tensor, [1]."""
        return self.op("Gather", self.op("Shape", x), self.constant([axis]))

    def hide_later(self, past: str, tokens: str) -> str:
        """Return the mask [tokens, all] of what comes after each token; sizes are [1]."""
        zero, one = self.constant(0), self.constant(1)
        total = self.op("Add", past, tokens)
        ends = [self.op("Squeeze", size, self.constant([0])) for size in (past, total)]
        own = self.op("Unsqueeze", self.op("Range", *ends, one), self.constant([1]))
        later = self.op("Greater", self.op("Range", zero, ends[1], one), own)
        numbers = [self.constant(value, "float32") for value in (-1e9, 0.0)]
        return self.op("Where", later, *numbers)


def _save(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[int, Sequence[Any]]],
    outputs: Mapping[str, Sequence[Any]],
    weights: Mapping[str, Array],
) -> bytes:
    """Return a file with those weights that its nodes use."""
    used = {name for node in nodes for name in _names_used(node)}
    graph = helper.make_graph(
        nodes,
        "decoder",
        [
            helper.make_tensor_value_info(name, code, shape)
            for name, (code, shape) in inputs.items()
        ],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ],
        [numpy_helper.from_array(x, name) for name, x in weights.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _names_used(node: onnx.NodeProto) -> list[str]:
    names = [*node.input]
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names += _names_used(inner)
    return names


# Whisper.


def whisper_encoder(config: Mapping[str, Any], weights: dict[str, Array]) -> bytes:
    """Return the encoder of a Whisper with the weights of Hugging Face's names."""
    g, width = Graph(weights), config["d_model"]
    heads = config["encoder_attention_heads"]
    x = "input_features"
    for name, stride in (("conv1", 1), ("conv2", 2)):
        names = [f"model.encoder.{name}.{part}" for part in ("weight", "bias")]
        x = g.gelu(g.op("Conv", x, *names, pads=[1, 1], strides=[stride]))
    x = g.op("Transpose", x, perm=[0, 2, 1])
    x = g.op("Add", x, "model.encoder.embed_positions.weight")
    for index in range(config["encoder_layers"]):
        layer = f"model.encoder.layers.{index}"
        y = g.layer_norm(x, f"{layer}.self_attn_layer_norm")
        q, k, v = (
            g.split_heads(_project(g, y, f"{layer}.self_attn", part), heads, width // heads)
            for part in "qkv"
        )
        y = g.linear(g.attend(q, k, v, width // heads), f"{layer}.self_attn.out_proj")
        x = _feed_forward(g, g.op("Add", x, y), layer)
    norms = [f"model.encoder.layer_norm.{part}" for part in ("weight", "bias")]
    g.op("LayerNormalization", x, *norms, name="last_hidden_state", axis=-1, epsilon=1e-5)
    frames = 2 * config["max_source_positions"]
    inputs = {"input_features": (TensorProto.FLOAT, ["batch", config["num_mel_bins"], frames])}
    outputs = {"last_hidden_state": ["batch", frames // 2, width]}
    return _save(g.nodes, inputs, outputs, weights)


def _project(g: Graph, x: str, attention: str, part: str) -> str:
    """Return queries, keys or values; keys have no bias."""
    return g.linear(x, f"{attention}.{part}_proj", bias=part != "k")


def _feed_forward(g: Graph, x: str, layer: str) -> str:
    inner = g.gelu(g.linear(g.layer_norm(x, f"{layer}.final_layer_norm"), f"{layer}.fc1"))
    return g.op("Add", x, g.linear(inner, f"{layer}.fc2"))


def whisper_decoder(config: Mapping[str, Any], weights: dict[str, Array]) -> bytes:
    """Return the decoder of a Whisper, with a branch for texts without a past."""
    heads, layers = config["decoder_attention_heads"], config["decoder_layers"]
    size = config["d_model"] // heads
    names = [
        f"{index}.{which}.{part}"
        for index in range(layers)
        for which in ("decoder", "encoder")
        for part in ("key", "value")
    ]
    results = ["logits", *(f"present.{name}" for name in names)]
    branches: dict[str, onnx.GraphProto] = {}
    for branch, past in (("then_branch", True), ("else_branch", False)):
        prefix = branch[:5]
        g = Graph(weights, prefix)
        _write_whisper(g, config, heads, size, prefix, past=past)
        outputs = [
            helper.make_tensor_value_info(prefix + name, TensorProto.FLOAT, None)
            for name in results
        ]
        branches[branch] = helper.make_graph(g.nodes, branch, [], outputs)
    nodes = [helper.make_node("If", ["use_cache_branch"], results, **branches)]
    states = {
        f"past_key_values.{name}": (TensorProto.FLOAT, ["batch", heads, f"{name[2:9]}_past", size])
        for name in names
    }
    hidden = ["batch", "encoder_tokens", config["d_model"]]
    inputs = {
        "input_ids": (TensorProto.INT64, ["batch", "tokens"]),
        "encoder_hidden_states": (TensorProto.FLOAT, hidden),
        **states,
        "use_cache_branch": (TensorProto.BOOL, [1]),
    }
    outputs = {
        "logits": ["batch", "tokens", config["vocab_size"]],
        **{f"present.{name}": ["batch", heads, f"{name[2:9]}_all", size] for name in names},
    }
    return _save(nodes, inputs, outputs, weights)


def _write_whisper(
    g: Graph, config: Mapping[str, Any], heads: int, size: int, prefix: str, *, past: bool
) -> None:
    before = g.size("past_key_values.0.decoder.key", 2)
    tokens = g.size("input_ids", 1)
    ends = [g.op("Squeeze", x, g.constant([0])) for x in (before, g.op("Add", before, tokens))]
    places = g.op("Range", *ends, g.constant(1))
    embedding = "model.decoder.embed_tokens"
    x = g.op("Gather", f"{embedding}.weight", "input_ids")
    x = g.op("Add", x, g.op("Gather", "model.decoder.embed_positions.weight", places))
    mask = g.hide_later(before, tokens)
    for index in range(config["decoder_layers"]):
        layer = f"model.decoder.layers.{index}"
        y = g.layer_norm(x, f"{layer}.self_attn_layer_norm")
        q, k, v = (
            g.split_heads(_project(g, y, f"{layer}.self_attn", part), heads, size) for part in "qkv"
        )
        k, v = (
            g.op(
                "Concat",
                f"past_key_values.{index}.decoder.{name}",
                fresh,
                axis=2,
                name=f"{prefix}present.{index}.decoder.{name}",
            )
            for name, fresh in (("key", k), ("value", v))
        )
        y = g.linear(g.attend(q, k, v, size, mask), f"{layer}.self_attn.out_proj")
        x = g.op("Add", x, y)
        y = g.layer_norm(x, f"{layer}.encoder_attn_layer_norm")
        q = g.split_heads(_project(g, y, f"{layer}.encoder_attn", "q"), heads, size)
        k, v = _of_encoder(g, layer, index, heads, size, prefix, past=past)
        y = g.linear(g.attend(q, k, v, size), f"{layer}.encoder_attn.out_proj")
        x = _feed_forward(g, g.op("Add", x, y), layer)
    x = g.layer_norm(x, "model.decoder.layer_norm")
    g.linear(x, embedding, bias=False, result=f"{prefix}logits")


def _of_encoder(
    g: Graph, layer: str, index: int, heads: int, size: int, prefix: str, *, past: bool
) -> list[str]:
    """Return the keys and values of what the encoder has read, computed unless there is a past."""
    names = [f"{index}.encoder.{part}" for part in ("key", "value")]
    if past:  # whoever runs the file keeps those of the first run
        for name in names:
            shape = g.constant([0, heads, 1, size])
            g.op("ConstantOfShape", shape, name=f"{prefix}present.{name}")
        return [f"past_key_values.{name}" for name in names]
    for name, part in zip(names, "kv", strict=True):
        states = _project(g, "encoder_hidden_states", f"{layer}.encoder_attn", part)
        split = g.op("Reshape", states, g.constant([0, 0, heads, size]))
        g.op("Transpose", split, perm=[0, 2, 1, 3], name=f"{prefix}present.{name}")
    return [f"{prefix}present.{name}" for name in names]


# Llama.


def draw_llama(config: Mapping[str, Any], seed: int) -> dict[str, Array]:
    """Return weights of a Llama by Hugging Face's names, drawn."""
    draw = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]
    kv = width // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], width),
        "model.norm.weight": (width,),
        "lm_head.weight": (config["vocab_size"], width),
    }
    for index in range(config["num_hidden_layers"]):
        layer = f"model.layers.{index}"
        shapes |= {
            f"{layer}.input_layernorm.weight": (width,),
            f"{layer}.post_attention_layernorm.weight": (width,),
            **{f"{layer}.self_attn.{part}_proj.weight": (width, width) for part in "qo"},
            **{f"{layer}.self_attn.{part}_proj.weight": (kv, width) for part in "kv"},
            **{f"{layer}.mlp.{part}_proj.weight": (inner, width) for part in ("gate", "up")},
            f"{layer}.mlp.down_proj.weight": (width, inner),
        }
    return {
        name: (
            np.ones(shape, "float32")
            if len(shape) == 1
            else draw.normal(0, shape[-1] ** -0.5, shape).astype("float32")
        )
        for name, shape in shapes.items()
    }


def llama(config: Mapping[str, Any], weights: dict[str, Array]) -> bytes:
    """Return a Llama; each pair of half the heads' size is rotated by its position."""
    heads, pairs = config["num_attention_heads"], config["num_key_value_heads"]
    size = config["hidden_size"] // heads
    limit = config["max_position_embeddings"]
    angles = np.outer(np.arange(limit), 1e4 ** (-np.arange(0, size, 2) / size))
    weights |= {
        name: np.tile(function(angles), 2).astype("float32")
        for name, function in (("cos", np.cos), ("sin", np.sin))
    }
    g = Graph(weights)
    before, tokens = g.size("past_key_values.0.key", 2), g.size("input_ids", 1)
    hidden = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = g.op("Sub", hidden, g.constant(1.0, "float32"))
    hidden = g.op("Mul", hidden, g.constant(1e9, "float32"))
    hidden = g.op("Unsqueeze", hidden, g.constant([1, 2]))
    mask = g.op("Add", g.hide_later(before, tokens), hidden)
    tables = [
        g.op("Unsqueeze", g.op("Gather", name, "position_ids"), g.constant([1]))
        for name in ("cos", "sin")
    ]
    x = g.op("Gather", "model.embed_tokens.weight", "input_ids")
    for index in range(config["num_hidden_layers"]):
        layer = f"model.layers.{index}"
        y = g.rms_norm(x, f"{layer}.input_layernorm")
        q, k, v = (
            g.split_heads(g.linear(y, f"{layer}.self_attn.{part}_proj", bias=False), amount, size)
            for part, amount in (("q", heads), ("k", pairs), ("v", pairs))
        )
        q, k = (_rotate(g, rows, size, tables) for rows in (q, k))
        k, v = (
            g.op(
                "Concat",
                f"past_key_values.{index}.{name}",
                fresh,
                axis=2,
                name=f"present.{index}.{name}",
            )
            for name, fresh in (("key", k), ("value", v))
        )
        k, v = (_repeat_heads(g, rows, heads, pairs, size) for rows in (k, v))
        y = g.attend(q, k, v, size, mask)
        x = g.op("Add", x, g.linear(y, f"{layer}.self_attn.o_proj", bias=False))
        y = g.rms_norm(x, f"{layer}.post_attention_layernorm")
        gate, up = (g.linear(y, f"{layer}.mlp.{part}_proj", bias=False) for part in ("gate", "up"))
        inner = g.op("Mul", g.silu(gate), up)
        x = g.op("Add", x, g.linear(inner, f"{layer}.mlp.down_proj", bias=False))
    g.linear(g.rms_norm(x, "model.norm"), "lm_head", bias=False, result="logits")
    names = [f"{i}.{part}" for i in range(config["num_hidden_layers"]) for part in ("key", "value")]
    inputs = {
        "input_ids": (TensorProto.INT64, ["batch", "tokens"]),
        "attention_mask": (TensorProto.INT64, ["batch", "all"]),
        "position_ids": (TensorProto.INT64, ["batch", "tokens"]),
        **{
            f"past_key_values.{name}": (TensorProto.FLOAT, ["batch", pairs, "past", size])
            for name in names
        },
    }
    outputs = {
        "logits": ["batch", "tokens", config["vocab_size"]],
        **{f"present.{name}": ["batch", pairs, "all", size] for name in names},
    }
    return _save(g.nodes, inputs, outputs, weights)


def _rotate(g: Graph, x: str, size: int, tables: Sequence[str]) -> str:
    halves = [
        g.op("Slice", x, g.constant([start]), g.constant([start + size // 2]), g.constant([3]))
        for start in (0, size // 2)
    ]
    turned = g.op("Concat", g.op("Neg", halves[1]), halves[0], axis=3)
    return g.op("Add", g.op("Mul", x, tables[0]), g.op("Mul", turned, tables[1]))


def _repeat_heads(g: Graph, x: str, heads: int, pairs: int, size: int) -> str:
    """Return heads that share keys and values, each with its own."""
    if heads == pairs:
        return x
    split = g.op("Unsqueeze", x, g.constant([2]))
    shape = g.constant([1, 1, heads // pairs, 1, 1])
    return g.op("Reshape", g.op("Tile", split, shape), g.constant([0, heads, -1, size]))
