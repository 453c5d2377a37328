"""Firefox, driven by WebDriver BiDi over a socket that it opens itself."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.browsers.driver import TIMEOUT_SECONDS, Browser, Message, Tab
from tools.browsers.processes import start_process

PROGRAMS = ("firefox-esr", "firefox")
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
PREFERENCES = {
    "app.update.enabled": False,
    "browser.download.folderList": 2,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    # A camera and a microphone that are made up, without asking.
    "media.navigator.permission.disabled": True,
    "media.navigator.streams.fake": True,
    "media.autoplay.default": 0,
    "media.cubeb.backend": "null",
    # No other host is asked for anything.
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.share_proxy_settings": True,
    "network.proxy.no_proxies_on": "localhost, 127.0.0.1",
    "services.settings.server": "data:,none",
}


def program() -> str | None:
    """Return the path of Firefox, None if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@dataclass
class Connection:
    """A session of WebDriver BiDi: commands with their answers, events to the tabs."""

    socket: Any

    def __post_init__(self) -> None:
        self.numbers = itertools.count(1)
        self.answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.tabs: dict[str, FirefoxTab] = {}
        self.reader = asyncio.create_task(self.read())

    async def read(self) -> None:
        """Give each message to whom it is for."""
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                answer = self.answers.pop(message["id"])
                # Nobody waits any more for one that comes late.
                if not answer.done():
                    answer.set_result(message)
            elif message["method"] == "log.entryAdded":
                entry = message["params"]
                if tab := self.tabs.get(entry["source"].get("context")):
                    place = (entry.get("stackTrace") or {}).get("callFrames", [])[:1]
                    where = f" ({place[0]['url']}:{place[0]['lineNumber']})" if place else ""
                    tab.log.append(Message(entry["level"], f"{entry['text']}{where}"))

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self.numbers)
        self.answers[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        answer = await asyncio.wait_for(self.answers[number], 2 * TIMEOUT_SECONDS)
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
        return answer["result"]

    async def close(self) -> None:
        """Close the socket."""
        await self.socket.close()
        await self.reader


@dataclass
class FirefoxTab(Tab):
    """A tab of Firefox."""

    connection: Connection
    context: str
    log: list[Message] = field(default_factory=list)

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command about this tab."""
        return await self.connection.send(method, context=self.context, **parameters)

    def messages(self) -> list[Message]:
        return self.log

    async def goto(self, url: str) -> None:
        await self.send("browsingContext.navigate", url=url, wait="complete")

    async def reload(self) -> None:
        await self.send("browsingContext.reload", wait="complete")

    async def go(self, delta: int) -> None:
        before = await self.evaluate("() => location.href")
        await self.send("browsingContext.traverseHistory", delta=delta)
        await self.wait_until(
            "(before) => location.href !== before && document.readyState === 'complete'", before
        )

    async def call(self, function: str, text: str) -> str:
        answer = await self.connection.send(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "string", "value": text}],
            target={"context": self.context},
            awaitPromise=True,
            userActivation=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"]["value"]

    async def click_at(self, selector: str, x: int, y: int) -> None:
        steps = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        await self.send("input.performActions", actions=[mouse])

    async def upload(self, selector: str, files: Sequence[Path]) -> None:
        locator = {"type": "css", "value": selector}
        nodes = (await self.send("browsingContext.locateNodes", locator=locator))["nodes"]
        element = {"sharedId": nodes[0]["sharedId"]}
        await self.send("input.setFiles", element=element, files=[str(file) for file in files])

    async def resize(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        await self.send("browsingContext.setViewport", viewport=viewport)

    async def screenshot(self) -> bytes:
        answer = await self.send("browsingContext.captureScreenshot")
        return base64.b64decode(answer["data"])

    async def set_offline(self, offline: bool) -> None:
        conditions = {"type": "offline"} if offline else None
        await self.connection.send(
            "emulation.setNetworkConditions",
            networkConditions=conditions,
            contexts=[self.context],
        )

    async def close(self) -> None:
        await self.send("browsingContext.close")


@dataclass
class Firefox(Browser):
    """A Firefox without a window."""

    version: str
    downloads: Path
    connection: Connection
    running: AsyncExitStack
    """What ends with the browser."""

    async def new_tab(self) -> Tab:
        context = (await self.connection.send("browsingContext.create", type="tab"))["context"]
        tab = FirefoxTab(self.connection, context)
        self.connection.tabs[context] = tab
        await tab.send("browsingContext.activate")
        await tab.resize(1280, 800)
        return tab

    async def close(self) -> None:
        await self.running.aclose()


def _preference(name: str, value: Any) -> str:
    return f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"


async def start(folder: Path) -> Firefox:
    """Start Firefox with a profile and a folder of downloads in a folder."""
    from websockets.asyncio.client import connect

    profile, downloads = folder / "profile", folder / "downloads"
    for path in (profile, downloads):
        path.mkdir(parents=True)
    preferences = {**PREFERENCES, "browser.download.dir": str(downloads)}
    lines = [_preference(name, value) for name, value in preferences.items()]
    (profile / "user.js").write_text("".join(lines))
    command = [program() or PROGRAMS[0], "--headless", "--no-remote", "--profile", str(profile)]
    log = folder / "firefox.log"
    async with AsyncExitStack() as running:
        process = await start_process([*command, "--remote-debugging-port", "0"], log)
        running.push_async_callback(process.end)
        address = await process.find_in_log(ADDRESS)
        socket = await connect(f"{address[1]}/session", max_size=None, ping_interval=None)
        connection = Connection(socket)
        running.push_async_callback(connection.close)
        session = await connection.send("session.new", capabilities={"alwaysMatch": {}})
        await connection.send("session.subscribe", events=["log.entryAdded"])
        version = session["capabilities"]["browserVersion"]
        return Firefox(version, downloads, connection, running.pop_all())
