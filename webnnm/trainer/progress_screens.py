"""Screens that show the progress of a training: three for terminals, and one for notebooks."""

from __future__ import annotations

import importlib
import shutil
from typing import TYPE_CHECKING, Any, TextIO

from webnnm.trainer.screen import Screen

if TYPE_CHECKING:
    from webnnm.evaluation.history import History

BAR_WIDTH = 24
"""Letters of a bar."""


class Line(Screen):
    """A single line of a terminal that is overwritten."""

    _text = ""

    def _open(self, total: int, text: str) -> None:
        self._show(0, total, text)

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        done = BAR_WIDTH * epoch // max(epochs, 1)
        bar = "#" * done + "-" * (BAR_WIDTH - done)
        self._draw(f"[{bar}] {epoch:>{len(str(epochs))}}/{epochs}  {text}")

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        line = self._text
        self._draw("")
        self._stream.write(f"\r{text}\n")
        self._draw(line)

    def _close(self, history: History) -> None:
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        # A full row would move the cursor to the next one.
        text = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + text.ljust(len(self._text)))
        self._stream.flush()
        self._text = text


class Tqdm(Screen):
    """A tqdm bar."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._tqdm: Any = importlib.import_module("tqdm").tqdm

    def _open(self, total: int, text: str) -> None:
        layout = "{desc} |{bar}| {n_fmt}/{total_fmt}{postfix}"
        options = {"file": self._stream, "mininterval": 0, "dynamic_ncols": True}
        self._bar = self._tqdm(total=total, desc=text, bar_format=layout, **options)

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.n = epoch
        self._bar.refresh()

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._tqdm.write(text, file=self._stream)

    def _close(self, history: History) -> None:
        self._bar.close()


class Rich(Screen):
    """A rich bar."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        rich: Any = importlib.import_module("rich.progress")
        self._console: Any = importlib.import_module("rich.console").Console(file=stream)
        # Names of outputs and metrics are not markup.
        columns = (
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(BAR_WIDTH),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[state]}", markup=False),
        )
        # Drawn when an epoch ends, so that no thread is needed.
        self._bar = rich.Progress(*columns, console=self._console, auto_refresh=False)

    def _open(self, total: int, text: str) -> None:
        self._bar.start()
        self._task = self._bar.add_task(text, total=total, state="")
        self._bar.refresh()

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        self._bar.update(self._task, completed=epoch, state=text, refresh=True)

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _close(self, history: History) -> None:
        self._bar.stop()


class Notebook(Screen):
    """A bar below a notebook cell, which finally shows how the training went."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        ipython: Any = importlib.import_module("IPython.display")
        self._display, self._html = ipython.display, ipython.HTML

    def _open(self, total: int, text: str) -> None:
        self._position = 0, total
        self._handle = self._display(self._bar(text), display_id=True)

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        self._position = epoch, epochs
        self._handle.update(self._bar(f"epoch {epoch}/{epochs}: {text}"))

    def _close(self, history: History) -> None:
        self._handle.update(self._bar(str(history)))

    def _bar(self, text: str) -> Any:
        from webnnm.core.markup import join, tag

        value, total = self._position
        bar = tag("progress", aria_label="training", value=value, max=total)
        return self._html(join([bar, " ", tag("span", text)]))
