"""Chat templates, damaged and hostile: rendered, or refused by name, within their budget."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.files import PLACES, told
from tests.fuzz.frame import Target
from tests.fuzz.watch import WATCH
from tests.unit.transformers.templates import CONVERSATIONS, HOSTILE, TEMPLATES, TOOLS
from webnnm import WebNNMError
from webnnm.transformers.chat_template import ChatTemplate, conversation
from webnnm.transformers.template_sandbox import FILTERS, METHODS

VALUES = (
    *("messages", "messages[0]", "messages[0].content", "x", "ns.x", "'a'", "1", "99999", "10**9"),
    *("range(99999)", "loop", "namespace(a=1)", "[x, x]", "{'a': x}", "(x, x)", "x * 99999"),
    *("x ~ x", "x + x", "x[::-1]", "-1", "1.5", "none", "''", "dict(a=x)", "cycler(1, 2)", "self"),
    *("deep", "{'a': deep}", "(deep, deep)"),
    *("x == x", "x in x", "x % x", "x ** x", "x // 3", "'%9999d'", "'{:9999}'", "f(x)", "2**9"),
)
CALLS = [
    *sorted(f"|{name}" for name in (*FILTERS, "tojson", "attr", "pprint")),
    *sorted({f".{name}" for names in METHODS.values() for name in names}),
    *(".__class__", ".append", ".update"),
]
NAMED = ("indent=99999", "width=99999", "attribute='role'", "start=x", "fill_with=x", "reverse=1")
SIMPLE = ("text", "{% break %}", "{% continue %}", "{{ f(x) }}", "{# #}", "{{ loop(x) }}")
MARKS = ("{{", "}}", "{%", "%}", "-%}", "'", "|", "(", ")")
BASES = (*TEMPLATES.values(), *HOSTILE)


def expression(value: str, calls: list[tuple[str, list[str]]]) -> str:
    """Return a value to which filters and methods are applied."""
    for name, words in calls:
        value += f"{name}({', '.join(sorted(words, key=lambda word: '=' in word))})"
    return value


def damage(base: int, start: int, count: int, more: str) -> str:
    """Return a template in which some letters are replaced."""
    text = BASES[base % len(BASES)]
    start %= len(text) + 1
    return text[:start] + more + text[start + count % 40 :]


EXPRESSIONS = st.builds(
    expression,
    st.sampled_from(VALUES),
    st.lists(
        st.tuples(st.sampled_from(CALLS), st.lists(st.sampled_from([*VALUES, *NAMED]), max_size=3)),
        max_size=3,
    ),
)
WITH_VALUE = (
    "{{{{ {0} }}}}{1}",
    "{{% set x = {0} %}}{1}",
    "{{% set ns.x = {0} %}}{1}",
    "{{% for y in {0} %}}{1}{{% endfor %}}",
    "{{% for y in {0} recursive %}}{1}{{% endfor %}}",
    "{{% if {0} %}}{1}{{% endif %}}",
    "{{% macro f(x) %}}{1}{{% endmacro %}}",
    "{{% set x %}}{1}{{% endset %}}",
    "{{% filter upper %}}{1}{{% endfilter %}}",
    "{{% call f(x) %}}{1}{{% endcall %}}",
)
BODIES = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.lists(
        st.builds(str.format, st.sampled_from(WITH_VALUE), EXPRESSIONS, inner), max_size=4
    ).map("".join),
    max_leaves=12,
)
DEEP = (
    "{{% set ns = namespace(x=[1]) %}}{{% for i in range(40) %}}{{% set ns.x = [ns.x, ns.x] %}}"
    "{{% endfor %}}{{% set deep = ns.x %}}"
)
"""Binds a list that is small, and endless when it is written out."""
WRITTEN = BODIES.map(
    f"{DEEP}{{{{% set ns.x = messages %}}}}{{{{% set x = messages %}}}}{{}}".format
)
DAMAGED = st.builds(
    damage,
    PLACES,
    PLACES,
    PLACES,
    st.one_of(st.just(""), EXPRESSIONS, st.sampled_from(MARKS)),
)


def check(case: dict[str, Any]) -> str:
    with WATCH.within("/nowhere"):
        try:
            conversation(
                CONVERSATIONS[case["talk"]],
                ChatTemplate({"default": case["template"]}, {"bos_token": "<s>"}),
                tools=TOOLS if case["tools"] else None,
            )
        except WebNNMError as error:
            return told(error)
    return "rendered"


TARGET = Target(
    name="hostile templates",
    cases=st.fixed_dictionaries(
        {
            "template": st.one_of(WRITTEN, DAMAGED),
            "talk": st.sampled_from(sorted(CONVERSATIONS)),
            "tools": st.booleans(),
        }
    ),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=60,
)
