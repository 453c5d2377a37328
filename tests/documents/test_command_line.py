"""The commands of docs/command-line.md run, and print what it says."""

from __future__ import annotations

import doctest
import io
import math
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from webnnm.cli import main
from webnnm.cli.program import parser
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def steps() -> Iterator[tuple[str, str]]:
    """Yield every command with what is expected of it, and every file with its content."""
    for kind, name, body in BLOCKS.findall(GUIDE):
        if name:
            yield f"> {name}", body
        elif kind == "console":
            for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, _, expected = step.partition("\n")
                yield line, expected


def theirs() -> bytes:
    shapes = {"layers.0.weight": (8, 4), "layers.0.bias": (8,)}
    shapes |= {"layers.1.weight": (3, 8), "layers.1.bias": (3,)}
    zeros = {n: HostArray("float32", s, bytes(4 * math.prod(s))) for n, s in shapes.items()}
    return b"".join(chunks(zeros, {}))


def test_commands_print_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "webnnm" / "data" / "examples" / "iris.csv", "iris.csv")
    Path("theirs.safetensors").write_bytes(theirs())
    checker = doctest.OutputChecker()
    code, ran = 0, set[str]()
    for line, expected in steps():
        if line.startswith("> "):
            Path(line[2:]).write_text(expected)
            continue
        if line == "echo $?":
            assert f"{code}\n" == expected
            continue
        given, _, command = line.rpartition(" | ")
        word, *arguments = shlex.split(command)
        assert word == "webnnm"
        if given:
            monkeypatch.setattr("sys.stdin", io.StringIO(shlex.split(given)[1]))
        code = main(arguments)
        ran.add(arguments[0])
        printed, told = capsys.readouterr()
        found = checker.check_output(expected, printed, doctest.ELLIPSIS)
        assert found, f"$ {line}\n{printed}\n{told}\nexpected:\n{expected}"
    (commands,) = [a.choices for a in parser()._actions if a.dest == "command"]
    assert commands is not None
    # `new` takes a package of 20 MB, `serve` ends by Ctrl-C alone.
    assert ran == commands.keys() - {"new", "serve"}


def test_every_command_stands_in_the_table() -> None:
    (commands,) = [a.choices for a in parser()._actions if a.dest == "command"]
    assert commands is not None
    for name in commands:
        assert re.search(rf"^\| \[`{name}\b", GUIDE, re.MULTILINE), name
