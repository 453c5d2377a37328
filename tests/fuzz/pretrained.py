"""Damaged models of Hugging Face, GGUF and CTranslate2: refused by name, or they can be used."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import (
    HOW,
    ODD,
    PATHS,
    PLACES,
    TEXTS,
    loop,
    replace_item,
    told,
    with_bytes,
)
from tests.fuzz.frame import Target
from tests.unit.transformers import tiny_whisper
from tests.unit.transformers.folders import CONFIG, pack, weights, write_shards
from webnnm import PretrainedModel, WebNNMError, from_pretrained
from webnnm.formats import gguf
from webnnm.transformers.gguf_model import KEYS, LAYER, OTHERS

Case = dict[str, Any]
"""`base`, the model that is damaged, and `edits` in order."""

CONFIG_FILE, INDEX, GGUF = "config.json", "model.safetensors.index.json", "model.gguf"
WHISPER = "whisper"
BASES = ("folder", "shards", GGUF, WHISPER)
TOKENS = ["<|im_start|>", "<|im_end|>", *(chr(code) for code in range(97, 123)), "Ġ", "th", "Ċ"]
TOKENIZER: Mapping[str, Any] = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3] + [1] * (len(TOKENS) - 2),
    "tokenizer.ggml.merges": ["t h"],
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.chat_template": "{{ '<|im_start|>' }}",
}


@cache
def metadata() -> dict[str, Any]:
    """Return what a GGUF file says of the model."""
    sizes = {**CONFIG, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "max_position_embeddings": 64}
    known = {f"llama.{key}": sizes[name] for key, name in KEYS.items() if name in sizes}
    return {"general.architecture": "llama", **known, **TOKENIZER}


def pack_gguf(said: Mapping[str, Any]) -> bytes:
    """Return the weights as a GGUF file."""
    words = {there: here for here, there in LAYER.items()}
    others = {there: here for here, there in OTHERS.items()}
    tensors: dict[str, Any] = {}
    for name, array in weights().items():
        here = others.get(name)
        if here is None:
            _, _, number, *rest = name.split(".")
            here = f"blk.{number}.{words['.'.join(rest[:-1])]}.weight"
        tensors[here] = ("F32", array.shape, bytes(array.data))
    return b"".join(gguf.chunks(dict(said), tensors))


@cache
def original(base: str) -> Mapping[str, bytes]:
    """Return the files of a model as they should be."""
    if base == GGUF:
        return {GGUF: pack_gguf(metadata())}
    if base == WHISPER:
        return tiny_whisper.files()
    files = write_shards() if base == "shards" else {"model.safetensors": pack(weights())}
    return {CONFIG_FILE: json.dumps(dict(CONFIG)).encode(), **files}


def damage(case: Case) -> dict[str, bytes]:
    """Return the files of a case."""
    files = dict(original(case["base"]))
    for what, *edit in case["edits"]:
        if what == "bytes":
            number, *change = edit
            name = list(files)[number % len(files)]
            files[name] = with_bytes(files[name], change)
            continue
        path, how, value = edit
        name = {"config": CONFIG_FILE, "index": INDEX}[what]
        try:
            if case["base"] == GGUF:
                files[GGUF] = pack_gguf(replace_item(metadata(), path, how, value))
            elif name in files:
                tree = replace_item(json.loads(files[name]), path, how, value)
                files[name] = json.dumps(tree).encode()
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error):
            continue  # an earlier edit left no JSON, or the format cannot say this
    return files


async def use_model(model: PretrainedModel, base: str) -> str:
    """Compute scores, go on with a text, and read and write texts."""
    try:
        if base == WHISPER:
            transcript = await model.transcribe([0.5, -0.5] * 1600, rate=16_000, temperature=0)
            return f"heard: {len(transcript.segments)} segments"
        found = await model.predict(input_ids=[[1, 2, 0]])
        text = await model.generate_ids([1, 2], max_new_tokens=2)
        if base == GGUF:
            tokens = model.tokenizer.encode("the cat")
            model.tokenizer.decode(tokens)
    except WebNNMError as error:
        return f"loaded, then {told(error)}"
    finally:
        model.close()
    return f"used: {len(found)} outputs, {len(text)} tokens"


async def load(base: str, place: Path) -> str:
    """Load a model from a folder or a file."""
    try:
        model = await from_pretrained(place, backend="numpy", log=lambda _: None)
    except WebNNMError as error:
        return f"{base} {told(error)}"
    return await use_model(model, base)


def check(case: Case) -> str:
    """Load what is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in damage(case).items():
            (Path(folder) / name).write_bytes(data)
        place = Path(folder) / GGUF if case["base"] == GGUF else Path(folder)
        return loop().run_until_complete(load(case["base"], place))


EDITS = st.one_of(
    st.tuples(st.sampled_from(["config", "config", "index"]), PATHS, HOW, ODD).map(list),
    st.tuples(
        st.just("bytes"),
        PLACES,
        st.sampled_from(["cut", "flip", "insert", "take", "double", "many", "length"]),
        PLACES,
        PLACES,
        TEXTS,
    ).map(list),
)

TARGET = Target(
    name="pretrained",
    cases=st.fixed_dictionaries(
        {
            "base": st.sampled_from(BASES),
            "edits": st.lists(EDITS, min_size=1, max_size=3),
        }
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=40,
)
