"""The cases computed by `transformers`: configs, weights and outputs are its own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.numpy import load_file, save_file

from tests.parity.pretrained.cases import Case
from tests.parity.pretrained.fixtures import Arrays, Fixture, draw_inputs, draw_weights

WANTED = ("logits", "last_hidden_state", "pooler_output", "encoder_last_hidden_state")


def computed(case: Case, seed: int) -> Fixture:
    """Return the config, the shapes of the weights in the file, inputs of a seed, and outputs."""
    kind: Any = getattr(transformers, case.architecture)
    with tempfile.TemporaryDirectory() as folder:
        kind(kind.config_class(**case.config)).save_pretrained(folder)
        config = json.loads(Path(folder, "config.json").read_text())
        file = Path(folder, "model.safetensors")
        shapes = {name: array.shape for name, array in load_file(file).items()}
        save_file(draw_weights(shapes, seed), file, metadata={"format": "pt"})
        model = kind.from_pretrained(folder).eval()
    inputs = draw_inputs(case, model.config.to_dict(), seed)
    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.no_grad():
        outputs = model(**given, return_dict=True)
    found: Arrays = {name: outputs[name].numpy() for name in WANTED if name in outputs}
    return Fixture(config, shapes, inputs, found)
