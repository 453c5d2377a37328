"""Adapter files of `peft`: parts of fused layers, ranks that differ, files that are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.formats import peft
from webnnm.snapshots.foreign import Part, Reshaped, Transposed
from webnnm.snapshots.safetensors import chunks, read

CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 4}


def matrix(rows: int, columns: int, first: float = 1) -> HostArray:
    size = rows * columns
    return HostArray.of([first + n for n in range(size)], "float32", (rows, columns))


def file(names: dict[str, HostArray]) -> Any:
    return read(b"".join(chunks(names, {})))


def pair(module: str, a: HostArray, b: HostArray) -> dict[str, HostArray]:
    lead = f"base_model.model.{module}"
    return {f"{lead}.lora_A.weight": a, f"{lead}.lora_B.weight": b}


def catch_error(tensors: dict[str, HostArray], **config: Any) -> str:
    with pytest.raises(DataError) as caught:
        peft.read_adapter(file(tensors), json.dumps({**CONFIG, **config}))
    return str(caught.value)


def test_parts_of_one_layer_become_one_product_and_come_apart_again() -> None:
    places = [peft.locate_matrix(Part("attn.weight", n, 3, axis=1), 2) for n in (0, 2)]
    given = [peft.LowRank(matrix(3, 2), matrix(2, 2, 5 + n), 2.0) for n in range(2)]
    assert all(places)
    pairs = [(place, each) for place, each in zip(places, given, strict=True) if place]
    tensors, numbers = peft.adapter_tensors(pairs, "h.")
    assert numbers == {"h.attn": (4, 8.0)}
    assert tensors["base_model.model.h.attn.lora_B.weight"].tolist() == [
        [5, 7, 0, 0], [6, 8, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 6, 8], [0, 0, 7, 9],
    ]  # fmt: skip
    config = peft.adapter_config(
        numbers, ["h.mlp"], dropout=0.1, transposed=False, task=None, base=None
    )
    told = json.loads(config)
    assert (told["r"], told["lora_alpha"], told["target_modules"]) == (4, 8, ["attn"])
    found, dropout = peft.read_adapter(file(tensors), config)
    assert dropout == 0.1
    for place, each in pairs:
        part = peft.select_columns(found["h.attn"], place, 2)
        assert part.a.tolist() == each.a.tolist() and part.b.tolist() == each.b.tolist()
        assert part.scale == 2


def test_other_ranks_and_scales_become_one() -> None:
    given = {
        "a": peft.LowRank(matrix(3, 2), matrix(2, 2), 2.0),
        "b": peft.LowRank(matrix(3, 1), matrix(1, 2), 1.0),
    }
    found, rank, scale = peft.equalize_ranks(given)
    assert (rank, scale) == (2, 2.0)
    assert found["b"].a.tolist() == [[1, 0], [2, 0], [3, 0]]
    assert found["b"].b.tolist() == [[0.5, 1], [0, 0]]


def test_ranks_of_single_layers_are_written_and_read() -> None:
    numbers = {"x.q": (2, 4.0), "x.o": (6, 12.0)}
    config = peft.adapter_config(numbers, ["y.q"], dropout=0, transposed=True, task=None, base=None)
    told = json.loads(config)
    assert told["target_modules"] == ["x.o", "x.q"]  # "q" alone would mean y.q, too
    assert told["rank_pattern"] == {"x.o": 6} and told["alpha_pattern"] == {"x.o": 12}
    tensors = pair("x.q", matrix(2, 3), matrix(3, 2)) | pair("x.o", matrix(6, 3), matrix(3, 6))
    found, _ = peft.read_adapter(file(tensors), config)
    assert {name: each.scale for name, each in found.items()} == {"x.q": 2, "x.o": 2}


def test_what_is_not_a_matrix_of_a_layer_has_no_place() -> None:
    assert peft.locate_matrix(Transposed("fc.weight"), 3) == peft.MatrixSlice("fc", 0, 3, True)
    for source in ("fc.bias", Reshaped("fc.weight", (2, 3))):
        assert peft.locate_matrix(source, 3) is None


def test_files_that_cannot_be_taken_are_named() -> None:
    whole = pair("q", matrix(2, 3), matrix(3, 2))
    one = dict([next(iter(whole.items()))])
    assert 'for "q" the file has only lora_A' in catch_error(one)
    assert 'tensor "q.lora_magnitude" is not a factor' in catch_error(
        {"q.lora_magnitude": matrix(1, 1)}
    )
    assert "lora_A is [2, 3], lora_B [3, 4]" in catch_error(pair("q", matrix(2, 3), matrix(3, 4)))
    assert '"q": the rank is 3 in the config, but lora_A is [2, 3]' in catch_error(whole, r=3)
    assert "the file has no tensors" in catch_error({})
    assert '"use_dora" is true' in catch_error(whole, use_dora=True)
    assert '"modules_to_save" is ["lm_head"]' in catch_error(whole, modules_to_save=["lm_head"])
    assert '"(a+)+$"' in catch_error(whole, rank_pattern={"(a+)+$": 2})
    assert "NNM802" in catch_error(whole, r="two")
    with pytest.raises(DataError, match=r"there is no adapter_config\.json"):
        peft.read_adapter(file(whole), None)
    place = peft.MatrixSlice("q", 0, 5, transposed=True)
    with pytest.raises(DataError, match='"q" has 5 columns, the adapter 3'):
        peft.select_columns(peft.LowRank(matrix(3, 2), matrix(2, 3), 1.0), place, 5)


ODD: tuple[Any, ...] = (0, -1, 1.5, 2**70, 1e300, True, "", "x", [], [1], {}, {"a": 1}, {"q": "x"})


@pytest.mark.parametrize(
    "key",
    [
        *("r", "lora_alpha", "lora_dropout", "rank_pattern", "alpha_pattern", "peft_type", "bias"),
        *("use_dora", "use_rslora", "modules_to_save", "target_modules", "layer_replication"),
    ],
)
def test_configs_of_any_type_are_named(key: str) -> None:
    whole = pair("q", matrix(2, 3), matrix(3, 2))
    for value in ODD:
        text = json.dumps({**CONFIG, key: value})
        try:
            found, dropout = peft.read_adapter(file(whole), text)
        except DataError as error:
            assert error.code in ("NNM802", "NNM805", "NNM806", "NNM818")
        else:
            assert math.isfinite(found["q"].scale) and 0 <= dropout < 1
    for text in ("", "[]", "5", "null", "{", '{"r": 1e999}', '{"r": NaN}', "[" * 100_000):
        with pytest.raises(DataError, match="NNM802"):
            peft.read_adapter(file(whole), text)
