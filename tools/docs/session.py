"""Runs the examples of a document; names stay defined for later examples of the session."""

import ast
import contextlib
import importlib
import inspect
import io
import linecache
import sys
import traceback

from webnnm import WebNNMError

FILE = "<example>"
SESSIONS = {}
"""Session → the names of its programs."""
LONGEST = 1000
"""Characters of a text that is shown as the value of an expression; `print` shows all of it."""
show_chart = None
"""Takes the description of a chart, which a page draws; without it, charts show as texts."""


def draw_charts_with(function):
    """Let a function draw the charts that expressions return."""
    global show_chart
    show_chart = function


class _Awaited(ast.NodeTransformer):
    """Turns `asyncio.run(x)` into an `await`: the event loop of the page is already running."""

    def visit_Call(self, node):
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run"), args=[awaited]
            ):
                return ast.copy_location(ast.Await(awaited), node)
        return node

    def _leave(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _leave


async def run(program, session, module="", errors=0, alone=False):
    """Run a program as Python's prompt does: an expression shows its value.

    It continues after that many `errors`; a further one is shown and ends it. Returns "done" or
    "error". A new session has the names of `module`, like the examples of its docstrings. What a
    program defines `alone` the session does not get.
    """
    names = _names(session, module)
    if not alone:
        return await _run_program(program, names, errors)
    with _restoring(names):
        return await _run_program(program, names, errors)


async def check(program, test, session):
    """Run an answer to an exercise, then the test that judges it, and return what the test says.

    The session's names are then what they were before. The test also has `program`, its text, and
    `printed`, what it printed. The message of its first assertion that fails says what is missing;
    if none does, the test prints "That is right: …".
    """
    names = _names(session)
    with _restoring(names):
        with contextlib.redirect_stdout(_Tee(sys.stdout)) as copy:
            ending = await _run_program(program, names)
        if ending == "error":
            return (
                "The program ends with an error; the output says which. Mend it, then check again."
            )
        names |= {"program": program, "printed": copy.getvalue()}
        return await _judge(test, names)


async def _judge(test, names):
    code = compile(test, "<check>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as verdict:
            value = eval(code, names)
            if code.co_flags & inspect.CO_COROUTINE:
                await value
    except AssertionError as error:
        return str(error)
    except NameError as error:
        sought = {node.id for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)}
        if error.name not in sought:
            return f"The program uses `{error.name}`, which it neither defines nor imports."
        return f"The check looks for `{error.name}`, which the program does not define any more."
    except Exception as error:
        return f"The check cannot use the result: {describe_error(error)}"
    return verdict.getvalue().strip()


@contextlib.contextmanager
def _restoring(names):
    """Give names their values back, and lists and the like their contents.

    The names are the same dict all the while, which functions look into that were defined before.
    """
    memo = {}
    saved = {name: _copy_containers(value, memo) for name, value in names.items()}
    try:
        yield
    finally:
        names.clear()
        names.update(saved)


def _copy_containers(value, memo):
    """Return a copy of lists, dicts and sets, with copies of those inside them."""
    if id(value) in memo:
        return memo[id(value)]
    if type(value) is dict:
        memo[id(value)] = copied = {}
        copied.update((key, _copy_containers(item, memo)) for key, item in value.items())
    elif type(value) is list:
        memo[id(value)] = copied = []
        copied.extend(_copy_containers(item, memo) for item in value)
    else:
        copied = set(value) if type(value) is set else value
    return copied


class _Tee(io.StringIO):
    """Keeps a copy of what is written to another stream."""

    def __init__(self, stream):
        super().__init__()
        self._stream = stream

    def write(self, text):
        self._stream.write(text)
        return super().write(text)

    def flush(self):
        self._stream.flush()


def _names(session, module=""):
    if session not in SESSIONS:
        namespace = vars(importlib.import_module(module)) if module else {}
        SESSIONS[session] = {**namespace, "__name__": "__main__"}
    return SESSIONS[session]


async def _run_program(program, names, errors=0):
    linecache.cache[FILE] = len(program), None, program.splitlines(keepends=True), FILE
    try:
        for statement in _Awaited().visit(ast.parse(program, FILE)).body:
            try:
                await _run(statement, names)
            except Exception as error:
                print(describe_error(error))
                errors -= 1
                if errors < 0:
                    return "error"
    except SyntaxError as error:
        print(describe_error(error))
        return "error"
    except SystemExit:
        pass
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return "done"


async def _run(statement, names):
    shows = isinstance(statement, ast.Expr)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = ast.Expression(statement.value) if shows else ast.Module([statement], [])
    code = compile(ast.fix_missing_locations(tree), FILE, "eval" if shows else "exec", flags)
    value = eval(code, names)
    if code.co_flags & inspect.CO_COROUTINE:
        value = await value
    if shows and value is not None:
        names["_"] = value
        if show_chart and hasattr(value, "to_page"):
            show_chart(value.to_page())
        else:
            print(_format_value(value))


def _format_value(value):
    """Return how a value shows: long texts, such as files that a call returns, only begin."""
    shown = repr(value)
    if not isinstance(value, str | bytes) or len(shown) <= LONGEST:
        return shown
    return f"{shown[:LONGEST]} … ({len(value):,} in all)"


def describe_error(error):
    """Return the text of an error: the message of webnnm's own, the traceback of others."""
    if isinstance(error, WebNNMError):
        return str(error)
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
