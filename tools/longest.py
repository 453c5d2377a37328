"""Reports the longest modules and functions of the package: where to look for two ideas in one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.common import ROOT, say

PACKAGE = ROOT / "webnnm"
SHOWN = 12


def main() -> None:
    """Print both lists, the longest first."""
    texts = {path.relative_to(ROOT): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    modules = [(len(text.splitlines()), str(path)) for path, text in texts.items()]
    all_functions = [
        function for path, text in texts.items() for function in functions(str(path), text)
    ]
    for title, lengths in (("modules", modules), ("functions", all_functions)):
        say(f"lines of the longest {title}")
        for lines, name in sorted(lengths, reverse=True)[:SHOWN]:
            say(f"{lines:6,}  {name}")


def functions(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of every function without its docstring, and where it is.

    >>> list(functions("m.py", "def f():\\n    \'Doc.\'\\n    return 1\\n"))
    [(2, 'm.py:1 f')]
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node):
                lines -= (first.end_lineno or first.lineno) - first.lineno + 1
            yield lines, f"{path}:{node.lineno} {node.name}"


if __name__ == "__main__":
    main()
