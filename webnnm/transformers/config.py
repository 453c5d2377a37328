"""A `config.json`: every key is read, known to be harmless, or refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import count
from webnnm.formats.fields import MAX_INTEGER, Fields, shorten

HARMLESS = re.compile(
    r"""_name_or_path | _class_name | _auto_class | _commit_hash | _configuration_file | _num_labels
    | _from_(auto|pipeline|model_config) | _(attn|experts)_implementation(_internal|_autoset)?
    | _flash_attn_2_enabled | _output_attentions | _pre_quantization_dtype
    | _diffusers_version | _use_default_values | _ignore_files
    | transformers_version | architectures | auto_map | model_type | task_specific_params
    | (torch_)?dtype | use_cache | return_dict(_in_generate)? | output_(attentions|hidden_states)
    | .*_token_id | .*_token_ids | .*dropout.* | .*_pdrop | layerdrop | .*_layerdrop | initializer.*
    | init_(xavier_)?std | gradient_checkpointing | pretraining_tp | chunk_size_feed_forward
    | id2label | label2id | num_labels | problem_type | finetuning_task | forced_.* | summary_.*
    | n_ctx | reorder_and_upcast_attn | attn_implementation | attention_dropout | tokenizer_class
    | prefix
    | max_length | min_length | num_beams | do_sample | early_stopping | length_penalty
    | (encoder_)?no_repeat_ngram_size | repetition_penalty | temperature | top_[kp]
    | static_position_embeddings | is_llama_config | transformers\.js_config | output_past
    | save_step | directionality | tie_weights_ | n_positions | typical_p
    | num_(beam_groups|return_sequences)
    | router_(aux_loss_coef|jitter_noise|z_loss_coef) | output_router_logits
    | drop_(path|connect)_rate | layer_?scale_(init_)?value | .*_loss_.* | .*_cost
    | (eos|giou_loss|bbox_loss)_coefficient
    | pooler_(type|fc_size|num_attention_heads|num_fc_layers|size_per_head)
    """,
    re.VERBOSE,
)
"""Keys for training, generation, tokenizers and other programs: results do not depend on them.

Those with an underscore are all that `transformers` and `diffusers` write for themselves; others,
such as `_remove_final_layer_norm`, change results.
"""

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


TYPES: Mapping[str, str] = {
    **dict.fromkeys(("model_type", "_class_name", "_name_or_path"), "text"),
    **dict.fromkeys(("architectures", "layer_types"), "texts"),
    **dict.fromkeys(
        (
            *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"),
            *("forced_bos_token_id", "forced_eos_token_id"),
            *("suppress_tokens", "begin_suppress_tokens"),
        ),
        "tokens",
    ),
    "bad_words_ids": "token_lists",
    **dict.fromkeys(("is_encoder_decoder", "is_multilingual"), "flag"),
    **dict.fromkeys(
        (
            *("max_position_embeddings", "original_max_position_embeddings", "n_positions"),
            *("vocab_size", "decoder_vocab_size"),
        ),
        "size",
    ),
    "type_vocab_size": "amount",
    **dict.fromkeys(
        (
            *("rope_scaling", "rope_parameters", "text_config", "vision_config", "id2label"),
            *("prompt_encoder_config", "mask_decoder_config"),
        ),
        "object",
    ),
}
"""Keys that are read in several places → the types that they have wherever they stand."""
LEAST = {"size": 1, "amount": 0}
"""Kinds of integers → the least that one may be."""
LENGTHS = re.compile(r".*max_.*positions?|.*max_position_embeddings|.*window.*|.*max_distance")
"""Keys of sizes that no tensor has."""
MAX_SIZE, MAX_COUNT = 1 << 24, 1 << 10
"""The largest size, and the most layers, before the weights tell."""
MAX_PICTURE = 1 << 14
"""The greatest height and width of pictures."""


class Config(Fields):
    """The keys of a `config.json`; whoever has read what it needs calls `finish`.

    `tensors` are the names of the weights in the files, if they are known: some models differ only
    in these. A mapping from the names to tensors also limits the sizes that a config may have.

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
        values: Mapping[str, Any],
        ignore: Collection[str] = (),
        tensors: Collection[str] | None = None,
        path: str = "",
        file: str = "config.json",
    ) -> None:
        super().__init__(values, file)
        self.tensors = tensors
        self._read |= {*ignore}
        self._parts: list[Config] = []
        self._path = path
        self._check_types()

    def size(self, key: str, default: int | None = None) -> int:
        """Return an integer from 1, at most the largest size of a tensor."""
        size = self.integer(key, default, 1)
        limit = self._largest if not LENGTHS.fullmatch(key) else MAX_INTEGER
        if key in self and size > limit:
            raise self.wrong(key, f"at most {limit:,}: no tensor has a larger size")
        return size

    def count(self, key: str, default: int | None = None) -> int:
        """Return a number of layers, at most that of the tensors."""
        count = self.integer(key, default, 1)
        limit = len(self.tensors) if isinstance(self.tensors, Mapping) else MAX_COUNT
        if key in self and count > limit:
            raise self.wrong(key, f"at most {limit:,}: there are no more tensors")
        return count

    @cached_property
    def _largest(self) -> int:
        """The largest size of a tensor that holds numbers; others may claim any."""
        if not isinstance(self.tensors, Mapping):
            return MAX_SIZE
        tensors = cast("Mapping[str, Any]", self.tensors).values()
        # Readers of files have checked that tensors have the bytes that their shapes ask for.
        shapes = (tensor.shape for tensor in tensors if count(tensor.shape))
        return max((size for shape in shapes for size in shape), default=1)

    def _check_types(self) -> None:
        """Raise an error for a value whose type is known and another."""
        read = {*self._read}
        for key in self.given.keys() & TYPES.keys():
            kind = TYPES[key]
            if self.given[key] is None:
                continue
            if kind in LEAST:
                self.integer(key, least=LEAST[kind])
            else:
                getattr(self, kind)(key)
        self._read = read  # whoever uses a key reads it again

    def pair(self, key: str, default: int | list[int]) -> tuple[int, int]:
        """Return height and width; a config may give one number for both."""
        value: Any = self.get(key, default)
        pair = cast("list[Any]", value) if isinstance(value, list) else [value, value]
        if len(pair) != 2 or not all(type(n) is int and 0 < n <= MAX_PICTURE for n in pair):
            raise self.wrong(key, f"height and width, integers from 1 to {MAX_PICTURE}")
        return pair[0], pair[1]

    def positive(self, key: str, default: float | None = None) -> float:
        """Return a number above 0."""
        return self.number(key, default, above=0)

    def part(self, key: str, values: Mapping[str, Any] = {}) -> Config:
        """Return the config of a part, which `finish` checks too; empty if there is none.

        `values` take the place of those that the part has.
        """
        values, path = {**self.object(key), **values}, f"{self._path}{key}."
        ignored = [k.removeprefix(path) for k in self._read if k.startswith(path)]
        part = Config(values, ignored, self.tensors, path, self.file)
        self._parts.append(part)
        return part

    def pass_over(self) -> None:
        """Mark all keys as read: nothing of this part is computed."""
        self._read |= {*self.given}

    def skip(self, *keys: str) -> None:
        """Mark keys as read whose values may be anything: results do not depend on them."""
        self._read |= {*keys}

    def activation(self, key: str, default: str | None = None) -> str:
        """Return the layer of an activation."""
        name = self.get(key, default)
        if not isinstance(name, str) or name not in ACTIVATIONS:
            hint = suggestion(str(name), ACTIVATIONS) or f"supported are {', '.join(ACTIVATIONS)}"
            raise self.not_supported(key, name, hint)
        return ACTIVATIONS[name]

    def require(self, key: str, *values: Any) -> None:
        """Raise an error unless a key has one of these values; absent and null mean the first."""
        actual = self.get(key, values[0])
        if not any(actual == value and type(actual) is type(value) for value in values):
            expected = " or ".join(json.dumps(value) for value in values)
            raise self.not_supported(key, actual, f"only {expected} is supported")

    def finish(self) -> None:
        """Raise an error for keys that were not read; only empty ones are ignored."""
        for key, value in self.given.items():
            if key not in self._read and value and not HARMLESS.fullmatch(key):
                hint = f'ignore=["{self._path}{key}"], if results do not depend on it'
                raise self.not_supported(key, value, hint)
        for part in self._parts:
            part.finish()

    def not_supported(self, key: str, value: Any, hint: str) -> DataError:
        """Return NNM818, the error for a key that asks for something that is not supported."""
        message = f'{self.file}: "{self._path}{key}" is {shorten(value)}, which is not supported'
        return DataError("NNM818", message, hint=hint)


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the config of the part of a model that reads or writes texts.

    >>> text_config({"model_type": "clip", "text_config": {"vocab_size": 9}})
    {'vocab_size': 9}
    """
    decoder = config.get("decoder")
    return config.get("text_config") or (decoder if isinstance(decoder, Mapping) else config)


def is_donut(config: Mapping[str, Any]) -> bool:
    """Return whether a config is that of a Donut, which reads pages and writes about them.

    >>> is_donut({"encoder": {"model_type": "donut-swin"}})
    True
    """
    encoder: Any = config.get("encoder")
    return isinstance(encoder, Mapping) and encoder.get("model_type") == "donut-swin"


CAPTION_TOKENS = {
    "decoder_start_token_id": ("bos_token_id", 30522),
    "eos_token_id": ("sep_token_id", 102),
    "pad_token_id": ("pad_token_id", 0),
}
"""Settings of texts of BLIP → the keys of its text's config that count, and their defaults."""


def caption_tokens(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens with which texts of BLIP begin and end, nothing for other models.

    >>> caption_tokens({"model_type": "blip", "text_config": {"bos_token_id": 5}})
    {'decoder_start_token_id': 5, 'eos_token_id': 102, 'pad_token_id': 0}
    """
    if config.get("model_type") != "blip":
        return {}
    text = text_config(config)
    return {name: text.get(key, default) for name, (key, default) in CAPTION_TOKENS.items()}


def read_config(text: str, name: str = "config.json") -> dict[str, Any]:
    """Return the contents of a `config.json`.

    Raises `DataError` NNM818 unless it is an object, and for values of a wrong type.
    """
    config = read_object(text, name).given
    check_types(config, name)
    return config


def read_object(text: str, name: str, code: str = "NNM818") -> Fields:
    """Return the fields of a JSON text. Raises `DataError`, with a code, unless it is an object."""
    try:
        return Fields.of(parse_json(text, infinite=True), name, code)
    except ValueError as error:
        raise DataError(code, f"{name} cannot be read: {str(error)[:200]}") from error


def check_types(values: Mapping[str, Any], name: str = "config.json") -> None:
    """Raise `DataError` NNM818 for values of keys whose type is known and another."""
    config = Config(values, file=name)
    for key in TYPES:
        if key.endswith("_config"):
            Config(config.object(key), path=f"{key}.", file=name)
