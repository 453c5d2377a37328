"""Charts are valid Vega-Lite, with a text for those who do not see them."""

from __future__ import annotations

import base64
import json
import math
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webnnm import (
    BackendError,
    Box,
    DataError,
    Dataset,
    DetectionDataset,
    EpochRecord,
    History,
    ImageDataset,
    charts,
)
from webnnm.charts.chart import MIME
from webnnm.charts.theme import SERIES, THEMES, configuration
from webnnm.evaluation.calibration import reliability
from webnnm.evaluation.compare import classification, multilabel, regression
from webnnm.evaluation.importance import PermutationImportance
from webnnm.evaluation.result import TestResult


def course(rate: float = 0.5, epochs: int = 8) -> History:
    """Return the history of a training that learns at a rate."""
    records = [
        EpochRecord(
            k,
            epochs,
            math.exp(-rate * k),
            {},
            0.1 / k,
            0.01,
            math.exp(-rate * k) + 0.1,
            val_metrics={"accuracy": 1 - math.exp(-rate * k)},
            grad_norm=2.0 / k,
            clip_threshold=1.0,
        )
        for k in range(1, epochs + 1)
    ]
    return History({}, "numpy", records)


SCORES = [0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1]
TRUE = [True, True, False, True, False, True, False, False]
CHARTS = {
    "loss": lambda: charts.loss(course()),
    "smoothed": lambda: charts.loss(course(), smoothing=0.6),
    "runs": lambda: charts.loss({"adam": course(), "sgdm": course(0.1)}),
    "decades": lambda: charts.loss(course(2.0)),
    "metrics": lambda: charts.metrics(course()),
    "learning rate": lambda: charts.learning_rate(course()),
    "gradient": lambda: charts.gradient_norm(course()),
    "confusion": lambda: charts.confusion_matrix([[3, 1], [0, 4]], ["no", "yes"]),
    "confusion of many": lambda: charts.confusion_matrix(
        [[int(i == j) for j in range(30)] for i in range(30)], [str(k) for k in range(30)]
    ),
    "roc": lambda: charts.roc_curve({"yes": SCORES}, {"yes": TRUE}),
    "worst": lambda: charts.worst_pictures(
        ImageDataset(
            bytes(range(48)), ["a", "b", "b", "a"], shape=(2, 2, 3), layout="hwc", split=(1, 0, 0)
        ),
        [[0.9, 0.1], [0.2, 0.8], [0.75, 0.25], [0.4, 0.6]],
        subset="training",
    ),
    "boxes": lambda: charts.boxed_pictures(
        DetectionDataset(
            bytes(384), [[(1, 2, 3, 4, "cat")], [], [(4, 4, 4, 4, "dog")]], shape=(8, 16)
        ),
        [[Box(1, 2, 3, 4, "cat", 0.9)], [Box(1, 1, 3, 3, "cat", 0.5)], []],
        subset="full",
    ),
    "calibration": lambda: charts.calibration_curve(reliability(SCORES, TRUE)),
    "importance": lambda: charts.permutation_importance(
        PermutationImportance(
            ("width", "colour"), ((0.5, 0.25), (0.0, -0.1)), "accuracy", 0.9, 8, "testing"
        )
    ),
    "forecasts": lambda: charts.forecast(
        ["2024-01-01", "2024-01-02"], [3.0, 4.0], ["2024-01-03"], {"model": [5.0], "linear": [4.5]}
    ),
    "intervals": lambda: charts.forecast(
        [1, 2], [3.0, 4.0], [3, 4], {"model": [5.0, 6.0]}, ([4.0, 4.5], [6.0, 7.0]), "sold"
    ),
    "series": lambda: charts.forecast([1, 2, 3], [3.0, 4.0, 2.5], name="sold"),
    "quantities": lambda: charts.prediction_error([1.0, 2.0, 4.0], [1.5, 2.0, 3.0], "price"),
    "weights": lambda: charts.histograms({"w": [0.1, 0.2, 0.9], "b": [1.0]}),
    "weights over time": lambda: charts.histograms({1: {"w": [0.1, 0.2]}, 5: {"w": [0.5, 0.9]}}),
    "boundary": lambda: charts.decision_boundary(
        [[0.1, 0.9], [0.2, 0.8]], [(0.5, 0.5), (-0.5, 0.5)], [1, 1]
    ),
    "filters": lambda: charts.filters([[[[1.0, -1.0], [0.5, 0.0]]]] * 3),
    "feature maps": lambda: charts.feature_maps([[[[1.0, 2.0], [0.5, 0.0]]] * 3]),
    "pictures": lambda: charts.pictures([[[0.0, 1.0], [0.5, 0.2]]] * 11, columns=4),
    "named pictures": lambda: charts.pictures(
        {"grey": [[[0.0], [9.0]]] * 3, "colours": [[[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]]]}
    ),
    "plot": lambda: charts.plot(
        {"rows": [(0, 1), (2, 3)], "others": [(1, 1)]},
        {"model": [(0, 0.5), (2, 2)]},
        {"80 %": [(0, 0, 1), (2, 1, 3)]},
    ),
    "square plot": lambda: charts.plot({str(n): [(n, n * n)] for n in range(10)}, square=True),
    "heat map": lambda: charts.heat_map([[0.5, 0.25]], ["a"], ["b", "c"], x="to", y="from"),
    "nothing": lambda: charts.loss(History({}, "numpy")),
}


@pytest.fixture(params=CHARTS)
def chart(request: pytest.FixtureRequest) -> charts.Chart:
    return CHARTS[request.param]()


def marks(spec: dict[str, Any]) -> Iterator[str]:
    """Yield the kinds of marks of a specification."""
    if "mark" in spec:
        yield spec["mark"]["type"]
    for part in (*spec.get("layer", ()), *([spec["spec"]] if "spec" in spec else ())):
        yield from marks(part)


@pytest.mark.desktop
def test_charts_compile_and_render_in_both_versions_of_vega_lite(chart: charts.Chart) -> None:
    converter = pytest.importorskip("vl_convert")
    for version, theme in (("5.20", "light"), ("6.4", "dark")):
        spec = chart.to_dict(theme)
        svg = converter.vegalite_to_svg(spec, vl_version=version)
        assert svg.startswith("<svg")
        assert configuration(theme)["background"] in svg


def test_charts_say_in_words_what_they_show(chart: charts.Chart) -> None:
    assert chart.description.endswith(".")
    assert len(chart.description) > 15
    assert chart.to_dict()["description"] == chart.description
    assert chart.description in repr(chart)


def test_charts_are_strict_json_and_draw_something(chart: charts.Chart) -> None:
    json.dumps(chart.to_dict(), allow_nan=False)
    assert [*marks(dict(chart.spec))]


def test_pages_get_one_specification_and_both_themes(chart: charts.Chart) -> None:
    found = json.loads(chart.to_page())
    assert {*found["themes"]} == {*THEMES}
    assert "config" not in found["spec"]
    width = found["spec"].get("width")
    assert width in ("container", None) or isinstance(width, int)
    assert ("facet" in found["spec"]) == ("width" not in found["spec"])


@pytest.mark.desktop
def test_notebooks_show_charts() -> None:
    pytest.importorskip("vl_convert")
    bundle = charts.loss(course())._repr_mimebundle_()
    assert {*bundle} == {MIME, "image/svg+xml", "text/plain"}
    assert bundle[MIME]["data"]["values"][0]["epoch"] == 1


def test_without_vl_convert_there_is_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    chart = charts.loss(course())
    assert {*chart._repr_mimebundle_()} == {MIME, "text/plain"}
    with pytest.raises(BackendError, match=r"webnnm\[charts\]") as error:
        chart.svg()
    assert error.value.code == "NNM709"


@pytest.mark.desktop
def test_charts_are_saved_by_the_ending_of_the_name(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = charts.confusion_matrix([[3, 1], [0, 4]], ["no", "yes"])
    begins = {"json": b"{", "svg": b"<svg", "png": b"\x89PNG"}
    for suffix, begin in begins.items():
        chart.save(tmp_path / f"chart.{suffix}")
        assert (tmp_path / f"chart.{suffix}").read_bytes().startswith(begin)
    with pytest.raises(DataError, match=r"charts cannot be written as \.gif"):
        chart.save(tmp_path / "chart.gif")


def test_smoothing_averages_the_past_without_favouring_the_start() -> None:
    rows = charts.loss(course(), smoothing=0.5).spec["data"]["values"]
    first, second = [row for row in rows if row["series"] == "training"][:2]
    assert first["smooth"] == pytest.approx(first["value"])
    assert second["smooth"] == pytest.approx((first["value"] + 2 * second["value"]) / 3)
    with pytest.raises(DataError, match="smoothing=1"):
        charts.loss(course(), smoothing=1)


def test_losses_of_many_decades_have_a_logarithmic_scale() -> None:
    def scale(history: History) -> Any:
        return charts.loss(history).spec["layer"][0]["encoding"]["y"]["scale"].get("type")

    assert scale(course(0.1)) is None
    assert scale(course(2.0)) == "log"


def test_a_curve_of_roc_treats_equal_scores_alike() -> None:
    chart = charts.roc_curve({"yes": [0.5, 0.5]}, {"yes": [True, False]})
    assert chart.description == "ROC curves. yes: area 0.500."
    with pytest.raises(DataError, match="2 positive and 0 negative rows"):
        charts.roc_curve({"yes": [0.5, 0.5]}, {"yes": [True, True]})


def test_histograms_count_every_number_once() -> None:
    rows = charts.histograms({"w": [0.0, 0.5, 1.0, math.nan]}, bins=2).spec["data"]["values"]
    assert [row["count"] for row in rows] == [1, 2]
    course = CHARTS["weights over time"]()
    assert course.description.startswith("Distributions at 2 epochs. Distribution of w: from 0.5")
    with pytest.raises(DataError, match="no weights"):
        charts.histograms({})


def test_filters_are_cut_by_their_layout() -> None:
    one = charts.filters([[[[1.0, 2.0]], [[3.0, 4.0]]]])
    same = charts.filters([[[[1.0, 3.0], [2.0, 4.0]]]], layout="ohwi")
    rows = [sorted(map(str, found.spec["data"]["values"])) for found in (one, same)]
    assert rows[0] == rows[1]
    with pytest.raises(DataError, match="four dimensions"):
        charts.filters([[1.0]])


def test_feature_maps_are_those_of_one_row() -> None:
    rows = [[[[1.0, 2.0]], [[3.0, 4.0]]], [[[5.0, 6.0]], [[7.0, 8.0]]]]
    one = charts.feature_maps(rows, row=1)
    assert [row["activation"] for row in one.spec["data"]["values"]] == [5, 6, 7, 8]
    last = [[[[5.0, 7.0], [6.0, 8.0]]]]
    assert charts.feature_maps(last, layout="nhwc").description == one.description.replace(
        "row 1", "row 0"
    )
    some = charts.feature_maps(rows, channels=1)
    assert some.description == "1 of 2 channels of 1 × 2 activations for row 0, from 1 to 2."
    assert {row["channel"] for row in some.spec["data"]["values"]} == {"channel 0"}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"row": 2}, "row=2"),
        ({"layout": "hwio"}, "layout"),
    ]
    for wrong, words in cases:
        with pytest.raises(DataError, match=words):
            charts.feature_maps(rows, **wrong)


def test_histograms_of_large_tensors_count_a_part() -> None:
    numbers = [0.0, 1.0, 2.0] * 2**16
    rows = charts.histograms({"w": numbers}, bins=3).spec["data"]["values"]
    assert sum(row["count"] for row in rows) == 2**16


def test_a_boundary_takes_grids_and_points_that_fit() -> None:
    chart = CHARTS["boundary"]()
    assert "50% of the plane" in chart.description
    assert "1 of 2 points" in chart.description
    with pytest.raises(DataError, match="2 points, 1 classes"):
        charts.decision_boundary([[0.5]], [(0, 0), (1, 1)], [0])


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours after WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted(map(luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_colours_stand_out_from_their_ground(theme: Any) -> None:
    found = configuration(theme)
    assert all(contrast(c, found["background"]) >= 4.5 for c in SERIES[theme])
    assert contrast(found["axis"]["labelColor"], found["background"]) >= 7


def test_predicted_quantities_are_drawn_over_actual_ones_on_equal_axes() -> None:
    chart = charts.prediction_error([1.0, 2.0, 9.0], [-3.0, 2.0, math.nan])
    right, rows = chart.spec["layer"]
    assert chart.description.endswith("of 2 rows: off by 2 on average, by 4 for 1 taken for -3.")
    assert rows["data"]["values"] == [{"actual": x, "predicted": y} for x, y in ((1, -3), (2, 2))]
    scales = [rows["encoding"][axis]["scale"]["domain"] for axis in "xy"]
    assert scales == [[-3, 2], [-3, 2]]
    assert right["encoding"]["x2"] == right["encoding"]["y2"] == {"datum": 2}
    many = charts.prediction_error(range(5001), range(5001)).spec["layer"][1]["data"]["values"]
    assert len(many) == 1667
    with pytest.raises(DataError, match="2 actual values, 1 predicted"):
        charts.prediction_error([1, 2], [1])
    with pytest.raises(DataError, match="no rows"):
        charts.prediction_error([], [])


def test_importance_is_drawn_from_the_most_important_column_down() -> None:
    names = tuple(f"c{k}" for k in range(40))
    found = PermutationImportance(names, tuple((k / 40,) for k in range(40)), "r2", 1, 9, "testing")
    rows = charts.permutation_importance(found).spec["data"]["values"]
    assert [row["column"] for row in rows] == [f"c{k}" for k in range(39, 9, -1)]
    assert rows[0]["low"] == rows[0]["mean"] == rows[0]["high"]


PAIR, TRIPLE = ("no", "yes"), ("a", "b", "c")
CLASSES = classification([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], [0, 1, 1], PAIR, kind="classes")
THREE = classification(
    [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1]], [0, 1, 1], TRIPLE, kind="classes"
)
LABELS = multilabel([[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]], ["x", "y"])
NUMBERS = regression([[1.0, 5.0], [2.0, 7.0]], [[1.0, 6.0], [3.0, 7.0]], ["a", "b"])
PRICE = regression([[1.0], [2.0]], [[1.0], [3.0]], ["price"])


def result(**outputs: Any) -> TestResult:
    return TestResult(0.25, dict.fromkeys(outputs, 0.25), 8, "testing", outputs)


def test_charts_of_a_result_take_the_result() -> None:
    for given in (result(m=CLASSES), CLASSES):
        assert charts.confusion_matrix(given) == charts.confusion_matrix(
            CLASSES.counts, CLASSES.labels
        )
        assert charts.calibration_curve(given) == charts.calibration_curve(CLASSES.calibration)
        assert charts.roc_curve(given).description == "ROC curves. yes: area 1.000."
    assert charts.roc_curve(result(m=THREE)).description == (
        "ROC curves. a: area 1.000. b: area 1.000."
    )
    assert charts.roc_curve(result(m=LABELS)).description == (
        "ROC curves. x: area 1.000. y: area 1.000."
    )
    assert charts.prediction_error(result(m=PRICE)) == charts.prediction_error([1, 3], [1, 2])
    assert charts.prediction_error(result(m=NUMBERS), name="b") == charts.prediction_error(
        [6, 7], [5, 7], "b"
    )


@pytest.mark.parametrize(
    ("draw", "problem", "remedy"),
    [
        (lambda: charts.confusion_matrix(result(m=PRICE)), "has no counts", "counts and labels"),
        (lambda: charts.confusion_matrix(result(m=LABELS)), "of 2 labels", r"result\.reports\[0\]"),
        (lambda: charts.confusion_matrix([[1, 0]], ["a", "b"]), "1 × 2 counts, with 2", "a row"),
        (lambda: charts.roc_curve(result(m=PRICE)), "has no scores", "scores and actual"),
        (
            lambda: charts.calibration_curve(result(m=LABELS)),
            "has no scores",
            "one output or label",
        ),
        (
            lambda: charts.prediction_error(result(m=CLASSES)),
            "has no pairs",
            "actual and predicted",
        ),
        (lambda: charts.prediction_error(result(m=NUMBERS)), "2 quantities: a, b", 'name="a"'),
        (
            lambda: charts.roc_curve(result(m=CLASSES, n=PRICE)),
            "of 2 outputs: m, n",
            r'result\.outputs\["m"\]',
        ),
    ],
)
def test_results_that_a_chart_cannot_show_are_refused_by_name(
    draw: Any, problem: str, remedy: str
) -> None:
    with pytest.raises(DataError, match=problem) as caught:
        draw()
    assert caught.value.code == "NNM702"
    assert re.search(remedy, str(caught.value.hint))


@pytest.mark.desktop
@pytest.mark.parametrize("name", ["a\\", '\\" + x + "', "a\nb", "a\u2028b", "a\rb", "datum['x']"])
def test_names_do_not_end_the_texts_of_expressions(name: str) -> None:
    pytest.importorskip("vl_convert")
    worth = PermutationImportance((name, "b"), ((0.5,), (0.1,)), name, 0.9, 8, "testing")
    for chart in (
        charts.permutation_importance(worth),
        charts.prediction_error([1.0, 2.0], [1.0, 3.0], name),
        charts.decision_boundary([[0.1]], [[0.5, 0.0]], [1], names=[name, name]),
    ):
        assert chart.svg().startswith("<svg")


def test_several_trainings_may_come_in_a_list() -> None:
    history = History({}, "numpy", [EpochRecord(1, 20, 0.5, {}, 1e-3, 0.25)])
    assert "training 2" in charts.loss([history, history]).description


@pytest.mark.parametrize(
    ("draw", "remedy"),
    [
        (lambda: charts.loss([0.5, 0.25]), "History"),
        (lambda: charts.metrics(object()), "History"),
        (lambda: charts.histograms(object()), "model.param_arrays()"),
        (lambda: charts.roc_curve([[0.2, 0.8]], ["yes"]), "test result"),
    ],
)
def test_what_a_chart_cannot_show_is_told_with_what_it_can(draw: Any, remedy: str) -> None:
    with pytest.raises(DataError, match="NNM702") as caught:
        draw()
    assert remedy in caught.value.hint


def test_forecasts_begin_at_the_last_value() -> None:
    chart = charts.forecast([1, 2], [3.0, 4.0], [3], {"model": [5.0]}, ([4.0], [6.0]))
    band, lines = chart.spec["layer"]
    assert band["data"]["values"] == [{"time": 3, "low": 4.0, "high": 6.0}]
    drawn = [(row["line"], row["time"], row["value"]) for row in lines["data"]["values"]]
    assert drawn == [("so far", 1, 3.0), ("so far", 2, 4.0), ("model", 2, 4.0), ("model", 3, 5.0)]
    with pytest.raises(DataError, match="NNM702"):
        charts.forecast([1], [3.0, 4.0], [3], {"model": [5.0]})
    with pytest.raises(DataError, match="NNM705"):
        charts.forecast([1], [3.0], [3], {})
    with pytest.raises(DataError, match="NNM705"):
        charts.forecast([1], [3.0], [3])


def test_a_series_is_drawn_alone_and_needs_no_legend() -> None:
    (lines,) = charts.forecast([1, 2], [3.0, 4.0], name="sold").spec["layer"]
    assert [row["value"] for row in lines["data"]["values"]] == [3.0, 4.0]
    assert lines["encoding"]["color"]["legend"] is lines["encoding"]["strokeDash"]["legend"] is None


def test_pictures_with_the_most_wrong_boxes_come_first() -> None:
    chart = CHARTS["boxes"]()
    assert chart.description == ("1 of 2 boxes are found, 1 is predicted wrongly, in 3 pictures.")
    values = chart.to_dict()["data"]["values"]
    assert [one["picture"] for one in values if "url" in one] == [
        "1: 0 missed, 1 wrong",
        "2: 1 missed, 0 wrong",
        "0: 0 missed, 0 wrong",
    ]
    kinds = [(one["kind"], one["label"], one["x2"]) for one in values if "kind" in one]
    assert kinds == [
        ("predicted", "cat", 4),
        ("actual", "dog", 8),
        ("actual", "cat", 4),
        ("predicted", "cat", 4),
    ]
    data = DetectionDataset(bytes(128), [[(1, 2, 3, 4, "cat")], []], shape=(8, 8))
    with pytest.raises(DataError, match="NNM702: boxes of 1 pictures, 2 pictures"):
        charts.boxed_pictures(data, [[]], subset="full")
    with pytest.raises(DataError, match="NNM702: dataset has no boxes"):
        charts.boxed_pictures(Dataset([[1.0], [2.0]], ["a", "b"]), [[]], subset="full")


def test_the_most_wrong_pictures_come_first() -> None:
    data = ImageDataset(
        bytes([0, 255] * 8), ["cat", "dog", "", "cat"], shape=(2, 2), split=(1, 0, 0)
    )
    chart = charts.worst_pictures(
        data, [[0.9, 0.1], [0.75, 0.25], [0.5, 0.5], [0.1, 0.9]], count=2, subset="training"
    )
    assert chart.description == (
        "2 of 3 pictures are taken for another class. Most wrong: 3, cat taken for dog."
    )
    tiles = chart.to_dict()["data"]["values"]
    assert [tile["picture"] for tile in tiles] == [
        "3: cat taken for dog (90%)",
        "1: dog taken for cat (75%)",
    ]
    file = base64.b64decode(tiles[0]["url"].partition(",")[2])
    start = file.index(b"IDAT") + 4
    assert zlib.decompress(file[start:-16]) == b"\0\x00\xff" * 2
    one = charts.worst_pictures(data, [[0.1], [0.9], [0.5], [0.2]], subset="training")
    assert one.description == "0 of 3 pictures are taken for another class."
    with pytest.raises(DataError, match="NNM702: 1 rows of probabilities, 4 pictures of 2"):
        charts.worst_pictures(data, [[0.1, 0.9]], subset="training")
    with pytest.raises(DataError, match="NNM702: dataset is not pictures"):
        table = Dataset([[1.0], [2.0]], ["a", "b"], split=(1, 0, 0))
        charts.worst_pictures(table, [[0.1, 0.9]] * 2, subset="training")


def test_pictures_are_drawn_in_lines_or_in_named_rows() -> None:
    lines = CHARTS["pictures"]().spec
    assert lines["description"] == "11 pictures of 2 × 2 pixels."
    places = [(row["x"], row["y"]) for row in lines["data"]["values"]]
    assert places == [(n % 4, n // 4) for n in range(11)]
    assert lines["encoding"]["y"]["axis"] is None
    named = CHARTS["named pictures"]().spec
    assert named["description"] == "4 pictures of 2 × 1 pixels, in the rows grey and colours."
    assert [row["line"] for row in named["data"]["values"]] == ["grey"] * 3 + ["colours"]
    assert named["width"] * 2 < named["height"] * 3
    png = base64.b64decode(named["data"]["values"][-1]["url"].partition(",")[2])
    raw = zlib.decompress(png[png.index(b"IDAT") + 4 :])
    assert raw == b"\0\xff\0\0\0\0\0\xff", "each line begins with its filter"
    with pytest.raises(DataError, match=r"pictures of a of shape \[2\]"):
        charts.pictures({"a": [1.0, 2.0]})
    with pytest.raises(DataError, match="NNM705"):
        charts.pictures({})


def test_a_plot_names_each_group_once_and_keeps_colours_apart() -> None:
    band, line, points = CHARTS["plot"]().spec["layer"]
    names = ["rows", "others", "model", "80 %"]
    assert points["encoding"]["fill"]["scale"]["domain"] == names[:2]
    assert points["encoding"]["fill"]["legend"] == {"values": names[:2]}
    assert line["encoding"]["stroke"]["scale"]["domain"] == names[:3]
    assert line["encoding"]["stroke"]["legend"] == {"values": ["model"]}
    assert band["encoding"]["color"]["scale"]["domain"] == names
    alone = charts.plot(lines={"model": [(0, 1), (1, 2)]}).spec["layer"][0]
    assert alone["encoding"]["stroke"]["legend"] is None
    assert band["data"]["values"][1] == {"name": "80 %", "x": 2, "low": 1, "high": 3}
    many = CHARTS["square plot"]().spec
    assert many["layer"][0]["mark"]["type"] == "text"
    domains = [many["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy"]
    assert domains[0][1] - domains[0][0] == pytest.approx(domains[1][1] - domains[1][0])
    assert domains[1][0] < 0 < 81 < domains[1][1]
    with pytest.raises(DataError, match="bands have 3 numbers each"):
        charts.plot(bands={"80 %": [(0, 1)]})
    with pytest.raises(DataError, match="NNM705"):
        charts.plot()


def test_a_heat_map_has_a_cell_for_each_number() -> None:
    cells = CHARTS["heat map"]().spec["data"]["values"]
    assert cells == [
        {"row": "a", "column": "b", "value": 0.5},
        {"row": "a", "column": "c", "value": 0.25},
    ]
    with pytest.raises(DataError, match=r"shape \[1, 2\], 2 rows"):
        charts.heat_map([[1.0, 2.0]], ["a", "b"], ["c"])
    with pytest.raises(DataError, match='"a" names two'):
        charts.heat_map([[1.0], [2.0]], ["a", "a"], ["c"])
