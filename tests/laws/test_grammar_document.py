"""The grammars of editors are those of the lexer and of the operators."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tools import grammar
from webnnm import ops
from webnnm.notation.lexer import COMPOUND, STRING, TEXT, WORD, tokenize

EXAMPLES = Path(__file__).resolve().parent.parent / "data" / "spec" / "examples"


def scope_at(line: str, start: int) -> str:
    """Return the scope of the first rule that matches at a place, as TextMate chooses it."""
    repository = grammar.textmate()["repository"]
    best: tuple[int, str] = (len(line) + 1, "")
    position = 0
    while position <= start:
        best = (len(line) + 1, "")
        found = None
        for include in grammar.textmate()["patterns"]:
            rule = repository[include["include"][1:]]
            for each in rule.get("patterns", [rule]):
                match = re.compile(each.get("match", each.get("begin")), re.ASCII).search(
                    line, position
                )
                if match and match.start() < best[0]:
                    best, found = (match.start(), each.get("name", "")), (match, each)
        if found is None:
            return ""
        match, each = found
        if match.start() <= start < match.end():
            groups = each.get("captures", {})
            inside = [g for g in groups if match.start(int(g)) <= start < match.end(int(g))]
            return groups[inside[0]]["name"] if inside else best[1]
        position = max(match.end(), position + 1)
    return ""


def test_every_operator_has_the_scope_of_operators() -> None:
    listed = re.compile(grammar.textmate()["repository"]["operator"]["match"])
    for name in ops.operator_names():
        match = listed.match(f"{name}(w)")
        assert match is not None and match[0] == name


@pytest.mark.parametrize(
    ("line", "word", "scope"),
    [
        ("m:layers matmul(w)", "matmul", "support.function.operator"),
        ("m:layers maxPool2d(window=2)", "maxPool2d", "support.function.operator"),
        ("m:layers maxPool2d(window=2)", "window", "variable.parameter.option"),
        ("m:layers dense(act=relu)", "dense", "entity.name.function.block"),
        ("m:layers dense(act=relu)", "act", "variable.parameter.placeholder"),
        ("m:layers f(mode=nearest-neighbor)", "nearest-neighbor", "constant.language.value"),
        ("m:layers matmul(w)", "m", "entity.name.type.block"),
        ("m:layers matmul(w)", "layers", "keyword.other.property"),
        ("m:loss CCE;", "CCE", "support.constant.loss"),
        ("m:input float16 shape=[4]", "float16", "storage.type.data"),
        ("m:input float16 shape=[4]", "4", "constant.numeric"),
        ("m:name a matmul(model); # no", "a matmul", "string.unquoted.name"),
        ("m:name a; # matmul(w)", "# matmul", "comment.line"),
        ("webnnm 1.0; m:loss MSE", "webnnm", "keyword.control.header"),
        ("m:source 'relu()'", "'relu()'", "string.quoted"),
    ],
)
def test_scopes(line: str, word: str, scope: str) -> None:
    assert scope_at(line, line.index(word)) == f"{scope}.webnnm"


def test_patterns_find_the_tokens_of_the_lexer() -> None:
    patterns = grammar.patterns()
    kinds = {WORD: ["word"], COMPOUND: ["word", "compound"], STRING: ["string"], TEXT: ["name"]}
    texts = [path.read_text() for path in sorted(EXAMPLES.rglob("*.nnm"))]
    assert len(texts) > 20
    for text in texts:
        for kind, token, start in tokenize(text.removeprefix("\ufeff")).tokens:
            if kind in kinds:
                pattern = "|".join(patterns[name] for name in kinds[kind])
                source = text.removeprefix("\ufeff")
                match = re.compile(pattern, re.ASCII).match(source, start)
                assert match is not None and match[0] == token, (token, kind)


def test_examples_of_the_tool_run() -> None:
    assert doctest.testmod(grammar).failed == 0
