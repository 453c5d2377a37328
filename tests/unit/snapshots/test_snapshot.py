"""Snapshots: what is saved comes back; a file that is wrong changes nothing (spec I)."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel, TableDataset, composite, ops
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks, read
from webnnm.snapshots.snapshot import compute_checksum

np = pytest.importorskip("numpy")

SOURCE = """
model:name small;
model:input shape=[3]; model:output shape=[2];
model:layers matmul(w, shape=[5]), add(b), batchNormalization(), relu(), matmul(w), add(b),
  softmax();
"""
ROWS = [[0.5, 40.0, -2.0], [1.5, 38.0, 0.25]]


def rows() -> Dataset:
    draw = np.random.default_rng(2)
    x = draw.normal(size=(40, 3)) * [1, 10, 100] + [0, 40, 7]
    return Dataset(x.tolist(), (x[:, 0] > 0).astype("int32"), split=(1, 0, 0), standardize=True)


async def create(**settings: Any) -> NNModel:
    given = {"source": SOURCE, "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(**given)


async def train() -> NNModel:
    model = await create(dataset=rows())
    await model.train(epochs=3, seeds=0)
    return model


async def load(source: Any) -> NNModel:
    return await NNModel.load(source, backend="numpy", log=lambda _: None)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


def sign(data: bytes, **changes: Any) -> bytes:
    """Return a snapshot with other metadata and a checksum that fits them."""
    file = read(data)
    metadata = {k: v for k, v in file.metadata.items() if k != "webnnm.checksum"}
    metadata |= {f"webnnm.{name}": value for name, value in changes.items()}
    content = {**file.header, "__metadata__": metadata}
    metadata["webnnm.checksum"] = compute_checksum([file.body], content)
    text = json.dumps(content, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(file.body)


async def test_a_saved_model_comes_back(tmp_path: Path) -> None:
    model = await train()
    path = tmp_path / "small.webnnm.safetensors"
    assert await model.save(path) == path
    found = await load(path)
    assert values(found) == values(model)
    assert (found.name, found.step, found.state.trained) == ("small", model.step, True)
    assert found.serialize() == model.serialize()
    expected = await model.predict(ROWS)
    np.testing.assert_allclose(await found.predict(ROWS), expected, rtol=1e-5)
    with pytest.warns(UserWarning, match="leave raw=True out"):
        own = await found.predict(ROWS, raw=True)
    assert not np.allclose(own, expected, rtol=1e-3)


async def test_bytes_are_the_file_and_always_the_same(tmp_path: Path) -> None:
    model = await train()
    data = await model.save()
    assert (await model.save(tmp_path / "m")).read_bytes() == data
    again = await load(data)
    assert await again.save() == data
    assert len(data) < 4500


async def test_the_tensors_are_those_of_the_specification() -> None:
    model = await train()
    lean, file = read(await model.save(optimizer=False)), read(await model.save())
    assert {name.split("/")[0] for name in lean.tensors} == {"param", "state", "norm"}
    parts = {name.split("/")[0] for name in file.tensors}
    assert parts == {"param", "state", "norm", "opt", "best"}
    assert {"norm/model/mean", "norm/model/std", "param/w1"} <= file.tensors.keys()
    assert (file.metadata["webnnm.format"], file.metadata["webnnm.name"]) == ("1", "small")
    assert file.metadata["webnnm.checksum"].startswith("sha256:")


async def test_half_of_the_bytes() -> None:
    model = await train()
    whole, half = await model.save(), await model.save(dtype="float16")
    kinds = {name: t.code for name, t in read(half).tensors.items() if name.startswith("param")}
    assert set(kinds.values()) == {"F16"} and len(half) < len(whole)
    found = await load(half)
    assert {p.dtype for p in found.params()} == {"float32"}
    for one, other in zip(found.params(), model.params(), strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=1e-3, atol=1e-6)
    with pytest.raises(DataError, match="float64") as caught:
        await model.save(dtype="float64")  # type: ignore[arg-type]
    assert caught.value.code == "NNM704"


async def test_parameters_alone_go_into_a_model_that_exists() -> None:
    model = await train()
    other = await create(seed=7)
    assert values(other) != values(model)
    names = await other.load_params(await model.save())
    assert values(other) == values(model) and set(names) == set(values(model))


async def test_files_of_other_programs() -> None:
    model = await train()
    plain = {p.name: model.state.parameters.value(p.name) for p in model.params()}
    data = b"".join(chunks(plain, {"format": "pt"}))
    other = await create(seed=7)
    await other.load_params(data)
    assert values(other) == values(model)
    with pytest.raises(DataError) as caught:
        await load(data)
    assert caught.value.code == "NNM804"


async def test_without_strict_what_fits_is_taken() -> None:
    model = await create()
    given = {"b2": HostArray.of([1.0, 2.0]), "w1": HostArray.of([1.0]), "far": HostArray.of(1.0)}
    data = b"".join(chunks(given, {}))
    assert await model.load_params(data, strict=False) == ["b2"]
    assert values(model)["b2"] == [1.0, 2.0]


def without(name: str) -> Any:
    return lambda tensors: tensors.pop(name)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (without("w1"), "NNM805", "w1 missing"),
        (lambda t: t.update(more=HostArray.of(1.0)), "NNM805", "more not in the model"),
        (lambda t: t.update(b2=HostArray.of([1.0])), "NNM806", '"b2" is float32[2]'),
        (lambda t: t.update(b2=HostArray.of([1, 2], "int32")), "NNM806", "int32[2]"),
    ],
)
async def test_what_does_not_fit_changes_nothing(change: Any, code: str, words: str) -> None:
    model = await create()
    before = values(model)
    tensors = {p.name: HostArray.of(p.value) for p in model.params()}
    change(tensors)
    with pytest.raises(DataError) as caught:
        await model.load_params(b"".join(chunks(tensors, {})))
    assert (caught.value.code, words in caught.value.message) == (code, True)
    assert values(model) == before


async def test_wrong_snapshots_are_named() -> None:
    data = await (await train()).save()
    flipped = bytearray(data)
    flipped[-3] ^= 4
    cases = [
        (bytes(flipped), "NNM803"),
        (sign(data, format="2"), "NNM804"),
        (sign(data, format="x"), "NNM804"),
        (sign(data, step="-1"), "NNM802"),
        (sign(data, step="9" * 5000), "NNM802"),
        (sign(data, normalisation="["), "NNM802"),
        (sign(data, normalisation="[" * 99999), "NNM802"),
        (sign(data, normalisation="[]"), "NNM802"),
        (sign(data, normalisation='{"inputs": {"model": {}}}'), "NNM802"),
        (sign(data, normalisation='{"inputs": {"far": {"scale": "standard"}}}'), "NNM802"),
        (sign(data, packed='{"param/w1": 3}'), "NNM802"),
        (data[:-1], "NNM801"),
        (b"", "NNM801"),
        ("/no/such/file", "NNM715"),
    ]
    for source, code in cases:
        with pytest.raises(DataError) as caught:
            await load(source)
        assert caught.value.code == code
    assert (await load(sign(data))).step > 0, "signing itself is right"


@pytest.mark.skipif(sys.platform == "emscripten", reason="a minute inside a page")
async def test_ten_thousand_damaged_files_raise_nothing_else() -> None:
    data = await (await train()).save()
    model = await create(seed=3)
    before = values(model)
    draw = random.Random(0)
    header = int.from_bytes(data[:8], "little") + 8
    for number in range(10_000):
        if number < len(data):
            damaged = data[:number]
        else:
            changed = bytearray(data)
            end = header if number % 2 else len(data)
            for _ in range(draw.randint(1, 3)):
                place = draw.randrange(end)
                changed[place] = (changed[place] + draw.randrange(1, 256)) % 256
            damaged = bytes(changed)
        with pytest.raises(DataError) as caught:
            await model.load_params(damaged)
        assert caught.value.code in [f"NNM80{n}" for n in range(1, 7)]
    assert values(model) == before


async def test_a_model_in_training_takes_no_parameters() -> None:
    model = await create(dataset=rows())
    data = await model.save()
    training = model.train(epochs=50, seeds=0)
    await asyncio.sleep(0)
    with pytest.raises(DataError) as caught:
        await model.load_params(data)
    assert caught.value.code == "NNM712"
    await training.stop()


TABLE = {
    "width": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0],
    "colour": ["red", "blue", "red", "blue", "green", "red", "red", "blue"],
    "kind": ["a", "b", "a", "b", "a", "b", "a", "b"],
}
TABLE_SOURCE = "m:input shape=[4]; m:output shape=[2]; m:layers matmul(w), softmax();"


async def test_columns_and_class_names_are_kept() -> None:
    table = TableDataset(TABLE, split=(1, 0, 0), missing="mean", standardize=True)
    model = await create(source=TABLE_SOURCE, dataset=table)
    data = await model.save()
    again = await load(data)
    kept = again.state.restored
    assert kept is not None and kept.label == "kind"
    assert kept.columns == {"m": table.encoders} and table.encoders[0].fill
    assert kept.answers["m"].names == ("a", "b")
    assert kept.answers["m"].decode([[0.9, 0.1], [0.2, 0.8]]) == ["a", "b"]
    assert await again.save() == data, "and go on from file to file"


async def test_standardised_targets_are_kept() -> None:
    rows = Dataset(
        [[1.0], [2.0], [3.0]], [10.0, 20.0, 60.0], standardize_targets=True, split=(1, 0, 0)
    )
    source = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    again = await load(await (await create(source=source, dataset=rows)).save())
    assert again.state.restored is not None
    assert list(again.state.restored.targets.values()) == list(rows.target_standardization.values())
    assert again.state.restored.answers == {}


@pytest.mark.parametrize(
    "entry",
    [
        '"columns": {"m": [{"name": 3, "fill": 1}]}',
        '"columns": {"m": [{"name": "x", "classes": ["a"]}]}',
        '"columns": {"m": [3]}',
        '"columns": 3',
        '"answers": {"m": [[2], "odd", 2, null]}',
        '"answers": {"m": [[2], "onehot", 2, ["a"]]}',
        '"answers": {"m": [[2], "onehot", "x", ["a"]]}',
        '"targets": {"m": [[1], [2, 3], 1, "standard"]}',
        '"targets": {"m": [["x"], [2], 1, "standard"]}',
        '"label": 3',
    ],
)
async def test_knowledge_without_sense_is_refused(entry: str) -> None:
    data = sign(await (await create()).save(), normalisation=f'{{"inputs": {{}}, {entry}}}')
    with pytest.raises(DataError, match="normalisation is invalid") as caught:
        await load(data)
    assert caught.value.code == "NNM802"


async def test_metadata_of_a_later_version_are_left_aside() -> None:
    model = await train()
    again = await load(sign(await model.save(), later="anything", package="9.9"))
    assert values(again) == values(model)
    assert "webnnm.later" not in read(await again.save()).metadata


async def test_a_text_of_a_later_notation_is_refused_with_its_error() -> None:
    data = await (await create()).save()
    texts = {"NNM116": f"webnnm 2.0; {SOURCE}", "NNM204": SOURCE.replace("relu()", "warp()")}
    for code, text in texts.items():
        with pytest.raises(DataError, match=code) as caught:
            await load(sign(data, model=text))
        assert caught.value.code == "NNM802"


async def test_a_training_of_a_later_version_is_refused_and_its_parameters_are_not() -> None:
    model = await train()
    data = await model.save()
    settings = json.loads(read(data).metadata["webnnm.hyperparameters"])
    settings["resolved"]["warp"] = 9
    later = sign(data, hyperparameters=json.dumps(settings))
    with pytest.raises(DataError) as caught:
        await load(later)
    assert caught.value.code == "NNM802"
    other = await create(seed=5)
    await other.load_params(later)
    assert values(other) == values(model)


async def test_a_snapshot_with_a_composite_says_to_declare_it_first() -> None:
    @composite("tripled")
    def triple(b: Any, x: Any) -> Any:
        return x * 3

    text = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), tripled();"
    model = await NNModel.create(source=text, backend="numpy", log=lambda _: None)
    data = await model.save()
    model.close()
    ops.unregister("tripled")
    with pytest.raises(DataError) as caught:
        await NNModel.load(data, backend="numpy", log=lambda _: None)
    assert caught.value.code == "NNM802" and '"tripled"' in caught.value.message
    assert "declare the composite first" in caught.value.hint
