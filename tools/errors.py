"""Writes docs/errors.md from the places where the package raises errors, and their meanings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tools.citations import anchor
from tools.common import ROOT
from tools.expert import condition
from tools.operators import table
from webnnm.cli.error_meanings import GROUPS, MEANINGS
from webnnm.core.finding import AREAS
from webnnm.expert.rules.registry import RULES

PAGE = ROOT / "docs" / "errors.md"
PACKAGE = ROOT / "webnnm"

Function = ast.FunctionDef | ast.AsyncFunctionDef

CODE = re.compile(r"NNM\d{3}")
SHOWN = 8
"""Most messages listed for a code; a code of many rules has dozens."""

INTRODUCTION = """\
# Errors and findings

<!-- Written by `make documents`: change the meanings in webnnm/cli/error_meanings.py and the
messages where they are raised, not this file. -->

Every error that webnnm raises on purpose is a `WebNNMError` with a `code` that stays the same from
version to version, a `message` with the numbers involved, a `hint` if there is a remedy, and the
`line` and `column` of the cause in a model text. `others` has further errors that were found at
the same time. The classes are those of [core/errors.py](../webnnm/core/errors.py).

```python
import webnnm

text = "m:input shape=[5]; m:output shape=[3]; m:layers matmul(w, shape=[4, 3]);"
try:
    model = await webnnm.NNModel.create(source=text, backend="numpy")
except webnnm.ModelError as error:
    print(error.code, error.line, error.column, error.message, error.hint)
```

**Contents:** {contents} · [findings of the expert system](#findings-of-the-expert-system)

Each code is listed with its meaning, its remedy, and its messages, in which … stands for the
details of a case. Each message is followed by the module that raises it.
"""

FINDINGS = """\
## Findings of the expert system

The rules that review a model, its data and its settings have ids that begin with E.
[The expert system](expert.md) says what each rule decides by itself.
"""


@dataclass(frozen=True)
class Raised:
    """One place where a code is raised: the module below webnnm/, and its messages."""

    code: str
    module: str
    messages: tuple[str, ...]


def page() -> str:
    """Return the text of docs/errors.md."""
    contents = " · ".join(f"[{title}](#{anchor(title)})" for title, _ in GROUPS.values())
    parts = [INTRODUCTION.format(contents=contents)]
    for digit, (title, about) in GROUPS.items():
        parts.append(f"## {title}\n\n{about}\n")
        parts += [section(code) for code in MEANINGS if code[3] == digit]
    parts.append(FINDINGS)
    for area in AREAS:
        rows = [
            [rule.id, rule.severity, condition(rule), rule.remedy or "–"]
            for rule in RULES.values()
            if rule.area == area
        ]
        parts.append(f"### {area}\n\n{table(['Id', 'Severity', 'Meaning', 'Remedy'], rows)}\n")
    return "\n".join(parts)


def section(code: str) -> str:
    """Return the section on one code."""
    meaning, remedy = MEANINGS[code]
    lines = [f"### {code}", "", f"{meaning}", "", f"*Remedy:* {remedy}", ""]
    by_message: dict[str, list[str]] = {}
    places = [location for location in find_raises() if location.code == code]
    for location in places:
        for message in location.messages:
            modules = by_message.setdefault(message, [])
            if location.module not in modules:
                modules.append(location.module)
    shown = list(by_message.items())[:SHOWN]
    lines += [f"- {quote(message)} ({links(modules)})" for message, modules in shown]
    named = {module for _, modules in shown for module in modules}
    others = [module for module in dict.fromkeys(p.module for p in places) if module not in named]
    if others:
        lines.append(f"- {'further messages' if shown else 'raised'} in {links(others)}")
    return "\n".join(lines) + "\n"


def links(modules: Iterable[str]) -> str:
    """Return links to modules of the package.

    >>> links(["ops/pad.py"])
    '[ops/pad.py](../webnnm/ops/pad.py)'
    """
    return ", ".join(f"[{module}](../webnnm/{module})" for module in modules)


def quote(text: str) -> str:
    """Return a message as code, in Markdown.

    >>> quote("write `x`")
    '`` write `x` ``'
    """
    return f"`` {text} ``" if "`" in text else f"`{text}`"


@cache
def find_raises() -> tuple[Raised, ...]:
    """Return where each code is raised, module by module."""
    raises: list[Raised] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        raises += places(path.read_text(), module)
    return tuple(raises)


def places(source: str, module: str) -> Iterator[Raised]:
    """Yield where a module passes a code to a call, or stores one under a name of its own.

    >>> [place.messages for place in places("raise DataError('NNM702', f'{n} rows')", "a.py")]
    [('… rows',)]
    """
    if not CODE.search(source):
        return
    nodes = list(ast.walk(ast.parse(source)))
    functions = [n for n in nodes if isinstance(n, Function)]
    for node in nodes:
        if isinstance(node, ast.Call):
            for index, argument in enumerate(node.args):
                if (code := _code(argument)) is not None:
                    said = node.args[index + 1] if index + 1 < len(node.args) else None
                    yield Raised(code, module, _messages(said, _around(functions, node)))
        elif isinstance(node, ast.Assign) and (code := _code(node.value)) is not None:
            yield Raised(code, module, ())
        elif isinstance(node, ast.arguments):
            for default in node.defaults:
                if (code := _code(default)) is not None:
                    yield Raised(code, module, ())


def _code(node: ast.expr) -> str | None:
    """Return the code that an expression denotes, if it is one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if CODE.fullmatch(node.value) else None
    return None


def _around(functions: Iterable[Function], node: ast.Call) -> Function | None:
    """Return the innermost function that contains a call."""
    holding = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or f.lineno)]
    return holding[-1] if holding else None


def _messages(said: ast.expr | None, function: ast.AST | None) -> tuple[str, ...]:
    """Return the possible texts of a message: itself, or what is assigned to its name."""
    if isinstance(said, ast.Name) and function is not None:
        texts = [
            _template(node.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == said.id for t in node.targets)
        ]
    elif isinstance(said, ast.IfExp):
        texts = [_template(said.body), _template(said.orelse)]
    else:
        texts = [] if said is None else [_template(said)]
    return tuple(text for text in texts if re.search(r"\w{2}", text))


def _template(node: ast.expr) -> str:
    """Return a text with … in place of the details of a case; "" for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) or "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return ""
