"""Rules on the numbers of losses, on words and series."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.expert.cases import Case, DataFacts, Facts, facts, numbers
from webnnm import Dataset, TextDataset, review
from webnnm.core.errors import DataError
from webnnm.expert.examination.examination import examine
from webnnm.expert.facts.facts import OutputFacts
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.notation import parse
from webnnm.training.loss_choice import LabelFacts

WORDS = "m:input int32 shape=[] sequence=true; m:output shape=[8]; m:layers embedding(t, size={}), "
TOKENS = [(n * n + n // 3) % 8 for n in range(400)]


def robust(delta: str, **known: Any) -> Facts:
    """Return facts on a Huber loss over targets with a deviation of 1.5."""
    labels = numbers(0, 2, median_deviation=1.0, **known)
    one = OutputFacts(name="m", loss="HUL", written=True, labels=labels)
    text = f"m:input shape=[4]; m:output shape=[3]; m:loss HUL; {delta} m:layers matmul(w);"
    return facts(text, outputs=[one])


def focal(words: str) -> Facts:
    """Return facts on a focal loss with these numbers, over two classes of 90 and 10 rows."""
    labels = LabelFacts(kind="classes", classes=2, class_counts=(90, 10))
    one = OutputFacts(name="m", activation="softmax", loss="FOL", written=True, labels=labels)
    layers = "matmul(w), softmax()"
    text = f"m:input shape=[4]; m:output shape=[2]; m:loss FOL; {words} m:layers {layers};"
    return facts(text, outputs=[one])


def make_weighted_facts(**weights: float) -> Facts:
    """Return facts on classes with these weights, of which "no" has 90 rows and "yes" 10."""
    labels = LabelFacts(kind="classes", classes=2, class_counts=(90, 10))
    one = OutputFacts(name="m", activation="softmax", loss="CCE", labels=labels)
    known = DataFacts(sizes={"training": 100}, class_names={"m": ("no", "yes")})
    given = {"class_weight": weights} if weights else None
    return facts("matmul(w), softmax()", given, outputs=[one], data=known)


CASES = [
    Case("E119", robust("m:delta 1e-6;"), "δ 1e-06, its targets a deviation of 1.48", robust("")),
    Case("E119", robust("m:delta 30;", outliers=True), "and outliers", robust("m:delta 30;")),
    Case("E120", focal("m:gamma 60;"), "rows with p = 0.5 count", focal("m:gamma 2;")),
    Case("E121", make_weighted_facts(yes=1000.0), "0.9% … 99.1%", make_weighted_facts(yes=9.0)),
    Case("E121", make_weighted_facts(no=0.0), "0.0% … 100.0%", make_weighted_facts()),
    Case("E121", make_weighted_facts(no=10.0), "classes 1 … 0", make_weighted_facts(no=1.0)),
    Case("E121", focal("m:alpha [1, 500];"), "of the loss", focal("m:alpha [1, 9];")),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    rule = RULES[case.id]
    hit = rule.test(case.before)
    assert hit is not None and case.words in hit.message
    assert rule.test(case.after) is None
    assert APPLIED_WHEN[rule.test.__module__.rpartition(".")[2]](case.before)


def test_uneven_classes_that_weights_leave_less_uneven_are_not_a_mistake() -> None:
    assert RULES["E121"].test(make_weighted_facts(yes=0.9)) is None


ATTEND = "positionalEncoding(), attend(q, k, v, o{}), matmul(w), softmax();"
RUN = "gru(w, r, bias=c, hiddenSize=8, returnSequence=true{}), matmul(v), softmax();"
CONVOLUTION = "conv1d(f, filters=8, kernel=3, padding={}), relu(), matmul(v), softmax();"
AHEAD = [
    (ATTEND.format(""), "attend1", ATTEND.format(", causal=true")),
    (RUN.format(", direction=backward"), "gru1", RUN.format("")),
    (CONVOLUTION.format("same"), "conv1d1", CONVOLUTION.format("[2, 0]")),
]


@pytest.mark.parametrize(("layers", "label", "mended"), AHEAD)
def test_what_the_targets_are_must_not_be_seen(layers: str, label: str, mended: str) -> None:
    text = WORDS.format("8, shape=[8]").replace("shape=[8];", "shape=[8] sequence=true;")
    data = TextDataset(TOKENS, 10)
    message = review(text + layers, data).finding("E330").message
    assert message == f"{label} sees the next positions, which are the targets"
    assert "E330" not in {finding.id for finding in review(text + mended, data).findings}
    inputs, _ = data.arrays("full")
    other = Dataset(inputs, [sum(row) % 8 for row in inputs["model"].tolist()])
    assert "E330" not in examine(other)


def test_a_table_for_many_more_words_than_there_are() -> None:
    rows = [[n % 7, n % 5, n % 3] for n in range(60)]
    data = Dataset(rows, [n % 8 for n in range(60)])
    text = "m:input int32 shape=[3]; m:output shape=[8]; m:layers embedding(t, size={}, shape=[3, "
    text += "16]), flatten(), matmul(w), softmax();"
    said = review(text.format(5000), data).finding("E416").message
    assert said == "table t1 has 5,000 rows of 16 numbers, the words of m are 0 … 6"
    assert "E416" not in {finding.id for finding in review(text.format(7), data).findings}


def test_averaged_states_are_told() -> None:
    text = "m:input shape=[2] sequence=true; m:output shape=[3]; m:layers "
    text += "gru(w, r, bias=c, hiddenSize=8{}), matmul(v), softmax();"
    mean = text.format(", returnSequence=true), reduceMean(axes=[sequence]")
    assert "reduceMean1 averages all states of gru1" in review(mean).finding("E417").message
    assert "E417" not in {finding.id for finding in review(text.format("")).findings}


PADDED = [[1 + n % 8] * (1 + n % 4) + [0] * (7 - n % 4) for n in range(60)]


@pytest.mark.parametrize(
    ("last", "told"), [("attend(q, k, v), reduceMean(axes=[0])", True), ("flatten()", False)]
)
def test_padding_matters_where_positions_are_taken_together(last: str, told: bool) -> None:
    text = "m:input int32 shape=[8]; m:output shape=[2]; m:layers "
    text += (
        f"embedding(t, size=9, shape=[8, 4]), positionalEncoding(), {last}, matmul(w), softmax();"
    )
    found = {one.id for one in review(text, Dataset(PADDED, [n % 2 for n in range(60)])).findings}
    assert ("E623" in found) is told


def test_numbers_of_words_cannot_be_standardised() -> None:
    text = "m:input int32 shape=[8]; m:output shape=[2]; m:layers "
    text += "embedding(t, size=9, shape=[8, 4]), flatten(), matmul(w), softmax();"
    data = Dataset(PADDED, [n % 2 for n in range(60)], standardize=True)
    with pytest.raises(DataError, match='input "m" takes int32, and its numbers are standardised'):
        review(text, data)


def test_biases_take_the_initial_value_that_is_written_for_them() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers dense(init=ones, shape=[8]), "
    text += "mul(scale, init=constant(2)), matmul(v), add(c, init=constant(-9)); "
    text += "dense:layers matmul(w), add(b), relu();"
    starts = {name: start.a for name, start in initialisers(elaborate(parse(text))).items()}
    assert (starts["w1"], starts["scale1"], starts["c1"]) == (1, 2, -9)
    assert starts["b1"] == 0.01  # that of a block is for its weights
    dead = text.replace("add(b)", "add(b, init=constant(-9))")
    assert "b1 starts at -9 before relu1" in review(dead).finding("E315").message
