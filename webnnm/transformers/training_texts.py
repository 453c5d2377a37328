"""Datasets of texts for language models: each token is to be followed by the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.graph.vertices import Network
from webnnm.transformers.inputs import DEFAULTS
from webnnm.transformers.texts import end_tokens
from webnnm.transformers.training_pairs import (
    IGNORED,
    Lengths,
    Text,
    pairs_dataset,
    reads_pairs,
)

Example = Text | tuple[Text, Text]
"""A text, or a prompt and what is to follow it; either as tokens, too."""


class _Row(NamedTuple):
    """Tokens, and how many of them are given: those are no targets."""

    tokens: list[int]
    given: int = 0


def texts_dataset(
    network: Network,
    config: Mapping[str, Any],
    encode: Callable[[str], list[int]],
    texts: Sequence[Example],
    *,
    length: Lengths = None,
    split: Sequence[Any] = (1, 0, 0),
    batch_size: int = 4,
    seed: int = 0,
) -> Dataset:
    """Return a dataset for a causal model: inputs are tokens, targets the tokens after them.

    For models with an encoder it is `pairs_dataset`.

    Rows are padded at the end up to the longest one, or to `length`, to which longer texts are cut.
    Padding is masked out of attention, and like prompts it does not count in the loss.

    Raises `DataError` NNM717 for networks that do not go on with texts, NNM705 without texts,
    NNM711 for texts without a token to learn, NNM704 for a length below 2.
    """
    if reads_pairs(network):
        how = {"split": split, "batch_size": batch_size, "seed": seed}
        return pairs_dataset(network, config, encode, texts, length=length, **how)
    check_network(network)
    ends = sorted(end_tokens(config))
    rows = [_row(text, encode, ends[:1]) for text in texts]
    if length is not None and (not is_integer(length) or length < 2):
        raise DataError("NNM704", f"length is {length!r}", hint="an integer from 2, in tokens")
    if not rows:
        raise DataError("NNM705", "there are no texts", hint="give at least one")
    size = max(len(row.tokens) for row in rows)
    size = size if length is None else min(size, length)
    for place, row in enumerate(rows):
        if min(len(row.tokens), size) <= max(1, row.given):
            message = f"text {place} has {len(row.tokens)} tokens, {row.given} of them a prompt"
            raise DataError(
                "NNM711",
                f"{message}; up to {size} are taken, none is left to learn",
                hint="give longer texts, shorter prompts, or a larger length",
            )
    ids, mask, positions, targets = list[int](), list[int](), list[int](), list[int]()
    for tokens, given in rows:
        own = tokens[:size]
        rest = size - len(own)
        ids += own + [0] * rest
        mask += [1] * len(own) + [0] * rest
        positions += [*range(len(own))] + [0] * rest
        first = max(given, 1)
        targets += [IGNORED] * (first - 1) + own[first:] + [IGNORED] * (rest + 1)
    known = {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": positions,
        "token_type_ids": [0] * len(ids),
    }
    shape = len(rows), size
    inputs = {v.block: HostArray.of(known[v.block], "int32", shape) for v in network.inputs}
    (output,) = network.outputs
    return Dataset(
        inputs,
        {output.name: HostArray.of(targets, "int32", shape)},
        name="texts",
        kinds={output.name: "classes"},
        length=dict.fromkeys([*inputs, output.name], size),
        split=split,
        method="random",
        batch_size=batch_size,
        seed=seed,
    )


def check_network(network: Network) -> None:
    """Refuse networks that do not go on with texts (NNM717)."""
    known = {"input_ids", *DEFAULTS}
    strange = [vertex.block for vertex in network.inputs if vertex.block not in known]
    if strange or [output.name for output in network.outputs] != ["logits"]:
        outputs = ", ".join(output.name for output in network.outputs)
        inputs = ", ".join(vertex.block for vertex in network.inputs)
        raise DataError(
            "NNM717",
            f"the model makes {outputs} of {inputs}: it does not go on with texts",
            hint="models that give logits for each token learn from texts, or from pairs of them",
        )


def _row(text: Example, encode: Callable[[str], list[int]], ends: Sequence[int]) -> _Row:
    """Return the tokens of an example; what is given as text ends with the token that ends texts.

    A tuple of a prompt and a text stands for both, of which the second is learnt.
    """
    if not isinstance(text, tuple):
        return _Row(_tokens(text, encode, ends))
    prompt, following = cast("tuple[Text, Text]", text)
    given = _tokens(prompt, encode, ())
    return _Row(given + _tokens(following, encode, ends), len(given))


def _tokens(text: Text, encode: Callable[[str], list[int]], ends: Sequence[int]) -> list[int]:
    return [*encode(text), *ends] if isinstance(text, str) else [int(token) for token in text]
