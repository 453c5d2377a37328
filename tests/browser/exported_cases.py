"""Models of every kind of dataset, with rows that their exported pages answer as Python does."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from inspect import isawaitable
from typing import Any, NamedTuple

from webnnm import (
    Dataset,
    DetectionDataset,
    ImageDataset,
    IrisDataset,
    LabeledTextDataset,
    NNModel,
    SeriesDataset,
    TableDataset,
    TextDataset,
)

ALL: dict[str, Any] = {"split": (1, 0, 0)}
DENSE = "dense:layers matmul(w, shape=[units]), add(b), activation();\n"


TRANSFORMER = """
m:input int32 shape=[] sequence=letters;
m:param table shape=[3, 8] init=normal(1);
m:output shape=[3] sequence=letters;
m:loss SCE;
m:layers embedding(table), block(repeat=2), rmsNorm(scale), matmul(table, bTranspose=true);
block:layers
  rmsNorm(scale), attend(q, k, v, o, heads=2, causal=true, rope=true, window=8),
  residual(to=input, name=attended),
  rmsNorm(scale), matmul(up, shape=[16]), gelu(), matmul(down, shape=[8]),
  residual(to=attended);
"""


MEAN = (
    DENSE + "m:input int32 shape=[] sequence=words;"
    "m:layers embedding(words, shape=[4]), reduceMean(axes=[words]), "
)


class Case(NamedTuple):
    """A model's text and dataset, and rows, of which some are refused."""

    name: str
    source: str
    dataset: Callable[[], Any]
    rows: Sequence[Any]
    sequence: int | None = None
    days_of: int = 2023
    """The year of the dates of the training rows, if there are any."""
    epochs: int = 0
    """For how many epochs the model is trained."""


def table(**options: Any) -> TableDataset:
    """Return flats that are dear or not."""
    rows = {
        "city": ["Ulm", "Bonn", "Ulm", "Bonn", "Kiel", "Kiel"],
        "area": [30.0, 60.0, 60.0, 120.0, 75.5, 80],
        "rooms": [1, "", 3, 4, 2, 3],
        "dear": ["no", "no", "yes", "yes", "no", "yes"],
    }
    return TableDataset(rows, label="dear", standardize=["area"], **ALL, **options)


def gaps() -> TableDataset:
    """Return a table with missing cells in every column, and two words that are rare."""
    rows = {
        "city": ["Ulm", "Bonn", "Ulm", "Bonn", "", "Kiel", "Trier"],
        "area": [30.0, "", 60.0, 120.0, 75.5, "n/a", 90],
        "since": ["2020-01-01", "2020-02-03", "", *(f"2020-03-0{day}" for day in range(1, 5))],
        "dear": ["no", "no", "yes", "yes", "no", "yes", "no"],
    }
    return TableDataset(rows, label="dear", missing="indicator", max_categories=2, **ALL)


def planes() -> TableDataset:
    """Return words of which the rare ones are hashed, in several scripts, some of them missing."""
    words = ["N1", "N1", "Köln", "東京 🙂", "", "N228", "abcde", "N14"]
    rows = {"plane": words, "late": ["no", "yes"] * 4}
    return TableDataset(
        rows, label="late", missing="indicator", max_categories=1, hash_buckets=5, **ALL
    )


def codes() -> TableDataset:
    """Return numbers that are words because they are hashed."""
    rows = {"zip": [*range(80001, 80009)], "late": ["no", "yes"] * 4}
    return TableDataset(rows, label="late", hash_buckets={"zip": 5}, **ALL)


def prices() -> TableDataset:
    """Return numbers written with decimal commas, and a price to be predicted."""
    rows = {
        "weight": ["1,5 kg", "2,25 kg", "1.200,75 kg", "3,5 kg"],
        "price": [1_000_000.5, 1_000_001.5, 1_000_003.25, 1_000_002.0],
    }
    return TableDataset(rows, label="price", task="regression", standardize=True, **ALL)


def visits() -> TableDataset:
    """Return times of visits, the day first, and whether it was busy."""
    times = [datetime(2023, 1, 1) + timedelta(days=11.3 * n) for n in range(40)]
    rows = {
        "when": ["", *(f"{time:%d/%m/%Y %H:%M}" for time in times)],
        "busy": ["no", *("yes" if time.hour > 11 else "no" for time in times)],
    }
    return TableDataset(rows, label="busy", standardize=True, missing="mean", **ALL)


def sales(**options: Any) -> SeriesDataset:
    """Return sales of some months, of which one is missing, with prices that are known ahead."""
    rows = [
        {
            "month": f"{2020 + month // 12}-{month % 12 + 1:02}-28",
            "weather": ["sun", "rain", "snow"][month * 7 % 3],
            "price": 3.5 + month % 4,
            "sold": 100 + month + 10.0 * (month % 12),
        }
        for month in range(40)
        if month != 17
    ]
    return SeriesDataset(
        rows, horizon=3, window=6, future=["price"], missing="fill", **ALL, **options
    )


def shops() -> SeriesDataset:
    """Return two series of two targets each, at times that are numbers."""
    rows = [
        {"shop": shop, "hour": hour * 2, "in": hour % 5 + index, "out": 90.0 * index - hour % 3}
        for hour in range(30)
        for index, shop in enumerate(["north", "south"])
    ]
    return SeriesDataset(rows, ["in", "out"], time="hour", id="shop", window=4, horizon=2, **ALL)


def scaled_shops(scale: Any, **options: Any) -> SeriesDataset:
    """Return two series of different sizes, with words and numbers beside the targets."""
    rows = [
        {"shop": shop, "hour": hour, "open": ["no", "yes"][hour % 3 > 0], "in": size * (hour % 5)}
        | {"out": size * (9 - hour * hour % 7)}
        for hour in range(60)
        for shop, size in (("north", 1.0), ("south", 5000.0))
    ]
    parts = {"time": "hour", "id": "shop", "window": 4, "horizon": 2, "scale": scale}
    target = "in" if "quantiles" in options else ["in", "out"]
    return SeriesDataset(rows, target, **parts, **options)


NEW_SHOP = [
    {"shop": "new", "hour": 2 * hour, "open": "yes", "in": 1e6 + hour, "out": -2.0 * hour}
    for hour in range(5)
]


def continue_sales(known: int, ahead: int, **more: Any) -> list[dict[str, Any]]:
    """Return rows of further months, the last ones without sales."""
    return [
        {
            "month": f"2024-{month + 1:02}-28",
            "weather": "rain",
            "price": 4,
            "sold": 150 + month if month < known else None,
            **more,
        }
        for month in range(known + ahead)
    ]


def reviews(**options: Any) -> LabeledTextDataset:
    """Return texts of several scripts that are friendly or not."""
    rows = {
        "says": ["So good 👍🏽!", "So bad", "Très bon, naïve!", "bad bad 中文", "good\tgood"],
        "mood": ["yes", "no", "yes", "no", "yes"],
    }
    return LabeledTextDataset(rows, minimum_count=1, **ALL, **options)


def pictures(channels: int, layout: str = "hwc") -> ImageDataset:
    """Return pictures of random bytes."""
    shape = {"hw": (6, 5), "hwc": (6, 5, channels), "chw": (channels, 6, 5)}[layout]
    return ImageDataset(
        random.Random(0).randbytes(4 * 30 * channels), ["a", "b", "a", "b"], shape=shape, **ALL
    )


def numbers(shape: Sequence[int], outputs: Any, **options: Any) -> Dataset:
    """Return rows of random numbers."""
    draw = random.Random(1)

    def array(sizes: Sequence[int]) -> Any:
        if not sizes:
            return draw.uniform(-3, 9)
        return [array(sizes[1:]) for _ in range(sizes[0])]

    return Dataset(array((len(outputs), *shape)), outputs, **ALL, **options)


PIXELS = [[[(31 * r + 7 * c) % 256] for c in range(5)] for r in range(6)]
CASES = (
    Case(
        "a table with a missing cell and an unknown word",
        DENSE + "m:input shape=[5]; m:output shape=[2];"
        "m:layers dense(units=6, activation=relu), dense(units=2, activation=softmax);",
        lambda: table(missing="mean"),
        [
            {"city": "Ulm", "area": 40, "rooms": 2},
            {"city": "Bonn", "area": "40.5", "rooms": None},
            {"rooms": " 3 ", "area": -1e6, "city": " Kiel "},
            {"city": "Rome", "area": 1e30, "rooms": "?"},
            ["Ulm", 70, 2],
            [["Ulm", "1e2", 2]],
            {"city": None, "area": 40, "rooms": 2},
            {"city": "Ulm", "area": None, "rooms": 2},
            {"city": "Ulm", "rooms": 2},
            {"city": "Ulm", "area": "many", "rooms": 2},
            {"city": "Ulm", "area": 1e39, "rooms": 2},
            ["Ulm", 70],
            {"town": "Ulm"},
            {},
            {"m": {}},
            [None, None, None],
            {"city": "Ulm", "area": float("nan"), "rooms": 2},
            "Ulm",
        ],
    ),
    Case(
        "a table that refuses unknown words, scaled to 0 … 1",
        DENSE
        + "m:input shape=[4]; m:output shape=[2]; m:layers dense(units=2, activation=softmax);",
        lambda: TableDataset(
            {"city": ["Ulm", "Bonn", "Kiel"], "area": [1, 5, 9], "dear": ["no", "yes", "no"]},
            label="dear",
            standardize=True,
            scale="minmax",
            unknown="error",
            **ALL,
        ),
        [{"city": "Ulm", "area": 4}, {"city": "Rome", "area": 4}, {"area": 5, "city": "Kiel"}],
    ),
    Case(
        "features for missing cells and for rare words",
        DENSE + "m:input shape=[8]; m:output shape=[2];"
        "m:layers dense(units=6, activation=tanh), dense(units=2, activation=softmax);",
        gaps,
        [
            {"city": "Ulm", "area": 40, "since": "2020-05-01"},
            {"city": "Kiel", "area": "40.5", "since": "2020-05-01"},
            {"city": "Rome", "area": 30, "since": "2021-05-01"},
            {"city": "", "area": None, "since": ""},
            {"city": None, "area": "?", "since": None},
            ["Bonn", "nan", "NaT"],
        ],
        days_of=2020,
    ),
    Case(
        "a series of months with words, and prices that are known ahead",
        "m:input shape=[6, 7]; m:output shape=[3];m:layers reshape([42]), matmul(w), add(b);",
        sales,
        [
            continue_sales(7, 3),
            [*continue_sales(4, 0), *continue_sales(9, 3)[5:]],
            [[*row.values()] for row in continue_sales(6, 3)],
            continue_sales(8, 3)[::-1],
            continue_sales(8, 2),
            continue_sales(5, 3),
            [
                {**row, "price": None} if n == 2 else row
                for n, row in enumerate(continue_sales(8, 3))
            ],
            continue_sales(8, 3, month="yesterday"),
            continue_sales(8, 3, month="2024-01-01"),
            [{"month": "2024-01-28", "sold": 3}],
            3,
            [],
        ],
    ),
    Case(
        "several series of several targets, further than the horizon",
        "m:input shape=[4, 2]; m:output shape=[2, 2];"
        "m:layers reshape([8]), matmul(w, shape=[4]), add(b), reshape([2, 2]);",
        shops,
        [
            [
                {"shop": shop, "hour": hour, "in": hour % 7, "out": hour**0.5}
                for hour in range(60, 70, 2)
                for shop in ("north", "west")
            ],
            *(
                [
                    {"shop": shop, "hour": hour, "in": 3, "out": n}
                    for n, hour in enumerate([60, 62, 64, last])
                ]
                for shop, last in (
                    (" north ", 66),
                    (True, 66),
                    (1.0, " 66 "),
                    ("1.0", 66),
                    ("", 66),
                    (None, 66),
                    ("north", "0x42"),
                    ("north", ""),
                    ("north", None),
                    ("north", 6e9),
                )
            ),
            1,
            2,
            5,
            0,
        ],
    ),
    Case(
        "a series of seconds with gaps, filled in",
        "m:input shape=[4, 1]; m:output shape=[2];"
        "m:layers reshape([4]), matmul(w, shape=[2]), add(b);",
        lambda: SeriesDataset(
            {
                "when": [f"2024-01-01 00:00:{n:02}" for n in range(40)],
                "v": [n % 7 for n in range(40)],
            },
            window=4,
            horizon=2,
            missing="fill",
            calendar=False,
            **ALL,
        ),
        [
            [[f"2024-01-01 23:58:{n:02}", n] for n in (1, 2, 5, 6)],
            [["2024-01-01 23:58:01.5", 1], ["2024-01-01 23:58:02.5", 2], ["2025-01-01", 3]],
            [[f"2024-01-01 23:59:5{n}.25", n] for n in range(5)],
            [[f"9999-12-31 23:59:5{n}", n] for n in range(6, 10)],
            400,
            100_001,
        ],
    ),
    Case(
        "a series without a step",
        "m:input shape=[2, 1]; m:output shape=[1];"
        "m:layers reshape([2]), matmul(w, shape=[1]), add(b);",
        lambda: SeriesDataset(
            {"t": [n * n for n in range(20)], "v": [*range(20)]}, time="t", window=2, **ALL
        ),
        [[[1, 2], [5, 7]], 3],
    ),
    Case(
        "quantiles of a series",
        "m:input shape=[4, 1]; m:output shape=[2, 3]; m:loss QUL;"
        "m:layers reshape([4]), matmul(w, shape=[6]), add(b), reshape([2, 3]);",
        lambda: SeriesDataset([*range(20)], window=4, horizon=2, quantiles=[0.1, 0.5, 0.9], **ALL),
        [[5, 6, 7, 8], 3],
    ),
    Case(
        "calibrated quantiles of a series",
        "m:input shape=[4, 1]; m:output shape=[2, 3]; m:loss QUL;"
        "m:layers reshape([4]), matmul(w, shape=[6]), add(b), reshape([2, 3]);",
        lambda: SeriesDataset(
            [n * n % 17 for n in range(60)], window=4, horizon=2, quantiles=[0.1, 0.5, 0.9]
        ),
        [[5, 6, 7, 8], 3],
        epochs=1,
    ),
    Case(
        "quantiles of a series without a median",
        "m:input shape=[4, 1]; m:output shape=[2, 2]; m:loss QUL;"
        "m:layers reshape([4]), matmul(w, shape=[4]), add(b), reshape([2, 2]);",
        lambda: SeriesDataset([*range(20)], window=4, horizon=2, quantiles=[0.1, 0.8], **ALL),
        [[5, 6, 7, 8], 3],
    ),
    Case(
        "a series whose times are shares of a year",
        "m:input shape=[4, 1]; m:output shape=[1];m:layers reshape([4]), matmul(w), add(b);",
        lambda: SeriesDataset(
            {"year": [2008 + n / 12 for n in range(40)], "v": [*range(40)]}, window=4, **ALL
        ),
        [30],
    ),
    Case(
        "series scaled by themselves",
        "m:input shape=[4, 4]; m:output shape=[2, 2];"
        "m:layers reshape([16]), matmul(w, shape=[4]), add(b), reshape([2, 2]);",
        lambda: scaled_shops("series"),
        [3, NEW_SHOP, [{**row, "shop": "south"} for row in NEW_SHOP]],
    ),
    Case(
        "quantiles of scaled windows",
        "m:input shape=[4, 4]; m:output shape=[2, 3]; m:loss QUL;"
        "m:layers reshape([16]), matmul(w, shape=[6]), add(b), reshape([2, 3]);",
        lambda: scaled_shops("window", quantiles=[0.1, 0.5, 0.9]),
        [3, NEW_SHOP, [{**row, "in": 5} for row in NEW_SHOP]],
        epochs=1,
    ),
    Case(
        "a series of numbers alone",
        "m:input shape=[4, 1]; m:output shape=[1];m:layers reshape([4]), matmul(w), add(b);",
        lambda: SeriesDataset([*range(20)], window=4, **ALL),
        [[5, 6, 7, 8], [3, 1, 4.5, 1, 5, 9], 4, [1, 2], ["x", 1, 2, 3]],
    ),
    Case(
        "dates and times, the day first",
        DENSE
        + "m:input shape=[12]; m:output shape=[2]; m:layers dense(units=2, activation=softmax);",
        visits,
        [
            "2/1/2024 15:30",
            {"when": "29/02/2024"},
            {"when": "31.12.1969"},
            {"when": "2024-07-01T10:30:15.5+02:00"},
            {"when": "5. März 2024, 3:05 p.m."},
            {"when": "MAR 5 2024 12:00 AM"},
            {"when": "1/2/03"},
            {"when": "07-12-99"},
            {"when": "07.12.68 7:00"},
            {"when": "2024-07"},
            {"when": "2024-W31"},
            {"when": "2020 w53"},
            {"when": "2021W53"},
            {"when": "2024-W00"},
            {"when": "1969W01"},
            {"when": "2024Q3"},
            {"when": "Q1 2024"},
            {"when": "2024-Q5"},
            {"when": "July 2024"},
            *(
                {"when": text}
                for text in ("2024 Jul", "Jul-24", "Jul '24", "2024M7", "2024-Jul-09")
            ),
            {"when": ""},
            {"when": None},
            *({"when": missing} for missing in ("n/a", " NaT ", "?", float("nan"))),
            {"when": "-"},
            {"when": "29/02/2023"},
            {"when": "12/31/2024"},
            {"when": "2024-07-01 25:00"},
            {"when": "2024-07-01 13:00 pm"},
            {"when": "0000-01-01"},
            {"when": "Mars 2024 x"},
            {"when": 5},
            {"day": "2024-07-01"},
        ],
    ),
    Case(
        "hashed words",
        "m:input shape=[7]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();",
        planes,
        [{"plane": word} for word in ("N1", "N14", "Köln", "東京 🙂", "never seen", "", 7, None)],
    ),
    Case(
        "hashed numbers",
        "m:input shape=[5]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();",
        codes,
        [{"zip": cell} for cell in (80001, "80002", 7, "never seen")],
    ),
    Case(
        "a price whose logarithm is learnt",
        "m:input shape=[1]; m:output shape=[1]; m:layers matmul(v), add(c);",
        lambda: TableDataset(
            {"weight": [1.0, 2, 3, 4], "price": [0.0, 1e2, 1e4, 1e6]},
            task="regression",
            standardize=True,
            standardize_targets=True,
            target_scale="log1p",
            **ALL,
        ),
        [{"weight": 2}, {"weight": -40}, {"weight": 1e4}, {"weight": -1e4}],
    ),
    Case(
        "a height and a price that are scaled by quantiles",
        "m:input shape=[2]; m:output shape=[1]; m:layers matmul(v), add(c);",
        lambda: TableDataset(
            {
                "height": [0.0, 0, 0, 10, 20, 1000, 1e6],
                "age": [*range(7)],
                "price": [1.0, 2, 3, 3, 1e4, 1e6, 5],
            },
            task="regression",
            standardize=True,
            input_scale={"height": "quantiles"},
            standardize_targets=True,
            target_scale="quantiles",
            **ALL,
        ),
        [
            *({"height": height, "age": 3} for height in (0, 10, 15.5, -7, 1e7, 500_000)),
            *({"height": 20, "age": age} for age in (-90, 90, 6)),
        ],
    ),
    Case(
        "decimal commas and a price",
        DENSE + "m:input shape=[1]; m:output shape=[1];"
        "m:layers dense(units=4, activation=tanh), matmul(v), add(c);",
        prices,
        [
            {"weight": "1,75"},
            {"weight": "1.000,5 kg"},
            {"weight": 2.5},
            {"weight": ""},
            2,
            "1,75 kg",
            [2, 3],
        ],
    ),
    Case(
        "grey pictures",
        DENSE + "m:input shape={height:6, width:5}; m:output shape=[2];"
        "m:layers flatten(), dense(units=2, activation=softmax);",
        lambda: pictures(1, "hw"),
        [
            [[v[0] for v in row] for row in PIXELS],
            [[v[0] / 255 for v in row] for row in PIXELS],
            [[v[0] % 2 for v in row] for row in PIXELS],
            [v[0] for row in PIXELS for v in row],
            [1, 2],
            [[v for (v,) in row] + [0] for row in PIXELS[1:]],
            [[[v[0] for v in row] for row in PIXELS[:3]]] * 2,
        ],
    ),
    Case(
        "coloured pictures with channels first, through a convolution",
        DENSE + "m:input shape={channels:3, height:6, width:5}; m:output shape=[2];"
        "m:layers conv2d(k, kernel=3, padding=same, filters=4), relu(),"
        "maxPool2d(windowDimensions=2, strides=2), flatten(), dense(units=2, activation=softmax);",
        lambda: pictures(3),
        [
            [[[v[0], 255 - v[0], 90] for v in row] for row in PIXELS],
            [[[v[0] for v in row] for row in PIXELS]] * 3,
        ],
    ),
    Case(
        "boxes around objects",
        "m:input shape={channels:1, height:6, width:5}; m:output shape=[6, 5, 6];"
        "m:param start shape=[6] init=constant(1.5);"
        "m:layers conv2d(f, filters=6, kernel=3, padding=same, bias=start),"
        "transpose(permutation=[1, 2, 0]);",
        lambda: DetectionDataset(
            [[[v[0] for v in row] for row in PIXELS]] * 2,
            [[(0, 1, 2, 3, "cat"), (2, 2, 3, 2, "dog")], []],
            stride=1,
            **ALL,
        ),
        [
            [[v[0] for v in row] for row in PIXELS],
            [[v[0] / 255 for v in row] for row in PIXELS[::-1]],
            [[0.5] * 5] * 6,
            [1, 2],
        ],
    ),
    Case(
        "letters",
        DENSE + "m:input int32 shape=[] sequence=letters; m:output shape=[3] sequence=letters;"
        "m:layers embedding(e, size=3, shape=[4]), lstm(u, v, hiddenSize=8, returnSequence=true),"
        "dense(units=3, activation=softmax);",
        lambda: TextDataset("abcabcabcabcabcabc", 6, **ALL),
        ["abca", "c", ["ab"], [0, 1, 2], "abcabc", "", "abd", "abcabcabc", [3]],
    ),
    Case(
        "series of different lengths, and a class of each",
        DENSE + "m:input shape=[2] sequence=time; m:output shape=[3];"
        "m:layers reduceMean(axes=[time]), dense(units=3, activation=linear);",
        lambda: Dataset(
            [[[1.0, 2], [3, 4]], [[5, 6]], [[0, 1], [2, 2], [9, 1]]], [0, 1, 2], length="max", **ALL
        ),
        [[[1, 2], [3, 5]], [[[1, 2]]], [[4, 4], [1, 2], [0, 3]], [1, 2], [[1, 2, 3]], []],
    ),
    Case(
        "standardised series of one length, shorter rows padded",
        DENSE + "m:input shape={channel:2} sequence={time:4}; m:output shape=[2];"
        "m:layers reduceMean(axes=[time]), dense(units=2, activation=softmax);",
        lambda: Dataset(
            [[[1.0, 2], [3, 4]], [[5, 6]], [[0, 1], [2, 2], [9, 1]]],
            ["a", "b", "a"],
            length=4,
            standardize=True,
            **ALL,
        ),
        [[[1, 2], [3, 5]], [[[1, 2], [3, 4], [5, 6], [7, 8]]], [[1, 2]] * 5],
    ),
    Case(
        "flowers by their features",
        DENSE + "m:input shape=[4]; m:output shape=[3];"
        "m:layers dense(units=3, activation=relu), dense(units=3, activation=softmax);",
        IrisDataset.create,
        [
            [5.1, 3.5, 1.4, 0.2],
            {"petal_width": 2, "petal_length": 5, "sepal_width": 3, "sepal_length": 6},
            [5.1, 3.5, 1.4],
            {"petal_width": 2},
            {},
            [5.1, "x", 1.4, 0.2],
            [5.1, None, 1.4, 0.2],
            "abc",
            [5.1, 3.5, 1.4, 0.2, 1],
            [[5.1], [3.5, 1.4], 0.2],
        ],
    ),
    Case(
        "one yes/no answer",
        DENSE
        + "m:input shape=[2]; m:output shape=[1]; m:layers dense(units=1, activation=sigmoid);",
        lambda: numbers((2,), [[0], [1], [1], [0]]),
        [[1, 2], [-3, 9]],
    ),
    Case(
        "several yes/no answers",
        DENSE + "m:input shape=[2, 2]; m:output shape=[3];"
        "m:layers flatten(), dense(units=3, activation=sigmoid);",
        lambda: numbers((2, 2), [[1, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 1]], standardize=True),
        [[[1, 2], [3, 4]], [[[1, 2], [3, 4]]], [1, 2, 3, 4], [[9, -9], [0, 0]], [1, 2, 3], "abc"],
    ),
    Case(
        "logits of named classes",
        DENSE + "m:loss SCE; m:input shape=[3]; m:output shape=[3];"
        "m:layers dense(units=3, activation=linear);",
        lambda: numbers((3,), ["x", "y", "z", "x"]),
        [[1, 2, 3], [0.5, -7, 2], [[1e3, 0, 0]], [1, None, 3]],
    ),
    Case(
        "several inputs and outputs",
        "a:input shape=[2]; b:input shape=[2]; sum:output shape=[2]; gap:output shape=[2];"
        "sum:layers add([a, b]); gap:layers sub([a, b]);",
        lambda: None,
        [
            {"a": [1, 2], "b": [0.1, -4]},
            {"a:input": [[1, 2]], "b": [3, 4]},
            {"a": [1, 2]},
            {"a": [1, 2], "c": [1, 2]},
            {},
        ],
    ),
    Case(
        "integers of 32 bits",
        "m:input int32 shape=[2]; m:output shape=[2]; m:layers cast(type=float32);",
        lambda: None,
        [[7, -8], [2**31 - 1, -(2**31)], [2**31, 0], [0, -(2**31) - 1], [0.5, 1]],
    ),
    Case(
        "integers of 8 bits",
        "m:input uint8 shape=[2]; m:output shape=[2]; m:layers cast(type=float32);",
        lambda: None,
        [[0, 255], [300, 1], [0, -1]],
    ),
    Case(
        "names of members of every object in JavaScript",
        DENSE + "m:input shape=[2] sequence=constructor; m:output shape=[3];"
        "m:layers reduceMean(axes=[constructor]), dense(units=3, activation=linear);",
        lambda: None,
        [[[1, 2], [3, 5]], {"m": [[1, 2]]}, {"toString": [[1, 2]]}],
        4,
    ),
    Case(
        "outputs with names of parts of an answer",
        "m:input shape=[2]; values:output shape=[2]; label:output shape=[2];"
        "values:layers add([m, m]); label:layers sub([m, m]);",
        lambda: None,
        [{"m": [1, 2]}],
    ),
    Case(
        "a number without dimensions",
        "m:input shape=[]; m:output shape=[]; m:layers tanh();",
        lambda: None,
        [[0.5], 0.25, [[1]]],
    ),
    Case(
        "a matrix in another order",
        "m:input shape=[2, 3]; m:output shape=[3, 2]; m:layers transpose();",
        lambda: None,
        [[[1, 2, 3], [4, 5, 6]], [[1, 2], [3, 4], [5, 6]]],
    ),
    Case(
        "sentences as words",
        MEAN.replace("words,", "words, size=17,") + "dense(units=2, activation=softmax);"
        "m:output shape=[2];",
        reviews,
        [
            *(
                "SO bad",
                "  really\u00a0so bon",
                "good " * 20,
                "Cafe\u0301 naïve \u200b中",
                "👍🏽👍",
                "x",
            ),
            *(["So good!"], {"says": "bad"}, {"m": "bad"}, [2, 3], {"says": 3}, {"said": "bad"}),
            *("", " \n", None, 3, [2, 99]),
        ],
        64,
    ),
    Case(
        "sentences as parts of words, and a number",
        MEAN.replace("words,", "words, size=262,") + "dense(units=1, activation=linear);"
        "m:output shape=[1];",
        lambda: LabeledTextDataset(
            ["So good 👍🏽!", "So bad", "Très bon, so so", "bad 中文"],
            [1.5, -2.25, 0.5, -1],
            tokens="bytes",
            vocabulary=262,
            lowercase=False,
            standardize_targets=True,
            **ALL,
        ),
        ["So bad", "so Bad 中\n\n 12's", "good " * 20, "", ["x"]],
        64,
    ),
    Case(
        "sentences as counts of words",
        "m:input int32 shape=[] sequence=true; m:output shape=[2];"
        "m:layers bincount(size=17), sqrt(name=counts),"
        "reduceL2(axes=[-1], keepDimensions=true, name=norm), div([counts, norm]),"
        "matmul(w), softmax();",
        reviews,
        ["SO bad", "good " * 40, "Cafe\u0301 naïve 中 👍🏽 x", {"says": "bad"}, ""],
    ),
    Case(
        "sentences as n-grams",
        "m:input int32 shape=[] sequence=true; m:output shape=[2];"
        "m:layers bincount(size=36), sqrt(name=counts),"
        "reduceL2(axes=[-1], keepDimensions=true, name=norm), div([counts, norm]),"
        "matmul(w), softmax();",
        lambda: reviews(tokens="ngrams", ngrams=(2, 3), vocabulary=36),
        ["SO bad", "good " * 40, "Cafe\u0301 naïve 中 👍🏽 x", {"says": "bad"}, "?", ""],
    ),
    Case(
        "sentences as letters",
        MEAN.replace("words,", "words, size=26,") + "dense(units=2, activation=softmax);"
        "m:output shape=[2];",
        lambda: reviews(tokens="letters", length=9),
        ["SO bad", "👍🏽 \r\n中文", "good " * 20, ""],
    ),
    Case(
        "a causal transformer",
        TRANSFORMER,
        lambda: TextDataset("abcabcabcabcabcabc", 6, **ALL),
        ["abca", "c", "abcabc", "abcabcabca", "abd"],
        12,
    ),
)


async def open_model(case: Case) -> NNModel:
    """Return the model of a case, as another program loads it."""
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    if case.sequence:
        settings["sequence_length"] = case.sequence
    dataset = case.dataset()
    if isawaitable(dataset):
        dataset = await dataset
    model = await NNModel.create(source=case.source, dataset=dataset, seed=3, **settings)
    if case.epochs:
        await model.train(epochs=case.epochs, progress="off", review=False)
    return await NNModel.load(await model.save(), **settings)
