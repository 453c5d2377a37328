"""SmolLM2's shapes with random weights in PyTorch's `transformers`: tokens per second, as JSON.

Run where `make parity` installs: a prompt of some tokens, then some more, several times.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch  # type: ignore[reportMissingImports]
import transformers  # type: ignore[reportMissingImports]

CONFIG = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}


def measure_generation(model: Any, prompt: int, count: int) -> dict[str, float]:
    """Return the tokens per second of a prompt, and of what follows it."""
    ids = torch.randint(0, CONFIG["vocab_size"], (1, prompt))
    began = time.perf_counter()
    output = model(ids, use_cache=True, logits_to_keep=1)
    ids = output.logits[:, -1:].argmax(-1)
    read = time.perf_counter()
    for _ in range(count):
        output = model(ids, past_key_values=output.past_key_values, use_cache=True)
        ids = output.logits[:, -1:].argmax(-1)
    return {"prompt": prompt / (read - began), "decode": count / (time.perf_counter() - read)}


def main() -> None:
    """Generate as often as the command line says; the first time does not count."""
    prompt, count, rounds = map(int, sys.argv[1:])
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG)).eval()
    with torch.inference_mode():
        print(json.dumps([measure_generation(model, prompt, count) for _ in range(rounds + 1)][1:]))


if __name__ == "__main__":
    main()
