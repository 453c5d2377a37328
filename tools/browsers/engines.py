"""The browsers of journeys: how each is called, whether it is installed, how it is started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.browsers import bundled, firefox, webkit
from tools.browsers.driver import Browser


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A browser of one kind."""

    name: str
    """Its name in commands and in the record."""
    title: str
    is_installed: Callable[[], bool]
    packages: tuple[str, ...] = ()
    """What Debian calls it."""
    start: Callable[[Path], Awaitable[Browser]]
    """Start it with what it writes in a folder."""

    @property
    def reason(self) -> str:
        """Why it is left out where it is not installed."""
        packages = " ".join(self.packages)
        return f"{self.title} is not on this machine: `apt-get install {packages}` (Debian)"


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            name="chromium",
            title="Chromium with WebNN",
            is_installed=lambda: True,
            start=partial(bundled.start, project="webnn"),
        ),
        Engine(
            name="no-webnn",
            title="Chromium without WebNN",
            is_installed=lambda: True,
            start=partial(bundled.start, project="no-webnn"),
        ),
        Engine(
            name="firefox",
            title="Firefox",
            is_installed=lambda: firefox.program() is not None,
            packages=("firefox-esr",),
            start=firefox.start,
        ),
        Engine(
            name="webkit",
            title="WebKit",
            is_installed=webkit.is_complete,
            packages=("webkit2gtk-driver", "gir1.2-webkit2-4.1", "python3-gi", "xvfb"),
            start=webkit.start,
        ),
    )
}
