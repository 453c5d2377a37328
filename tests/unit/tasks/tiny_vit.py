"""The files of a small vision transformer."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.transformers.folders import pack
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count

WIDTH, SIDE, PATCH = 8, 8, 4
LAYER = "encoder.layer.0"
CLASSES = "ViTForImageClassification"


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def vit_files(*labels: str, **processor: Any) -> dict[str, bytes]:
    """Return the files of a model with these classes, or of one without; pictures are 8 × 8."""
    squares = [f"{LAYER}.attention.attention.{name}" for name in ("query", "key", "value")]
    squares.append(f"{LAYER}.attention.output.dense")
    embeddings = "embeddings.patch_embeddings.projection"
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.cls_token": (1, 1, WIDTH),
        "embeddings.position_embeddings": (1, 5, WIDTH),
        f"{embeddings}.weight": (WIDTH, 3, PATCH, PATCH),
        f"{embeddings}.bias": (WIDTH,),
        **{key: shape for name in squares for key, shape in linear(name, WIDTH, WIDTH).items()},
        **linear(f"{LAYER}.intermediate.dense", 2 * WIDTH, WIDTH),
        **linear(f"{LAYER}.output.dense", WIDTH, 2 * WIDTH),
        **norm(f"{LAYER}.layernorm_before"),
        **norm(f"{LAYER}.layernorm_after"),
        **norm("layernorm"),
    }
    if labels:
        shapes = {f"vit.{name}": shape for name, shape in shapes.items()}
        shapes |= linear("classifier", len(labels), WIDTH)
    else:
        shapes |= linear("pooler.dense", WIDTH, WIDTH)
    config = {
        "model_type": "vit",
        "architectures": [CLASSES if labels else "ViTModel"],
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": SIDE,
        "patch_size": PATCH,
        "id2label": {str(number): label for number, label in enumerate(labels)},
    }
    tensors: dict[str, HostArray] = {}
    for name, shape in shapes.items():
        values = [u - 0.5 for u in Stream(0, Purpose.RANDOMIZE, name).uniform(count(shape))]
        tensors[name] = HostArray.of(values, "float32", shape)
    file = {"image_processor_type": "ViTImageProcessor", "size": SIDE, **processor}
    return {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": pack(tensors),
        "preprocessor_config.json": json.dumps(file).encode(),
    }
