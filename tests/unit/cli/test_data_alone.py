"""From data alone: `describe`, `suggest`, and `train` without a model."""

from __future__ import annotations

import asyncio
import math
import random
import re
import shlex
import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.shared import strict
from webnnm import ImageDataset, NNModel, encode_wav

pytestmark = pytest.mark.desktop
pytest.importorskip("numpy")
main = pytest.importorskip("webnnm.cli").main

Printed = pytest.CaptureFixture[str]
FAST = ("--epochs", "5", "--seeds", "0")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a table in the current folder, as a spreadsheet writes it."""
    draw = random.Random(2)
    rows = ["Ort;Fläche;Miete"]
    for number in range(80):
        area = draw.randrange(200, 1500) / 10
        city = ("Köln", "Bonn")[number % 2]
        rows.append(f"{city};{area:.1f};{9 * area + 40 * (number % 2):.2f} €".replace(".", ","))
    (tmp_path / "mieten.csv").write_text("\n".join(rows), encoding="cp1252")
    monkeypatch.chdir(tmp_path)
    return "mieten.csv"


def test_columns_are_described(table: str, capsys: Printed) -> None:
    assert main(["describe", table]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mieten.csv: 80 rows, 3 columns"
    assert lines[1] == 'cp1252, cells separated by ";", decimal commas'
    assert lines[2] == "Ort: category, Köln (40), Bonn (40)"
    assert main(["describe", table, "--json"]) == 0
    described = strict(capsys.readouterr().out)
    assert [column["content"] for column in described["columns"]] == [
        "category",
        "number",
        "number",
    ]


def test_the_suggested_command_trains_the_suggested_text(table: str, capsys: Printed) -> None:
    assert main(["suggest", table, "--target", "Miete", "--out", "m.nnm"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert Path("m.nnm").read_text().startswith("# Miete is the target: a quantity.")
    assert main([*shlex.split(command)[1:], *FAST]) == 0
    assert Path("m.safetensors").exists()
    assert "R²" in capsys.readouterr().out


def test_a_suggestion_is_printed_as_a_text(table: str, capsys: Printed) -> None:
    assert main(["suggest", table, "--target", "Ort"]) == 0
    printed = capsys.readouterr()
    Path("m.nnm").write_text(printed.out)
    assert "webnnm train MODEL.nnm --data mieten.csv --label Ort" in printed.err
    assert main(["check", "m.nnm"]) == 0
    capsys.readouterr()
    assert main(["suggest", table, "--target", "Ort", "--json"]) == 0
    suggestion = strict(capsys.readouterr().out)
    assert suggestion["source"] == printed.out
    assert suggestion["options"]["label"] == "Ort"


def test_a_table_alone_is_trained_tested_compared_and_reported(table: str, capsys: Printed) -> None:
    assert main(["train", table, "--target", "Miete", "--seeds", "0"]) == 0
    printed = capsys.readouterr()
    assert "a linear model" in printed.out
    assert "nearest neighbours" in printed.out
    assert "webnnm predict mieten.safetensors ROWS.csv" in printed.err
    page = Path("mieten-report.html").read_text()
    for text in ("<h1>mieten</h1>", "Why this model", "a linear model", "Importance", "<svg"):
        assert text in page
    Path("rows.csv").write_text("Ort;Fläche\nKöln;70,5\n")
    assert main(["predict", "mieten.safetensors", "rows.csv"]) == 0
    name, predicted = capsys.readouterr().out.split()
    assert name == "Miete"
    assert 400 < float(predicted) < 900


def test_the_result_as_json(table: str, capsys: Printed) -> None:
    arguments = ["train", table, "--target", "Ort", "--out", "o.safetensors", "--json", *FAST]
    assert main([*arguments, "--report", "o.html", "--order-by", "Miete"]) == 0
    result = strict(capsys.readouterr().out)
    assert result["saved"] == "o.safetensors"
    assert result["report"] == "o.html"
    baselines = result["test"]["baselines"]["mieten"]
    assert [*baselines["simple"]] == ["a constant", "a linear model", "nearest neighbours"]
    assert baselines["network"]["accuracy"] == result["test"]["outputs"]["mieten"]["accuracy"]
    assert not Path("mieten-report.html").exists()


def test_a_report_is_written_for_any_model(table: str, capsys: Printed) -> None:
    assert main(["suggest", table, "--target", "Ort", "--out", "m.nnm"]) == 0
    arguments = ["train", "m.nnm", "--data", table, "--label", "Ort", "--standardize", *FAST]
    assert main([*arguments, "--out", "m.safetensors", "--report", "m.html"]) == 0
    page = Path("m.html").read_text()
    assert "Importance" in page
    assert "Why this model" not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "mieten.csv", "--target", "Mite"], 'did you mean "Miete"?'),
        (["train", "mieten.csv", "--target", "Miete", "--report", "mieten.csv"], "would replace"),
        (["train", "mieten.csv", "--out", "x.html", "--report", "x.html"], "are both x.html"),
        (["train", "none.csv"], '"none.csv" cannot be read'),
        (["suggest", "mieten.csv", "--missing", "median"], "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_said(
    table: str, capsys: Printed, arguments: list[str], words: str
) -> None:
    try:
        code: Any = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert words in capsys.readouterr().err


def test_a_model_needs_a_table_and_a_path(capsys: Printed, tmp_path: Path) -> None:
    (tmp_path / "m.nnm").write_text("m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);")
    with pytest.raises(SystemExit) as caught:
        main(["train", str(tmp_path / "m.nnm")])
    assert caught.value.code == 2
    assert "the following arguments are required: --data, --out" in capsys.readouterr().err


# Other data than tables.

TESTED = re.compile(r"MASE (\d+\.\d+)\n")


def score_again(model: str, data: str, capsys: Printed, *options: str) -> dict[str, Any]:
    """Return the scores of the only output in a test of a snapshot."""
    assert main(["test", model, "--data", data, "--json", *options]) == 0
    (scores,) = strict(capsys.readouterr().out)["outputs"].values()
    return scores


def test_a_table_is_tested_again_in_its_own_units(table: str, capsys: Printed) -> None:
    words = ["train", table, "--target", "Miete", *FAST, "--split", "0.5,0,0.5", "--json"]
    assert main([*words, "--target-scale", "log1p"]) == 0
    (trained,) = strict(capsys.readouterr().out)["test"]["outputs"].values()
    again = score_again("mieten.safetensors", table, capsys, "--split", "0.5,0,0.5")
    assert trained["mae"] > 1 and again["mae"] == pytest.approx(trained["mae"])
    assert again["r2"] == pytest.approx(trained["r2"])


def test_columns_of_workbooks_are_matched_by_name(table: str, capsys: Printed) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    assert main(["train", table, "--target", "Miete", *FAST]) == 0
    book = openpyxl.Workbook()
    for row in (("Miete", "Nummer", "Fläche", "Ort"), ("?", 1, 55.5, "Köln"), ("?", 2, 90, "Bonn")):
        book.active.append(row)
    book.save("neu.xlsx")
    Path("neu.csv").write_text("Ort;Fläche\nKöln;55,5\nBonn;90\n", encoding="utf-8")
    capsys.readouterr()
    predicted: list[str] = []
    for rows in ("neu.xlsx", "neu.csv"):
        assert main(["predict", "mieten.safetensors", rows]) == 0
        predicted.append(capsys.readouterr().out)
    assert predicted[0] == predicted[1] != ""


def test_a_series_is_forecast_and_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    first = date(2024, 1, 1)
    rows = [f"{first + timedelta(n)},{20 + 5 * (n % 7)}" for n in range(280) if n % 90 != 50]
    Path("sales.csv").write_text("\n".join(["day,sold", *rows]))
    arguments = ["train", "sales.csv", "--target", "sold", "--horizon", "2", "--missing", "fill"]
    assert main([*arguments, *FAST]) == 0
    printed = capsys.readouterr()
    assert "sold is forecast 2 steps ahead" in printed.err
    assert "last season (7)" in printed.out
    assert "webnnm predict sales.safetensors --steps 2" in printed.err
    assert main(["predict", "sales.safetensors", "--steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "time,sold"
    assert 'alt="The last 21 values of sold' in Path("sales-report.html").read_text()
    scores = score_again("sales.safetensors", "sales.csv", capsys)
    assert scores["mase"] == pytest.approx(float(TESTED.findall(printed.out)[0]), abs=1e-3)
    assert "last season (7)" in scores["simple"]
    assert main(["test", "sales.safetensors", "--data", "sales.csv", "--label", "day"]) == 2
    assert "the model forecasts sold" in capsys.readouterr().err
    assert [line.partition(",")[0] for line in lines[1:]] == [
        "2024-10-07",
        "2024-10-08",
        "2024-10-09",
    ]
    Path("recent.csv").write_text("\n".join(["day,sold", *rows[-60:]]))
    assert main(["predict", "sales.safetensors", "recent.csv", "--json"]) == 0
    assert strict(capsys.readouterr().out)["times"] == ["2024-10-07", "2024-10-08"]
    Path("old.csv").write_text("\n".join(["day,sold", *rows[100:160]]))
    assert main(["predict", "sales.safetensors", "old.csv", "--steps", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("2024-06-11,"), "of these rows"


def test_texts_are_found_in_a_table_and_classified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(4)
    lines = ["nr,review,liked"]
    for number in range(120):
        liked = number % 2 == 0
        words = draw.choices(["food", "room", "bed", "view", "staff"], k=5)
        words.insert(2, draw.choice(["lovely", "great"] if liked else ["awful", "dirty"]))
        lines.append(f"{number},{' '.join(words)},{'yes' if liked else 'no'}")
    Path("reviews.csv").write_text("\n".join(lines))
    assert (
        main(["train", "reviews.csv", "--text", "review", "--target", "liked", "--seeds", "0"]) == 0
    )
    printed = capsys.readouterr()
    assert "review is read up to" in printed.err
    Path("new.csv").write_text("review\nawful room and bed\na lovely view\n")
    assert main(["predict", "reviews.safetensors", "new.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["predicted", "no", "yes"]
    Path("bare.csv").write_text(
        "\n".join(
            ",".join(line.split(",")[1:]) for line in Path("reviews.csv").read_text().splitlines()
        )
    )
    assert main(["suggest", "bare.csv", "--target", "liked"]) == 0
    assert "LabeledTextDataset(" in capsys.readouterr().err, "its only input is a text"


def test_pictures_in_folders_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    pictures = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    for number in range(40):
        for name, across in (("rows", False), ("columns", True)):
            folder = tmp_path / "stripes" / name
            folder.mkdir(parents=True, exist_ok=True)
            shift = draw.randrange(4)
            cells = [
                255 * (((x if across else y) + shift) // 2 % 2)
                for y in range(16)
                for x in range(16)
            ]
            picture = pictures.new("L", (16, 16))
            picture.putdata(cells)
            picture.save(folder / f"{number}.png")
    assert main(["train", "stripes", "--seeds", "0", "--epochs", "15"]) == 0
    printed = capsys.readouterr()
    assert "The folders are 2 classes: columns, rows." in printed.err
    files = ["stripes/rows/3.png", "stripes/columns/4.png"]
    assert main(["predict", "stripes.safetensors", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["predicted", "rows", "columns"]
    report = Path("stripes-report.html").read_text()
    assert "pictures are taken for another class" in report or "picture is taken" in report
    scores = score_again("stripes.safetensors", "stripes", capsys, "--split", "0.7,0,0.3")
    assert f"accuracy {scores['accuracy']:.4f}, macro" in printed.out
    shutil.make_archive("packed", "zip", "stripes")
    every = score_again("stripes.safetensors", "packed.zip", capsys)
    assert sum(map(sum, every["confusion_matrix"])) == 80
    assert main(["test", "stripes.safetensors", "--data", "x.csv"]) == 2


def test_pictures_with_boxes_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    pictures = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    draw = random.Random(7)
    for part in ("images", "labels"):
        (tmp_path / "marks" / part).mkdir(parents=True)
    for number in range(60):
        picture = pictures.new("L", (24, 24), 40)
        x, y = draw.randrange(12), draw.randrange(12)
        picture.paste(230, (x, y, x + 10, y + 10))
        picture.save(tmp_path / "marks" / "images" / f"{number}.png")
        line = f"0 {(x + 5) / 24} {(y + 5) / 24} {10 / 24} {10 / 24}\n"
        (tmp_path / "marks" / "labels" / f"{number}.txt").write_text(line)
    (tmp_path / "marks" / "classes.txt").write_text("square\n")
    assert main(["train", "marks", "--seeds", "0", "--epochs", "25"]) == 0
    printed = capsys.readouterr()
    assert "60 boxes (YOLO) are around objects of 1 class: square." in printed.err
    assert "mAP" in printed.out and "mAP" in (tmp_path / "marks-report.html").read_text()
    file = "marks/images/59.png"
    assert main(["predict", "marks.safetensors", file]) == 0
    heading, box, *others = capsys.readouterr().out.splitlines()
    assert heading == "picture,label,score,x,y,width,height"
    picture, label, _, *numbers = box.split(",")
    assert (picture, label, others) == (file, "square", [])
    assert [*map(float, numbers)] == pytest.approx([x, y, 10, 10], abs=1.5)
    assert main(["predict", "marks.safetensors", file, "--json"]) == 0
    [content] = strict(capsys.readouterr().out)
    assert content["picture"] == file and content["boxes"][0]["label"] == "square"
    scores = score_again("marks.safetensors", "marks", capsys, "--split", "0.7,0,0.3")
    assert f"{scores['map_50']:.4f}" in printed.out
    rows = ["file,kind,other,xmin,ymin,xmax,ymax"]
    rows.append(f"{file},square,circle,{x},{y},{x + 10},{y + 10}")
    Path("marks.csv").write_text("\n".join(rows))
    by_table = score_again("marks.safetensors", "marks.csv", capsys, "--label", "kind")
    assert by_table["map_50"] == 1
    options = ("test", "marks.safetensors", "--data")
    assert main([*options, "marks.csv", "--label", "2"]) != 0
    assert '"circle"' in capsys.readouterr().err
    assert main([*options, "marks", "--label", "kind"]) != 0
    assert "NNM704: --label kind" in capsys.readouterr().err


def test_trainings_for_boxes_read_pictures_a_hundred_times_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    pictures = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dots").mkdir()
    for number in range(4):
        pictures.new("L", (8, 8), 40).save(tmp_path / "dots" / f"{number}.png")
        (tmp_path / "dots" / f"{number}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    assert main(["train", "dots", "--seeds", "0"]) == 0
    printed = capsys.readouterr()
    assert "reads all pictures 100 times, unless epochs are given" in printed.err
    assert printed.out.startswith("100 epochs on ")


def test_masks_of_files_are_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    pictures = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    for number in range(12):
        mask = pictures.new("L", (8, 8))
        mask.paste(255, (number % 6, 1, number % 6 + 3, 6))
        for part in ("images", "masks"):
            (tmp_path / "marks" / part).mkdir(parents=True, exist_ok=True)
            mask.save(tmp_path / "marks" / part / f"{number}.png")
    text = (
        "m:input shape={channels:1, height:8, width:8};"
        "m:output shape={height:8, width:8, classes:2};"
        "m:layers conv2d(f, filters=2, kernel=1, bias=c), transpose(permutation=[1, 2, 0]),"
        "softmax();"
    )

    async def train(names: dict[int, str] | None, path: str) -> None:
        data = await ImageDataset.from_masks("marks", classes=names)
        async with await NNModel.create(source=text, dataset=data, log=lambda _: None) as model:
            await model.train(epochs=40, lr=0.1, progress="off", review=False)
            await model.save(path)

    asyncio.run(train(None, "marks.safetensors"))
    scores = score_again("marks.safetensors", "marks", capsys)
    marked = 12 * 3 * 5
    assert scores["confusion_matrix"] == [[12 * 64 - marked, 0], [0, marked]]
    rows = [f"marks/images/{number}.png,,marks/masks/{number}.png" for number in range(12)]
    Path("pairs.csv").write_text("\n".join(["image,mask,truth", *rows]))
    options = ("--label", "truth")
    by_table = score_again("marks.safetensors", "pairs.csv", capsys, *options)
    assert by_table["confusion_matrix"] == scores["confusion_matrix"]
    file = "marks/images/0.png"
    assert main(["predict", "marks.safetensors", file]) != 0
    assert "a class for each pixel" in (error := capsys.readouterr().err) and "--json" in error
    assert main(["predict", "marks.safetensors", file, "--json"]) == 0
    assert strict(capsys.readouterr().out)["m"]["predicted"][0][1][0] == "255"
    asyncio.run(train({0: "none", 255: "mark"}, "named.safetensors"))
    assert main(["test", "named.safetensors", "--data", "marks"]) != 0
    assert 'which number or colour of a mask is "none"' in capsys.readouterr().err


def test_sounds_in_folders_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(6)
    for number in range(12):
        for name, frequency in (("low", 200), ("high", 900)):
            folder = tmp_path / "tones" / name
            folder.mkdir(parents=True, exist_ok=True)
            start = draw.random()
            samples = [math.sin(6.28 * (frequency * n / 8000 + start)) / 2 for n in range(2000)]
            (folder / f"{number}.wav").write_bytes(encode_wav(samples, 8000))
    assert main(["train", "tones", "--seeds", "0", "--epochs", "10"]) == 0
    printed = capsys.readouterr()
    assert "The folders are 2 classes: high, low." in printed.err
    assert "webnnm predict tones.safetensors SOUND.wav" in printed.err
    scores = score_again("tones.safetensors", "tones", capsys, "--split", "0.7,0,0.3")
    assert f"accuracy {scores['accuracy']:.4f}, macro" in printed.out
    assert main(["predict", "tones.safetensors", "tones/low/3.wav"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "predicted,high,low"


def test_texts_in_folders_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(30):
        for name, words in (("praise", "a lovely room"), ("blame", "an awful smell")):
            folder = tmp_path / "mails" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.txt").write_text(f"{words}, visit {number}")
    assert main(["train", "mails", "--seeds", "0"]) == 0
    printed = capsys.readouterr()
    assert "Each file is read up to" in printed.err
    scores = score_again("mails.safetensors", "mails", capsys, "--split", "0.7,0,0.3")
    assert f"accuracy {scores['accuracy']:.4f}, macro" in printed.out
    Path("rows.csv").write_text("a,b\n1,2\n")
    assert main(["test", "mails.safetensors", "--data", "rows.csv"]) != 0
    capsys.readouterr()
    Path("new.csv").write_text("text\nwhat an awful visit\n")
    assert main(["predict", "mails.safetensors", "new.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("blame,")


def test_a_folder_of_other_files_is_refused(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.docx").write_bytes(b"")
    assert main(["train", str(tmp_path)]) == 2
    assert "has no pictures, sounds or texts, but 1 .docx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["suggest", "mieten.csv", "--time", "Ort"], 'a table has no option "time"'),
        (
            ["suggest", "mieten.csv", "--horizon", "1", "--groups", "Ort"],
            'a series has no option "groups"',
        ),
        (["suggest", "mieten.csv", "--text", "Ort", "--horizon", "1"], "text and horizon at once"),
    ],
)
def test_options_of_other_kinds_of_data_are_named(
    table: str, capsys: Printed, arguments: list[str], words: str
) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_columns_may_have_commas_and_digits_in_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},{n % 7},text {n},{3 * n}" for n in range(1, 60)]
    Path("t.csv").write_text("\n".join(['"price, EUR",2019,remark,y', *rows[::-1], rows[3]]))
    assert main(["suggest", "t.csv", "--target", "y", "--out", "m.nnm"]) == 0
    command = capsys.readouterr().out.splitlines()[-1]
    assert main([*shlex.split(command)[1:], *FAST]) == 0
    capsys.readouterr()
    assert main(["suggest", "t.csv", "--target", "2019", "--json"]) == 0
    assert strict(capsys.readouterr().out)["options"]["label"] == "2019"
    assert main(["suggest", "t.csv", "--target", "3", "--features", "0,2019", "--json"]) == 0
    assert strict(capsys.readouterr().out)["options"]["features"] == ["0", "2019"]


def test_files_that_are_replaced_are_named(table: str, capsys: Printed) -> None:
    for expected in (False, True):
        assert main(["train", table, "--target", "Ort", *FAST]) == 0
        told = capsys.readouterr().err
        assert ("mieten.safetensors will be replaced" in told) is expected
    assert main(["train", table, "--target", "Ort", "--out", "a.b.safetensors", *FAST]) == 0
    assert "wrote a.b-report.html" in capsys.readouterr().err
    assert main(["predict", "mieten.safetensors", "--steps", "3"]) == 2
    assert "this model is of none" in capsys.readouterr().err
    assert main(["predict", "mieten.safetensors", table, table]) == 2
    assert "2 tables at once" in capsys.readouterr().err


def test_names_of_many_classes_are_predicted_by_the_likeliest_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    syllables = ("ka", "ro", "mi", "lu", "te", "no")
    stems = [one + other + third for one in syllables for other in syllables for third in "bdgk"]
    ends = ("ova", "sson", "ini", "escu", "opoulos", "enko", "oglu")
    sizes = (1, 9, 9, 9, 9, 9, 9)
    rows = [
        f"{stem}{end},{end}"
        for number, stem in enumerate(stems)
        for end, size in zip(ends, sizes, strict=True)
        if number % 9 < size
    ]
    Path("names.csv").write_text("\n".join(["name,end", *rows]))
    assert main(["train", "names.csv", "--target", "end", "--text", "name", *FAST]) == 0
    told = capsys.readouterr().err
    assert "of their labels by words, " in told and "n-grams of letters, the better ones." in told
    first, second = told[told.index("settings: ") :].splitlines()[:2]
    assert len(first) <= 98 and second.startswith("  ") and "the report has all" in second
    assert "--class-weight balanced" in told and "class_weight=" not in told
    report = Path("names-report.html").read_text()
    assert "--class-weight balanced" in report and "class_weight=" not in report
    Path("new.csv").write_text("name\nlinosson\ndutenko\n")
    assert main(["predict", "names.safetensors", "new.csv"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split(",")[:4] == ["predicted", "probability", "second", "second probability"]
    assert [line.split(",")[0] for line in lines] == ["sson", "enko"]
    for line in lines:
        shares = [float(cell) for cell in line.split(",")[1::2]]
        assert len(shares) == 5 and shares == sorted(shares, reverse=True)
    assert main(["predict", "names.safetensors", "new.csv", "--all-classes"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(["predicted", *sorted(ends)])
