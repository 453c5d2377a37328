"""Lists figures of documents whose command is unknown, or that are older than the code.

    python -m tools.figures

A comment before a measured passage names the command that measures it, the day, and the files that
it depends on; it holds until the next heading, or the next such comment:

    <!-- measured: make bench, 2026-11-28, webnnm/backends js_bridge -->

"by hand" in place of the command says that nothing repeats it. `<!-- not measured: WHY -->` stands
before figures that are no measurements of this package, such as the limits of a host. Generated
documents, tables that a command writes between markers, the specification, and the course, whose
blocks are run, need none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tools.common import ROOT, say

FIGURE = re.compile(
    r"(?<![\w.#$])\d[\d,]*(?:\.\d+)?(?:\s?[–-]\s?\d[\d,.]*)?\s?"
    r"(?:ms|µs|ns|s|seconds|kB|MB|GB|MiB|tokens per second|times as (?:fast|long|many))\b"
)
MARK = re.compile(r"<!-- (measured|not measured): ([^>]+?) -->", re.DOTALL)
WRITTEN = re.compile(
    r"<!-- ([\w ]+): (?:begin|written by).*?-->.*?<!-- (?:\1: end|end of \w+) -->", re.DOTALL
)
"""What a command writes."""
GENERATED = re.compile(r"<!-- Written by")
HIDDEN = re.compile(r"^```.*?^```|`[^`\n]+`|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
"""Programs, names, comments and addresses: no figures stand there."""
DEFINED = ("docs/specification/", "docs/course/")
"""Documents whose figures are rules, or outputs of programs that tests run."""
BY_HAND = "by hand"
HEADING = re.compile(r"^#+ ", re.MULTILINE)


class Passage(NamedTuple):
    """Part of a document with figures, from its line on; the mark that holds there, if any."""

    document: str
    line: int
    figures: tuple[str, ...]
    kind: str
    text: str


class Measurement(NamedTuple):
    """What a mark says: the command, the day, and what the figures depend on."""

    command: str
    day: str
    files: tuple[str, ...]


def read_mark(text: str) -> Measurement:
    """Return what a mark says.

    >>> read_mark("make bench, 2026-11-28, webnnm js_bridge")
    Measurement(command='make bench', day='2026-11-28', files=('webnnm', 'js_bridge'))
    """
    match = re.fullmatch(r"(.+), (\d{4}-\d\d-\d\d), ([\w./ -]+)", " ".join(text.split()))
    if match is None:
        raise ValueError(f"{text!r} is not COMMAND, YYYY-MM-DD, FILES")
    return Measurement(match[1], match[2], tuple(match[3].split()))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def passages(document: str, text: str) -> Iterator[Passage]:
    """Yield the parts of a document that have figures, with the marks that hold there.

    >>> text = "# A\\n\\n<!-- measured: make bench, 2026-11-28, webnnm -->\\nIt takes 5 ms.\\n"
    >>> [(passage.line, passage.figures, passage.kind) for passage in passages("a.md", text)]
    [(4, ('5 ms',), 'measured')]
    """
    text = WRITTEN.sub(_blank, text)
    marks = {match.start(): match for match in MARK.finditer(text)}
    visible = HIDDEN.sub(_blank, text)
    starts = sorted({0, *marks, *(match.start() for match in HEADING.finditer(visible))})
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        mark = marks.get(start)
        matches = [*FIGURE.finditer(visible, start, end)]
        if mark or matches:
            first = matches[0].start() if matches else start
            yield Passage(
                document,
                text.count("\n", 0, first) + 1,
                tuple(" ".join(match[0].split()) for match in matches),
                mark[1] if mark else "",
                " ".join(mark[2].split()) if mark else "",
            )


def documents() -> Iterator[tuple[str, str]]:
    """Yield path and text of the documents that people write."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        if not GENERATED.search(text) and not name.startswith(DEFINED):
            yield name, text


def unknown() -> list[Passage]:
    """Return the passages whose figures have no mark."""
    found = (each for name, text in documents() for each in passages(name, text))
    return [passage for passage in found if passage.figures and not passage.kind]


def last_change(files: tuple[str, ...]) -> str:
    """Return the day on which the last of some files was changed."""
    command = ["git", "log", "-1", "--format=%cs", "--", *files]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def by_hand() -> list[str]:
    """Return the documents with figures that no command repeats, once for each passage."""
    found = (each for name, text in documents() for each in passages(name, text))
    return [
        f"{each.document}:{each.line}"
        for each in found
        if each.kind == "measured" and read_mark(each.text).command == BY_HAND
    ]


def outdated() -> Iterator[tuple[Passage, Measurement, str]]:
    """Yield the passages that were measured before their files changed, and when that was."""
    for name, text in documents():
        for passage in passages(name, text):
            if passage.kind == "measured":
                measurement = read_mark(passage.text)
                changed = last_change(measurement.files)
                if changed > measurement.day:
                    yield passage, measurement, changed


def main() -> None:
    """List both; the exit code is 1 if a command is unknown."""
    missing = unknown()
    for passage in missing:
        say(f"{passage.document}:{passage.line}: no command for {', '.join(passage.figures[:5])}")
    old = [*outdated()]
    for passage, (command, day, _), changed in old:
        say(f"{passage.document}:{passage.line}: of {day}, code of {changed}: {command}")
    repeated = by_hand()
    say(f"measured by hand: {', '.join(repeated)}")
    counts = f"{len(missing)} without a command, {len(repeated)} measured by hand"
    say(f"{counts}, {len(old)} older than their code")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
