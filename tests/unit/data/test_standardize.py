"""Standardisation: fitted on training rows, applied, undone."""

from __future__ import annotations

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data import Dataset, Field, IrisDataset, Standardization
from webnnm.data.preparation.standardize import compute_moments, fit


async def test_iris_is_standardised_as_scikit_learn_does() -> None:
    # StandardScaler fitted on the 105 training rows of seed 0.
    iris = await IrisDataset.create(standardize=True)
    fitted = iris.standardization["model"]
    assert fitted.mean == pytest.approx(
        (5.919047619047619, 3.083809523809525, 3.7990476190476192, 1.2104761904761903), rel=1e-6
    )
    assert fitted.std == pytest.approx(
        (0.853797705280326, 0.42204125492856526, 1.7947805404028137, 0.7668021175820685), rel=1e-6
    )
    first, _ = iris.sample(0)
    assert first["model"].tolist() == pytest.approx(
        [-0.9592993913923711, 0.9861369506659232, -1.3366802040929118, -1.3177796035077356],
        rel=1e-5,
    )


def test_only_training_rows_are_measured() -> None:
    data = Dataset(
        [[1.0], [3.0], [1e6], [-1e6]],
        [0.5, 1.5, 2.5, 3.5],
        split=([0, 1], [2], [3]),
        standardize=True,
    )
    assert data.standardization["model"] == Standardization((2.0,), (1.0,))
    assert data.arrays("training")[0]["model"].tolist() == [[-1], [1]]
    assert data.arrays("validation")[0]["model"].tolist() == [[999998]]


def test_what_varies_less_than_1e_8_counts_as_constant() -> None:
    values = HostArray.of([[5.0, 1.0], [5.0, 3.0]])
    fitted = fit(values, Field((2,), "float32"))
    assert fitted.std == (1.0, 1.0)
    assert fitted.apply(values).tolist() == [[0, -1], [0, 1]]


def test_moments_do_not_suffer_from_large_means() -> None:
    mean, std = compute_moments([1e9 + 1, 1e9 + 2, 1e9 + 3])
    assert mean == 1e9 + 2
    assert std == pytest.approx((2 / 3) ** 0.5, rel=1e-12)


def test_undo_is_the_inverse_of_apply() -> None:
    fitted = Standardization((10.0, -2.0, 0.0), (4.0, 0.5, 1.0))
    values = HostArray.of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    standardised = fitted.apply(values)
    assert standardised.tolist() == [[-2.25, 8, 3], [-1.5, 14, 6]]
    assert fitted.undo(standardised).tolist() == values.tolist()
    assert fitted.undo(HostArray.of([0.0, 0.0, 0.0])).tolist() == [10, -2, 0]


def test_rows_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="rows of 3 elements"):
        Standardization((0.0,) * 3, (1.0,) * 3).apply(HostArray.of([1.0, 2.0]))


IMAGES = HostArray.of(list(range(24)), shape=(2, 3, 2, 2))


def test_images_are_measured_per_channel_in_front() -> None:
    # NumPy: x.mean((0, 2, 3)), x.std((0, 2, 3)).
    for field in (
        Field((3, 2, 2), "float32", names=("channels", "height", "width")),
        Field((3, 2, 2), "float32", names=("channel", "row", "column")),
    ):
        fitted = fit(IMAGES, field)
        assert fitted.mean == (7.5, 11.5, 15.5)
        assert fitted.std == pytest.approx((6.103277807866851,) * 3, rel=1e-12)
        assert fitted.repeat == 4
        flat = list(fitted.apply(IMAGES).values())
        assert flat[0] == pytest.approx(-7.5 / 6.103277807866851)
        assert flat[4] == pytest.approx((4 - 11.5) / 6.103277807866851)
        assert flat[12] == pytest.approx((12 - 7.5) / 6.103277807866851)
        assert list(fitted.undo(fitted.apply(IMAGES)).values()) == pytest.approx(
            range(24), abs=1e-5
        )


def test_images_are_measured_per_channel_at_the_end() -> None:
    values = HostArray.of([[[[1, 10]], [[3, 30]]]])
    fitted = fit(values, Field((2, 1, 2), "float32", names=("height", "width", "channels")))
    assert (fitted.mean, fitted.std, fitted.repeat) == ((2.0, 20.0), (1.0, 10.0), 1)
    assert fitted.apply(values).tolist() == [[[[-1, -1]], [[1, 1]]]]


def test_channels_without_names_are_at_the_smaller_end() -> None:
    assert len(fit(IMAGES, Field((3, 2, 2), "float32")).mean) == 2
    assert len(fit(HostArray.of(IMAGES, shape=(1, 2, 3, 4)), Field((2, 3, 4), "float32")).mean) == 2


def table(**options: object) -> Dataset:
    return Dataset(
        {"left": [[1, 5], [3, 5]], "right": [[2.0], [6.0]]},
        {"y": [10.0, 30.0]},
        split=(1, 0, 0),
        features={"left": ["width", "height"], "right": ["weight"]},
        **options,  # type: ignore[arg-type]
    )


def test_nothing_is_standardised_unless_asked_for() -> None:
    data = table()
    assert (data.standardization, data.target_standardization) == ({}, {})
    assert data.arrays("full")[0]["left"].tolist() == [[1, 5], [3, 5]]


@pytest.mark.parametrize(
    ("chosen", "left", "right"),
    [
        (True, [[-1, 0], [1, 0]], [[-1], [1]]),
        (["right"], [[1, 5], [3, 5]], [[-1], [1]]),
        ("right", [[1, 5], [3, 5]], [[-1], [1]]),
        (["width"], [[-1, 5], [1, 5]], [[2], [6]]),
        (["left", "weight"], [[-1, 0], [1, 0]], [[-1], [1]]),
        ([], [[1, 5], [3, 5]], [[2], [6]]),
    ],
)
def test_fields_and_features_are_chosen_by_name(
    chosen: object, left: list[list[float]], right: list[list[float]]
) -> None:
    inputs, outputs = table(standardize=chosen).arrays("full")
    assert inputs["left"].tolist() == left
    assert inputs["right"].tolist() == right
    assert outputs["y"].tolist() == [10, 30]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(DataError, match='"heigth"') as caught:
        table(standardize=["heigth"])
    assert (caught.value.code, caught.value.hint) == ("NNM710", 'did you mean "height"?')


def test_without_training_rows_there_is_nothing_to_measure() -> None:
    with pytest.raises(DataError, match="no training rows") as caught:
        Dataset([[1.0]], [2.5], split=(0, 0, 1), standardize=True)
    assert caught.value.code == "NNM705"


def test_targets_are_standardised_and_decoded() -> None:
    data = table(standardize_targets=True)
    assert data.target_standardization["y"] == Standardization((20.0,), (10.0,))
    assert data.arrays("training")[1]["y"].tolist() == [-1, 1]
    assert data.decode("y", [-1.0, 0.5]) == [10, 25]


def test_integers_become_floats() -> None:
    data = Dataset({"x": bytes([10, 20])}, [0.5, 1.5], split=(1, 0, 0), standardize=True)
    assert data.inputs["x"].dtype == "float32"
    assert data.arrays("full")[0]["x"].tolist() == [-1, 1]


def test_class_numbers_are_left_alone() -> None:
    data = Dataset(
        {"token": [1, 2], "x": [1.0, 3.0]},
        [0.5, 1.5],
        split=(1, 0, 0),
        standardize=True,
        kinds={"token": "classes"},
    )
    assert list(data.standardization) == ["x"]
