"""Models as pages without Python: what their folders hold, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from webnnm import NNModel, TableDataset
from webnnm.core.errors import DataError
from webnnm.formats.page.exporting import build_page

TABLE = (
    "m:name flats; m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
)
PYRAMID = (
    "m:input shape={channels:1, height:8, width:8}; m:output shape=[2];"
    "m:layers conv2d(k, kernel=3, filters=4), relu(), maxPool2d(windowDimensions=2, strides=2),"
    "flatten(), matmul(w), add(b), softmax();"
)
MEANS = "m:input shape=[2] sequence=time; m:output shape=[2]; m:layers reduceMean(axes=[time]);"
STEPS = "m:input shape=[2] sequence=time; m:output shape=[2] sequence=time; m:layers matmul(w);"


async def open_model(source: str, dataset: Any = None, **settings: Any) -> NNModel:
    settings |= {"backend": "numpy", "seed": 0, "log": lambda _: None}
    return await NNModel.create(source=source, dataset=dataset, **settings)


def flats() -> TableDataset:
    rows = {
        "area": [30, 60, 90, 120],
        "city": ["Ulm", "Bonn"] * 2,
        "dear": ["no", "no", "yes", "yes"],
    }
    return TableDataset(rows, label="dear", standardize=["area"], split=(1, 0, 0))


def manifest_of(model: NNModel, **options: Any) -> dict[str, Any]:
    return json.loads(build_page(model.state, **options)["model.json"])


async def test_a_page_says_how_rows_are_prepared_and_answers_named() -> None:
    manifest = manifest_of(await open_model(TABLE, flats()))
    (row,) = manifest["inputs"].values()
    assert [encoder["name"] for encoder in row["encoders"]] == ["area", "city"]
    assert row["encoders"][1]["categories"] == ["Bonn", "Ulm"]
    assert row["scale"]["mean"] == [75, 0, 0]
    assert manifest["outputs"]["m"]["labels"] == ["no", "yes"]
    assert manifest["engines"] == ["script", "webnn"]
    assert manifest["name"] == "flats"


async def test_an_archive_has_the_files_of_the_folder() -> None:
    model = await open_model(TABLE, flats())
    with ZipFile(io.BytesIO(await model.export(format="page"))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == build_page(model.state)
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}


async def test_weights_are_stored_once_for_all_plans() -> None:
    model = await open_model(PYRAMID)
    files = build_page(model.state)
    manifest = json.loads(files["model.json"])
    assert len(manifest["plans"]) > 1  # layouts of images
    dense = {
        (constant["offset"], constant["length"])
        for plan in manifest["plans"]
        for constant in plan["constants"]
        if constant["name"] == "param/w1"
    }
    ((offset, length),) = dense
    weights = files[manifest["weights"]["path"]]
    assert len(weights) == manifest["weights"]["length"]
    assert weights[offset : offset + length] == bytes(model.state.parameters.value("w1").data)


async def test_plans_are_chosen_by_faults() -> None:
    device = manifest_of(await open_model(MEANS), sequence=4)["webnn"]
    every = set(range(len(device["faults"])))
    assert device["choices"][0]["avoids"] == [] and {*device["choices"][-1]["avoids"]} == every
    tested = {one["fault"] for trial in device["trials"] for one in trial["answers"]}
    assert tested - {-1} == every


async def test_of_a_long_plan_there_is_one() -> None:
    text = "m:input shape=[2] sequence=time; m:output shape=[2]; m:layers lstm(u, v, hiddenSize=2);"
    short, long = [manifest_of(await open_model(text), sequence=steps) for steps in (8, 80)]
    assert len(short["webnn"]["choices"]) > 1 and short["webnn"]["trials"]
    assert len(long["webnn"]["choices"]) == 1 and not long["webnn"]["trials"]
    # Their steps are written out, one after the other. JavaScript may have its own plan.
    assert (
        all(len(plan["operators"]) > 80 * 8 for plan in long["plans"]) and len(long["plans"]) <= 2
    )
    assert long["webnn"]["choices"][0]["nchw"] == long["webnn"]["choices"][0]["nhwc"]


@pytest.mark.parametrize(("sequence", "length"), [(None, 64), (5, 5), ({"time": 7}, 7)])
async def test_sequences_have_a_greatest_length(sequence: Any, length: int) -> None:
    manifest = manifest_of(await open_model(STEPS), sequence=sequence)
    assert manifest["inputs"]["m"]["length"] == length


async def test_numbers_can_be_a_picture_or_a_sound() -> None:
    (picture,) = manifest_of(await open_model(PYRAMID), rows={"m": "picture"})["inputs"].values()
    assert picture["kind"] == "picture" and picture["fit"] == "crop"
    assert picture["names"] == ["channels", "height", "width"]
    model = await open_model("m:input shape=[80]; m:output shape=[2]; m:layers matmul(w);")
    (sound,) = manifest_of(model, rows={"m": "sound"})["inputs"].values()
    assert sound["kind"] == "sound" and sound["rate"] == 16_000
    for rows, code in (
        ({"m": "picture"}, "NNM704"),
        ({"m": "film"}, "NNM704"),
        ({"n": "sound"}, "NNM710"),
    ):
        with pytest.raises(DataError, match=code):
            build_page(model.state, rows=rows)
    with pytest.raises(DataError, match="NNM703"):
        build_page((await open_model(TABLE, flats())).state, rows={"m": "sound"})
    with pytest.raises(DataError, match="NNM703"):
        await model.export(format="onnx", rows={"m": "sound"})


@pytest.mark.parametrize(
    "options", [{"graph": "train"}, {"batch": 2}, {"constants": False}, {"chlo": True}, {"lr": 1}]
)
async def test_pages_have_no_options_of_graphs(options: dict[str, Any]) -> None:
    model = await open_model(STEPS)
    with pytest.raises(DataError, match="NNM703"):
        await model.export(format="page", **options)


async def test_what_no_page_computes_is_refused() -> None:
    model = await open_model(
        "m:input uint64 shape=[2]; m:output shape=[2]; m:layers bitwiseXor(2);"
    )
    with pytest.raises(DataError, match="NNM905"):
        build_page(model.state)


@pytest.mark.desktop
async def test_only_folders_of_pages_are_written_again(tmp_path: Path) -> None:
    model = await open_model(TABLE, flats())
    assert await model.export(tmp_path / "page", format="page") == tmp_path / "page"
    await model.export(tmp_path / "page", format="page")
    (tmp_path / "mine").mkdir()
    for name, text in (("letter.txt", "dear …"), ("model.json", '{"format": "layers-model"}')):
        (tmp_path / "mine" / name).write_text(text)
        with pytest.raises(DataError, match="NNM807"):
            await model.export(tmp_path / "mine", format="page")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"letter.txt", "model.json"}


def list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.desktop
async def test_a_later_export_keeps_what_was_changed_and_removes_what_is_stale(
    tmp_path: Path,
) -> None:
    await (await open_model(PYRAMID)).export(tmp_path, format="page")
    first = build_page((await open_model(PYRAMID)).state)
    assert list_files(tmp_path) == {*first}
    html = (tmp_path / "index.html").read_text()
    (tmp_path / "index.html").write_text(html.replace("<h1>", "<h1>My "))
    (tmp_path / "webnnm" / "mine.js").write_text("own")
    (tmp_path / "_headers").unlink()
    model = await open_model(TABLE, flats())
    second = build_page(model.state)
    await model.export(tmp_path, format="page")
    assert list_files(tmp_path) == {*second, "webnnm/mine.js"}
    kept = (tmp_path / "index.html").read_text()
    assert "<h1>My " in kept
    old, new = (next(name for name in files if name.endswith(".bin")) for files in (first, second))
    assert old != new and old not in kept and new in kept
    others = second.keys() - {"index.html"}
    assert all((tmp_path / name).read_bytes() == second[name] for name in others)
    assert not any("inference/columns" in name for name in first)


@pytest.mark.desktop
@pytest.mark.parametrize("place", ["download", "browser"])
async def test_the_storage_of_browsers_gets_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    model = await open_model(TABLE, flats())
    with pytest.raises(DataError, match=f'"{place}:flats.zip" needs a browser'):
        await model.export(f"{place}:flats", format="page")
    assert [*tmp_path.iterdir()] == []
