"""Prints how many modules and lines of the package a training of Iris imports.

    python -m tools.training_imports

Each training runs in a fresh interpreter, on NumPy, with the review of the expert system and
without.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.common import ROOT
from tools.operators import table

TRAIN = """
import asyncio, json, sys
from webnnm import IrisDataset, NNModel

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"

async def train(review):
    data = {"dataset": await IrisDataset.create(), "backend": "numpy", "log": lambda line: None}
    async with await NNModel.create(source=TEXT, review=review, **data) as model:
        await model.train(epochs=3)

asyncio.run(train(sys.argv[1] == "with"))
modules = {n: module for n, module in sys.modules.items() if n.split(".")[0] == "webnnm"}
print(json.dumps({name: module.__file__ for name, module in modules.items()}))
"""


def training_modules(*, review: bool) -> Mapping[str, int]:
    """Return the lines of every module of the package that a training of Iris imports."""
    command = [sys.executable, "-c", TRAIN, "with" if review else "without"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    files: dict[str, str] = json.loads(output.stdout.splitlines()[-1])
    return {name: len(Path(file).read_text().splitlines()) for name, file in files.items()}


def main() -> None:
    """Print modules and lines by package."""
    counts = {review: training_modules(review=review) for review in (True, False)}
    packages = sorted({_package_of(name) for lines in counts.values() for name in lines})
    rows = [[name, *_sums(counts, name)] for name in packages]
    head = ["Package", "with review", "without review"]
    print(table(head, [*rows, ["**all**", *_sums(counts)]]))


def _package_of(module: str) -> str:
    return [*module.split("."), "__init__"][1]


def _sums(counts: Mapping[bool, Mapping[str, int]], package: str = "") -> list[str]:
    """Return modules and lines with and without a review, of a package or of all."""
    cells: list[str] = []
    for modules in counts.values():
        lines = [n for name, n in modules.items() if package in ("", _package_of(name))]
        cells.append(f"{len(lines)} modules, {sum(lines):,} lines")
    return cells


if __name__ == "__main__":
    main()
