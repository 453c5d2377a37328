"""Hints and remedies on the command line name its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from webnnm.cli.option_hints import as_options, options_of
from webnnm.cli.program import main, parser
from webnnm.snapshots.name_map import read_name_map

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
        ("hold back: split=(rows of some, [], rows of others).", "hold back: --groups COLUMN."),
        ("split=(0.7, 0, 0.3) divides them", "--split 0.7,0,0.3 divides them"),
        ("split= of the dataset divides them", "--split of the dataset divides them"),
        ("Split first, and augment then: dataset.augment(…).", "Split first, and augment then."),
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
    rows = [f"{k % 7},{k % 5},{k / 9:.2f},{'yes' if k % 13 == 0 else 'no'}" for k in range(400)]
    data.write_text("\n".join(["a,b,c,label", *rows]))
    main(["review", str(model), "--data", str(data)])
    shown = capsys.readouterr().out
    assert "--class-weight balanced" in shown and "class_weight='balanced'" not in shown


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (
            'mapping={"w": Permuted("k", "oihw -> hwio")}',
            '--mapping FILE, where FILE holds {"w": {"permuted": "k", "axes": "oihw -> hwio"}}',
        ),
        (
            'it would fit: mapping={"w1": Transposed(Part("q", 0, 3)), "b1": "b"}',
            'it would fit: --mapping FILE, where FILE holds {"w1": {"transposed": '
            '{"part": "q", "index": 0, "of": 3}}, "b1": "b"}',
        ),
        ("mapping={parameter: name in the file} maps names", "--mapping FILE maps names"),
        ("strict=False loads what fits", "--partial loads what fits"),
        ('give its size: shapes={"N": …}', "give its size: --shape N=SIZE"),
        ('give its size: shapes={"x": […]}', "give its size: --shape x=SIZExSIZE…"),
    ],
)
def test_mappings_are_written_as_the_command_reads_them(hint: str, shown: str) -> None:
    convert = parser().parse_args(["convert", "w", "--out", "o"]).parser
    assert as_options(hint, options_of(convert)) == shown
    assert as_options(hint, names()) == hint, "train has no such options"


@pytest.mark.parametrize("form", ['Transposed("fc.weight")', 'Permuted("fc.weight", "ab -> ba")'])
def test_the_file_that_a_hint_shows_is_a_name_map(form: str) -> None:
    shown = as_options(f'mapping={{"w1": {form}}}', frozenset({"mapping"}))
    (value,) = read_name_map(shown.partition(" holds ")[2]).values()
    assert str(value) == form


def test_the_kind_of_labels_is_the_task_of_a_table() -> None:
    assert as_options('set kinds={"y": "classes"}', names()) == "set --task classification"
    assert as_options('set kinds={"y": "continuous"}', names()) == "set --task regression"


def test_remedies_in_json_are_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = tmp_path / "m.nnm", tmp_path / "rows.csv"
    model.write_text(TEXT)
    rows = [f"{k % 7 * 1000},{k % 5},{k / 9:.2f},{k / 3:.3f}" for k in range(120)]
    data.write_text("\n".join(["a,b,c,label", *rows]))
    main(["review", str(model), "--data", str(data), "--json"])
    remedies = [finding["remedy"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert any("--standardize" in remedy for remedy in remedies)
    assert not any("standardize=True" in remedy for remedy in remedies)
