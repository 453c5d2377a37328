"""Hints and remedies on the command line name its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from webnnm.cli.program import main, parser
from webnnm.cli.table_words import as_options, options_of

TEXT = "m:input shape=[3]; m:output shape=[1]; m:layers matmul(w), add(b);"


def names() -> frozenset[str]:
    """Return the names of the options of `train`."""
    return options_of(parser().parse_args(["train", "m", "--data", "d", "--out", "o"]).parser)


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Set class_weight='balanced' if", "Set --class-weight balanced if"),
        ("Fill in the cells with missing='mean'.", "Fill in the cells with --missing mean."),
        ("Use TableDataset(missing='drop', decimal=',')", "Use --missing drop, --decimal ,"),
        ("standardize=True of the dataset", "--standardize of the dataset"),
        ("Set lr=0.01.", "Set --lr 0.01."),
        ("write leakyRelu(alpha=0.23)", "write leakyRelu(alpha=0.23)"),
        ("write shape=[3] at the output", "write shape=[3] at the output"),
    ],
)
def test_options_of_python_become_those_of_the_command(hint: str, shown: str) -> None:
    assert as_options(hint, names()) == shown


def test_a_command_without_such_options_leaves_a_hint_as_it_is() -> None:
    bare = options_of(parser().parse_args(["explain", "E101"]).parser)
    assert as_options("Set lr=0.01", bare) == "Set lr=0.01"


def test_remedies_of_a_review_are_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = tmp_path / "m.nnm", tmp_path / "rows.csv"
    model.write_text(TEXT.replace("shape=[1]", "shape=[2]").replace("add(b)", "softmax()"))
    rows = [f"{k % 7},{k % 5},{k / 9:.2f},{'yes' if k % 30 == 0 else 'no'}" for k in range(120)]
    data.write_text("\n".join(["a,b,c,label", *rows]))
    main(["review", str(model), "--data", str(data)])
    shown = capsys.readouterr().out
    assert "--class-weight balanced" in shown and "class_weight='balanced'" not in shown
