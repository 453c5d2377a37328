"""The example of docs/adding-an-operator.md: one new file makes an operator with all its tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = ROOT / "docs" / "adding-an-operator.md"
NAME = "softShrink"

# The folder of the example becomes a second one for the package's modules: the file in it is
# discovered as it would be in webnnm/ops. In a process of its own, because registries are kept.
START = """
import sys
import webnnm.ops

webnnm.ops.__path__.append(sys.argv[1])
"""
EXAMPLES = """
import doctest

result = doctest.testfile(sys.argv[2], module_relative=False)
sys.exit(result.failed or not result.attempted)
"""
LAWS = """
import pytest

sys.exit(pytest.main([
    "tests/unit/ops/test_operator_laws.py", "-q", "-k", sys.argv[2], "-p", "no:cacheprovider"
]))
"""
PAGE = """
from webnnm.cli import operator_facts

operator = webnnm.ops.registry()[sys.argv[2]]
print(operator_facts.call_in_notation(operator), *operator_facts.parts_of(operator))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the module that the guide shows."""
    (source,) = re.findall(r"```python\n(\"\"\".*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / "soft_shrink.py").write_text(source)
    return tmp_path


def run(program: str, folder: Path, word: str | Path) -> str:
    command = [sys.executable, "-c", START + program, str(folder), str(word)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_examples_of_the_guide_run(folder: Path) -> None:
    run(EXAMPLES, folder, GUIDE)


def test_operator_keeps_the_laws(folder: Path) -> None:
    passed = re.search(r"(\d+) passed", run(LAWS, folder, NAME))
    assert passed
    assert int(passed[1]) > 20


def test_operator_can_be_documented(folder: Path) -> None:
    assert run(PAGE, folder, NAME) == "softShrink(threshold=0.5) abs mul relu sign sub\n"


def test_operator_is_not_there_otherwise() -> None:
    from webnnm import ops

    assert NAME not in ops.registry()
