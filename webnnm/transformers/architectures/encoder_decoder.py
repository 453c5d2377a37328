"""What models with an encoder and a decoder share: inputs, and the parts of a text decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.config import Config

ENCODED = "encoder_last_hidden_state"
"""The output of an encoder, to which a decoder attends."""

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


class TextDecoder(NamedTuple):
    """A decoder of tokens that attends to the output of another model.

    Attributes: `vocabulary`; `width`, that of its layers; `inputs` and `parameters`, their
    statements; `rows`, the layers up to the logits; `blocks`, the statements of what they call;
    `names`, the name map; `constants`; `input_rules`. All parameters and blocks have names that
    encoders do not have.
    """

    vocabulary: int
    width: int
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    rows: tuple[str, ...]
    blocks: tuple[str, ...]
    names: Mapping[str, str | Form | None]
    constants: Mapping[str, HostArray] = {}
    input_rules: InputRules = InputRules()


WriteDecoder = Callable[[Config, str], TextDecoder]
"""Returns a decoder for its config and the name of the states to which it attends."""


def pass_states(states: str) -> str:
    """Return the argument that hands states to the block of a layer; outputs need none.

    >>> pass_states(ENCODED), pass_states("projected")
    ('', ', projected=projected')
    """
    return "" if states == ENCODED else f", {states}={states}"
