"""WebKitGTK, driven by WebKitWebDriver over HTTP, on a screen that nobody sees."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.browsers.driver import TIMEOUT_SECONDS, Browser, Message, Tab
from tools.browsers.processes import START_SECONDS, start_process

DRIVER = "WebKitWebDriver"
PYTHON = "/usr/bin/python3"
"""The system's Python, which has the distribution's bindings of WebKit."""
BINDINGS = "import gi; gi.require_version('WebKit2', '4.1'); from gi.repository import WebKit2"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
LINE = re.compile(r"^(?P<where>.*)CONSOLE (?:[A-Z]+ )*?(?P<level>ERROR|WARN|LOG|INFO|DEBUG) ")
"""How a message begins in the log; its further lines follow."""
SCRIPT = """
const done = arguments[arguments.length - 1];
(%s)(arguments[0]).then((text) => done([text]), (error) => done([null, String(error)]));
"""


def is_complete() -> bool:
    """Return whether the driver, the screen and the bindings of WebKit are installed."""
    if not all(map(shutil.which, (DRIVER, "Xvfb", PYTHON))):
        return False
    return (
        subprocess.run([PYTHON, "-c", BINDINGS], capture_output=True, check=False).returncode == 0
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Session:
    """A session of WebDriver: commands about one tab at a time."""

    address: str
    first: str = ""
    """The tab that was there first, which stays."""
    tab: str = ""

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a command and return its value."""
        return await asyncio.to_thread(self._send, method, path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data=data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=2 * TIMEOUT_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{path}: {value['error']}: {value['message']}") from error


@dataclass
class WebKitTab(Tab):
    """A tab of WebKit's window."""

    session: Session
    handle: str
    log: Path
    start: int
    """The byte of the log at which the tab was opened."""

    async def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a command about this tab."""
        if self.session.tab != self.handle:
            await self.session.send("POST", "/window", {"handle": self.handle})
            self.session.tab = self.handle
        return await self.session.send(method, path, body)

    def messages(self) -> list[Message]:
        lines: list[Message] = []
        text = self.log.read_bytes()[self.start :].decode(errors="replace")
        for line in text.splitlines():
            if match := LINE.match(line):
                where = match["where"].rstrip(": ")
                lines.append(Message(match["level"].lower(), f"{line[match.end() :]} ({where})"))
        return lines

    async def goto(self, url: str) -> None:
        await self.send("POST", "/url", {"url": url})

    async def reload(self) -> None:
        await self.send("POST", "/refresh", {})

    async def go(self, delta: int) -> None:
        await self.send("POST", "/back" if delta < 0 else "/forward", {})

    async def call(self, function: str, text: str) -> str:
        script = {"script": SCRIPT % function, "args": [text]}
        result, *errors = await self.send("POST", "/execute/async", script)
        if errors:
            raise RuntimeError(errors[0])
        return result

    async def find(self, selector: str) -> str:
        """Return the driver's name of an element."""
        query = {"using": "css selector", "value": selector}
        return (await self.send("POST", "/element", query))[ELEMENT]

    async def click_at(self, selector: str, x: int, y: int) -> None:
        await self.send("POST", f"/element/{await self.find(selector)}/click", {})

    async def upload(self, selector: str, files: Sequence[Path]) -> None:
        text = "\n".join(str(file) for file in files)
        await self.send("POST", f"/element/{await self.find(selector)}/value", {"text": text})

    async def resize(self, width: int, height: int) -> None:
        await self.send("POST", "/window/rect", {"width": width, "height": height})

    async def screenshot(self) -> bytes:
        return base64.b64decode(await self.send("GET", "/screenshot"))

    async def set_offline(self, offline: bool) -> None:
        """Do nothing: the driver has no command for it."""

    async def close(self) -> None:
        await self.send("DELETE", "/window")
        # The driver opens no tab while the current one is a closed one.
        self.session.tab = self.session.first
        await self.session.send("POST", "/window", {"handle": self.session.first})


@dataclass
class WebKit(Browser):
    """A window with WebKit on a screen of its own."""

    version: str
    downloads: Path
    session: Session
    log: Path
    running: AsyncExitStack
    """What ends with the browser."""

    async def new_tab(self) -> Tab:
        handle = (await self.session.send("POST", "/window/new", {"type": "tab"}))["handle"]
        return WebKitTab(self.session, handle, self.log, self.log.stat().st_size)

    async def close(self) -> None:
        await self.running.aclose()


async def start(folder: Path) -> WebKit:
    """Start WebKit with a profile and a folder of downloads in a folder."""
    (folder / "downloads").mkdir(parents=True)
    log, program = folder / "webkit.log", folder / "webkit"
    window = Path(__file__).with_name("webkit_window.py")
    program.write_text(f"#!/bin/sh\nexec stdbuf -oL {PYTHON} {window} {folder} >>{log} 2>&1\n")
    program.chmod(0o755)
    log.touch()
    size = ("-screen", "0", "1400x1200x24", "-nolisten", "tcp", "-displayfd", "1")
    async with AsyncExitStack() as running:
        screen = await start_process(["Xvfb", *size], folder / "screen.log")
        running.push_async_callback(screen.end)
        display = await screen.find_in_log(re.compile(r"^\d+$", re.MULTILINE))
        variables = {"DISPLAY": f":{display[0]}", "GDK_BACKEND": "x11"}
        port = _free_port()
        driver = await start_process([DRIVER, f"--port={port}"], folder / "driver.log", variables)
        running.push_async_callback(driver.end)
        session = Session(f"http://127.0.0.1:{port}")
        async with asyncio.timeout(START_SECONDS):
            while not await asyncio.to_thread(_answers, port):
                await asyncio.sleep(0.05)
        options = {"binary": str(program), "args": []}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        answer = await session.send("POST", "/session", {"capabilities": capabilities})
        session.address += f"/session/{answer['sessionId']}"
        limits = {"script": 2000 * TIMEOUT_SECONDS, "pageLoad": 1000 * TIMEOUT_SECONDS}
        await session.send("POST", "/timeouts", limits)
        session.first = await session.send("GET", "/window")
        version = answer["capabilities"]["browserVersion"]
        return WebKit(version, folder / "downloads", session, log, running.pop_all())


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
