"""Models with an encoder learn from pairs: what is read, and what is written of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import pack, write
from webnnm import DataError, PretrainedModel
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import count

CONFIG: dict[str, Any] = {
    "model_type": "t5",
    "architectures": ["T5ForConditionalGeneration"],
    "is_encoder_decoder": True,
    "vocab_size": 13,
    "d_model": 12,
    "d_kv": 4,
    "d_ff": 16,
    "num_layers": 1,
    "num_heads": 2,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}
PAIRS = [([2, 3, 4, 1], [5, 6, 1]), ([3, 2, 1], [6, 5, 1]), ([4, 4, 1], [7, 1]), ([2, 1], [5, 1])]
QUIET: dict[str, Any] = {"batch_size": 4, "progress": "off", "seed": 1}
pytestmark = pytest.mark.desktop


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shapes of a tiny T5."""
    found: dict[str, tuple[int, ...]] = {"shared.weight": (13, 12)}
    for stack, parts in ("encoder", ("Self",)), ("decoder", ("Self", "EncDec")):
        layers = f"{stack}.block.0.layer"
        for place, part in enumerate(parts):
            attention = f"{layers}.{place}.{part}Attention"
            found |= {f"{attention}.{word}.weight": (8, 12) for word in "qkv"}
            found[f"{attention}.o.weight"] = (12, 8)
            found[f"{layers}.{place}.layer_norm.weight"] = (12,)
        dense = f"{layers}.{len(parts)}"
        found[f"{layers}.0.SelfAttention.relative_attention_bias.weight"] = (32, 2)
        found[f"{dense}.DenseReluDense.wi.weight"] = (16, 12)
        found[f"{dense}.DenseReluDense.wo.weight"] = (12, 16)
        found[f"{dense}.layer_norm.weight"] = found[f"{stack}.final_layer_norm.weight"] = (12,)
    return found


async def load(folder: Path, config: dict[str, Any] = CONFIG, **more: Any) -> PretrainedModel:
    """Return a tiny T5 on NumPy."""
    weights: dict[str, HostArray] = {}
    for name, shape in shapes().items():
        stream = Stream(0, Purpose.RANDOMIZE, name)
        drawn = [(stream.below(17) - 8) / 16 for _ in range(count(shape))]
        weights[name] = HostArray.of(drawn, "float32", shape)
    files = {"model.safetensors": pack(weights)}
    return await webnnm.from_pretrained(
        write(folder, config, files), backend="numpy", log=lambda line: None, **more
    )


async def test_targets_are_read_a_place_later_and_padding_does_not_count(tmp_path: Path) -> None:
    model = await load(tmp_path)
    inputs, targets = model.texts(PAIRS[:3]).arrays("training")
    assert {name: array.tolist() for name, array in inputs.items()} == {
        "input_ids": [[2, 3, 4, 1], [3, 2, 1, 0], [4, 4, 1, 0]],
        "attention_mask": [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0]],
        "decoder_input_ids": [[0, 5, 6], [0, 6, 5], [0, 7, 0]],
        "decoder_attention_mask": [[1, 1, 1], [1, 1, 1], [1, 1, 0]],
    }
    assert targets["logits"].tolist() == [[5, 6, 1], [6, 5, 1], [7, 1, -1]]
    cut = model.texts(PAIRS[:1], length=(3, 2)).arrays("training")
    assert cut[0]["input_ids"].tolist() == [[2, 3, 4]]
    assert cut[1]["logits"].tolist() == [[5, 6]]


async def test_a_model_learns_to_write_targets(tmp_path: Path) -> None:
    model = await load(tmp_path)
    history = await model.train_on(PAIRS, epochs=20, lr=0.1, **QUIET)
    assert history.epochs[-1].loss < history.epochs[0].loss / 2
    tested = await model.test("training")
    assert tested.loss < history.epochs[0].loss / 2
    found = await model.predict(input_ids=[[2, 1]], decoder_input_ids=[[0]])
    assert found.keys() == {"logits", "encoder_last_hidden_state"}


async def test_adapters_of_encoder_and_decoder_are_trained_alone(tmp_path: Path) -> None:
    model = await load(tmp_path)
    before = {name: bytes(array.data) for name, array in model.state.parameters.values().items()}
    assert len(await model.add_lora(rank=2)) == 12
    history = await model.train_on(PAIRS, held_back=0.25, epochs=4, lr=0.05, **QUIET)
    assert history.epochs[-1].loss < history.epochs[0].loss
    assert history.epochs[-1].val_loss is not None
    after = {name: bytes(array.data) for name, array in model.state.parameters.values().items()}
    assert {name: after[name] for name in before} == before
    assert all(any(after[name]) for name in after.keys() - before)


async def test_a_training_goes_on_from_a_file(tmp_path: Path) -> None:
    model = await load(tmp_path)
    await model.train_on(PAIRS, epochs=2, lr=0.02, **QUIET)
    again = await webnnm.NNModel.load(await model.save(), backend="numpy", log=lambda line: None)
    again.set_dataset(model.texts(PAIRS))
    history = await again.train(resume=True, epochs=4, progress="off")
    assert history.resumed_after == 2


async def test_what_teaches_nothing_is_refused(tmp_path: Path) -> None:
    model = await load(tmp_path)
    for pairs, length, message in (
        ([[2, 3, 1]], None, "NNM714: text 0 is .*, and the model has an encoder"),
        ([*PAIRS, ([2], [])], None, "NNM711: the target of pair 4 has no token"),
        ([([13], [2])], None, "NNM711: input_ids: 13 is not from 0 to 12"),
        (PAIRS, 0, "NNM704: length is 0"),
        ([], None, "NNM705: there are no pairs"),
    ):
        with pytest.raises(DataError, match=message):
            model.texts(pairs, length=length)
    with pytest.raises(DataError, match="NNM704: packing=True puts several texts into a row"):
        model.texts(PAIRS, packing=True)
    config = {key: value for key, value in CONFIG.items() if key != "decoder_start_token_id"}
    without = await load(tmp_path, config)
    with pytest.raises(DataError, match='NNM818: the config has no "decoder_start_token_id"'):
        without.texts(PAIRS)


async def test_several_texts_of_a_source_are_those_of_equal_sources(tmp_path: Path) -> None:
    model = await load(tmp_path)
    settings: dict[str, Any] = {"max_new_tokens": 8, "temperature": 3.0, "seed": 2}
    several = await model.generate_ids([[2, 3, 4], [5]], num_return_sequences=2, **settings)
    equal = await model.generate_ids([[2, 3, 4], [2, 3, 4], [5], [5]], **settings)
    assert several == equal and several[0] != several[1]
