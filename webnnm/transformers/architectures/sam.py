"""Segment Anything: an image encoder, and a mask decoder for points and boxes.

Source: A. Kirillov et al., "Segment anything", arXiv:2304.02643 (2023).

Not supported: images of sizes other than `image_size`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    output,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.sam_vision import Encoder, encoder, encoding
from webnnm.transformers.config import Config

MODEL, VISION, MASK_DECODER = "SamModel", "SamVisionModel", "SamMaskDecoder"
VISION_TYPE = "sam_vision_model"
EPSILON = 1e-6
LABELS = ("not_a_point", "background", "foreground", "top_left", "bottom_right")
"""The meaning of points in a prompt, by their labels from -1 on."""
ABSENT = -10
"""The label of a padding point."""
DOWNSAMPLING = 2
"""The factor by which attention to the image is narrower than features."""
PROMPT, DECODER = "prompt_encoder", "mask_decoder"
ATTENTION = (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"))


class Sizes(NamedTuple):
    """The sizes of the mask decoder.

    Attributes: `masks`, the number of masks; `score_width` and `score_depth`, width and layers of
    the network that rates them; `mask_channels` and `mask_epsilon`, channels of the layers for an
    input mask and the epsilon of their norms; `image` and `grid`, sizes of an image before and
    after the encoder.
    """

    width: int
    inner: int
    heads: int
    depth: int
    masks: int
    score_width: int
    score_depth: int
    mask_channels: int
    waves: int
    image: int
    grid: int
    epsilon: float
    mask_epsilon: float
    activations: tuple[str, str]

    @property
    def cells(self) -> int:
        """The number of cells of an encoded image."""
        return self.grid**2

    def norm(self, parameter: str, name: str = "") -> str:
        """Return a normalisation of features with a named result."""
        option = f", name={name}" if name else ""
        return f"norm(weight={parameter}_norm, bias={parameter}_norm_b{option})"


def write_model(config: Config) -> ModelText:
    """Return the text of the model, or of one of its two parts, and its name map."""
    alone: bool = config.get("model_type") == VISION_TYPE
    kind = class_suffix(config, MODEL, VISION, MASK_DECODER, default=VISION if alone else MODEL)
    if alone and kind != VISION:
        raise config.not_supported("architectures", [kind], f"the folder has only a {VISION}")
    config.flag("tie_word_embeddings", True)  # without effect: there are no words
    parts = ("prompt_encoder_config", "mask_decoder_config")
    prompt, decoder = (config, config) if alone else map(config.part, parts)
    vision = encoder(config if alone else config.part("vision_config"))
    parameters, constants = ParameterNames(), dict[str, HostArray]()
    lines = [f"model:name {config.get('model_type')}"]
    if kind == VISION:
        lines += _write_encoder(vision, parameters)
        if not alone:
            prompt.pass_over()
            decoder.pass_over()
    else:
        sizes = _sizes(prompt, decoder, vision)
        constants["grid"] = _grid(sizes.grid)
        rows, more = list[str](), list[str]()
        if kind == MODEL:
            lines += [vision.seen.input]
            rows, more = encoding(vision, parameters, "pred_masks")
            rows[-1] = f"{rows[-1][:-1]}, name=image_embeddings)"
        else:
            lines += [f"image_embeddings:input shape={vision.shape}"]
        lines += [*_write_decoder(sizes, parameters, rows), *more]
    lines += [f"channels:layers layerNorm(scale=weight, bias=bias, axes=[0], epsilon={EPSILON})"]
    unused = ("vision_encoder.*", "prompt_encoder.*", "mask_decoder.*", "shared_image_embedding.*")
    return ModelText(statements(lines), parameters.names | dict.fromkeys(unused), "", constants)


def _write_encoder(vision: Encoder, parameters: ParameterNames) -> list[str]:
    """Return the statements of the encoder alone."""
    rows, more = encoding(vision, parameters, "last_hidden_state")
    return [
        vision.seen.input,
        f"last_hidden_state:output shape={vision.shape}",
        f"last_hidden_state:layers\n{layers(*rows)}",
        *more,
    ]


def _sizes(prompt: Config, decoder: Config, vision: Encoder) -> Sizes:
    """Return the sizes of the decoder. Raises `DataError` NNM818 if the parts do not fit."""
    width, grid = decoder.size("hidden_size", 256), vision.seen.grid[0]
    image = vision.seen.height
    decoder.require("hidden_size", vision.given)
    prompt.require("hidden_size", width)
    prompt.require("image_embedding_size", grid)
    prompt.require("image_size", image)
    prompt.require("num_point_embeddings", len(LABELS) - 1)
    prompt.get("patch_size")
    decoder.require("attention_downsample_rate", DOWNSAMPLING)
    heads = decoder.size("num_attention_heads", 8)
    if width % 8 or width % (DOWNSAMPLING * heads):
        hint = f"a multiple of 8, and of {DOWNSAMPLING} times {heads} heads"
        raise decoder.not_supported("hidden_size", width, hint)
    return Sizes(
        width=width,
        inner=decoder.size("mlp_dim", 2048),
        heads=heads,
        depth=decoder.count("num_hidden_layers", 2),
        masks=decoder.size("num_multimask_outputs", 3) + 1,
        score_width=decoder.size("iou_head_hidden_dim", 256),
        score_depth=decoder.count("iou_head_depth", 3),
        mask_channels=prompt.size("mask_input_channels", 16),
        waves=width // 2,
        image=image,
        grid=grid,
        epsilon=decoder.positive("layer_norm_eps", 1e-6),
        mask_epsilon=prompt.positive("layer_norm_eps", 1e-6),
        activations=(
            decoder.activation("hidden_act", "relu"),
            prompt.activation("hidden_act", "gelu"),
        ),
    )


def _grid(side: int) -> HostArray:
    """Return the centres of the cells of an image, from -1 to 1: across, then down."""
    middles = [(2 * n + 1) / side - 1 for n in range(side)]
    return HostArray.of(
        [c for y in middles for x in middles for c in (x, y)], "float32", [side**2, 2]
    )


def _write_decoder(sizes: Sizes, parameters: ParameterNames, encoder_rows: list[str]) -> list[str]:
    """Return the statements of prompts and masks; the inputs from an encoder come first."""
    width, side = sizes.width, 4 * sizes.grid
    shapes = {
        "grid": [sizes.cells, 2],
        "waves": [2, sizes.waves],
        "iou_token": [1, width],
        "mask_tokens": [sizes.masks, width],
        "no_mask": [width, 1, 1],
        **{label: [1, width] for label in LABELS},
    }
    rows = [
        *encoder_rows,
        *_prompt_layers(),
        *_add_input_mask(sizes, parameters),
        *_two_way_layers(sizes, parameters),
    ]
    rows += _mask_layers(sizes, parameters)
    _name_parameters(sizes, parameters)
    return [
        "input_points:input shape=[2] sequence=points",
        "input_labels:input int32 shape=[] sequence=points",
        f"input_masks:input shape={{channels:1, height:{side}, width:{side}}}",
        "has_input_masks:input shape=[]",
        f"output_tokens:input int32 shape=[] sequence={{outputs:{sizes.masks + 1}}}",
        *(
            f"pred_masks:param {name} shape={shape}{' lrm=0' if name == 'grid' else ''}"
            for name, shape in shapes.items()
        ),
        f"pred_masks:output shape={{masks:{sizes.masks}, height:{side}, width:{side}}}",
        f"pred_masks:layers\n{layers(*rows)}",
        *output("iou_scores", sizes.masks, *_score_layers(sizes, parameters), tokens=False),
        *_blocks(sizes),
    ]


def _prompt_layers() -> list[str]:
    """Return the layers that make tokens for the outputs and for the points."""
    return [
        "concat([iou_token, mask_tokens], axis=0, name=asked)",
        "embedding(asked, node=output_tokens, name=outputs)",
        f"concat([{', '.join(LABELS)}], axis=0, name=labelled)",
        "add(1, node=input_labels)",
        "max(0)",
        "embedding(labelled, name=labels)",
        "greater(-1, node=input_labels)",
        "cast(float32)",
        "reshape([1], name=placed)",
        f"greater({ABSENT}, node=input_labels)",
        "cast(float32)",
        "reshape([1], name=present)",
        "scaled(node=input_points)",
        "waved(axis=0)",
        "mul(placed)",
        "add(labels)",
        "mul(present, name=points)",
        "concat([outputs, points], axis=sequence, name=tokens)",
        "waved(node=grid, axis=1, name=places)",
    ]


def _add_input_mask(sizes: Sizes, parameters: ParameterNames) -> list[str]:
    """Return the layers that add an input mask to the image, or the embedding of no mask."""
    layer = f"{PROMPT}.mask_embed"
    for number in (1, 2, 3):
        parameters.weight("hint", f"{layer}.conv{number}")
    for number in (1, 2):
        parameters.weight("hint_norm", f"{layer}.layer_norm{number}")
    norm = "channels(weight=hint_norm, bias=hint_norm_b"
    norm += ")" if sizes.mask_epsilon == EPSILON else f", epsilon={sizes.mask_epsilon})"
    return [
        f"conv2d(hint, node=input_masks, filters={sizes.mask_channels // 4}, kernel=2, strides=2, "
        "bias=hint_b)",
        norm,
        sizes.activations[1],
        f"conv2d(hint, filters={sizes.mask_channels}, kernel=2, strides=2, bias=hint_b)",
        norm,
        sizes.activations[1],
        f"conv2d(hint, filters={sizes.width}, kernel=1, bias=hint_b, name=hinted)",
        "reshape([1, 1, 1], node=has_input_masks, name=has_hint)",
        "where(has_hint, hinted, no_mask)",
        "add(image_embeddings)",
        f"reshape([{sizes.width}, {sizes.cells}])",
        "transpose([1, 0], name=picture)",
    ]


def _two_way_layers(sizes: Sizes, parameters: ParameterNames) -> list[str]:
    """Return the layers in which tokens and the image attend to each other."""
    rows: list[str] = []
    queries, keys = "tokens", "picture"
    for n in range(sizes.depth):
        begin = "again" if n else "alone"
        rows += [f"two_ways(queries={queries}, keys={keys}, begin={begin}, name=turn{n + 1})"]
        queries, keys = f"turn{n + 1}.answers", f"turn{n + 1}.seen"
        layer = f"{DECODER}.transformer.layers.{n}"
        names = {"own": "self_attn", "seek": "cross_attn_token_to_image"}
        names["tell"] = "cross_attn_image_to_token"
        for k, parameter in enumerate(("own", "seek", "mlp", "tell"), 1):
            parameters.weight(f"{parameter}_norm", f"{layer}.layer_norm{k}")
        for parameter, name in names.items():
            _attention(parameters, parameter, f"{layer}.{name}", declared=parameter == "seek")
        for parameter, name in (("up", "lin1"), ("down", "lin2")):
            parameters.matrix(parameter, f"{layer}.mlp.{name}")
    decoder = f"{DECODER}.transformer"
    _attention(parameters, "seek", f"{decoder}.final_attn_token_to_image", declared=True)
    parameters.weight("last_norm", f"{decoder}.layer_norm_final_attn")
    return [
        *rows,
        f"seek(queries={queries}, keys={keys})",
        f"residual(to={queries})",
        "norm(weight=last_norm, bias=last_norm_b, epsilon=1e-5, name=answers)",
    ]


def _attention(parameters: ParameterNames, prefix: str, layer: str, *, declared: bool) -> None:
    for letter, name in ATTENTION:
        own = declared and letter == "v"
        parameters.matrix(f"{prefix}_w{letter}", f"{layer}.{name}", bias=not own)
        if own:
            parameters.declare(f"{prefix}_wv_b", f"{layer}.{name}.bias")


def _mask_layers(sizes: Sizes, parameters: ParameterNames) -> list[str]:
    """Return the layers that upsample the image and multiply it by the weights of each mask."""
    width, grid, side = sizes.width, sizes.grid, 4 * sizes.grid
    for number in (1, 2):
        parameters.weight("grow", f"{DECODER}.upscale_conv{number}")
    parameters.weight("grow_norm", f"{DECODER}.upscale_layer_norm")
    for n in range(sizes.masks):
        layer = f"{DECODER}.output_hypernetworks_mlps.{n}"
        for parameter, name in (
            ("first", "proj_in"),
            ("second", "layers.0"),
            ("third", "proj_out"),
        ):
            parameters.matrix(parameter, f"{layer}.{name}")
    numbers = range(1, sizes.masks + 1)
    grow = "kernel=2, strides=2, bias=grow_b"
    return [
        f"transpose([1, 0], node=turn{sizes.depth}.seen)",
        f"reshape([{width}, {grid}, {grid}])",
        f"convTranspose2d(grow, filters={width // 4}, {grow})",
        "channels(weight=grow_norm, bias=grow_norm_b)",
        "gelu()",
        f"convTranspose2d(grow, filters={width // 8}, {grow})",
        "gelu()",
        f"reshape([{width // 8}, {side**2}], name=canvas)",
        *(f"brush(place={number}, name=brush{number})" for number in numbers),
        f"concat([{', '.join(f'brush{number}' for number in numbers)}], axis=0)",
        "matmul(canvas)",
        f"reshape([{sizes.masks}, {side}, {side}])",
    ]


def _score_layers(sizes: Sizes, parameters: ParameterNames) -> list[str]:
    """Return the layers that predict the quality of masks."""
    layer = f"{DECODER}.iou_prediction_head"
    names = ["proj_in", *(f"layers.{n}" for n in range(sizes.score_depth - 2)), "proj_out"]
    rows = ["gather(node=answers, shape={outputs:0})"]
    for n, name in enumerate(names):
        last = n == len(names) - 1
        rows += linear_layers("score", sizes.masks if last else sizes.score_width)
        rows += [] if last else ["relu()"]
        parameters.matrix("score", f"{layer}.{name}")
    return rows


def _name_parameters(sizes: Sizes, parameters: ParameterNames) -> None:
    """Record the tensors of the declared parameters; the grid is in no file."""
    points = [f"{PROMPT}.not_a_point_embed", *(f"{PROMPT}.point_embed.{n}" for n in range(4))]
    parameters.names |= {
        "waves": "shared_image_embedding.positional_embedding",
        "iou_token": f"{DECODER}.iou_token.weight",
        "mask_tokens": f"{DECODER}.mask_tokens.weight",
        "no_mask": Reshaped(f"{PROMPT}.no_mask_embed.weight", (sizes.width, 1, 1)),
        **{label: f"{tensor}.weight" for label, tensor in zip(LABELS, points, strict=True)},
    }


def _blocks(sizes: Sizes) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    width, narrow, cells = sizes.width, sizes.width // DOWNSAMPLING, sizes.cells
    heads = f"bias=[q, k, o], heads={sizes.heads}"
    narrowed = f"{heads}, headSize={narrow // sizes.heads}"
    two_ways = layers(
        "begin(node=queries)",
        sizes.norm("own", "settled"),
        "seek(queries=settled, keys=keys)",
        "residual(to=settled)",
        sizes.norm("seek", "found"),
        *linear_layers("up", sizes.inner),
        sizes.activations[0],
        *linear_layers("down", width),
        "residual(to=found)",
        sizes.norm("mlp", "answers"),
        *linear_layers("tell_wv", narrow),
        "identity(name=told)",
        "add([answers, tokens], name=tellers)",
        "add([keys, places])",
        f"attend(tell_wq, tell_wk, told, o=tell_wo, to=tellers, {narrowed})",
        "residual(to=keys)",
        sizes.norm("tell", "seen"),
    )
    again = layers(
        *linear_layers("own_wv", width),
        "identity(name=told)",
        "add([input, tokens])",
        f"attend(own_wq, own_wk, told, o=own_wo, {heads})",
        "residual(to=input)",
    )
    seek = layers(
        f"matmul(seek_wv, node=keys, shape=[{cells}, {narrow}])",
        "add(seek_wv_b, name=told)",
        "add([keys, places], name=located)",
        "add([queries, tokens])",
        f"attend(seek_wq, seek_wk, told, o=seek_wo, to=located, {narrowed})",
    )
    waved = layers(
        "matmul(waves)",
        f"mul({2 * math.pi}, name=angles)",
        "sin(name=sines)",
        "cos(node=angles, name=cosines)",
        "concat([sines, cosines], axis=axis)",
    )
    brush = layers(
        "gather(node=answers, shape={outputs:place})",
        *linear_layers("first", width),
        "relu()",
        *linear_layers("second", width),
        "relu()",
        *linear_layers("third", width // 8),
        f"reshape([1, {width // 8}])",
    )
    alone = f"attend(own_wq, own_wk, own_wv, o=own_wo, bias=true, heads={sizes.heads})"
    return [
        f"scaled:layers\n{layers('add(0.5)', f'mul({2 / sizes.image})', 'sub(1)')}",
        f"waved:layers\n{waved}",
        f"two_ways:layers\n{two_ways}",
        f"alone:layers {alone}",
        f"again:layers\n{again}" if sizes.depth > 1 else "",
        f"seek:param seek_wv_b shape=[{narrow}] shared=false",
        f"seek:layers\n{seek}",
        f"brush:layers\n{brush}",
        f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={sizes.epsilon})",
    ]
