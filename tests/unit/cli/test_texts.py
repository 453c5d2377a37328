"""Snapshots of models of texts, which take files of texts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from webnnm import LabeledTextDataset, NNModel

# Files and processes of a desktop; in a page nobody types commands.
pytestmark = pytest.mark.desktop

# The wheel of the pages leaves it out.
main = pytest.importorskip("webnnm.cli").main

SOURCE = """m:input int32 shape=[] sequence=true; m:output shape=[2];
m:layers embedding(words, size=7, shape=[4]), reduceMean(axes=[sequence]), matmul(w), softmax();
"""


async def save_model(path: Path) -> None:
    rows = {"says": ["so good", "very bad"] * 6, "mood": ["yes", "no"] * 6}
    data = LabeledTextDataset(rows)
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await NNModel.create(source=SOURCE, dataset=data, **settings) as model:
        await model.train(epochs=40)
        await model.save(path)


def test_a_snapshot_takes_the_column_of_texts_or_the_only_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(save_model(Path("mood.safetensors")))
    Path("new.csv").write_text("mood;says\nyes;good\nno;bad, so bad\n")
    Path("lines.txt").write_text("good\nbad\n")
    Path("rows.json").write_text('["good", "bad"]')
    for file in ("new.csv", "lines.txt", "rows.json"):
        assert main(["predict", "mood.safetensors", file]) == 0
        heading, *rows = capsys.readouterr().out.splitlines()
        assert heading == "predicted,no,yes" and [row.split(",")[0] for row in rows] == [
            "yes",
            "no",
        ]
    assert main(["test", "mood.safetensors", "--data", "new.csv"]) == 0
    assert "accuracy 1.0000" in capsys.readouterr().out
