"""Weights that a link of the playground sets: what is written is read, and nothing else."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

# A file of the site, which lies on the desktop.
pytestmark = pytest.mark.desktop

FILE = Path(__file__).resolve().parent.parent.parent / "site" / "weight_edits.py"
if not FILE.exists():
    pytest.skip("there are no files of the site here", allow_module_level=True)


def load() -> ModuleType:
    spec = spec_from_file_location("weight_edits", FILE)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


weight_edits = load()


def test_a_link_has_weights_to_the_last_digit() -> None:
    edits = [
        weight_edits.WeightEdit(3, 0, 1, 7, 0.1 + 0.2),
        weight_edits.WeightEdit(200, 2, -1, 0, -4.0),
    ]
    text = weight_edits.format_edits(edits)
    assert text == "3,0,1,7,0.30000000000000004;200,2,-1,0,-4.0"
    assert weight_edits.parse_edits(text) == (edits, [])
    assert weight_edits.parse_edits("") == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "1,0,0,0",
        "1,0,0,0,1,2",
        "1,0,0,0,x",
        "0,0,0,0,1",
        "1,-1,0,0,1",
        "1,0,-2,0,1",
        "1,0,0,-1,1",
        "1,0,0,0,nan",
        "1,0,0,0,1e7",
        "1.5,0,0,0,1",
    ],
)
def test_what_is_no_weight_is_left_out_and_told(text: str) -> None:
    edits, problems = weight_edits.parse_edits(f"1,0,0,0,0.5;{text}")
    assert [edit.value for edit in edits] == [0.5]
    assert problems == ["1 of the weights cannot be set"]


def test_a_link_sets_no_more_weights_than_somebody_would() -> None:
    edits, problems = weight_edits.parse_edits("1,0,0,0,1;" * 1000)
    assert len(edits) == weight_edits.MAX_EDITS
    assert problems == ["800 of the weights cannot be set"]
