"""Numbers of NumPy are numbers, wherever a setting takes one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel
from webnnm.data.series.series_dataset import SeriesDataset
from webnnm.training.settings import parse_settings

np = pytest.importorskip("numpy")

TEXT = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
ROWS = [[float(n % 2)] for n in range(20)]
CLASSES = [n % 2 for n in range(20)]


def test_settings_are_stored_as_numbers_of_python() -> None:
    settings = parse_settings(
        {
            "epochs": np.int64(2),
            "lr": np.float32(0.5),
            "batch_size": np.uint8(4),
            "seed": np.array(3),
            "shuffle": np.bool_(False),
            "class_weight": {0: np.int64(1), 1: np.float32(2)},
        }
    )
    assert json.loads(json.dumps(settings.explicit_values())) == {
        "epochs": 2,
        "lr": 0.5,
        "batch_size": 4,
        "seed": 3,
        "shuffle": False,
        "class_weight": {"0": 1, "1": 2.0},
    }


@pytest.mark.parametrize("value", [np.float32(2.5), np.array([2]), np.bool_(True)])
def test_what_is_no_integer_is_still_refused(value: Any) -> None:
    with pytest.raises(DataError, match="epochs is"):
        parse_settings({"epochs": value})


async def test_models_and_datasets_take_them() -> None:
    parts = np.array([12, 4, 4])
    data = Dataset(ROWS, CLASSES, split=tuple(parts), seed=np.int64(1), batch_size=np.int32(4))
    assert [data.size(part) for part in ("training", "validation", "testing")] == [12, 4, 4]
    assert (data.seed, data.batch_size) == (1, 4)
    assert len([*data.folds(np.int64(5))]) == 5
    async with await NNModel.create(source=TEXT, dataset=data, seed=np.int64(2)) as model:
        assert model.seed == 2
        await model.train(epochs=np.int64(2), lr=np.float32(0.1), progress="off")
        assert len(await model.predict(ROWS, batch_size=np.int64(3))) == 20
        assert type((await model.create_context(np.int64(3))).batch_size) is int


def test_series_are_divided_by_them() -> None:
    shares = tuple(np.array([0.5, 0.25, 0.25], np.float32))
    series = SeriesDataset([*range(40)], window=2, split=shares)
    assert series.size("testing") > 0
