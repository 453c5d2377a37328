"""Pictures of files: folders, archives, tables, sizes, and what the model keeps of it."""

from __future__ import annotations

import importlib.util
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from webnnm import ImageDataset, NNModel
from webnnm.core.errors import DataError

if sys.platform == "emscripten" or importlib.util.find_spec("PIL") is None:
    # Workers decode pictures by the browser, which has tests of its own.
    pytest.skip("no package reads pictures here", allow_module_level=True)

ALL: dict[str, Any] = {"split": (1, 0, 0)}
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}
"""Channels → the type of colour in a PNG file."""


def png(rows: Sequence[Sequence[Sequence[int]]], depth: int = 8, orientation: int = 0) -> bytes:
    """Return a PNG file of pixels, each a sequence of channels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, channels = len(rows), len(rows[0]), len(rows[0][0])
    code = "B" if depth == 8 else "H"
    lines = b"".join(
        b"\0" + struct.pack(f">{width * channels}{code}", *(v for pixel in row for v in pixel))
        for row in rows
    )
    exif = b"II*\0\x08\0\0\0\1\0" + struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0) + b"\0" * 4
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">2I5B", width, height, depth, KINDS[channels], 0, 0, 0)),
            chunk(b"eXIf", exif) if orientation else b"",
            chunk(b"IDAT", zlib.compress(lines)),
            chunk(b"IEND", b""),
        )
    )


def plain(colour: Sequence[int], width: int = 4, height: int = 4) -> bytes:
    return png([[colour] * width] * height)


RED, BLUE = plain([255, 0, 0]), plain([0, 0, 255])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label, colour in (("red", [255, 51, 0]), ("blue", [0, 51, 255])):
        (tmp_path / label).mkdir()
        for number in range(3):
            (tmp_path / label / f"{number}.png").write_bytes(plain(colour, 6 + number, 4))
    (tmp_path / "red" / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden.png").write_bytes(b"")
    return tmp_path


async def test_a_folder_has_labels_and_pictures_of_any_size(folder: Path) -> None:
    data = await ImageDataset.from_folder(folder, size=(3, 2), **ALL)
    assert (data.labels(), data.size("full"), data.name) == (["blue", "red"], 6, folder.stem)
    field = data.inputs["model"]
    assert (field.shape, field.names) == ((2, 3, 3), ("height", "width", "channels"))
    inputs, outputs = data.arrays("full")
    assert inputs["model"].tolist()[0][0][0] == pytest.approx([0, 0.2, 1])
    assert outputs["model"].tolist() == [0, 0, 0, 1, 1, 1]
    assert data.file_report is not None
    assert data.file_report.ignored == ("red/notes.txt",)
    assert str(data.file_report) == (
        '6 pictures, 3 × 2 rgb, cropped in the middle; 1 of other kinds: "red/notes.txt"'
    )


async def test_archives_hold_subsets() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part, count in (("train", 3), ("test", 2)):
            for label, content in (("red", RED), ("blue", BLUE)):
                for number in range(count):
                    archive.writestr(f"packed/{part}/{label}/{number}.png", content)
        archive.writestr("__MACOSX/packed/train/red/0.png", b"")
    for source in (buffer.getvalue(), buffer):
        data = await ImageDataset.from_folder(source)
        assert [data.size(part) for part in ("training", "validation", "testing")] == [6, 0, 4]
        assert data.labels() == ["blue", "red"]
        assert data.inputs["model"].shape == (4, 4, 3)


async def test_a_table_names_files_and_labels(folder: Path) -> None:
    (folder / "all.csv").write_text(
        "name,colour\nred/0.png,warm\nred/1.png,warm\nblue/1.png,cold\nblue/2.png,cold\n"
    )
    data = await ImageDataset.from_csv(folder / "all.csv", **ALL)
    assert data.labels() == ["cold", "warm"]
    with pytest.raises(DataError, match=r'NNM710: .* no column "colr"') as caught:
        await ImageDataset.from_csv(folder / "all.csv", label="colr")
    assert "name, colour" in str(caught.value)
    (folder / "years.csv").write_text("name,year\nred/0.png,1.5\nred/1.png,2\nblue/1.png,3\n")
    years = await ImageDataset.from_csv(folder / "years.csv", **ALL)
    assert years.arrays("full")[1]["model"].tolist() == [1.5, 2, 3]
    (folder / "digits.csv").write_text("name,digit\nred/0.png,10\nred/1.png,9\nblue/1.png,9\n")
    digits = await ImageDataset.from_csv(folder / "digits.csv", **ALL)
    assert digits.labels() == ["9", "10"]
    named = await ImageDataset.from_csv(folder / "digits.csv", class_names=["10", "9"], **ALL)
    assert named.labels() == ["10", "9"]
    with pytest.raises(DataError, match='NNM706: there is no class "9"'):
        await ImageDataset.from_csv(folder / "digits.csv", class_names=["10", "8"])
    outside = "name,colour\n../a.png,warm\n../a.png,warm\nb.png,cold\nb.png,cold\n"
    with pytest.raises(DataError, match=r'NNM809: .* refers to "\.\./a\.png"'):
        await ImageDataset.from_csv(outside.encode(), folder=folder)


async def test_sizes_are_chosen_from_the_pictures() -> None:
    async def report(files: Sequence[bytes]) -> str:
        return str((await ImageDataset.from_files(files, [0.0, 1.0], **ALL)).file_report)

    assert await report([RED, BLUE]) == (
        "2 pictures, 4 × 4 rgb (as all pictures are), cropped in the middle"
    )
    assert await report([plain([9], 200, 100), plain([8], 100, 50)]) == (
        "2 pictures, 64 × 32 grey (their median shape is 150 × 75), cropped in the middle"
    )


async def test_other_shapes_are_cropped_padded_or_stretched() -> None:
    # Of 0, 51, 51, 102 from left to right, the triangles of two new pixels reach over three each.
    wide = png([[[0], [51], [51], [102]]] * 2)
    levels: dict[str, Any] = {}
    for fit in ("crop", "pad", "stretch"):
        data = await ImageDataset.from_files([wide, wide], [0.0, 1.0], size=2, fit=fit, **ALL)
        pixels = data.arrays("full")[0]["model"].tolist()[0]
        levels[fit] = [[round(255 * value) for value in row] for row in pixels]
    left, right = levels["stretch"][0]
    assert left < 51 < right and left + right == 102
    assert levels == {
        "crop": [[51, 51], [51, 51]],
        "pad": [[left, right], [0, 0]],
        "stretch": [[left, right], [left, right]],
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (plain([255, 0, 0, 0], 2, 2), [1, 1, 1]),
        (plain([0, 0, 0, 255], 2, 2), [0, 0, 0]),
        (png([[[65535, 0, 65535]] * 2] * 2, depth=16), [1, 0, 1]),
        (png([[[65535]] * 2] * 2, depth=16), 1),
        (png([[[0]] * 2] * 2, depth=16), 0),
    ],
)
async def test_transparent_pixels_are_white_and_16_bits_lose_the_lower_8(
    content: bytes, expected: Any
) -> None:
    mode = "grey" if isinstance(expected, int) else "rgb"
    data = await ImageDataset.from_files([content, content], [0.0, 1.0], mode=mode, **ALL)
    assert data.arrays("full")[0]["model"].tolist()[0][0][0] == expected


async def test_photographs_are_turned_upright() -> None:
    rows = [[[0], [255]], [[0], [255]], [[0], [255]]]
    data = await ImageDataset.from_files([png(rows, orientation=6)] * 2, [0.0, 1.0], **ALL)
    assert data.arrays("full")[0]["model"].tolist()[0] == [[0, 0, 0], [1, 1, 1]]


async def test_files_that_are_no_pictures_are_named(folder: Path) -> None:
    (folder / "red" / "bad.png").write_bytes(b"GIF?")
    with pytest.raises(DataError, match=r"NNM802: .*red/bad\.png.* no picture") as caught:
        await ImageDataset.from_folder(folder)
    assert 'unreadable="skip"' in str(caught.value)
    data = await ImageDataset.from_folder(folder, unreadable="skip", **ALL)
    assert data.size("full") == 6
    assert data.file_report is not None and data.file_report.skipped == ("red/bad.png",)


async def test_errors_say_what_to_do(folder: Path, tmp_path: Path) -> None:
    (folder / "loose.png").write_bytes(RED)
    for call, problem in (
        (ImageDataset.from_folder(folder), 'NNM706: "loose.png" is in no folder of a label'),
        (ImageDataset.from_folder(b"no archive"), "NNM802: this is neither a folder nor a zip"),
        (ImageDataset.from_folder(tmp_path / "none"), "NNM715"),
        (ImageDataset.from_files([RED], [1.0, 2.0]), "NNM702: 1 files, 2 labels"),
        (ImageDataset.from_files([], []), "NNM705"),
        (ImageDataset.from_files(["none.png"], [1.0]), 'NNM715: "none.png" cannot be read'),
        (ImageDataset.from_files([RED], [1.0], size=0), "NNM704: size is 0"),
        (ImageDataset.from_files([RED], [1.0], fit="squeeze"), 'NNM704: fit is "squeeze"'),  # type: ignore[arg-type]
        (ImageDataset.from_files([RED], [1.0], mode="cmyk"), 'NNM704: mode is "cmyk"'),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError) as caught:
            await call
        assert problem in str(caught.value)


async def test_models_predict_files_as_they_were_trained(folder: Path) -> None:
    data = await ImageDataset.from_folder(folder, size=(3, 2), fit="pad", **ALL)
    quiet: dict[str, Any] = {"log": lambda _: None, "backend": "numpy"}
    model = await NNModel.create(
        source="m:input shape={channels:3, height:2, width:3}; m:output shape=[2];"
        "m:layers flatten(), matmul(w), add(b), softmax();",
        dataset=data,
        **quiet,
    )
    again = await NNModel.load(await model.save(), **quiet)
    path = folder / "red" / "1.png"
    expected = (await model.predict(data.arrays("full")[0]["model"])).tolist()
    for one in (model, again):
        for picture in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
            answer = (await one.predict(picture)).tolist()
            assert len(answer) == 1 and answer[0] == pytest.approx(expected[4])
        several = (await one.predict([path, folder / "blue" / "2.png"])).tolist()
        assert several[0] == pytest.approx(expected[4])
        assert several[1] == pytest.approx(expected[2])
        by_name = await one.predict({"m": [path]})
        assert by_name["m"].tolist()[0] == pytest.approx(expected[4])
    with pytest.raises(DataError, match=r'NNM715: "none\.png"'):
        await again.predict("none.png")
