"""Texts that share rows: the losses, gradients and scores of each are those of it alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers import folders
from webnnm import DataError, PretrainedModel
from webnnm.core.arrays import HostArray
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import Shape, count

GPT2: dict[str, Any] = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 31,
    "n_positions": 12,
    "n_embd": 8,
    "n_layer": 2,
    "n_head": 2,
}
TEXTS = [[1, 2, 3, 4, 5], ([6, 7], [8]), [9, 10, 11, 12], [13, 14]]
STEP: dict[str, Any] = {
    "epochs": 1,
    "lr": 1.0,
    "schedule": "constant",
    "warmup_epochs": 0,
    "optimizer": "sgdm",
    "weight_decay": 0.0,
    "gradient_clipping": "off",
    "restore_best": False,
    "progress": "off",
}
pytestmark = pytest.mark.desktop


def gpt2_shapes() -> dict[str, Shape]:
    """Return the shapes of a tiny GPT-2."""
    found: dict[str, Shape] = {"wte.weight": (31, 8), "wpe.weight": (12, 8)}
    for n in range(2):
        for name, shape in (
            ("attn.c_attn", (8, 24)),
            ("attn.c_proj", (8, 8)),
            ("mlp.c_fc", (8, 32)),
            ("mlp.c_proj", (32, 8)),
            ("ln_1", (8,)),
            ("ln_2", (8,)),
        ):
            found |= {f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[-1:]}
    return found | {"ln_f.weight": (8,), "ln_f.bias": (8,)}


async def load(folder: Path, kind: str) -> PretrainedModel:
    """Return a tiny model on NumPy."""
    if kind == "llama":
        folders.write(folder)
    else:
        weights: dict[str, HostArray] = {}
        for name, shape in gpt2_shapes().items():
            drawn = Stream(0, Purpose.RANDOMIZE, name).uniform(count(shape))
            weights[name] = HostArray.of([0.6 * u - 0.3 for u in drawn], "float32", shape)
        folders.write(folder, GPT2, {"model.safetensors": folders.pack(weights)})
    return await webnnm.from_pretrained(folder, backend="numpy", log=lambda line: None)


async def test_rows_take_as_many_texts_as_fit(tmp_path: Path) -> None:
    model = await load(tmp_path, "llama")
    inputs, targets = model.texts(TEXTS, packing=True, length=8).arrays("training")
    assert {name: array.tolist() for name, array in inputs.items()} == {
        "input_ids": [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 0, 0]],
        "attention_mask": [[1, 1, 1, 1, 1, 2, 2, 2], [1, 1, 1, 1, 2, 2, 0, 0]],
        "position_ids": [[0, 1, 2, 3, 4, 0, 1, 2], [0, 1, 2, 3, 0, 1, 0, 0]],
    }
    assert targets["logits"].tolist() == [
        [2, 3, 4, 5, -1, -1, 8, -1],
        [10, 11, 12, -1, 14, -1, -1, -1],
    ]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
async def test_a_step_is_that_of_the_texts_in_rows_of_their_own(kind: str, tmp_path: Path) -> None:
    after: list[dict[str, HostArray]] = []
    losses: list[float] = []
    for packing, length in ((False, None), (True, 8)):
        model = await load(tmp_path, kind)
        history = await model.train_on(
            TEXTS, packing=packing, length=length, batch_size=2 if packing else 4, **STEP
        )
        losses.append(history.epochs[0].loss)
        after.append(model.state.parameters.values())
    before = (await load(tmp_path, kind)).state.parameters.values()
    assert abs(losses[0] - losses[1]) < 1e-5 * losses[0]
    for name, start in before.items():
        rows = zip(start.values(), after[0][name].values(), after[1][name].values(), strict=True)
        steps = [(alone - first, packed - first) for first, alone, packed in rows]
        largest = max(abs(alone) for alone, _ in steps)
        # Softmax does not see a bias of all keys.
        assert largest > 0 or name.startswith("wk_b"), name
        assert max(abs(alone - packed) for alone, packed in steps) < 1e-5 * max(largest, 1), name


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
async def test_scores_are_those_of_each_text(kind: str, tmp_path: Path) -> None:
    model = await load(tmp_path, kind)
    whole = await model.predict(
        input_ids=[[1, 2, 3, 9, 8, 7, 6, 0]],
        attention_mask=[[1, 1, 1, 2, 2, 2, 2, 0]],
        position_ids=[[0, 1, 2, 0, 1, 2, 3, 0]],
    )
    (found,) = whole["logits"].tolist()
    for ids, rows in (([1, 2, 3], found[:3]), ([9, 8, 7, 6], found[3:7])):
        (alone,) = (await model.predict(input_ids=[ids]))["logits"].tolist()
        for own, shared in zip(alone, rows, strict=True):
            assert max(abs(a - b) for a, b in zip(own, shared, strict=True)) < 1e-5


async def test_texts_longer_than_angles_are_known_for_are_refused(tmp_path: Path) -> None:
    scaling = {"rope_type": "dynamic", "factor": 2.0}
    config = {**folders.CONFIG, "max_position_embeddings": 6, "rope_scaling": scaling}
    folders.write(tmp_path, config)
    model = await webnnm.from_pretrained(tmp_path, backend="numpy", log=lambda line: None)
    rows = [[1, 2, 3, 4, 5, 6]]
    assert (await model.predict(input_ids=rows))["logits"].shape == (1, 6, 31)
    for text in ([*rows[0], 7], [7, *rows[0], 8, 9]):
        with pytest.raises(DataError, match=r"NNM711.*\n.*max_position_embeddings"):
            await model.predict(input_ids=[text])
        with pytest.raises(DataError, match=r'NNM711.*"max_position_embeddings" is 6'):
            model.texts([text])
    assert len(model.texts([[*rows[0], 7]], length=6).arrays("training")[0]["input_ids"]) == 1
    assert len(await model.generate_ids([1, 2, 3], max_new_tokens=20)) <= 6


async def test_rotary_angles_go_by_positions(tmp_path: Path) -> None:
    model = await load(tmp_path, "llama")
    ids = [[1, 2, 3, 4]]
    alone, far, apart = [
        (await model.predict(input_ids=ids, position_ids=[places]))["logits"].tolist()[0][-1]
        for places in ([0, 1, 2, 3], [70001, 70002, 70003, 70004], [0, 1, 2, 9])
    ]
    assert max(abs(a - b) for a, b in zip(alone, far, strict=True)) < 1e-4
    assert max(abs(a - b) for a, b in zip(alone, apart, strict=True)) > 1e-3
    with pytest.raises(DataError, match="NNM711: position_ids: 262144 is not from 0 to 262143"):
        await model.predict(input_ids=ids, position_ids=[[0, 1, 2, 64**3]])
