"""A small BERT with random weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.unit.transformers.folders import pack
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count

SIZE, INNER, LAYER = 16, 24, "encoder.layer.0"
SQUARES = ("attention.self.query", "attention.self.key", "attention.self.value")


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.LayerNorm.weight": (SIZE,), f"{name}.LayerNorm.bias": (SIZE,)}


def bert_files(
    vocabulary: int, architecture: str = "BertModel", labels: Sequence[str] = (), **more: Any
) -> dict[str, bytes]:
    """Return the files of a small BERT, with a head if its class has one."""
    config: dict[str, Any] = {
        "model_type": "bert",
        "architectures": [architecture],
        "vocab_size": vocabulary,
        "hidden_size": SIZE,
        "intermediate_size": INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 40,
        "type_vocab_size": 2,
        **({"id2label": {str(k): label for k, label in enumerate(labels)}} if labels else {}),
        **more,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, SIZE),
        "embeddings.position_embeddings.weight": (40, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        **norm("embeddings"),
        **{k: v for name in SQUARES for k, v in linear(f"{LAYER}.{name}", SIZE, SIZE).items()},
        **linear(f"{LAYER}.attention.output.dense", SIZE, SIZE),
        **norm(f"{LAYER}.attention.output"),
        **linear(f"{LAYER}.intermediate.dense", INNER, SIZE),
        **linear(f"{LAYER}.output.dense", SIZE, INNER),
        **norm(f"{LAYER}.output"),
        **linear("pooler.dense", SIZE, SIZE),
    }
    if architecture != "BertModel":
        shapes = {f"bert.{name}": shape for name, shape in shapes.items()}
    if architecture == "BertForMaskedLM":
        del shapes["bert.pooler.dense.weight"], shapes["bert.pooler.dense.bias"]
        shapes |= {
            **linear("cls.predictions.transform.dense", SIZE, SIZE),
            "cls.predictions.transform.LayerNorm.weight": (SIZE,),
            "cls.predictions.transform.LayerNorm.bias": (SIZE,),
            "cls.predictions.bias": (vocabulary,),
        }
    elif architecture == "BertForQuestionAnswering":
        shapes |= linear("qa_outputs", 2, SIZE)
    elif architecture != "BertModel":
        shapes |= linear("classifier", len(labels) or 2, SIZE)
    tensors: dict[str, HostArray] = {}
    for name, shape in shapes.items():
        values = [u - 0.5 for u in Stream(0, Purpose.RANDOMIZE, name).uniform(count(shape))]
        tensors[name] = HostArray.of(values, "float32", shape)
    return {"config.json": json.dumps(config).encode(), "model.safetensors": pack(tensors)}
