"""The plot of a training, as SVG and as a figure of Matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from webnnm.core.errors import DataError
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.evaluation.history_plot import PAIRS, number, thin, ticks, vertical
from webnnm.evaluation.rate_range import RateRange

KINDS = ("training", "validation")
SVG = "{http://www.w3.org/2000/svg}"


def course(
    losses: list[float],
    validation: list[float | None] | None = None,
    outputs: tuple[str, ...] = ("model",),
    start: int = 1,
) -> History:
    history = History({}, "numpy", stopped="epochs")
    for k, loss in enumerate(losses):
        val = validation[k] if validation else None
        shares = {name: loss / len(outputs) for name in outputs}
        val_losses = {} if val is None else {name: val / len(outputs) for name in outputs}
        epoch = start + k
        history.epochs.append(
            EpochRecord(epoch, 99, loss, shares, 1e-3, 0.1, val, val_losses=val_losses)
        )
        if (criterion := loss if val is None else val) < history.best_loss:
            history.best_loss, history.best_epoch = criterion, epoch
    return history


def parts(history: History, **options: Any) -> ElementTree.Element:
    """Parse a plot: that it is XML is tested with every use."""
    return ElementTree.fromstring(history.plot(**options))


def texts(root: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def curves(root: ElementTree.Element) -> dict[str, list[tuple[float, float]]]:
    """Return the points of every curve by its name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for node in root.iter(f"{SVG}path"):
        title = node.find(f"{SVG}title")
        if title is not None and title.text:
            pairs = node.attrib["d"].removeprefix("M").removesuffix("h0").split()
            x_y = [pair.split(",") for pair in pairs]
            found[title.text] = [(float(x), float(y)) for x, y in x_y]
    return found


def ring(root: ElementTree.Element) -> tuple[float, float]:
    """Return where the best epoch is marked in the plot; the other mark is in the legend."""
    _, node = root.iter(f"{SVG}circle")
    return float(node.attrib["cx"]), float(node.attrib["cy"])


def test_curves_stand_where_the_losses_are() -> None:
    root = parts(course([4.0, 2.0, 1.0], [4.5, 3.0, 3.5]))
    found = curves(root)
    assert list(found) == ["training loss", "validation loss", "learning rate"]
    (x1, y1), (x2, y2), (x3, y3) = found["training loss"]
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert (y2 - y1) == pytest.approx(2 * (y3 - y2), abs=0.3)
    assert ring(root) == found["validation loss"][1]
    assert "best: 3, epoch 2" in texts(root)
    labels = {"training loss", "validation loss", "learning rate", "loss", "epoch", "1", "2", "3"}
    assert labels <= set(texts(root))


def test_validation_now_and_then_is_one_curve() -> None:
    found = curves(parts(course([4.0, 3.0, 2.0, 1.0], [None, 3.0, None, 2.0])))
    xs = [x for x, _ in found["training loss"]]
    assert [x for x, _ in found["validation loss"]] == [xs[1], xs[3]]


def test_best_epoch_without_validation_lies_on_the_training_loss() -> None:
    root = parts(course([4.0, 1.0, 2.0]))
    assert ring(root) == curves(root)["training loss"][1]
    assert "validation loss" not in curves(root)


def test_logarithmic_beyond_two_decades() -> None:
    root = parts(course([1.0, 0.1, 0.01, 0.001]))
    assert "loss, logarithmic" in texts(root)
    assert {"1", "0.1", "0.01", "0.001"} <= set(texts(root))
    ys = [y for _, y in curves(root)["training loss"]]
    assert ys[1] - ys[0] == pytest.approx(ys[3] - ys[2], abs=0.3)
    assert "loss" in texts(parts(course([1.0, 0.011])))
    assert "loss" in texts(parts(course([1.0, 0.0])))
    assert "loss" in texts(parts(course([1.0, -0.001])))


def test_several_outputs_have_their_curves() -> None:
    root = parts(course([4.0, 2.0], [5.0, 3.0], outputs=("price", "class")))
    names = [f"{kind} {of}" for of in ("loss", "price", "class") for kind in KINDS]
    assert list(curves(root)) == [*names, "learning rate"]
    dashed = [n for n in root.iter(f"{SVG}path") if n.get("stroke-dasharray") == "5 4"]
    assert len(dashed) == 2 * 2  # curve and legend


@pytest.mark.parametrize("width", [240, 360, 640, 1400])
def test_nothing_leaves_the_picture_at_any_width(width: int) -> None:
    history = course([4.0, 2.0] * 30, [5.0, 3.0] * 30, outputs=("price", "class", "segment"))
    root = parts(history, width=width)
    _, _, right, bottom = map(float, root.attrib["viewBox"].split())
    assert right == width
    for node in root.iter(f"{SVG}text"):
        x, y, room = float(node.attrib["x"]), float(node.attrib["y"]), 6 * len(node.text or "")
        shift = {"e": 1.0, "m": 0.5}.get(node.get("class", ""), 0.0)
        assert x - shift * room >= 0
        assert x + (1 - shift) * room <= right + 6
        assert 0 < y < bottom
    for points in curves(root).values():
        assert all(0 <= x <= right and 0 <= y <= bottom for x, y in points)


@pytest.mark.parametrize("losses", [[0.5], [0.0], [-1.0], [2.0, 2.0], [0.0, 0.0], [1e-30, 1e30]])
def test_odd_courses(losses: list[float]) -> None:
    points = curves(parts(course(losses)))["training loss"]
    assert len(points) == len(losses)


def test_numbers_that_are_not_finite_are_left_out() -> None:
    found = curves(parts(course([1.0, float("nan"), float("inf"), 0.5])))
    assert len(found["training loss"]) == 2


def test_no_epoch() -> None:
    root = parts(History({}, "numpy"))
    assert texts(root) == ["no epoch was trained"]


def test_continued_training_begins_at_its_epoch() -> None:
    root = parts(course([4.0, 3.0, 2.0], start=11))
    below = [n.text for n in root.iter(f"{SVG}text") if n.get("class") == "m"]
    assert below == ["11", "12", "13", "epoch"]


@pytest.mark.alike
def test_long_trainings_stay_small_and_keep_their_peaks() -> None:
    losses = [1.0 + (k == 12_345) for k in range(20_000)]
    text = course(losses).plot()
    assert len(text) < 60_000
    ys = [y for _, y in curves(ElementTree.fromstring(text))["training loss"]]
    assert max(ys) - min(ys) > 50


def test_thinned_keeps_lowest_and_highest_of_each_pixel() -> None:
    points = [(0.1, 5.0), (0.2, 1.0), (0.3, 9.0), (0.4, 5.0), (1.5, 2.0)]
    assert thin(points) == [(0.2, 1.0), (0.3, 9.0), (1.5, 2.0)]


def test_names_are_escaped() -> None:
    bad = '<script>"&\n'
    root = parts(course([2.0, 1.0], outputs=(bad, "b")))
    assert 'training <script>"& ' in texts(root)
    assert "<script" not in course([2.0, 1.0], outputs=(bad, "b")).plot()


def test_what_screen_readers_say() -> None:
    root = parts(course([4.0, 1.0]))
    assert root.attrib["role"] == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert title.text == "Course of the training"
    assert "loss 4.0000 → 1.0000, best 1.0000 in epoch 2" in (desc.text or "")
    assert root.attrib["aria-label"] == f"{title.text}: {desc.text}"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("pair", PAIRS)
def test_colours_stand_out_from_light_and_dark(pair: tuple[str, str]) -> None:
    light, dark = (luminance(colour) for colour in pair)
    assert (1 + 0.05) / (light + 0.05) >= 4.5
    assert (dark + 0.05) / (luminance("#1d2025") + 0.05) >= 4.5


def test_every_colour_has_a_version_for_dark_pages() -> None:
    style = parts(course([4.0, 1.0], [4.0, 2.0])).find(f"{SVG}style")
    assert style is not None
    assert style.text
    for light, dark in (PAIRS[0], PAIRS[1], PAIRS[4]):
        assert f"stroke:{light};stroke:light-dark({light},{dark})}}" in style.text


def test_ticks_are_round_and_few() -> None:
    assert ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert ticks(1, 3000, 8, integers=True) == [500, 1000, 1500, 2000, 2500, 3000]
    assert ticks(0.5, 1.5, 9, integers=True) == [1]
    for high in (1e-6, 0.37, 2.0, 88.0, 1e9):
        assert 2 <= len(ticks(0, high, 6)) <= 7


def test_axis_of_far_decades_has_few_labels() -> None:
    scale = vertical([1e-30, 1e30], 0, 200, 6)
    assert scale.log
    assert 3 <= len(scale.marks) <= 7
    assert number(scale.marks[0]) == "1e-30"


def test_written_and_shown_in_notebooks(tmp_path: Path) -> None:
    history = course([2.0, 1.0])
    path = tmp_path / "history.svg"
    text = history.plot(path, width=300)
    assert path.read_text(encoding="utf-8") == text
    assert history.plot()._repr_svg_() == history.plot()
    assert history._repr_html_().endswith(history.plot())
    assert len(repr(history)) < 400


class Axes:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **options: self.calls.append((name, given, options))


@pytest.mark.parametrize(("last", "scales"), [(0.001, 1), (0.5, 0)])
def test_figure(last: float, scales: int, monkeypatch: pytest.MonkeyPatch) -> None:
    above, below = Axes(), Axes()
    pyplot = SimpleNamespace(subplots=lambda *_, **__: ("figure", (above, below)))
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    assert course([4.0, last], [5.0, 0.9]).figure() == "figure"
    drawn = {options["label"]: given for name, given, options in above.calls if name == "plot"}
    assert drawn["training loss"] == ((1, 2), (4.0, last))
    assert drawn["validation loss"] == ((1, 2), (5.0, 0.9))
    assert drawn["best: 0.9"][:2] == (2, 0.9)
    assert [name for name, *_ in above.calls].count("set_yscale") == scales
    assert below.calls[0][1] == ([1, 2], [1e-3, 1e-3])


def test_figure_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(DataError, match="needs Matplotlib") as caught:
        course([2.0, 1.0]).figure()
    assert caught.value.code == "NNM709"
    assert "plot()" in caught.value.hint


@pytest.mark.parametrize("name", ["x.png", "x.pdf", "x.html", "x", "x.svg.gz"])
def test_a_plot_is_not_written_under_the_name_of_another_format(tmp_path: Path, name: str) -> None:
    history = course([2.0, 1.0])
    for plot in (history.plot, RateRange((0.001, 0.01, 0.1), (1.0, 0.9, 0.5)).plot):
        with pytest.raises(DataError, match=r'NNM704: ".*" does not end in \.svg') as caught:
            plot(tmp_path / name)
        assert "Matplotlib" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    history.plot(tmp_path / "x.SVG")
    assert (tmp_path / "x.SVG").read_text() == str(history.plot())
    assert len(repr(history.plot())) < 50


def test_a_table_is_not_written_under_the_name_of_another_format(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not end in \.csv") as caught:
        course([2.0]).to_csv(tmp_path / "x.xlsx")
    assert "to_dict()" in caught.value.hint
    course([2.0]).to_csv(tmp_path / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
