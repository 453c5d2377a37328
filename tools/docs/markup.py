"""Translates the comments and links of the documents for the documentation site.

A comment on the line before a block of Python says that it is not run, and why:
`<!-- not run: … -->` nowhere, `<!-- desktop: … -->` in no page, `<!-- pages: … -->` in no test on
a desktop. A comment that begins
with `<!-- setup` holds a program that runs before the next block, in tests and in pages. A block of
`output` after a program shows what it prints.

`<!-- exercise: name -->` precedes a program for readers to change. Comments after it hold what
judges it: `<!-- check` a program of assertions whose messages say what is missing, and which prints
"That is right" in the end; `<!-- wrong: message` an answer that must get this message. A block in
`<details>` with the summary "Solution" is accepted by the check. `<!-- picture: file` holds an
expression after the programs before it, whose chart or diagram is the file (`tools.docs.pictures`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

GENERATED = ("api.md", "rules.md")
"""Documents made of docstrings, whose examples are independent of one another."""
FROM_ROOT = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "README.md": "README.md",
}
"""Files outside docs/ → their page; the site's first page replaces the README."""
TOLD = {"not run": "Not run here", "desktop": "Runs only on desktops"}
"""Marker → the site's text before the reason."""
NO_PROGRAMS = ("not run", "exercise", "check", "wrong", "solution", "picture")
"""Marks of Python that is no part of a document's session."""
PIECE = re.compile(
    r"^<!-- (?P<hidden>setup|check|wrong|picture)(?:: (?P<about>[^\n]+))?\n(?P<inside>.*?)^-->\n"
    r"|(?:^<!-- (?P<mark>not run|desktop|pages|exercise): (?P<reason>[^>]+?) -->\n"
    r"|(?P<solution>^<details markdown=\"1\">\n<summary>Solution</summary>\n\n))?"
    r"^(?P<fence>```+)(?P<language>\w*)(?P<words>[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[((?:[^][]|\[[^]]*\])*)\]\(((?:\.\./)+)([^)#\s]*)(#[^)\s]*)?\)")
MODULE = re.compile(r"^\*.* in \[[^]]*\]\(\.\./(webnnm/[\w/]+)\.py\)", re.MULTILINE)
"""Where a docstring comes from: its examples can use the names of this module."""
FILE = re.compile(r"""["']((?:tests/data|site)/[\w./-]+)["']""")
"""A file of the repository that a program names; the site has a copy for its examples."""


@dataclass(frozen=True)
class Piece:
    """A block of a document, or the set-up of the next one.

    `mark` is "setup", "not run", "desktop", "pages", "exercise", "check", "wrong", "solution",
    "picture", or nothing. `reason` is what stands after the mark. `line` counts from 1.
    """

    text: str
    language: str
    mark: str
    reason: str
    line: int

    @property
    def is_session(self) -> bool:
        """Whether the block shows prompts and Python's answers."""
        return self.language == "python" and ">>> " in self.text

    @property
    def is_output(self) -> bool:
        """Whether the block shows the output of the program before it, with ... for what varies."""
        return self.language == "output"

    @property
    def is_program(self) -> bool:
        """Whether the block is Python to run, with or without prompts."""
        return self.language == "python" and self.mark not in NO_PROGRAMS


def pieces(document: str) -> Iterator[Piece]:
    """Yield the blocks and set-ups of a document in their order.

    >>> [piece.mark for piece in pieces("<!-- setup\\nx = 1\\n-->\\n\\n```python\\nx\\n```\\n")]
    ['setup', '']
    """
    for match in PIECE.finditer(document):
        yield _piece(document, match)


def _piece(document: str, match: re.Match[str]) -> Piece:
    line = document.count("\n", 0, match.start()) + 1
    if match["hidden"]:
        return Piece(match["inside"], "python", match["hidden"], match["about"] or "", line)
    reason = " ".join((match["reason"] or "").split())
    mark = "solution" if match["solution"] else match["mark"] or ""
    return Piece(match["text"], match["language"], mark, reason, line)


@dataclass(frozen=True)
class Exercise:
    """A program for readers to change, with what judges it.

    `wrong` holds answers and the message that each must get.
    """

    name: str
    line: int
    start: str
    check: str
    solution: str
    wrong: tuple[tuple[str, str], ...]


def exercises(document: str) -> Iterator[Exercise]:
    """Yield the exercises of a document in their order.

    >>> blocks = "<!-- exercise: a -->\\n```python\\nx = 1\\n```\\n<!-- check\\nassert x\\n-->\\n"
    >>> [(it.name, it.check) for it in exercises(blocks)]
    [('a', 'assert x\\n')]
    """
    blocks = [*pieces(document)]
    starts = [index for index, piece in enumerate(blocks) if piece.mark == "exercise"]
    for index, end in zip(starts, [*starts, len(blocks)][1:], strict=True):
        own = blocks[index + 1 : end]
        text = {piece.mark: piece.text for piece in own}
        yield Exercise(
            blocks[index].reason,
            blocks[index].line,
            blocks[index].text,
            text.get("check", ""),
            text.get("solution", ""),
            tuple((piece.reason, piece.text) for piece in own if piece.mark == "wrong"),
        )


def files(document: str) -> set[str]:
    """Return the files of the repository that the programs of a document open.

    >>> files("```python\\nopen('tests/data/digits.csv.gz')\\n```\\n")
    {'tests/data/digits.csv.gz'}
    """
    return {name for piece in pieces(document) for name in FILE.findall(piece.text)}


def for_site(document: str, page: str) -> str:
    """Return a document as the site's generator reads it: marked blocks, links within the site."""
    parts: list[str] = []
    end = 0
    module = ""
    for match in PIECE.finditer(document):
        text = document[end : match.start()]
        module = (MODULE.findall(text) or [module])[-1]
        parts += [
            rewrite_links(text, page),
            match["solution"] or "",
            _block(_piece(document, match), module.replace("/", ".")),
        ]
        end = match.end()
    return "".join([*parts, rewrite_links(document[end:], page)])


def _block(piece: Piece, module: str) -> str:
    if piece.mark in ("wrong", "picture"):
        return ""
    if piece.mark in ("setup", "check"):
        attributes = f'.{piece.mark} hidden="hidden" data-search-exclude=""'
        return f"```{{ .python {attributes} }}\n{piece.text}```\n"
    if piece.mark == "exercise":
        return f"```{{ .python .run .exercise }}\n{piece.text}```"
    if piece.is_output:
        return f"```{{ .text .output }}\n{piece.text}```"
    language = "pycon" if piece.is_session else piece.language or "text"
    runs = piece.is_program and piece.mark != "desktop" and "doctest: +SKIP" not in piece.text
    attributes = " .run" * runs + f' data-module="{module}"' * bool(runs and module)
    block = f"```{{ .{language}{attributes} }}\n{piece.text}```"
    if not (said := TOLD.get(piece.mark)):
        return block
    return f"{block}\n\n{said}: {piece.reason}.\n{{ .reason }}\n"


def rewrite_links(text: str, page: str) -> str:
    """Return a text whose links out of docs/ lead to pages of the site, or become file names.

    >>> rewrite_links("[how](../CONTRIBUTING.md#tests), [`a.py`](../webnnm/a.py)", "api.md")
    '[how](contributing.md#tests), `a.py`'
    """
    up = "../" * (len(PurePosixPath(page).parts) - 1)

    def replace_link(match: re.Match[str]) -> str:
        label, steps, target, fragment = match.groups()
        if steps != f"{up}../":
            return match[0]
        if target in FROM_ROOT:
            return f"[{label}]({up}{FROM_ROOT[target]}{fragment or ''})"
        return label if label.startswith("`") or " " in label else f"`{label}`"

    return LINK.sub(replace_link, text)
