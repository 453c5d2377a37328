"""The review: findings, settings, origins, texts (spec F)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.expert.cases import (
    DEEP,
    EXACT,
    HALF,
    IRIS,
    PIXELS,
    RECURRENT,
    SETTINGS,
    TWO,
    WIDE,
    DataFacts,
    DeviceFacts,
    Facts,
    ScoutingFacts,
    data,
    device,
    facts,
    numbers,
    output,
)
from webnnm.core.errors import DataError
from webnnm.core.finding import AREAS, SEVERITIES, Finding
from webnnm.expert.review import review
from webnnm.expert.rules.registry import ALWAYS_APPLIED, APPLIED_WHEN, RULES
from webnnm.expert.rules.rule import join_names
from webnnm.trainer.review import Review
from webnnm.training.automatic import OFF_VALUES
from webnnm.training.settings import Settings

COUNTS = "m:input int32 shape=[] sequence=true; m:output shape=[3]; "
COUNTS += "m:layers bincount(size=900), matmul(w), softmax();"


def counts(**given: Any) -> Facts:
    """Return facts on a linear model of counts that AdamW trains, with the given settings."""
    settings = {**SETTINGS, "optimizer": "adamw", "weight_decay": 0.25, **given}
    return replace(facts(COUNTS), settings=Settings(**settings, explicit=frozenset(given)))


def ids(found: Review) -> list[str]:
    """Return the ids of the findings."""
    return [finding.id for finding in found.findings]


def test_rules_are_numbered_without_gaps_in_every_area() -> None:
    assert len({*ALWAYS_APPLIED}) == len(ALWAYS_APPLIED) and len(ALWAYS_APPLIED) + len(
        APPLIED_WHEN
    ) >= len(AREAS)
    for area, number in zip(AREAS, range(1, 10), strict=False):
        own = [rule.id for rule in RULES.values() if rule.area == area]
        assert own == [f"E{number}{n:02}" for n in range(1, len(own) + 1)] != []


@pytest.mark.parametrize("id", RULES)
def test_a_rule_says_what_to_do_in_one_sentence(id: str) -> None:
    rule = RULES[id]
    assert rule.severity in SEVERITIES
    assert rule.remedy or rule.action
    assert rule.remedy[-1:] in ("", ".")
    assert ". " not in rule.remedy


def test_what_no_rule_turns_on_is_off() -> None:
    found = review(facts(IRIS))
    assert not found.findings
    assert {name: getattr(found.settings, name) for name in OFF_VALUES} == OFF_VALUES
    values = found.settings.to_dict()
    assert {name for name in values if values[name] == "auto"} == {"micro_steps", "progress"}
    assert {found.origins[name] for name in OFF_VALUES} == {"default"}


@pytest.mark.parametrize(
    ("known", "name", "value", "origin"),
    [
        (facts(HALF), "gradient_scaling", "on", "E201"),
        (facts(RECURRENT), "gradient_clipping", "global", "E301"),
        (facts(DEEP), "gradient_clipping", "agc", "E302"),
        (facts(WIDE), "regularization", "L2", "E401"),
        (facts(WIDE), "lambda2", 1e-4, "E401"),
        (counts(), "regularization", "L2", "E419"),
        (counts(), "lambda2", 3e-5, "E419"),
        (counts(), "weight_decay", 0.0, "E419"),
        (facts(PIXELS), "regularization", "L1", "E402"),
        (facts(PIXELS), "lambda1", 1e-5, "E402"),
        (facts(TWO.format(kind="")), "loss_weights", "uncertainty", "E501"),
        (facts(IRIS, {"optimize_for": "edge"}), "compute_type", "float16", "E801"),
        (data(), "batch_size", 20, "default of the dataset"),
    ],
)
def test_rules_decide_what_is_automatic(
    known: Facts, name: str, value: object, origin: str
) -> None:
    found = review(known)
    assert (getattr(found.settings, name), found.origins[name]) == (value, origin)


def test_a_batch_is_no_larger_than_the_training_subset() -> None:
    found = review(data(sizes={"training": 12}))
    assert (found.settings.batch_size, found.origins["batch_size"]) == (12, "E609")


def test_both_regularizations() -> None:
    text = "m:input shape=[6000]; m:output shape=[3]; m:layers matmul(w, shape=[600]), matmul(v);"
    found = review(facts(text))
    assert found.settings.regularization == "L1+L2"
    assert found.origins["regularization"] == "E401, E402"
    assert (found.settings.lambda1, found.settings.lambda2) == (1e-5, 1e-4)


def test_seeds_are_lowered_where_scouting_is_costly() -> None:
    text = "m:input shape=[999]; m:output shape=[1000]; m:layers matmul(w);"
    found = review(facts(text))
    assert (found.settings.seeds, found.origins["seeds"]) == (20, "E312")


def test_scale_is_raised_only_where_nobody_gave_it() -> None:
    known = facts(TWO.format(kind="float16"))
    low = Facts(network=known.network, settings=Settings(**{**SETTINGS, "scale": 16}))
    assert review(low).settings.scale == 128
    given = facts(TWO.format(kind="float16"), {"scale": 16})
    assert review(given).settings.scale == 16
    assert "E205" in ids(review(given))


@pytest.mark.parametrize("value", ["off", "agc"])
def test_a_given_value_wins_and_the_rule_only_reports(value: str) -> None:
    found = review(facts(RECURRENT, {"gradient_clipping": value}))
    assert (found.settings.gradient_clipping, found.origins["gradient_clipping"]) == (
        value,
        "given",
    )
    (finding,) = [finding for finding in found.findings if finding.id == "E301"]
    assert finding.action == ""
    assert "→" in str(finding)


def test_a_device_without_float16_keeps_float32() -> None:
    found = review(facts(IRIS, {"optimize_for": "edge"}, device=device(float16=False)))
    assert found.settings.compute_type == "float32"
    (finding,) = found.findings
    assert finding.message.startswith("webnn has no float16, float32 is kept")


def test_a_given_auto_is_automatic() -> None:
    found = review(facts(RECURRENT, {"gradient_clipping": "auto"}))
    assert found.origins["gradient_clipping"] == "E301"


def test_weight_decay_that_decouples_stands_in_for_l2() -> None:
    decay = {"optimizer": "rlion", "weight_decay": 0.01, "lr": 0.01}
    found = review(facts(WIDE, decay))
    assert (found.settings.regularization, found.origins["regularization"]) == ("off", "E401")
    (finding,) = [finding for finding in found.findings if finding.id == "E401"]
    assert finding.action == "left to weight decay 0.01 of rlion"
    assert "E403" not in ids(found)
    assert review(facts(WIDE, {**decay, "weight_decay": 1e-5})).settings.regularization == "L2"


@pytest.mark.parametrize("settings", [{"weight_decay": 0.1}, {"regularization": "off"}])
def test_a_given_decay_of_the_weights_of_counts_stays(settings: dict[str, Any]) -> None:
    found = review(counts(**settings))
    assert "E419" not in ids(found) and "L2" not in found.settings.regularization
    assert found.settings.weight_decay == settings.get("weight_decay", 0.25)


def test_losses_are_settings_too() -> None:
    chosen = review(output("CCE", EXACT, written=False))
    assert (chosen.losses["m"], chosen.origins["m:loss"]) == ("CCE", "E101")
    written = review(output("CCE", EXACT))
    assert (written.losses["m"], written.origins["m:loss"]) == ("CCE", "given")


def test_varying_gradients_turn_a_chosen_loss_into_that_of_huber() -> None:
    scouting = ScoutingFacts(gradient_variation=2)
    labels = numbers(0, 1)
    found = review(output("MSE", labels, "linear", written=False, scouting=scouting))
    assert (found.losses["m"], found.origins["m:loss"]) == ("HUL", "E109")
    kept = review(output("MSE", labels, "linear", scouting=scouting))
    assert kept.losses["m"] == "MSE"
    assert "E109" in ids(kept)


def test_rules_that_are_off_neither_report_nor_decide() -> None:
    assert "E301" in ids(review(facts(RECURRENT)))
    found = review(facts(RECURRENT), off=["E301"])
    assert "E301" not in ids(found)
    assert found.settings.gradient_clipping == "off"


def test_an_unknown_rule_cannot_be_off() -> None:
    with pytest.raises(DataError, match='there is no rule "E999"'):
        review(facts(), off=["E999"])


def test_findings_know_their_places() -> None:
    text = (
        "m:input shape=[4];\nm:output shape=[3];\nm:layers matmul(w, shape=[5]), relu(),\n"
        "  dropout(0.8), matmul(v);"
    )
    (finding,) = review(facts(text)).findings
    assert (finding.id, finding.nodes, finding.places) == ("E404", ("dropout1",), ((4, 3),))
    assert str(finding).startswith("warning E404 line 4, column 3: dropout1 drops 80%")
    assert finding.evidence == {"dropout1": 0.8}


def test_outputs_and_inputs_have_places_too() -> None:
    (finding,) = review(output("MSE")).findings
    assert (finding.id, finding.nodes) == ("E102", ("m:output",))
    assert finding.places == ((1, 23),)


def _chosen_epochs(**data: Any) -> Facts:
    """Return facts on a training of as many epochs as suit ten rows."""
    known = facts(DEEP, {"lr": 0.1}, data=DataFacts(sizes={"training": 10}, **data))
    reasons = {"epochs": "default for 10 rows"}
    return replace(known, settings=replace(known.settings, reasons=reasons))


def test_the_text_groups_by_area_and_names_origins() -> None:
    known = _chosen_epochs(non_finite="row 3 is nan")
    lines = review(known).describe().split("\n")
    headings = [line for line in lines if not line.startswith(" ")]
    assert headings == ["Stability", "Capacity", "Data", "Settings"]
    area = lines[lines.index("Data") : lines.index("Settings")]
    assert area[1] == "  error E605: row 3 is nan"
    assert "  lr 0.1 (given)" in lines
    assert "  weight_decay 0.0 (default of sgdm)" in lines
    assert "  gradient_clipping agc (E302)" in lines
    assert lines[-1].startswith("  default: ")
    assert "patience 50" in lines[-1].split(": ")[1].split(", ")
    assert "  epochs 200 (default for 10 rows)" in lines


def test_what_most_good_models_have_is_counted() -> None:
    found = review(_chosen_epochs())
    lines = str(found).split("\n")
    assert not [line for line in lines if line.startswith("  info")]
    assert [line for line in lines if line.startswith("  warning E304")]
    settings = lines[lines.index("Settings") + 1 : -1]
    assert settings[0] == "  epochs 200 (default for 10 rows)"
    assert all(re.search(r"\(E\d+\)$", text) for text in settings[1:])
    assert re.fullmatch(r"and \d notes and \d\d settings: review.describe\(\)", lines[-1])
    assert found.shorten("--verbose shows them").endswith("--verbose shows them")
    plain = review(facts(), off=("E101", "E401"))
    assert str(plain).startswith("nothing to change")


def test_the_log_has_the_settings_that_were_chosen_for_a_reason() -> None:
    (*_, line) = review(_chosen_epochs()).summary()
    assert line.startswith("settings: epochs 200 (default for 10 rows), ")
    assert line.endswith("gradient_clipping agc (E302); history.settings has all settings")
    assert "lr" not in line and "default of" not in line


def test_the_most_serious_comes_first_in_its_area() -> None:
    stability = [
        line.split()[0]
        for line in review(facts(DEEP, {"lr": 1}, diverged="epoch 1, batch 2"))
        .describe()
        .split("\n")
        if line.startswith("  ") and " E3" in line
    ]
    assert stability[:4] == ["error", "warning", "warning", "info"]


def test_a_review_is_json() -> None:
    known = facts(HALF, {"on_epoch": print}, device=device(rewrites=["gru decomposed"]))
    record = json.loads(json.dumps(review(known).to_dict()))
    assert "on_epoch" not in record["settings"]
    assert record["origins"]["gradient_scaling"] == "E201"
    found = {finding["id"]: finding for finding in record["findings"]}
    assert found["E201"]["area"] == "Precision"
    assert found["E201"]["evidence"] == {"heavy_float16": 2, "heavy_float32": 0}
    assert found["E203"]["nodes"] == ["softmax1"]
    assert found["E208"]["action"] == "graphs rewritten"


def test_a_second_review_tells_what_is_new() -> None:
    first = review(facts(DEEP))
    second = review(facts(DEEP, scouting=ScoutingFacts(dead={"relu1": 0.9})))
    assert [finding.id for finding in second.new_findings(first)] == ["E310"]


def test_findings_logged_before_are_left_out_of_the_summary_only() -> None:
    found = review(facts(DEEP))
    (deep,) = [finding for finding in found.findings if finding.id == "E304"]
    later = replace(found, logged=[str(deep)])
    assert "E304" in "".join(found.summary())
    assert "E304" not in "".join(later.summary())
    assert "E304" in str(later) and deep in later.findings


def test_rewrites_are_counted_and_one_is_named() -> None:
    known = facts(device=device(rewrites=["gru decomposed", "pad at rank 4"]))
    (finding,) = review(known).findings
    assert finding.message == (
        "2 operators rewritten for this backend, such as gru decomposed; model.report() lists them"
    )
    assert finding.evidence == {"rewrites": 2}


@pytest.mark.parametrize(
    ("known", "elsewhere"),
    [
        (device(), "it runs on the default device (webnn)"),
        (device(name="gpu", float16=False), "it runs on gpu (webnn)"),
        (device(name="npu"), ""),
        (DeviceFacts(), ""),
    ],
)
def test_a_model_for_the_edge_tells_how_to_get_there(known: DeviceFacts, elsewhere: str) -> None:
    found = review(facts(HALF, {"optimize_for": "edge"}, device=known))
    (finding,) = [finding for finding in found.findings if finding.id == "E801"]
    assert elsewhere in finding.message
    assert ("create(device='npu')" in finding.message) == bool(elsewhere)


def test_an_output_that_cannot_be_trained_has_no_loss_among_the_settings() -> None:
    found = review(output("", written=False, problem="softmax for numbers"))
    assert (ids(found), "m" in found.losses) == (["E103"], False)
    (finding,) = found.findings
    assert finding.evidence == {"m": {"activation": "softmax", "loss": "not written"}}


def test_a_message_names_five_at_most() -> None:
    assert join_names("abcde") == "a, b, c, d, e"
    assert join_names("abcdef") == "a, b, c, d, e and 1 more"


def test_a_finding_says_what_was_done() -> None:
    made = Finding(id="E201", severity="info", message="half", remedy="Stop.", action="x='on'")
    assert str(made) == "info E201: half\n  done: x='on'"
    warned = Finding(id="E205", severity="warning", message="low", remedy="Stop.", action="x=1")
    assert str(warned) == "warning E205: low\n  done: x=1\n  → Stop."
