"""Runs the examples of a document; names stay defined for later examples of the session."""

import ast
import importlib
import inspect
import linecache
import sys
import traceback

from webnnm import WebNNMError

FILE = "<example>"
SESSIONS = {}
"""Session → the names of its programs."""
LONGEST = 1000
"""Characters of a text that is shown as the value of an expression; `print` shows all of it."""


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


async def run(program, session, module="", errors=0):
    """Run a program as Python's prompt does: an expression shows its value.

    It continues after that many `errors`; a further one is shown and ends it. Returns "done" or
    "error". A new session has the names of `module`, like the examples of its docstrings.
    """
    if session not in SESSIONS:
        namespace = vars(importlib.import_module(module)) if module else {}
        SESSIONS[session] = {**namespace, "__name__": "__main__"}
    names = SESSIONS[session]
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
