"""The programs of the page of arrays, run as files, and what the page does to run programs."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from webnnm import xp

np = pytest.importorskip("numpy")
# Files of the site, which lie on the desktop.
pytestmark = pytest.mark.desktop

SITE = Path(__file__).resolve().parent.parent.parent / "site"


class Sheet(ModuleType):
    """Stands for the module `drawing`: keeps what is drawn last, and the figures of all frames."""

    def __init__(self) -> None:
        super().__init__("drawing")
        self.drawn: dict[str, Any] = {}
        self.frames: list[dict[str, float]] = []
        for name in ("clear", "line", "dots", "contours", "image"):
            setattr(self, name, self.drawer(name))

    def drawer(self, name: str) -> Any:
        def draw(*values: Any, **options: Any) -> None:
            self.drawn[name] = np.asarray(values[0], np.float32) if values else options

        return draw

    async def frame(self, **figures: Any) -> None:
        self.frames.append({name: float(value) for name, value in figures.items()})

    def picture(self, size: int) -> xp.Array:
        """Return a disc on a gradient."""
        y, x = np.mgrid[:size, :size] / size
        disc = (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1
        return xp.asarray(np.stack([x, y, disc], axis=-1).astype(np.float32))


@pytest.fixture
def program() -> ModuleType:
    spec = spec_from_file_location("program", SITE / "program.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def sheet(monkeypatch: pytest.MonkeyPatch) -> Sheet:
    found = Sheet()
    monkeypatch.setitem(sys.modules, "drawing", found)
    return found


@pytest.fixture
def pauses(program: ModuleType) -> Any:
    return program.Pauses(lambda: False, lambda: None)


async def run(program: ModuleType, pauses: Any, name: str, *changes: tuple[str, str]) -> list[str]:
    """Run a program with changes of its text, and return what it prints."""
    text = (SITE / "programs" / f"{name}.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    printed: list[str] = []
    await program.run(text, pauses, print=printed.append)
    return printed


async def test_a_surface_is_descended(program: Any, sheet: Sheet, pauses: Any) -> None:
    await run(program, pauses, "descent")
    assert sheet.frames[0]["height"] > 100
    assert sheet.frames[-1]["height"] < 0.01
    # One of the four minima of Himmelblau's function.
    assert sheet.drawn["dots"].ravel() == pytest.approx([-3.7793, -3.2832], abs=1e-2)


async def test_a_picture_is_learnt(program: Any, sheet: Sheet, pauses: Any) -> None:
    await run(program, pauses, "field", ("range(600)", "range(40)"), ("SIZE = 48", "SIZE = 16"))
    assert sheet.frames[-1]["loss"] < 0.1 * sheet.frames[0]["loss"]
    assert abs(sheet.drawn["image"] - np.asarray(sheet.picture(16))).mean() < 0.1


async def test_classes_are_told_apart(program: Any, sheet: Sheet, pauses: Any) -> None:
    await run(program, pauses, "boundary", ("range(150)", "range(60)"))
    assert sheet.frames[-1]["right"] > 0.9
    chances = sheet.drawn["contours"]
    assert chances[0, 0] < 0.01
    assert chances[-1, -1] > 0.99


async def test_poles_stay_up_for_longer(program: Any, sheet: Sheet, pauses: Any) -> None:
    told = await run(program, pauses, "cartpole", ("range(20)", "range(4)"))
    balanced = [int(line.partition("for ")[2].partition(" ")[0]) for line in told]
    assert balanced[-1] > 2 * balanced[0]
    assert sheet.drawn["line"].shape == (64, 2, 2)
    feet, tips = sheet.drawn["line"][:, 0], sheet.drawn["line"][:, 1]
    assert np.hypot(*(tips - feet).T) == pytest.approx(np.ones(64), abs=1e-5)


async def test_a_glider_glides_and_soup_follows_the_rule(
    program: Any, sheet: Sheet, pauses: Any
) -> None:
    await run(program, pauses, "life", ("SOUP = 0.2", "SOUP = 0"), ("range(1000)", "range(9)"))
    glider = np.zeros((64, 64))
    glider[6:9, 6:9] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert (sheet.drawn["image"] == glider).all()

    await run(program, pauses, "life", ("range(1000)", "range(1)"))
    board = sheet.drawn["image"]
    await run(program, pauses, "life", ("range(1000)", "range(2)"))
    rolled = [
        np.roll(board, (down, right), (0, 1))
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if down or right
    ]
    count = sum(rolled)
    assert (sheet.drawn["image"] == (count == 3) | ((count == 2) & (board == 1))).all()


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("x = 1\ny = x + z", (2, 9)),
        ("def f(x):\n    return 1 / x\n\nf(0)", (2, 12)),
        ("import json\nprint(json.loads('{'))", (2, 7)),
        ("if 1\n    pass", (1, 5)),
        ("break", (1, 1)),
        ("for k in range(2):\n    frame(k=k)", (2, 5)),
    ],
)
async def test_errors_have_places(
    program: Any, pauses: Any, source: str, place: tuple[int, int]
) -> None:
    with pytest.raises(Exception) as caught:
        await program.run(source, pauses)
    assert program.locate(caught.value) == place


async def test_errors_from_elsewhere_have_none_and_exit_is_not_an_error(
    program: Any, pauses: Any
) -> None:
    assert program.locate(ValueError("of the page")) is None
    await program.run("import sys\nsys.exit(1)", pauses)


async def test_loops_give_the_page_its_turn_or_end(
    program: Any, pauses: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def later() -> float:
        nonlocal now
        now += 0.05
        return now

    monkeypatch.setattr(program.time, "monotonic", later)
    turns: list[int] = []
    waiting = program.Pauses(lambda: True, lambda: turns.append(1))
    await program.run("for a in range(3):\n    n = 0\n    while n < 4: n += 1", waiting)
    assert turns
    with pytest.raises(TimeoutError, match="await frame") as caught:
        await program.run("n = 0\nwhile True:\n    n += 1", pauses)
    assert program.locate(caught.value)[0] == 3


async def test_a_loop_that_is_stopped_ends_in_its_turn(program: Any) -> None:
    def stop() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    waiting = program.Pauses(lambda: True, stop)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.ensure_future(program.run("while True: pass", waiting))
