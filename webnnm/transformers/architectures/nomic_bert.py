"""NomicBERT: an encoder like BERT with rotary positions and gated MLPs, without biases in layers.

Source: Z. Nussbaum et al., "Nomic Embed: training a reproducible long context text embedder",
arXiv:2402.01613 (2024).

Not supported: `rotary_scaling_factor`.
"""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.snapshots.foreign import Part, Transposed
from webnnm.transformers.architectures.encoder import (
    CLASSES,
    INPUTS,
    MASKED,
    MODEL,
    START,
    TOKEN_TYPES,
    TOKENS,
    Dense,
    Heads,
    Names,
    write_head,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_names,
    norm_names,
    statements,
)
from webnnm.transformers.architectures.rotary_rates import rotation
from webnnm.transformers.config import Config

OLDER_KEYS: Mapping[str, str] = {
    "hidden_size": "n_embd",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "intermediate_size": "n_inner",
    "layer_norm_eps": "layer_norm_epsilon",
    "rope_theta": "rotary_emb_base",
    "max_position_embeddings": "n_positions",
}
"""Keys of the config → those of the first publication."""
OLDER_VALUES = {
    **dict.fromkeys(("qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm", "causal"), False),
    **dict.fromkeys(("use_rms_norm", "parallel_block", "rotary_emb_interleaved"), False),
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "rotary_scaling_factor": None,
    "rotary_emb_scale_base": None,
    "activation_function": "swiglu",
}
"""Keys of the first publication → their only values."""
UNUSED_KEYS = (
    *("max_trained_positions", "pad_vocab_size_multiple", "fused_bias_fc", "fused_dropout_add_ln"),
    *("use_flash_attn", "use_xentropy", "dense_seq_output", "last_layer_subset"),
)
"""Keys of the first publication for training and for kernels."""
MODULE_NAMES = (
    (r"(^|\.)(?<!encoder\.)layers\.(\d+)\.", r"\1encoder.layers.\2."),
    (r"embeddings\.LayerNorm\.", "emb_ln."),
    (r"self_attn\.o_proj", "attn.out_proj"),
    (r"self_attn\.(q|k|v)_proj", r"attn.\1_proj"),
    (r"mlp\.up_proj", "mlp.fc11"),
    (r"mlp\.gate_proj", "mlp.fc12"),
    (r"mlp\.down_proj", "mlp.fc2"),
    (r"post_attention_layernorm", "norm1"),
    (r"post_mlp_layernorm", "norm2"),
)


def write_model(config: Config) -> ModelText:
    """Return the text of a NomicBERT and its name map."""
    kind = class_suffix(config, MODEL, CLASSES, MASKED, TOKENS, default="NomicBertModel")
    _read_older_keys(config)
    width = config.size("hidden_size", 768)
    heads_count = config.size("num_attention_heads", 12)
    size = config.size("head_dim", max(1, width // heads_count))
    inner, vocabulary = config.size("intermediate_size", 3072), config.size("vocab_size", 30528)
    activation = config.activation("hidden_act", "silu")
    tables = {
        "word_embeddings": vocabulary,
        "token_type_embeddings": config.size("type_vocab_size", 2),
    }
    body = (
        "embedding(token_type_embeddings, node=token_type_ids, name=types)",
        "embedding(word_embeddings, node=input_ids)",
        "add(types)",
        "norm(weight=embedding_norm, bias=embedding_norm_b)",
        f"layer(repeat={config.count('num_hidden_layers', 12)})",
    )
    pooler = Dense("pooler", "pooler.dense", "tanh()")
    transform = "cls.predictions.transform"
    heads = Heads(
        pooler,
        None,
        Dense("transform", f"{transform}.dense", activation, f"{transform}.layer_norm"),
        decoder="cls.predictions.decoder",
        decoder_bias="cls.predictions.bias",
        unused=("pooler.*", "cls.*", "classifier.*"),
    )
    head = write_head(config, kind, heads, width, vocabulary, body)
    config.size("max_position_embeddings", 2048)
    config.given.setdefault("rope_theta", 1000.0)
    angles = rotation(config, size)
    epsilon = config.positive("layer_norm_eps", 1e-12)
    options = f"heads={heads_count}, rope={angles.text()}, mask=attention_mask"
    options += f", headSize={size}" if size * heads_count != width else ""
    options += f", scale={angles.factor**2 / size**0.5}" if angles.factor != 1 else ""
    block = layers(
        f"attend(wq, wk, wv, o=wo, {options})",
        "residual(to=input)",
        "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
        f"matmul(up, shape=[{inner}], name=value)",
        f"matmul(gate, node=attended, shape=[{inner}])",
        activation,
        "mul(value)",
        f"matmul(down, shape=[{width}])",
        "residual(to=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
    )
    source = statements(
        [
            "model:name nomic_bert",
            *INPUTS,
            START if "gather(start" in "".join(head.statements) else "",
            TOKEN_TYPES,
            *(
                f"{head.block}:param {table} shape=[{rows}, {width}]"
                for table, rows in tables.items()
            ),
            *head.statements,
            f"layer:layers\n{block}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names = _names(config) | head.names
    return ModelText(source, names, "nomic_bert.", module_names=MODULE_NAMES)


def _read_older_keys(config: Config) -> None:
    """Put the values of older keys under the present ones."""
    for key, older in OLDER_KEYS.items():
        if older in config and key not in config:
            config.given[key] = config.get(older)
    for key, value in OLDER_VALUES.items():
        config.require(key, value)
    config.require("rotary_emb_fraction", 1.0, 1)
    for key in UNUSED_KEYS:
        config.get(key)


def _names(config: Config) -> Names:
    layer = "encoder.layers.{n-1}"
    names: Names = {
        "word_embeddings": "embeddings.word_embeddings.weight",
        "token_type_embeddings": "embeddings.token_type_embeddings.weight",
        **norm_names("embedding_norm1", "emb_ln"),
        **norm_names("attention_norm{n}", f"{layer}.norm1"),
        **norm_names("mlp_norm{n}", f"{layer}.norm2"),
        **linear_names("wo{n}", f"{layer}.attn.out_proj", bias=False),
    }
    for parameter, module in (("up", "fc11"), ("gate", "fc12"), ("down", "fc2")):
        names |= linear_names(f"{parameter}{{n}}", f"{layer}.mlp.{module}", bias=False)
    separate = "encoder.layers.0.attn.q_proj.weight" in (config.tensors or ())
    for index, letter in enumerate("qkv"):
        path = f"{layer}.attn.Wqkv.weight"
        packed = Part(path, index, 3)
        own = f"{layer}.attn.{letter}_proj.weight"
        names[f"w{letter}{{n}}"] = Transposed(own if separate else packed)
    return names
