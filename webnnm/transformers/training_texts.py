"""Datasets of texts for language models: the target of each token is the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.graph.elaboration.vertices import Network
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.architectures.rotary_rates import longest
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
"""A text, or a prompt and its continuation; either may be tokens, too."""


class _Row(NamedTuple):
    """Tokens, and how many of them are the prompt, which is not a target."""

    tokens: list[int]
    prompt_length: int = 0


def texts_dataset(
    network: Network,
    config: Mapping[str, Any],
    rules: InputRules,
    encode: Callable[[str], list[int]],
    texts: Sequence[Example],
    *,
    length: Lengths = None,
    packing: bool = False,
    split: Sequence[Any] = (1, 0, 0),
    batch_size: int = 4,
    seed: int = 0,
) -> Dataset:
    """Return a dataset for a causal model: inputs are tokens, targets the tokens after them.

    For models with an encoder, which reads inputs by `rules`, it is `pairs_dataset`.

    Rows are padded at the end to the longest one, or to `length`, to which longer texts are
    truncated. Padding is masked in attention, and like prompts it does not count in the loss. With
    `packing`, rows hold several texts, which do not attend to each other.

    Raises `DataError` NNM717 for networks that do not continue texts, NNM705 if there are no texts,
    NNM711 for texts without a token to learn, NNM704 for a length below 2, and for packing if
    attention does not keep texts apart.
    """
    if packing:
        _check_packing(network)
    if reads_pairs(network):
        options = {"split": split, "batch_size": batch_size, "seed": seed}
        return pairs_dataset(network, config, rules, encode, texts, length=length, **options)
    check_network(network)
    ends = sorted(end_tokens(config))
    rows = [_row(text, encode, ends[:1]) for text in texts]
    if length is not None and (not is_integer(length) or length < 2):
        raise DataError("NNM704", f"length is {length!r}", hint="an integer from 2, in tokens")
    if not rows:
        raise DataError("NNM705", "there are no texts", hint="give at least one")
    size = max(len(row.tokens) for row in rows)
    if length is not None:
        size = length if packing else min(size, length)
    for index, row in enumerate(rows):
        if min(len(row.tokens), size) <= max(1, row.prompt_length):
            message = (
                f"text {index} has {len(row.tokens)} tokens, "
                f"{row.prompt_length} of them in the prompt"
            )
            raise DataError(
                "NNM711",
                f"{message}; at most {size} are used, so none is left to learn",
                hint="give longer texts, shorter prompts, or a larger length",
            )
    limit = longest(config)
    if limit and size > limit[1] < max(len(row.tokens) for row in rows):
        message = (
            f'texts of up to {size} tokens; "{limit[0]}" is {limit[1]}, longer ones have other'
        )
        hint = f"give texts of at most {limit[1]} tokens, or pass length={limit[1]}"
        raise DataError("NNM711", f"{message} angles", hint=hint)
    packed = [[row] for row in rows]
    if packing:
        packed = _pack_rows(rows, size)
        size = max(sum(min(len(row.tokens), size) for row in group) for group in packed)
    columns: dict[str, list[int]] = {
        name: [] for name in ("input_ids", "attention_mask", "position_ids", "targets")
    }
    for row in packed:
        ids, segments, positions, targets = _columns(row, size)
        rest = size - len(ids)
        columns["input_ids"] += ids + [0] * rest
        columns["attention_mask"] += segments + [0] * rest
        columns["position_ids"] += positions + [0] * rest
        columns["targets"] += targets + [IGNORED] * rest
    columns["token_type_ids"] = [0] * len(columns["input_ids"])
    shape = len(packed), size
    inputs = {v.block: HostArray.of(columns[v.block], "int32", shape) for v in network.inputs}
    (output,) = network.outputs
    return Dataset(
        inputs,
        {output.name: HostArray.of(columns["targets"], "int32", shape)},
        name="texts",
        kinds={output.name: "classes"},
        length=dict.fromkeys([*inputs, output.name], size),
        split=split,
        method="random",
        batch_size=batch_size,
        seed=seed,
    )


def _columns(row: Sequence[_Row], size: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the tokens of texts in a row, the number of each token's text from 1, its position in
    the text, and its target."""
    ids, segments, positions, targets = list[int](), list[int](), list[int](), list[int]()
    for number, (tokens, prompt_length) in enumerate(row, 1):
        row_tokens = tokens[:size]
        ids += row_tokens
        segments += [number] * len(row_tokens)
        positions += range(len(row_tokens))
        first = max(prompt_length, 1)
        targets += [*[IGNORED] * (first - 1), *row_tokens[first:], IGNORED]
    return ids, segments, positions, targets


def _pack_rows(rows: Sequence[_Row], size: int) -> list[list[_Row]]:
    """Return rows of texts, packed by best fit, the longest first.

    Best fit decreasing makes at most 11/9 times as many rows as needed, plus 4 (D. Johnson et al.,
    "Worst-case performance bounds for simple one-dimensional packing algorithms", 1974).
    """
    packed: list[list[_Row]] = []
    by_room: dict[int, list[list[_Row]]] = {}
    for row in sorted(rows, key=lambda row: -len(row.tokens)):
        size_of_row = min(len(row.tokens), size)
        room = next((room for room in range(size_of_row, size) if by_room.get(room)), size)
        target = by_room[room].pop() if room < size else list[_Row]()
        if not target:
            packed.append(target)
        target.append(row)
        by_room.setdefault(room - size_of_row, []).append(target)
    return packed


def _check_packing(network: Network) -> None:
    """Raise NNM704 for networks in which texts of one row would attend to each other."""
    # Rotary embeddings depend on the distance of two tokens alone.
    counts_positions = any(
        layer.has("positional") and layer.operator.name != "rotaryEmbedding"
        for layer in network.order
    )
    mixing = [layer for layer in network.order if layer.operator.name == "attend"]
    apart = all("segments" in layer.tensors for layer in mixing)
    if reads_pairs(network) or not apart or counts_positions:
        raise DataError(
            "NNM704",
            "packing=True puts several texts into a row, which this model does not keep apart",
            hint="leave packing out, or write segments=attention_mask in attend layers, and "
            "positions as an embedding of position_ids",
        )


def check_network(network: Network) -> None:
    """Raise NNM717 for networks that do not continue texts."""
    supported = {"input_ids", *DEFAULTS}
    unknown = [vertex.block for vertex in network.inputs if vertex.block not in supported]
    if unknown or [output.name for output in network.outputs] != ["logits"]:
        outputs = ", ".join(output.name for output in network.outputs)
        inputs = ", ".join(vertex.block for vertex in network.inputs)
        raise DataError(
            "NNM717",
            f"the model computes {outputs} from {inputs}: it does not continue texts",
            hint="only models that return logits for each token learn from texts, or from pairs",
        )


def _row(text: Example, encode: Callable[[str], list[int]], ends: Sequence[int]) -> _Row:
    """Return the tokens of an example; a text gets the token that ends texts.

    A tuple of a prompt and a text means both, of which only the second is learnt.
    """
    if not isinstance(text, tuple):
        return _Row(_tokens(text, encode, ends))
    prompt, following = cast("tuple[Text, Text]", text)
    prompt_tokens = _tokens(prompt, encode, ())
    return _Row(prompt_tokens + _tokens(following, encode, ends), len(prompt_tokens))


def _tokens(text: Text, encode: Callable[[str], list[int]], ends: Sequence[int]) -> list[int]:
    return [*encode(text), *ends] if isinstance(text, str) else [int(token) for token in text]
