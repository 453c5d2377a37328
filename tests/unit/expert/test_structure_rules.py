"""Rules on precision, stability, capacity, outputs, schedule and target."""

from __future__ import annotations

import pytest

from tests.unit.expert.cases import (
    DEEP,
    HALF,
    IRIS,
    NORMAL,
    PIXELS,
    RECURRENT,
    RELU,
    RESIDUAL,
    TANH,
    TWO,
    WIDE,
    Case,
    DataFacts,
    Facts,
    ScoutingFacts,
    data,
    device,
    facts,
    model,
    output,
    repeat,
)
from webnnm.expert.facts.facts import OutputFacts, Unsupported
from webnnm.expert.rules.registry import RULES

LONG = DataFacts(sizes={"training": 90, "validation": 9}, length=150)
ROWS = DataFacts(sizes={"training": 20_000, "validation": 9})
UINT = "m:input uint32 shape=[4]; m:output shape=[4]; m:constants c int32 [4] [1, 2, 3, 4]; "
FROZEN = IRIS.replace("w,", "w, trainable=false,").replace("b)", "b, trainable=false)")
EDGE = {"optimize_for": "edge"}
LION = {"optimizer": "rlion", "lr": 0.01, "weight_decay": 0.01}
UNEVEN = ScoutingFacts(initial_losses={"a": 30.0, "b": 1.0})
UNCLIPPED = {"gradient_clipping": "off"}
CLIPPED = {"gradient_clipping": "global"}
BATCH = "matmul(w, shape=[5]), batchNormalization(), relu(), matmul(v)"
LAYER = "matmul(w, shape=[5]), layerNormalization(), relu(), matmul(v)"
LOST = [Unsupported("matmul1", "float16", "float32")]
TIED = (
    "m:param t shape=[4, 3]; m:input shape=[4]; m:output shape=[4]; "
    "m:layers matmul(t), matmul(t, bTranspose=true);"
)
LARGE = WIDE.replace("600", "6000")

CASES = [
    Case("E201", facts(HALF), "2 heavy operators in float16, 0 in float32", facts(IRIS)),
    Case(
        "E202",
        facts(HALF, {"gradient_scaling": "off"}),
        "expected to stall",
        facts(HALF, {"gradient_scaling": "on"}),
    ),
    Case("E203", facts(HALF), "softmax1 in float16, which ends at 65,504", facts(IRIS)),
    Case(
        "E203",
        facts(model("matmul(w), pow(2)", kind="float16")),
        "pow1 in float16",
        facts(model("matmul(w), pow(2, dataType=float32)", kind="float16")),
    ),
    Case("E204", facts(IRIS, EDGE), "2 heavy operators in float32", facts(HALF, EDGE)),
    Case(
        "E204",
        facts(IRIS, device=device(name="npu")),
        "for an NPU",
        facts(HALF, device=device(name="npu")),
    ),
    Case(
        "E205",
        facts(TWO.format(kind="float16"), {"scale": 16}),
        "scale 16",
        facts(TWO.format(kind="float16"), {"scale": 128}),
    ),
    Case(
        "E206",
        facts(UINT + "m:layers add(c);"),
        "uint32 to int32 may lose range",
        facts(UINT + "m:layers cast(int32), add(c);"),
    ),
    Case(
        "E207",
        facts(device=device(unsupported=LOST)),
        "no float16 for matmul1, but float32",
        facts(device=device()),
    ),
    Case(
        "E208",
        facts(device=device(rewrites=["gru: decomposed (2 times)"])),
        "gru: decomposed (2 times)",
        facts(device=device()),
    ),
    Case("E301", facts(repeat(RELU, 3) + ", matmul(v)"), "4 heavy operators", facts(IRIS)),
    Case("E301", facts(RECURRENT), "recurrent layers", facts(IRIS)),
    Case("E302", facts(DEEP), "depth 20 without normalisation", facts(NORMAL)),
    Case(
        "E303",
        facts(repeat(TANH, 6) + ", matmul(v)"),
        "6 saturating layers in a row: tanh1, tanh2, tanh3, tanh4, tanh5 and 1 more",
        facts(repeat(RELU, 6) + ", matmul(v)"),
    ),
    Case(
        "E303",
        facts(repeat(TANH, 6) + ", matmul(v)"),
        "6 saturating layers",
        facts(repeat(TANH + ", residual(skip=2)", 6) + ", matmul(v)"),
    ),
    Case("E304", facts(DEEP), "depth 20", facts(RESIDUAL)),
    Case(
        "E305",
        facts(IRIS, {"lr": 0.5}),
        "lr 0.5 is 25 times the default 0.02 of sgdm",
        facts(IRIS, {"lr": 0.2}),
    ),
    Case(
        "E305",
        facts("matmul(v), softmax()", {"lr": 0.5, "momentum_factor": 0.9}),
        "lr 0.5 is 25 times",
        facts("matmul(v), softmax()", {"lr": 0.5, "momentum_factor": 0.0}),
    ),
    Case(
        "E306",
        facts(RECURRENT, UNCLIPPED, data=LONG),
        "over 150 positions",
        facts(RECURRENT, CLIPPED, data=LONG),
    ),
    Case(
        "E307",
        facts(BATCH, {"batch_size": 4}),
        "batchNormalization1 with statistics of 4 rows",
        facts(BATCH, {"batch_size": 8}),
    ),
    Case("E307", facts(BATCH, {"batch_size": 4}), "4 rows", facts(LAYER, {"batch_size": 4})),
    Case(
        "E308",
        facts(
            "m:input shape=[1] sequence=true; m:output shape=[3]; m:layers gru(w, r, "
            "hiddenSize=4, returnSequence=true), softmax(), reduceMean(axes=[sequence]), matmul(v);"
        ),
        "softmax1 feeds matmul1",
        facts(
            "m:input shape=[1] sequence=true; m:output shape=[3]; m:layers gru(w, r, "
            "hiddenSize=4, returnSequence=true), reduceMean(axes=[sequence]), matmul(v), softmax();"
        ),
    ),
    Case(
        "E308",
        facts("matmul(w, shape=[5]), softmax(), dropout(0.2), matmul(v)"),
        "softmax1 feeds matmul2",
        facts("matmul(w, shape=[5]), relu(), dropout(0.2), matmul(v), softmax()"),
    ),
    Case(
        "E308",
        facts(
            "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), sigmoid(); "
            "n:output shape=[2]; n:layers mul(2, node=m), tanh(), matmul(v);"
        ),
        "sigmoid1 feeds matmul2",
        facts(
            "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), sigmoid(); "
            "n:output shape=[2]; n:layers mul(2, node=m:input), tanh(), matmul(v);"
        ),
    ),
    Case(
        "E309",
        facts("matmul(w, shape=[5]), add(b), dropout(0.2), matmul(v)"),
        "matmul2 follows matmul1 linearly",
        facts("matmul(w, shape=[5]), add(b), relu(), dropout(0.2), matmul(v)"),
    ),
    Case(
        "E310",
        facts(scouting=ScoutingFacts(dead={"relu1": 0.8})),
        "80% of the units of relu1",
        facts(scouting=ScoutingFacts(dead={"relu1": 0.5})),
    ),
    Case(
        "E329",
        facts(scouting=ScoutingFacts(loss=4e7)),
        "the loss is 4e+07 times that of a constant prediction",
        facts(scouting=ScoutingFacts(loss=1.5)),
    ),
    Case("E311", facts(diverged="epoch 2, batch 7"), "not finite at epoch 2, batch 7", facts()),
    Case(
        "E312",
        facts(LARGE, {"seeds": 1000}),
        "trying 1000 seeds of 42,000 parameters is costly; 476 are affordable",
        facts(LARGE, {"seeds": 476}),
    ),
    Case(
        "E401",
        facts(WIDE, data=ROWS),
        "high capacity (4,200 parameters, 20,000 training rows, 2 heavy operators, depth 4, "
        "width 600), 0.00 dropouts per heavy operator",
        facts(WIDE.replace("relu()", "relu(), dropout(0.5)"), data=ROWS),
    ),
    Case("E402", facts(PIXELS), "6,000 input features", facts(IRIS)),
    Case(
        "E403",
        facts(WIDE, {"regularization": "off"}),
        "may memorise its rows",
        facts(WIDE, {"regularization": "L2"}),
    ),
    Case("E404", facts("dropout(0.8), matmul(w)"), "drops 80%", facts("dropout(0.7), matmul(w)")),
    Case(
        "E404",
        facts("matmul(w, shape=[4]), relu(), dropout(0.5), matmul(v)"),
        "dropout1 leaves 2 of 4 units",
        facts("matmul(w, shape=[8]), relu(), dropout(0.5), matmul(v)"),
    ),
    Case(
        "E405",
        facts(WIDE, data=DataFacts(sizes={"training": 20})),
        "4,200 parameters for 20 training rows",
        facts(WIDE, data=ROWS),
    ),
    Case("E406", facts(learning=1), "1 of 24 parameters learn", facts(learning=24)),
    Case(
        "E406",
        facts(FROZEN.replace("v)", "v, trainable=false)"), data=ROWS),
        "0 of 24",
        facts(FROZEN, data=ROWS),
    ),
    Case(
        "E406",
        facts(FROZEN.replace("v)", "v, trainable=false)"), data=ROWS),
        "0 of 24",
        facts(FROZEN.replace("v)", "v, trainable=false)")),
    ),
    Case(
        "E407",
        facts("matmul(w, shape=[5]), dropout(0.2), batchNormalization(), matmul(v)"),
        "dropout1 before batchNormalization1",
        facts("matmul(w, shape=[5]), batchNormalization(), dropout(0.2), matmul(v)"),
    ),
    Case("E501", facts(TWO.format(kind="")), "2 outputs share the parameters", facts(IRIS)),
    Case(
        "E502",
        facts(TWO.format(kind=""), {"loss_weights": {"a": 1.0}}, scouting=UNEVEN),
        "30 of a, 1 of b",
        facts(TWO.format(kind=""), {"loss_weights": {"a": 0.05}}, scouting=UNEVEN),
    ),
    Case(
        "E502",
        facts(TWO.format(kind=""), {"loss_weights": "off"}, scouting=UNEVEN),
        "30 of a, 1 of b",
        facts(TWO.format(kind=""), {"loss_weights": "off"}),
    ),
    Case(
        "E701",
        facts(settings={"patience": 500}),
        "patience 500 with 200 epochs",
        facts(settings={"patience": 199}),
    ),
    Case(
        "E702",
        data({"epochs": 20, **LION}),
        "120 steps of nearly fixed length with rlion",
        data({"epochs": 40, **LION}),
    ),
    Case(
        "E703",
        facts(settings={"freeze": 0.5}),
        "freeze 0.5",
        facts(settings={"freeze": 0.5}, trained_before=True),
    ),
    Case(
        "E801", facts(settings=EDGE), "made for the NPU", facts(settings={"optimize_for": "size"})
    ),
    Case("E802", facts(PIXELS), "λ1 1e-05", facts(PIXELS, {"regularization": "L2"})),
    Case(
        "E803",
        facts(WIDE, {"batch_size": 64}, device=device(max_bytes=100_000)),
        "matmul1 153,600 bytes, relu1 153,600 bytes; the limit is 100,000",
        facts(WIDE, {"batch_size": 32}, device=device(max_bytes=100_000)),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert case.words in hit.message
    assert RULES[case.id].test(case.after) is None


LINEAR = "m:input shape=[4000]; m:output shape=[2]; m:layers matmul(w), softmax();"
QUIET = [
    ("E329", output("poisson", activation="linear", scouting=ScoutingFacts(loss=4e7))),
    ("E701", facts(settings={"epochs": 20})),
    ("E301", facts(DEEP)),
    ("E304", facts(NORMAL)),
    ("E303", facts(repeat(TANH, 4) + ", matmul(v)")),
    ("E303", facts(repeat(f"{TANH}, layerNormalization()", 6) + ", matmul(v)")),
    ("E306", facts(RECURRENT, CLIPPED, data=LONG)),
    ("E308", facts("matmul(w, shape=[5]), sigmoid(), matmul(v)")),
    # Attention written by hand: the weights meet values, not parameters.
    (
        "E308",
        facts(
            "m:input shape=[5, 4]; m:output shape=[5, 4]; "
            "m:layers matmul(m:input, bTranspose=true), softmax(), matmul(m:input);"
        ),
    ),
    ("E309", facts("matmul(w, shape=[4]), residual(skip=1), matmul(v)")),
    # What goes past a block as well cannot be one product with its first one.
    (
        "E309",
        facts("matmul(w, shape=[4]), matmul(u, shape=[4]), relu(), residual(skip=2), matmul(v)"),
    ),
    ("E309", facts(model("attend(q, k, v, o=z), matmul(u)", sequence=True))),
    ("E309", facts(TIED)),
    ("E312", facts(LARGE, {"freeze": 0.5}, trained_before=True)),
    ("E405", facts(WIDE)),
    ("E405", facts(LINEAR, data=DataFacts(sizes={"training": 20}))),
    # Poolings, dropouts and activations are no products.
    (
        "E304",
        facts(repeat("matmul(w, shape=[9]), add(b), relu(), dropout(0.1)", 5) + ", matmul(v)"),
    ),
    # The values of a function may be anything.
    (
        "E329",
        facts(scouting=ScoutingFacts(loss=400.0), outputs=[OutputFacts(name="m", loss="cost()")]),
    ),
    # Without float16 on the device there is nothing to gain.
    ("E204", facts(IRIS, EDGE, device=device(float16=False))),
    ("E502", facts(TWO.format(kind=""), {"loss_weights": {"a": 1.0}})),
    ("E502", facts(TWO.format(kind=""), {"loss_weights": "uncertainty"}, scouting=UNEVEN)),
    ("E702", facts(settings={"epochs": 3, **LION})),
    ("E703", facts()),
]


@pytest.mark.parametrize(("id", "known"), QUIET)
def test_rule_is_silent(id: str, known: Facts) -> None:
    assert RULES[id].test(known) is None


@pytest.mark.parametrize("id", sorted(RULES))
def test_rules_are_silent_where_nothing_is_known(id: str) -> None:
    assert RULES[id].test(facts("matmul(w), add(b)")) is None
