"""What the pages of trained models compute themselves: lines of text, and stretches of speech."""

from __future__ import annotations

import doctest
import math
import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")
ndimage = pytest.importorskip("scipy.ndimage", reason="the reference of connected regions")
# Files of the site, which lie on the desktop.
pytestmark = pytest.mark.desktop

SITE = Path(__file__).resolve().parent.parent.parent / "site"
WIDTH, HEIGHT = 160, 120


def program(name: str) -> ModuleType:
    spec = spec_from_file_location(name, SITE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


text_lines, stretches = program("text_lines"), program("stretches")


def rectangle(x: float, y: float, wide: float, high: float, degrees: float) -> list[float]:
    """Return a map that is 0.9 within a rectangle around (x, y) and 0.05 elsewhere."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    along = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    first = (columns - x) * along[0] + (rows - y) * along[1]
    second = (rows - y) * along[0] - (columns - x) * along[1]
    inside = (abs(first) <= wide / 2) & (abs(second) <= high / 2)
    return np.where(inside, 0.9, 0.05).ravel().tolist()


@pytest.mark.parametrize("degrees", [0, 7, -20, 35])
def test_a_line_is_found_and_grown(degrees: int) -> None:
    wide, high = 80, 14
    (box,) = text_lines.boxes(rectangle(80, 60, wide, high, degrees), WIDTH, HEIGHT)
    growth = 2 * text_lines.GROWTH * wide * high / (2 * (wide + high))
    assert math.dist(box[0], box[1]) == pytest.approx(wide + growth, abs=5)
    assert math.dist(box[0], box[3]) == pytest.approx(high + growth, abs=5)
    angle = math.degrees(math.atan2(box[1][1] - box[0][1], box[1][0] - box[0][0]))
    assert angle == pytest.approx(degrees, abs=3)
    centre = [sum(corner[axis] for corner in box) / 4 for axis in (0, 1)]
    assert centre == pytest.approx([80, 60], abs=2)


def test_what_is_faint_or_tiny_is_not_a_line() -> None:
    faint = [0.4 if value > 0.5 else 0.0 for value in rectangle(80, 60, 80, 14, 0)]
    assert text_lines.boxes(faint, WIDTH, HEIGHT) == []
    assert text_lines.boxes(rectangle(80, 60, 2, 1, 0), WIDTH, HEIGHT) == []
    assert text_lines.boxes([0.0] * (WIDTH * HEIGHT), WIDTH, HEIGHT) == []


def test_lines_are_in_reading_order() -> None:
    places = [(120, 22), (40, 20), (80, 60), (40, 100)]
    maps = [rectangle(x, y, 50, 10, 0) for x, y in places]
    found = text_lines.boxes([max(values) for values in zip(*maps, strict=True)], WIDTH, HEIGHT)
    centres = [((box[0][0] + box[1][0]) / 2, (box[0][1] + box[3][1]) / 2) for box in found]
    expected = [(40, 20), (120, 22), (80, 60), (40, 100)]
    assert centres == [pytest.approx(place, abs=2) for place in expected]


@pytest.mark.parametrize("seed", range(20))
def test_regions_are_those_of_scipy(seed: int) -> None:
    height, width = 24, 31
    values = np.random.default_rng(seed).uniform(size=(height, width)) ** 3
    mask = values > text_lines.THRESHOLD
    grown = ndimage.binary_dilation(mask, np.ones((2, 2)), origin=-1)
    labels, count = ndimage.label(grown, np.ones((3, 3)))
    expected = {frozenset(zip(*np.nonzero(labels == n), strict=True)) for n in range(1, count + 1)}
    found = {
        frozenset((row, column) for row, begin, end in runs for column in range(begin, end))
        for runs in text_lines.regions(values.ravel().tolist(), width, height)
    }
    assert found == expected


@pytest.mark.parametrize("seed", range(20))
def test_no_turned_rectangle_is_smaller(seed: int) -> None:
    dice = random.Random(seed)
    points = [(dice.randint(0, 40), dice.randint(0, 15)) for _ in range(dice.randint(3, 30))]
    _, _, sides = text_lines.smallest_rectangle(points)
    for degrees in range(90):
        a, b = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        first, second = [x * a + y * b for x, y in points], [y * a - x * b for x, y in points]
        area = (max(first) - min(first)) * (max(second) - min(second))
        assert sides[0] * sides[1] <= area + 1e-9


def test_repeated_classes_are_one_character_and_blanks_part_equal_ones() -> None:
    assert text_lines.text_of([1, 1, 0, 1, 2], [0.5, 0.9, 1, 0.7, 0.9], "ab") == (
        "aab",
        pytest.approx(0.7),
    )
    assert text_lines.text_of([0, 0], [1, 1], "ab") == ("", 0.0)


def test_examples_of_speech() -> None:
    assert doctest.testmod(stretches).attempted > 0
    assert doctest.testmod(stretches).failed == 0


def test_a_short_pause_ends_no_stretch_and_a_click_is_none() -> None:
    speech = stretches.Stretches(0.032)
    for probability in [0.0] * 5 + [0.9] * 20 + [0.1] * 3 + [0.9] * 20 + [0.1] * 10:
        speech.add(probability)
    assert speech.found == [(pytest.approx(5 * 0.032), pytest.approx(48 * 0.032))]
    for probability in [0.9] * 3 + [0.1] * 10:
        speech.add(probability)
    assert len(speech.found) == 1 and not speech.speaking


def test_the_end_of_the_sound_ends_a_stretch() -> None:
    speech = stretches.Stretches(0.1)
    for _ in range(5):
        speech.add(0.8)
    assert speech.speaking and speech.end()
    assert speech.found == [(0.0, pytest.approx(0.5))]
    assert not speech.end()
