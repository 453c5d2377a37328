"""The inputs of a Hugging Face model: their shapes, their limits, and defaults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.ops.rotary import DIGIT
from webnnm.transformers.architectures.model_text import InputRules
from webnnm.transformers.architectures.rotary_rates import longest
from webnnm.transformers.config import text_config

Vertices = Mapping[str, InputVertex]

DEFAULTS: Mapping[str, Callable[[int], int]] = {
    "attention_mask": lambda position: 1,
    "position_ids": lambda position: position,
    "token_type_ids": lambda position: 0,
    "global_attention_mask": lambda position: 0,
}
"""Inputs that may be left out → the value at each position."""
TABLE_ROWS: Mapping[str, str] = {"input_ids": "vocab_size", "token_type_ids": "type_vocab_size"}
"""Inputs that are rows of tables → the key of the config with the number of rows."""


def read_inputs(
    config: Mapping[str, Any],
    values: Mapping[str, Any],
    inputs: Sequence[InputVertex],
    rules: InputRules,
) -> dict[str, HostArray]:
    """Return the data of inputs, with the defaults of Hugging Face for those that were left out.

    `rules` are those of the architecture, in its `ModelText`.

    Raises `DataError` NNM710 for wrong names, NNM702 for shapes that do not fit, NNM711 for values
    that are not rows of their tables.
    """
    vertices = {vertex.block: vertex for vertex in inputs}
    check_inputs(values, vertices)
    values = {name: value for name, value in values.items() if value is not None}
    numbers = {name for name, value in values.items() if _is_number(value)}
    arrays = {n: _array(vertices[n], value) for n, value in values.items() if n not in numbers}
    rows = next((array.shape[0] for array in arrays.values()), 1)
    for name in numbers:  # one for all rows
        arrays[name] = _array(vertices[name], HostArray.of(values[name], shape=[1]).tolist() * rows)
    lacks_decoder_ids = "decoder_input_ids" in vertices and "decoder_input_ids" not in arrays
    if rules.shift_right and lacks_decoder_ids and "input_ids" in arrays:
        start = config.get("decoder_start_token_id", 2)
        arrays["decoder_input_ids"] = _shift_tokens_right(arrays["input_ids"], start)
    if rules.padding_by:
        padding = (
            text_config(config).get("pad_token_id", 1) if rules.padding_by == "input_ids" else 0
        )
        _count_positions(vertices, arrays, rules.padding_by, padding)
    for name, vertex in vertices.items():
        if name not in arrays:
            arrays[name] = _default(vertex, arrays)
    _check_sizes(vertices, arrays)
    _check_values(config, arrays, rules)
    return {name: arrays[name] for name in vertices}


def check_inputs(names: Iterable[str], inputs: Collection[str]) -> None:
    """Raise `DataError` NNM710 for the name of an input that does not exist."""
    for name in names:
        if name not in inputs:
            hint = suggestion(name, inputs) or f"there are {', '.join(inputs)}"
            raise DataError("NNM710", f'the model has no input "{name}"', hint=hint)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or getattr(value, "shape", None) == ()


def _array(vertex: InputVertex, value: Any) -> HostArray:
    """Return data in the type and with the dimensions of an input."""
    array = HostArray.of(value, vertex.dtype)
    features = vertex.features[0]
    sizes = features.sizes()
    lead = 2 if features.sequence is not None else 1
    if (
        len(array.shape) != lead + len(sizes)
        or array.shape[lead:] != sizes
        or not count(array.shape)
    ):
        dimensions = ["batch", features.sequence][:lead] + list(map(str, sizes))
        expected = f"[{', '.join(str(dimension) for dimension in dimensions)}]"
        raise DataError(
            "NNM702", f"{vertex.block} is {expected}, but {show(array.shape)} was given"
        )
    return array


def _shift_tokens_right(ids: HostArray, start: int) -> HostArray:
    """Return the input of a decoder that writes these tokens again: each row shifted by one."""
    return HostArray.of([[start, *row[:-1]] for row in ids.tolist()], ids.dtype)


def _count_positions(
    vertices: Vertices, arrays: dict[str, HostArray], padding_by: str, padding: int
) -> None:
    """Add positions that were left out: 0, 1, 2, … for the tokens that are not padding.

    A token is padding where the input `padding_by` has the value `padding`.
    """
    for prefix in ("", "decoder_"):
        values, name = arrays.get(f"{prefix}{padding_by}"), f"{prefix}position_ids"
        if values is None or name not in vertices or name in arrays:
            continue
        rows: list[list[int]] = []
        for row in values.tolist():
            counts = accumulate(int(value != padding) for value in row)  # pyrefly: ignore[unknown-argument-type]
            rows.append([max(0, count - 1) for count in counts])
        arrays[name] = HostArray.of(rows, vertices[name].dtype)


def _default(vertex: InputVertex, arrays: Mapping[str, HostArray]) -> HostArray:
    """Return the default of Hugging Face for an input that is left out."""
    name = vertex.block
    prefix = "decoder_" if name.startswith("decoder_") else ""
    like = arrays.get(f"{prefix}input_ids", arrays.get(f"{prefix}input_values"))
    fill = DEFAULTS.get(name.removeprefix("decoder_"))
    if like is None or fill is None:
        raise DataError("NNM710", f"{name} is needed", hint=f"predict({name}=…)")
    batch, length = like.shape
    return HostArray.of(
        [fill(position) for position in range(length)] * batch, vertex.dtype, like.shape
    )


def _check_sizes(vertices: Vertices, arrays: Mapping[str, HostArray]) -> None:
    """Check that the numbers of rows and the lengths of sequences agree."""
    first: dict[str | None, tuple[str, int]] = {}
    for name, array in arrays.items():
        sizes: list[tuple[str | None, int]] = [(None, array.shape[0])]
        if sequence := vertices[name].features[0].sequence:
            sizes.append((sequence, array.shape[1]))
        for what, size in sizes:
            other, expected = first.setdefault(what, (name, size))
            if size != expected:
                message = f"{name} is {show(array.shape)}, {other} is {show(arrays[other].shape)}"
                raise DataError(
                    "NNM702",
                    message,
                    hint="they must have the same number of rows and the same length",
                )


def _check_values(
    config: Mapping[str, Any], arrays: Mapping[str, HostArray], rules: InputRules
) -> None:
    """Check that tokens are in the vocabulary, and other values in the tables of their inputs."""
    config = text_config(config)
    for name, array in arrays.items():
        if rules.max_tokens and array.shape[1] > rules.max_tokens:
            message = f"{array.shape[1]:,} tokens, but there are {rules.max_tokens:,} positions"
            raise DataError("NNM711", message, hint="shorten the texts")
        key = _rows_key(config, name, rules)
        rows = config.get(key)
        if isinstance(rows, int):
            limit, hint = rows, f'the config says "{key}": {rows}'
        elif name != "position_ids":
            continue
        elif rope_limit := longest(config):
            key, limit = rope_limit
            hint = f'rotary angles depend on "{key}": longer texts need others'
        else:
            limit, hint = DIGIT**3, "rotary angles are limited to positions in this range"
        values = array.values()
        lowest, highest = min(values), max(values)
        if lowest < 0 or highest >= limit:
            wrong = lowest if lowest < 0 else highest
            message = f"{name}: {wrong} is not from 0 to {limit - 1}"
            raise DataError("NNM711", message, hint=hint)


def _rows_key(config: Mapping[str, Any], name: str, rules: InputRules) -> str:
    """Return the key of the config with the number of rows of an input's table, "" for none."""
    if name == "decoder_input_ids" and config.get("decoder_vocab_size"):
        return "decoder_vocab_size"
    name = name.removeprefix("decoder_")
    return rules.position_rows if name == "position_ids" else TABLE_ROWS.get(name, "")
