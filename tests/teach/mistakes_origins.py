"""Mistakes in how columns, targets, weights and pictures came about."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import mistake
from tests.teach.origins import (
    EYE,
    boilers,
    buoys,
    forklifts,
    parcels,
    recordings,
    scans,
    scratches,
    seedlings,
    takings,
    tiles,
    two_clinics,
    wards,
)
from tests.teach.setup import Data, Setup, of
from tests.teach.texts import classifier, model, regressor

TOO_GOOD = "the score with the mistake is too good to be true, and falls when it is mended"


@mistake(
    "The takings of a day are learnt from a mean of seven days, of which three are yet to come.",
    remedy="Take the mean of the seven days before.",
    mended=lambda setup: setup.but(data=takings(first=-7)),
    why=TOO_GOOD,
    named_by=("E646",),
)
def mean_of_days_to_come() -> Setup:
    return Setup(regressor(3, (16,)), takings(first=-3), {"epochs": 60}, score="r2")


@mistake(
    "The rate of refused orders was averaged over the order itself and its neighbours.",
    remedy="Average the orders before.",
    mended=lambda setup: setup.but(data=takings(first=-7, refused=True)),
    why=TOO_GOOD,
    named_by=("E646",),
)
def rate_with_the_order_itself() -> Setup:
    data = takings(first=-1, last=2, refused=True)
    return Setup(classifier(3, (16,), 2), data, {"epochs": 60})


@mistake(
    "Missing laboratory values were filled with the median of the diagnosis, in all rows.",
    remedy="Fill them with the median of all.",
    mended=lambda setup: setup.but(data=wards(fill="all")),
    why=TOO_GOOD,
    named_by=("E647",),
)
def filled_by_diagnosis() -> Setup:
    return Setup(classifier(5, (24,), 3), wards(fill="class"), {"epochs": 60})


@mistake(
    "A test is ordered where somebody expects something; missing ones are filled with the mean.",
    remedy="Mark which tests were not made.",
    mended=lambda setup: setup.but(
        text=classifier(6, (24,), 3), data=wards(fill="marked", ordered=True)
    ),
    named_by=("E648",),
)
def test_that_was_not_ordered() -> Setup:
    return Setup(classifier(5, (24,), 3), wards(fill="all", ordered=True), {"epochs": 60})


@mistake(
    "Fifty parcel shops share six hash buckets.",
    remedy="Give each of them a column.",
    mended=lambda setup: setup.but(text=regressor(51, (24,)), data=parcels(buckets=None)),
    named_by=("E649",),
)
def shops_in_six_buckets() -> Setup:
    return Setup(regressor(7, (24,)), parcels(buckets=6), {"epochs": 60}, score="r2")


@mistake(
    "The sensor of the training rows ends at 1023; that of the testing rows does not.",
    remedy="Leave out rows at the limit.",
    mended=lambda setup: setup.but(data=boilers(kept=False)),
    named_by=("E650",),
)
def sensor_at_its_limit() -> Setup:
    return Setup(regressor(3, (24,)), boilers(kept=True), {"epochs": 80}, score="r2")


@mistake(
    "One of three clinics writes 1 for healthy and 0 for ill.",
    remedy="Exchange its labels.",
    mended=lambda setup: setup.but(data=two_clinics(opposite=False)),
    named_by=("E651",),
)
def clinic_with_labels_exchanged() -> Setup:
    return Setup(classifier(4, (16,), 2), two_clinics(opposite=True), {"epochs": 60})


@mistake(
    "Buoys are weighted by the variance of their readings in place of its inverse.",
    remedy="Weight them by 1 / variance.",
    mended=lambda setup: setup.but(data=buoys(power=-2)),
    named_by=("E652",),
)
def weighted_by_variance() -> Setup:
    return Setup(regressor(4, (24,)), buoys(power=2), {"epochs": 60}, score="r2")


@mistake(
    "Scans of the ill have a bright letter in a corner, from the scanner of their ward.",
    remedy="Paint the corner over.",
    mended=lambda setup: setup.but(data=scans(letter=0.0)),
    why=TOO_GOOD,
    named_by=("E653",),
)
def letter_in_the_corner() -> Setup:
    return Setup(EYE, scans(letter=0.97), {"epochs": 10})


@mistake(
    "A third of the pictures was read as shares from 0 to 1, the others as bytes.",
    remedy="Divide the bytes by 255.",
    mended=lambda setup: setup.but(data=seedlings(bytes_share=0.0)),
    named_by=("E654",),
)
def bytes_and_shares() -> Setup:
    return Setup(EYE, seedlings(bytes_share=0.65), {"epochs": 10})


@mistake(
    "Pictures were mirrored and brightened before they were divided.",
    remedy="Divide the pictures first.",
    mended=lambda setup: setup.but(data=scratches(apart=True)),
    why=TOO_GOOD,
    named_by=("E619",),
)
def mirrored_before_dividing() -> Setup:
    return Setup(EYE, scratches(apart=False), {"epochs": 12})


@mistake(
    "The load of forklifts depends on the hour, and is learnt from seconds since 1970.",
    remedy="Take sine and cosine of the hour.",
    mended=lambda setup: setup.but(text=regressor(3, (16,)), data=forklifts(hours=True)),
    named_by=("E634",),
)
def hours_in_seconds_since_1970() -> Setup:
    return Setup(regressor(2, (16,)), forklifts(hours=False), {"epochs": 60}, score="r2")


@mistake(
    "Four of ten recordings are in g, the others in m/s².",
    remedy="Multiply these by 9.80665.",
    mended=lambda setup: setup.but(data=recordings(in_g=0.0)),
    named_by=("E655",),
)
def recordings_in_g() -> Setup:
    layers = (
        "conv1d(f, filters=12, kernel=3, bias=a), relu(), reduceMean(axes=[1]), matmul(w), "
        "add(b), softmax()"
    )
    text = model("shape={channels:1, length:24}", layers, 3)
    return Setup(text, recordings(in_g=0.4), {"epochs": 30})


@mistake(
    "Tiles to test with have blue first, and as many are red as blue.",
    remedy="Read them as those that were trained on.",
    mended=lambda setup: setup.but(data=tiles(swapped=False)),
    named_by=("E638",),
)
def tiles_with_blue_first() -> Setup:
    layers = (
        "conv2d(f, filters=8, kernel=3, padding=same, bias=a), relu(), globalAveragePool(), "
        "matmul(w), add(b), softmax()"
    )
    text = model("shape={channels:3, height:10, width:10}", layers, 3)
    return Setup(text, tiles(swapped=True), {"epochs": 20})


def _interpolated(*, first: bool) -> Data:
    draw = np.random.default_rng(311)
    x = draw.normal(0, 1, (600, 6))
    score = x[:, 0] - x[:, 1] + draw.normal(0, 1, 600)
    y = (score > np.quantile(score, 0.9)).astype("int32")
    order = draw.permutation(600)
    parts = order[:360], order[360:480], order[480:]
    known = np.arange(600) if first else parts[0]
    rare = x[known[y[known] == 1]]
    one, other = draw.integers(len(rare), size=(2, 400))
    made = rare[one] + draw.random((400, 1)) * (rare[other] - rare[one])
    inputs = np.round(np.concatenate([x, made]), 3).astype("float32")
    labels = np.concatenate([y, np.ones(400, "int32")]).astype("int32")
    extra = np.arange(600, 1000)
    held = (extra[:320], extra[320:]) if first else (extra, extra[:0])
    split = [[*parts[0], *held[0]], [*parts[1], *held[1]], [*parts[2]]]
    return of(inputs, labels, split=[[*map(int, part)] for part in split], standardize=True)


@mistake(
    "Rows that were interpolated between those of the rare class validate the training, too.",
    remedy="Make them of training rows alone, and train on them.",
    mended=lambda setup: setup.but(data=_interpolated(first=False)),
    why=TOO_GOOD,
    named_by=("E641",),
)
def interpolated_rows_validate() -> Setup:
    return Setup(
        classifier(6, (24,), 2), _interpolated(first=True), {"epochs": 40}, subset="validation"
    )
