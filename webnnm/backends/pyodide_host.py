"""Access to the browser: the only module that imports `js` and `pyodide`.

Importing it works everywhere; its functions import what they need when they are called, and on
desktop Python, `load_bridge` raises `BackendError` NNM709.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from array import array
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol

from webnnm.compiler.plan import Plan
from webnnm.core.errors import BackendError, ContextLost, DataError
from webnnm.core.random import register_shuffle
from webnnm.core.waiting import Answer, to_the_end

Names = Mapping[str, int]
Access = Literal["write", "read", "both"]
"""What the host does with a tensor; graphs do both with each."""


class JsBuffer(Protocol):
    """A typed array in JavaScript."""

    def to_py(self) -> memoryview[int]:
        """Return a copy of the memory that Python owns."""
        ...

    def assign(self, data: Any, /) -> None:
        """Copy a buffer of the same size into the memory."""
        ...

    def assign_to(self, data: Any, /) -> None:
        """Copy the memory into a buffer of the same size."""
        ...


class BridgeModule(Protocol):
    """The functions of js_bridge/webnn/bridge.js in Python; bridge.d.ts describes them."""

    def browser(self) -> Awaitable[str]: ...  # noqa: D102
    def open(self, options: str, /) -> Awaitable[int]: ...  # noqa: D102
    def adopt(self, context: Any, /) -> int: ...  # noqa: D102
    def load(self, context: int, model: Any, /) -> Awaitable[int]: ...  # noqa: D102
    def limits(self, context: int, /) -> str: ...  # noqa: D102
    def accelerated(self, context: int, /) -> str: ...  # noqa: D102
    def build(  # noqa: D102
        self, context: int, plan: str, constants: Any, /, *beside: Any
    ) -> Awaitable[int]: ...
    def devices(self, graph: int, /) -> str: ...  # noqa: D102
    def tensor(  # noqa: D102
        self, context: int, dtype: str, shape: str, data: Any, access: str, /
    ) -> Awaitable[int]: ...
    def tensors(self, context: int, types: str, /, *data: Any) -> Awaitable[Any]: ...  # noqa: D102
    def write(self, tensor: int, data: Any, /) -> None: ...  # noqa: D102
    def read(self, *tensors: int) -> Awaitable[JsBuffer]: ...  # noqa: D102
    def dispatch(self, graph: int, binding: str, /) -> None: ...  # noqa: D102
    def runner(self, graph: int, binding: str, tensors: str, answer: Any, /) -> int: ...  # noqa: D102
    def buffers(self, runner: int, /) -> Iterable[JsBuffer]: ...  # noqa: D102
    def run(self, runner: int, ticket: int, promising: bool, /, *sources: Any) -> None: ...  # noqa: D102
    def results(self, runner: int, /) -> Iterable[Any]: ...  # noqa: D102
    def once(  # noqa: D102
        self, context: int, plan: str, constants: Any, data: Any, /
    ) -> Awaitable[JsBuffer]: ...
    def steps(  # noqa: D102
        self, graph: int, buffers: str, first: int, count: int, reads: str, ticket: int, /
    ) -> Awaitable[JsBuffer]: ...
    def halt(self, ticket: int, /) -> None: ...  # noqa: D102
    def permutations(self, words: Any, size: int, /) -> JsBuffer: ...  # noqa: D102
    def release(self, *handles: int) -> None: ...  # noqa: D102
    def memory(self, context: int, /) -> str: ...  # noqa: D102
    def close(self, context: int, /) -> None: ...  # noqa: D102


class Bridge:
    """The bridge with Python types; every failure is a `BackendError` or `ContextLost`.

    >>> bridge = await load_bridge()                                    # doctest: +SKIP
    >>> options = {"powerPreference": "low-power"}                      # doctest: +SKIP
    >>> context = await bridge.open(options, options)                   # doctest: +SKIP
    """

    waiting = False
    """Whether somebody waits without `await`: tasks then resume where Python can be suspended."""

    def __init__(self, module: BridgeModule) -> None:
        self.module = module
        self._tickets = count(1)
        self._asking: dict[int, Answer] = {}
        self._proxy: Any = None
        self._run: Callable[..., None]

    async def browser(self) -> str:
        """Return name and version of the browser and its system, as precisely as it reports."""
        with _translate_errors():
            return await self.module.browser()

    async def open(self, today: Mapping[str, Any], older: Mapping[str, Any]) -> int:
        """Create a context with the options of today's specification, or those of an older one.

        Raises `BackendError` NNM709 if the browser cannot.
        """
        with _translate_errors():
            return await self.module.open(json.dumps([today, older]))

    async def adopt(self, opening: Awaitable[Any]) -> int:
        """Adopt a context that another module opens; raises `BackendError` NNM709 if it cannot."""
        try:
            return self.module.adopt(await opening)
        except js_error() as error:
            message = str(getattr(error, "message", error))
            hint = "docs/deploying.md says which files a page needs"
            raise BackendError("NNM709", message, hint=hint) from error

    async def load(self, context: int, model: bytes) -> int:
        """Build the graph of a model in a format that the adopted context reads."""
        with _translate_errors():
            return await self.module.load(context, model)

    def limits(self, context: int) -> dict[str, Any]:
        """Return WebNN's `opSupportLimits()`."""
        with _translate_errors():
            return json.loads(self.module.limits(context))

    def accelerated(self, context: int) -> bool | None:
        """Return whether a context is accelerated, None if the browser does not tell."""
        with _translate_errors():
            return json.loads(self.module.accelerated(context))

    async def build(self, context: int, plan: Plan) -> int:
        """Build the graph of a plan; an error names the operator and its label."""
        with _translate_errors(plan):
            return await self.module.build(context, plan.json, plan.constants, *plan.beside)

    def devices(self, graph: int) -> list[str]:
        """Return the devices that a graph runs on, an empty list if the browser does not say."""
        with _translate_errors():
            return json.loads(self.module.devices(graph))

    async def tensor(
        self,
        context: int,
        dtype: str,
        shape: Sequence[int],
        data: memoryview[int] | None = None,
        access: Access = "both",
    ) -> int:
        """Create a tensor, filled with zeros or with bytes, that the host accesses as it says."""
        sizes = json.dumps(list(shape))
        with _translate_errors():
            return await self.module.tensor(context, dtype, sizes, data, access)

    async def tensors(self, context: int, types: Sequence[Any], *data: Any) -> list[int]:
        """Create tensors, each filled with zeros or with bytes; either all or none."""
        with _translate_errors():
            return (await self.module.tensors(context, json.dumps(types), *data)).to_py()

    def write(self, tensor: int, data: memoryview[int]) -> None:
        """Queue a copy of bytes to a tensor."""
        with _translate_errors():
            self.module.write(tensor, data)

    async def read(self, tensors: Sequence[int]) -> memoryview[int]:
        """Return the bytes of several tensors, one after the other."""
        with _translate_errors():
            return (await self.module.read(*tensors)).to_py()

    def read_now(self, tensors: Sequence[int]) -> memoryview[int]:
        """Return the same without `await` or a turn of the event loop; only if `can_wait()`."""
        with _translate_errors():
            return wait(self.module.read(*tensors)).to_py()

    def dispatch(self, graph: int, inputs: Names, outputs: Names) -> None:
        """Queue one run."""
        with _translate_errors():
            self.module.dispatch(graph, json.dumps([inputs, outputs]))

    def runner(
        self, graph: int, inputs: Names, outputs: Names, written: Sequence[int], read: Sequence[int]
    ) -> tuple[int, list[JsBuffer]]:
        """Bind a graph for many runs; return a handle and the buffers that transfer the data.

        There is one buffer for each tensor that a run writes, and one for all that it reads.
        """
        texts = json.dumps([inputs, outputs]), json.dumps([written, read])
        if self._proxy is None:
            self._proxy = import_module("pyodide.ffi").create_proxy(self._settle_answer)
        self._run = self.module.run  # looking it up takes longer than calling it
        with _translate_errors():
            runner = self.module.runner(graph, *texts, self._proxy)
            return runner, [*self.module.buffers(runner)]

    def run(
        self, runner: int, prepare: Callable[[], Callable[[], Any]], sources: Sequence[Any] = ()
    ) -> Answer:
        """Write, run and read once; return an awaitable of what a function makes of the results.

        `prepare` returns that function; it is called while the device works. `sources` are typed
        arrays to write in place of buffers, or None.

        A turn of the event loop takes as long as a small network, but Python can be suspended
        (JSPI) only after one: it is skipped unless somebody waits without `await`.
        """
        ticket = next(self._tickets)
        try:
            self._run(runner, ticket, self.waiting and can_wait(), *sources)
        except js_error() as error:
            raise _translation(error, None) from error
        answer = self._asking[ticket] = Answer(prepare())
        return answer

    def _settle_answer(self, ticket: int, error: Any = None) -> None:
        answer = self._asking.pop(ticket)
        if error is None:
            answer.settle()
        else:
            failure = _translation(error, None)
            failure.__cause__ = error
            answer.settle(failure)

    async def once(self, context: int, plan: Plan, data: bytes) -> memoryview[int]:
        """Build the graph of a plan, run it once on the bytes of all inputs; return all outputs."""
        with _translate_errors(plan):
            return (await self.module.once(context, plan.json, plan.constants, data)).to_py()

    async def steps(
        self,
        graph: int,
        buffers: Sequence[tuple[Names, Names]],
        first: int,
        steps: int,
        reads: Sequence[tuple[int, int]],
    ) -> memoryview[int]:
        """Run steps over alternating buffers, then return the bytes of the tensors read.

        If it is cancelled, it ends the steps early and waits until the device is idle.
        """
        ticket = next(self._tickets)
        texts = json.dumps(buffers), json.dumps(reads)
        with _translate_errors():
            work = self.module.steps(graph, texts[0], first, steps, texts[1], ticket)
            result = await to_the_end(work, stop=lambda: self.module.halt(ticket))
            return result.to_py()

    def permutations(self, words: array[int], size: int) -> array[int]:
        """Return permutations of 0 … size − 1 from random words, as `random.permutations` does."""
        with _translate_errors():
            return array("i", self.module.permutations(words, size).to_py().tobytes())

    def release(self, handles: Sequence[int]) -> None:
        """Destroy tensors and graphs."""
        with _translate_errors():
            self.module.release(*handles)

    def memory(self, context: int) -> dict[str, int]:
        """Return the number of graphs, tensors and bytes that a context holds."""
        with _translate_errors():
            return json.loads(self.module.memory(context))

    def close(self, context: int) -> None:
        """Destroy a context with everything that was made in it."""
        with _translate_errors():
            self.module.close(context)


def in_browser() -> bool:
    """Return whether this Python runs inside a browser or another JavaScript engine.

    >>> in_browser()
    False
    """
    return sys.platform == "emscripten"


def has_document() -> bool:
    """Return whether Python shares its thread with a page that draws, unlike in a worker.

    >>> has_document()
    False
    """
    return in_browser() and hasattr(page(), "document")


def is_awaited_by_promise() -> bool:
    """Return whether JavaScript is what waits for an awaitable Python object.

    >>> is_awaited_by_promise()
    False

    The object is then awaited by the coroutine of `asyncio.ensure_future`, alone in its task.
    """
    if not in_browser():
        return False
    task = import_module("asyncio").current_task()
    return task is not None and task.get_coro().__name__ == "_wrap_awaitable"


def has_webnn() -> bool:
    """Return whether the browser exposes WebNN; only `Bridge.open` finds out whether it works.

    >>> has_webnn()
    False
    """
    return in_browser() and getattr(import_module("js").navigator, "ml", None) is not None


def is_installed(name: str) -> bool:
    """Return whether a package is installed here, or was loaded into this page.

    A package that is being loaded is not: its files exist before they can be imported.
    """
    if in_browser() and hasattr(_list_distribution(), name):
        return hasattr(import_module("pyodide_js").loadedPackages, name)
    return find_spec(name) is not None


def offers(name: str) -> bool:
    """Return whether a package is installed here, or can be loaded into this page."""
    if is_installed(name):
        return True
    return in_browser() and hasattr(_list_distribution(), name)


def _list_distribution() -> Any:
    """Return the packages of the page's Pyodide distribution, by name."""
    return import_module("pyodide_js").lockfile.packages


async def load_package(name: str) -> None:
    """Load a package of the page's Pyodide distribution, unless it is loaded already.

    If it is being loaded, wait for that.

    Raises `BackendError` NNM709 if the distribution does not contain it.
    """
    if is_installed(name):
        return
    try:
        await import_module("pyodide_js").loadPackage(name)
    except import_module("pyodide.ffi").JsException as error:
        raise _missing(name, str(error.message)) from error  # pyrefly: ignore[unknown-argument-type, unknown-attribute-access]
    invalidate_caches()
    if find_spec(name) is None:
        raise _missing(name, "the distribution does not list it")


def _missing(name: str, reason: str) -> BackendError:
    return BackendError(
        "NNM709",
        f"the package {name} cannot be loaded into this page: {reason}",
        hint=f"add a wheel of {name} to the page's Pyodide distribution and its lock file",
    )


async def fetch_url(url: str, *, guarded: bool = False) -> Any:
    """Fetch a URL, relative to the page; the response has `string` and `bytes`.

    Raises `DataError` NNM715 if the server answers with an error; with `guarded`, also if it
    redirects other than from https to https, because pages do not learn where to before it happens.
    """
    secure = url.startswith("https://")
    options = {"redirect": "error"} if guarded and not secure else {}
    response = await import_module("pyodide.http").pyfetch(url, **options)
    if guarded and secure and not str(response.url).startswith("https://"):
        raise DataError("NNM715", f"{url}: the server redirects to {response.url}")
    if not response.ok:
        message = f'"{url[:200]}" cannot be read: the server answered {response.status}'
        raise DataError("NNM715", message)
    return response


async def load_bridge() -> Bridge:
    """Return the bridge: the module that the page registered, or the one in this package.

    Raises `BackendError` NNM709 outside a browser, or as `load_module` does.
    """
    if not in_browser():
        raise BackendError(
            "NNM709",
            "WebNN needs a web browser, and this Python does not run in one",
            hint='use backend("numpy")',
        )
    if not BRIDGES:
        BRIDGES.append(Bridge(await load_module("webnn/bridge")))
        register_shuffle(BRIDGES[0].permutations)
    return BRIDGES[0]


BRIDGES: list[Bridge] = []
"""The bridge, once it is loaded: a second instance would not know the handles of the first one."""


async def load_module(path: str) -> Any:
    """Return a JavaScript module of js_bridge: the one that the page registered, or our own.

    A page registers `webnnm_bridge` and `webnnm_files` with Pyodide (`registerJsModule`) or lists
    them for PyScript (`js_modules`). Raises `BackendError` NNM709 if it did not, and the page's
    Content-Security-Policy forbids importing the source text that is in this package.
    """
    return find_registered(_module_name(path)) or await _own_module(f"{path}.js")


def _module_name(path: str) -> str:
    return f"webnnm_{path.rpartition('/')[2]}"


def find_registered(module: str) -> Any:
    """Return a JavaScript module that the page registered, None if it did not."""
    try:
        return import_module(module)
    except ImportError:
        pass
    try:
        return getattr(import_module("pyscript.js_modules"), module)
    except (ImportError, AttributeError):
        return None


def read_script(path: str) -> str:
    """Return the text of a module of js_bridge."""
    # In a checkout the folder is next to the package; only wheels contain it.
    checkout = Path(__file__).resolve().parents[2] / "js_bridge" / path
    if checkout.is_file():
        return checkout.read_text(encoding="utf-8")
    loader: Any = __loader__
    return loader.get_data(str(Path(__file__).with_name("_bridge") / path)).decode()


def _blob_url(path: str, urls: dict[str, str]) -> str:
    """Return a blob URL of a script; the scripts that it imports get blob URLs as well."""
    if path not in urls:

        def url_of_import(match: re.Match[str]) -> str:
            imported = posixpath.join(posixpath.dirname(path), match[0])
            return _blob_url(posixpath.normpath(imported), urls)

        text = re.sub(r'(?<= from ")\.{1,2}/[a-z/]+\.js(?=";)', url_of_import, read_script(path))
        js: Any = import_module("js")
        texts = import_module("pyodide.ffi").to_js([text])
        urls[path] = js.URL.createObjectURL(js.Blob.new(texts, type="text/javascript"))
    return urls[path]


async def _own_module(path: str) -> Any:
    urls: dict[str, str] = {}
    url = _blob_url(path, urls)
    lacking = "'unsafe-eval'"
    try:
        # Python can import a JavaScript module only by running JavaScript from a text.
        import_address = import_module("pyodide.code").run_js("(address) => import(address)")
        lacking = "blob:"
        return await import_address(url)
    except js_error() as error:
        module = _module_name(path.removesuffix(".js"))
        raise BackendError(
            "NNM709",
            f"{posixpath.basename(path)} could not be loaded: unless the page registers the "
            f"module, this needs {lacking} in the script-src of the page's "
            f"Content-Security-Policy: {error}",
            hint="serve vendor/webnnm with the page, and register the module: "
            f'pyodide.registerJsModule("{module}", await import("./vendor/webnnm/{path}")), or '
            "js_modules in PyScript; docs/deploying.md has an example",
        ) from error
    finally:
        for url in urls.values():
            page().URL.revokeObjectURL(url)


def script_value(script: str) -> Any:
    """Return the value of a JavaScript expression in this page."""
    return import_module("pyodide.code").run_js(script)


def beside_pyodide(folder: str) -> str:
    """Return the address of a folder next to that of Pyodide."""
    own = import_module("pyodide_js")._api.config.indexURL
    return str(page().URL.new(f"../{folder}/", page().URL.new(own, page().location.href)).href)


def callback(function: Callable[..., object]) -> Any:
    """Return a function that JavaScript can call until its `destroy` is called."""
    return import_module("pyodide.ffi").create_proxy(function)


def page() -> Any:
    """Return JavaScript's globalThis."""
    return import_module("js")


def js_error() -> type[BaseException]:
    """Return the class of errors that come from JavaScript."""
    return import_module("pyodide.ffi").JsException


@contextmanager
def _translate_errors(plan: Plan | None = None) -> Generator[None]:
    """Turn the bridge's errors, which have a name and details, into ours."""
    try:
        yield
    except import_module("pyodide.ffi").JsException as error:
        raise _translation(error, plan) from error  # pyrefly: ignore[unknown-argument-type]


def _translation(error: Any, plan: Plan | None) -> BackendError:
    name, message = str(error.name), str(error.message)
    if name == "ContextLost":
        step = getattr(error, "step", None)
        return ContextLost(f"the browser lost the device: {message}", step=step)
    if name == "BuildError":
        label = getattr(error, "label", None) or _label_in(message, plan)
        operator = getattr(error, "operator", None)
        what = f'"{operator}"' if operator else "the graph"
        where = f" ({label})" if label else ""
        return BackendError(
            "NNM505",
            f"the browser refused {what}{where}: {message}",
            hint='change this layer or its data type, or use backend("numpy")',
        )
    from webnnm.backends.bridge_errors import explain

    return explain(name, message)


def _label_in(message: str, plan: Plan | None) -> str:
    """Return the label of the plan that a browser quotes in a message, in brackets."""
    labels = [operator["label"] for operator in plan.content["operators"]] if plan else []
    return next((label for label in labels if label and f"[{label}]" in message), "")


def can_wait() -> bool:
    """Return whether this browser can suspend Python until a promise is settled (JSPI)."""
    Bridge.waiting = True  # only callers that are about to wait ask this
    return bool(find_spec("pyodide")) and import_module("pyodide.ffi").can_run_sync()


def wait(work: Awaitable[Any]) -> Any:
    """Return the result of an awaitable, suspending Python until it is available."""
    return import_module("pyodide.ffi").run_sync(work)
