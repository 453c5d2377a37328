"""What the tests of commands share."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
IRIS = str(ROOT / "webnnm" / "data" / "examples" / "iris.csv")

SOFTMAX = """model:input shape=[4];
model:output shape=[3];
model:layers matmul(w), add(b), softmax();
"""
LINE = """line:input shape=[1];
line:output shape=[1];
line:layers matmul(w), add(b);
"""


def strict(text: str) -> Any:
    """Read JSON without the numbers that JSON lacks."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def command(*arguments: str) -> list[str]:
    """Return the command line of the program as a user starts it."""
    return [sys.executable, "-m", "webnnm", *arguments]


def run(*arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
    """Start the program, wait for its end."""
    return subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, input=input, check=False
    )
