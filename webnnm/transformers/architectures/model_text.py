"""The result of an architecture: a model text and the names of its parameters in files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.config import Config


class ModelText(NamedTuple):
    """A model in the notation, and the names of its parameters in the files of Hugging Face.

    Attributes: `source`, the text; `names`, the name map of `webnnm.snapshots.name_map`; `prefix`,
    the prefix of names in the files of models with a head, which the map leaves out; `made`,
    tensors that files need not have, by their names in the map.
    """

    source: str
    names: Mapping[str, str | Form | None]
    prefix: str
    made: Mapping[str, HostArray] = {}


def head(config: Config, *suffixes: str, default: str) -> str:
    """Return the class of a model within its family, by the suffix of its name: "ForCausalLM".

    Raises `DataError` NNM817 for an unknown class.
    """
    class_names = config.texts("architectures", [])
    name = class_names[0] if class_names else default
    for suffix in sorted(suffixes, key=len, reverse=True):
        if name.endswith(suffix):
            return suffix
    ends = ", ".join(f"…{suffix}" for suffix in suffixes)
    kind = config.get("model_type")
    raise DataError(
        "NNM817",
        f'config.json: models of type "{kind}" are known as {ends}; this one is {json.dumps(name)}',
        hint=suggestion(name, suffixes) or f'architecture="{default}" loads a different part of it',
    )


def linear_names(parameter: str, layer: str, *, bias: bool = True) -> dict[str, str | Form]:
    """Return the names of the weight and the bias of a linear layer of PyTorch.

    >>> linear_names("wq{n}", "layers.{n-1}.q_proj", bias=False)
    {'wq{n}': Transposed(source='layers.{n-1}.q_proj.weight')}

    The bias of `wq{n}` is `wq_b{n}`.
    """
    weight: dict[str, str | Form] = {parameter: Transposed(f"{layer}.weight")}
    return weight | ({bias_name(parameter): f"{layer}.bias"} if bias else {})


def own_bias_names(parameter: str, layer: str, count: int) -> dict[str, str | Form]:
    """Return the names of a declared bias, of which each layer has its own: the first has no
    number.

    >>> own_bias_names("up_b", "layers.{n-1}.fc1", 1)
    {'up_b': 'layers.0.fc1.bias'}
    """
    first: dict[str, str | Form] = {parameter: f"{layer.replace('{n-1}', '0')}.bias"}
    return first | ({f"{parameter}{{n}}": f"{layer}.bias"} if count > 1 else {})


def norm_names(parameter: str, layer: str) -> dict[str, str]:
    """Return the names of the scale and the bias of a layer normalisation."""
    return {parameter: f"{layer}.weight", bias_name(parameter): f"{layer}.bias"}


def last_product(separate: bool) -> dict[str, str | Form | None]:
    """Return the name of the weight that computes logits, unless it is tied to the embeddings."""
    return {"lm_head1": Transposed("lm_head.weight")} if separate else {"lm_head.weight": None}


def bias_name(parameter: str) -> str:
    """Return the name of the bias of a weight.

    >>> bias_name("wq{n}"), bias_name("final_norm1")
    ('wq_b{n}', 'final_norm_b1')
    """
    return re.sub(r"(\{n\}|\d+)$", r"_b\1", parameter)


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
