"""Masks of files: folders and tables of pairs, numbers, palettes and colours, sizes."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError, ImageDataset, NNModel

pytestmark = pytest.mark.desktop
pillow: Any = pytest.importorskip("PIL.Image")

ROAD = [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 2], [0, 0, 2, 2]]
COLOURS = ((0, 0, 0), (200, 30, 30), (30, 30, 200))
TEXT = (
    "m:input shape={height:4, width:4}; m:output shape={height:4, width:4, classes:3}; m:loss SCE;"
    "m:layers reshape([4, 4, 1]), matmul(w, shape=[4, 4, 3]);"
)


def draw(mode: str, rows: list[list[int]]) -> Any:
    """Return a mask as a picture of a mode."""
    picture = pillow.new(mode, (len(rows[0]), len(rows)))
    flat = [number for row in rows for number in row]
    if mode == "P":
        picture.putpalette([part for colour in COLOURS for part in colour])
    picture.putdata([COLOURS[number] for number in flat] if mode == "RGB" else flat)
    return picture


def save(folder: Path, mode: str, rows: list[list[int]], name: str = "1") -> None:
    """Save a picture, whose grey is its class, with its mask."""
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    grey = draw("L", [[100 * number for number in row] for row in rows])
    grey.save(folder / "images" / f"{name}.png")
    draw(mode, rows).save(folder / "masks" / f"{name}.png")


async def read(folder: Any, **options: Any) -> ImageDataset:
    return await ImageDataset.from_masks(folder, split=(1, 0, 0), **options)


def classes(dataset: ImageDataset) -> Any:
    return dataset.arrays("training")[1]["model"].tolist()


@pytest.mark.parametrize("mode", ["L", "P", "I;16", "RGB"])
async def test_a_pixel_has_the_class_of_its_number_or_colour(tmp_path: Path, mode: str) -> None:
    save(tmp_path, mode, ROAD)
    names = ["road", "sky", "car"]
    keys = COLOURS if mode == "RGB" else (0, 1, 2)
    dataset = await read(tmp_path, classes=dict(zip(keys, names, strict=True)))
    assert classes(dataset) == [ROAD] and dataset.labels() == names
    assert dataset.outputs["model"].kind == "classes"
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path)
    assert classes(await read(tmp_path / "packed.zip", classes=dict(zip(keys, names, strict=True))))


async def test_the_numbers_that_occur_are_the_classes_by_default(tmp_path: Path) -> None:
    save(tmp_path, "L", [[0, 255], [7, 255]])
    dataset = await read(tmp_path)
    assert classes(dataset) == [[[0, 2], [1, 2]]] and dataset.labels() == ["0", "7", "255"]
    without = await read(tmp_path, ignore=255)
    assert classes(without) == [[[0, -1], [1, -1]]] and without.labels() == ["0", "7"]
    save(tmp_path, "RGB", [[0, 2], [1, 2]])
    assert (await read(tmp_path)).labels() == ["#000000", "#1e1ec8", "#c81e1e"]


async def test_masks_are_resized_to_the_nearest_pixel(tmp_path: Path) -> None:
    save(tmp_path, "L", [[number for number in row for _ in "ab"] for row in ROAD for _ in "ab"])
    dataset = await read(tmp_path, size=4)
    assert classes(dataset) == [ROAD]
    assert dataset.inputs["model"].shape == (4, 4)
    padded = classes(await read(tmp_path, size=(6, 4), fit="pad"))
    assert padded == [[[-1, *row, -1] for row in ROAD]]
    cropped = classes(await read(tmp_path, size=(4, 2)))
    assert cropped == [[ROAD[1], ROAD[2]]]


async def test_tables_name_the_files_of_pairs(tmp_path: Path) -> None:
    save(tmp_path, "P", ROAD, "a")
    save(tmp_path, "P", ROAD[::-1], "b")
    table = tmp_path / "pairs.csv"
    table.write_text("image,mask\nimages/b.png,masks/b.png\nimages/a.png,masks/a.png\n")
    assert classes(await read(table)) == [ROAD[::-1], ROAD]


async def test_folders_of_subsets_are_the_split(tmp_path: Path) -> None:
    for part, rows in (("train", ROAD), ("test", ROAD[::-1])):
        save(tmp_path / part, "L", rows)
    dataset = await ImageDataset.from_masks(tmp_path)
    assert [dataset.size(part) for part in ("training", "testing")] == [1, 1]
    assert dataset.arrays("testing")[1]["model"].tolist() == [ROAD[::-1]]


async def test_the_test_has_the_intersection_over_union_of_each_class(tmp_path: Path) -> None:
    for number in range(8):
        save(tmp_path, "P", ROAD, str(number))
    dataset = await ImageDataset.from_masks(tmp_path, split=(0.5, 0, 0.5))
    async with await NNModel.create(
        source=TEXT, dataset=dataset, backend="numpy", log=lambda _: None
    ) as model:
        result = await model.test()
        assert len(result.iou_per_class) == 3 and 0 <= result.mean_iou <= 1


async def test_what_is_no_pair_or_no_class_is_refused(tmp_path: Path) -> None:
    save(tmp_path, "L", ROAD)
    with pytest.raises(DataError, match=r"the mask of .*1.png: 3 pixels are 2") as caught:
        await read(tmp_path, classes={0: "road", 1: "sky"})
    assert "ignore=" in str(caught.value)
    (tmp_path / "masks" / "2.png").write_bytes((tmp_path / "masks" / "1.png").read_bytes())
    with pytest.raises(DataError, match='"2" is not in images/'):
        await read(tmp_path)
    with pytest.raises(DataError, match="no files in labels/") as caught:
        await read(tmp_path, mask="labels")
    assert 'it has "images", "masks"' in str(caught.value)


async def test_masks_have_the_shape_of_their_picture_as_it_is_seen(tmp_path: Path) -> None:
    save(tmp_path, "L", ROAD)
    doubled = [[number for number in row for _ in "ab"] for row in ROAD for _ in "ab"]
    draw("L", doubled).save(tmp_path / "masks" / "1.png")
    assert classes(await read(tmp_path)) == [ROAD], "of one shape"
    draw("L", [row[:3] for row in ROAD]).save(tmp_path / "masks" / "1.png")
    with pytest.raises(DataError, match=r"1.png has 3 × 4 pixels, its picture 4 × 4"):
        await read(tmp_path)
    exif = pillow.Exif()
    exif[0x0112] = 6
    draw("L", ROAD[:2]).save(tmp_path / "images" / "1.png", exif=exif)
    draw("L", ROAD[:2]).save(tmp_path / "masks" / "1.png")
    with pytest.raises(DataError, match=r"1.png has 4 × 2 pixels, its picture 2 × 4") as caught:
        await read(tmp_path)
    assert "EXIF" in str(caught.value)
    draw("L", ROAD[:2]).save(tmp_path / "masks" / "1.png", exif=exif)
    upright = [[ROAD[1][k], ROAD[0][k]] for k in range(4)]
    assert classes(await read(tmp_path)) == [upright]


async def test_masks_of_several_modes_have_the_same_classes(tmp_path: Path) -> None:
    rows = [[0, 255], [255, 255]]
    for name, mode in enumerate(("L", "RGB", "LA", "1", "RGBA", "I;16")):
        save(tmp_path, "L", rows, str(name))
        path = tmp_path / "masks" / f"{name}.png"
        (draw("I;16", rows) if mode == "I;16" else draw("L", rows).convert(mode)).save(path)
    dataset = await read(tmp_path)
    assert classes(dataset) == [[[0, 1], [1, 1]]] * 6 and dataset.labels() == ["0", "255"]
    named = await read(tmp_path, classes={(0, 0, 0): "none", (255, 255, 255): "cell"})
    assert classes(named) == classes(dataset) and named.labels() == ["none", "cell"]
    without = await read(tmp_path, ignore=(255, 255, 255))
    assert without.labels() == ["0"]


async def test_white_of_one_bit_is_1_if_only_that_is_a_class(tmp_path: Path) -> None:
    save(tmp_path, "L", [[0, 1], [1, 1]], "a")
    save(tmp_path, "1", [[0, 255], [255, 255]], "b")
    dataset = await read(tmp_path)
    assert classes(dataset) == [[[0, 1], [1, 1]]] * 2 and dataset.labels() == ["0", "1"]


async def test_numbers_among_colours_are_refused(tmp_path: Path) -> None:
    save(tmp_path, "RGB", ROAD, "a")
    save(tmp_path, "L", ROAD, "b")
    with pytest.raises(DataError, match=r"NNM706.*numbers.*b.png.*colours.*a.png has #c81e1e"):
        await read(tmp_path)


@pytest.mark.parametrize("kind", ["images", "masks"])
async def test_two_files_of_one_name_are_refused(tmp_path: Path, kind: str) -> None:
    save(tmp_path, "L", ROAD)
    draw("L", ROAD).save(tmp_path / kind / "1.bmp")
    with pytest.raises(DataError, match=f'NNM706.*"{kind}/1.bmp", "{kind}/1.png"'):
        await read(tmp_path)


async def test_options_that_are_no_classes_are_refused(tmp_path: Path) -> None:
    save(tmp_path, "L", ROAD)
    wrong: list[dict[str, Any]] = [
        {"classes": ["bg", "fg"]},
        {"classes": {"0": "bg"}},
        {"ignore": "white"},
        {"ignore": (1, 2)},
    ]
    for options in wrong:
        with pytest.raises(DataError, match="NNM704"):
            await read(tmp_path, **options)


async def test_pixels_of_masks_are_no_objects_of_python(tmp_path: Path) -> None:
    """A mask of colours keeps 4 bytes for a pixel, besides those of pictures and classes."""
    side = 400
    save(tmp_path, "RGB", [[(row + column) % 3 for column in range(side)] for row in range(side)])
    await read(tmp_path)  # imports
    tracemalloc.start()
    await read(tmp_path, size=side)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * side * side
