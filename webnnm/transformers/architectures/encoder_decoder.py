"""The inputs that models with an encoder and a decoder share."""

from __future__ import annotations

INPUTS = (
    "input_ids:input int32 shape=[] sequence=tokens",
    "attention_mask:input int32 shape=[] sequence=tokens",
    "decoder_input_ids:input int32 shape=[] sequence=decoder_tokens",
    "decoder_attention_mask:input int32 shape=[] sequence=decoder_tokens",
)
POSITIONS = (
    "position_ids:input int32 shape=[] sequence=tokens",
    "decoder_position_ids:input int32 shape=[] sequence=decoder_tokens",
)
"""The inputs of models whose positions count only tokens that are not padding."""
