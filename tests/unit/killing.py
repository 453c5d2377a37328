"""Processes that end at a chosen moment of what they do, the same one in every run.

A moment is a call or a return of a function, Python's or C's, but for those of C that reach no file
whatever they are given: between moments nothing happens that reaches one.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CALL = """
import json, sys
from {module} import {name}
json.dump({name}(*json.loads(sys.argv[1])), sys.stdout)
"""


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a test module in a new process, and return what it returns.

    It may fork there: what this takes grows with the memory of the process, and a process of pytest
    has collected all tests. Arguments and result are JSON.
    """
    program = CALL.format(module=function.__module__, name=function.__name__)
    words = [sys.executable, "-c", program, json.dumps(arguments)]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


IN_MEMORY = (str, bytes, list, tuple, dict, set, type)
"""Whose methods reach no file."""


def watched(function: Callable[[], object], at: Callable[[str, str], object]) -> None:
    """Run a function; `at` is told every moment: what it is, and the name of the function.

    It is "call" or "return" of a function of Python, "c_call", "c_return" or "c_exception" of C.
    """

    def note(frame: Any, event: str, argument: Any) -> None:
        if not event.startswith("c_"):
            at(event, frame.f_code.co_name)
        elif (owner := argument.__self__) is not builtins and not isinstance(owner, IN_MEMORY):
            at(event, argument.__name__)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)


def moments(function: Callable[[], object]) -> list[tuple[str, str]]:
    """Run a function and return its moments in their order."""
    found: list[tuple[str, str]] = []
    watched(function, lambda event, name: found.append((event, name)))
    return found


def within(found: list[tuple[str, str]], name: str) -> list[int]:
    """Return the numbers of the moments that lie between the calls and returns of a function."""
    inside: list[int] = []
    depth = 0
    for number, moment in enumerate(found):
        depth += (moment == ("call", name)) - (moment == ("return", name))
        inside += [number] if depth else []
    return inside


def run_and_kill(function: Callable[[], object], moment: int) -> None:
    """Run a function in a process that is killed at its moment of this number, or after the last.

    Nothing of the process is cleaned up: it is killed as by another one.
    """
    child = os.fork()
    if child == 0:
        left = moment

        def count(_event: str, _name: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        try:
            watched(function, count)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
