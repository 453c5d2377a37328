"""all-MiniLM-L6-v2 as the folder that transformers.js reads, with its network as an ONNX file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from webnnm import from_pretrained


def convert(source: Path, target: Path) -> None:
    """Write a folder of Hugging Face to another one, with the files of transformers.js."""
    (target / "onnx").mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (target / name).exists():
            (target / name).hardlink_to(source / name)
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}
    (target / "tokenizer_config.json").write_text(json.dumps(settings))
    file = target / "onnx" / "model.onnx"
    asyncio.run(_export(source, file))
    take_int64_file(file)


def take_int64_file(file: Path) -> None:
    """Let a file take tokens as the int64 that transformers.js passes, and pictures as they are."""
    model = onnx.load(file)
    _take_int64(model.graph)
    onnx.checker.check_model(model)
    onnx.save(model, file)


async def _export(source: Path, file: Path) -> None:
    async with await from_pretrained(source, backend="numpy", log=lambda _: None) as model:
        await model.export(file)


def _take_int64(graph: onnx.GraphProto) -> None:
    """Let a graph take its inputs as the int64 that transformers.js passes."""
    for tensor in graph.input:
        type_of_graph = tensor.type.tensor_type.elem_type
        if type_of_graph == TensorProto.FLOAT and tensor.name == "pixel_values":
            continue
        tensor.type.tensor_type.elem_type = TensorProto.INT64
        cast = f"{tensor.name}_cast"
        for node in graph.node:
            node.input[:] = [cast if name == tensor.name else name for name in node.input]
        graph.node.insert(0, helper.make_node("Cast", [tensor.name], [cast], to=type_of_graph))
