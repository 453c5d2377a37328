"""What all architectures share: their result, the layers of its text, its names in files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.config import Config


class InputRules(NamedTuple):
    """How a model reads its inputs, where it differs from most others.

    Attributes: `shift_right`, whether `decoder_input_ids` that are left out are the `input_ids`,
    each row shifted by one; `padding_by`, the input by which padding is recognised, "input_ids" or
    "attention_mask", if it has no position of its own; `position_rows`, the key of the config with
    the number of rows of the position table, if positions are an input that reads one;
    `max_tokens`, how many tokens have a position, if the text counts them, 0 if its tables tell;
    `has_choices`, whether each row has several texts, of which one is to be chosen.
    """

    shift_right: bool = False
    padding_by: Literal["", "input_ids", "attention_mask"] = ""
    position_rows: str = ""
    max_tokens: int = 0
    has_choices: bool = False


class ModelText(NamedTuple):
    """A model in the notation, and what else its architecture knows of files and inputs.

    Attributes: `source`, the text; `names`, the name map of `webnnm.snapshots.name_map`; `prefix`,
    the prefix of names in the files of models with logits, which the map leaves out; `constants`,
    tensors that files need not have, by their names in the map; `input_rules`; `float16_problem`,
    why it cannot compute in float16, if it cannot; `module_names`, pattern → published name, for
    parameters that have other names in the modules of transformers 5.
    """

    source: str
    names: Mapping[str, str | Form | None]
    prefix: str
    constants: Mapping[str, HostArray] = {}
    input_rules: InputRules = InputRules()
    float16_problem: str = ""
    module_names: Sequence[tuple[str, str]] = ()


def class_suffix(config: Config, *suffixes: str, default: str) -> str:
    """Return which of these suffixes the class name of a model has, such as "ForCausalLM".

    A config without a class means the default. Raises `DataError` NNM817 for an unknown class.
    """
    name = next(iter(config.texts("architectures", [])), default)
    for suffix in sorted(suffixes, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    class_names = ", ".join(f"…{suffix}" for suffix in suffixes)
    kind = config.get("model_type")
    raise DataError(
        "NNM817",
        f'config.json: models of type "{kind}" are known as {class_names}; '
        f"this one is {json.dumps(name)}",
        hint=suggestion(name, suffixes) or f'architecture="{default}" loads a different part of it',
    )


def count_classes(config: Config) -> int:
    """Return the number of classes of a classifier: configs name them; the default is two."""
    return len(config.object("id2label")) or config.size("num_labels", 2)


def linear_layers(parameter: str, size: int | str, *, bias: bool = True) -> tuple[str, ...]:
    """Return a product with a new weight, then the sum with its bias.

    >>> linear_layers("up", 8), linear_layers("up", 8, bias=False)
    (('matmul(up, shape=[8])', 'add(up_b)'), ('matmul(up, shape=[8])',))
    """
    product = f"matmul({parameter}, shape=[{size}])"
    return (product, f"add({parameter}_b)") if bias else (product,)


def linear_names(parameter: str, layer: str, *, bias: bool = True) -> dict[str, str | Form]:
    """Return the names of the weight and the bias of a linear layer of PyTorch.

    >>> linear_names("wq{n}", "layers.{n-1}.q_proj", bias=False)
    {'wq{n}': Transposed(source='layers.{n-1}.q_proj.weight')}

    The bias of `wq{n}` is `wq_b{n}`.
    """
    weight: dict[str, str | Form] = {parameter: Transposed(f"{layer}.weight")}
    return weight | ({bias_name(parameter): f"{layer}.bias"} if bias else {})


def declared_bias_names(parameter: str, layer: str, count: int) -> dict[str, str | Form]:
    """Return the names of a bias that a text declares with `shared=false`, for `count` layers.

    >>> declared_bias_names("up_b", "layers.{n-1}.fc1", 2)
    {'up_b': 'layers.0.fc1.bias', 'up_b{n}': 'layers.{n-1}.fc1.bias'}

    Models with a fixed number of tokens declare theirs: undeclared, a bias would have numbers for
    each token. The name of the first layer's has no number.
    """
    return declared_names(parameter, f"{layer}.bias", count)


def declared_names(parameter: str, tensor: str, count: int) -> dict[str, str | Form]:
    """Return the names of a parameter that a text declares with `shared=false`, for `count` layers.

    >>> declared_names("scale", "layers.{n-1}.scale", 2)
    {'scale': 'layers.0.scale', 'scale{n}': 'layers.{n-1}.scale'}
    """
    first: dict[str, str | Form] = {parameter: tensor.replace("{n-1}", "0")}
    return first | ({f"{parameter}{{n}}": tensor} if count > 1 else {})


def projection_names(parameter: str, layer: str, *, biases: str = "qkvo") -> dict[str, str | Form]:
    """Return the names of the projections of attention, in most files `q_proj` to `out_proj`.

    `parameter` is "w" for wq, wk, wv and wo; `biases` are the letters of those with a bias.
    """
    names: dict[str, str | Form] = {}
    for letter, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        names |= linear_names(f"{parameter}{letter}{{n}}", f"{layer}.{name}", bias=letter in biases)
    return names


def norm_names(parameter: str, layer: str) -> dict[str, str]:
    """Return the names of the scale and the bias of a layer normalisation."""
    return {parameter: f"{layer}.weight", bias_name(parameter): f"{layer}.bias"}


def last_product(separate: bool) -> dict[str, str | Form | None]:
    """Return the name of the weight that computes logits, unless it is tied to the embeddings."""
    return {"lm_head1": Transposed("lm_head.weight")} if separate else {"lm_head.weight": None}


def prefix_names(
    names: Mapping[str, str | Form | None], prefix: str
) -> dict[str, str | Form | None]:
    """Return a name map for files in which all names have a prefix.

    >>> prefix_names({"wq{n}": Transposed("layers.{n-1}.q.weight"), "pooler.*": None}, "encoder.")
    {'wq{n}': Transposed(source='encoder.layers.{n-1}.q.weight'), 'encoder.pooler.*': None}
    """

    def extend(origin: str | Form) -> str | Form:
        if isinstance(origin, str):
            return prefix + origin
        return replace(origin, source=extend(origin.source))

    return {
        prefix + name if origin is None else name: None if origin is None else extend(origin)
        for name, origin in names.items()
    }


def bias_name(parameter: str) -> str:
    """Return the name of the bias of a weight.

    >>> bias_name("wq{n}"), bias_name("final_norm1"), bias_name("up")
    ('wq_b{n}', 'final_norm_b1', 'up_b')
    """
    return re.sub(r"(\{n\}|\d*)$", r"_b\1", parameter, count=1)


def layers(*rows: str) -> str:
    """Return layers on separate lines, without empty ones."""
    return ",\n".join(f"  {layer}" for layer in rows if layer)


def output(
    name: str, size: int, *rows: str, tokens: bool = True, sequence: str = "tokens"
) -> list[str]:
    """Return the statements of an output: a vector for each token, or for all together."""
    along = f" sequence={sequence}" if tokens else ""
    return [f"{name}:output shape=[{size}]{along}", f"{name}:layers\n{layers(*rows)}"]


def statements(lines: Sequence[str]) -> str:
    """Return the text of these statements in canonical form."""
    return format_document(parse("".join(f"{line};\n" for line in ("webnnm 1.0", *lines) if line)))
