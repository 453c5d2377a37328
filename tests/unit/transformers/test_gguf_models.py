"""Models in GGUF files: the weights of a folder of Hugging Face, and texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.templates import TEMPLATES
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.data.files.downloads import Downloads
from webnnm.formats import gguf
from webnnm.snapshots import safetensors
from webnnm.transformers.gguf_model import LAYER, OTHERS
from webnnm.transformers.pretrained import gguf_of

np = pytest.importorskip("numpy")

HEADS, SHARED, SIZE, WIDTH, LAYERS = 4, 2, 8, 32, 2
TOKENS = ["<|im_start|>", "<|im_end|>", *(chr(code) for code in range(33, 127)), "Ġ", "Ċ", "th"]
METADATA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.block_count": LAYERS,
    "llama.context_length": 200,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": 48,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": SHARED,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 10000.0,
    "llama.rope.dimension_count": SIZE,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3] + [1] * (len(TOKENS) - 2),
    "tokenizer.ggml.merges": ["t h"],
    "tokenizer.chat_template": TEMPLATES["phi-4"],
}
CONFIG = {
    "model_type": "llama",
    "vocab_size": len(TOKENS),
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": SHARED,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 200,
    "tie_word_embeddings": True,
}
SHAPES = {
    "attn_norm": (WIDTH,),
    "ffn_norm": (WIDTH,),
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (SHARED * SIZE, WIDTH),
    "attn_v": (SHARED * SIZE, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (48, WIDTH),
    "ffn_up": (48, WIDTH),
    "ffn_down": (WIDTH, 48),
}


def weights() -> dict[str, Any]:
    """Return tensors by the names of GGUF files, rows as Hugging Face has them."""
    draw = np.random.default_rng(0)
    found = {"token_embd.weight": draw.normal(size=(len(TOKENS), WIDTH))}
    found["output_norm.weight"] = draw.normal(size=WIDTH)
    for layer in range(LAYERS):
        for name, shape in SHAPES.items():
            found[f"blk.{layer}.{name}.weight"] = draw.normal(size=shape) * 0.5
    return {name: array.astype("float32") for name, array in found.items()}


def permute(name: str, array: Any) -> Any:
    """Return rows as llama.cpp's converter stores them."""
    heads = {"attn_q": HEADS, "attn_k": SHARED}.get(name.split(".")[-2])
    if heads is None:
        return array
    return array.reshape(heads, 2, SIZE // 2, -1).swapaxes(1, 2).reshape(array.shape)


def write(folder: Path, **metadata: Any) -> Path:
    tensors = {
        name: ("F32", array.shape, np.ascontiguousarray(permute(name, array)).tobytes())
        for name, array in weights().items()
    }
    path = folder / "tiny.gguf"
    told = {key: value for key, value in (METADATA | metadata).items() if value is not None}
    path.write_bytes(b"".join(gguf.chunks(told, tensors)))
    return path


def write_folder(folder: Path) -> Path:
    tensors: dict[str, HostArray] = {}
    for name, array in weights().items():
        words = name.split(".")
        there = OTHERS.get(name) or f"model.layers.{words[1]}.{LAYER[words[2]]}.weight"
        tensors[there] = HostArray.of(array)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors").write_bytes(b"".join(safetensors.chunks(tensors, {})))
    return folder


async def load(path: Path) -> webnnm.PretrainedModel:
    return await webnnm.from_pretrained(path, backend="numpy", log=lambda _: None)


@pytest.mark.parametrize(
    ("code", "values", "size", "packages"),
    [("Q2_K", 256, 84, ["numpy"]), ("Q8_0", 32, 34, []), ("F32", 32, 128, [])],
)
async def test_numpy_is_loaded_for_blocks_that_javascript_does_not_unpack(
    code: str, values: int, size: int, packages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    async def load_package(name: str) -> None:
        loaded.append(name)

    monkeypatch.setattr("webnnm.backends.pyodide_host.load_package", load_package)
    content = b"".join(gguf.chunks({}, {"w": (code, [values], bytes(size))}))
    file = await gguf_of({"tiny.gguf": content}, Downloads())
    assert file is not None
    assert [*file.tensors] == ["w"]
    assert loaded == packages


async def test_scores_are_those_of_the_folder(tmp_path: Path) -> None:
    one, other = await load(write(tmp_path)), await load(write_folder(tmp_path))
    found = [await model.predict(input_ids=[[5, 8, 2, 9, 30]]) for model in (one, other)]
    first, second = (np.asarray(scores["logits"]) for scores in found)
    assert abs(first - second).max() < 1e-5 * abs(second).max()
    assert await one.generate_ids([5, 8], max_new_tokens=9) == (
        await other.generate_ids([5, 8], max_new_tokens=9)
    )


async def test_files_are_read_from_where_a_dict_says(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    files = {path.name: str(path) for path in folder.iterdir()}
    listed = await webnnm.from_pretrained(files, backend="numpy", log=lambda _: None)
    whole = await load(folder)
    found = [await model.predict(input_ids=[[5, 8, 2]]) for model in (listed, whole)]
    first, second = (np.asarray(scores["logits"]) for scores in found)
    assert (first == second).all()


async def test_a_text_comes_whole_or_in_pieces(tmp_path: Path) -> None:
    model = await load(write(tmp_path))
    whole = await model.generate("the cat", max_new_tokens=30)
    pieces = [piece async for piece in model.generate("the cat", max_new_tokens=30)]
    assert "".join(pieces) == whole
    tokens = model.tokenizer.encode("the cat")
    ids = await model.generate_ids(tokens, max_new_tokens=30)
    assert model.tokenizer.decode(ids[len(tokens) :]) == whole
    half = whole[: len(whole) // 2]
    stop = whole[len(half) : len(half) + 3]
    assert (
        await model.generate("the cat", max_new_tokens=30, stop=stop) == whole[: whole.index(stop)]
    )


async def test_several_prompts_at_once(tmp_path: Path) -> None:
    model = await load(write(tmp_path))
    prompts = ["the cat", "a", "one two three four"]
    alone = [await model.generate(prompt, max_new_tokens=12) for prompt in prompts]
    assert await model.generate(prompts, max_new_tokens=12) == alone
    rows = [model.tokenizer.encode(prompt) for prompt in prompts]
    padded = [[0] * (20 - len(row)) + row for row in rows]
    mask = [[0] * (20 - len(row)) + [1] * len(row) for row in rows]
    found = await model.generate_ids(padded, attention_mask=mask, max_new_tokens=6)
    assert found == await model.generate_ids(rows, max_new_tokens=6)
    assert [row[: len(start)] for row, start in zip(found, rows, strict=True)] == rows
    even = await model.generate_ids(rows, max_new_tokens=6, pad_token_id=0)
    first = max(map(len, rows))
    assert len({len(row) for row in even}) == 1
    for row, start, text in zip(even, rows, found, strict=True):
        begun = first - len(start)
        assert row[:begun] == [0] * begun
        assert row[begun : begun + len(text)] == text
        assert {*row[begun + len(text) :]} <= {0}


@pytest.mark.alike
async def test_the_token_that_ends_texts_ends_them(tmp_path: Path) -> None:
    plain = await load(write(tmp_path))
    free = await plain.generate_ids([5, 8], max_new_tokens=20)
    end = free[6]
    model = await load(write(tmp_path, **{"tokenizer.ggml.eos_token_id": end}))
    assert await model.generate_ids([5, 8], max_new_tokens=20) == free[: free.index(end, 2) + 1]
    assert model.tokenizer.ends == {1, end}


async def test_a_conversation_keeps_its_cache(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    model = await load(write(tmp_path))
    said = [{"role": "user", "content": "Hi"}]
    answer = await model.generate(said, max_new_tokens=5, seed=1, temperature=1.0)
    first = model.speed.prompt_tokens
    said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Why"}]
    await model.generate(said, max_new_tokens=5)
    assert first > 15
    assert model.speed.prompt_tokens < len(model.tokenizer.encode(str(said)))
    await model.generate(said, max_new_tokens=5)
    before = model.backend.memory()
    await model.generate(said, max_new_tokens=5)
    assert model.speed.prompt_tokens == 1
    assert model.backend.memory() == before
    model.close()


@pytest.mark.parametrize(
    ("metadata", "code", "words"),
    [
        ({"general.architecture": "rwkv"}, "NNM817", 'architecture "rwkv" cannot be loaded'),
        ({"llama.block_count": None}, "NNM818", "num_hidden_layers"),
        ({"llama.attention.head_count": [4, 2]}, "NNM818", "head_count. is"),
        ({"llama.rope.scaling.type": "yarn"}, "NNM818", 'has no "factor"'),
        ({"llama.rope.scaling.type": "proportional"}, "NNM818", "rope_scaling"),
        ({"llama.block_count": 3}, "NNM805", "missing"),
    ],
)
async def test_what_is_not_read_is_named(
    tmp_path: Path, metadata: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        await load(write(tmp_path, **metadata))
    assert caught.value.code == code


async def test_a_folder_without_a_tokenizer_generates_from_tokens(tmp_path: Path) -> None:
    model = await load(write_folder(tmp_path))
    assert len(await model.generate_ids([5, 8], max_new_tokens=4)) == 6
    with pytest.raises(DataError, match=r"no tokenizer\.json"):
        model.generate("Hi")
