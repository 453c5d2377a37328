"""Regular expressions accept texts that Python's `re` matches as a whole."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from tests.unit.transformers.structured.random_texts import draw_text, matches
from webnnm import DataError
from webnnm.transformers.structured.automaton import Automaton
from webnnm.transformers.structured.regular_expressions import regular_expression

EXPRESSIONS = [
    *(r"[A-Z]\w{2}-\d+(\.5)?", r"^(yes|no|maybe)$", r"[^aeiou\d]{2,4}", r"(?i)hello (world|you)!?"),
    *(r".*x.+", r"\D\S\W", r"[\s\D]+", r"(a|b)*c", r"é+[à-ü]?", r"(?:ab){2,3}?", r"[^\W_]+"),
    *("", r"(a*)*b", r"\d{4}-(0[1-9]|1[0-2])-[0-3]\d", r"(?s:.)\Z", r"[^x]", r"(?i:[a-f])0"),
]
LETTERS = "abcxyzHELOhelo wrdyu!0125-._éà\n"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_python_agrees(expression: str) -> None:
    automaton, rng = Automaton(regular_expression(expression)), random.Random(0)
    for _ in range(150):
        text = draw_text(automaton, rng)
        assert re.fullmatch(expression, text), text
    for _ in range(1500):
        text = "".join(rng.choice(LETTERS) for _ in range(rng.randrange(6)))
        matched = re.fullmatch(expression, text) is not None
        # Classes have fewer characters beyond ASCII than those of Python.
        assert matches(automaton, text) == matched or (matched and not text.isascii())


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (r"(a)\1", "groupref is not supported"),
        (r"a(?=b)", "assert is not supported"),
        (r"\bx", "at is not supported"),
        (r"a$b", "at is not supported"),
        ("(", "unterminated subpattern"),
        (5, "regex is 5"),
        (r"a{999999}", "more than 200000 states"),
    ],
)
def test_what_cannot_be_followed_is_refused(expression: Any, why: str) -> None:
    with pytest.raises(DataError, match=f"NNM704.*{re.escape(why)}"):
        Automaton(regular_expression(expression))
