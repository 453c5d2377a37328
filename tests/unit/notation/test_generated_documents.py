"""Any tree that the notation can say keeps its meaning when it is written and read."""

from __future__ import annotations

import pytest

from tests.work import examples
from webnnm.core.dtypes import PRECEDENCE
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import (
    Call,
    Constant,
    Constants,
    Declaration,
    Dimension,
    Document,
    GlobalConstant,
    Items,
    Layer,
    Layers,
    Loss,
    LossParameter,
    Name,
    NamedShape,
    Number,
    Option,
    Parameters,
    Percent,
    Port,
    Reference,
    Text,
    Version,
)
from webnnm.notation.words import HYPHENATED, is_number

pytest.importorskip("hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.from_regex(r"[A-Za-z0-9_]{1,6}", fullmatch=True)
NAMES = WORDS.filter(lambda word: not is_number(word))
DTYPES = st.none() | st.sampled_from(PRECEDENCE)
REAL = st.floats(allow_nan=False)
STRINGS = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=8)
NUMBERS = (st.integers(-(2**70), 2**70) | REAL).map(Number)
PERCENTS = (st.integers(0, 10**20) | REAL.filter(lambda x: 0 <= x < 1e300)).map(
    lambda number: Percent(abs(number))
)
TEXTS = (
    STRINGS | st.from_regex(HYPHENATED, fullmatch=True).filter(lambda text: len(text) < 20)
).filter(lambda text: is_number(text) or not text.isascii() or not text.replace("_", "a").isalnum())
PORTS = st.sampled_from(("input", "output"))
REFERENCES = st.one_of(
    NAMES.map(lambda word: Reference((word,))),
    st.builds(lambda word, port: Reference((word,), port), WORDS, PORTS),
    st.builds(
        lambda first, rest, port: Reference(("a" + first, *rest), port),
        WORDS,
        st.lists(WORDS, min_size=1, max_size=2),
        st.none() | PORTS,
    ),
)


def draw_named_shapes(sizes: st.SearchStrategy[object], names: st.SearchStrategy[str] = WORDS):
    dimensions = st.builds(Dimension, names, sizes)
    return st.lists(dimensions, max_size=3, unique_by=lambda each: each.name).map(
        lambda found: NamedShape(tuple(found))
    )


def values(inner):
    arguments = st.lists(inner, max_size=3).map(tuple)
    calls = st.builds(Call, REFERENCES, arguments)
    sizes = st.one_of(
        st.none(),
        st.integers(-5, 2**40).map(Number),
        PERCENTS,
        NAMES.map(lambda word: Reference((word,))),
        calls,
    )
    return st.one_of(arguments.map(Items), calls, draw_named_shapes(sizes))


LEAVES = st.one_of(NUMBERS, PERCENTS, TEXTS.map(Text), REFERENCES)
VALUES = st.recursive(LEAVES, values, max_leaves=6)
NUMBER_LISTS = st.lists(NUMBERS, max_size=4).map(lambda found: Items(tuple(found)))
OPTIONS = st.lists(
    st.builds(Option, WORDS, VALUES), max_size=3, unique_by=lambda each: each.name
).map(tuple)
PLAIN_OPTIONS = OPTIONS.map(
    lambda found: tuple(each for each in found if each.name not in ("shape", "sequence"))
)
# In the list of an operand, a call of a plain word would be a layer.
OPERANDS = st.one_of(
    NUMBERS,
    TEXTS.map(Text),
    REFERENCES,
    st.lists(LEAVES, max_size=3).map(lambda found: Items(tuple(found))),
    draw_named_shapes(st.none() | st.integers(-5, 5).map(Number)),
)
LAYERS = st.builds(Layer, WORDS, st.lists(OPERANDS, max_size=3).map(tuple), OPTIONS)
SIZES = st.integers(1, 2**31 - 1).map(Number) | NAMES.map(lambda word: Reference((word,)))
SHAPES = st.one_of(
    st.lists(SIZES, max_size=3).map(lambda found: Items(tuple(found))),
    draw_named_shapes(SIZES, WORDS.filter(lambda word: word not in ("batch", "sequence"))),
)
DECLARATIONS = st.builds(Declaration, WORDS, DTYPES, SHAPES, PLAIN_OPTIONS)


@st.composite
def constants(draw: st.DrawFn) -> Constant:
    if draw(st.booleans()):
        return draw(st.builds(Constant, WORDS, DTYPES, SHAPES, NUMBERS))
    data = draw(NUMBER_LISTS.filter(lambda found: found.items))
    return Constant(draw(WORDS), draw(DTYPES), Items((Number(len(data.items)),)), data)


def several(entries):
    return st.lists(entries, min_size=1, max_size=3).map(tuple)


PARAMETERS = st.sampled_from(("delta", "gamma", "alpha"))
STATEMENTS = st.one_of(
    st.builds(Name, block=WORDS, text=STRINGS),
    st.builds(
        Port,
        block=WORDS,
        direction=st.sampled_from(("input", "output")),
        dtype=DTYPES,
        shape=SHAPES,
        options=PLAIN_OPTIONS,
    ),
    st.builds(Layers, block=WORDS, layers=several(LAYERS)),
    st.builds(Loss, block=WORDS, loss=WORDS),
    st.builds(LossParameter, block=WORDS, parameter=PARAMETERS, value=NUMBERS | NUMBER_LISTS),
    st.builds(Constants, block=WORDS, constants=several(constants())),
    st.builds(Parameters, block=WORDS, parameters=several(DECLARATIONS)),
    st.builds(GlobalConstant, constant=constants()),
)
VERSIONS = st.none() | st.builds(Version, st.just(1), st.none() | st.integers(0, 999))


def kind(statement: object) -> object:
    """What may be given once: a property of a block."""
    if isinstance(statement, (Constants, Parameters, GlobalConstant)):
        return id(statement)
    words = [getattr(statement, name, "") for name in ("block", "direction", "parameter")]
    return (type(statement), *words)


DOCUMENTS = st.builds(
    lambda version, statements: Document(version, tuple(statements)),
    VERSIONS,
    st.lists(STATEMENTS, min_size=1, max_size=4, unique_by=kind),
)


@pytest.mark.alike
@settings(max_examples=examples(150))
@given(DOCUMENTS)
def test_generated_documents_keep_their_tree(document: Document) -> None:
    canonical = format_document(document)
    assert parse(canonical) == document
    assert format_document(parse(canonical)) == canonical
