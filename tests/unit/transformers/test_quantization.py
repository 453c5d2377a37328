"""Models whose matrices are stored in few bits: what they compute, hold, keep, and refuse."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import wide_files
from webnnm import DataError, ModelError, NNModel, PretrainedModel, quantize
from webnnm.core.arrays import HostArray

IDS = [[3, 7, 30, 0], [1, 2, 5, 9]]
TEXTS = [[1, 2, 3, 4, 5, 6], [7, 8, 9], [2, 4, 6, 8], [1, 3, 5, 7, 9, 11, 13]]
QUIET: dict[str, Any] = {"optimizer": "adamw", "progress": "off"}
pytestmark = pytest.mark.desktop


def folder_in(place: Path) -> Path:
    """Write a Llama whose matrices are large enough to be packed."""
    for name, data in wide_files().items():
        (place / name).write_bytes(data)
    return place


async def load(place: Path, **more: Any) -> PretrainedModel:
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda line: None, **more}  # type: ignore[reportUnknownLambdaType]
    return await webnnm.from_pretrained(folder_in(place), **settings)


async def logits(model: PretrainedModel) -> list[float]:
    found = HostArray.of((await model.predict(input_ids=IDS))["logits"])
    return [*found.values()]


def away(found: list[float], expected: list[float]) -> float:
    """Return the distance relative to what is expected."""
    off = sum((a - b) ** 2 for a, b in zip(found, expected, strict=True))
    return (off / sum(b * b for b in expected)) ** 0.5


@pytest.mark.parametrize(
    ("weights", "bits", "most"), [("float16", 16, 1e-3), ("int8", 8.5, 0.02), ("int4", 5, 0.25)]
)
async def test_matrices_take_fewer_bits_and_compute_nearly_the_same(
    tmp_path: Path, weights: str, bits: float, most: float
) -> None:
    async with await load(tmp_path) as model:
        expected, whole = await logits(model), model.memory().kinds["parameters"]
        names = await quantize(model, weights)
        assert len(names) == 15 and "attention_norm1" not in names
        assert f"wq1 {weights}[64, 64]" in model.summary()
        size = model.memory().kinds["parameters"]
        found = await logits(model)
        assert 0 < away(found, expected) < most
        # Five norms are float32, and the table is int8 where the others are int4.
        table, others = 40 * 64, (whole - 5 * 64 * 4) // 4 - 40 * 64
        table_bits = 8.5 if weights == "int4" else bits
        assert (
            size == model.memory().stored == 5 * 64 * 4 + (table * table_bits + others * bits) / 8
        )
    async with await load(tmp_path, weights=weights) as model:
        assert await logits(model) == found
        assert len(await model.generate_ids([5, 3], max_new_tokens=3)) == 5
        values = model.state.parameters.value("wq1")
        assert (values.dtype, values.shape) == ("float32", (64, 64))


async def test_float32_comes_back_with_what_was_rounded(tmp_path: Path) -> None:
    async with await load(tmp_path, weights="int8") as model:
        found, value = await logits(model), model.state.parameters.value("up2").tolist()
        assert await quantize(model, None) == []
        assert model.state.parameters.value("up2").tolist() == value
        assert away(await logits(model), found) < 1e-6
        await quantize(model, "int8")
        assert model.state.parameters.value("up2").tolist() == value


async def test_a_snapshot_keeps_them_packed(tmp_path: Path) -> None:
    async with await load(tmp_path, weights="int4") as model:
        expected, file = await logits(model), await model.save()
        plain = model.state.parameters.values()
    assert len(file) < sum(len(array.data) for array in plain.values()) / 3
    async with await NNModel.load(file, backend="numpy", log=lambda _: None) as again:
        assert {n: a.tolist() for n, a in again.state.parameters.values().items()} == {
            n: a.tolist() for n, a in plain.items()
        }
        assert again.state.parameters.tensors["wq1/whole"].type.dtype == "uint4"
        assert "wq1 int4[64, 64]" in again.summary()
        context = await again.create_context(2, sequence_length=4)
        ids = {"input_ids": HostArray.of(IDS, "int32")}
        ids["attention_mask"] = HostArray.of([[1] * 4] * 2, "int32")
        ids["position_ids"] = HostArray.of([[0, 1, 2, 3]] * 2, "int32")
        found = (await context.compute(ids))["logits"]
        assert away([*found.values()], expected) < 1e-6
    async with await load(tmp_path) as other:
        await other.load_params(file)
        assert away(await logits(other), expected) < 1e-6


async def test_adapters_are_trained_beside_a_packed_base(tmp_path: Path) -> None:
    async with await load(tmp_path, weights="int4") as model:
        before = {n: bytes(a.data) for n, a in (await on_device(model)).items()}
        expected = await logits(model)
        await model.add_lora(rank=2)
        assert away(await logits(model), expected) < 1e-6
        history = await model.train_on(TEXTS, epochs=4, batch_size=2, **QUIET)
        assert history.epochs[-1].loss < history.epochs[0].loss
        after = {n: bytes(a.data) for n, a in (await on_device(model)).items()}
        assert {name: after[name] for name in before} == before
        with pytest.raises(DataError, match=r"NNM704.*which is int4"):
            await model.merge_lora()
        learnt = await logits(model)
        await quantize(model, None)
        await model.merge_lora()
        assert away(await logits(model), learnt) < 1e-5


async def test_a_processor_may_hold_float32_of_what_the_host_keeps_packed(tmp_path: Path) -> None:
    async with await load(tmp_path, weights="int4") as model:
        expected = await logits(model)
    backend = await webnnm.backend("numpy")
    backend.unpacks = True
    async with await load(tmp_path, backend=backend, weights="int4") as model:
        assert model.state.parameters.tensors["wq1"].type.dtype == "float32"
        assert model.memory().stored < model.memory().kinds["parameters"] / 5
        assert away(await logits(model), expected) < 1e-6
        assert "wq1 int4[64, 64]" in model.summary()
        await model.add_lora(rank=2)
        await model.train_on(TEXTS, epochs=1, batch_size=2, **QUIET)
        await model.remove_lora()
        assert away(await logits(model), expected) < 1e-6
        assert len(await model.save()) < 60_000
        await quantize(model, None)
        assert away(await logits(model), expected) < 1e-6


async def on_device(model: PretrainedModel) -> dict[str, HostArray]:
    tensors = model.state.parameters.tensors
    return dict(zip(tensors, await model.backend.read(*tensors.values()), strict=True))


async def test_packed_parameters_are_neither_trained_nor_set(tmp_path: Path) -> None:
    async with await load(tmp_path, weights="int8") as model:
        with pytest.raises(ModelError, match=r"NNM605.*stored as int8(.|\n)*add_lora"):
            await model.train_on(TEXTS, epochs=1, **QUIET)
        with pytest.raises(DataError, match=r'NNM704.*"wq1" is packed'):
            model.state.parameters.set("wq1", [[0.0] * 64] * 64)
        for wrong in ({"weights": "int3"}, {"weights": "int8", "block": 0}):
            with pytest.raises(DataError, match=r"NNM704"):
                await quantize(model, **wrong)
        assert len(await logits(model)) == 2 * 4 * 40


async def test_onnx_holds_them_packed(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    async with await load(tmp_path, weights="int8") as model:
        path = await model.export(tmp_path / "model.onnx", batch=1, sequence=4)
    types = [each.data_type for each in onnx.load(path).graph.initializer]
    assert types.count(onnx.TensorProto.INT8) >= 15
    assert path.stat().st_size < 120_000


async def test_models_compute_in_float16(tmp_path: Path) -> None:
    async with await load(tmp_path) as model:
        expected, whole = await logits(model), model.memory().kinds["parameters"]
        wanted = await model.generate_ids(IDS, max_new_tokens=6)
        perplexity = await model.perplexity([1, 5, 9, 30, 2, 8, 4])
    async with await load(tmp_path, dtype="float16") as model:
        assert "embedding(embed_tokens, node=input_ids, dataType=float16)" in model.source
        assert 0 < away(await logits(model), expected) < 2e-3
        assert await model.generate_ids(IDS, max_new_tokens=6) == wanted
        assert abs(await model.perplexity([1, 5, 9, 30, 2, 8, 4]) / perplexity - 1) < 2e-3
        assert model.memory().kinds["parameters"] == (whole + 5 * 64 * 4) // 2
        found, file = await logits(model), await model.save()
        with pytest.raises(DataError, match="NNM704: the model computes in float16"):
            await model.add_lora()
    backend = await webnnm.backend("numpy")
    backend.unpacks = True  # as a processor: what graphs read as it is, stays
    async with await NNModel.load(file, backend=backend, log=lambda _: None) as again:
        types = {tensor.type.dtype for tensor in again.state.parameters.tensors.values()}
        assert types == {"float16", "float32"}
        context = await again.create_context(2, sequence_length=4)
        ids = {"input_ids": HostArray.of(IDS, "int32")}
        ids["attention_mask"] = HostArray.of([[1] * 4] * 2, "int32")
        ids["position_ids"] = HostArray.of([[0, 1, 2, 3]] * 2, "int32")
        assert [*(await context.compute(ids))["logits"].values()] == found


async def test_what_does_not_compute_in_float16_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="NNM704: dtype is 'bfloat16'"):
        await load(tmp_path, dtype="bfloat16")
    t5 = {"model_type": "t5", "vocab_size": 9, "d_model": 4, "d_kv": 2, "d_ff": 4, "num_heads": 2}
    for config, message in (
        (t5, "activations of t5 exceed its range"),
        ({"model_type": "vit"}, "the model reads pixel_values"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(DataError, match=f"NNM704: dtype is 'float16', and {message}"):
            await webnnm.from_pretrained(tmp_path, backend="numpy", dtype="float16")


async def test_perplexity_is_that_of_the_whole_text_in_any_windows(tmp_path: Path) -> None:
    async with await load(tmp_path) as model:
        tokens = [1, 5, 7, 30, 2, 9, 11, 4]
        scores = (await model.predict(input_ids=[tokens]))["logits"][0]
        lost = [
            log(sum(exp(float(s)) for s in row)) - float(row[token])
            for row, token in zip(scores, tokens[1:], strict=False)
        ]
        expected = exp(sum(lost) / len(lost))
        assert await model.perplexity(tokens) == pytest.approx(expected, rel=1e-5)
        one = await model.perplexity(tokens, length=5, stride=1)
        other = await model.perplexity(tokens, length=5, stride=4)
        assert one != other and one == pytest.approx(expected, rel=0.5)
        with pytest.raises(DataError, match=r"NNM711"):
            await model.perplexity([1])
        with pytest.raises(DataError, match=r"NNM704.*stride"):
            await model.perplexity(tokens, length=4, stride=4)
