"""What pages load does the same as what was written."""

from __future__ import annotations

import ast
import dataclasses
import sys
import types
from typing import Any

import pytest

from tools.slim import outside_functions, slim_modules
from webnnm.formats.page.scripts import slim_script


def run(source: str, **others: str) -> dict[str, Any]:
    """Slim a module beside others of a package, run what is left, and return its names."""
    files = {f"p/{name}.py": text for name, text in others.items()}
    left = slim_modules({"p/module.py": source, **files})["p/module.py"]
    # Dataclasses look their module up.
    module = sys.modules["p.module"] = types.ModuleType("p.module")
    exec(compile(left, "p/module.py", "exec", dont_inherit=True), module.__dict__)
    del sys.modules["p.module"]
    return {"text": left, **vars(module)}


def test_words_for_readers_go() -> None:
    found = run(
        '"""A module."""\n'
        "from __future__ import annotations\n"
        "def double(number: int) -> int:\n"
        '    """Twice."""\n'
        "    result: int = number * 2  # a comment\n"
        "    return result\n"
    )
    assert found["text"] == "def double(number):A=number*2;return A"
    assert found["double"](number=4) == 8


def test_what_type_checkers_alone_read_goes() -> None:
    found = run(
        "from typing import TYPE_CHECKING, cast\n"
        "if TYPE_CHECKING:\n    from nowhere import Thing\n"
        "else:\n    Thing = int\n"
        "numbers: list[Thing]\n"
        "number = cast('Thing', 5)\n"
    )
    assert found["number"] == 5
    assert found["Thing"] is int
    assert "TYPE_CHECKING" not in found["text"]
    assert "cast" not in found["text"]


def test_types_that_nothing_speaks_of_go() -> None:
    found = run(
        "from __future__ import annotations\n"
        "from collections.abc import Callable, Mapping\n"
        "from typing import Any, Protocol\n"
        "Rule = Callable[..., Any] | None\n"
        "class Shows(Protocol):\n    def show(self) -> None: ...\n"
        "def apply(rule: Rule, shown: Shows) -> Any: return rule(shown)\n",
        other="from p.module import Rule\ndef also(rule: Rule): return rule\n",
    )
    assert found["text"] == "def apply(rule,shown):return rule(shown)"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("Number = int | float\ndef f(x): return isinstance(x, Number)\n", "Number"),
        ("Shared = dict[str, int]\n", "Shared"),  # another module imports it from here
        ("from typing import Protocol\nclass Told(Protocol): ...\nhint = 'p.Told'\n", "Told"),
        ("TABLE = [3, 4]\nfirst = TABLE[0]\n", "first"),
        ("WRITE, READ = 1, 2\nBOTH = WRITE | READ\n", "BOTH"),
    ],
)
def test_what_else_is_defined_stays(source: str, name: str) -> None:
    assert name in run(source, other="from p.module import Shared\nmade = Shared()\n")


def test_a_block_of_types_alone_leaves_something_to_run() -> None:
    found = run("def f():\n    x: int\nclass A:\n    'What it is.'\n")
    assert found["f"]() is None
    assert found["A"]()


def test_imports_for_annotations_go() -> None:
    found = run("from nowhere import Thing\nimport math\ndef f(x: Thing): return math.floor(x)\n")
    assert "nowhere" not in found["text"]
    assert found["f"](1.5) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from math import floor\n",  # another module imports it from here
        "import math as floor\n",
        "def f():\n    from math import floor\n    return floor\n",
        "from math import floor\nnames = floor.__name__\n",
    ],
)
def test_imports_in_use_stay(source: str) -> None:
    assert "import" in run(source, other="from p.module import floor\n")["text"]


def test_dataclasses_keep_their_fields() -> None:
    found = run(
        "from __future__ import annotations\n"
        "from dataclasses import KW_ONLY, dataclass, field\n"
        "from typing import ClassVar\n"
        "@dataclass(frozen=True)\n"
        "class Point:\n"
        "    'A point.'\n"
        "    x: float\n"
        "    kind: ClassVar[str] = 'plane'\n"
        "    _: KW_ONLY\n"
        "    y: dict[str, Nothing] = field(default_factory=dict)\n"
    )
    point = found["Point"]
    assert [entry.name for entry in dataclasses.fields(point)] == ["x", "y"]
    assert repr(point(1.0, y={})) == "Point(x=1.0, y={})"
    assert point(1.0) == point(1.0)
    with pytest.raises(TypeError):
        point(1.0, {})
    # Without a text of its own a dataclass makes one, which takes long.
    assert point.__doc__


def test_named_tuples_and_typed_dicts_keep_theirs() -> None:
    found = run(
        "from typing import NamedTuple, NotRequired, TypedDict\n"
        "class Pair(NamedTuple):\n    a: Nothing\n    b: int = 2\n"
        "class Facts(TypedDict):\n    a: int\n    b: NotRequired[int]\n"
    )
    assert found["Pair"](1) == (1, 2)
    assert found["Facts"].__required_keys__ == {"a"}


def test_names_stay_that_others_use() -> None:
    source = (
        "LIMIT = 3\n"
        "class Box:\n"
        "    def __init__(self, content, *, lid=None): self.content, self._lid = content, lid\n"
        "def pair(first, second=LIMIT): return first, second\n"
    )
    found = run(source)
    assert found["Box"](content=1, lid=2)._lid == 2
    assert found["pair"](first=1) == (1, 3)


def test_private_names_become_short_unless_others_use_them() -> None:
    source = "def _private(): return 1\ndef _shared(): return 2\ndef f(): return _private()\n"
    modules = {"p/a.py": source, "p/b.py": "from p.a import _shared\n_shared()\n"}
    slim = slim_modules(modules)["p/a.py"]
    assert "_private" not in slim
    assert "def _shared(" in slim
    names: dict[str, Any] = {}
    exec(slim, names)
    assert names["f"]() == 1


def test_what_a_module_runs_is_what_no_function_holds() -> None:
    source = "import a\nif x:\n    import b\nclass C:\n    import c\ndef f():\n    import d\n"
    nodes = outside_functions(ast.parse(source))
    imported = [node.names[0].name for node in nodes if isinstance(node, ast.Import)]
    assert imported == ["a", "b", "c"]


def test_scripts_lose_comments_and_nothing_else() -> None:
    source = """/**
 * What it does.
 *
 * @module
 */

const address = "https://example.org"; // kept, for it may stand in a text
/** @type {number} */
let sum = /** @type {any} */ (0);
// Why.
for (const x of [1, 2]) {
  sum += x;
}
"""
    assert slim_script(source) == (
        'const address = "https://example.org"; // kept, for it may stand in a text\n'
        "let sum =  (0);\nfor (const x of [1, 2]) {\nsum += x;\n}\n"
    )
