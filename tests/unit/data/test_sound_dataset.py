"""Sounds of files and arrays: lengths, rates, labels, changes, and what the model keeps of it."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest

from webnnm import (
    Dataset,
    Delay,
    Gain,
    NNModel,
    Noise,
    Sound,
    SoundDataset,
    encode_wav,
    suggest_sound_model,
)
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data.sounds.augmentations import SoundChange

ALL: dict[str, Any] = {"split": (1, 0, 0)}
QUIET: dict[str, Any] = {"log": lambda _: None, "backend": "numpy"}
RATE = 8000


def tone(hertz: float, seconds: float = 0.2, rate: int = RATE) -> list[float]:
    return [0.5 * math.sin(2 * math.pi * hertz * n / rate) for n in range(round(seconds * rate))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label, hertz in (("low", 300), ("high", 2000)):
        (tmp_path / label).mkdir()
        for number in range(3):
            sound = encode_wav(tone(hertz, 0.1 + 0.05 * number), RATE)
            (tmp_path / label / f"{number}.wav").write_bytes(sound)
    return tmp_path


def test_sounds_are_cut_where_they_are_loudest_or_padded_on_both_sides() -> None:
    sounds = [Sound([0.0, 0.5, -1.0, 0.0, 0.0], 10), Sound([0.25], 10), [0.1, 0.2]]
    data = SoundDataset(sounds, ["a", "b", "a"], rate=10, seconds=0.3, **ALL)
    rows = data.arrays("full")[0]["model"].tolist()
    assert rows == [[0, 0.5, -1], [0, 0.25, 0], pytest.approx([0.1, 0.2, 0])]
    assert (data.rate, data.labels(), data.inputs["model"].shape) == (10, ["a", "b"], (3,))


def test_nine_of_ten_sounds_are_whole() -> None:
    lengths = [*range(1, 10), 40]
    data = SoundDataset([[0.1] * n for n in lengths], [0.5] * 10, rate=10, **ALL)
    assert data.inputs["model"].shape == (9,)
    with pytest.raises(DataError, match="NNM702: sound 0 has 5 samples per second"):
        SoundDataset([Sound([0.1], 5)], [0.5], rate=10)
    for options in ({"rate": 0}, {"seconds": 0}, {"seconds": math.inf}):
        with pytest.raises(DataError, match="NNM704"):
            SoundDataset([[0.1]], [0.5], **options)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="NNM705"):
        SoundDataset([], [])


async def test_folders_archives_and_tables_have_labels(folder: Path) -> None:
    data = await SoundDataset.from_folder(folder, rate=RATE, **ALL)
    assert (data.labels(), data.size("full"), data.name) == (["high", "low"], 6, folder.stem)
    assert data.inputs["model"].shape == (1600,)
    assert str(data.file_report) == (
        "6 sounds of 0.2 s, 8,000 samples per second (nine of ten are no longer)"
    )
    (folder / "all.csv").write_text(
        "file,pitch\nlow/0.wav,300\nlow/1.wav,300.5\nhigh/0.wav,2000\nhigh/1.wav,2000\n"
    )
    table = await SoundDataset.from_csv(folder / "all.csv", rate=RATE, **ALL)
    assert table.arrays("full")[1]["model"].tolist() == [300, 300.5, 2000, 2000]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in ("train", "test"):
            for label in ("low", "high"):
                archive.write(folder / label / "0.wav", f"{part}/{label}/0.wav")
                archive.writestr(f"{part}/{label}/bad.wav", b"RIFF")
    whole = buffer.getvalue()
    with pytest.raises(DataError, match=r"test/high/bad\.wav") as caught:
        await SoundDataset.from_folder(whole, rate=RATE)
    assert 'unreadable="skip"' in str(caught.value)
    packed = await SoundDataset.from_folder(whole, rate=RATE, unreadable="skip")
    assert [packed.size(part) for part in ("training", "testing")] == [2, 2]
    assert packed.file_report is not None and len(packed.file_report.skipped) == 4


async def test_models_predict_files_and_sounds_of_any_length(folder: Path) -> None:
    data = await SoundDataset.from_folder(folder, rate=RATE, **ALL)
    text = suggest_sound_model(data, "pitch")
    model = await NNModel.create(source=text, dataset=data, seed=1, **QUIET)
    again = await NNModel.load(await model.save(), **QUIET)
    path = folder / "low" / "1.wav"
    expected = (await model.predict(data.arrays("full")[0]["model"])).tolist()[4]
    for one in (model, again):
        for sound in (path, str(path), path.read_bytes(), Sound(tone(300, 0.15), RATE)):
            answer = (await one.predict(sound)).tolist()
            assert len(answer) == 1 and answer[0] == pytest.approx(expected, rel=1e-3, abs=1e-4)
    several = (await again.predict([path, path])).tolist()
    assert several[1] == pytest.approx(expected)
    # Half the rate, as many seconds: it is resampled.
    slow = (await again.predict(Sound(tone(300, 0.15, 16_000), 16_000))).tolist()[0]
    assert slow == pytest.approx(expected, abs=0.05)


async def test_the_suggested_network_tells_pitches_apart() -> None:
    sounds = [tone(300 + 20 * n if n % 2 else 1800 + 20 * n) for n in range(30)]
    labels = ["low" if n % 2 else "high" for n in range(30)]
    data = SoundDataset(sounds, labels, rate=RATE)
    async with await NNModel.create(
        source=suggest_sound_model(data), dataset=data, log=lambda _: None
    ) as model:
        await model.train(epochs=20, progress="off")
        assert (await model.test()).accuracy == 1


def test_suggestions_follow_rate_and_length() -> None:
    long = SoundDataset([[0.1] * 80_000] * 2, [0.5, 1.5], rate=RATE, **ALL)
    text = suggest_sound_model(long)
    assert "hop=625" in text and "height:128" in text and "matmul(w), add(b);" in text
    with pytest.raises(DataError, match="NNM702"):
        suggest_sound_model(Dataset([[0.5]], [0.5], **ALL))


def change(step: SoundChange, samples: list[float], *draws: float) -> list[float]:
    class Fixed:
        def uniform(self, count: int) -> Any:
            assert count == len(draws)
            return HostArray.of([*draws]).values()

    inputs, outputs = step({"x": HostArray.of([samples])}, {}, Fixed(), 0)  # type: ignore[arg-type]
    assert outputs == {}
    return inputs["x"].tolist()[0]


def test_changes_move_scale_and_add_noise() -> None:
    samples = [0.25, 0.5, -0.5, 0.125]
    assert change(Delay(0.5), samples, 1.0, 0.0) == [0, 0, 0.25, 0.5]
    assert change(Delay(0.5), samples, 0.0, 0.0) == [-0.5, 0.125, 0, 0]
    assert change(Gain(20), samples, 1.0, 0.0) == pytest.approx([2.5, 5, -5, 1.25])
    assert change(Noise(0.1), samples, 0.0, 0.5) == samples
    zeros = change(Noise(0.1), [0.0] * 70_000, 1.0, 0.9)
    mean = sum(zeros) / len(zeros)
    assert mean == pytest.approx(0, abs=2e-3)
    spread = math.sqrt(sum((value - mean) ** 2 for value in zeros) / len(zeros))
    assert spread == pytest.approx(0.1, rel=0.02)
    for make in (lambda: Delay(2), lambda: Gain(-1), lambda: Noise(-1)):
        with pytest.raises(DataError, match="NNM704"):
            make()
    with pytest.raises(DataError, match="NNM702: Gain: no input is sounds"):
        Gain()({"x": HostArray.of([[[1.0]]])}, {}, Stream(0, 2), 0)
