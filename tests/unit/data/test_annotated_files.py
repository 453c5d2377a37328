"""Boxes of COCO, Pascal VOC, YOLO and CSV beside their pictures."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.data.test_picture_files import png
from webnnm import DetectionDataset, NNModel, suggest_detection_model
from webnnm.core.errors import DataError
from webnnm.data.pictures.class_names import parse_class_names

if sys.platform == "emscripten" or importlib.util.find_spec("PIL") is None:
    # Workers decode pictures by the browser, which has tests of its own.
    pytest.skip("no package reads pictures here", allow_module_level=True)

SIZES = {"a.png": (16, 16), "b.png": (32, 16), "c.png": (16, 32)}
BOXES = {
    "a.png": [(2, 4, 8, 6, "cat"), (8, 8, 8, 8, "dog")],
    "b.png": [(16, 0, 16, 16, "dog")],
    "c.png": [],
}
"""The boxes of each picture, in its pixels; 16 × 16 pixels show (16, 32) with black margins."""
EXPECTED = [[(2, 4, 8, 6, "cat"), (8, 8, 8, 8, "dog")], [(8, 4, 8, 8, "dog")], []]


def picture(name: str) -> bytes:
    """Return the file of a picture."""
    width, height = SIZES[Path(name).name]
    return png([[(90, 90, 90)] * width] * height)


def coco(folder: str = "", **changes: Any) -> str:
    """Return the boxes as JSON of COCO."""
    names = [*BOXES]
    categories = {"cat": 3, "dog": 7}
    annotations = [
        {"id": 1, "image_id": names.index(name), "category_id": categories[label], "bbox": box}
        for name, boxes in BOXES.items()
        for *box, label in boxes
    ]
    content: dict[str, Any] = {
        "images": [
            {"id": k, "file_name": folder + name, "width": SIZES[name][0], "height": SIZES[name][1]}
            for k, name in enumerate(names)
        ],
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in categories.items()],
    }
    return json.dumps(content | changes)


def voc(name: str) -> str:
    """Return the boxes of a picture as XML of Pascal VOC: pixels count from 1."""
    objects = "".join(
        f"<object><name>{label}</name><bndbox><xmin>{x + 1}</xmin><ymin>{y + 1}</ymin>"
        f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
        for x, y, w, h, label in BOXES[name]
    )
    width, height = SIZES[name]
    size = f"<size><width>{width}</width><height>{height}</height></size>"
    return f"<annotation><filename>{name}</filename>{size}{objects}</annotation>"


def yolo(name: str) -> str:
    """Return the boxes of a picture as a text of YOLO: centers and sizes in shares."""
    width, height = SIZES[name]
    lines = [
        f"{['cat', 'dog'].index(label)} {(x + w / 2) / width} {(y + h / 2) / height} "
        f"{w / width} {h / height}"
        for x, y, w, h, label in BOXES[name]
    ]
    return "\n".join(lines)


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write files, and return their folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


FOLDERS: dict[str, dict[str, Any]] = {
    "COCO": {"annotations.json": coco(), **{name: picture(name) for name in BOXES}},
    "COCO in folders": {
        "annotations/instances_all.json": coco(),
        "info.json": '{"images": 3}',
        **{f"images/{name}": picture(name) for name in BOXES},
    },
    "Pascal VOC": {
        **{f"JPEGImages/{name}": picture(name) for name in BOXES},
        **{f"Annotations/{name[0]}.xml": voc(name) for name in BOXES},
        "ImageSets/Main/trainval.txt": "a\nb\nc\n",
    },
    "YOLO": {
        **{f"images/{name}": picture(name) for name in BOXES},
        **{f"labels/{name[0]}.txt": yolo(name) for name in BOXES if name != "c.png"},
        "data.yaml": "nc: 2\nnames: [cat, dog]\n",
        "README.txt": "shapes",
    },
    "YOLO side by side": {
        **{name: picture(name) for name in BOXES},
        **{f"{name[0]}.txt": yolo(name) for name in BOXES},
        "classes.txt": "cat\ndog\n",
    },
}


@pytest.mark.parametrize("name", FOLDERS)
async def test_folders_of_all_formats_have_the_same_boxes(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "pets", FOLDERS[name])
    data = await DetectionDataset.from_folder(folder, size=16, split=(1, 0, 0))
    assert [[box[:5] for box in boxes] for boxes in data.boxes("full")] == [
        [(*map(pytest.approx, box[:4]), box[4]) for box in boxes] for boxes in EXPECTED
    ]
    assert (data.name, data.fit) == ("pets", "pad")
    source = name.removesuffix(" in folders").removesuffix(" side by side")
    assert str(data.file_report) == (
        f"3 pictures, 16 × 16 grey, padded with black; 3 boxes of 2 classes ({source})"
    )


async def test_archives_do_as_well() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in FOLDERS["COCO"].items():
            archive.writestr(f"pets/{name}", content)
    data = await DetectionDataset.from_folder(target.getvalue(), size=16, fit="stretch")
    assert data.boxes("full")[1] == [(8, 0, 8, 16, "dog", 1)]


async def test_folders_of_subsets_are_the_split(tmp_path: Path) -> None:
    parts = {"train2020": "a.png", "val": "b.png", "test": "c.png"}
    files: dict[str, Any] = {f"{part}/images/{name}": picture(name) for part, name in parts.items()}
    files |= {f"{part}/labels/{name[0]}.txt": yolo(name) for part, name in parts.items()}
    data = await DetectionDataset.from_folder(write(tmp_path, files), size=16)
    assert [data.size(part) for part in ("training", "validation", "testing")] == [1, 1, 1]
    assert data.labels() == ["0", "1"], "no file has their names"


async def test_tables_have_a_box_in_each_row(tmp_path: Path) -> None:
    rows = ["file,width,height,class,xmin,ymin,xmax,ymax"]
    for name, boxes in BOXES.items():
        lines = [f"{label},{x},{y},{x + w},{y + h}" for x, y, w, h, label in boxes] or [",,,,"]
        rows += [f"{name},1,1,{line}" for line in lines]
    write(tmp_path, {"boxes.csv": "\n".join(rows), **{name: picture(name) for name in BOXES}})
    data = await DetectionDataset.from_csv(tmp_path / "boxes.csv", size=16, split=(1, 0, 0))
    assert data.boxes("full") == [[(*box, 1) for box in boxes] for boxes in EXPECTED]


def change(key: str, number: int, **fields: Any) -> str:
    """Return JSON of COCO with other fields of an entry."""
    content = json.loads(coco())
    content[key][number] |= fields
    return json.dumps(content)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"annotations.json": "{"}, 'NNM802: "annotations.json" is no JSON'),
        ({"annotations.json": change("annotations", 1, image_id=9)}, "annotation 1: .* image 9"),
        ({"annotations.json": change("annotations", 1, category_id=[])}, r"no category \[\]"),
        ({"annotations.json": change("annotations", 0, bbox=[1, 2])}, "annotation 0: its box is"),
        ({"annotations.json": change("annotations", 0, bbox=[1, 2, 0, 4])}, 'a.png", box 0 is 0 ×'),
        ({"annotations.json": change("images", 0, width=99)}, "its annotation says 99 × 16"),
        ({"annotations.json": change("images", 0, file_name="x.png")}, 'names "x.png", which is'),
        (
            {"annotations.json": change("images", 0, file_name="b.png")},
            '"b.png" is annotated twice',
        ),
        ({"annotations.json": coco(images=[{}])}, "its images or categories lack 'id'"),
        ({"a.xml": "<annotation>"}, 'NNM802: "a.xml" is no XML'),
        (
            {"a.xml": "<annotation><filename>a.png</filename><object/></annotation>"},
            "object 0 has no",
        ),
        ({"a.txt": "0 0.5 0.5 0.5"}, 'NNM706: "a.txt", line 1'),
        ({"a.txt": "\n0 50 50 10 10"}, 'NNM706: "a.txt", line 2'),
        ({"a.txt": yolo("a.png"), "classes.txt": "cat"}, "line 2: class 1"),
        ({"a.txt": yolo("a.png"), "z.txt": "0 0 0 1 1"}, 'NNM715: there is no picture for "z.txt"'),
        ({"a.txt": yolo("a.png"), "data.yaml": "nc: 2"}, '"data.yaml" has no names of classes'),
        ({"a.txt": yolo("a.png"), "b.xml": voc("b.png")}, "NNM704: .* 1 of Pascal VOC, 1 of YOLO"),
        ({"a.txt": "0 0.1 0.1 0.9 0.1 0.9 0.9"}, "outline of 3 points is no box"),
        (
            {"a.txt": "0 .5 .5 1 1", "labels/a.txt": "0 .5 .5 1 1"},
            'NNM706.*"a.txt", "labels/a.txt"',
        ),
        ({"a.txt": "0 .5 .5 1 1", "a.bmp": b""}, 'NNM706.*"a.bmp", "a.png"'),
        ({"a.txt": b"\xff\xfe\x00"}, 'NNM802: "a.txt" is no text'),
        ({}, "NNM715: .* has no annotations with boxes"),
    ],
)
async def test_broken_annotations_are_named(files: Any, message: str, tmp_path: Path) -> None:
    write(tmp_path, {**{name: picture(name) for name in BOXES}, **files})
    with pytest.raises(DataError, match=message):
        await DetectionDataset.from_folder(tmp_path, size=16)


async def test_broken_boxes_can_be_skipped(tmp_path: Path) -> None:
    files = FOLDERS["COCO"] | {"annotations.json": change("annotations", 0, bbox=[1, 2, 0, 4])}
    content = json.loads(files["annotations.json"])
    content["annotations"].append(content["annotations"][1] | {"iscrowd": 1})
    files["annotations.json"] = json.dumps(content)
    write(tmp_path, files)
    data = await DetectionDataset.from_folder(tmp_path, size=16, unreadable="skip")
    assert str(data.file_report).endswith(
        '2 boxes of 1 class (COCO); 1 crowd left out; 1 invalid box skipped: "a.png", box 0'
    )
    assert [len(boxes) for boxes in data.boxes("full")] == [1, 1, 0]


async def test_names_of_tables_stay_in_their_folder(tmp_path: Path) -> None:
    table = b"file,label,xmin,ymin,xmax,ymax\n../a.png,cat,0,0,1,1\n"
    with pytest.raises(DataError, match="NNM809"):
        await DetectionDataset.from_csv(table, folder=tmp_path)
    with pytest.raises(DataError, match='NNM710: the table has no column "ymax"'):
        await DetectionDataset.from_csv(b"file,label,xmin,ymin,xmax\na.png,cat,0,0,1\n")
    with pytest.raises(DataError, match="NNM713: row 1 of the table: 0, 0, x, 1"):
        await DetectionDataset.from_csv(b"file,label,xmin,ymin,xmax,ymax\na.png,cat,0,0,x,1\n")


async def test_sizes_are_multiples_of_the_stride() -> None:
    files = [picture(name) for name in BOXES]
    boxes = [*BOXES.values()]
    data = await DetectionDataset.from_files(files[:1], boxes[:1], split=(1, 0, 0))
    assert data.inputs["model"].shape == (16, 16), "as all pictures are"
    data = await DetectionDataset.from_files(files, boxes, stride=8, split=(1, 0, 0))
    assert data.inputs["model"].shape == (16, 16), "the median, not enlarged"
    wide = png([[(90, 90, 90)] * 200] * 40)
    data = await DetectionDataset.from_files([wide], [[(0, 0, 9, 9, "cat")]], split=(1, 0, 0))
    assert data.inputs["model"].shape == (20, 96)
    with pytest.raises(DataError, match="NNM702: 3 files, 2 lists of boxes"):
        await DetectionDataset.from_files(files, boxes[:2])


@pytest.mark.parametrize("fit", ["pad", "crop", "stretch"])
async def test_predictions_are_in_pixels_of_the_picture(fit: Any, tmp_path: Path) -> None:
    """A model that learnt one picture by heart finds its box in it, also after it is loaded."""
    box = (10, 4, 12, 8, "dog")
    content = png(
        [
            [(255,) * 3 if 10 <= x < 22 and 4 <= y < 12 else (0,) * 3 for x in range(32)]
            for y in range(16)
        ]
    )
    data = await DetectionDataset.from_files(
        [content] * 4, [[box]] * 4, size=(16, 16), fit=fit, split=(1, 0, 0), mode="grey"
    )
    text = suggest_detection_model(data)
    async with await NNModel.create(source=text, dataset=data, log=lambda _: None) as model:
        await model.train(epochs=60, lr=0.01, progress="off", review=False)
        [[found]] = await model.predict(content)
        assert found.label == "dog"
        assert found[:4] == pytest.approx(box[:4], abs=1.5)
        async with await NNModel.load(await model.save(), log=lambda _: None) as loaded:
            path = write(tmp_path, {"one.png": content}) / "one.png"
            [first], [second] = await loaded.predict([path, io.BytesIO(content)])
            assert first == second == pytest.approx(found)
            with pytest.raises(DataError, match=r'NNM705: input ".*" has no pictures'):
                await loaded.predict([])


@pytest.mark.parametrize(
    "files",
    [
        {"annotations.json": change("annotations", 0, bbox=[])},
        {"a.txt": "0 .1 .1 .9 .1 .9 .9\n1 0.75 0.75 0.5 0.5", "b.txt": yolo("b.png")},
        {"a.txt": "0 50 50 9 9\n1 0.75 0.75 0.5 0.5", "b.txt": yolo("b.png")},
        {"a.xml": voc("a.png").replace("<xmin>3</xmin>", ""), "b.xml": voc("b.png")},
    ],
)
async def test_what_is_no_box_is_skipped_in_every_format(files: Any, tmp_path: Path) -> None:
    write(tmp_path, {**{name: picture(name) for name in BOXES}, **files})
    with pytest.raises(DataError, match="NNM706"):
        await DetectionDataset.from_folder(tmp_path, size=16)
    data = await DetectionDataset.from_folder(tmp_path, size=16, unreadable="skip")
    assert data.boxes("full")[0][0][:4] == (8, 8, 8, 8)
    assert data.file_report is not None and len(data.file_report.broken) == 1


async def test_shares_may_be_rounded(tmp_path: Path) -> None:
    write(tmp_path, {"a.png": picture("a.png"), "a.txt": "0 0.5 0.5 1.00001 1"})
    data = await DetectionDataset.from_folder(tmp_path, size=16)
    assert data.boxes("full")[0][0][:4] == (0, 0, 16, 16)


async def test_files_of_instances_have_the_boxes_of_coco(tmp_path: Path) -> None:
    files = {f"annotations/{name}_all.json": coco() for name in ("instances", "person_keypoints")}
    write(tmp_path, {**files, **{f"images/{name}": picture(name) for name in BOXES}})
    data = await DetectionDataset.from_folder(tmp_path, size=16)
    assert [len(boxes) for boxes in data.boxes("full")] == [2, 1, 0]


async def test_a_column_of_labels_is_not_chosen_among_several() -> None:
    table = b"file,class,name,xmin,ymin,xmax,ymax\na.png,cat,Tom,0,0,9,9\n"
    with pytest.raises(DataError, match=r'NNM710.*"class", "name"') as caught:
        await DetectionDataset.from_csv(table)
    assert 'label="class"' in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("data.yaml", "names: ['a, b', \"c\"]", ["a, b", "c"]),
        ("data.yaml", "names: [c#, 'it''s', New York]  # [x]", ["c#", "it's", "New York"]),
        ("data.yaml", "names: {0: cat, 1: dog}", ["cat", "dog"]),
        ("data.yaml", "names: {'1': dog, \"0\": cat,}", ["cat", "dog"]),
        ("data.yaml", "names: [\n  cat,  # a pet\n  dog\n]\nnc: 2", ["cat", "dog"]),
        ("data.yaml", "names: # two\n- cat # one\n\n# other\n- c#\nnc: 2", ["cat", "c#"]),
        ("data.yaml", "names:\n  1: 'x: y'\n  0: \"a\\tb\"\n", ["a\tb", "x: y"]),
        ("classes.txt", "cat\nc#, d\n\n", ["cat", "c#, d"]),
    ],
)
def test_names_of_classes_are_read(name: str, text: str, expected: list[str]) -> None:
    assert parse_class_names(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("classes.txt", "cat\n\ndog", "line 2 is empty"),
        ("data.yaml", "names: *others", "cannot be read"),
        ("data.yaml", "names: [cat, [dog]]", "cannot be read"),
        ("data.yaml", "names: [cat, dog", "cannot be read"),
        ("data.yaml", "names: [cat] dog", "cannot be read"),
        ("data.yaml", "names: {cat, dog}", "cannot be read"),
        ("data.yaml", "names:\n  - cat\n  - {a: b}", "line 3"),
        ("data.yaml", "names:\n  0: cat\n  2: dog", "numbers 0, 2, not 0 … 1"),
        ("data.yaml", "names:\nnc: 2", "no names of classes"),
    ],
)
def test_names_that_cannot_be_read_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_class_names(name, text)
