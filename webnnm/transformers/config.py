"""A `config.json`: the settings of a model, with every key checked and none ignored."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.formats.safetensors import parsed

HARMLESS = re.compile(
    r"""_.* | transformers_version | architectures | auto_map | model_type | task_specific_params
    | (torch_)?dtype | use_cache | return_dict(_in_generate)? | output_(attentions|hidden_states)
    | .*_token_id | .*_token_ids | .*dropout.* | .*_pdrop | layerdrop | .*_layerdrop | initializer.*
    | init_std | gradient_checkpointing | pretraining_tp | chunk_size_feed_forward | id2label
    | label2id | num_labels | problem_type | finetuning_task | forced_.* | summary_.* | n_ctx
    | reorder_and_upcast_attn | attn_implementation | attention_dropout | tokenizer_class | prefix
    | max_length | min_length | num_beams | do_sample | early_stopping | length_penalty
    | no_repeat_ngram_size | repetition_penalty | temperature | top_[kp]
    | static_position_embeddings | is_llama_config | transformers\.js_config | output_past
    | save_step | directionality | tie_weights_ | n_positions | typical_p
    | num_(beam_groups|return_sequences)
    | pooler_(type|fc_size|num_attention_heads|num_fc_layers|size_per_head)
    """,
    re.VERBOSE,
)
"""Keys for training, generation, tokenizers and other programs: results do not depend on them."""

ACTIVATIONS: Mapping[str, str] = {
    **dict.fromkeys(("gelu", "gelu_python"), "gelu()"),
    **dict.fromkeys(
        ("gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh"), "geluTanh()"
    ),
    **dict.fromkeys(("silu", "swish"), "silu()"),
    **{word: f"{word}()" for word in ("relu", "sigmoid", "tanh")},
    "quick_gelu": "silu(alpha=1.702)",
    "relu6": "clamp(minValue=0, maxValue=6)",
    "linear": "identity()",
}
"""Hugging Face's name of an activation → its layer."""


class Config:
    """The keys of a `config.json`; whoever has read what it needs calls `finish`.

    `tensors` are the names of the weights in the files, if they are known: some models differ only
    in these.

    >>> config = Config({"model_type": "gpt2", "n_head": 4, "num_experts": 8})
    >>> config.size("n_head")
    4
    >>> config.finish()
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM818: config.json: "num_experts" is 8, which is not supported
    hint: ignore=["num_experts"], if results do not depend on it
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        ignore: Collection[str] = (),
        tensors: Collection[str] | None = None,
    ) -> None:
        self.given = dict(given)
        self.tensors = tensors
        self._read: set[str] = {*ignore}
        self._parts: list[Config] = []
        self._place = ""

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; null stands for the default."""
        self._read.add(key)
        found = self.given.get(key)
        return default if found is None else found

    def size(self, key: str, default: int | None = None) -> int:
        """Return an integer from 1."""
        found = self.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int) or found < 1:
            raise self.wrong(key, "an integer from 1")
        return found

    def pair(self, key: str, default: int) -> tuple[int, int]:
        """Return height and width; a config may give one number for both."""
        found: Any = self.get(key, default)
        pair = cast("list[Any]", found) if isinstance(found, list) else [found, found]
        if len(pair) != 2 or not all(type(size) is int and size > 0 for size in pair):
            raise self.wrong(key, "height and width, integers from 1")
        return pair[0], pair[1]

    def number(self, key: str, default: float | None = None) -> float:
        """Return a number above 0."""
        found = self.get(key, default)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or found <= 0:
            raise self.wrong(key, "a number above 0")
        return int(found) if found == int(found) else found

    def flag(self, key: str, default: bool = False) -> bool:
        """Return true or false."""
        found = self.get(key, default)
        if not isinstance(found, bool):
            raise self.wrong(key, "true or false")
        return found

    def part(self, key: str) -> Config:
        """Return the config of a part, which `finish` checks too; empty if there is none."""
        found = self.get(key, {})
        if not isinstance(found, dict):
            raise self.wrong(key, "an object with keys and values")
        place = f"{self._place}{key}."
        ignored = [k.removeprefix(place) for k in self._read if k.startswith(place)]
        part = Config(cast("dict[str, Any]", found), ignored, self.tensors)
        part._place = place
        self._parts.append(part)
        return part

    def pass_over(self) -> None:
        """Mark all keys as read: nothing of this part is computed."""
        self._read |= {*self.given}

    def activation(self, key: str, default: str | None = None) -> str:
        """Return the layer of an activation."""
        found = self.get(key, default)
        if not isinstance(found, str) or found not in ACTIVATIONS:
            hint = suggestion(str(found), ACTIVATIONS) or f"supported are {', '.join(ACTIVATIONS)}"
            raise self.refused(key, found, hint)
        return ACTIVATIONS[found]

    def only(self, key: str, *values: Any) -> None:
        """Raise an error for other values than these; absent and null mean the first."""
        found = self.get(key, values[0])
        if not any(found == value and type(found) is type(value) for value in values):
            listed = " or ".join(json.dumps(value) for value in values)
            raise self.refused(key, found, f"models with {listed} can be loaded")

    def finish(self) -> None:
        """Raise an error for keys that were not read; only empty ones are ignored."""
        for key, value in self.given.items():
            if key not in self._read and value and not HARMLESS.fullmatch(key):
                hint = f'ignore=["{self._place}{key}"], if results do not depend on it'
                raise self.refused(key, value, hint)
        for part in self._parts:
            part.finish()

    def refused(self, key: str, value: Any, hint: str) -> DataError:
        """Return NNM818, the error for a key that asks for something that is not supported."""
        message = f'config.json: "{self._place}{key}" is {_shown(value)}, which is not supported'
        return DataError("NNM818", message, hint=hint)

    def wrong(self, key: str, wanted: str) -> DataError:
        """Return NNM818, the error for a key that is missing or invalid."""
        if self.given.get(key) is None:
            return DataError("NNM818", f'config.json has no "{self._place}{key}"', hint=wanted)
        told = _shown(self.given[key])
        return DataError(
            "NNM818", f'config.json: "{self._place}{key}" is {told}', hint=f"it is {wanted}"
        )


def read_config(text: str, name: str = "config.json") -> dict[str, Any]:
    """Return the contents of a `config.json`. Raises `DataError` NNM818 unless it is an object."""
    try:
        found = parsed(text)
        if not isinstance(found, dict):
            raise ValueError("it is not a JSON object")
    except ValueError as error:
        raise DataError("NNM818", f"{name} cannot be read: {error}") from error
    return cast("dict[str, Any]", found)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
