"""The cases computed by `transformers` and `diffusers`: all of it is their own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_torch_file

from tests.parity.pretrained.case import Case
from tests.parity.pretrained.fixtures import Arrays, Fixture, draw_inputs, draw_weights
from tests.parity.pretrained.generated import Texts, draw_rows, select_settings
from tests.parity.pretrained.in_timm import Network, is_timm
from tests.parity.pretrained.speech_in_transformers import compute_speech

OUTPUTS = (
    *(
        "logits",
        "extract_features",
        "last_hidden_state",
        "pooler_output",
        "encoder_last_hidden_state",
    ),
    *("logits_per_image", "logits_per_text", "image_embeds", "text_embeds"),
    *("pred_masks", "iou_scores", "sample", "start_logits", "end_logits"),
    *("cls_logits", "distillation_logits", "pred_boxes", "predicted_depth", "heatmaps"),
)


@contextmanager
def _load(case: Case, seed: int) -> Generator[tuple[Any, Fixture]]:
    """Yield a model with weights of a seed, its config and the shapes of its file."""
    kind: Any = None if is_timm(case) else getattr(transformers, case.architecture, None)
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, Any] = {}
        network = Network(case) if is_timm(case) else None
        if network is not None:
            network.save(folder, case)
        elif kind is None:
            kind, settings = getattr(diffusers, case.architecture), {"low_cpu_mem_usage": False}
            kind(**case.config).save_pretrained(folder)
        else:
            kind(kind.config_class(**case.config)).save_pretrained(folder)
        config = json.loads(Path(folder, "config.json").read_text())
        (file,) = Path(folder).glob("*.safetensors")
        stored = load_file(file)
        # Integers are indices that follow from the config, as do some numbers.
        shapes = {
            name: array.shape
            for name, array in stored.items()
            if array.dtype.kind == "f" and not name.endswith("n_points_scale")
        }
        weights = draw_weights(shapes, seed, case.scale)
        save_file({**stored, **weights}, file, metadata={"format": "pt"})
        fixture = Fixture(config, shapes, {}, {}, case.scale)
        if network is not None:
            network.timm_model.load_state_dict(load_torch_file(file))
            yield network.eval(), fixture
            return
        yield kind.from_pretrained(folder, **settings).eval(), fixture


def compute(case: Case, seed: int) -> Fixture:
    """Return the config, the shapes of the weights in the file, inputs of a seed, and outputs."""
    with _load(case, seed) as (model, fixture):
        config = getattr(model, "config", None)
        with_defaults = getattr(config, "to_dict", lambda: fixture.config)()
        inputs = draw_inputs(case, with_defaults, seed)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.no_grad():
        if "frame_mask" in tensors:
            outputs = compute_speech(model, tensors)
        else:
            forward = model.decode if "z" in tensors else model
            outputs = forward(**tensors, return_dict=True)
    compared = case.outputs or (outputs if "frame_mask" in tensors else OUTPUTS)
    arrays: Arrays = {name: outputs[name].numpy() for name in compared if name in outputs}
    return replace(fixture, inputs=inputs, outputs=arrays)


def generate_texts(case: Case, seed: int) -> tuple[Fixture, Texts]:
    """Return what a model writes about drawn rows, each up to the token that ends it."""
    with _load(case, seed) as (model, fixture):
        pass
    rows = draw_rows(fixture.config["vocab_size"], seed)
    ends = fixture.config.get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    texts: Texts = {}
    for name, settings in select_settings(fixture.config).items():
        model.generation_config.max_length = None  # max_new_tokens decides
        texts[name] = []
        for row in rows:
            ids = torch.tensor([row])
            mask = torch.ones_like(ids)
            (tokens,) = model.generate(
                ids, attention_mask=mask, do_sample=False, **settings
            ).tolist()
            start = len(row) if not model.config.is_encoder_decoder else 1
            last = next((n for n in range(start, len(tokens)) if tokens[n] in ends), len(tokens))
            texts[name].append(tokens[: last + 1])
    return fixture, texts
