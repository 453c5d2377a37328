"""BLIP: captions of pictures, and answers to questions about them.

Source: J. Li et al., "BLIP: bootstrapping language-image pre-training for unified vision-language
understanding and generation", arXiv:2201.12086 (2022).

Not supported: images of sizes other than `image_size`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.snapshots.foreign import Part, Reshaped, Transposed
from webnnm.transformers.architectures.bert import BERT
from webnnm.transformers.architectures.clip import (
    Names,
    read_tower,
    tower_names,
    write_layer,
)
from webnnm.transformers.architectures.encoder import INPUTS
from webnnm.transformers.architectures.encoder_decoder import INPUTS as BOTH_INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    prefix_names,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import Config

CAPTIONS, ANSWERS = "ForConditionalGeneration", "ForQuestionAnswering"
IMAGE_STATES, QUESTION_STATES = "image_states", "question_states"
QUESTION = "question_"
"""What precedes the names of the parameters and blocks that read questions."""


class _Text(NamedTuple):
    """A stack of layers that read tokens and attend to states.

    Attributes: `prefix`, that of its names; `ids`, the input with its tokens; `options`, those of
    attention among them; `states`, to which it attends, with `state_options`.
    """

    prefix: str
    ids: str
    options: str
    states: str
    state_options: str = ""


class _PictureTower(NamedTuple):
    """The parts of the text of the tower of pictures; `rows` are the layers up to its states."""

    input: str
    parameters: Sequence[str]
    rows: tuple[str, ...]
    blocks: Sequence[str]
    names: Names


def write_model(config: Config) -> ModelText:
    """Return the text of a model that writes about pictures, and its name map."""
    kind = class_suffix(config, CAPTIONS, ANSWERS, default=CAPTIONS)
    for key in ("projection_dim", "logit_scale_init_value", "image_text_hidden_size"):
        config.get(key)
    text, vision = config.part("text_config"), config.part("vision_config")
    for part in (text, vision):
        part.get("projection_dim")
    text.get("encoder_hidden_size")  # pictures have that of their states
    text.require("is_decoder", True)
    # The model and its writer each tie them, if their own part of the config says so.
    flags = [part.flag("tie_word_embeddings", True) for part in (config, text)]
    tied = any(flags)
    asks = kind == ANSWERS
    ids = "decoder_input_ids" if asks else "input_ids"
    mask = ids.replace("input_ids", "attention_mask")
    own = f"causal=true, mask={mask}"
    # The class of transformers reads padded questions as if padding were words; here it is masked.
    question_mask = ", mask=attention_mask"
    writer = _Text("", ids, own, IMAGE_STATES)
    if asks:
        writer = _Text("", ids, own, QUESTION_STATES, question_mask)
    reader = _Text(QUESTION, "input_ids", "mask=attention_mask", IMAGE_STATES)
    vocabulary, width = text.size("vocab_size", 30524), text.size("hidden_size", 768)
    head = (
        *linear_layers("transform", width),
        text.activation("hidden_act", "gelu"),
        _norm(text, "transform"),
        "matmul(words, bTranspose=true)" if tied else f"matmul(lm_head, shape=[{vocabulary}])",
        "add(lm_head_b)",
    )
    sequence = "decoder_tokens" if asks else "tokens"
    tower = _write_tower(vision)
    question = _body(text, reader) if asks else ()
    body = (*_name_last(question, QUESTION_STATES), *_body(text, writer))
    source = statements(
        [
            "model:name blip",
            *(BOTH_INPUTS if asks else INPUTS),
            tower.input,
            *tower.parameters,
            *_tables(text, writer),
            *(_tables(text, reader) if asks else ()),
            *output("logits", vocabulary, *tower.rows, *body, *head, sequence=sequence),
            *tower.blocks,
            *_layer(text, writer),
            *(_layer(text, reader) if asks else ()),
            "norm:layers layerNorm(scale=weight, bias=bias)",
        ]
    )
    names: Names = {
        **prefix_names(_names(writer), "text_decoder.bert."),
        **(prefix_names(_names(reader), "text_encoder.") if asks else {}),
        **prefix_names(_head_names(tied), "text_decoder.cls.predictions."),
        **tower.names,
    }
    return ModelText(source, names, "")


def _norm(config: Config, name: str, result: str = "") -> str:
    epsilon = config.positive("layer_norm_eps", 1e-12)
    named = f", name={result}" if result else ""
    return f"norm(weight={name}_norm, bias={name}_norm_b, epsilon={epsilon}{named})"


def _name_last(rows: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return layers whose result has a name."""
    return (*rows[:-1], f"{rows[-1][:-1]}, name={name})") if rows else ()


def _tables(config: Config, text: _Text) -> list[str]:
    """Return the statements of the tables of words and of positions."""
    width = config.size("hidden_size", 768)
    rows = {
        "words": config.size("vocab_size", 30524),
        "positions": config.size("max_position_embeddings", 512),
    }
    return [f"logits:param {text.prefix}{name} shape=[{n}, {width}]" for name, n in rows.items()]


def _body(config: Config, text: _Text) -> tuple[str, ...]:
    """Return the layers of a stack, up to its states."""
    p = text.prefix
    return (
        f"embedding({p}words, node={text.ids})",
        f"positionalEmbedding({p}positions)",
        _norm(config, f"{p}first"),
        f"{p}layer(repeat={config.count('num_hidden_layers', 12)}, {text.states}={text.states})",
    )


def _layer(config: Config, text: _Text) -> list[str]:
    """Return the block of a layer, with norms after attention, after that to states, and MLP."""
    p, heads = text.prefix, f"bias=true, heads={config.size('num_attention_heads', 8)}"
    own, cross = (", ".join(f"{p}{kind}w{n}" for n in "qkv") for kind in ("", "cross_"))
    rows = layers(
        f"attend({own}, o={p}wo, {heads}, {text.options})",
        "residual(to=input)",
        _norm(config, f"{p}attention", "attended"),
        f"attend({cross}, o={p}cross_wo, {heads}, to={text.states}{text.state_options})",
        "residual(to=attended)",
        _norm(config, f"{p}cross_attention", "informed"),
        *linear_layers(f"{p}up", config.size("intermediate_size", 3072)),
        config.activation("hidden_act", "gelu"),
        *linear_layers(f"{p}down", config.size("hidden_size", 768)),
        "residual(to=informed)",
        _norm(config, f"{p}mlp"),
    )
    return [f"{p}layer:layers\n{rows}"]


def _names(text: _Text) -> Names:
    """Return the names of the parameters of a stack."""
    own = BERT.names()
    kinds = ("wq", "wk", "wv", "wo", "attention_norm")
    names: Names = {
        "words": "embeddings.word_embeddings.weight",
        "positions": "embeddings.position_embeddings.weight",
        **norm_names("first_norm1", "embeddings.LayerNorm"),
        **own,
    }
    for name, origin in own.items():
        if name.startswith(kinds) and origin is not None:
            file = origin.source if isinstance(origin, Transposed) else origin
            other = str(file).replace(".attention.", ".crossattention.")
            names[f"cross_{name}"] = Transposed(other) if isinstance(origin, Transposed) else other
    return {
        **{f"{text.prefix}{name}": origin for name, origin in names.items()},
        "embeddings.position_ids": None,
    }


def _head_names(tied: bool) -> Names:
    """Return the names of the layers between states and logits."""
    names: Names = {
        **linear_names("transform1", "transform.dense"),
        **norm_names("transform_norm1", "transform.LayerNorm"),
    }
    if tied:
        return names | {"lm_head_b1": "bias", "decoder.weight": None, "decoder.bias": None}
    return names | linear_names("lm_head1", "decoder") | {"bias": None}


def _write_tower(config: Config) -> _PictureTower:
    """Return the tower of pictures."""
    prefix = "vision_model."
    seen = picture(config, size=384)
    tower = read_tower(
        config,
        "image",
        (768, 3072, 12),
        activation="gelu",
        file_prefix=prefix,
        projection_size=0,
        with_other=True,
        tokens=seen.patches + 1,
    )
    rows = (
        *seen.tokens(tower.width),
        f"image_layer(repeat={tower.depth})",
        tower.norm(""),
    )
    blocks = [
        f"image_layer:param image_up_b shape=[{tower.inner}] shared=false",
        f"image_layer:param image_down_b shape=[{tower.width}] shared=false",
        *write_layer(tower, ""),
    ]
    names: Names = {
        **tower_names(tower),
        "cls_token": Reshaped(f"{prefix}embeddings.class_embedding", (1, tower.width)),
        "position_embeddings": Reshaped(
            f"{prefix}embeddings.position_embedding", (tower.tokens, tower.width)
        ),
        "patch1": f"{prefix}embeddings.patch_embedding.weight",
        "patch_b1": f"{prefix}embeddings.patch_embedding.bias",
        **norm_names("image_norm1", f"{prefix}post_layernorm"),
    }
    attention = f"{prefix}encoder.layers.{{n-1}}.self_attn"
    for index, letter in enumerate("qkv"):
        names[f"image_w{letter}{{n}}"] = Transposed(Part(f"{attention}.qkv.weight", index, 3))
        names[f"image_w{letter}_b{{n}}"] = Part(f"{attention}.qkv.bias", index, 3)
    names |= linear_names("image_wo{n}", f"{attention}.projection")
    parameters = seen.parameters("logits", tower.width)
    return _PictureTower(seen.input, parameters, _name_last(rows, IMAGE_STATES), blocks, names)
