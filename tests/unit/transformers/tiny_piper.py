"""A tiny voice of Piper: the model of a fixture in an ONNX file with the names that Piper has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.parity.pretrained import fixtures
from tests.unit.ops.cases import np
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.messages import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
)
from webnnm.formats.onnx.tensors import tensor_proto
from webnnm.formats.onnx.writer import serialize

PHONEMES = {"_": [0], "^": [1], "$": [2], "a": [3], "b": [4], "ɪ": [5]}
LAYER = r"text_encoder\.encoder\.layers\.(\d+)"
RENAMED = (
    (rf"{LAYER}\.attention\.([qkv])_proj", r"enc_p.encoder.attn_layers.\1.conv_\2"),
    (rf"{LAYER}\.attention\.out_proj", r"enc_p.encoder.attn_layers.\1.conv_o"),
    (rf"{LAYER}\.attention", r"enc_p.encoder.attn_layers.\1"),
    (rf"{LAYER}\.layer_norm", r"enc_p.encoder.norm_layers_1.\1"),
    (rf"{LAYER}\.final_layer_norm", r"enc_p.encoder.norm_layers_2.\1"),
    (rf"{LAYER}\.feed_forward", r"enc_p.encoder.ffn_layers.\1"),
    (r"text_encoder\.project", "enc_p.proj"),
    (r"text_encoder\.embed_tokens\.weight", "sid"),
    (r"embed_speaker", "emb_g"),
    (r"decoder\.upsampler", "dec.ups"),
    (r"decoder\.", "dec."),
    (r"flow\.flows\.(\d+)\.wavenet", r"flow.flows.\1.enc"),
    (r"conv_(pre|post|proj)", r"\1"),
    (r"conv_dds", "convs"),
    (r"convs_dilated", "convs_sep"),
    (r"convs_pointwise", "convs_1x1"),
    (r"duration_predictor", "dp"),
    (r"(norms?_\w*\.\d+|norm_\d)\.weight$", r"\1.gamma"),
    (r"(norms?_\w*\.\d+|norm_\d)\.bias$", r"\1.beta"),
    (r"translate$", "m"),
)


def name_in_piper(name: str) -> str:
    for pattern, replacement in RENAMED:
        name = re.sub(pattern, replacement, name)
    name = name.replace("dec.pre", "dec.conv_pre").replace("dec.post", "dec.conv_post")
    name = re.sub(r"^flow\.flows\.(\d+)", lambda found: f"flow.flows.{2 * int(found[1])}", name)
    later = re.match(r"^dp\.flows\.(\d+)", name)
    if later and int(later[1]):
        name = name.replace(later[0], f"dp.flows.{2 * int(later[1]) - 1}")
    return name


def fold(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return weights without norms of their own, and without what only trainings read."""
    found: dict[str, Any] = {}
    for name, value in weights.items():
        if re.search(r"posterior_encoder|post_|flows\.1\.conv.*dds|predictor\.flows\.1\.", name):
            continue
        if name.endswith("original0"):
            directions = weights[name.replace("original0", "original1")]
            lengths = np.sqrt((directions**2).sum((1, 2), keepdims=True))
            found[name.replace(".parametrizations", "").removesuffix(".original0")] = (
                value * directions / lengths
            )
        elif not name.endswith("original1"):
            found[name] = value
    return found


def attributes(**values: int) -> list[AttributeProto]:
    return [AttributeProto(name=name, ints=[value], type=7) for name, value in values.items()]


def voice(name: str = "vits-plain", **settings: Any) -> dict[str, bytes]:
    """Return the two files of a voice with the weights of a fixture."""
    fixture = fixtures.read()[name]
    config = fixture.config
    weights = fold(fixtures.draw_weights(fixture.shapes, fixtures.SEED))
    tensors: dict[str, Any] = {}
    nodes: list[NodeProto] = [
        NodeProto(op_type="Gather", input=["sid", "input"], output=["embedded"]),
        NodeProto(op_type="Sub", input=["latents", "dp.flows.0.m"], output=["moved"]),
        NodeProto(op_type="Mul", input=["moved", "stretch"], output=["durations"]),
    ]
    for source, value in weights.items():
        target = name_in_piper(source)
        if source.endswith("log_scale"):
            target, value = "stretch", np.exp(-value)
        if re.search(r"conv_[qkvo]\.weight$", target):
            value = value[..., None]
        if target.endswith("weight") and ".enc." in target:
            target = f"onnx::Conv_{len(tensors)}"
        tensors[target] = value
        if source.endswith("weight") and value.ndim == 3:
            bias = name_in_piper(source.removesuffix("weight") + "bias")
            options = find_options(source, config)
            kind = "ConvTranspose" if "upsampler" in source else "Conv"
            operands = (
                [target, bias] if source.removesuffix("weight") + "bias" in weights else [target]
            )
            nodes.append(
                NodeProto(op_type=kind, input=["x", *operands], attribute=attributes(**options))
            )
    graph = GraphProto(
        node=nodes,
        initializer=[
            tensor_proto(name, HostArray.of(np.ascontiguousarray(value, np.float32)))
            for name, value in tensors.items()
        ],
    )
    details = {
        "audio": {"sample_rate": 22050},
        "inference": {"noise_scale": 0, "length_scale": 1, "noise_w": 0},
        "phoneme_type": "espeak",
        "phoneme_id_map": PHONEMES,
        "num_speakers": config.get("num_speakers", 1),
        **settings,
    }
    return {
        "tiny.onnx": write_graph(graph),
        "tiny.onnx.json": json.dumps(details).encode(),
    }


def write_graph(graph: GraphProto) -> bytes:
    return serialize(
        ModelProto(ir_version=8, graph=graph, opset_import=[OperatorSetIdProto(version=15)])
    )


def find_options(name: str, config: Mapping[str, Any]) -> dict[str, int]:
    """Return the options of the convolution with a weight, as a config says."""
    numbers = [int(number) for number in re.findall(r"\.(\d+)(?=\.)", name)]
    if "upsampler" in name:
        return {"strides": config["upsample_rates"][numbers[0]]}
    if "in_layers" in name:
        return {"dilations": config.get("wavenet_dilation_rate", 1) ** numbers[1]}
    if "convs1" in name:
        kinds = config["resblock_dilation_sizes"]
        return {"dilations": kinds[numbers[0] % len(kinds)][numbers[1]]}
    return {}
