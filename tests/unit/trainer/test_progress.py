"""The progress of a training: who is told what and when, and how long it will take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webnnm import Dataset, NNModel
from webnnm.core.errors import DataError
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.trainer.progress import Events, Reporter, display


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Shown:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def begin(self, total: int, text: str) -> None:
        self.told.append(("begin", total, text))

    def update(self, record: EpochRecord, eta_seconds: float | None) -> None:
        self.told.append((record.epoch, eta_seconds))

    def note(self, text: str) -> None:
        self.told.append(text)

    def end(self, history: History) -> None:
        self.told.append("end")

    @property
    def epochs(self) -> list[int]:
        return [told[0] for told in self.told if isinstance(told[0], int)]


def record(epoch: int, epochs: int, seconds: float = 0.25) -> EpochRecord:
    return EpochRecord(epoch, epochs, 0.5, {"model": 0.5}, 1e-3, seconds)


def run(
    shown: Any, lines: list[str], epochs: int, pace: float, upto: int | None = None
) -> tuple[Reporter, Clock]:
    """Report a training with epochs of so many seconds."""
    clock = Clock()
    reporter = Reporter(shown, lines.append, clock)
    reporter.begin(epochs, "training")
    for epoch in range(1, (upto or epochs) + 1):
        clock.now += pace
        reporter.update(record(epoch, epochs, pace))
    return reporter, clock


def test_slow_epochs_are_all_shown() -> None:
    shown = Shown()
    reporter, _ = run(shown, [], 3, 2.0)
    reporter.end(History({}, "numpy"))
    assert shown.told == [("begin", 3, "training"), (1, 4.0), (2, 2.0), (3, 0.0), "end"]


def test_fast_epochs_are_shown_ten_times_a_second_and_the_last_always() -> None:
    shown = Shown()
    run(shown, [], 1005, 1 / 128)
    assert shown.epochs[:2] == [1, 14]
    assert shown.epochs[-1] == 1005
    assert len(shown.epochs) <= 10 * 1005 / 128 + 2


def test_an_early_end_shows_the_last_epoch() -> None:
    shown = Shown()
    reporter, _ = run(shown, [], 1000, 1 / 1024, upto=40)
    assert shown.epochs == [1]
    reporter.end(History({}, "numpy"))
    assert shown.epochs == [1, 40]
    assert shown.told[-1] == "end"
    reporter.end(History({}, "numpy"))
    assert shown.told.count("end") == 1


@pytest.mark.parametrize(
    ("epochs", "logged"), [(3, [1, 2, 3]), (99, list(range(1, 100))), (120, [1, 50, 100, 120])]
)
@pytest.mark.parametrize("shown", [None, Shown()])
def test_log_has_the_lines_of_the_specification(epochs: int, logged: list[int], shown: Any) -> None:
    lines: list[str] = []
    run(shown, lines, epochs, 0.001)
    assert lines == [f"epoch {n}/{epochs}: loss 0.5000, lr 1.00e-03" for n in logged]


def test_notes_go_to_both() -> None:
    shown, lines = Shown(), []
    reporter = Reporter(shown, lines.append)
    reporter.note("before")
    reporter.begin(2, "training")
    reporter.note("during")
    reporter.end(History({}, "numpy"))
    reporter.note("after")
    assert lines == ["before", "during", "after"]
    assert shown.told == [("begin", 2, "training"), "during", "end"]


def test_end_without_a_beginning_tells_nobody() -> None:
    shown = Shown()
    Reporter(shown, print).end(History({}, "numpy"))
    assert shown.told == []


def test_expected_time_follows_the_last_epochs() -> None:
    reporter, clock = run(None, [], 200, 8.0, upto=40)
    for epoch in range(41, 101):
        clock.now += 1.0
        reporter.update(record(epoch, 200))
    assert reporter.eta(record(100, 200)) == pytest.approx(100.0)


def test_expected_time_forgives_a_pause() -> None:
    reporter, clock = run(None, [], 100, 1.0, upto=31)
    clock.now += 3600
    reporter.update(record(32, 100))
    assert reporter.eta(record(32, 100)) == pytest.approx(68 * (31 + 3) / 32)


def test_expected_time_counts_a_validation_now_and_then() -> None:
    reporter, clock = run(None, [], 100, 1.0, upto=1)
    for epoch in range(2, 41):
        clock.now += 2.5 if epoch % 4 == 0 else 1.0
        reporter.update(record(epoch, 100))
    assert reporter.eta(record(40, 100)) == pytest.approx(60 * (3 * 1.0 + 2.5) / 4)


def test_first_epoch_does_not_count_the_time_before_it() -> None:
    clock = Clock()
    reporter = Reporter(None, lambda _: None, clock)
    assert reporter.eta(record(0, 10)) is None
    reporter.begin(10, "training")
    clock.now = 60.0  # building
    reporter.update(record(1, 10, seconds=0.5))
    assert reporter.eta(record(1, 10)) == pytest.approx(4.5)


def test_events_are_json() -> None:
    told: list[dict[str, Any]] = []
    shown = display(told.append)
    assert isinstance(shown, Events)
    reporter, _ = run(shown, [], 2, 1.0)
    reporter.note("a line")
    reporter.end(History({}, "numpy", [record(1, 2)], best_epoch=1, best_loss=0.5, stopped="stop"))
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [event["event"] for event in told] == ["begin", "epoch", "epoch", "note", "end"]
    assert told[0] == {"event": "begin", "epochs": 2, "text": "training"}
    assert (told[1]["epoch"], told[1]["losses"], told[1]["eta_seconds"]) == (1, {"model": 0.5}, 1.0)
    assert told[1]["text"] == "loss 0.5000, 1 s left"
    assert (told[-1]["stopped"], told[-1]["best_epoch"], told[-1]["best_loss"]) == ("stop", 1, 0.5)


def test_epochs_are_logged_unless_progress_is_off() -> None:
    lines: list[str] = []
    quiet = Reporter(display("off"), lines.append, epochs=False)
    quiet.begin(2, "training")
    quiet.update(record(1, 2))
    assert not lines
    quiet.note("warning: the loss grows")
    assert lines == ["warning: the loss grows"]


@pytest.mark.parametrize(("progress", "count"), [("off", 0), ("OFF", 0), (None, 3)])
async def test_trainings_without_progress_log_no_epoch(progress: str | None, count: int) -> None:
    lines: list[str] = []
    source = "webnnm 1.0; m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    data = Dataset([[1.0], [2.0], [3.0]], [[2.0], [4.0], [6.0]], split=(1, 0, 0))
    model = await NNModel.create(source=source, dataset=data, backend="numpy", log=lines.append)
    async with model:
        settings: dict[str, Any] = {"epochs": 3, "seeds": 0, "review": False}
        await model.train(progress=progress, **settings)
    assert len([line for line in lines if line.startswith("epoch ")]) == count


def test_what_is_given_as_progress() -> None:
    own = Shown()
    assert display(own) is own
    assert display(None) is None
    assert display("off") is None
    assert display("Off") is None


@pytest.mark.parametrize(
    ("setting", "hint"),
    [("notebok", 'did you mean "notebook"?'), ("loud", "give auto, off"), (7, "give")],
)
def test_other_settings(setting: Any, hint: str) -> None:
    with pytest.raises(DataError, match="progress is") as caught:
        display(setting)
    assert caught.value.code == "NNM704"
    assert caught.value.hint.startswith(hint)


def test_expected_time_of_epochs_that_arrive_in_groups() -> None:
    """Fifty epochs at a time, a second per group: the epochs of a group come within moments."""
    clock = Clock()
    reporter = Reporter(None, lambda _: None, clock)
    expected: list[float | None] = []
    for group in range(8):
        clock.now = group + 1.0
        for epoch in range(50 * group + 1, 50 * group + 51):
            reporter.update(record(epoch, 1000, seconds=0.02))
            clock.now += 0.0001
            expected.append(reporter.eta(record(epoch, 1000)))
    for epoch, seconds in enumerate(expected, 1):
        assert seconds == pytest.approx(0.02 * (1000 - epoch), rel=0.05)
