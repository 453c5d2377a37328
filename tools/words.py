"""Counts names that need translation: functions named by a participle, locals that say nothing.

A function does something, so its name is a verb (`concatenate`, `find_column`), not the result's
participle (`joined`, `found_of`). A local name says what a value is (`layers`, `span`), not how it
came about (`found`, `given`). `tests/laws/test_words.py` fails if a count exceeds its limit here;
who lowers a count lowers the limit.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.common import ROOT, say

PACKAGE = ROOT / "webnnm"
SHOWN = 30

MAX_PARTICIPLES = 20
"""The most functions of the package that may begin with a participle."""

MAX_VAGUE_LOCALS = 25
"""The most assignments in functions of the package to one of `VAGUE`."""

VAGUE = frozenset(
    re.findall(r"\w+", "each flow found given known made most place told wanted whole word")
)
"""Local names that do not say what they hold."""

IRREGULAR = frozenset(
    re.findall(
        r"\w+",
        """
    begun bent bitten born bound bought broken brought built burnt caught chosen done drawn driven
    fallen fed felt forbidden forgotten found frozen given gone got grown had heard held hidden
    hung kept known laid left lent lit lost made meant met overridden overwritten paid ran rewritten
    said seen sent shown shrunk slept sold sought spent spoken spun stolen stood struck stuck sunk
    swept taken taught thought thrown told torn unbound understood went withheld won worn woven
    written
    """,
    )
)
"""Past participles, and past forms used like them, that do not end in -ed and are no base form."""

NO_PARTICIPLES = frozenset(
    re.findall(
        r"\w+",
        "bed bleed embed exceed feed heed indeed need proceed red seed shed speed succeed"
        " searchsorted",  # NumPy's name
    )
)
"""Words that end in -ed and are no participles."""

PROPERTIES = frozenset({"property", "cached_property", "setter"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def begins_with_participle(name: str) -> bool:
    """Return whether a function's name begins with a past participle.

    >>> [begins_with_participle(name) for name in ("_joined", "found_of", "as_written", "feed")]
    [True, True, True, False]
    """
    words = name.strip("_").lower().split("_")
    if words[0] == "as" and len(words) > 1:
        words = words[1:]
    first = words[0]
    return first in IRREGULAR or (first.endswith("ed") and first not in NO_PARTICIPLES)


def is_property(function: Function) -> bool:
    """Return whether a function is read like an attribute, and so named by a noun."""
    names = {
        getattr(decorator, "attr", None) or getattr(decorator, "id", None)
        for decorator in function.decorator_list
    }
    return bool(names & PROPERTIES)


def list_functions(path: Path) -> list[Function]:
    """Return all functions and methods of a file, except properties."""
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, Function) and not is_property(node)]


def iterate_locals(function: Function) -> Iterator[str]:
    """Yield the name of each assignment in a function, without those of functions inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, Function):
            pending += ast.iter_child_nodes(node)


def count_words() -> tuple[dict[str, list[str]], Counter[str], Counter[str]]:
    """Return functions named by a participle and the number of all, per package, and all locals."""
    participles: dict[str, list[str]] = {}
    functions: Counter[str] = Counter()
    assignments: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        package = file.parts[0]
        for function in list_functions(path):
            functions[package] += 1
            assignments.update(iterate_locals(function))
            if begins_with_participle(function.name):
                where = f"{file.as_posix()}:{function.lineno} {function.name}"
                participles.setdefault(package, []).append(where)
    return participles, functions, assignments


def main() -> None:
    """Print the share of participles of each package, and the commonest local names.

    With `--list` and packages, print their functions that begin with a participle instead.
    """
    participles, functions, assignments = count_words()
    if sys.argv[1:2] == ["--list"]:
        for package in sys.argv[2:] or participles:
            for function in participles.get(package, ()):
                say(function)
        return
    total = sum(map(len, participles.values()))
    say("functions that begin with a participle, of all")
    for package, number in sorted(functions.items()):
        say(f"{len(participles.get(package, ())):6,} {number:6,}  {package}")
    say(f"{total:6,} {functions.total():6,}  in all: {total / functions.total():.1%}")
    say("commonest local names")
    for name, number in assignments.most_common(SHOWN):
        say(f"{number:6,}  {name}{'  (vague)' * (name in VAGUE)}")
    vague = {name: assignments[name] for name in sorted(VAGUE)}
    say(f"{sum(vague.values()):6,}  vague: {vague}")


if __name__ == "__main__":
    main()
