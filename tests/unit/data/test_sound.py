"""Sound of arrays and files, and at other rates."""

from __future__ import annotations

import asyncio
import math
import sys
from array import array
from typing import Any

import pytest

from webnnm import BackendError, DataError, Microphone, Sound, backend, load_sound
from webnnm.core.arrays import HostArray
from webnnm.data.sounds.resampling import resample
from webnnm.data.sounds.wav import encode_wav

ON_DESKTOP = sys.platform != "emscripten"


@pytest.mark.parametrize(
    "samples", [[0.25, 0.5, 1.0], [[0.5, 0.0], [1.0, 0.0], [1.0, 1.0]], [[0.5, 1, 1], [0, 0, 1]]]
)
def test_channels_are_mixed(samples: Any) -> None:
    sound = Sound(samples, 3)
    assert (sound.samples.tolist(), sound.seconds) == ([0.25, 0.5, 1.0], 1.0)


def test_what_is_not_a_sound_is_named() -> None:
    with pytest.raises(DataError, match=r"sound of the shape \[1, 1, 1\]"):
        Sound([[[1.0]]], 8000)
    with pytest.raises(DataError, match="samples are int32, not numbers from −1 to 1"):
        Sound(array("h", [1, 2]), 8000)
    with pytest.raises(DataError, match="rate is 0"):
        Sound([1.0], 0)
    with pytest.raises(DataError, match="sound cannot be made from a int"):
        asyncio.run(load_sound(5))


def test_files_are_read(tmp_path: Any) -> None:
    (tmp_path / "a.wav").write_bytes(encode_wav([0.5, 0.0, 1.0, 0.0], 8000, 2))
    sound = asyncio.run(load_sound(tmp_path / "a.wav"))
    assert (sound.samples.tolist(), sound.rate) == ([0.25, 0.5], 8000)
    with pytest.raises(DataError, match="NNM715"):
        asyncio.run(load_sound(tmp_path / "b.wav"))


@pytest.mark.skipif(not ON_DESKTOP, reason="pages have the browser to read other files")
def test_other_files_are_read_by_soundfile(tmp_path: Any) -> None:
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "a.flac", [[0.5, 0.0], [0.25, 0.25]], 8000)
    sound = asyncio.run(load_sound(tmp_path / "a.flac"))
    assert (sound.samples.tolist(), sound.rate) == ([0.25, 0.25], 8000)
    with pytest.raises(DataError, match="this sound cannot be read"):
        asyncio.run(load_sound(b"no sound at all"))


@pytest.mark.skipif(not ON_DESKTOP, reason="pages have the browser to read other files")
def test_without_soundfile_an_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(BackendError, match="needs the package soundfile") as caught:
        asyncio.run(load_sound(b"fLaC"))
    assert "pip install 'webnnm[sound]'" in str(caught.value)


@pytest.mark.skipif(not ON_DESKTOP, reason="pages have microphones")
def test_there_are_no_microphones_on_desktops() -> None:
    async def open_model() -> None:
        async with Microphone():
            pass

    with pytest.raises(BackendError, match="microphones can only be opened in pages"):
        asyncio.run(open_model())


@pytest.mark.parametrize("rate", [8000, 11_025, 44_100, 48_000])
def test_sound_at_another_rate_is_the_same_sound(rate: int) -> None:
    """Frequencies that both rates hold stay, others go."""

    def wave(hertz: float, rate: int, count: int) -> list[float]:
        return [math.sin(2 * math.pi * hertz * place / rate) for place in range(count)]

    async def change(hertz: float) -> list[float]:
        device = await backend("numpy")
        given = HostArray.of(wave(hertz, rate, rate // 10))
        return (await resample(given, rate, 16_000, device)).tolist()

    found = asyncio.run(change(1234))
    assert len(found) == math.ceil(rate // 10 * 16_000 / rate)
    wanted = wave(1234, 16_000, len(found))
    assert found[200:-200] == pytest.approx(wanted[200:-200], abs=2e-5)
    if rate > 30_000:
        assert max(map(abs, asyncio.run(change(12_000))[200:-200])) < 1e-4
