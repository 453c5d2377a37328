"""The rules on what happened in a training: each speaks of its mistake, until its remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.expert.cases import SETTINGS, TANH, Case, facts, repeat
from webnnm.evaluation.baselines import Baselines
from webnnm.evaluation.epoch import EpochRecord
from webnnm.evaluation.history import History
from webnnm.expert.facts.course import chance_skill, skill, skill_margin
from webnnm.expert.facts.facts import (
    DataFacts,
    Facts,
    FeatureFacts,
    HistoryFacts,
    PredictionFacts,
    ScoutingFacts,
    Suspicion,
)
from webnnm.expert.facts.hindsight import history_facts
from webnnm.expert.facts.paths import pools_without_order, pools_without_positions
from webnnm.expert.review import hindsight, review
from webnnm.expert.rules.registry import RULES as EVERY
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse
from webnnm.training.settings import Settings

RULES = {id: rule for id, rule in EVERY.items() if rule.area == "Training"}
FALLING = [1.0, 0.6, 0.45, 0.42, 0.41, 0.405]
"""A loss as it should be, relative to knowing nothing."""


def history(
    losses: Sequence[float] = FALLING,
    validation: Sequence[float] = (),
    rates: Sequence[float] = (),
    *,
    settings: dict[str, Any] | None = None,
    best: int = 0,
    record: dict[str, Any] | None = None,
    **known: Any,
) -> HistoryFacts:
    """Return what happened: losses by epoch, on training and validation rows."""
    count = len(losses)
    monitored = list(validation or losses)
    given = {**SETTINGS, "epochs": count, "patience": 500, "restore_best": True, **(settings or {})}
    fallen = [given["lr"] * (1 - k / count) for k in range(count)]
    return HistoryFacts(
        epochs=[
            EpochRecord(
                k + 1,
                count,
                losses[k],
                {"m": losses[k]},
                (rates or fallen)[k],
                0.1,
                validation[k] if validation else None,
                val_losses={"m": validation[k]} if validation else {},
                **(record or {}),
            )
            for k in range(count)
        ],
        settings=Settings(**given).finish_without_data(),
        best_epoch=best or monitored.index(min(monitored)) + 1,
        **{"stopped": "epochs", "references": {"m": 1.0}, "moved": {"w": 0.4, "v": 0.5}, **known},
    )


def after(
    *losses: Any, layers: str = "", scouting: ScoutingFacts | None = None, **known: Any
) -> Facts:
    """Return facts on a model that was trained."""
    one = history(*losses, **known)
    text = layers or "matmul(w, shape=[3]), add(b), relu(), matmul(v), softmax()"
    validated = 40 if "validate_every" in (known.get("settings") or {}) else 0
    rows = DataFacts(sizes={"training": 200, "validation": validated}, batch_size=5)
    more = {} if scouting is None else {"scouting": scouting}
    return facts(text, one.settings.to_dict(), data=rows, history=one, **more)


def classes(hits: Sequence[int], rows: Sequence[int], predicted: Sequence[int]) -> PredictionFacts:
    """Return predictions of classes 0, 1, …"""
    labels = [str(number) for number in range(len(rows))]
    return PredictionFacts(labels=labels, support=rows, predicted=predicted, hits=hits)


GOOD = classes([45, 48], [50, 50], [47, 53])
GUESSED = classes([26, 27], [50, 50], [49, 51])
POOR = classes([12, 13], [20, 20], [19, 21])
FLAT = [0.97] * 6


def beside(found: PredictionFacts, reach: float = 0.98, **known: Any) -> Facts:
    """Return facts on a training whose rows have neighbours that tell the class of such a share."""
    told = {"E922": Suspicion("", {"found": reach, "chance": 0.5, "error": 0.01})}
    trained = after(known.pop("losses", FALLING), predictions={"m": found}, **known)
    return replace(trained, data=replace(trained.data, suspicions=told))


CONSTANT = {"schedule": "constant"}
DECAYED = {"optimizer": "adamw", "weight_decay": 0.25}
LINEAR = "matmul(w), add(b), softmax()"
CLICKS = (
    "m:input int32 shape=[] sequence={{clicks:8}}; m:output shape=[2]; "
    "m:layers embedding(t, size=9, shape=[4]), {}matmul(w), softmax();"
)
MEAN = "reduceMean(axes=[sequence]), "
BAG = CLICKS.format(MEAN)
PICTURE = "m:input shape=[1, 8, 8]; m:output shape=[2]; m:layers {}matmul(w), softmax();"
CONVOLVED = "conv2d(f, filters=4, kernel=3), relu(), "
EYE = PICTURE.format(f"{CONVOLVED}globalAveragePool(), ")
SWINGS = [1.0, 0.5, 0.8, 0.4, 0.7, 0.5]
STEADY = [0.01] * 6


def rivals(name: str, value: float) -> Baselines:
    """Return a simple model beside a network that explains half of the variance."""
    simple = {"a constant": {"R²": 0.0}, name: {"R²": value}}
    p_values = {"a constant": 1e-9, name: 1e-4}
    return Baselines({"R²": 0.5}, simple, p_values, rows=80, fitted=200, training=200)


CASES = [
    Case(
        "E901",
        after(FLAT, settings={"lr": 1e-7}, moved={"w": 1e-4, "v": 3e-4}),
        "fell by 0% in 6 epochs at lr 1e-07, and no weight moved by more than 0.03%",
        after(),
    ),
    Case(
        "E902",
        after(predictions={"m": GUESSED}, held_out={"m": POOR}, subset="testing"),
        "m: 53 of 100 right on training rows, 25 of 40 right on testing rows: no better than",
        after(predictions={"m": GOOD}, held_out={"m": POOR}, subset="testing"),
    ),
    Case(
        "E903",
        after(predictions={"m": GOOD}, held_out={"m": POOR}, subset="validation"),
        "m: 93 of 100 right on training rows, 25 of 40 right on validation rows: training rows are",
        after(predictions={"m": GOOD}, held_out={"m": GOOD}, subset="validation"),
    ),
    Case(
        "E904",
        after([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], (), [0.005] * 6),
        "the last of 6 epochs is the best, and the loss fell by 17% in the last 2, at lr 0.005",
        after([1.0, 0.6, 0.5, 0.45, 0.44, 0.44], (), [0.005] * 6),
    ),
    Case(
        "E905",
        after(FALLING, [0.9, 0.5, 0.7, 0.9, 1.1, 1.2]),
        "the validation loss rose from 0.5 in epoch 2 to 1.2, the training loss fell from 0.6 to",
        after(FALLING, [0.9, 0.6, 0.5, 0.5, 0.52, 0.53]),
    ),
    Case(
        "E906",
        after(predictions={"m": classes([90, 0], [92, 8], [100, 0])}),
        'm hardly ever predicts "1" (0 times, 8 rows have it)',
        after(predictions={"m": classes([90, 2], [92, 8], [98, 2])}),
    ),
    Case(
        "E907",
        after(FALLING, [300.0, 350, 340, 340, 340, 340]),
        "the validation loss is 300 in the first epoch, the training loss 1: validation rows",
        after(FALLING, FALLING),
    ),
    Case(
        "E908",
        after(dead={"relu1": 0.9}, settings={"lr": 3.0}),
        "90% of the units of relu1 are 0 for every row after the training, at lr 3",
        after(dead={"relu1": 0.9}, scouting=ScoutingFacts(dead={"relu1": 0.9})),
    ),
    Case(
        "E909",
        after(saturated={"tanh1": 0.95}),
        "95% of the values of tanh1 are at the ends of its range",
        after(saturated={"tanh1": 0.4}),
    ),
    Case(
        "E910",
        after(gradients={"w": 1e-9, "v": 1e-3}),
        "the gradient of w is 1.0e-09, that of v 1.0e-03",
        after(gradients={"w": 1e-4, "v": 1e-3}),
    ),
    Case(
        "E911",
        after(moved={"w": 1e-6, "v": 0.7}),
        "w moved by 0.0001% in the whole training, other weights by up to 70%",
        after(moved={"w": 0.3, "v": 0.7}),
    ),
    Case(
        "E912",
        after(moved={"w": 80.0, "v": 0.7}, settings={"lr": 3.0}),
        "w moved by 80 times its norm, at lr 3",
        after(moved={"w": 8.0, "v": 0.7}),
    ),
    Case(
        "E913",
        after(SWINGS, (), [0.5] * 6, settings={"lr": 0.5, **CONSTANT}),
        "the training loss leapt up in 2 of 6 epochs, as from 0.4 to 0.7 in epoch 5",
        after(FALLING),
    ),
    Case(
        "E914",
        after(FALLING, (), [0.02, 2e-4, 2e-6, 2e-8, 2e-10, 2e-12]),
        "from epoch 2 on lr was below 2% of its highest, 0.02: 5 of 6 epochs",
        after(STEADY, (), [0.02, 2e-4, 2e-6, 2e-8, 2e-10, 2e-12]),
    ),
    Case(
        "E915",
        after(FALLING, (), [0.001, 0.002, 0.003, 0.004, 0.005, 0.006]),
        "lr rose until epoch 6 of 6, from 0.001 to 0.006",
        after(FALLING, (), [0.001, 0.006, 0.005, 0.004, 0.003, 0.002]),
    ),
    Case(
        "E916",
        after(FALLING[:3], settings={"epochs": 60, "patience": 1}, stopped="patience"),
        "patience 1 ended the training after 3 of 60 epochs",
        after(FALLING[:3], settings={"epochs": 60, "patience": 20}, stopped="patience"),
    ),
    Case(
        "E917",
        after(record={"overflows": 10}),
        "60 of 240 steps were skipped: their gradients were not finite",
        after(record={"overflows": 1}),
    ),
    Case(
        "E918",
        after([1.0, 0.2, 0.4, 0.5, 0.6, 0.7], settings={"restore_best": False}),
        "the last epoch, with a loss of 0.7 times that of a constant prediction; in the last 1",
        after([1.0, 0.2, 0.4, 0.5, 0.6, 0.7]),
    ),
    Case(
        "E919",
        after(record={"clip_rate": 1.0}, moved={"w": 0.002, "v": 0.4}),
        "gradients were clipped in 100% of the steps, and w moved by 0.2%",
        after(record={"clip_rate": 1.0}),
    ),
    Case(
        "E920",
        after([1.6, 0.9, 0.9], record={"penalty": 48.0}, settings={"lambda1": 1.0}),
        "the penalty on the weights was 48 in the first epoch, the loss 1.6",
        after([1.6, 0.9, 0.9], record={"penalty": 0.1}, settings={"lambda1": 1e-4}),
    ),
    Case(
        "E921",
        after(settings={"validate_every": 50}),
        "none of 6 epochs was validated: validate_every is 50",
        after(FALLING, FALLING),
    ),
    Case(
        "E922",
        beside(classes([36, 34], [50, 50], [52, 48])),
        "m predicts the class of 70% of the training rows, their nearest neighbours that of 98%",
        beside(GOOD),
    ),
    Case(
        "E923",
        after(layers=BAG, predictions={"m": GOOD}, held_out={"m": POOR}, subset="testing"),
        "25 of 40 right on testing rows: at chance, and reduceMean1 pools the sequence without its",
        after(layers=BAG, predictions={"m": GOOD}, held_out={"m": GOOD}, subset="testing"),
    ),
    Case(
        "E924",
        after(layers=EYE, predictions={"m": GUESSED}, held_out={"m": POOR}, subset="testing"),
        "25 of 40 right on testing rows: at chance, and globalAveragePool1 takes all places",
        after(layers=EYE, predictions={"m": GOOD}, held_out={"m": GOOD}, subset="testing"),
    ),
    Case(
        "E925",
        after(baselines={"m": rivals("a linear model", 0.8)}),
        "m: a linear model is better than the network: R² 0.8000 against 0.5000 (p < 0.001",
        after(baselines={"m": rivals("a linear model", 0.4)}),
    ),
    Case(
        "E926",
        after(baselines={"m": rivals("nearest neighbours", 0.8)}),
        "m: nearest neighbours are better than the network: R² 0.8000 against 0.5000 (p < 0.001",
        after(baselines={"m": rivals("nearest neighbours", 0.4)}),
    ),
    Case(
        "E927",
        beside(GOOD, settings=DECAYED),
        "weight decay 0.25 is 11 times the default for such rows, and m predicts 200 training rows "
        "with accuracy 0.93, their nearest neighbours with 0.98",
        beside(GOOD, settings={**DECAYED, "weight_decay": 0.023}),
    ),
]


def ids(found: Facts, **options: Any) -> list[str]:
    """Return the ids of what a training is told."""
    return [finding.id for finding in hindsight(found, **options)]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule_speaks_until_its_remedy(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert case.words in hit.message
    assert hit.evidence or hit.message
    assert RULES[case.id].test(case.after) is None


def test_neighbours_say_nothing_of_a_model_that_did_not_move() -> None:
    still = beside(GUESSED, losses=FLAT, moved={"w": 0.001})
    assert "E901" in ids(still) and "E922" not in ids(still)


def test_decay_is_not_to_blame_for_a_fit_that_it_does_not_hold_back() -> None:
    rule = RULES["E927"]
    assert rule.test(beside(classes([50, 50], [50, 50], [50, 50]), settings=DECAYED)) is not None
    told = beside(classes([50, 50], [50, 50], [50, 50]), settings=DECAYED)
    poor = Suspicion("", {"found": 0.9, "chance": 0.5})
    assert rule.test(replace(told, data=replace(told.data, suspicions={"E922": poor}))) is None
    # Coupled decay, which is scaled by the gradient, has no such default.
    assert rule.test(beside(GOOD, settings={**DECAYED, "optimizer": "sgdm"})) is None


def test_every_rule_has_a_case() -> None:
    assert [case.id for case in CASES] == list(RULES)


@pytest.mark.parametrize("id", RULES)
def test_rules_are_silent_before_a_training(id: str) -> None:
    assert RULES[id].test(facts()) is None


def test_a_good_training_is_told_nothing() -> None:
    good = {"m": GOOD}
    assert ids(after(FALLING, FALLING, predictions=good, held_out=good, subset="validation")) == []


@pytest.mark.alike
def test_a_review_of_a_training_tells_what_happened_in_it() -> None:
    found = review(after(moved={"w": 80.0, "v": 0.7}))
    assert "E912" in [finding.id for finding in found.findings]


def test_rules_on_trainings_can_be_switched_off() -> None:
    jumped = after(moved={"w": 80.0, "v": 0.7})
    assert "E912" in ids(jumped) and "E912" not in ids(jumped, off=["E912"])


def test_on_the_way_the_loss_alone_is_known() -> None:
    still = after(FLAT, stopped="", ended=False, moved={})
    assert ids(still, early=True) == ["E901"]
    swings = after(SWINGS, (), [0.5] * 6, stopped="", ended=False)
    assert ids(swings, early=True) == ["E913"]
    assert ids(after(stopped="", ended=False), early=True) == []


@pytest.mark.parametrize(("value", "severity"), [(0.8, None), (0.55, "info")])
def test_a_simple_model_that_is_little_better_is_a_note(value: float, severity: str) -> None:
    hit = RULES["E925"].test(after(baselines={"m": rivals("a linear model", value)}))
    assert hit is not None and hit.severity == severity


@pytest.mark.parametrize(
    ("id", "simple"), [("E925", "a linear model"), ("E926", "nearest neighbours")]
)
def test_a_model_that_is_beaten_is_checked_before_its_size_changes(id: str, simple: str) -> None:
    for r2, words in ((0.5, "whether lr and epochs let the loss fall"), (0.95, "model")):
        known = {
            "predictions": {"m": PredictionFacts(r2=r2)},
            "baselines": {"m": rivals(simple, 0.8)},
        }
        (found,) = [one for one in hindsight(after(**known)) if one.id == id]
        assert words in found.remedy
        assert found.remedy.startswith("Check") or (id, r2) == ("E925", 0.95)


@pytest.mark.parametrize("cause", ["E102", "E323", "E502", "E603", "E620", "E635", "E903"])
def test_a_cause_of_bad_results_explains_that_simple_models_are_better(cause: str) -> None:
    assert {"E925", "E926"} <= EVERY[cause].explains


def test_few_updates_are_told_whatever_the_rate() -> None:
    few = [1.0, 0.9, 0.8]
    hit = RULES["E904"].test(after(few, settings={"batch_size": 200}))
    assert hit is not None and "3 updates in 3 epochs" in hit.message
    assert hit.fix == {"epochs": 300}


def test_training_rows_that_are_right_need_no_further_epochs() -> None:
    falling, rates = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5], [0.005] * 6
    known = {"predictions": {"m": classes([40, 40], [40, 40], [40, 40])}, "held_out": {"m": POOR}}
    assert RULES["E904"].test(after(falling, (), rates, **known)) is None
    # Validation rows decide where there are some.
    assert RULES["E904"].test(after(FLAT, falling, rates, **known)) is not None


def test_a_low_rate_is_raised_before_epochs_are() -> None:
    slow = {"lr": 1e-4, "optimizer": "sgdm", **CONSTANT}
    hit = RULES["E904"].test(after([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], (), [1e-4] * 6, settings=slow))
    assert hit is not None and set(hit.fix) == {"lr"} and "Raise lr" in hit.remedy


def test_a_linear_model_that_learns_nothing_is_told_of_hidden_layers() -> None:
    guessed = {"m": GUESSED}
    hit = RULES["E902"].test(after(layers=LINEAR, predictions=guessed))
    assert hit is not None and "hidden layer" in hit.remedy


def test_a_model_that_knows_other_rows_by_chance_learnt_nothing() -> None:
    # Right in 69% of the training rows: too many for guesses, too few to be learnt by heart.
    trained, other = (
        classes([138, 138], [200, 200], [200, 200]),
        classes([39, 40], [70, 70], [71, 69]),
    )
    known = after(predictions={"m": trained}, held_out={"m": other}, subset="validation")
    assert RULES["E902"].test(known) is not None
    assert RULES["E903"].test(known) is None
    few = replace(known.history, held_out={"m": classes([4, 4], [7, 7], [7, 7])})  # type: ignore[type-var]
    assert RULES["E902"].test(replace(known, history=few)) is None


@pytest.mark.parametrize(
    ("layers", "pools"),
    [
        (MEAN, ["reduceMean1"]),
        ("matmul(v, shape=[6]), add(b), relu(), layerNormalization(), " + MEAN, ["reduceMean1"]),
        ("attend(q, k, v, o), residual(skip=1), reduceMax(axes=[sequence]), ", ["reduceMax1"]),
        ("gru(i, r, hiddenSize=4, returnSequence=true), " + MEAN, []),
        ("lstm(i, r, hiddenSize=4), ", []),
        ("conv1d(f, filters=4, kernel=3, padding=same), " + MEAN, []),
        ("positionalEncoding(), " + MEAN, []),
        ("attend(q, k, v, o, causal=true), " + MEAN, []),
        ("attend(q, k, v, o, rope=10000), " + MEAN, []),
    ],
)
def test_layers_that_pool_a_sequence_whose_order_nothing_knows(
    layers: str, pools: list[str]
) -> None:
    assert pools_without_order(elaborate(parse(CLICKS.format(layers)))) == pools


def test_rows_of_words_are_sequences_too() -> None:
    text = "m:input {} shape=[6]; m:output shape=[2]; m:layers embedding(t, size=9, shape=[6, 4]), "
    flat = text.format("int32") + "{}matmul(w), softmax();"
    for layers, pools in (
        ("reduceSum(axes=[0]), ", ["reduceSum1"]),
        ("add(p), reduceSum(axes=[0]), ", []),  # a row of the table for each position
        ("reduceSum(axes=[1]), ", []),
        ("flatten(), ", []),
    ):
        assert pools_without_order(elaborate(parse(flat.format(layers)))) == pools


def test_two_inputs_may_number_their_positions() -> None:
    text = "a:input int32 shape=[] sequence=true; a:layers embedding(t, size=9, shape=[4]); "
    text += "b:input int32 shape=[] sequence=true; b:layers embedding(u, size=9, shape=[4]); "
    text += "m:layers add([a, b]), reduceMean(axes=[sequence]), matmul(w), softmax(); "
    text += "m:output shape=[2];"
    assert pools_without_order(elaborate(parse(text))) == []


def test_an_order_that_is_lost_is_what_is_told() -> None:
    known: dict[str, Any] = {"predictions": {"m": GOOD}, "held_out": {"m": POOR}}
    assert ids(after(layers=BAG, **known)) == ["E923"]
    assert ids(after(layers=CLICKS.format("gru(i, r, hiddenSize=4), "), **known)) == ["E903"]
    guessed: dict[str, Any] = {"predictions": {"m": GUESSED}, "held_out": {"m": POOR}}
    assert ids(after(layers=BAG, **guessed)) == ["E923"]
    # Moods of texts need no order: half of the rows above chance are evidence enough.
    learnt = classes([15, 16], [20, 20], [19, 21])
    assert "E923" not in ids(after(layers=BAG, predictions={"m": GOOD}, held_out={"m": learnt}))
    # An order that tells nothing is not missed.
    silent = DataFacts(suspicions={"E923": Suspicion("order", {"share": 0.0})})
    assert ids(replace(after(layers=BAG, **guessed), data=silent)) == ["E902"]
    # Rows that are all right can be told apart without their order.
    perfect: dict[str, Any] = {"predictions": {"m": classes([50, 50], [50, 50], [50, 50])}}
    assert ids(after(layers=BAG, **perfect, held_out={"m": POOR})) == ["E903"]


@pytest.mark.parametrize(
    ("layers", "pools"),
    [
        ("globalAveragePool(), ", ["globalAveragePool1"]),
        ("reduceMean(axes=[1, 2]), ", ["reduceMean1"]),
        ("reduceMax(axes=[1, 2], keepDimensions=true), flatten(), ", ["reduceMax1"]),
        ("averagePool2d(windowDimensions=6, strides=6), flatten(), ", ["averagePool2d1"]),
        (
            "batchNorm(), maxPool2d(windowDimensions=2, strides=2), globalAveragePool(), ",
            ["globalAveragePool1"],
        ),
        ("flatten(), ", []),
        ("averagePool2d(windowDimensions=3, strides=3), flatten(), ", []),
        ("reduceMean(axes=[1]), flatten(), ", []),
        ("mul(0.5), globalAveragePool(), ", ["globalAveragePool1"]),
        ("add(place, shape=[4, 6, 6]), globalAveragePool(), ", []),
        ("matmul(u, shape=[4, 6, 5]), reduceMean(axes=[1, 2]), ", []),
    ],
)
def test_places_are_lost_where_all_are_pooled(layers: str, pools: list[str]) -> None:
    network = elaborate(parse(PICTURE.format(CONVOLVED + layers)))
    assert pools_without_positions(network) == pools


@pytest.mark.parametrize("joined", ["grid", "other"])
def test_a_grid_of_places_that_is_joined_tells_where(joined: str) -> None:
    ramp = [n / 36 for n in range(36)]
    network = elaborate(
        parse(
            "m:input shape=[1, 8, 8]; m:output shape=[2]; "
            f"m:constants grid float32 [1, 6, 6] {ramp}; m:layers "
            "conv2d(f, filters=4, kernel=3, name=seen), conv2d(h, filters=4, kernel=3, "
            f"node=m:input, name=other), concat([seen, {joined}], axis=0), "
            "conv2d(g, filters=4, kernel=1), globalAveragePool(), matmul(w), softmax();"
        )
    )
    assert bool(pools_without_positions(network)) is (joined == "other")


def test_places_are_lost_in_signals_too() -> None:
    signal = "m:input shape=[1] sequence=true; m:output shape=[2]; m:layers {}, {}softmax();"
    ways = ("conv1d(f, filters=4, kernel=3, padding=same), relu(), ", "relu(), ")
    found = [
        pools_without_positions(
            elaborate(parse(signal.format(way + "reduceMean(axes=[sequence])", "matmul(w), ")))
        )
        for way in ways
    ]
    assert found == [["reduceMean1"], []]


def test_places_that_are_lost_are_what_is_told() -> None:
    for guess in (GUESSED, GOOD):
        lost: dict[str, Any] = {"predictions": {"m": guess}, "held_out": {"m": POOR}}
        assert ids(after(layers=EYE, **lost)) == ["E924"]
        flat = PICTURE.format(f"{CONVOLVED}flatten(), ")
        assert "E924" not in ids(after(layers=flat, **lost))
    still: dict[str, Any] = {"predictions": {"m": GUESSED}, "held_out": {"m": POOR}}
    assert "E924" not in ids(after(FLAT, layers=EYE, moved={"w": 0.001}, **still))
    dark = after(layers=EYE, **still)
    features = {"m": [FeatureFacts("0", 0.0008, 0.001)]}
    dark = replace(dark, data=replace(dark.data, features=features))
    assert "E902" in ids(dark) and "E924" not in ids(dark)
    learnt = classes([16, 16], [20, 20], [20, 20])
    assert "E924" not in ids(
        after(layers=EYE, predictions={"m": GOOD}, held_out={"m": learnt}, subset="testing")
    )


def test_numbers_of_words_are_to_be_looked_up() -> None:
    for trained, id in ((GOOD, "E903"), (GUESSED, "E902")):
        known = after(predictions={"m": trained}, held_out={"m": POOR}, subset="testing")
        told = {"E903": Suspicion("", {"size": 240})}
        words = replace(known, data=replace(known.data, suspicions=told))
        hit, other = RULES[id].test(words), RULES[id].test(known)
        assert hit is not None and "embedding(table, size=240)" in hit.remedy
        assert other is not None and "embedding" not in other.remedy


def test_losses_below_zero_have_no_ratio() -> None:
    losses, validation = (
        [-0.97, -1.1, -1.2, -1.25, -1.3, -1.31],
        [-1.17, -1.2, -1.2, -1.2, -1.2, -1.2],
    )
    assert RULES["E907"].test(after(losses, validation)) is None


def test_a_best_epoch_that_was_kept_does_no_harm() -> None:
    rising = [0.9, 0.5, 0.7, 0.9, 1.1, 1.2]
    severities: list[str | None] = []
    for held, kept in ((GOOD, True), (GOOD, False), (POOR, True)):
        known = after(FALLING, rising, held_out={"m": held}, settings={"restore_best": kept})
        hit = RULES["E905"].test(known)
        assert hit is not None
        severities.append(hit.severity)
    assert severities == ["info", None, None]


def test_letters_of_a_text_that_come_seldom_are_not_classes_that_were_missed() -> None:
    text = "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
    text += "embedding(t, size=2, shape=[4]), gru(w, r, hiddenSize=4, returnSequence=true), "
    text += "matmul(v), softmax();"
    rare = after(predictions={"m": classes([90, 0], [92, 8], [100, 0])})
    of_text = replace(rare, network=elaborate(parse(text)))
    assert RULES["E906"].test(of_text) is not None
    data = replace(of_text.data, suspicions={"E330": Suspicion("", {"m": "m"})})
    assert RULES["E906"].test(replace(of_text, data=data)) is None


def test_a_robust_loss_is_judged_by_what_it_minimises() -> None:
    def judge(trained: PredictionFacts, held: PredictionFacts) -> str:
        facts = after(predictions={"m": trained}, held_out={"m": held}, subset="testing")
        hit = RULES["E903"].test(facts)
        return hit.message if hit else ""

    # A single outlier among the testing rows makes R² what it is.
    assert judge(PredictionFacts(r2=0.7, d2=0.6), PredictionFacts(r2=-9.0, d2=0.55)) == ""
    assert "D² 0.30 on" in judge(PredictionFacts(r2=0.7, d2=0.7), PredictionFacts(r2=0.7, d2=0.3))
    assert "R² 0.30 on" in judge(PredictionFacts(r2=0.7), PredictionFacts(r2=0.3))


def test_a_layer_that_dies_at_the_default_rate_is_not_told_to_lower_it() -> None:
    hit = RULES["E908"].test(after(dead={"relu1": 0.9}, settings={"lr": 1e-4}))
    assert hit is not None and not hit.fix and "leakyRelu" in hit.remedy


def test_good_scores_on_other_rows_refute_what_would_keep_a_model_from_learning() -> None:
    sound = classes([50, 49], [50, 50], [51, 49])
    dead: Any = {"dead": {"relu1": 0.9}, "subset": "testing"}

    def severity(trained: PredictionFacts, **held: PredictionFacts) -> str:
        facts = after(**dead, predictions={"m": trained}, held_out=held)
        return next(one for one in hindsight(facts) if one.id == "E908").severity

    assert severity(POOR) == severity(POOR, m=GOOD) == "warning"
    assert severity(POOR, m=sound) == "info"
    assert severity(sound) == severity(sound, m=GOOD) == "info"  # what is left is enough


SOME = classes([40, 41], [50, 50], [49, 51])


@pytest.mark.parametrize(
    ("id", "course"),
    [
        ("E908", {"dead": {"relu1": 0.9}}),
        ("E909", {"saturated": {"tanh1": 0.95}}),
        ("E913", {"losses": SWINGS, "rates": [0.5] * 6}),
    ],
)
def test_a_model_that_keeps_up_with_neighbours_was_not_harmed(
    id: str, course: dict[str, Any]
) -> None:
    rates: Any = {"rates": course.pop("rates")} if "rates" in course else {}
    hits = [RULES[id].test(beside(SOME, reach, **course, **rates)) for reach in (0.98, 0.8)]
    assert [hit and hit.severity for hit in hits] == [None, "info"]
    quantities = [PredictionFacts(r2=r2) for r2 in (0.1, 0.6)]
    known: Any = {"predictions": {"m": quantities[1]}, **rates}
    losses = course.pop("losses", FALLING)
    for held, severity in zip(quantities, (None, "info"), strict=True):
        facts = after(losses, **course, **known, held_out={"m": held}, subset="testing")
        look_up = {"E922": Suspicion("", {"found": 0.5, "error": 0.1})}
        hit = RULES[id].test(replace(facts, data=replace(facts.data, suspicions=look_up)))
        assert hit is not None and hit.severity == severity


def test_leaps_of_a_loss_that_was_low_before_are_information() -> None:
    low = [1.0, 0.2, 0.5, 0.2, 0.6, 0.3]
    kept, last = (
        RULES["E913"].test(after(low, (), [0.5] * 6, settings={"restore_best": restore}))
        for restore in (True, False)
    )
    assert kept is not None and kept.severity == "info"
    assert last is not None and last.severity is None


def test_heavy_momentum_is_what_makes_losses_leap() -> None:
    heavy = {"momentum_factor": 0.99, "optimizer": "sgdm"}
    hit = RULES["E913"].test(after(SWINGS, (), [0.5] * 6, settings=heavy))
    assert hit is not None and hit.fix["momentum_factor"] == 0.9


def test_leaps_count_where_the_rate_has_fallen() -> None:
    rates = [0.5] * 4 + [0.01] * 4
    calm = [1.0, 0.4, 0.7, 0.3, 0.29, 0.28, 0.27, 0.26]
    restless = [1.0, 0.4, 0.7, 0.3, 0.6, 0.3, 0.6, 0.3]
    assert "E913" not in ids(after(calm, (), rates))
    hit = RULES["E913"].test(after(restless, (), rates))
    assert hit is not None and hit.remedy == "Lower lr."


def test_losses_of_ones_own_have_no_baseline() -> None:
    history = History({}, "numpy", stopped="epochs")
    history.loss_settings = {"m": {"loss": "poisson", "reference": 1.0}, "n": {"loss": "MSE"}}
    references = history_facts(history).references
    assert math.isnan(references["m"]) and references["n"] == 1.0


def test_saturated_layers_have_names_in_the_text() -> None:
    text = f"{repeat(TANH, 2)}, matmul(v)"
    (found,) = hindsight(after(saturated={"tanh2": 0.99}, layers=text))
    assert found.nodes == ("tanh2",) and found.places


def test_skill_is_measured_from_knowing_nothing() -> None:
    assert skill(PredictionFacts(r2=0.7)) == 0.7
    assert skill(classes([30, 0], [30, 10], [40, 0])) == 0  # as good as always saying 0
    assert skill(classes([30, 10], [30, 10], [30, 10])) == 1
    assert skill(classes([10], [10], [10])) is None
    assert skill(PredictionFacts(support=(3, 4), hits=(3, 4), several=True)) is None


def test_what_chance_gives_shrinks_with_the_rows() -> None:
    few, many = classes([5, 5], [10, 10], [10, 10]), classes([500, 500], [1000, 1000], [1000, 1000])
    assert 0 < chance_skill(many) < chance_skill(few) < 0.5
    assert skill_margin(classes([10, 10], [10, 10], [10, 10])) == 0
