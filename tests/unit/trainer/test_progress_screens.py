"""Screens of terminals and notebooks; packages that are not there are played by small modules."""

from __future__ import annotations

import io
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.trainer.progress import Reporter, display
from webnnm.trainer.progress_screens import Line, Notebook, Rich, Tqdm
from webnnm.trainer.screen import Screen

PACKAGES = ("rich", "rich.progress", "rich.console", "tqdm", "IPython", "IPython.display")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def rows(self) -> list[str]:
        """Return what stands on the screen: a carriage return writes over the row."""
        rows: list[str] = []
        for text in self.getvalue().split("\n"):
            row = ""
            for part in text.split("\r"):
                row = part + row[len(part) :]
            rows.append(row.rstrip())
        return rows


Calls = list[tuple[Any, ...]]


def module(name: str, **content: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(content)
    return made


def play_tqdm(patch: pytest.MonkeyPatch) -> Calls:
    calls: Calls = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            self.n = 0
            calls.append(("open", options["total"], options["desc"], options["file"]))

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def refresh(self) -> None:
            calls.append(("show", self.n, self.text))

        def close(self) -> None:
            calls.append(("close",))

        @staticmethod
        def write(text: str, file: Any) -> None:
            calls.append(("note", text))

    patch.setitem(sys.modules, "tqdm", module("tqdm", tqdm=Bar))
    return calls


def play_rich(patch: pytest.MonkeyPatch) -> Calls:
    calls: Calls = []

    class Bar:
        def __init__(self, *columns: Any, console: Any, auto_refresh: bool) -> None:
            assert not auto_refresh
            self.file = console.file

        def start(self) -> None:
            calls.append(("start",))

        def add_task(self, text: str, *, total: int, state: str) -> int:
            calls.append(("open", total, text, self.file))
            return 7

        def refresh(self) -> None: ...

        def update(self, task: int, *, completed: int, state: str, refresh: bool) -> None:
            assert (task, refresh) == (7, True)
            calls.append(("show", completed, state))

        def stop(self) -> None:
            calls.append(("close",))

    def console(file: Any) -> Any:
        def note(text: str, *, markup: bool, **_: Any) -> None:
            assert not markup
            calls.append(("note", text))

        return SimpleNamespace(file=file, print=note)

    columns = dict.fromkeys(("TextColumn", "BarColumn", "MofNCompleteColumn"), lambda *_, **__: 0)
    patch.setitem(sys.modules, "rich", module("rich"))
    patch.setitem(sys.modules, "rich.progress", module("rich.progress", Progress=Bar, **columns))
    patch.setitem(sys.modules, "rich.console", module("rich.console", Console=console))
    return calls


def play_notebook(patch: pytest.MonkeyPatch, kernel: Any = "kernel") -> Calls:
    calls: Calls = []

    def shown(html: str, *, display_id: bool) -> Any:
        assert display_id
        calls.append(("open", html))
        return SimpleNamespace(update=lambda html: calls.append(("show", html)))

    shell = SimpleNamespace(kernel=kernel)
    patch.setitem(sys.modules, "IPython", module("IPython", get_ipython=lambda: shell))
    inner = module("IPython.display", display=shown, HTML=str)
    patch.setitem(sys.modules, "IPython.display", inner)
    return calls


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed and the terminal is an ordinary one, wherever the tests run."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((80, 24)))


def record(epoch: int, epochs: int = 20) -> EpochRecord:
    return EpochRecord(epoch, epochs, 0.5, {"model": 0.5}, 1e-3, 1.0)


def play(screen: Any) -> None:
    screen.begin(20, "training")
    screen.update(record(5), 15.0)
    screen.note("a note")
    screen.update(record(10), None)
    screen.end(History({}, "numpy", [record(10)], 10, 0.5, "stop", 10.0))


def test_line() -> None:
    terminal = Terminal()
    play(Line(terminal))
    assert terminal.rows() == ["a note", "[############------------] 10/20  loss 0.5000", ""]
    assert "[######------------------]  5/20  loss 0.5000, 15 s left" in terminal.getvalue()


def test_line_never_fills_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda **_: os.terminal_size((30, 24)))
    terminal = Terminal()
    screen = Line(terminal)
    screen.begin(20, "a text that is too long for the row")
    screen.update(record(5), 15.0)
    assert max(map(len, terminal.getvalue().split("\r"))) == 29


EXPECTED: Calls = [
    ("show", 5, "loss 0.5000, 15 s left"),
    ("note", "a note"),
    ("show", 10, "loss 0.5000"),
    ("close",),
]


def test_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = play_tqdm(monkeypatch)
    terminal = Terminal()
    play(Tqdm(terminal))
    assert calls == [("open", 20, "training", terminal), *EXPECTED]


def test_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = play_rich(monkeypatch)
    terminal = Terminal()
    play(Rich(terminal))
    assert calls == [("start",), ("open", 20, "training", terminal), *EXPECTED]


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = play_notebook(monkeypatch)
    terminal = Terminal()
    play(Notebook(terminal))
    assert [name for name, _ in calls] == ["open", "show", "show", "show"]
    assert 'value="0" max="20"' in calls[0][1]
    assert 'value="5" max="20"' in calls[1][1]
    assert "epoch 5/20: loss 0.5000, 15 s left" in calls[1][1]
    assert 'value="10" max="20"' in calls[3][1]
    assert "ended by stop" in calls[3][1]
    assert terminal.getvalue() == "a note\n"


def test_notebook_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = play_notebook(monkeypatch)
    Notebook(Terminal()).begin(2, "<b>")
    assert "&lt;b&gt;" in calls[0][1]


def choose(stream: Any = None) -> type | None:
    screen = display("auto", stream or Terminal())
    return None if screen is None else type(screen)


def test_choice_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose() is Line
    play_tqdm(monkeypatch)
    assert choose() is Tqdm
    play_rich(monkeypatch)
    assert choose() is Rich
    assert choose(io.StringIO()) is None
    monkeypatch.setenv("TERM", "dumb")
    assert choose() is None


def test_choice_for_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    play_rich(monkeypatch)
    play_notebook(monkeypatch)
    assert choose(io.StringIO()) is Notebook
    play_notebook(monkeypatch, kernel=None)  # IPython in a terminal
    assert choose() is Rich
    assert choose(io.StringIO()) is None


def test_choice_does_not_import_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython")
    display("auto", io.StringIO())
    assert "IPython" not in sys.modules


def test_choice_without_a_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert display("auto") is None


@pytest.mark.parametrize("word", ["rich", "tqdm", "notebook"])
def test_asked_for_and_not_installed(word: str) -> None:
    with pytest.raises(DataError, match="not installed") as caught:
        display(word, Terminal())
    assert caught.value.code == "NNM709"
    assert "pip install" in caught.value.hint


@pytest.mark.parametrize("word", ["line", "LINE"])
def test_asked_for_and_there(word: str) -> None:
    assert isinstance(display(word, io.StringIO()), Line)


def news(shown: Any, log: Any) -> None:
    reporter = Reporter(shown, log, lambda: 0.0)
    reporter.note("before")
    reporter.begin(20, "training")
    reporter.update(record(20))
    reporter.note("during")
    reporter.end(History({}, "numpy", [record(20)]))
    reporter.note("after")


def test_screen_and_printed_log_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    news(Line(terminal), print)
    assert capsys.readouterr().out == "before\nafter\n"
    bar = "[########################] 20/20  loss 0.5000"
    assert terminal.rows() == ["during", bar, ""]


def test_log_of_ones_own_gets_everything_beside_a_screen() -> None:
    lines: list[str] = []
    news(Line(Terminal()), lines.append)
    assert lines == ["before", "epoch 20/20: loss 0.5000, lr 1.00e-03", "during", "after"]


def test_screens_are_made_by_their_hooks() -> None:
    with pytest.raises(NotImplementedError):
        Screen(Terminal()).begin(1, "training")
