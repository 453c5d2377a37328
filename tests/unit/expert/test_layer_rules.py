"""Rules on single layers, on initial values and on what stands before an output."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.unit.expert.cases import (
    Case,
    DataFacts,
    Facts,
    facts,
    feature,
    model,
    numbers,
    output,
    told,
)
from webnnm import Dataset
from webnnm.expert.examination.zeros import Amounts
from webnnm.expert.facts.facts import FeatureFacts, OutputFacts, Suspicion
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse
from webnnm.training.loss_choice import LabelFacts

PICTURE = "m:input shape={channels:1, height:8, width:8}; m:output shape=[3]; m:layers "
WORDS = "m:input int32 shape=[6]; m:output shape=[3]; m:layers embedding(t, size=9, shape=[6, 8]), "
SERIES = "m:input shape=[1] sequence=true; m:output shape=[3]; m:layers "
ENDS = "reduceMean(axes=[0]), matmul(w), softmax();"
POOL = "averagePool2d(windowDimensions=2, strides=2), "
TWO_INPUTS = "a:input shape=[2]; b:input shape=[2]; a:output shape=[3]; a:layers "

ONE_DIMENSION = (
    "m:layers conv1d(f, filters=4, kernel=3, padding=same), flatten(), matmul(w), softmax();"
)


def make_hidden_facts(before: str = "", after: str = "", last: str = "") -> Facts:
    """Return facts on a model with a hidden layer of relu, with options of its products."""
    return facts(f"matmul(w, shape=[8]{before}){after}, relu(), matmul(v{last}), softmax()")


def make_biased_facts(value: float, activation: str = "relu") -> Facts:
    """Return facts on a hidden layer whose biases start at a number."""
    return facts(
        f"m:input shape=[4]; m:output shape=[3]; m:param low shape=[8] init=constant({value}); "
        f"m:layers matmul(w), add(low), {activation}(), matmul(v), softmax();"
    )


def picture(*layers: str) -> Facts:
    """Return facts on a model for pictures of 8 × 8."""
    return facts(f"{PICTURE}{', '.join(layers)}, matmul(w), softmax();")


def reshaped(old: list[int], new: list[int], *, flat: bool = False) -> Facts:
    """Return facts on a model that reshapes its input, before a product along the last dimension
    unless it is `flat`."""
    product = "" if flat else f"matmul(u, shape={[*new[:-1], 4]}), relu(), "
    return facts(
        f"m:input shape={old}; m:output shape=[3]; m:layers reshape({new}), {product}flatten(), "
        "matmul(w), softmax();"
    )


def where(pool: str) -> Facts:
    """Return facts on pictures of which it matters where something is."""
    known = DataFacts(suspicions={"E323": Suspicion("it matters where", {})})
    return replace(picture("conv2d(f, filters=4, kernel=3), relu()", pool), data=known)


def make_classifier_facts(layers: str, features: int = 8, classes: int = 8) -> Facts:
    """Return facts on a model whose classes are trained for."""
    text = f"m:input shape=[{features}]; m:output shape=[{classes}]; m:layers {layers};"
    known = OutputFacts(name="m", activation="softmax", loss="CCE")
    return Facts(network=elaborate(parse(text)), outputs=[known])


def logarithm(mean: float, std: float, low: float = -math.inf) -> Facts:
    """Return facts on the logarithm of a feature."""
    feature = FeatureFacts("length", mean, std, low=low, high=9.0)
    data = DataFacts(sizes={"training": 9}, features={"m": [feature]})
    return facts("log(), matmul(w), softmax()", data=data)


def scaled(layers: str, mean: float = 0.0, std: float = 1.0) -> Facts:
    """Return facts on a model that begins with constants."""
    ends = {"low": mean - 2 * std, "high": mean + 2 * std}
    features = [FeatureFacts(name, mean, std, **ends) for name in "abcd"]
    return facts(f"{layers}, matmul(w), softmax()", data=DataFacts(features={"m": features}))


def levelled(layers: str) -> Facts:
    """Return facts on rows whose mean tells the target."""
    levels = Suspicion("", {"m": "the mean of a row tells the target"})
    return facts(f"{layers}, matmul(w), softmax()", data=DataFacts(suspicions={"E336": levels}))


def amounts(layers: str) -> Facts:
    """Return facts on a model for incomes, a fifth of which are 0."""
    incomes = Suspicion("", {"m": [Amounts("income", 0.2, 300.0, 3000.0, 0.8)]})
    data = DataFacts(suspicions={"E332": incomes})
    return facts(f"{layers}, matmul(w), softmax()", data=data)


def quantity(layers: str, low: float, high: float, mean: float = 0.0, std: float = 1.0) -> Facts:
    """Return facts on a quantity, its targets and the layers before it."""
    labels = numbers(mean, std, minimum=low, maximum=high)
    return output("MSE", labels, activation="linear", text=layers)


CASES = [
    Case(
        "E313",
        make_hidden_facts(", init=zeros", last=", init=zeros"),
        "all weights of matmul1 start at 0: its units stay equal",
        make_hidden_facts(),
    ),
    Case(
        "E313",
        make_hidden_facts(", init=zeros"),
        "start at 0",
        make_hidden_facts(", init=normal(0.1)"),
    ),
    Case(
        "E313",
        make_hidden_facts(", init=constant(0.5)", last=", init=ones"),
        "start at 0.5",
        make_hidden_facts(", init=constant(0.5)"),
    ),
    Case(
        "E314",
        make_hidden_facts(", init=normal(20)"),
        "multiplies values by 40",
        make_hidden_facts(),
    ),
    Case(
        "E314",
        make_hidden_facts(", init=uniform(-1e-6, 1e-6)"),
        "w1 starts as",
        make_hidden_facts(", init=he"),
    ),
    Case("E315", make_biased_facts(-10), "low starts at -10 before relu1", make_biased_facts(0)),
    Case(
        "E316",
        facts("matmul(w, shape=[8]), sign(), matmul(v), softmax()"),
        "w1 cannot learn: no gradient through sign1",
        facts("matmul(w, shape=[8]), tanh(), matmul(v), softmax()"),
    ),
    Case("E317", logarithm(0, 1), "log1 of length (mean 0, std 1)", logarithm(5, 1)),
    Case(
        "E317", logarithm(2, 1, 0), "log1 of length (from 0 to 9), which is 0", logarithm(2, 1, 1)
    ),
    Case(
        "E317",
        facts("matmul(w, shape=[8]), relu(), log(), matmul(v), softmax()"),
        "log1 of relu1, whose results are often 0",
        facts("matmul(w, shape=[8]), softplus(), log(), matmul(v), softmax()"),
    ),
    Case(
        "E317",
        facts("matmul(w, shape=[8]), add(b), sqrt(), matmul(v), softmax()"),
        "sqrt1 of add1, whose results have both signs",
        facts("matmul(w, shape=[8]), add(b), sigmoid(), sqrt(), matmul(v), softmax()"),
    ),
    Case(
        "E333",
        scaled("div(255)"),
        "after div1, inputs of m have a mean of 0 and a deviation of 0.00392; without, 0 and a dev",
        scaled("identity()"),
    ),
    Case("E333", scaled("sub(128)"), "after sub1", scaled("sub(0.5)")),
    Case("E333", scaled("mul(2), div(0.1)"), "after mul1 and div1", scaled("mul(2), div(3)")),
    Case("E333", scaled("sub(128)", 100, 60), "after sub1", scaled("sub(128), div(60)", 100, 60)),
    Case("E335", scaled("relu()"), "relu1 of inputs of m, 4 of 4", scaled("tanh()")),
    Case("E335", scaled("abs()"), "abs1 of inputs of m", scaled("matmul(u, shape=[4]), abs()")),
    Case(
        "E336",
        levelled("layerNorm()"),
        "layerNormalization1 removes the mean and the scale of each row of m, and the mean",
        levelled("batchNorm()"),
    ),
    Case(
        "E334",
        picture("conv2d(f, filters=4, kernel=1), relu()", "globalAveragePool()"),
        "globalAveragePool1 pools what windows of a single value see",
        picture("conv2d(f, filters=4, kernel=3), relu()", "globalAveragePool()"),
    ),
    Case(
        "E332",
        amounts("add(1e-8), log()"),
        "log1 of 0 + 1e-08 is far from all others: income is 0 in 20% of the rows",
        amounts("add(3000), log()"),
    ),
    Case(
        "E332",
        amounts("clamp(minValue=1e-6), log()"),
        "log1 of 0 + 1e-06",
        amounts("log()"),
    ),
    Case(
        "E318",
        facts("matmul(w, shape=[8]), mul(5000), relu(), matmul(v), softmax()"),
        "multiply to 5e+03",
        facts("matmul(w, shape=[8]), relu(), matmul(v), softmax()"),
    ),
    Case(
        "E318",
        facts("matmul(w, shape=[8]), div(5000), relu(), matmul(v), softmax()"),
        "multiply to 0.0002",
        facts("matmul(w, shape=[8]), div(5000), layerNormalization(), matmul(v), softmax()"),
    ),
    Case(
        "E319",
        facts(f"{WORDS}attend(q, k, v), {ENDS}"),
        "attend1 does not know the order of its tokens",
        facts(f"{WORDS}positionalEmbedding(p, size=6), attend(q, k, v), {ENDS}"),
    ),
    Case(
        "E320",
        facts(model("layerNormalization(), matmul(w)", features="2")),
        "normalises 2 numbers",
        facts(model("layerNormalization(), matmul(w)", features="4")),
    ),
    Case(
        "E321",
        picture("conv2d(f, filters=4, kernel=2, strides=4)", "flatten()"),
        "looks at 2 × 2 values in steps of 4 × 4",
        picture("conv2d(f, filters=4, kernel=2, strides=2)", "flatten()"),
    ),
    Case(
        "E331",
        picture(
            "averagePool2d(windowDimensions=4, strides=4), conv2d(f, filters=4, kernel=2)",
            "flatten()",
        ),
        "averagePool2d1 leaves 2 × 2 of 8 × 8 pixels to the first convolution",
        picture(
            "conv2d(f, filters=4, kernel=3), averagePool2d(windowDimensions=3, strides=3)",
            "flatten()",
        ),
    ),
    Case(
        "E321",
        picture("maxPool2d(windowDimensions=2, strides=3)", "flatten()"),
        "maxPool2d1 looks at 2 × 2",
        picture("maxPool2d(windowDimensions=2, strides=2)", "flatten()"),
    ),
    Case(
        "E321",
        picture("conv2d(f, filters=4, kernel=1, strides=4)", "flatten()"),
        "looks at 1 × 1 values in steps of 4 × 4: 15 of 16 are skipped",
        picture("conv2d(f, filters=4, kernel=4, strides=4)", "flatten()"),
    ),
    Case(
        "E321",
        picture("conv2d(f, filters=4, kernel=2, strides=2, dilations=2)", "flatten()"),
        "looks at 2 × 2 values, 2 × 2 apart, in steps of 2 × 2: 3 of 4 are skipped",
        picture("conv2d(f, filters=4, kernel=2, dilations=2)", "flatten()"),
    ),
    Case(
        "E321",
        picture(
            "conv2d(f, filters=4, kernel=1), relu(), conv2d(g, filters=4, kernel=1, strides=2)",
            "flatten()",
        ),
        "conv2d2 looks at 1 × 1 values in steps of 2 × 2: 3 of 4 are skipped",
        picture(
            "conv2d(f, filters=4, kernel=3), relu(), conv2d(g, filters=4, kernel=1, strides=2)",
            "flatten()",
        ),
    ),
    Case(
        "E322",
        picture(POOL * 3 + "conv2d(f, filters=4, kernel=3, padding=same)", "flatten()"),
        "conv2d1 has a kernel of 3 × 3 for a single pixel",
        picture(POOL + "conv2d(f, filters=4, kernel=3, padding=same)", "flatten()"),
    ),
    *(
        Case(
            "E322",
            facts(f"m:input shape={short}; m:output shape=[3]; {ONE_DIMENSION}"),
            "conv1d1 has a kernel of 3 for a single pixel",
            facts(f"m:input shape={long}; m:output shape=[3]; {ONE_DIMENSION}"),
        )
        for short, long in (
            ("[1, 4]", "[8, 1]"),
            ("{channels:4, length:1}", "{channels:1, length:8}"),
            ("{length:1, channels:4}", "{length:8, channels:1}"),
        )
    ),
    Case(
        "E323",
        where("globalAveragePool()"),
        "globalAveragePool1 takes all places together, after windows of 3 of 8 × 8 values, and it",
        where("flatten()"),
    ),
    Case(
        "E323",
        where("reduceMax(axes=[1]), reduceMax(axes=[-1])"),
        "reduceMax2 takes all places together, after windows of 3",
        where("maxPool2d(windowDimensions=2), flatten()"),
    ),
    *(
        Case("E337", reshaped(old, new), f"reshape1 writes {text} in their", reshaped(other, new))
        for old, new, other, text in (
            ([12, 12, 3], [3, 12, 12], [3, 144], "12 × 12 × 3 numbers as 3 × 12 × 12"),
            ([144, 3], [3, 12, 12], [432], "144 × 3 numbers as 3 × 12 × 12"),
            ([20, 3], [3, 20], [3, 4, 5], "20 × 3 numbers as 3 × 20"),
            ([3, 8, 8], [8, 8, 3], [64, 3], "3 × 8 × 8 numbers as 8 × 8 × 3"),
            ([3, 64], [8, 8, 3], [8, 24], "3 × 64 numbers as 8 × 8 × 3"),
        )
    ),
    Case(
        "E408",
        make_classifier_facts(
            "matmul(w, shape=[32]), relu(), matmul(u, shape=[1]), matmul(v), softmax()"
        ),
        "matmul2 passes 1 of 32 numbers on to 8 classes",
        make_classifier_facts(
            "matmul(w, shape=[32]), relu(), matmul(u, shape=[8]), matmul(v), softmax()"
        ),
    ),
    Case(
        "E409",
        facts("matmul(w), dropout(0.3), softmax()"),
        "dropout1 drops predictions of m",
        facts("dropout(0.3), matmul(w), softmax()"),
    ),
    Case(
        "E410",
        make_hidden_facts(", trainable=false"),
        "w1 keep their random initial values",
        facts(
            "matmul(w, shape=[8], trainable=false), relu(), matmul(v), softmax()",
            trained_before=True,
        ),
    ),
    Case(
        "E411",
        facts("dropout(0.5), matmul(w), softmax()"),
        "dropout1 drops 50% of 4 features of m",
        facts("matmul(w), softmax()"),
    ),
    Case(
        "E412",
        facts(f"{SERIES}reduceMean(axes=[sequence]), matmul(w), softmax();"),
        "reduceMean1 leaves one mean of the whole sequence of m",
        facts(f"{SERIES}gru(w, r, hiddenSize=4), matmul(v), softmax();"),
    ),
    Case(
        "E413",
        facts(f"{TWO_INPUTS}matmul(w), softmax(); b:layers relu();"),
        "b:input reaches no output",
        facts(f"{TWO_INPUTS}concat([a:input, b], axis=0), matmul(w), softmax(); b:layers relu();"),
    ),
    Case(
        "E504",
        facts("matmul(w), relu(), softmax()"),
        "softmax1 gets scores of 0 and more from relu1",
        facts("matmul(w), softmax()"),
    ),
    Case(
        "E504",
        facts("matmul(w), tanh(), softmax()"),
        "softmax1 gets scores of -1 … 1 from tanh1",
        facts("matmul(w), tanh(), mul(30), softmax()"),
    ),
    Case(
        "E505",
        facts("matmul(w), softmax(), softmax()"),
        "softmax1 comes before another softmax at m",
        facts("matmul(w), softmax()"),
    ),
    Case(
        "E506",
        quantity("matmul(w)", 80, 99, 90, 5),
        "matmul1 has no bias, the targets of m have mean 90 and std 5",
        quantity("matmul(w), add(b)", 80, 99, 90, 5),
    ),
]

QUIET = [
    # A last layer of zeros gives every class the same chance, and learns.
    ("E313", make_hidden_facts(last=", init=zeros")),
    ("E314", make_hidden_facts(", init=normal(0.02)")),
    # Gates of highways start closed.
    ("E315", make_biased_facts(-10, "sigmoid")),
    ("E316", facts("sign(), matmul(w), softmax()")),
    ("E317", feature(0, 1)),
    # What a quantity is multiplied with at the end is its unit.
    ("E318", facts("matmul(w), mul(100000)")),
    ("E318", facts("div(255), matmul(w), softmax()")),
    (
        "E331",
        picture(
            "averagePool2d(windowDimensions=2, strides=2), conv2d(f, filters=4, kernel=2)",
            "flatten()",
        ),
    ),
    ("E319", facts(f"{WORDS}attend(q, k, v, causal=true), {ENDS}")),
    ("E319", facts(f"{WORDS}add(place, shape=[6, 8]), attend(q, k, v), {ENDS}")),
    # Shortcuts of residual networks take steps of 2 with a kernel of 1, the first networks of this
    # kind on both ways.
    (
        "E321",
        picture(
            "conv2d(f, filters=4, kernel=3, strides=2, padding=same), relu(name=main), "
            "conv2d(g, filters=4, kernel=1, strides=2, node=m:input, name=short), "
            "add([main, short])",
            "flatten()",
        ),
    ),
    (
        "E321",
        picture(
            "conv2d(f, filters=4, kernel=3), relu(), conv2d(g, filters=4, kernel=1, strides=2)",
            "flatten()",
        ),
    ),
    ("E321", picture("conv2d(f, filters=4, kernel=3, dilations=2)", "flatten()")),
    ("E321", picture("conv2d(f, filters=4, kernel=1)", "flatten()")),
    ("E322", picture(POOL * 3 + "conv2d(f, filters=4, kernel=1)", "flatten()")),
    ("E323", where("conv2d(g, filters=4, kernel=3), relu(), globalAveragePool()")),
    ("E323", picture("conv2d(f, filters=4, kernel=3), relu()", "globalAveragePool()")),
    # A way around it, as in squeeze and excitation.
    (
        "E408",
        make_classifier_facts(
            "matmul(w, shape=[32]), relu(name=seen), matmul(u, shape=[1]), matmul(x, shape=[32]), "
            "sigmoid(name=gate), mul([seen, gate]), matmul(v), softmax()"
        ),
    ),
    ("E333", scaled("div(255), layerNorm()")),
    ("E333", scaled("add(9), log()")),
    ("E333", scaled("div(255)", 100, 60)),
    ("E335", scaled("relu()", 5, 1)),
    ("E335", scaled("relu(name=yes), concat([yes, m:input], axis=0)")),
    ("E336", levelled("matmul(u, shape=[8]), layerNorm()")),
    ("E336", levelled("layerNorm(name=shape), concat([shape, m:input], axis=0)")),
    ("E336", scaled("layerNorm()")),
    ("E334", picture("conv2d(f, filters=4, kernel=1), relu()", "flatten()")),
    ("E410", make_hidden_facts()),
    ("E411", facts("dropout(0.1), matmul(w), softmax()")),
    ("E411", facts(model("dropout(0.5), matmul(w), softmax()", features="64"))),
    ("E412", facts(f"{SERIES}tanh(), reduceMean(axes=[sequence]), matmul(w), softmax();")),
    ("E504", facts("matmul(w, shape=[8]), relu(), matmul(v), softmax()")),
    ("E506", quantity("matmul(w)", -2, 2)),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert case.words in hit.message
    assert RULES[case.id].test(case.after) is None


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_rule_that_speaks_is_among_those_that_are_asked(case: Case) -> None:
    rule = RULES[case.id]
    module = rule.test.__module__.rpartition(".")[2]
    assert APPLIED_WHEN[module](case.before)


@pytest.mark.parametrize(("id", "known"), QUIET)
def test_rule_is_silent(id: str, known: Facts) -> None:
    assert RULES[id].test(known) is None


@pytest.mark.parametrize(
    ("layers", "severity"),
    [
        ("matmul(w, shape=[64], trainable=false), sin(), matmul(v), softmax()", "info"),
        (
            "matmul(w, shape=[64], trainable=false), add(b, init=uniform(-3, 3), trainable=false), "
            "sin(), matmul(v), softmax()",
            "info",
        ),
        ("matmul(w, shape=[8], trainable=false), relu(), matmul(v), softmax()", None),
        (
            "matmul(w, shape=[64], trainable=false), relu(), "
            "matmul(u, shape=[12], trainable=false), relu(), matmul(v), softmax()",
            None,
        ),
        (
            "matmul(u, shape=[8]), relu(), matmul(w, shape=[64], trainable=false), relu(), "
            "matmul(v), softmax()",
            None,
        ),
        ("matmul(w, shape=[64]), relu(), matmul(v, trainable=false), softmax()", None),
    ],
)
def test_many_random_features_may_be_meant(layers: str, severity: str | None) -> None:
    hit = RULES["E410"].test(facts(layers))
    assert hit is not None and hit.severity == severity


@pytest.mark.parametrize(
    ("layers", "speaks"),
    [
        ("matmul(w, shape=[6]), relu(), matmul(v)", True),
        ("matmul(w, shape=[4]), relu(), matmul(v)", True),
        ("matmul(w, shape=[3]), relu(), matmul(v)", False),
        ("matmul(w, shape=[9]), tanh(), matmul(u, shape=[2]), tanh(), matmul(v)", False),
        ("dropout(0.2), matmul(w, shape=[6]), relu(), matmul(v)", False),
        ("matmul(v)", False),
    ],
)
def test_a_code_that_is_as_wide_as_the_row_can_copy_it(layers: str, speaks: bool) -> None:
    text = f"m:input shape=[4]; m:output shape=[4]; m:loss MSE; m:layers {layers};"
    rows = [[n * k * 0.618 % 1 for k in (1, 2, 3, 5)] for n in range(60)]
    assert ("E418" in told(text, Dataset(rows, rows))) is speaks
    other = Dataset(rows, [row[::-1] for row in rows])
    assert "E418" not in told(text, other)


def test_a_transpose_by_reshape_names_the_permutation() -> None:
    hit = RULES["E337"].test(reshaped([12, 10, 3], [3, 12, 10]))
    assert hit is not None and "transpose(permutation=[2, 0, 1])" in hit.remedy
    assert RULES["E337"].test(reshaped([12, 10, 3], [3, 12, 10], flat=True)) is None


def test_places_are_forgotten_by_windows_of_more_than_half_of_a_picture() -> None:
    layers = "conv2d(f, filters=4, kernel=5), relu(), globalAveragePool()"
    for is_place in (True, False):
        known = DataFacts(suspicions={"E323": Suspicion("where", {"is_place": is_place})})
        hit = RULES["E323"].test(replace(picture(layers), data=known))
        assert (hit is not None) == is_place


def test_attention_without_order_is_a_note_where_words_tell_the_class_in_any() -> None:
    bag = Suspicion("words without their order predict the class of 97%", {"share": 0.97})
    known = facts(f"{WORDS}attend(q, k, v), {ENDS}", data=DataFacts(suspicions={"E319": bag}))
    hit = RULES["E319"].test(known)
    order = DataFacts(suspicions={"E923": Suspicion("order", {"share": 0.0})})
    for ends, is_silent in ((ENDS, True), ("flatten(), matmul(w), softmax();", False)):
        unordered = facts(f"{WORDS}attend(q, k, v), {ends}", data=order)
        assert (RULES["E319"].test(unordered) is None) == is_silent
    assert hit is not None and hit.severity == "info" and hit.message.endswith("class of 97%")


def test_a_code_of_measurements_may_be_narrow() -> None:
    narrow = make_classifier_facts("matmul(w, shape=[1]), matmul(v), sigmoid()")
    measured = [replace(o, labels=LabelFacts(kind="continuous")) for o in narrow.outputs]
    assert RULES["E408"].test(narrow) is not None
    assert RULES["E408"].test(replace(narrow, outputs=measured)) is None
