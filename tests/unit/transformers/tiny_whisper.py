"""A tiny Whisper, as Hugging Face and as CTranslate2 store it."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterator
from typing import Any

from tests.unit.transformers.tokenizer_json import tokenizer
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count
from webnnm.formats.ctranslate2 import chunks

WIDTH, INNER, BANDS = 8, 12, 6
CONTROL = [
    *("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>"),
    *("<|transcribe|>", "<|nospeech|>", "<|notimestamps|>"),
]
VOCABULARY = [*"abcdefgh", "Ġ", *CONTROL]
TIMES = 9
"""Behind the vocabulary: 0.00, 0.02, … of eight positions."""
WORDS = len(VOCABULARY) + TIMES
CONFIG: dict[str, Any] = {
    "model_type": "whisper",
    "architectures": ["WhisperForConditionalGeneration"],
    "vocab_size": WORDS,
    "d_model": WIDTH,
    "num_mel_bins": BANDS,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": INNER,
    "decoder_ffn_dim": INNER,
    "max_source_positions": 8,
    "max_target_positions": 9,
    "activation_function": "gelu",
    "is_encoder_decoder": True,
    "tie_word_embeddings": True,
}
FOLDER_CONFIG = {
    "suppress_ids": [1, 8],
    "suppress_ids_begin": [2],
    "lang_ids": [],
    "alignment_heads": [],
}
"""What CTranslate2 writes beside the weights."""


TOKENIZER = tokenizer(VOCABULARY, range(len(VOCABULARY) - len(CONTROL), len(VOCABULARY)))


def files(code: str = "F32") -> dict[str, bytes]:
    """Return the files of a folder of CTranslate2."""
    return {
        "config.json": json.dumps(FOLDER_CONFIG).encode(),
        "tokenizer.json": TOKENIZER.encode(),
        "model.bin": whole(code),
    }


def weights() -> dict[str, HostArray]:
    """Return weights by the names of Hugging Face, multiples of 1/16: all floats hold them."""
    return {name: _draw(name, shape) for name, shape in _shapes()}


def _draw(name: str, shape: tuple[int, ...]) -> HostArray:
    stream = Stream(0, Purpose.RANDOMIZE, name)
    values = [(stream.below(17) - 8) / 16 for _ in range(count(shape))]
    return HostArray.of(values, "float32", shape)


def _shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "model.decoder.embed_tokens.weight", (WORDS, WIDTH)
    for word, channels in (("conv1", BANDS), ("conv2", WIDTH)):
        yield f"model.encoder.{word}.weight", (WIDTH, channels, 3)
        yield f"model.encoder.{word}.bias", (WIDTH,)
    for stack, key in (("encoder", "max_source_positions"), ("decoder", "max_target_positions")):
        place = f"model.{stack}"
        yield f"{place}.embed_positions.weight", (CONFIG[key], WIDTH)
        yield from _norm(f"{place}.layer_norm")
        for number in range(CONFIG[f"{stack}_layers"]):
            layer = f"{place}.layers.{number}"
            yield from _attention(f"{layer}.self_attn")
            if stack == "decoder":
                yield from _attention(f"{layer}.encoder_attn")
            yield f"{layer}.fc1.weight", (INNER, WIDTH)
            yield f"{layer}.fc1.bias", (INNER,)
            yield f"{layer}.fc2.weight", (WIDTH, INNER)
            yield f"{layer}.fc2.bias", (WIDTH,)
            yield from _norm(f"{layer}.final_layer_norm")


def _norm(place: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{place}.weight", (WIDTH,)
    yield f"{place}.bias", (WIDTH,)


def _attention(place: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for word in ("q_proj", "k_proj", "v_proj", "out_proj"):
        yield f"{place}.{word}.weight", (WIDTH, WIDTH)
        if word != "k_proj":
            yield f"{place}.{word}.bias", (WIDTH,)
    yield from _norm(f"{place}_layer_norm")


def whole(code: str, *, without: str = "", keys: float = 0.0) -> bytes:
    """Return a `model.bin` with floats or int8; `keys` is what biases of keys are."""
    tensors: dict[str, tuple[str, list[int], bytes]] = {}
    for name, values, shape in _theirs(keys):
        if name == without:
            continue
        if code == "I8" and len(shape) == 2 and "position" not in name:
            tensors[name], tensors[f"{name}_scale"] = _quantise(values, shape)
        else:
            tensors[name] = "F32" if code == "I8" else code, shape, _pack(values, code)
    for name, value in (("decoder/activation", 3), ("decoder/pre_norm", 1), ("decoder/alibi", 0)):
        tensors[name] = "I8", [], struct.pack("<b", value)
    for stack in ("encoder", "decoder"):
        tensors[f"{stack}/num_heads"] = "I16", [], struct.pack("<h", 2)
    aliases = {"decoder/projection/weight": "decoder/embeddings/weight"}
    if code == "I8":
        aliases["decoder/projection/weight_scale"] = "decoder/embeddings/weight_scale"
    return b"".join(chunks("WhisperSpec", tensors, aliases))


def _pack(values: list[float], code: str) -> bytes:
    if code == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    data = array("f", values).tobytes()
    if code == "BF16":
        return b"".join(data[place + 2 : place + 4] for place in range(0, len(data), 4))
    return data


def _quantise(values: list[float], shape: list[int]) -> Any:
    """Return whole numbers, and what they were multiplied by."""
    scales, found = array("f"), array("b")
    for start in range(0, len(values), shape[1]):
        row = values[start : start + shape[1]]
        scales.append(127 / (max(map(abs, row)) or 127))
        found.extend(round(value * scales[-1]) for value in row)
    return ("I8", shape, found.tobytes()), ("F32", [len(scales)], scales.tobytes())


def _theirs(keys: float) -> Iterator[tuple[str, list[float], list[int]]]:
    """Yield the tensors by the names of CTranslate2; projections that share an input are one."""
    own = weights()

    def rows(*names: str) -> tuple[list[float], list[int]]:
        """Return tensors one behind the other; only keys have no bias."""
        parts = [own.get(name) for name in names]
        values = [
            value for part in parts for value in ([keys] * WIDTH if part is None else part.values())
        ]
        first = next(part.shape for part in parts if part is not None)
        return values, [first[0] * len(names), *first[1:]]

    yield "decoder/embeddings/weight", *rows("model.decoder.embed_tokens.weight")
    for word in ("conv1", "conv2"):
        for kind in ("weight", "bias"):
            yield f"encoder/{word}/{kind}", *rows(f"model.encoder.{word}.{kind}")
    for stack in ("encoder", "decoder"):
        place = f"model.{stack}"
        yield f"{stack}/position_encodings/encodings", *rows(f"{place}.embed_positions.weight")
        norms = {f"{stack}/layer_norm": f"{place}.layer_norm"}
        linears: dict[str, list[str]] = {}
        for number in range(CONFIG[f"{stack}_layers"]):
            here, there = f"{stack}/layer_{number}", f"{place}.layers.{number}"
            norms[f"{here}/self_attention/layer_norm"] = f"{there}.self_attn_layer_norm"
            norms[f"{here}/ffn/layer_norm"] = f"{there}.final_layer_norm"
            own_part, other = f"{there}.self_attn", f"{there}.encoder_attn"
            projections = [f"{own_part}.{word}_proj" for word in "qkv"]
            linears[f"{here}/self_attention/linear_0"] = projections
            linears[f"{here}/self_attention/linear_1"] = [f"{own_part}.out_proj"]
            linears[f"{here}/ffn/linear_0"] = [f"{there}.fc1"]
            linears[f"{here}/ffn/linear_1"] = [f"{there}.fc2"]
            if stack == "decoder":
                norms[f"{here}/attention/layer_norm"] = f"{there}.encoder_attn_layer_norm"
                linears[f"{here}/attention/linear_0"] = [f"{other}.q_proj"]
                linears[f"{here}/attention/linear_1"] = [f"{other}.k_proj", f"{other}.v_proj"]
                linears[f"{here}/attention/linear_2"] = [f"{other}.out_proj"]
        for name, there in norms.items():
            yield f"{name}/gamma", *rows(f"{there}.weight")
            yield f"{name}/beta", *rows(f"{there}.bias")
        for name, parts in linears.items():
            for kind in ("weight", "bias"):
                names = [f"{part}.{kind}" for part in parts]
                yield f"{name}/{kind}", *rows(*names)
