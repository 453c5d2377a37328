"""Helpers of the browser fixtures: what a page said, and Python run in a page."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Page, Route

from tools.common import ROOT, playwright_config
from tools.imports import imports

FATAL = "Pyodide has suffered a fatal error"
PROGRAM_TIMEOUT_SECONDS = 1800
LOCAL_HOSTS = ("localhost", "127.0.0.1")
ONLY_LOCAL = "--host-resolver-rules=" + ", ".join(
    ["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in LOCAL_HOSTS)]
)
"""What the browser is told to reach no other hosts: a test that looked at every request would take
longer than many of them."""

# Pyodide is started once per page; each program runs in a namespace of its own.
START = """
async ({ index, packages, watch }) => {
  const { loadPyodide } = await import(`${index}/pyodide.mjs`);
  globalThis.pyodide = await loadPyodide({ indexURL: index, packages });
  globalThis.replaced = pyodide.runPython(watch);
}
"""
# The package itself is shared: what one program replaces in it, all later ones would meet.
WATCH = """
def watch():
    import sys

    def functions():
        modules = [(n, vars(m)) for n, m in list(sys.modules.items()) if n.startswith("webnnm")]
        owners = [
            *modules,
            *[(f"{module}.{name}", vars(value)) for module, members in modules
              for name, value in members.items()
              if isinstance(value, type) and value.__module__ == module],
        ]
        return {
            f"{owner}.{name}": value
            for owner, members in owners for name, value in members.items() if callable(value)
        }

    known = {}

    def replaced():
        now = functions()
        found = [name for name, value in now.items() if known.get(name, value) is not value]
        known.update(now)
        return ", ".join(found)

    return replaced

watch()
"""
RUN = """
async ({ code, values }) => {
  const { pyodide } = globalThis;
  const namespace = pyodide.toPy({ __name__: "__main__", ...values });
  try {
    await pyodide.loadPackagesFromImports(code);
    const result = await pyodide.runPythonAsync(code, { globals: namespace });
    namespace.set("result_of_program", result);
    result?.destroy?.();
    return { text: pyodide.runPython(
      "import json; json.dumps(result_of_program)", { globals: namespace }),
      replaced: globalThis.replaced() };
  } catch (error) {
    return { error: String(error.message ?? error), replaced: globalThis.replaced() };
  } finally {
    namespace.destroy();
  }
}
"""


# Modules of the tests are written where the page's Python finds them under their own names.
INSTALL = """
import sys
from pathlib import Path

for name, text in files.items():
    path = Path("/checkout", *name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
if "/checkout" not in sys.path:
    sys.path.insert(0, "/checkout")
"""
CALL = """
import base64, pickle

function, arguments = pickle.loads(base64.b64decode(call))
base64.b64encode(pickle.dumps(await function(*arguments))).decode()
"""

Coroutine = Callable[..., Awaitable[Any]]


class PythonError(AssertionError):
    """Python in the page raised; the message is its traceback."""


def pages_have_numpy() -> bool:
    """Return whether the site's Pyodide distribution holds NumPy."""
    lock = playwright_config().SITE_ROOT / "vendor" / "pyodide" / "pyodide-lock.json"
    return "numpy" in json.loads(lock.read_text())["packages"]


@dataclass
class PageLog:
    """What a page said while it was open."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, page: Page) -> None:
        """Collect console lines, uncaught errors, tracebacks and requests to other hosts."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("requestfailed", self._on_failure)

        def on_console(message: Any) -> None:
            self.console.append(message.text)
            if FATAL in message.text:
                self.died.set()
            if message.type == "error" and "Traceback" in message.text:
                self.errors.append(message.text)

        page.on("console", on_console)

    def _on_failure(self, request: Any) -> None:
        # One to another host that no route of the test has answered.
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws") and address.hostname not in LOCAL_HOSTS:
            self.blocked.append(request.url)

    async def forget(self, page: Page) -> None:
        """Close a page that is expected to have errors, until when more may come; forget them."""
        await page.close()
        self.errors.clear()

    def check(self) -> None:
        """Fail when the page had an uncaught error or asked for another host."""
        assert not self.errors, "uncaught in the page:\n" + "\n".join(self.errors)
        assert not self.blocked, "asked for other hosts: " + ", ".join(self.blocked)


async def start_pyodide(page: Page, index: str, packages: Sequence[str]) -> None:
    """Start Pyodide in a page from the distribution at `index`, with packages of it."""
    given = {"index": index, "packages": list(packages), "watch": WATCH}
    await page.evaluate(START, given)


@dataclass
class PyodidePage:
    """A page with Pyodide from the site's own distribution."""

    page: Page
    log: PageLog

    async def run_python(self, code: str, **values: Any) -> Any:
        """Run a program in the page; return its last expression by way of JSON.

        `values` are JSON values that the program sees as variables. Packages that it imports
        are loaded from the lock file. Top-level `await` works.
        """
        # A promise of Pyodide stays pending for ever when the interpreter has died.
        program = asyncio.ensure_future(self.page.evaluate(RUN, {"code": code, "values": values}))
        death = asyncio.ensure_future(self.log.died.wait())
        await asyncio.wait(
            {program, death},
            timeout=PROGRAM_TIMEOUT_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        death.cancel()
        if not program.done():
            program.add_done_callback(lambda task: task.cancelled() or task.exception())
            cause = "Pyodide died" if self.log.died.is_set() else "the program did not end in time"
            raise PythonError("\n".join([cause, *self.log.console[-30:]]))
        answer = program.result()
        if "error" in answer:
            raise PythonError(answer["error"])
        assert not answer["replaced"], f"other tests would meet what is left: {answer['replaced']}"
        return json.loads(answer["text"])

    async def start_anew(
        self,
        site_url: str,
        *,
        index: str = "/vendor/pyodide",
        packages: Sequence[str] = ("webnnm",),
    ) -> None:
        """Load the page, and start Pyodide in it."""
        await self.page.goto(f"{site_url}/tests/empty.html")
        await start_pyodide(self.page, site_url + index, packages)

    async def call(self, function: Coroutine, *arguments: Any, modules: Sequence[str] = ()) -> Any:
        """Call a coroutine function of a test module in the page, and return what it returns.

        Its module, and the `modules` of its arguments, are sent there, with those of the tests that
        they import; they may import the standard library and webnnm. Arguments and result travel
        pickled.
        """
        await self.run_python(INSTALL, files=read_modules(function.__module__, *modules))
        sent = base64.b64encode(pickle.dumps((function, arguments))).decode()
        answer = await self.run_python(CALL, call=sent)
        return pickle.loads(base64.b64decode(answer))


def read_modules(*names: str) -> dict[str, str]:
    """Return the texts of modules of the tests, and of those that they import, by name."""
    texts: dict[str, str] = {}
    queue = [*names]
    while queue:
        name = queue.pop()
        path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if name in texts or not path.is_file():
            continue
        texts[name] = path.read_text()
        imported = [each.name for each in imports(path) if each.when == "now"]
        queue += [each for each in imported if each.startswith("tests.")]
    return texts


async def hide_numpy(context: BrowserContext) -> None:
    """Serve lock files without NumPy, as on a machine that could not get it."""

    async def rewrite(route: Route) -> None:
        answer = await route.fetch()
        lock = await answer.json()
        lock["packages"].pop("numpy", None)
        await route.fulfill(response=answer, json=lock)

    await context.route("**/pyodide-lock.json", rewrite)


async def new_context(browser: Any, *, service_workers: bool = False) -> BrowserContext:
    """Open a browser context with the settings of playwright.config.py.

    Requests of service workers, if it lets them in, bypass the routes of tests.
    """
    policy = "allow" if service_workers else "block"
    viewport = playwright_config().VIEWPORT
    context = await browser.new_context(viewport=viewport, service_workers=policy)
    limit_waits(context)
    return context


def limit_waits(context: BrowserContext) -> None:
    """Let pages of a context take as long as playwright.config.py says."""
    config = playwright_config()
    context.set_default_timeout(config.ACTION_TIMEOUT_SECONDS * 1000)
    context.set_default_navigation_timeout(config.NAVIGATION_TIMEOUT_SECONDS * 1000)


async def open_pyodide(
    browser: Any,
    site_url: str,
    *,
    numpy: bool = True,
    index: str = "/vendor/pyodide",
    packages: tuple[str, ...] = ("webnnm",),
) -> PyodidePage:
    """Open an empty page of the site, in a context of its own, and start Pyodide in it."""
    context = await new_context(browser)
    if not numpy:
        await hide_numpy(context)
    return await open_pyodide_in(context, PageLog(), site_url, index=index, packages=packages)


async def open_pyodide_in(
    context: BrowserContext,
    log: PageLog,
    site_url: str,
    *,
    scripts: Sequence[str] = (),
    index: str = "/vendor/pyodide",
    packages: Sequence[str] = ("webnnm",),
) -> PyodidePage:
    """Open an empty page in a context, which first runs these scripts, and start Pyodide in it."""
    page = await context.new_page()
    for script in scripts:
        await page.add_init_script(script)
    log.watch(page)
    opened = PyodidePage(page, log)
    await opened.start_anew(site_url, index=index, packages=packages)
    return opened
