"""Datasets of pairs for models with an encoder: a source, and the target to be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.graph.elaboration.vertices import Network
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.beginning import begin_rows, pad_with_mask
from webnnm.transformers.inputs import DEFAULTS, read_inputs
from webnnm.transformers.texts import end_tokens

IGNORED = -1
"""The target at positions that do not count: padding, prompts, the last token of a text."""
Text = str | Sequence[int]
Lengths = int | tuple[int | None, int | None] | None
ASIDE = "encoder_last_hidden_state"
"""The output without targets."""


def reads_pairs(network: Network) -> bool:
    """Return whether a network writes texts of one sequence of tokens about those of another."""
    supported = {f"{of}{name}" for of in ("", "decoder_") for name in ("input_ids", *DEFAULTS)}
    inputs = {vertex.block for vertex in network.inputs}
    outputs = {output.name for output in network.outputs}
    return {"input_ids", "decoder_input_ids"} <= inputs <= supported and outputs == {
        "logits",
        ASIDE,
    }


def pairs_dataset(
    network: Network,
    config: Mapping[str, Any],
    rules: InputRules,
    encode: Callable[[str], list[int]],
    pairs: Sequence[Any],
    *,
    length: Lengths = None,
    **options: Any,
) -> Dataset:
    """Return a dataset for a model with an encoder, which learns to write targets from sources.

    The decoder reads the targets shifted by one, after the config's `decoder_start_token_id`, as
    `transformers` does for `labels`. Sources and targets are each padded at the end to the longest,
    or truncated to `length`; padding is masked, and does not count in the loss. `rules` are those
    of `read_inputs`, `options` those of `Dataset`.

    Raises `DataError` NNM705 if there are no pairs, NNM714 for anything that is not a pair, NNM711
    for tokens out of the vocabulary and texts without tokens, NNM704 for a length below 1, NNM818
    for a config without the first token.
    """
    limits = _lengths(length)
    if not pairs:
        raise DataError("NNM705", "there are no pairs", hint="give at least one")
    ends = sorted(end_tokens(config))
    sources, targets = list[list[int]](), list[list[int]]()
    for index, pair in enumerate(pairs):
        source, target = _pair(index, pair)
        sources.append(_tokens(source, encode, ())[: limits[0]])
        targets.append(_tokens(target, encode, ends)[: limits[1]])
        for side, tokens in (("source", sources[-1]), ("target", targets[-1])):
            if not tokens:
                message = f"the {side} of pair {index} has no tokens"
                raise DataError("NNM711", message, hint="leave the pair out")
    inputs = _inputs(network, config, rules, sources, targets)
    labels, counted = pad_with_mask(targets)
    labels_flat = [
        token if counts else IGNORED
        for row, marks in zip(labels, counted, strict=True)
        for token, counts in zip(row, marks, strict=True)
    ]
    logits = HostArray.of(labels_flat, "int32", (len(labels), len(labels[0])))
    lengths = {name: array.shape[1] for name, array in inputs.items()}
    data = Dataset(
        inputs,
        {"logits": logits},
        name="pairs",
        kinds={"logits": "classes"},
        length=lengths | {"logits": logits.shape[1]},
        method="random",
        **options,
    )
    data.without_targets = {ASIDE}
    return data


def _inputs(
    network: Network,
    config: Mapping[str, Any],
    rules: InputRules,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> dict[str, HostArray]:
    """Return the inputs of the encoder, and of the decoder that writes the targets."""
    begin = begin_rows(config, 1).rows[0][0]
    padding = config.get("pad_token_id") or 0
    values: dict[str, Any] = {}
    for prefix, rows in ("", sources), ("decoder_", [[begin, *row[:-1]] for row in targets]):
        ids, mask = pad_with_mask(rows, padding)
        values |= {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask}
    names = {vertex.block for vertex in network.inputs}
    used = {name: value for name, value in values.items() if name in names}
    return read_inputs(config, used, network.inputs, rules)


def _pair(index: int, pair: Any) -> tuple[Text, Text]:
    if isinstance(pair, tuple) and len(cast("tuple[Any, ...]", pair)) == 2:
        return cast("tuple[Text, Text]", pair)
    raise DataError(
        "NNM714",
        f"text {index} is {str(cast(object, pair))[:60]!r}, and the model has an encoder",
        hint="pass pairs: tuples of a source and the target to be written",
    )


def _tokens(text: Text, encode: Callable[[str], list[int]], ends: Sequence[int]) -> list[int]:
    """Return tokens; a target text gets a token that ends texts."""
    if not isinstance(text, str):
        return [int(token) for token in text]
    tokens = encode(text)
    return tokens if not ends or (tokens[-1:] and tokens[-1] in ends) else [*tokens, ends[0]]


def _lengths(length: Lengths) -> tuple[int | None, int | None]:
    limits = length if isinstance(length, tuple) else (length, length)
    if len(limits) != 2 or not all(
        limit is None or (is_integer(limit) and limit > 0) for limit in limits
    ):
        hint = "an integer from 1, or a tuple of two: for sources and targets"
        raise DataError("NNM704", f"length is {length!r}", hint=hint)
    return limits
