"""The parts of a model that speaks, computed by `transformers` for inputs of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import torch


def compute_speech(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a VITS computes of tokens, and the wave that it makes of frames."""
    mask = inputs["attention_mask"]
    outputs: dict[str, Any] = {}
    speaker = voice = None
    if "voice" in inputs:
        outputs["speaker_embeddings"] = model.embed_speaker(inputs["speaker_id"])
        speaker, voice = outputs["speaker_embeddings"].unsqueeze(-1), inputs["voice"].unsqueeze(-1)
    encoded = model.text_encoder(
        input_ids=inputs["input_ids"],
        padding_mask=mask.unsqueeze(-1).float(),
        attention_mask=mask,
    )
    states = encoded.last_hidden_state.transpose(1, 2), mask.unsqueeze(1).float(), speaker
    if "duration_noise" in inputs:
        noise = inputs["duration_noise"].transpose(1, 2)
        with mock.patch.object(torch, "randn", lambda *sizes: noise.clone()):
            durations = model.duration_predictor(*states, reverse=True, noise_scale=1.0)
    else:
        durations = model.duration_predictor(*states)
    means, deviations, noise = (
        inputs[f"frame_{name}"].transpose(1, 2) for name in ("means", "log_deviations", "noise")
    )
    latents = means + noise * torch.exp(deviations)
    frames = torch.ones_like(latents[:, :1])
    wave = model.decoder(model.flow(latents, frames, voice, reverse=True), voice)
    return outputs | {
        "prior_means": encoded.prior_means,
        "prior_log_deviations": encoded.prior_log_variances,
        "log_durations": durations.transpose(1, 2),
        "waveform": wave.transpose(1, 2),
    }
