"""Programs that are written into a page: how they run there, and the places of their errors."""

import ast
import asyncio
import inspect
import time

FILE = "program.py"
"""What Python takes for the program's file."""
PAUSE = "__pause__"
AWAITED = "frame"
"""The function that does nothing unless it is awaited."""
TURN = 0.1
"""Seconds that a loop runs before the page gets a turn."""
LONGEST = 10
"""Seconds after which a loop ends that cannot be held up."""


class _PauseInserter(ast.NodeTransformer):
    """Begins every turn of every loop with a call of `PAUSE`; nothing is drawn without `await`."""

    def _insert_pause(self, node):
        self.generic_visit(node)
        call = ast.Expr(ast.Call(ast.Name(PAUSE, ast.Load()), [], []))
        node.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, node.body[0])))
        return node

    visit_For = visit_While = visit_AsyncFor = _insert_pause

    def visit_Expr(self, node):
        match node.value:
            case ast.Call(func=ast.Name(id=name)) if name == AWAITED:
                message = f"nothing is shown: write `await {name}(…)`"
                position = node.lineno, node.col_offset + 1
                raise SyntaxError(message, (FILE, *position, None))
        return self.generic_visit(node)


class Pauses:
    """Lets the page live while a program loops.

    `can_wait()` tells whether Python can be held up, and `wait()` holds it up until the page has
    had its turn. Who gives it one in another way calls `done`.
    """

    def __init__(self, can_wait, wait):
        self.can_wait, self.wait = can_wait, wait
        self.done()

    def done(self):
        """Note that the page has just had its turn."""
        self.last = time.monotonic()

    def __call__(self):
        """Give the page a turn where it has waited for long."""
        waited = time.monotonic() - self.last
        if waited < TURN:
            return
        if self.can_wait():
            self.wait()
            self.done()
            # Who has cancelled the program meanwhile would wait for its next `await`.
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError
        elif waited > LONGEST:
            raise TimeoutError(
                f"a loop has blocked the page for {LONGEST} s: write `await frame()` into it"
            )


def compile_program(source):
    """Return the code of a program, whose loops call `PAUSE`. `await` may stand at its top level.

    Raises `SyntaxError`.
    """
    tree = _PauseInserter().visit(ast.parse(source, FILE))
    return compile(tree, FILE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


async def run(source, pauses, **names):
    """Run a program that finds `names` beside Python's own. What it made goes when it ends.

    `sys.exit()` ends it, too.
    """
    namespace = {"__name__": "__main__", PAUSE: pauses, **names}
    try:
        pauses.done()
        result = eval(compile_program(source), namespace)
        if inspect.isawaitable(result):
            await result
    except SystemExit:
        pass
    finally:
        namespace.clear()


def locate(error):
    """Return the line and column, both from 1, where a program has raised an error, or None."""
    if isinstance(error, SyntaxError) and error.filename == FILE:
        return error.lineno or 1, error.offset or 1
    innermost, trace = None, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == FILE:
            innermost = trace
        trace = trace.tb_next
    if innermost is None:
        return None
    positions = [*innermost.tb_frame.f_code.co_positions()][innermost.tb_lasti // 2]
    return innermost.tb_lineno, (positions[2] or 0) + 1
