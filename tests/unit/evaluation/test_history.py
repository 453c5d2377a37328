"""The record of a training: as a dict, as JSON, as a table, as a line (spec H)."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.core.finding import Finding
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History, plain


def record(epoch: int = 1, epochs: int = 3, loss: float = 0.5, **more: Any) -> EpochRecord:
    return EpochRecord(epoch, epochs, loss, {"model": loss}, 1e-3, 0.25, **more)


def full() -> History:
    rich = record(
        2,
        val_loss=0.75,
        val_losses={"model": 0.75},
        val_metrics={"accuracy": 0.875},
        scale=1024.0,
        clip_rate=0.125,
        clip_threshold=3.5,
        grad_norm=2.25,
        overflows=2,
        penalty=0.0625,
        phases={"steps": 0.2, "validation": 0.05},
    )
    return History(
        {"lr": 1e-3, "epochs": 3},
        "numpy",
        [record(loss=1.0), rich],
        best_epoch=2,
        best_loss=0.75,
        stopped="patience",
        seconds=1.5,
        findings=[Finding(id="E111", severity="info", message="m", nodes=("softmax1",))],
        scouting={"seeds": 100, "chosen": 7},
        chosen={"lr": "default of rlion"},
        loss_settings={"model": {"loss": "HUL", "delta": 1.345}},
        phases={"build": 0.1, "training": 1.4},
    )


def test_a_record_takes_what_it_took_before() -> None:
    old = EpochRecord(1, 3, 0.5, {"model": 0.5}, 1e-3, 0.25, 0.75)
    assert old == record(val_loss=0.75)
    assert (old.scale, old.overflows, old.val_metrics, old.phases) == (None, 0, {}, {})


def test_line_of_a_record() -> None:
    assert str(record()) == "epoch 1/3: loss 0.5000, lr 1.00e-03"
    text = str(record(val_loss=0.75, val_metrics={"accuracy": 0.9}))
    assert text == "epoch 1/3: loss 0.5000, validation 0.7500, accuracy 0.9000, lr 1.00e-03"


def test_line_of_a_history() -> None:
    assert str(History({}, "numpy")) == "no epoch was trained"
    assert str(full()) == (
        "2 epochs on numpy in 1.50 s, loss 1.0000 → 0.5000, best 0.7500 in epoch 2 "
        "(accuracy 0.8750), 2 steps skipped, ended by patience"
    )


def test_dict_and_back() -> None:
    values = full().to_dict()
    text = json.dumps(values, allow_nan=False)
    assert History.from_dict(json.loads(text)) == full()
    assert values["epochs"][1]["val_metrics"] == {"accuracy": 0.875}
    assert values["loss_settings"]["model"]["delta"] == 1.345


def test_dict_before_an_epoch() -> None:
    values = History({}, "numpy").to_dict()
    assert values["best_loss"] is None
    assert History.from_dict(values) == History({}, "numpy")


def test_dict_of_an_earlier_and_of_a_later_version() -> None:
    old = History.from_dict({"settings": {}, "backend": "webnn", "epochs": []})
    assert old == History({}, "webnn")
    new = full().to_dict() | {"invented later": 1}
    new["epochs"][0]["also"] = 2
    assert History.from_dict(new) == full()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"settings": {}}, "History: backend is missing"),
        (
            {"settings": {}, "backend": "numpy", "epochs": [{"epoch": 1, "epochs": 2}]},
            "EpochRecord: loss, losses, lr, seconds is missing",
        ),
    ],
)
def test_dict_that_is_not_a_history(values: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        History.from_dict(values)
    assert caught.value.code == "NNM702"


class Array:
    def tolist(self) -> list[float]:
        return [1.0, math.nan]


class Listener:
    """Cannot be copied, as what holds an object of JavaScript."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError

    def hear(self, record: EpochRecord) -> None: ...


@dataclass
class Point:
    x: float
    f: Any = print


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        ([math.inf, 1], [None, 1]),
        ({"a": {"b": -math.inf}}, {"a": {"b": None}}),
        ({1: (True, None, "x")}, {"1": [True, None, "x"]}),
        ({"f": print, "g": [print, 2]}, {"g": [2]}),
        (range(3), [0, 1, 2]),
        pytest.param(Array(), [1.0, None], id="array"),
        (Point(2.0), {"x": 2.0}),
        (Path("x"), "x"),
        pytest.param({"on_epoch": Listener().hear}, {}, id="method"),
    ],
    ids=repr,
)
def test_plain_values(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_table_has_a_row_per_epoch() -> None:
    text = full().to_csv()
    assert text.count("\r\n") == 3
    assert "\n" not in text.replace("\r\n", "")
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["epoch"], first["loss"], first["val_loss"]) == ("1", "1.0", "")
    assert first["val_accuracy"] == first["seconds:steps"] == first["scale"] == ""
    assert {name: float(value) for name, value in second.items()} == {
        "epoch": 2,
        "loss": 0.5,
        "loss:model": 0.5,
        "val_loss": 0.75,
        "val_loss:model": 0.75,
        "val_accuracy": 0.875,
        "lr": 1e-3,
        "scale": 1024,
        "clip_rate": 0.125,
        "clip_threshold": 3.5,
        "grad_norm": 2.25,
        "overflows": 2,
        "penalty": 0.0625,
        "seconds": 0.25,
        "seconds:steps": 0.2,
        "seconds:validation": 0.05,
    }


def test_table_keeps_every_digit_and_any_name() -> None:
    name = 'a "b", c'
    loss = 0.1 + 0.2
    history = History({}, "numpy", [EpochRecord(1, 1, loss, {"x": 0.0, name: loss}, 1e-3, 0.0)])
    text = history.to_csv()
    assert 'loss:x,"loss:a ""b"", c",val_loss' in text
    (row,) = csv.DictReader(io.StringIO(text))
    assert float(row[f"loss:{name}"]) == loss


def test_table_of_no_epoch_is_its_head() -> None:
    assert History({}, "numpy").to_csv().startswith("epoch,loss,val_loss,lr,")


def test_table_is_written(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    text = full().to_csv(path)
    assert path.read_bytes() == text.encode()
