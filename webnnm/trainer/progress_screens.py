"""Screens that show the progress of a training: three for terminals, and one for notebooks."""

from __future__ import annotations

import importlib
import shutil
from typing import TYPE_CHECKING, Any, TextIO

from webnnm.trainer.screen import Screen

if TYPE_CHECKING:
    from webnnm.evaluation.history import History

BAR = 24
"""Letters of a bar."""


class Line(Screen):
    """A single line of a terminal that is overwritten."""

    _shown = ""

    def _open(self, total: int, text: str) -> None:
        self._show(0, total, text)

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        filled = BAR * epoch // max(epochs, 1)
        drawn = "#" * filled + "-" * (BAR - filled)
        self._draw(f"[{drawn}] {epoch:>{len(str(epochs))}}/{epochs}  {text}")

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        shown = self._shown
        self._draw("")
        self._stream.write(f"\r{text}\n")
        self._draw(shown)

    def _close(self, history: History) -> None:
        self._stream.write("\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        # A full row would move the cursor to the next one.
        text = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + text.ljust(len(self._shown)))
        self._stream.flush()
        self._shown = text


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
            rich.BarColumn(BAR),
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
        shown: Any = importlib.import_module("IPython.display")
        self._display, self._html = shown.display, shown.HTML

    def _open(self, total: int, text: str) -> None:
        self._place = 0, total
        self._handle = self._display(self._bar(text), display_id=True)

    def _show(self, epoch: int, epochs: int, text: str) -> None:
        self._place = epoch, epochs
        self._handle.update(self._bar(f"epoch {epoch}/{epochs}: {text}"))

    def _close(self, history: History) -> None:
        self._handle.update(self._bar(str(history)))

    def _bar(self, text: str) -> Any:
        from webnnm.core.markup import join, tag

        value, most = self._place
        bar = tag("progress", aria_label="training", value=value, max=most)
        return self._html(join([bar, " ", tag("span", text)]))
