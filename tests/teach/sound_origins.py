"""Sound programs that are like the mistakes in how columns, targets and pictures came about."""

from __future__ import annotations

import numpy as np

from tests.teach.cases import sound
from tests.teach.origins import EYE, boilers, buoys, parcels, recordings, scans, takings, wards
from tests.teach.setup import Setup, of
from tests.teach.texts import classifier, model, regressor


@sound("The takings of a day are learnt from the mean of the seven days before.")
def mean_of_days_before() -> Setup:
    return Setup(regressor(3, (16,)), takings(first=-7), {"epochs": 60}, score="r2")


@sound("A second thermometer is smoother than the one that is learnt, and read at the same time.")
def smoother_thermometer() -> Setup:
    draw = np.random.default_rng(320)
    heat = np.convolve(draw.normal(0, 1, 820), np.ones(21) / 4.6, "valid")
    target = (heat + draw.normal(0, 0.2, 800)).astype("float32")[:, None]
    x = np.stack([heat + draw.normal(0, 0.05, 800), draw.normal(0, 1, 800)], axis=1)
    data = of(x, target, method="sequential", standardize=True, standardize_targets=True)
    return Setup(regressor(2, (16,)), data, {"epochs": 60}, score="r2")


@sound("Values that are missing at random are filled with the median of all.")
def filled_with_the_median_of_all() -> Setup:
    return Setup(classifier(5, (24,), 3), wards(fill="all"), {"epochs": 60})


@sound("Which tests were ordered tells something, and a column says it.")
def tests_that_are_marked() -> Setup:
    return Setup(classifier(6, (24,), 3), wards(fill="marked", ordered=True), {"epochs": 60})


@sound("Fifty parcel shops share sixty-four hash buckets.")
def shops_in_many_buckets() -> Setup:
    return Setup(regressor(51, (24,)), parcels(buckets=64), {"epochs": 60}, score="r2")


@sound("Most seats are sold on good days, and no more than there are: 1,000 in all rows.")
def seats_sold_out() -> Setup:
    draw = np.random.default_rng(321)
    x = draw.uniform(0, 1, (700, 3))
    y = 300 + 900 * x[:, 0] + 200 * x[:, 1] + draw.normal(0, 15, 700)
    y = np.minimum(y, 1000).round().astype("float32")[:, None]
    data = of(x.astype("float32"), y, standardize=True, standardize_targets=True)
    return Setup(regressor(3, (24,)), data, {"epochs": 80}, score="r2")


@sound("Pressures within the range of their sensor.")
def sensor_within_its_range() -> Setup:
    data = boilers(kept=True, limit=1800.0)
    return Setup(regressor(3, (24,)), data, {"epochs": 80}, score="r2")


@sound("The effect of warmth turns round with the seasons, which a column tells.")
def effect_that_turns_with_the_seasons() -> Setup:
    draw = np.random.default_rng(322)
    day, warmth = np.arange(1000), draw.normal(0, 1, 1000)
    season = np.cos(2 * np.pi * day / 365)
    y = 2 * season * warmth + draw.normal(0, 0.3, 1000)
    x = np.stack([warmth, season, warmth * season], axis=1).astype("float32")
    data = of(x, y.astype("float32")[:, None], standardize=True, standardize_targets=True)
    return Setup(regressor(3, (16,)), data, {"epochs": 60}, score="r2")


@sound("Buoys are weighted by the inverse of the variance of their readings.")
def weighted_by_precision() -> Setup:
    return Setup(regressor(4, (24,)), buoys(power=-2), {"epochs": 60}, score="r2")


@sound("Some scans have a letter in a corner, of either class.")
def letters_of_either_class() -> Setup:
    return Setup(EYE, scans(letter=0.5, seed=323), {"epochs": 10})


@sound("Whether a lamp in a corner of the panel is lit is what is asked.")
def lamp_in_a_corner() -> Setup:
    draw = np.random.default_rng(324)
    y = draw.permutation(np.arange(400) % 2).astype("int32")
    x = draw.normal(0.4, 0.12, (400, 12, 12))
    x[y > 0, 1:3, 9:11] = 0.98
    data = of(x.astype("float32")[:, None], y, standardize=True, batch_size=32)
    return Setup(EYE, data, {"epochs": 8})


@sound("Recordings in one unit, of activities that differ in how strong they are.")
def recordings_in_one_unit() -> Setup:
    layers = (
        "conv1d(f, filters=12, kernel=3, bias=a), relu(), reduceMean(axes=[1]), matmul(w), "
        "add(b), softmax()"
    )
    text = model("shape={channels:1, length:24}", layers, 3)
    return Setup(text, recordings(in_g=0.0), {"epochs": 30})
