"""Options that are written as their own name: left to a call, or the name of a tensor."""

from __future__ import annotations

import pytest

from webnnm import ModelError, check, elaborate, parse

PORTS = "model:input shape=[4] sequence=words; model:output shape=[4] sequence=words; "
LOOK = "look:layers attend(wq, wk, wv, heads=2, causal=true, sinks=sinks); "


def parameters(source: str) -> dict[str, str]:
    return {p.name: str(p.features[0]) for p in elaborate(parse(PORTS + source)).parameters}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("model:layers attend(wq, wk, wv, heads=2, causal=true, sinks=sinks);", {"sinks1"}),
        ("model:layers layerNorm(scale=scale, bias=bias), matmul(w);", {"scale1", "bias1"}),
        (LOOK + "model:layers look(sinks=mine);", {"mine1"}),
        (LOOK + "model:param sinks shape=[2]; model:layers look(repeat=2);", {"sinks"}),
        (
            LOOK + "look:param sinks shape=[2] shared=false; model:layers look(repeat=2);",
            {"sinks", "sinks2"},
        ),
        (LOOK + "model:layers look(), look(sinks=mine);", {"mine1"}),
    ],
)
def test_a_tensor_may_have_the_name_of_its_option(source: str, names: set[str]) -> None:
    assert check(PORTS + source) == []
    found = {name for name in parameters(source) if not name.startswith("w")}
    assert found == names


def test_a_layer_of_the_block_may_have_the_name() -> None:
    source = (
        "norm:layers mul(0, name=half), add(0.5, name=scale), "
        "layerNorm(node=input, scale=scale); model:layers norm(), matmul(w);"
    )
    assert check(PORTS + source) == []
    assert [*parameters(source)] == ["w1"]


def test_what_no_call_provides_is_left_out_with_a_warning() -> None:
    source = LOOK + "model:layers look();"
    (warning,) = check(PORTS + source)
    assert (warning.code, warning.line) == ("NNM008", 1)
    assert '"sinks" is not bound' in warning.message
    assert [*parameters(source)] == ["wq1", "wk1", "wv1"]
    for option in ("heads=heads", "rope=rope", "mask=mask"):  # these create no parameters
        other = source.replace("heads=2", option if "heads" in option else f"heads=2, {option}")
        assert [w.code for w in check(PORTS + other)] == ["NNM008"]
        assert [w.code for w in check(PORTS + other.replace(", sinks=sinks", ""))] == []


def test_root_blocks_are_not_called() -> None:
    source = "model:layers attend(wq, wk, wv, heads=heads);"
    with pytest.raises(ModelError, match=r'NNM303.*heads= of "attend": expected an integer'):
        elaborate(parse(PORTS + source))
