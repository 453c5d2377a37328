"""Folders with ONNX files that webnnm and transformers.js open: real weights where packages have
them, drawn ones of published sizes otherwise."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench import minilm
from bench.contest import MODELS
from bench.pipelines.decoders import draw_llama, llama, whisper_decoder, whisper_encoder
from tools.models import file_in_cache
from webnnm import NNModel
from webnnm.formats.ctranslate2 import read
from webnnm.transformers.architectures import write_model
from webnnm.transformers.ctranslate2_model import (
    config_of_ctranslate2,
    ends_of_ctranslate2,
    tensors_of_ctranslate2,
)
from webnnm.transformers.json_tokenizer import read_added_tokens

SENTENCES, CLASSES, PICTURES, OBJECTS, SPEECH, TEXTS = (
    *("all-MiniLM-L6-v2", "bert-classes", "resnet-50", "yolos-tiny"),
    *("whisper-tiny.en", "llama-small"),
)
"""The names of the folders."""
SEED = 1
BERT_TOKENIZER = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "model_max_length": 512,
}
BERT_CONFIG: Mapping[str, Any] = {
    "model_type": "bert",
    "architectures": ["BertForSequenceClassification"],
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "hidden_act": "gelu",
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "id2label": {"0": "NEGATIVE", "1": "POSITIVE"},
}
RESNET_CONFIG: Mapping[str, Any] = {
    "model_type": "resnet",
    "architectures": ["ResNetForImageClassification"],
    "num_channels": 3,
    "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048],
    "depths": [3, 4, 6, 3],
    "layer_type": "bottleneck",
    "hidden_act": "relu",
    "id2label": {str(number): f"class {number}" for number in range(1000)},
}
HEIGHT, WIDTH = 224, 352
YOLOS_CONFIG: Mapping[str, Any] = {
    "model_type": "yolos",
    "architectures": ["YolosForObjectDetection"],
    "hidden_size": 192,
    "num_hidden_layers": 12,
    "num_attention_heads": 3,
    "intermediate_size": 768,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "image_size": [HEIGHT, WIDTH],
    "patch_size": 16,
    "num_channels": 3,
    "qkv_bias": True,
    "num_detection_tokens": 100,
    "use_mid_position_embeddings": False,
    "id2label": {str(number): f"class {number}" for number in range(91)},
}
IMAGES = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
LLAMA_CONFIG: Mapping[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 30522,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 1024,
    "bos_token_id": 101,
    "eos_token_id": 1,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}


def write_folders() -> None:
    """Put all folders where pages of the contest find them, unless they are there."""
    minilm.convert(file_in_cache("model.safetensors").parent, MODELS / SENTENCES)
    _write(CLASSES, BERT_CONFIG, BERT_TOKENIZER, None)
    resnet = {
        "image_processor_type": "ConvNextImageProcessor",
        "do_resize": True,
        "size": {"shortest_edge": 224},
        "crop_pct": 0.875,
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        **IMAGES,
    }
    _write(PICTURES, RESNET_CONFIG, None, resnet)
    yolos = {
        "image_processor_type": "YolosImageProcessor",
        "feature_extractor_type": "YolosFeatureExtractor",
        "do_resize": True,
        "size": {"height": HEIGHT, "width": WIDTH},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "do_pad": False,
        **IMAGES,
    }
    _write(OBJECTS, YOLOS_CONFIG, None, yolos)
    _write_whisper(MODELS / SPEECH)
    _write_llama(MODELS / TEXTS)


def _write(
    name: str,
    config: Mapping[str, Any],
    tokenizer: Mapping[str, Any] | None,
    processor: Mapping[str, Any] | None,
) -> None:
    """Write a model with drawn weights, exported by webnnm."""
    folder = MODELS / name
    if (folder / "onnx" / "model.onnx").exists():
        return
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if tokenizer is not None:
        _write_tokenizer(folder, tokenizer)
    if processor is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    asyncio.run(_export(config, folder / "onnx" / "model.onnx"))
    minilm.take_int64_file(folder / "onnx" / "model.onnx")


def _write_tokenizer(folder: Path, settings: Mapping[str, Any]) -> None:
    source = file_in_cache("model.safetensors").parent / "tokenizer.json"
    (folder / "tokenizer.json").write_bytes(source.read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


async def _export(config: Mapping[str, Any], file: Path) -> None:
    source = write_model(config).source
    settings: dict[str, Any] = {"backend": "numpy", "seed": SEED, "log": lambda line: None}
    model = await NNModel.create(source=source, review=False, **settings)
    await model.export(file)
    model.close()


def _write_whisper(folder: Path) -> None:
    if (folder / "onnx" / "decoder_model_merged.onnx").exists():
        return
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    source = file_in_cache("model.bin").parent
    file = read((source / "model.bin").read_bytes())
    tokenizer = (source / "tokenizer.json").read_text()
    settings = json.loads((source / "config.json").read_text())
    config = config_of_ctranslate2(file, settings) | ends_of_ctranslate2(tokenizer)
    weights: dict[str, Any] = {
        name: np.array(tensor.array().public(), "float32")
        for name, tensor in tensors_of_ctranslate2(file).items()
    }
    onnx = folder / "onnx"
    (onnx / "encoder_model.onnx").write_bytes(whisper_encoder(config, weights))
    (onnx / "decoder_model_merged.onnx").write_bytes(whisper_decoder(config, weights))
    (folder / "config.json").write_text(json.dumps(config))
    generation = {
        **config,
        "is_multilingual": False,
        "no_timestamps_token_id": read_added_tokens(tokenizer)["<|notimestamps|>"],
        "max_initial_timestamp_index": 50,
    }
    (folder / "generation_config.json").write_text(json.dumps(generation))
    (folder / "tokenizer.json").write_text(tokenizer)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "WhisperTokenizer"})
    )
    processor = {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "chunk_length": 30,
        "feature_size": config["num_mel_bins"],
        "hop_length": 160,
        "n_fft": 400,
        "n_samples": 480000,
        "nb_max_frames": 3000,
        "sampling_rate": 16000,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))


def _write_llama(folder: Path) -> None:
    if (folder / "onnx" / "model.onnx").exists():
        return
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    file = llama(LLAMA_CONFIG, draw_llama(LLAMA_CONFIG, SEED))
    (folder / "onnx" / "model.onnx").write_bytes(file)
    (folder / "config.json").write_text(json.dumps(LLAMA_CONFIG))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 1}))
    _write_tokenizer(folder, BERT_TOKENIZER)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    # No tokens around the prompt: transformers.js leaves them out of texts that go on.
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
