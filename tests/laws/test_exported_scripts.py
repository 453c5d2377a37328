"""The scripts of exported pages are complete, and compute what plans are made for."""

from __future__ import annotations

import posixpath
import re
import tomllib

from tools.common import ROOT
from webnnm.formats.page import scripts
from webnnm.formats.page.portable_limits import LIMITS

FOLDER = ROOT / "js_bridge"
IMPORT = re.compile(r'(?<!@typedef )(?:from|await import\() ?"(\.{1,2}/[\w./-]+\.js)"')
SOMETIMES = (
    *scripts.PREPARATION.values(),
    *scripts.ANSWERS.values(),
    *scripts.ENGINES.values(),
)
ALL = (*scripts.ALWAYS, scripts.OFFLINE, *(path for paths in SOMETIMES for path in paths))


def imports_of(path: str) -> set[str]:
    """Return the modules that a module imports, on demand included, by their paths."""
    text = (FOLDER / path).read_text(encoding="utf-8")
    return {
        posixpath.normpath(f"{posixpath.dirname(path)}/{name}") for name in IMPORT.findall(text)
    }


def test_every_import_is_exported() -> None:
    assert {name for path in ALL for name in imports_of(path)} <= {*ALL}
    assert {path.name for path in (FOLDER / "inference").glob("*.js")} == {
        posixpath.basename(path) for path in ALL if path.startswith("inference/")
    }


def test_plain_javascript_has_operators_of_webnn() -> None:
    known = {name.split(".")[0] for names in LIMITS.values() for name in names.split()}
    operators = scripts.find_script_operators()
    assert len(operators) > 50 and {*operators} <= known
    assert [*operators] == sorted(operators)


def test_scripts_without_comments_keep_their_statements() -> None:
    for path in ALL:
        slim = scripts.slim_script((FOLDER / path).read_text(encoding="utf-8"))
        assert "/**" not in slim and "\n\n" not in slim, path
        assert slim.count("`") % 2 == 0, path


def test_wheels_have_every_script() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {f"js_bridge/{path}" for path in ALL} <= included.keys()
