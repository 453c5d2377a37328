"""The first vector of a sentence as a page of webnnm computes it."""

from __future__ import annotations

from webnnm import from_pretrained

FOLDER = "/bench-models/all-MiniLM-L6-v2"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


async def first_vector(sentence: str) -> list[float]:
    """Return the vector of a sentence."""
    files = {name: f"{FOLDER}/{name}" for name in FILES}
    model = await from_pretrained(files, pooling="mean", backend="webnn")
    ids = model.tokenizer.encode(sentence)
    output = await model.predict(input_ids=[ids], attention_mask=[[1] * len(ids)])
    (vector,) = output["sentence_embedding"].tolist()
    return vector
